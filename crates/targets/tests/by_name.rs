//! Mixes over files with names that the user gives: what files say, and what is refused.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{Cell, Plan, Prepare, Settings, SourceText, parse};

fn read(text: &str) -> Result<Plan, String> {
    parse(&SourceText { file: "t.yaml", text }, &Settings::of(targets::kinds()))
        .map_err(|faults| faults.to_string())
}

fn of_target(target: &str, keys: &str) -> String {
    format!("targets: {{t: {target}}}\nworkloads:\n  w: {{{keys}}}\n")
}

fn cell(keys: &str) -> Cell {
    let text = of_target("file:///mnt/data", keys);
    let mut plan = read(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    assert_eq!(plan.cells.len(), 1);
    plan.cells.remove(0)
}

/// The only fault: its text with the hint, and its line and column.
fn fault(text: &str) -> String {
    let faults = read(text).expect_err(text);
    assert_eq!(faults.matches("t.yaml:").count(), 1, "{faults}");
    faults
}

fn paths(cell: &Cell) -> Vec<String> {
    let files = cell.workload.user_files().unwrap();
    (0..cell.workload.files()).map(|file| files.path(file)).collect()
}

#[test]
fn a_list_or_a_format_names_the_files() {
    let listed = cell("ops: read, files: {names: [db1.dat, sub/db2.dat, /other/db3.dat]}");
    assert_eq!(paths(&listed), ["db1.dat", "sub/db2.dat", "/other/db3.dat"]);
    let first = cell("ops: read, files: {count: 2, names: [db1.dat, db2.dat, db3.dat]}");
    assert_eq!(paths(&first), ["db1.dat", "db2.dat"]);
    assert_eq!(paths(&cell("ops: read, files: {names: db.dat}")), ["db.dat"]);
    let format = cell("ops: read, files: {count: 3, names: {format: db.$filenum}}");
    assert_eq!(paths(&format), ["db.0", "db.1", "db.2"]);
    assert_eq!(paths(&cell("ops: read, files: {names: {format: db}}")), ["db"]);
    let plain = cell("ops: read, files: {count: 3}").workload;
    assert_eq!((plain.files(), plain.user_files()), (3, None));
}

/// Existing files are used as they are, in full size, unless the file says otherwise.
#[test]
fn files_with_names_exist_unless_they_are_to_be_filled() {
    let told = |keys: &str| {
        let cell = cell(&format!("ops: {{read: 70%, write: 30%}}, files: {{names: [a, b]}}{keys}"));
        let create = cell.workload.user_files().unwrap().create;
        (cell.stages.prepare, create, cell.workload.file_bytes())
    };
    assert_eq!(told(""), (Prepare::Keep, false, 0));
    assert_eq!(told(", file_size: 1MiB"), (Prepare::Keep, false, 1 << 20));
    assert_eq!(told(", stages: {prepare: fill}"), (Prepare::Fill, true, 1 << 30));
    assert_eq!(
        told(", file_size: 1MiB, stages: {prepare: fill_always}"),
        (Prepare::FillAlways, true, 1 << 20)
    );
}

#[test]
fn a_plan_is_stored_with_its_names() {
    let kept = cell("ops: read, files: {names: [a, b]}");
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), kept);
    let numbered = serde_json::to_string(&cell("ops: read, files: 2")).unwrap();
    assert!(!numbered.contains("user_files"), "{numbered}");
}

#[test]
fn a_matrix_crosses_files_with_names() {
    let text = "targets: {t: file:///mnt/data}
workloads: {w: {ops: read, files: {names: [a, b, c]}}}
matrix: {files: [1, 3, {names: [d]}]}
";
    let cells = read(text).unwrap().cells;
    let all: Vec<_> = cells.iter().map(paths).collect();
    assert_eq!(all, [vec!["a"], vec!["a", "b", "c"], vec!["d"]]);
    assert_eq!(cells[1].name, "w files=3");
    let count = read(&text.replace("files: [1, 3, {names: [d]}]", "files.count: [1, 2]")).unwrap();
    assert_eq!(count.cells.iter().map(paths).collect::<Vec<_>>(), [vec!["a"], vec!["a", "b"]]);
    let beyond = fault(&text.replace("[1, 3, {names: [d]}]", "[4]"));
    assert!(beyond.contains("t.yaml:3:18") && beyond.contains("there are 3 names for 4 files"), "{beyond}");
}

#[test]
fn names_beside_a_job_are_those_of_the_job() {
    let beside = cell("ops: read, file_size: 1MiB, files: {names: [a, b]}, job: {name: w}");
    let inside = cell("ops: read, file_size: 1MiB, job: {name: w, files: {names: {listed: [a, b]}}}");
    assert_eq!(beside.workload.load, inside.workload.load);
    let text =
        of_target("file:///mnt/data", "ops: read, files: {names: [a]}, job: {files: {names: {listed: [b]}}}");
    assert!(fault(&text).contains("give them in one of the two places"));
}

