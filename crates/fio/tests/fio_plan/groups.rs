//! Which jobs run at the same time, which wait, and which are reported together.

use super::{job, plan_of};

/// For each cell: name, run group, report number, summary.
fn shape(text: &str) -> Vec<(String, u32, Option<u32>, Option<u32>)> {
    let plan = plan_of(text);
    let cells = plan.cells.iter().map(|cell| {
        let group = cell.group.unwrap();
        (cell.name.clone(), group.number, group.report, job(cell).report.group)
    });
    cells.collect()
}

const GLOBAL: &str = "[global]\nioengine=null\nsize=4k\n";

#[test]
fn a_wall_begins_a_group_and_a_summary() {
    let found = shape(&format!("{GLOBAL}[a]\n[b]\nnew_group\n[c]\n[d]\nstonewall\n"));
    let expected =
        [("a", 0, None, None), ("b", 0, None, Some(1)), ("c", 0, None, Some(1)), ("d", 1, None, Some(2))];
    assert_eq!(
        found,
        expected.map(|(name, number, report, summary)| (name.to_owned(), number, report, summary))
    );
}

/// As fio 3.33 reports them: `d` and `e` together, then `f` and `g`.
#[test]
fn group_reporting_joins_what_stands_before_it_in_the_summary() {
    let found = shape(&format!(
        "{GLOBAL}[a]\n[d]\nstonewall\ngroup_reporting\n[e]\nnumjobs=2\ngroup_reporting\n[f]\nnew_group\n[g]\ngroup_reporting\n"
    ));
    let reports: Vec<Option<u32>> = found.iter().map(|cell| cell.2).collect();
    assert_eq!(reports, [None, Some(1), Some(1), Some(2), Some(2)]);
}

/// As fio 3.33 reports them: three entries, the last one including the clones of `u`.
#[test]
fn what_is_shown_together_joins_the_last_clone_before_it() {
    let found = shape(&format!("{GLOBAL}[w]\nnumjobs=3\n[u]\nnumjobs=3\ngroup_reporting\n"));
    let reports: Vec<(&str, Option<u32>)> = found.iter().map(|cell| (&*cell.0, cell.2)).collect();
    let expected = [("w clone=0", None), ("w clone=1", None), ("w clone=2", Some(2)), ("u", Some(2))];
    assert_eq!(reports, expected);
}

#[test]
fn clones_are_workers_of_one_cell_or_cells_of_their_own() {
    let plan = plan_of(&format!("{GLOBAL}[a]\nnumjobs=3\ngroup_reporting\n[b]\nnumjobs=2\n"));
    let found: Vec<(&str, u32, u32)> =
        plan.cells.iter().map(|cell| (&*cell.name, cell.workload.jobs, job(cell).first_number)).collect();
    assert_eq!(found, [("a", 3, 0), ("b clone=0", 1, 0), ("b clone=1", 1, 1)]);
    assert_eq!(plan.cells[1].point["clone"], "0");
    assert_eq!(plan.cells[2].index, 2);
}

#[test]
fn a_clone_has_the_seed_of_its_section_and_sections_differ() {
    let plan = plan_of(&format!("{GLOBAL}[a]\nnumjobs=2\n[b]\n"));
    let seeds: Vec<u64> = plan.cells.iter().map(|cell| job(cell).seed).collect();
    assert_eq!(seeds[0], seeds[1]);
    assert_ne!(seeds[0], seeds[2]);
    assert_eq!(plan_of(&format!("{GLOBAL}[a]\nnumjobs=2\n[b]\n")), plan);
}

#[test]
fn jobs_wait_for_those_that_they_name() {
    let plan = plan_of(&format!("{GLOBAL}[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\nexitall\nexit_what=all\n"));
    let groups: Vec<_> = plan.cells.iter().map(|cell| cell.group.unwrap()).collect();
    assert_eq!(groups[2].after_cell, Some(1));
    assert!(!groups[2].ends_group && groups[3].ends_group && groups[3].ends_run);
    let plan = plan_of(&format!("{GLOBAL}[a]\nexitall\n"));
    assert!(plan.cells[0].group.is_some_and(|group| group.ends_group && !group.ends_run));
}

#[test]
fn sections_of_one_name_stay_apart() {
    let plan = plan_of(&format!("{GLOBAL}[a]\n[a]\n"));
    let names: Vec<(&str, &str)> =
        plan.cells.iter().map(|cell| (&*cell.workload_name, &*job(cell).name)).collect();
    assert_eq!(names, [("a", "a"), ("a-2", "a")]);
}

#[test]
fn a_plan_has_its_files_name_and_can_be_written_as_an_experiment() {
    let plan = plan_of(
        "[global]\nsize=1m\nfilename=f\n[w]\nrw=write\nverify=crc32c\n[r]\nstonewall\nrw=randread\nbs=4k,8k\n",
    );
    assert_eq!(plan.name, "jobs");
    insta::assert_snapshot!(fio::convert(&plan, &[]).unwrap());
}
