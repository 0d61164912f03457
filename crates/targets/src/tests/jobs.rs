//! The files of jobs on this machine: laid out as observed with fio 3.33, filled by the engine, and removed.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use experiment::{
    Allocate, Amount, Cell, Directions, ErrorPolicy, FileNames, Job, JobFiles, SizeChoice, Stages, SteadyRule,
};

use super::*;

/// A directory, and the means to lay out jobs in it.
struct Ground {
    directory: tempfile::TempDir,
    _journal: (tempfile::TempDir, Journal),
    run: Run,
}

impl Ground {
    fn new() -> Self {
        let (directory, journal, run) = run();
        // Next to the program, not in tmpfs, which has neither direct I/O nor preallocation.
        let program = std::env::current_exe().unwrap();
        let place = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        Self { directory: place, _journal: (directory, journal), run }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, bytes: usize) {
        std::fs::write(self.path(name), vec![1_u8; bytes]).unwrap();
    }

    /// Size of a file, and bytes allocated.
    fn size(&self, name: &str) -> (u64, u64) {
        let found = std::fs::metadata(self.path(name)).unwrap();
        (found.len(), found.blocks() * 512)
    }

    fn open(&self, cell: &Cell) -> Opened {
        open(&cell.target, &cell.workload, &options(&self.run)).unwrap()
    }

    fn cell(&self, job: Job, ops: &[OpKind], workers: u32, direct: bool) -> Cell {
        let weight = 1.0 / ops.len() as f64;
        let ops = ops.iter().map(|op| WeightedOp { op: *op, weight }).collect();
        let stages = Stages::of_job(&job, 0.0);
        let url = format!("file://{}", self.directory.path().display());
        let direct = if direct { "true" } else { "false" };
        Cell {
            index: 0,
            name: job.name.clone(),
            workload_name: job.name.clone(),
            point: std::collections::BTreeMap::new(),
            repetition: 1,
            target: target(&url, &[("direct", direct)]),
            workload: Workload::of_job(job, ops, 1, workers, 60.0),
            stages,
            steady: SteadyRule::None,
            gates: Vec::new(),
            cache: CacheControl::Keep,
            errors: ErrorPolicy::Continue,
            study: None,
            group: None,
            agents: None,
        }
    }

    /// Lays out the files of a job and runs its stages.
    fn lay_out(&self, job: Job, ops: &[OpKind], workers: u32) -> Result<LaidOut, Box<dyn std::error::Error>> {
        let cell = self.cell(job, ops, workers, false);
        let opened = self.open(&cell);
        let laid_out = opened.lay_out(&cell)?;
        for stage in &laid_out.stages {
            let on = stage.opened.as_ref().unwrap_or(&opened);
            let mut wide = workload(&[(OpKind::Read, 1.0)]);
            (wide.jobs, wide.queue_depth) = (stage.load.files.len() as u32, 8);
            let load = Load::Job(stage.load.clone());
            let done = super::stage(on, &wide, load, StopRule::Exhausted, Sink::Buffer);
            assert!(done.exhausted && done.total.failed() == 0, "{:?}", done.error_samples);
            assert_eq!(done.total.bytes(), stage.bytes, "{}", stage.name);
        }
        opened.begin_job(&cell, &laid_out)?;
        Ok(laid_out)
    }
}

const READ: &[OpKind] = &[OpKind::Read];
const WRITE: &[OpKind] = &[OpKind::Write];

fn job(size: u64, change: impl FnOnce(&mut JobFiles)) -> Job {
    let mut job = Job { name: "a".into(), ..Job::default() };
    job.region.size = Amount::Bytes(size);
    change(&mut job.files);
    job
}

#[test]
fn loads_that_read_find_every_byte_written() {
    let ground = Ground::new();
    for (ops, overwrite) in [(READ, false), (&[OpKind::Read, OpKind::Write], false), (WRITE, true)] {
        // Neither whole blocks nor whole pages: the rest of each file is written too.
        let laid_out = ground
            .lay_out(
                job(3 * 2_500_001, |files| {
                    files.count = 3;
                    files.layout.overwrite = overwrite;
                }),
                ops,
                2,
            )
            .unwrap();
        assert_eq!((laid_out.files.len(), laid_out.files[1].len()), (2, 3));
        for name in ["a.0.0", "a.0.2", "a.1.1"] {
            let (bytes, held) = ground.size(name);
            assert_eq!(bytes, 2_500_001);
            assert!(held >= bytes, "{name} has holes: {held}");
            let content = std::fs::read(ground.path(name)).unwrap();
            assert!(content[2_499_000..].iter().any(|byte| *byte != 0), "the tail is filled");
        }
        for worker in 0..2 {
            (0..3).for_each(|file| std::fs::remove_file(ground.path(&format!("a.{worker}.{file}"))).unwrap());
        }
    }
}