#[test]
fn rates_studies_pauses_and_verified_reads_go_with_names() {
    for keys in [
        "rate: {poisson: 100/s}",
        "find: p99 <= 2 ms",
        "sweep: [100/s, 200/s]",
        "think: 1ms",
        "verify: true",
        "access: {zipf: 0.99}",
        "access: sequential, block_size: {4KiB: 50%, 8KiB: 50%}",
    ] {
        assert!(
            cell(&format!("ops: read, files: {{names: [a, b]}}, {keys}")).workload.user_files().is_some()
        );
    }
}

#[test]
fn each_mistake_is_one_line_with_its_place_and_what_to_write() {
    let file = "file:///mnt/data";
    for (target, keys, wanted) in [
        (file, "ops: read, files: [a, b]", "write files: {names: [db1.dat, db2.dat]}"),
        (file, "ops: read, files: {names: [a, ./a]}", "\"./a\" is named twice"),
        (file, "ops: read, files: {names: [a/]}", "\"a/\" names no file"),
        (file, "ops: read, files: {names: ['']}", "names no file"),
        (file, "ops: read, files: {names: {}}", "there is no name here"),
        (file, "ops: read, files: {names: [a], count: 2}", "there are 1 names for 2 files"),
        (file, "ops: read, files: {names: {directories: [x], listed: [a]}}", "only jobs assign directories"),
        (file, "ops: read, files: {names: {format: f, listed: [a]}}", "not both"),
        (file, "ops: read, files: {names: {format: $jobname}}", "$jobname has no meaning without a job"),
        (file, "ops: read, files: {names: {format: f}, count: 2}", "2 files cannot all be named \"f\""),
        (file, "ops: read, files: {name: [a]}", "did you mean"),
        (file, "ops: create, files: {names: [a]}", "create does not go with files that have names"),
        (file, "ops: list, files: {names: [a]}", "list does not go with files that have names"),
        (file, "ops: write, files: {names: [a]}, stages: {prepare: none}", "write prepare: fill, or keep"),
        (
            file,
            "ops: write, files: {names: [a]}, verify: true, stages: {prepare: keep, verify: true}",
            "write prepare: fill, or verify: false",
        ),
        ("block:///dev/x", "ops: read, files: {names: [a]}", "a block target has no files to name"),
        ("'null:'", "ops: read, files: {names: [a]}", "a null target has no files to name"),
        ("'sim:'", "ops: read, files: {names: [a]}", "a sim target has no files to name"),
        ("'s3://b?endpoint=http://h'", "ops: get, files: {names: [a]}", "files does not fit"),
        ("'s3://b?endpoint=http://h'", "ops: read, files: {names: [a]}", "files does not fit"),
        (
            "{url: file:///mnt, directory: d}",
            "ops: read, files: {names: [a]}",
            "remove the target's directory",
        ),
    ] {
        let text = of_target(target, keys);
        let said = fault(&text);
        assert!(said.contains(wanted), "{said}\n{text}");
        assert!(said.contains("t.yaml:3:"), "{said}\n{text}");
    }
}

