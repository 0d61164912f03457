//! A file's `scale: {server: …}` in the plan.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{EarlierData, Plan, Settings, SourceText, parse};

fn read(file: &str) -> Result<Plan, String> {
    let source = SourceText { file: "f.yaml", text: file };
    parse(&source, &Settings::of(targets::kinds())).map_err(|faults| faults.to_string())
}

fn plan(file: &str) -> Plan {
    read(file).unwrap_or_else(|faults| panic!("\n{faults}\n{file}"))
}

const REST: &str = "targets: {d: file:///mnt/data}
workloads: {r: {ops: read}, w: {ops: write}}
matrix: {queue_depth: [1, 8], repetitions: 2, order: shuffled}
";

#[test]
fn each_size_is_set_once_whatever_the_order_within_it() {
    let plan =
        plan(&format!("{REST}scale: {{server: {{name: osds, values: [3, 1], set: './s {{value}}'}}}}\n"));
    let scale = plan.server_scale.as_ref().unwrap();
    assert_eq!((&*scale.name, scale.timeout_ms, scale.interval_ms), ("osds", 600_000, 1000));
    assert_eq!(scale.command(&scale.set, "3"), ["./s", "3"]);
    let sizes: Vec<&str> = plan.cells.iter().map(|cell| plan.server_size(cell).unwrap()).collect();
    assert_eq!(sizes, [["3"; 8], ["1"; 8]].concat());
    assert!(plan.cells[0].name.contains(" osds=3 "), "{}", plan.cells[0].name);
    assert_eq!(plan.size_of_data(&plan.cells[8]).unwrap(), "osds=1");
    let fills = |plan: &Plan| plan.cell_figures(targets::kinds()).iter().filter(|cell| cell.fills).count();
    assert_eq!(fills(&plan), 2, "once for each size");
    let mut kept = plan.clone();
    kept.server_scale.as_mut().unwrap().data = EarlierData::Keep;
    assert_eq!((fills(&kept), kept.size_of_data(&kept.cells[8])), (1, None));
    let stored: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(stored, plan);
}

#[test]
fn a_parameter_of_the_same_name_gets_the_size() {
    let plan = plan(
        "parameters: {osds: 1}\ntargets: {d: 'file:///mnt/on-${osds}'}\nworkloads: {r: {ops: read}}\n\
         scale: {server: {name: osds, values: [1, 2], set: [a, '{value}']}}\n",
    );
    let urls: Vec<&str> = plan.cells.iter().map(|cell| &*cell.target.url).collect();
    assert_eq!(urls, ["file:///mnt/on-1", "file:///mnt/on-2"]);
}

#[test]
fn mistakes_are_named() {
    let of = |server: &str| read(&format!("{REST}scale: {{server: {server}}}\n")).unwrap_err();
    for (server, said) in [
        ("{values: [1]}", "scale.server needs set"),
        ("{set: 'a {value}'}", "scale.server needs values"),
        ("{values: [1, 2], set: a}", "{value} is missing"),
        ("{values: [1, 1], set: 'a {value}'}", "in the list twice"),
        ("{values: [], set: 'a {value}'}", "the list of sizes is empty"),
        ("{values: [1], set: 'a {value}', ready: 'a | b'}", "[sh, -c,"),
        ("{values: [1], set: a, reset: 'a {value}'}", "reset has no {value}"),
        ("{name: agents, values: [1], set: a}", "means something else"),
        ("{name: queue_depth, values: [1], set: a}", "scale crosses \"queue_depth\" already"),
        ("{values: [1], set: a, timeout: 0s}", "timeout does not fit"),
    ] {
        let faults = of(server);
        assert!(faults.contains(said), "{server}: {faults}");
    }
    let own = "targets: {d: file:///mnt/data}\nworkloads: {r: {ops: read, scale: {server: {values: [1], set: a}}}}\n";
    assert!(read(own).unwrap_err().contains("one size at a time"));
}