#[test]
fn loads_that_only_write_find_space_and_no_bytes() {
    for (allocate, size, held) in [
        (Allocate::None, 0, false),
        (Allocate::Native, 65_536, true),
        (Allocate::Posix, 65_536, true),
        (Allocate::Keep, 0, true),
        (Allocate::Truncate, 65_536, false),
    ] {
        let ground = Ground::new();
        let laid_out =
            ground.lay_out(job(65_536, |files| files.layout.allocate = allocate), WRITE, 1).unwrap();
        assert!(laid_out.stages.is_empty());
        let found = ground.size("a.0.0");
        assert_eq!((found.0, found.1 > 0), (size, held), "{allocate:?}");
    }
}

#[test]
fn what_is_there_is_used_when_it_is_large_enough_and_made_anew_when_not() {
    let ground = Ground::new();
    ground.write("a.0.0", 20_000);
    let laid_out = ground.lay_out(job(8192, |_| {}), READ, 1).unwrap();
    assert!(laid_out.stages.is_empty());
    assert_eq!((laid_out.files[0][0].length, laid_out.files[0][0].bytes), (8192, 20_000));
    assert_eq!(std::fs::read(ground.path("a.0.0")).unwrap(), vec![1; 20_000], "untouched");
    let all = ground.lay_out(job(0, |_| {}), READ, 1).unwrap();
    assert_eq!(all.files[0][0].length, 20_000);
    ground.lay_out(job(65_536, |_| {}), READ, 1).unwrap();
    assert_eq!(ground.size("a.0.0").0, 65_536);
    assert_ne!(std::fs::read(ground.path("a.0.0")).unwrap()[..4096], [1; 4096], "written anew");
    ground.write("a.0.0", 20_000);
    let appended = ground.lay_out(job(65_536, |files| files.layout.append = true), WRITE, 1).unwrap();
    assert_eq!((appended.files[0][0].start, ground.size("a.0.0").0), (20_000, 85_536));
    assert_eq!(std::fs::read(ground.path("a.0.0")).unwrap()[..20_000], [1; 20_000], "kept");
}

#[test]
fn what_was_not_filled_to_its_end_is_filled_anew() {
    let ground = Ground::new();
    let cell = ground.cell(job(1 << 20, |_| {}), READ, 1, false);
    for _ in 0..2 {
        // Interrupted before anything was written.
        assert_eq!(ground.open(&cell).lay_out(&cell).unwrap().stages.len(), 1);
        assert!(ground.size("a.0.0").0 < 1 << 20);
    }
    ground.lay_out(job(1 << 20, |_| {}), READ, 1).unwrap();
    assert!(ground.open(&cell).lay_out(&cell).unwrap().stages.is_empty());
}

#[test]
fn a_shared_file_is_as_large_as_the_last_worker_needs_and_filled_once() {
    let ground = Ground::new();
    let mut shared = job(1 << 20, |files| files.names.listed = vec!["x y".into()]);
    shared.region.offset_increment = Amount::Bytes(1 << 20);
    let laid_out = ground.lay_out(shared, READ, 3).unwrap();
    assert_eq!(ground.size("x y").0, 3 << 20);
    assert_eq!(laid_out.stages.iter().map(|stage| stage.bytes).sum::<u64>(), 3 << 20);
    let starts: Vec<u64> = laid_out.files.iter().map(|files| files[0].start).collect();
    assert_eq!(starts, [0, 1 << 20, 2 << 20]);
    assert!(laid_out.files.iter().all(|files| files[0].bytes == 3 << 20 && files[0].object == 0));
}

#[test]
fn names_begin_in_directories_that_must_be_there_and_name_ones_that_need_not() {
    let ground = Ground::new();
    std::fs::create_dir(ground.path("one")).unwrap();
    std::fs::create_dir(ground.path("two")).unwrap();
    let names = FileNames {
        directories: vec!["one".into(), "two".into()],
        format: "deep/er/$jobname-$filenum".into(),
        ..FileNames::default()
    };
    ground.lay_out(job(4096, |files| files.names = names.clone()), WRITE, 2).unwrap();
    assert!(ground.path("one/deep/er/a-0").is_file() && ground.path("two/deep/er/a-0").is_file());
    std::fs::remove_dir_all(ground.path("two")).unwrap();
    let refused = ground.lay_out(job(4096, |files| files.names = names), WRITE, 2).err().unwrap().to_string();
    assert!(refused.contains("directory two") && refused.contains("make it"), "{refused}");
}