#[test]
fn which_host_uses_which_file_is_known_or_refused() {
    let fleet =
        |fleet: &str, target: &str, keys: &str| format!("fleet: {fleet}\n{}", of_target(target, keys));
    let files = "files: {names: [a, b]}";
    let read_only = format!("ops: read, {files}");
    let writes = format!("ops: write, {files}");
    let fills = format!("{read_only}, stages: {{prepare: fill}}");
    let (disk, export) = ("file:///mnt", "nfs://h/export");
    for (hosts, target, keys) in [
        ("{hosts: [x, y]}", disk, &read_only),
        ("{hosts: [x, y]}", disk, &writes),
        ("{hosts: [x, y]}", disk, &fills),
        ("{hosts: [x, y]}", export, &read_only),
        ("{hosts: [x, y]}", "'nfs://h/export/{host}'", &writes),
        ("{hosts: [x, y], sharing: disjoint}", export, &fills),
        ("{hosts: [x, y], sharing: common}", export, &writes),
        ("{slurm: {}, sharing: disjoint}", export, &writes),
    ] {
        let text = fleet(hosts, target, keys);
        read(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    }
    for (hosts, target, keys, wanted) in [
        ("{hosts: [x, y]}", export, &writes, "all hosts would write the same files"),
        ("{local: 2}", disk, &writes, "all hosts would write the same files"),
        ("{hosts: [x, y]}", export, &fills, "all hosts would write the same files"),
        ("{hosts: [x, y, z], sharing: disjoint}", export, &read_only, "divides 2 files among 3 hosts"),
        ("{hosts: [x, y], sharing: common}", export, &fills, "must exist"),
        ("{hosts: [x, y], sharing: neighbour}", export, &read_only, "with sharing: neighbour hosts read"),
    ] {
        let said = fault(&fleet(hosts, target, keys));
        assert!(said.contains(wanted) && said.contains("t.yaml:4:"), "{said}");
    }
    let plan = read(&fleet(
        "{hosts: [x, y]}",
        export,
        "ops: write, files: {names: {format: db.$clientuid.$filenum}, count: 2}",
    ));
    let plan = plan.unwrap();
    let own = plan.fleet.as_ref().unwrap().cell_for(targets::kinds(), &plan.cells[0], "y", 1).unwrap();
    assert_eq!(paths(&own), ["db.y.0", "db.y.1"]);
}

#[test]
fn a_tree_that_exists_is_read_only() {
    let scan = cell("ops: {stat: 50%, open: 25%, close: 25%}, files: {tree: a/b}");
    let tree = scan.workload.tree().unwrap();
    assert_eq!((&*tree.path, tree.entries, tree.sample), ("a/b", 1_000_000, None));
    assert_eq!(
        (scan.stages.prepare, scan.workload.files(), scan.workload.file_bytes()),
        (Prepare::Keep, 0, 0)
    );
    assert!(!scan.workload.changes_data() && !scan.workload.makes_or_removes());
    let text = serde_json::to_string(&scan).unwrap();
    assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), scan);
    let sampled = cell("ops: readlink, files: {tree: ., entries: 5000, beyond: sample}");
    let tree = sampled.workload.tree().unwrap();
    assert_eq!((&*tree.path, tree.entries, tree.sample), (".", 5000, Some(1)));
    let file = "file:///mnt/data";
    for (target, keys, wanted) in [
        (
            file,
            "ops: {read: 50%, write: 50%}, files: {tree: a}",
            "write is not among the operations that only read",
        ),
        (file, "ops: remove, files: {tree: a}", "remove is not among the operations that only read"),
        (file, "ops: stat, files: {tree: a, count: 3}", "remove count; entries limits"),
        (file, "ops: stat, files: {tree: ../a}", "names no directory below the target"),
        (file, "ops: stat, files: {entries: 3}", "entries is for a tree that exists"),
        (file, "ops: read, files: {tree: a}, file_size: 1MiB", "have the sizes that they have"),
        (file, "ops: read, files: {tree: a}, verify: true", "nothing can be compared"),
        (file, "ops: read, files: {tree: a}, stages: {prepare: fill}", "remove prepare"),
        ("{url: file:///mnt, direct: true}", "ops: read, files: {tree: a}", "direct: false"),
        ("nfs://h/e", "ops: open, files: {tree: a}", "NFS version 3 has no"),
        ("nfs://h/e", "ops: chmod, files: {tree: a}", "use read, read-file, stat, open, close"),
        ("'sim:'", "ops: read, files: {tree: a}", "a sim target has no files to name"),
    ] {
        let said = fault(&of_target(target, keys));
        assert!(said.contains(wanted) && said.contains("t.yaml:3:"), "{said}");
    }
    let text = "fleet: {hosts: [x, y], sharing: disjoint}\n".to_owned()
        + &of_target("nfs://h/e", "ops: readlink, files: {tree: a}");
    assert_eq!(read(&text).map(|plan| plan.cells.len()), Ok(1));
}

/// Sets of names may overlap, so they are one place; the run's own directory is another.
#[test]
fn the_place_of_files_with_names_is_not_the_runs_own() {
    let place = |keys: &str| cell(&format!("ops: read, files: {keys}")).place();
    assert_eq!(place("{names: [a]}"), place("{names: [a, b]}"));
    assert_ne!(place("{names: [a]}"), place("1"));
}

#[test]
fn what_is_filled_is_counted() {
    let text = "targets: {t: file:///mnt/data}
workloads:
  make: {ops: read, file_size: 1MiB, files: {names: [a, b]}, stages: {prepare: fill}}
  others: {ops: read, file_size: 1MiB, files: {names: [c, b]}, stages: {prepare: fill}}
  use: {ops: read, files: {names: [a, b]}}
";
    let plan = read(text).unwrap();
    let figures = plan.cell_figures(targets::kinds());
    assert_eq!(figures.iter().map(|cell| cell.prepared_bytes).collect::<Vec<_>>(), [2 << 20, 2 << 20, 0]);
    let sets = plan.data_sets(targets::kinds());
    let names: Vec<_> = sets.iter().map(|set| (set.names.as_deref().unwrap(), set.item_bytes)).collect();
    assert_eq!(names, [("a, b", 1 << 20), ("c, b", 1 << 20), ("a, b", 0)]);
    assert_eq!(plan.bytes_to_write(targets::kinds()).whole_devices, 0);
}
