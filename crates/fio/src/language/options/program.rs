//! Options of the command line, and of profiles.

use super::Argument::{None as Alone, Optional, Required};
use super::ValueKind::{Bool, Flag, Integer, Text};
use super::{Argument, FioOption, MOST, OptionGroup, absent, differs, ours, same};

const fn on_line(argument: Argument, option: FioOption) -> FioOption {
    FioOption { group: OptionGroup::Program(argument), ..option }
}

const fn of_profile(name: &'static str, kind: super::ValueKind) -> FioOption {
    FioOption { group: OptionGroup::Profile, ..absent(name, kind, NO_PROFILES, WRITE_IT) }
}

const NO_PROFILES: &str = "there are no profiles of other programs' loads";
const WRITE_IT: &str = "write the load as jobs";
const NO_SERVER: &str = "agents are started by ssh for each run, so that no server waits for jobs";
const BY_SSH: &str = "--client=HOST";
const NO_TRIGGERS: &str = "runs are ended by a signal, not by a file";
const SIGNAL: &str = "kill -INT PID ends the run with its results";

pub(super) const OPTIONS: &[FioOption] = &[
    on_line(
        Required,
        differs("debug", &[], Text, "accepted without effect: fio's traces are of fio's own parts"),
    ),
    on_line(Alone, same("parse-only", &[], Flag)),
    on_line(
        Alone,
        absent(
            "merge-blktrace-only",
            Flag,
            "binary traces of blktrace are not read",
            "replay the trace once under fio with write_iolog=FILE",
        ),
    ),
    on_line(Required, same("output", &[], Text)),
    on_line(Required, same("output-format", &[], Text)),
    on_line(
        Optional,
        absent(
            "bandwidth-log",
            Flag,
            "there is a log for each job, not one for all",
            "write_bw_log=NAME in the jobs",
        ),
    ),
    on_line(Alone, same("minimal", &[], Flag)),
    on_line(Alone, same("append-terse", &[], Flag)),
    on_line(Required, same("terse-version", &[], Integer(2, 5))),
    on_line(
        Alone,
        differs(
            "version",
            &["v"],
            Flag,
            "`fio-3.33 (manometer 0.1.0)`: the version whose language and shapes these are, and what it is",
        ),
    ),
    on_line(Alone, differs("help", &["h"], Flag, "manometer's help is printed")),
    on_line(
        Alone,
        absent("cpuclock-test", Flag, "the clock is the one that the kernel trusts", "manometer check"),
    ),
    on_line(Optional, absent("crctest", Text, "checksums are not timed", "leave it out")),
    on_line(
        Optional,
        absent(
            "cmdhelp",
            Text,
            "options are described in fio's own manual",
            "docs/fio-options.md lists what each is here",
        ),
    ),
    on_line(
        Optional,
        absent(
            "enghelp",
            Text,
            "options are described in fio's own manual",
            "docs/fio-options.md lists what each is here",
        ),
    ),
    on_line(Alone, absent("showcmd", Flag, "a job file is shown as an experiment file", "--convert")),
    on_line(Alone, same("readonly", &[], Flag)),
    on_line(
        Required,
        differs(
            "eta",
            &[],
            Text,
            "on standard error; auto looks whether that is a terminal, and without one nothing is told",
        ),
    ),
    on_line(Required, differs("eta-interval", &[], Text, "accepted: the line is drawn five times a second")),
    on_line(Required, same("eta-newline", &[], Text)),
    on_line(
        Required,
        differs(
            "status-interval",
            &[],
            Text,
            "counts, rates and latencies of this host since each job began; what is known at its end only is 0 until then",
        ),
    ),
    on_line(Required, differs("section", &[], Text, "a section that no job file has is an error")),
    on_line(
        Required,
        differs("alloc-size", &[], Text, "accepted without effect: there is no pool of shared memory"),
    ),
    on_line(Alone, same("warnings-fatal", &[], Flag)),
    on_line(
        Required,
        differs("max-jobs", &[], Text, "accepted without effect: the number of jobs has another limit"),
    ),
    on_line(Optional, absent("server", Text, NO_SERVER, BY_SSH)),
    on_line(Required, absent("daemonize", Text, NO_SERVER, BY_SSH)),
    on_line(
        Optional,
        differs(
            "client",
            &[],
            Text,
            "agents are started there by ssh, so that a port is that of ssh; all clients run all jobs",
        ),
    ),
    on_line(Required, absent("remote-config", Text, NO_SERVER, BY_SSH)),
    on_line(
        Optional,
        absent(
            "idle-prof",
            Text,
            "how idle the machine is, is not measured",
            "vmstat or mpstat beside the run",
        ),
    ),
    on_line(
        Required,
        absent("inflate-log", Text, "logs are written as text", "fio --inflate-log=FILE for logs of fio"),
    ),
    on_line(Required, absent("trigger-file", Text, NO_TRIGGERS, SIGNAL)),
    on_line(Required, absent("trigger-timeout", Text, NO_TRIGGERS, "runtime ends the jobs")),
    on_line(Required, absent("trigger", Text, NO_TRIGGERS, SIGNAL)),
    on_line(Required, absent("trigger-remote", Text, NO_TRIGGERS, SIGNAL)),
    on_line(Required, differs("aux-path", &[], Text, "accepted: there are no state files besides logs")),
    on_line(
        Alone,
        ours("convert", Flag, "writes the experiment file that the jobs stand for, and runs nothing"),
    ),
    on_line(Alone, ours("ignore-unsupported", Flag, "what is not supported is warned of instead of refused")),
    on_line(Required, ours("results", Text, "where the results file goes")),
    on_line(
        Required,
        ours("destroy", Text, "this block device, or iSCSI unit or RBD image by its URL, may be written"),
    ),
    on_line(
        Required,
        ours("save-baseline", Text, "the name under which the results are kept to hold others against"),
    ),
    on_line(Required, ours("baseline", Text, "what the results are held against, below the table")),
    on_line(Required, ours("journal-dir", Text, "where the journal of the run is kept")),
    on_line(Alone, ours("live", Flag, "shows the run as it goes, in manometer's view")),
    on_line(Required, ours("reactor", Text, "how I/O is submitted, whatever ioengine says")),
];

pub(super) const PROFILES: &[FioOption] = &[
    absent("profile", Text, NO_PROFILES, WRITE_IT),
    of_profile("device-names", Text),
    of_profile("load", Integer(0, MOST)),
    of_profile("test-duration", Text),
    of_profile("threads-per-queue", Integer(0, MOST)),
    of_profile("read-req-num-512-blocks", Integer(0, MOST)),
    of_profile("large-block-op-kbytes", Integer(0, MOST)),
    of_profile("prep", Bool),
    of_profile("block", Integer(0, MOST)),
    of_profile("numruns", Integer(0, MOST)),
    of_profile("dir", Text),
];
