//! Figures of plans compared with manual calculations.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::*;

fn plan(text: &str) -> Plan {
    match parse(&SourceText { file: "test.yaml", text }, &Settings::of(targets::kinds())) {
        Ok(plan) => plan,
        Err(faults) => panic!("\n{faults}"),
    }
}

#[test]
fn a_data_set_is_filled_once_for_all_cells_that_can_share_it() {
    let plan = plan(
        "targets: {disk: file:///mnt/data}
defaults: {files: 4, file_size: 1MiB}
workloads:
  read: {ops: read}
  write: {ops: write}
  check: {ops: read, verify: true}
  big: {ops: read, file_size: 2MiB}
  again: {ops: read}
matrix: {queue_depth: [1, 2]}
",
    );
    let fills: Vec<_> = plan.cell_figures(targets::kinds()).iter().map(|cell| cell.fills).collect();
    // The very first; the first that verifies after writes; the first of another size; the first of the old size.
    assert_eq!(fills, [true, false, false, false, true, false, true, false, true, false]);
    assert_eq!(plan.bytes_to_write(targets::kinds()).fill, (4 + 4 + 8 + 4) << 20);
    assert_eq!(plan.bytes_to_write(targets::kinds()).unbounded_cells, 2);
    let sets = plan.data_sets(targets::kinds());
    assert_eq!(sets.len(), 2);
    assert_eq!((sets[0].cells, sets[0].fills, sets[0].bytes()), (8, 3, 4 << 20));
    assert_eq!((sets[1].cells, sets[1].fills, sets[1].bytes()), (2, 1, 8 << 20));
}

#[test]
fn time_is_summed_from_floors_and_limits() {
    let head =
        "targets: {t: 'null:'}\nworkloads: {w: {ops: read}}\nmatrix: {queue_depth: [1, 2], repetitions: 3}\n";
    let of = |rest: &str| plan(&format!("{head}{rest}")).expected_seconds();
    assert_eq!(of(""), (6.0 * 70.0, 6.0 * 1810.0));
    assert_eq!(of("stages: {warm_up: 0s, measure: {at_least: 1m, at_most: 2m}}\n"), (360.0, 720.0));
    assert_eq!(of("steady: none\nstages: {measure: 90s}\n"), (600.0, 600.0));
    // Five rounds of two minutes are more than a minute.
    assert_eq!(of("steady: {snia: {round: 2m}}\nstages: {warm_up: 0s}\n"), (6.0 * 600.0, 6.0 * 1800.0));
}

#[test]
fn studies_take_as_long_as_their_trials() {
    let of = |study: &str| {
        plan(&format!("targets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read, {study}}}}}\n"))
            .expected_seconds()
    };
    assert_eq!(of("sweep: {rates: [1/s, 2/s, 3/s], point: 40s}"), (150.0, 150.0));
    assert_eq!(of("sweep: auto"), (412.5, 412.5));
    // From 100 to 200 within 10 %: 100..150 (33 %), 125..150 (17 %), 137.5..150 (8 %); in the worst case from the lower
    // half.
    let (low, high) = of("find: {goal: p99 <= 1ms, from: 100/s, to: 200/s, tolerance: 10%, trial: 20s}");
    assert_eq!(low, 25.0);
    // Each rate has three trials, unless the first one misses the goal.
    assert!(((2.0 + 3.0) * 75.0..=(2.0 + 4.0) * 75.0).contains(&high), "{high}");
}

#[test]
fn rates_say_how_much_is_written() {
    let of = |rate: &str| {
        let text = format!(
            "targets: {{t: 'file:///x?directory=d'}}
workloads: {{w: {{ops: {{read: 50%, write: 50%}}, block_size: {{1KiB: 50%, 3KiB: 50%}}, {rate}}}}}
steady: none
stages: {{warm_up: 10s, measure: 90s, prepare: keep}}
"
        );
        plan(&text).bytes_to_write(targets::kinds())
    };
    let loaded =
        |ops: u64| BytesToWrite { load_low: ops * 1024, load_high: ops * 1024, ..BytesToWrite::default() };
    assert_eq!(of("rate: 10/s"), loaded(1000));
    assert_eq!(of("rate: {poisson: 10/s}"), loaded(1000));
    assert_eq!(of("rate: {ramp: {from: 0/s, to: 100/s, over: 50s}}"), loaded(2500 + 5000));
    assert_eq!(of("rate: {steps: [{rate: 10/s, for: 40s}, {rate: 1/s, for: 1s}]}"), loaded(460));
    assert_eq!(of("rate: {times: [{at: 20s, rate: 10/s}, {at: 30s, rate: 0/s}]}"), loaded(100));
    assert_eq!(of("rate: none").unbounded_cells, 1);
}

