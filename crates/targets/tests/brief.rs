//! Experiments without a file: what a URL and flags expand to, and that the file reader accepts it.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{Access, BriefExperiment, Prepare, Settings, SteadyRule, is_url};
use proptest::prelude::*;

fn brief(url: &str) -> BriefExperiment {
    BriefExperiment { url: url.to_owned(), ..BriefExperiment::default() }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn text(brief: &BriefExperiment) -> String {
    brief.text(targets::kinds()).as_str().to_owned()
}

fn plan(brief: &BriefExperiment) -> experiment::Plan {
    let written = brief.text(targets::kinds());
    written
        .parse(&Settings::of(targets::kinds()))
        .unwrap_or_else(|faults| panic!("\n{}\n{faults}", written.as_str()))
}

fn faults(brief: &BriefExperiment) -> String {
    brief.text(targets::kinds()).parse(&Settings::of(targets::kinds())).unwrap_err().to_string()
}

fn ops(brief: &BriefExperiment) -> Vec<Vec<(String, f64)>> {
    let cells = plan(brief).cells;
    let of = |cell: &experiment::Cell| {
        let ops = cell.workload.ops.iter();
        ops.map(|op| (op.op.name().to_owned(), (op.weight * 1000.0).round() / 1000.0)).collect()
    };
    cells.iter().map(of).collect()
}

#[test]
fn lists_make_a_matrix() {
    let brief = BriefExperiment {
        read: some("70%"),
        block_size: some("4KiB,64KiB"),
        queue_depth: some("1, 16"),
        duration: some("30s"),
        warm_up: some("0s"),
        repetitions: some("2"),
        ..brief("file:///mnt/data")
    };
    insta::assert_snapshot!(text(&brief), @r"
    name: file-mixed
    targets:
      data:
        url: file:///mnt/data
        direct: true
    workloads:
      mixed:
        ops: {read: 70%, write: 30%}
    matrix:
      block_size: [4KiB, 64KiB]
      queue_depth: [1, 16]
      repetitions: 2
    steady: none
    stages:
      warm_up: 0s
      measure: 30s
    ");
    let plan = plan(&brief);
    assert_eq!((plan.name.as_str(), plan.cells.len()), ("file-mixed", 8));
    let cell = &plan.cells[1];
    assert_eq!(
        (cell.name.as_str(), cell.workload.queue_depth),
        ("mixed block_size=4KiB queue_depth=16 repetition=1", 16)
    );
    assert_eq!((&cell.steady, cell.stages.measure_at_most_s), (&SteadyRule::None, 30.0));
}

/// Users who do not mention this client's page cache do not want to measure it.
#[test]
fn files_are_read_past_the_page_cache_unless_asked_otherwise() {
    let direct = |brief: &BriefExperiment| {
        let plan = plan(brief);
        let cell = &plan.cells[0];
        let cached = plan.through_page_cache(targets::kinds()).len();
        (cell.target.flag(targets::kind_of(&cell.target.url).unwrap(), "direct"), cached)
    };
    assert_eq!(direct(&brief("file:///mnt/data")), (true, 0));
    assert_eq!(direct(&brief("block:///dev/sdz")), (true, 0));
    assert_eq!(direct(&brief("file:///mnt/data?direct=false")), (false, 1));
    assert_eq!(direct(&BriefExperiment { direct: some("false"), ..brief("file:///mnt/data") }), (false, 1));
    assert_eq!(
        plan(&BriefExperiment { direct: some("true,false"), ..brief("file:///mnt/data") }).cells.len(),
        2
    );
    assert!(!text(&brief("nfs://filer/export")).contains("direct"));
}

#[test]
fn shares_are_completed() {
    let one = |name: &str| vec![(name.to_owned(), 1.0)];
    let mix = |read: f64, write: f64| vec![("read".to_owned(), read), ("write".to_owned(), write)];
    let of = |read: &str, write: &str, ops_given: &[&str]| {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let ops_given = ops_given.iter().map(|op| (*op).to_owned()).collect();
        ops(&BriefExperiment { read: given(read), write: given(write), ops: ops_given, ..brief("sim:") })
    };
    assert_eq!(of("", "", &[]), [one("read")]);
    assert_eq!(of("70%", "", &[]), [mix(0.7, 0.3)]);
    assert_eq!(of("0.7", "", &[]), [mix(0.7, 0.3)]);
    assert_eq!(of("", "100%", &[]), [one("write")]);
    assert_eq!(of("0%", "", &[]), [one("write")]);
    assert_eq!(of("90%", "10%", &[]), [mix(0.9, 0.1)]);
    assert_eq!(of("100%,50%,0%", "", &[]), [one("read"), mix(0.5, 0.5), one("write")]);
    assert_eq!(of("", "", &["stat,list"]), [one("stat"), one("list")]);
    assert_eq!(of("", "", &["read=70%", "write"]), [mix(0.7, 0.3)]);
    assert_eq!(of("70%", "", &["write"]), [mix(0.7, 0.3)]);
}

#[test]
fn objects_that_are_moved_whole_are_got_and_put() {
    for url in ["s3://b?endpoint=http://h:9", "memcached://h"] {
        let mix = ops(&BriefExperiment { read: some("75%"), ..brief(url) });
        assert_eq!(mix, [[("get".to_owned(), 0.75), ("put".to_owned(), 0.25)]], "{url}");
    }
    let values = plan(&brief("memcached://h"));
    assert_eq!(
        values.cells[0].workload.file_bytes(),
        4 << 10,
        "an item of 8 MiB is larger than servers take"
    );
}

/// OSDs refuse objects of more than 128 MiB.
#[test]
fn data_of_a_pool_is_in_many_objects_of_its_usual_size() {
    for op in ["get", "read"] {
        let plan = plan(&BriefExperiment { ops: vec![op.into()], ..brief("rados://pool") });
        let workload = &plan.cells[0].workload;
        assert_eq!((workload.files(), workload.file_bytes()), (64, 4 << 20), "{op}");
    }
}

/// A stat of one 1 GiB file would query the same inode again and again, after a long preparation.
#[test]
fn names_are_looked_up_among_many_small_files() {
    for (url, files) in [("nfs://filer/export", 1000), ("s3://b?endpoint=http://h:9", 1000), ("sim:", 1)] {
        let plan = plan(&BriefExperiment { ops: vec!["stat".into()], ..brief(url) });
        let workload = &plan.cells[0].workload;
        assert_eq!(workload.files(), files, "{url}");
        assert_eq!(files == 1000, workload.file_bytes() == 4 << 10, "{url}");
    }
    let given = BriefExperiment { ops: vec!["stat".into()], files: some("7"), ..brief("nfs://filer/export") };
    assert_eq!(plan(&given).cells[0].workload.files(), 7);
}

/// Filling a device before reading it would destroy its data.
#[test]
fn a_device_that_is_only_read_is_not_filled() {
    let prepare = |read: &str| {
        plan(&BriefExperiment { read: some(read), ..brief("block:///dev/sdz") }).cells[0].stages.prepare
    };
    assert_eq!((prepare("100%"), prepare("70%")), (Prepare::Keep, Prepare::Fill));
}

#[test]
fn values_in_braces_mean_what_they_mean_in_a_file() {
    let brief = BriefExperiment {
        access: some("{zipf: 1.1}, sequential"),
        rate: some("{poisson: 1000/s}"),
        block_size: some("{4KiB: 60%, 64KiB: 40%}"),
        at_most: some("5m"),
        name: some("a: b # c"),
        ..brief("nfs://filer/export")
    };
    let plan = plan(&brief);
    assert_eq!((plan.name.as_str(), plan.cells.len()), ("a: b # c", 2));
    assert!(
        matches!(plan.cells[0].workload.access(), Access::Zipf { .. }),
        "{:?}",
        plan.cells[0].workload.access()
    );
    assert_eq!(
        (plan.cells[0].workload.block_sizes().len(), plan.cells[0].stages.measure_at_most_s),
        (2, 300.0)
    );
}

/// Faults have the same wording as for a file, and name what was typed.
#[test]
fn faults_name_the_flag() {
    insta::assert_snapshot!(faults(&BriefExperiment { block_size: some("4KiB,4QiB"), ..brief("sim:") }), @r#"
    --block-size 4KiB,4QiB: "4QiB" is not a size: unknown unit "QiB"
      = write a number and a unit, such as 4KiB, 8M or 1 GB
    "#);
    insta::assert_snapshot!(faults(&BriefExperiment { read: some("70"), ..brief("sim:") }), @r"
    --read 70: 70 is more than the whole
      = did you mean 70%?
    ");
    insta::assert_snapshot!(faults(&BriefExperiment { block_size: some("4kb"), ..brief("file:///mnt/data") }), @r"
    --block-size 4kb: direct I/O moves multiples of 512 bytes, not 4kB
      = use a multiple of 512, such as 4KiB (fio's 4kb), or direct: false
    ");
    insta::assert_snapshot!(faults(&brief("nfs://filer")), @r#"
    URL: "nfs://filer" has no export
      = write nfs://host/export
    "#);
    let secret = faults(&brief("nfs://me:hunter2@filer/export"));
    assert!(!secret.contains("hunter2") && secret.starts_with("URL: "), "{secret}");
}

#[test]
fn a_url_is_told_from_a_file() {
    for url in
        ["file:///mnt", "NFS://h/e", "sim:", "null:", "sim:?latency=1ms", "hdfs://x", "s3://b", "https://h/b"]
    {
        assert!(is_url(targets::kinds(), url), "{url}");
    }
    for file in [
        "a.yaml",
        "/mnt/data",
        "./sim:notes.yaml",
        "dir/null:",
        "c:a.yaml",
        "2024:x.yaml",
        "",
        ":",
        "a b://c",
    ] {
        assert!(!is_url(targets::kinds(), file), "{file}");
    }
}

#[test]
fn a_commented_experiment_is_the_same_one() {
    let some_keys = BriefExperiment {
        read: some("70%"),
        queue_depth: some("1,16"),
        duration: some("30s"),
        ..brief("file:///mnt/data")
    };
    for brief in [
        some_keys.clone(),
        brief("nfs://filer/export"),
        brief("block:///dev/sdz"),
        brief("s3://b?endpoint=http://h:9"),
    ] {
        let commented = brief.commented(targets::kinds());
        let read = commented.parse(&Settings::of(targets::kinds()));
        let read = read.unwrap_or_else(|faults| panic!("\n{}\n{faults}", commented.as_str()));
        assert_eq!(read, plan(&brief), "{}", commented.as_str());
        // The suggested alternatives are valid, too.
        let offered = commented
            .as_str()
            .lines()
            .skip(2)
            .map(|line| line.replacen("# ", "", usize::from(line.trim_start().starts_with("# "))));
        let offered = offered.collect::<Vec<_>>().join("\n");
        let source = experiment::SourceText { file: "offered.yaml", text: &offered };
        let read = experiment::parse(&source, &Settings::of(targets::kinds()));
        read.unwrap_or_else(|faults| panic!("\n{offered}\n{faults}"));
    }
    insta::assert_snapshot!(some_keys.commented(targets::kinds()).as_str());
}

proptest! {
    /// Any input ends as a plan or as faults; text without braces is never parsed as YAML.
    #[test]
    fn whatever_is_typed_is_read_or_refused(
        url in prop_oneof![Just("sim:".to_owned()), Just("nfs://h/e".to_owned()), "\\PC{0,20}"],
        values in prop::collection::vec(prop::option::of("\\PC{0,12}|[0-9]{1,3}(KiB|%|s|/s)?(,[0-9]{1,2}s?)?"), 8),
    ) {
        let mut values = values.into_iter();
        let mut next = || values.next().flatten();
        let brief = BriefExperiment {
            read: next(), block_size: next(), queue_depth: next(), rate: next(), direct: next(), duration: next(),
            name: next(), ops: next().into_iter().collect(), ..brief(&url)
        };
        for written in [brief.text(targets::kinds()), brief.commented(targets::kinds())] {
            if let Err(faults) = written.parse(&Settings::of(targets::kinds())) {
                prop_assert!(!faults.faults.is_empty());
            }
        }
    }
}
