//! A fleet's report names what matters in words: the slowest and the lost hosts, and where it stops scaling.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{EarlierData, ServerScale};

mod fixture;

#[test]
fn the_slowest_the_lost_and_the_limit_are_named_and_not_by_colour_alone() {
    let page = report::html(&fixture::fleet());
    let from = page.find("id=\"cell-1\"").unwrap();
    let to = page.find("id=\"cell-2\"").unwrap();
    let cell = &page[from..to];
    assert!(cell.contains("slowest: <strong>client3</strong>"));
    assert!(cell.contains("client3</span> <span class=\"badge warn\">▾ slowest</span>"));
    assert!(cell.contains("✕ root@client4:2222 was lost"));
    assert!(cell.contains("root@client4:2222</span> <span class=\"badge bad\">✕ LOST</span>"));
    assert!(cell.contains("class=\"moment lost\""), "the moment is marked in the charts");
    assert!(
        cell.contains("network-bound: the card of client3") && cell.contains("Next: give client3 the card")
    );
    assert!(cell.contains("data-path=\"/cells/0/result/fleet/start_skew_ns\""));
    assert!(cell.contains("data-path=\"/cells/0/result/hosts/2/paths/0/retransmits\""));
    let lines = cell.matches("data-series=\"hosts-0\"").count();
    assert_eq!(lines, 1);
    assert!(cell.contains("client3 (slowest)") && cell.contains("root@client4:2222 (lost)"));
}

#[test]
fn many_hosts_are_a_band_with_the_slowest_on_it() {
    let page = report::html(&fixture::fleet());
    let from = page.find("id=\"cell-2\"").unwrap();
    let cell = &page[from..page.find("id=\"cell-3\"").unwrap()];
    assert!(cell.contains("min to max of 20 hosts") && cell.contains("node14 (slowest)"));
    assert!(!cell.contains("node01 (slowest)"));
}

#[test]
fn a_scale_out_study_says_where_it_ends_and_what_limits_on_each_side() {
    let page = report::html(&fixture::fleet());
    let section = &page[page.find("id=\"scale\"").unwrap()..];
    assert!(
        section.contains("It scales to 4 hosts</strong> (client-bound); 8 (target-bound) no longer pay.")
    );
    assert!(section.contains("✕ stops scaling") && section.contains("✓ scales"));
    assert!(section.contains("class=\"line linear\""), "the linear reference is drawn");
    // Without a fleet there is no such section, and no link to it.
    assert!(!report::html(&fixture::everything()).contains("#scale\""));
}

#[test]
fn a_study_over_the_size_of_the_server_says_where_the_limit_shifts() {
    let mut document = fixture::fleet();
    // The same cells, as of a server with 1, 2, 4 and 8 OSDs.
    for cell in &mut document.run.plan.cells {
        if let Some(size) = cell.point.remove("agents") {
            cell.point.insert("osds".to_owned(), size);
        }
    }
    assert!(!report::html(&document).contains("id=\"scale\""), "osds is a parameter like any other");
    document.run.plan.server_scale = Some(ServerScale {
        name: "osds".into(),
        values: ["1", "2", "4", "8"].map(str::to_owned).to_vec(),
        set: vec!["set".into(), "{value}".into()],
        ready: Vec::new(),
        reset: Vec::new(),
        timeout_ms: 1000,
        interval_ms: 1000,
        data: EarlierData::Remove,
    });
    let limits = document.cells.iter_mut().filter_map(|view| view.record.result.as_mut()?.limit.as_mut());
    limits.for_each(|limit| limit.place = format!("osd-{}: disk <sdb>", limit.bound.words()));
    let page = report::html(&document);
    let section = &page[page.find("id=\"scale\"").unwrap()..];
    assert!(section.contains("It scales to 4 osds</strong>"));
    let shift = "The limit shifts</strong> from client-bound (osd-client-bound: disk &lt;sdb&gt;) to target-bound \
                 (osd-target-bound: disk &lt;sdb&gt;) between 4 and 8.";
    assert!(section.contains(shift));
}

#[test]
fn a_host_with_a_hostile_name_stays_text() {
    let mut document = fixture::fleet();
    let name = "</script><b>\"\\".to_owned();
    document.cells[0].hosts[0].name = name.clone();
    document.cells[0].record.result.as_mut().unwrap().hosts[0].name = name;
    let page = report::html(&document);
    assert!(!page.contains("</script><b>"));
    let series = page.split("data-series=\"hosts-0\"").nth(1).unwrap();
    let series = series.split("<metadata>").nth(1).unwrap().split("</metadata>").next().unwrap();
    let series: serde_json::Value = serde_json::from_str(series).unwrap();
    assert_eq!(series["rows"][0][0], "</script><b>\"\\");
}