#[test]
fn a_job_that_may_make_no_files_says_which_it_lacks() {
    let ground = Ground::new();
    let asked = || job(4096, |files| files.layout.create = false);
    let refused = ground.lay_out(asked(), READ, 1).err().unwrap().to_string();
    assert!(refused.contains("a.0.0: it is missing") && refused.contains("allow_file_create"), "{refused}");
    ground.write("a.0.0", 100);
    let refused = ground.lay_out(asked(), READ, 1).err().unwrap().to_string();
    assert!(refused.contains("it has 100 bytes and the job needs 4096"), "{refused}");
    assert_eq!(ground.size("a.0.0").0, 100, "nothing is removed");
    ground.write("a.0.0", 4096);
    ground.lay_out(asked(), READ, 1).unwrap();
    let refused = ground
        .lay_out(job(0, |files| files.names.listed = vec!["none".into()]), READ, 1)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("none is missing or empty") && refused.contains("size"), "{refused}");
}

#[test]
fn files_are_read_before_the_load_or_not_made_before_it_as_the_job_says() {
    let ground = Ground::new();
    let laid_out = ground.lay_out(job(3_000_000, |files| files.layout.pre_read = true), READ, 2).unwrap();
    let names: Vec<_> = laid_out.stages.iter().map(|stage| (stage.name, stage.bytes)).collect();
    assert_eq!(names, [("lay out", 6_000_000), ("pre-read", 6_000_000)]);
    let late = |files: &mut JobFiles| {
        files.layout.create_on_open = true;
        files.names.listed = vec!["d/late".into()];
    };
    let laid_out = ground.lay_out(job(4096, late), WRITE, 1).unwrap();
    assert!(ground.path("d").is_dir() && !ground.path("d/late").exists());
    assert_eq!(laid_out.files[0][0].length, 4096);
    let only = ground.lay_out(job(8192, |files| files.layout.create_only = true), READ, 1).unwrap();
    assert_eq!((only.files[0][0].length, ground.size("a.0.0").0), (0, 3_000_000));
}

#[test]
fn files_go_when_the_job_says_so_and_stay_otherwise() {
    let ground = Ground::new();
    for (unlink, left) in [(false, 3), (true, 0)] {
        let asked = job(4096, |files| {
            files.count = 3;
            files.layout.unlink = unlink;
        });
        let cell = ground.cell(asked, WRITE, 1, false);
        let opened = ground.open(&cell);
        let laid_out = opened.lay_out(&cell).unwrap();
        assert!(!opened.devices(&laid_out).is_empty());
        opened.finish_job(&cell, &laid_out).unwrap();
        opened.remove_all().unwrap();
        assert_eq!(std::fs::read_dir(ground.directory.path()).unwrap().count(), left);
    }
    assert!(ground.run.remaining().is_empty(), "what the user named is in no journal");
}

#[test]
fn what_does_not_fit_past_the_page_cache_is_said_before_anything_is_made() {
    let ground = Ground::new();
    for (size, start) in [(1000, 0), (4096, 100)] {
        let mut odd = job(65_536, |_| {});
        odd.block_sizes.sizes = Directions::all(SizeChoice::Fixed(size));
        odd.region.offset = Amount::Bytes(start);
        let cell = ground.cell(odd, WRITE, 1, true);
        let refused = ground.open(&cell).lay_out(&cell).err().unwrap().to_string();
        assert!(refused.contains("multiples of") && refused.contains("direct=0"), "{refused}");
        assert!(!refused.contains('\n') && !ground.path("a.0.0").exists());
    }
}

#[test]
fn ten_thousand_files_are_laid_out_with_few_open() {
    let ground = Ground::new();
    let laid_out = ground.lay_out(job(10_000 * 512, |files| files.count = 10_000), READ, 1).unwrap();
    assert_eq!(laid_out.stages[0].bytes, 10_000 * 512);
    assert_eq!(std::fs::read_dir(ground.directory.path()).unwrap().count(), 10_000);
    assert_eq!(ground.size("a.0.9999").0, 512);
}
