//! The language of fio job files as fio 3.33 reads it (each case was tried with the program), and what is refused.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeMap;

use fio::{Input, JobScript, Reading, Warning, read, split_arguments};

/// Includable files, environment variables, and the selected sections.
#[derive(Default)]
struct World {
    files: BTreeMap<&'static str, &'static str>,
    environment: BTreeMap<&'static str, &'static str>,
    sections: Vec<String>,
    ignore_unsupported: bool,
}

impl World {
    fn read(&self, inputs: &[Input<'_>]) -> Result<(JobScript, Vec<Warning>), String> {
        let reading = Reading {
            environment: &|name| self.environment.get(name).map(|value| (*value).to_owned()),
            include: &|path| match self.files.get(path) {
                Some(text) => Ok(text.as_bytes().to_vec()),
                None => Err(std::io::Error::other("no such file")),
            },
            page_bytes: 4096,
            memory_mib: 2048,
            cpus: 3,
            sections: &self.sections,
            ignore_unsupported: self.ignore_unsupported,
        };
        read(inputs, &reading).map_err(|faults| faults.to_string())
    }

    fn file(&self, text: &str) -> Result<JobScript, String> {
        self.read(&[Input::File { name: "dir/job.fio", bytes: text.as_bytes() }]).map(|(script, _)| script)
    }
}

/// Each job as `name: option=value option=value`.
fn shown(script: &JobScript) -> Vec<String> {
    let jobs = script.sections.iter().map(|section| {
        let settings: Vec<String> = section
            .settings
            .iter()
            .map(|s| {
                if s.has_value { format!("{}={}", s.option.name, s.value) } else { s.option.name.to_owned() }
            })
            .collect();
        format!("{}: {}", section.name, settings.join(" ")).trim_end().to_owned()
    });
    jobs.collect()
}

fn command_line(arguments: &[&str], files: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let (split, _) = split_arguments(&arguments).map_err(|faults| faults.to_string())?;
    let mut inputs = vec![Input::Arguments(&split.jobs)];
    inputs.extend(files.iter().map(|(name, text)| Input::File { name, bytes: text.as_bytes() }));
    World::default().read(&inputs).map(|(script, _)| shown(&script))
}

#[test]
fn global_settings_hold_for_what_follows() {
    let script = World::default()
        .file("[a]\nbs=1k\nbs=2k\n[global]\nbs=4k\n[b]\n[global]\nrw=write\n[a]\nreadwrite=randread\n")
        .unwrap();
    assert_eq!(shown(&script), ["a: bs=1k bs=2k", "b: bs=4k", "a: bs=4k rw=write rw=randread"]);
    let b = &script.sections[1];
    assert!(b.settings[0].global && b.last("bs").unwrap().integer() == Ok(4096));
}

#[test]
fn comments_blanks_and_line_ends() {
    let text = "; c\n# c\n\n  [a b] ; c\r\n\tsize = 10k ; c\r\nrw=write # c\ndescription=x=y;z\ntime_based\nrate=1k\t \n";
    let script = World::default().file(text).unwrap();
    assert_eq!(shown(&script), ["a b: size=10k rw=write description=x=y time_based rate=1k"]);
    let bom = World::default().file("\u{feff}[a]").unwrap();
    assert_eq!(shown(&bom), ["a:"]);
}

#[test]
fn variables_and_keywords() {
    let environment = [("SIZE", "64k"), ("N", "2")].into();
    let world = World { environment, ..World::default() };
    let text = "[a]\nsize=${SIZE}\nnumjobs=${N}\nbs=2*$pagesize\nnrfiles=$ncpus\nloops=1${N}\nfilename=x${N}-$ncpus\nfilename_format=$jobname.$jobnum\nio_size=8*$mb_memory\ndescription=$HOME ${N\n";
    assert_eq!(
        shown(&world.file(text).unwrap()),
        [
            "a: size=64k numjobs=2 bs=8192 nrfiles=3 loops=12 filename=x2-3 filename_format=$jobname.$jobnum io_size=16384 \
             description=$HOME ${N"
        ]
    );
    let missing = world.file("[a]\nsize=${NOPE}\n").unwrap_err();
    assert!(missing.starts_with("dir/job.fio:2:"), "{missing}");
}

#[test]
fn included_files() {
    let files = [
        ("inc.fio", "bs=2k\ninclude deep.fio\n"),
        ("dir/deep.fio", "iodepth=3\n"),
        ("deep.fio", "iodepth=4\n"),
    ];
    let world = World { files: files.into(), ..World::default() };
    let script = world.file("[a]\ninclude inc.fio\nsize=1k\n").unwrap();
    assert_eq!(shown(&script), ["a: bs=2k iodepth=4 size=1k"]);

    // Looked up beside the including file if it is not in the current directory; its faults name it.
    let files =
        [("dir/beside.fio", "bs=oops\n"), ("dir/sections.fio", "[x]\n"), ("loop.fio", "include loop.fio\n")];
    let world = World { files: files.into(), ..World::default() };
    let fault = world.file("[a]\ninclude beside.fio\n").unwrap_err();
    assert!(fault.starts_with("dir/beside.fio:1:4: bs is not understood"), "{fault}");
    for (text, place) in [
        ("[a]\ninclude sections.fio\n", "dir/sections.fio:1:1: an included file has no sections"),
        ("[a]\ninclude nope.fio\n", "dir/job.fio:2:9: nope.fio cannot be included: no such file"),
        ("include inc.fio\n[a]\n", "dir/job.fio:1:9: this stands before the first section"),
        ("[a]\ninclude loop.fio\n", "loop.fio:1:9: loop.fio is included too deeply"),
    ] {
        let fault = world.file(text).unwrap_err();
        assert!(fault.starts_with(place), "{fault}");
    }
}

#[test]
fn several_files_and_chosen_sections() {
    let one = Input::File { name: "one", bytes: b"[global]\nbs=2k\n[a]\n[b]\n" };
    let two = Input::File { name: "two", bytes: b"[global]\nrw=write\n[b]\n[c]\n" };
    let (script, _) = World::default().read(&[one, two]).unwrap();
    assert_eq!(shown(&script), ["a: bs=2k", "b: bs=2k", "b: rw=write", "c: rw=write"]);
    let begins: Vec<bool> = script.sections.iter().map(|section| section.begins_file).collect();
    assert_eq!(begins, [false, false, true, false]);

    let chosen = World { sections: vec!["c".into(), "a".into()], ..World::default() };
    assert_eq!(shown(&chosen.read(&[one, two]).unwrap().0), ["a: bs=2k", "c: rw=write"]);
    // The content of other sections is ignored.
    let wrong = Input::File { name: "three", bytes: b"[x]\nnonsense\n[a]\n[c]\n" };
    assert_eq!(shown(&chosen.read(&[wrong]).unwrap().0), ["a:", "c:"]);
    let none = World { sections: vec!["d".into()], ..World::default() };
    let fault = none.read(&[one]).unwrap_err();
    assert!(fault.starts_with("command line:1:11: there is no section \"d\""), "{fault}");
}

#[test]
fn jobs_on_the_command_line() {
    let jobs = |arguments: &[&str]| command_line(arguments, &[]);
    let expected = Ok(vec!["a: rw=read bs=4k".to_owned(), "b: rw=read".to_owned()]);
    assert_eq!(jobs(&["--rw=read", "--name=a", "--bs=4k", "--name=b"]), expected);
    assert_eq!(jobs(&["--name=global", "--rw", "read", "-name=a", "-bs", "4k", "--name", "b"]), expected);
    assert_eq!(
        jobs(&["--name=a", "--nice", "-5", "--time_based"]),
        Ok(vec!["a: nice=-5 time_based".to_owned()])
    );
    // Environment variables are up to the shell, keywords are not.
    assert_eq!(jobs(&["--name=a", "--bs=$pagesize"]), Ok(vec!["a: bs=4096".to_owned()]));
    assert_eq!(jobs(&["--name=a", "--filename=${X}"]), Ok(vec!["a: filename=${X}".to_owned()]));
    // Options before the jobs also apply to the first file, and to no other.
    let files = [("one", "[x]\n"), ("two", "[y]\n")];
    let expected = Ok(vec!["a: bs=8k".to_owned(), "x: bs=8k".to_owned(), "y:".to_owned()]);
    assert_eq!(command_line(&["--bs=8k", "--name=a"], &files), expected);

    for (arguments, place) in [
        (&["--name=a", "--sizee=4k"][..], "command line:2:1: there is no option \"sizee\""),
        (&["--name=a", "--direct", "--bs=4k"], "command line:2:1: direct has no value"),
        (&["--name=a", "--bs=oops"], "command line:2:6: bs is not understood: \"oops\""),
        (&["--server=host", "--name=a"], "command line:1:1: --server is not supported"),
        (&["--output", "--name=a"], "command line:1:1: --output has no value"),
        (&["--bs=4k"], "command line:1:1: there is no job"),
    ] {
        let fault = jobs(arguments).unwrap_err();
        assert!(fault.starts_with(place), "{fault}");
    }
}

#[test]
fn the_command_line_is_taken_apart() {
    let arguments =
        ["--output=x.json", "a.fio", "--output-format", "json,normal", "--name=j", "b.fio", "--readonly"];
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let (split, warnings) = split_arguments(&arguments).unwrap();
    assert_eq!(split.files, ["a.fio", "b.fio"]);
    assert_eq!(split.value("output"), Some("x.json"));
    assert_eq!(split.value("output-format"), Some("json,normal"));
    assert!(split.has("readonly") && !split.has("minimal") && warnings.is_empty());
    assert_eq!(split.jobs.len(), 1);
    let (split, warnings) =
        split_arguments(&["--server=h".into(), "--ignore-unsupported".into(), "--".into(), "-x".into()])
            .unwrap();
    assert_eq!((split.files.as_slice(), warnings.len()), (&["-x".to_owned()][..], 1));
    assert!(warnings[0].to_string().starts_with("command line:1:1: warning: --server is not supported"));
}

#[test]
fn engines_and_their_options() {
    let script = World::default()
        .file("[global]\nioengine=io_uring\nfixedbufs\n[a]\n[b]\nioengine=libaio\nuserspace_reap\n[c]\nhipri=1\n")
        .unwrap();
    assert_eq!(
        shown(&script),
        [
            "a: ioengine=io_uring fixedbufs",
            "b: ioengine=io_uring ioengine=libaio userspace_reap",
            "c: ioengine=io_uring fixedbufs hipri=1"
        ]
    );
    for (text, place) in [
        ("[a]\nuserspace_reap\n", "dir/job.fio:2:1: userspace_reap does not belong to ioengine=psync"),
        ("[a]\nioengine=libhdfs\n", "dir/job.fio:2:10: the engine libhdfs is not there"),
        ("[a]\nioengine=libaoi\n", "dir/job.fio:2:10: there is no engine \"libaoi\""),
    ] {
        let fault = World::default().file(text).unwrap_err();
        assert!(fault.starts_with(place), "{fault}");
    }
}

#[test]
fn what_k_is_depends_on_the_section() {
    let script = World::default()
        .file("[global]\nbs=1k\n[a]\nsize=1k\nkb_base=1000\nio_size=1ki\n[b]\nsize=1k\n")
        .unwrap();
    let value = |section: usize, name: &str| script.sections[section].last(name).unwrap().integer().unwrap();
    assert_eq!(
        (value(0, "bs"), value(0, "size"), value(0, "io_size"), value(1, "size")),
        (1024, 1000, 1024, 1024)
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_its_mend() {
    for (text, told) in [
        ("bs=4k\n", "dir/job.fio:1:1: this stands before the first section"),
        ("[a\nbs=4k\n", "dir/job.fio:1:1: the section's name has no end"),
        ("[a] x\n", "dir/job.fio:1:1: something stands behind the section's name"),
        ("[]\n", "dir/job.fio:1:1: the section has no name"),
        ("\n\n", "dir/job.fio:1:1: there is no job"),
        ("[global]\n", "dir/job.fio:1:1: there is no job"),
        ("[a]\nSIZE=1k\n", "dir/job.fio:2:1: there is no option \"SIZE\""),
        ("[a]\noutput=x\n", "dir/job.fio:2:1: there is no option \"output\""),
        ("[a]\nloops\n", "dir/job.fio:2:1: loops has no value"),
        ("[a]\nbs=\n", "dir/job.fio:2:1: bs has no value"),
        ("[a]\nrw=randreed\n", "dir/job.fio:2:4: rw is not understood: \"randreed\""),
        ("[a]\nrwmixread=101\n", "dir/job.fio:2:11: rwmixread is not understood: \"101\""),
        ("[a]\n  size = 1.5k\n", "dir/job.fio:2:10: size is not understood: \"1.5k\""),
        ("[a]\nruntime=10min\n", "dir/job.fio:2:9: runtime is not understood: \"10min\""),
        ("[a]\ncgroup=x\n", "dir/job.fio:2:1: cgroup is not supported: control groups"),
        ("[a]\nwrite_hint=long\n", "dir/job.fio:2:1: write_hint is not supported: the kernel"),
    ] {
        let fault = World::default().file(text).unwrap_err();
        assert!(fault.starts_with(told), "{fault}");
    }
    let several = World::default().file("[a]\nbs=x\nnope=1\n[b]\nsize=y\n").unwrap_err();
    assert_eq!(several.matches("dir/job.fio:").count(), 3, "{several}");
    let fault = World::default().file("[a]\nbs=oops\n").unwrap_err();
    assert_eq!(
        fault,
        "dir/job.fio:2:4: bs is not understood: \"oops\"\n 2 | bs=oops\n   |    ^^^^\n   = write a whole number such as 8, 4k, 0x1000 or \
         (2*4k)\n"
    );
}

#[test]
fn absent_options_that_ask_for_nothing_pass_and_others_can_be_let_pass() {
    assert_eq!(shown(&World::default().file("[a]\nwrite_hint=none\nflow=0\nlockmem=0\n").unwrap()), ["a:"]);
    let lenient = World { ignore_unsupported: true, ..World::default() };
    let text = "[a]\ncgroup=x\nnope=1\nbs=4k\nhipri=1\n";
    let (script, warnings) = lenient.read(&[Input::File { name: "job", bytes: text.as_bytes() }]).unwrap();
    assert_eq!(shown(&script), ["a: bs=4k"]);
    let warnings: Vec<String> = warnings.iter().map(|warning| warning.0.text.clone()).collect();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    // A wrong value remains an error.
    assert!(lenient.file("[a]\nbs=x\n").is_err());
}

#[test]
fn secrets_are_not_shown() {
    let fault = World::default().file("[a]\nioengine=psync\nhttp_s3_key=hunter2\n").unwrap_err();
    assert!(fault.contains("http_s3_key") && !fault.contains("hunter2"), "{fault}");
    let fault = command_line(&["--name=a", "--http_s3_key=hunter2"], &[]).unwrap_err();
    assert!(fault.contains("http_s3_key") && !fault.contains("hunter2"), "{fault}");
}

#[test]
fn what_is_too_large_is_refused() {
    let world = World::default();
    let file = |bytes: &[u8]| world.read(&[Input::File { name: "f", bytes }]).unwrap_err();
    assert!(file(&vec![b' '; 2 << 20]).starts_with("f:1:1: the job file is too large"));
    assert!(
        file(format!("[a]\ndescription={}\n", "x".repeat(70_000)).as_bytes())
            .starts_with("f:2:1: the line is too long")
    );
    assert!(file("[a]\n".repeat(5000).as_bytes()).starts_with("f:4097:1: there are more than 4096 jobs"));
    assert!(file(b"[a]\nbs=\xff\n").starts_with("f:2:1: this is not UTF-8 text"));
    let many = format!("[global]\n{}{}", "loops=1\n".repeat(1000), "[a]\n".repeat(1000));
    assert!(file(many.as_bytes()).contains("there are more than"));
    let grows = World { environment: [("X", "xxxxxxxxxx")].into(), ..World::default() };
    let fault = grows.file(&format!("[a]\ndescription={}\n", "${X}".repeat(10_000))).unwrap_err();
    assert!(fault.starts_with("dir/job.fio:2:13: the value becomes too long"), "{fault}");
}