#[test]
fn a_floor_in_bytes_counts_by_the_share_of_writes() {
    let plan = plan(
        "targets: {s: 's3://b?endpoint=http://h'}
workloads: {w: {ops: {get: 75%, put: 25%}, objects: 10, object_size: 1MB}}
stages: {measure: {at_least_bytes: 1GB}}
",
    );
    let bytes = plan.bytes_to_write(targets::kinds());
    assert_eq!((bytes.fill, bytes.load_low, bytes.unbounded_cells), (10_000_000, 250_000_000, 1));
    assert!(plan.data_sets(targets::kinds())[0].objects);
}

#[test]
fn a_whole_device_has_a_size_that_only_the_device_knows() {
    let bytes = plan("targets: {d: 'block:///dev/x'}\nworkloads: {w: {ops: read}}\n")
        .bytes_to_write(targets::kinds());
    assert_eq!((bytes.fill, bytes.whole_devices), (0, 1));
}

#[test]
fn jobs_of_a_group_take_as_long_as_the_longest() {
    let plan = plan(
        "targets: {disk: file:///mnt/data}
workloads:
  a: {ops: read, group: {number: 0}, stages: {warm_up: 5s}, job: {region: {size: {bytes: 1MiB}}, ending: {runtime_s: 60, time_based: true}}}
  b: {ops: {read: 50%, write: 50%}, jobs: 2, group: {number: 0}, job: {region: {size: {bytes: 2MiB}}, ending: {runtime_s: 100, loops: 3}}}
  c: {ops: write, group: {number: 1}, job: {region: {size: {bytes: 4MiB}}}}
",
    );
    // a: 65 s; b: up to 100 s; c: unknown.
    assert_eq!(plan.expected_seconds(), (65.0, 100.0));
    assert_eq!(plan.jobs_without_limit(), 1);
    let bytes = plan.bytes_to_write(targets::kinds());
    // a reads a file of 1 MiB; b's two workers use a file of 2 MiB each; c creates its own.
    assert_eq!(bytes.fill, (1 + 4) << 20);
    // Half of three times 2 MiB by two workers, and 4 MiB.
    assert_eq!((bytes.load_low, bytes.load_high, bytes.unbounded_cells), (10 << 20, 10 << 20, 0));
}

#[test]
fn bytes_are_those_of_all_hosts_and_rates_too() {
    let of = |fleet: &str| {
        plan(&format!(
            "fleet: {fleet}
targets: {{disk: file:///mnt/data, dev: 'block:///dev/x'}}
workloads:
  read: {{target: disk, ops: read, files: 4, file_size: 1MiB}}
  paced: {{target: disk, ops: write, rate: 100/s, files: 4, file_size: 1MiB}}
  raw: {{target: dev, ops: write, agents: 2}}
steady: none
stages: {{warm_up: 0s, measure: 10s}}
"
        ))
    };
    let three = of("{local: 3}");
    let bytes = three.bytes_to_write(targets::kinds());
    // Three hosts fill 4 MiB each; the rate is the total; each has a device.
    assert_eq!((bytes.fill, bytes.load_low, bytes.whole_devices), (12 << 20, 100 * 10 * 4096, 3));
    assert_eq!(three.data_sets(targets::kinds())[0].bytes(), 12 << 20);
    let hosts: Vec<_> = three.cell_figures(targets::kinds()).iter().map(|cell| cell.hosts).collect();
    assert_eq!(hosts, [Some(3), Some(3), Some(2)]);
    // The number of nodes of an allocation is unknown: the figures are for one node.
    let slurm = of("{slurm: {}}");
    assert_eq!(
        (slurm.bytes_to_write(targets::kinds()).fill, slurm.data_sets(targets::kinds())[0].hosts),
        (4 << 20, None)
    );
}

#[test]
fn all_hosts_have_their_data_whatever_number_loads_it() {
    let plan = plan(
        "fleet: {local: 4}
targets: {disk: file:///mnt/data}
workloads: {read: {ops: read, files: 1, file_size: 1MiB}}
scale: doubling
matrix: {queue_depth: [1, 2]}
",
    );
    let fills: Vec<_> =
        plan.cell_figures(targets::kinds()).iter().map(|cell| (cell.hosts, cell.fills)).collect();
    let later = [(Some(1), false), (Some(2), false), (Some(2), false), (Some(4), false), (Some(4), false)];
    assert_eq!((fills[0], &fills[1..]), ((Some(1), true), &later[..]));
    assert_eq!(plan.bytes_to_write(targets::kinds()).fill, 4 << 20);
}
