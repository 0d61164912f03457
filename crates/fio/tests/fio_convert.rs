//! Every job file in `tests/fio`, converted to an experiment file, yields the same plan.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};

use experiment::{Cell, Plan, Settings, SourceText};
use fio::{Input, Reading, Surroundings};

/// Job files with their arguments.
fn job_files() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fio");
    let in_directory = |directory: PathBuf| {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut all = [in_directory(corpus.clone()), in_directory(corpus.join("beside"))].concat();
    all.retain(|path| path.extension().is_some_and(|ending| ending == "fio"));
    all.sort();
    all
}

/// The plan of a job file; `None` if the file is refused.
fn plan_of(path: &Path) -> Option<Plan> {
    let text = std::fs::read_to_string(path).unwrap();
    let arguments = text.lines().find_map(|line| line.strip_prefix("; arguments: ")).unwrap_or_default();
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let (line, _) = fio::split_arguments(&arguments).unwrap();
    let sections: Vec<String> = line.values("section").map(str::to_owned).collect();
    let near = |name: &str| std::fs::read(path.parent().unwrap().join(name));
    let reading = Reading {
        environment: &|_| None,
        include: &near,
        page_bytes: 4096,
        memory_mib: 1024,
        cpus: 4,
        sections: &sections,
        ignore_unsupported: false,
    };
    let name = path.file_name().unwrap().to_str().unwrap();
    let inputs = [Input::Arguments(&line.jobs), Input::File { name, bytes: text.as_bytes() }];
    let (script, _) = fio::read(&inputs, &reading).ok()?;
    let around = Surroundings {
        directory: "/work",
        cpus: 4,
        seed: 4711,
        read_file: &near,
        open_directory: &|_| Ok(vec!["a".to_owned(), "b".to_owned()]),
    };
    fio::plan(&script, &around).ok().map(|(plan, _)| plan)
}

/// A cell without its own name and its target's name.
fn deed(cell: &Cell) -> Cell {
    let mut deed =
        Cell { name: String::new(), workload_name: String::new(), point: Default::default(), ..cell.clone() };
    deed.target.name = String::new();
    deed
}

#[test]
fn a_converted_job_file_stands_for_the_same_plan() {
    let (mut converted, mut refused) = (0, Vec::new());
    for path in job_files() {
        let shown = path.display();
        let Some(plan) = plan_of(&path) else {
            refused.push(shown.to_string());
            continue;
        };
        let text = fio::convert(&plan, &[]).unwrap();
        let source = SourceText { file: "converted.yaml", text: &text };
        let again = experiment::parse(&source, &Settings::of(targets::kinds()))
            .unwrap_or_else(|faults| panic!("{shown}: {faults}\n{text}"));
        let plain = fio::plain(&plan);
        assert_eq!(again.cells.len(), plain.cells.len(), "{shown}:\n{text}");
        for (ours, theirs) in plain.cells.iter().zip(&again.cells) {
            assert_eq!(deed(ours), deed(theirs), "{shown}:\n{text}");
        }
        for unreadable in ["0000000", "report:", "3650d", "\"true\"", ": {}\n    j"] {
            assert!(!text.contains(unreadable), "{shown} has {unreadable:?}:\n{text}");
        }
        converted += 1;
    }
    assert!(converted >= 80, "{converted} job files; refused: {refused:?}");
}

#[test]
fn a_converted_job_reads_as_a_person_would_write_it() {
    let text = "[global]\nioengine=libaio\ndirect=1\nsize=1g\nruntime=30\ntime_based\npercentile_list=50:99\n\
                [mixed]\nrw=randrw\nrwmixread=70\nbs=4k\niodepth=8\nnumjobs=2\ngroup_reporting\n";
    let reading = Reading {
        environment: &|_| None,
        include: &|_| Err(std::io::ErrorKind::NotFound.into()),
        page_bytes: 4096,
        memory_mib: 1024,
        cpus: 4,
        sections: &[],
        ignore_unsupported: false,
    };
    let around = Surroundings {
        directory: "/work",
        cpus: 4,
        seed: 4711,
        read_file: &|_| Err(std::io::ErrorKind::NotFound.into()),
        open_directory: &|_| Ok(Vec::new()),
    };
    let (script, _) =
        fio::read(&[Input::File { name: "job.fio", bytes: text.as_bytes() }], &reading).unwrap();
    let (plan, _) = fio::plan(&script, &around).unwrap();
    insta::assert_snapshot!(fio::convert(&plan, &[]).unwrap());
}
