//! Contradictory or meaningless options are refused at their line.

use super::planned;

/// Options on the lines after `[j]`, the expected line (from 1), and part of the expected message.
#[rustfmt::skip]
const WRONG: [(&str, usize, &str); 65] = [
    ("size=4k; bs=64k", 2, "size is smaller than a block"),
    ("filesize=4k; bs=64k", 2, "filesize is smaller than a block"),
    ("size=1m; direct=1; bs=1000", 4, "with direct=1 a block cannot have 1000 bytes"),
    ("size=1m; direct=1; bsrange=512-1000", 4, "cannot have 1000 bytes"),
    ("size=1m; direct=1; bsrange=1k-4k; bs_unaligned", 5, "take bs_unaligned out"),
    ("size=1m; direct=1; offset=100", 4, "the offset cannot be 100"),
    ("size=1m; bssplit=4k/60:8k/60", 3, "add up to 120"),
    ("size=1m; bssplit=4k/x", 3, "write SIZE/PERCENT"),
    ("size=1m; rate=1m; rate_min=2m", 4, "above the rate itself"),
    ("size=1m; rate=1m; rate_iops=20", 4, "cannot both be given"),
    ("size=1m; rw=randread; random_distribution=zipf:1", 4, "theta above 0 other than 1"),
    ("size=1m; rw=randread; random_distribution=zipf:1.2:2", 4, "centre from 0 to 1"),
    ("size=1m; rw=randread; random_distribution=pareto:1.2", 4, "below 1"),
    ("size=1m; rw=randread; random_distribution=normal:150", 4, "below 100"),
    ("size=1m; rw=randread; random_distribution=zoned:60/10:30/20", 4, "add up to 90 %"),
    ("size=1m; rw=randread; random_distribution=zoned:60/50:40/90", 4, "140 % of the space"),
    ("size=1m; verify=pattern", 3, "add verify_pattern"),
    ("size=1m; rw=write; verify=md5; verify_only; time_based; runtime=5", 5, "take time_based out"),
    ("size=1m; rw=write; verify=md5; verify_offset=10", 5, "does not fit"),
    ("size=1m; rw=write; verify=md5; verify_offset=4090", 5, "does not fit"),
    ("size=1m; rw=write; verify_pattern=abc", 4, "hexadecimal digits after 0x"),
    ("size=1m; rw=write; buffer_pattern=%o", 4, "for verify_pattern only"),
    ("size=1m; steadystate=iops:2; ss_dur=10", 3, "in percent"),
    ("size=1m; steadystate=iopss:2%; ss_dur=10", 3, "did you mean \"iops\"?"),
    ("size=1m; latency_target=100", 3, "latency_window"),
    ("size=1m; latency_target=100; latency_window=1s; latency_percentile=0", 5, "above 0, up to 100"),
    ("size=1m; max_latency=1,2", 3, "one limit for all"),
    ("size=1m; cpus_allowed=99", 3, "there is no core 99 here"),
    ("size=1m; cpus_allowed=3-1", 3, "3 is more than 1"),
    ("size=1m; cpumask=256", 3, "there is no core 8 here"),
    ("size=1m; numa_mem_policy=foo", 3, "interleave:NODES"),
    ("size=1m; nice=30", 3, "19"),
    ("size=1m; prio=9", 3, "7"),
    ("size=1m; ignore_error=EFOO", 3, "errno"),
    ("size=1m; ignore_error=EIO,EIO,EIO,EIO", 3, "at most three"),
    ("size=1m; continue_on_error=foo", 3, "foo"),
    ("size=1m; file_service_type=lifo", 3, "lifo"),
    ("size=1m; file_service_type=zipf:1", 3, "theta above 0 other than 1"),
    ("size=1m; filename=-", 3, "standard input"),
    ("size=1m; filename=:", 3, "filename is empty"),
    ("size=1m; rw=randread:0", 3, "from 1 on"),
    ("size=1m; rw=foo", 3, "foo"),
    ("size=1m; iodepth=0", 3, "1"),
    ("size=1m; numjobs=0", 3, "1"),
    ("size=1m; bs=0", 3, "1"),
    ("size=1m; nrfiles=0", 3, "1"),
    ("size=0%", 2, "above 0"),
    ("size=150%", 2, "100"),
    ("size=1m; rwmixread=130; rw=rw", 3, "100"),
    ("size=1m; percentage_random=120", 3, "100"),
    ("size=1m; percentile_list=0:50", 3, "above 0"),
    ("size=1m; significant_figures=11", 3, "10"),
    ("size=1m; log_hist_coarseness=7", 3, "6"),
    ("size=1m; replay_align=3000; read_iolog=a", 3, "power of two"),
    ("size=1m; replay_skip=foo; read_iolog=a", 3, "foo"),
    ("size=1m; sync_file_range=8", 3, "wait_before"),
    ("size=1m; ioengine=io_uring; hipri", 4, "hipri needs direct=1"),
    ("ioengine=null", 1, "how much is to be moved"),
    ("size=1m; rw=write; file_append=1; offset=4k", 4, "take one out"),
    ("size=1m; wait_for=k", 3, "no job \"k\" stands before"),
    ("size=1m; zonemode=strided", 3, "needs zonesize"),
    ("size=1m; zonesize=4k", 3, "zonemode is none"),
    ("size=1m; zonemode=zbd", 3, "zoned block devices"),
    ("size=1m; dedupe_mode=foo", 3, "foo"),
    ("size=1m; bs=1k,2k,3k,4k", 3, "three"),
];

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let mut missed = Vec::new();
    for (options, line, part) in WRONG {
        let said = refused(&format!("[j]\n{}\n", options.replace("; ", "\n")));
        if !said.contains(part) || !said.contains(&format!("jobs.fio:{line}:")) {
            missed.push(format!("{options}: not {part:?} at line {line}, but\n{said}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The language's or the plan's objection.
fn refused(text: &str) -> String {
    let reading = fio::Reading {
        environment: &|_| None,
        include: &|_| Err(std::io::ErrorKind::NotFound.into()),
        page_bytes: 4096,
        memory_mib: 1024,
        cpus: 4,
        sections: &[],
        ignore_unsupported: false,
    };
    let input = fio::Input::File { name: "jobs.fio", bytes: text.as_bytes() };
    match fio::read(&[input], &reading) {
        Err(faults) => faults.to_string(),
        Ok(_) => planned(text).err().unwrap_or_else(|| "nothing".to_owned()),
    }
}

#[test]
fn a_fault_of_a_global_section_is_told_once() {
    let said = refused("[global]\nsize=1m\nlatency_target=100\n[a]\n[b]\n[c]\n");
    assert_eq!(said.matches("has no latency_window").count(), 1, "{said}");
}

#[test]
fn what_fio_warns_of_is_a_warning() {
    for (options, part) in [("time_based", "there is no runtime"), ("ss=iops:10%", "there is no window")] {
        let (_, warnings) = planned(&format!("[j]\nsize=1m\n{options}\n")).unwrap();
        assert_eq!(warnings.len(), 1, "{options}");
        assert!(warnings[0].to_string().contains(part), "{options}: {}", warnings[0]);
    }
}
