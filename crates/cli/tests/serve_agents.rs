//! `manometer serve`: the agents of runs, and what single hosts measure.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use serve_support::{Served, directory};
use support::wait_until;

/// Agents on two hosts, by a command that ignores the host.
fn fleet(stages: &str) -> String {
    format!(
        "name: fleet\ntargets: {{t: 'null:'}}\n\
         workloads: {{w: {{ops: {{read: 50%, write: 50%}}, rate: 400/s, block_size: 4KiB, file_size: 1MiB}}}}\n\
         stages: {stages}\nsteady: none\n\
         fleet: {{command: {{hosts: [node1, node-2], command: [sh, -c, 'exec \"$0\" agent', '{}', '{{host}}']}}}}\n",
        env!("CARGO_BIN_EXE_manometer")
    )
}

fn list<'a>(page: &'a Value, name: &str) -> &'a Vec<Value> {
    page[name].as_array().unwrap_or_else(|| panic!("{page}"))
}

fn names<'a>(agents: &'a [Value], field: &str) -> Vec<&'a str> {
    agents.iter().map(|agent| agent[field].as_str().unwrap()).collect()
}

#[test]
fn agents_of_a_run_under_way_say_what_they_do_and_keep_what_was_recorded() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-command"]);
    assert_eq!(served.get_json("/api/v3/agents"), serde_json::json!({ "agents": [] }));
    let run = served.run(&fleet("{warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}"));
    served.wait_for_intervals(&run, 2);
    let agents = served.get_json("/api/v3/agents");
    let found = list(&agents, "agents");
    // `node-2` is before `node1`: sorted by name.
    assert_eq!(names(found, "name"), ["node-2", "node1"]);
    for agent in found {
        assert_eq!(
            (&agent["run"], &agent["state"]),
            (&Value::from(&*run), &Value::from("active")),
            "{agent}"
        );
        assert_eq!(agent["version"], env!("CARGO_PKG_VERSION"));
        assert!(agent["last_seen"].is_string() && agent["last_cell"].is_null(), "{agent}");
        let last = &agent["last_interval"];
        assert_eq!((last["cell"].as_u64(), last["stage"].as_str()), (Some(0), Some("measure")), "{agent}");
        assert_eq!(names(list(last, "ops"), "op"), ["read", "write"]);
        assert!(agent["facts"]["kernel"].is_string() && agent["facts"]["cpu.online"].is_string(), "{agent}");
    }
    // In pages of one.
    let path = format!("/api/v3/runs/{run}/agents?limit=1");
    let first = served.get_json(&path);
    assert_eq!(names(list(&first, "agents"), "name"), ["node-2"]);
    let last = served.get_json(first["next"].as_str().unwrap());
    assert_eq!((names(list(&last, "agents"), "name"), last.get("next")), (vec!["node1"], None));
    let first = served.get_json("/api/v3/agents?limit=1");
    let last = served.get_json(first["next"].as_str().unwrap());
    assert_eq!(names(list(&last, "agents"), "id"), [format!("{run}/node1")]);

    served.request("POST", &format!("/api/v3/runs/{run}/stop"), "", "");
    served.all_events(&run);
    wait_until("the end of its agents", || {
        served.get_json("/api/v3/agents")["agents"] == Value::Array(vec![])
    });
    let ended = served.get_json(&format!("/api/v3/runs/{run}/agents"));
    for agent in list(&ended, "agents") {
        assert_eq!(agent["state"], "ended", "{agent}");
        assert!(agent["last_seen"].is_null() && agent["last_interval"].is_null(), "{agent}");
        let cell = &agent["last_cell"];
        assert_eq!((cell["cell"].as_u64(), &cell["lost"]), (Some(0), &Value::Null), "{agent}");
        assert!(cell["started_ns"].is_i64() && cell["clock"]["round_trip_ns"].is_u64(), "{agent}");
    }
    let alone = served.run(
        "targets: {t: 'sim:?latency=1ms'}\nworkloads: {w: {ops: read, file_size: 1MiB}}\nsteady: none\n",
    );
    served.all_events(&alone);
    assert_eq!(list(&served.get_json(&format!("/api/v3/runs/{alone}/agents")), "agents").len(), 0);
    for (path, status, code) in [
        ("/api/v3/runs/aaaaaaaa/agents".to_owned(), 404, "no-such-run"),
        (format!("/api/v3/runs/{run}/agents?limit=0"), 400, "query"),
        ("/api/v3/agents?limit=501".to_owned(), 400, "query"),
        ("/api/v3/agents?host=x".to_owned(), 400, "query"),
    ] {
        let answer = served.get(&path);
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{path}");
    }
}

#[test]
fn a_lost_agent_is_lost_while_its_cell_goes_on() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-command"]);
    let text = fleet("{warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}");
    // The command's shell leaves its process id behind, and becomes the agent.
    let pids = directory.path().join("pid-");
    let told = format!("echo $$ > {}$1; exec", pids.display());
    let run = served.run(&text.replace("exec", &told));
    served.wait_for_intervals(&run, 2);
    let pid: i32 =
        std::fs::read_to_string(format!("{}node1", pids.display())).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let states = || {
        let page = served.get_json("/api/v3/agents");
        names(list(&page, "agents"), "state").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    wait_until("its loss to be noticed", || states() == ["active", "lost"]);
    served.request("POST", &format!("/api/v3/runs/{run}/stop"), "", "");
    served.all_events(&run);
    let ended = served.get_json(&format!("/api/v3/runs/{run}/agents"));
    assert_eq!(names(list(&ended, "agents"), "state"), ["ended", "lost"]);
}

/// Sum of a counter over the points of a host, or of all hosts together.
fn sum(points: &Value) -> u64 {
    points.as_array().unwrap().iter().map(|point| point["ok"].as_u64().unwrap()).sum()
}

#[test]
fn intervals_of_single_hosts_add_up_to_the_combined_ones() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-command"]);
    let run = served.run(&fleet("{warm_up: 0s, measure: {at_least: 3s, at_most: 3s}}"));
    let plain = served.all_events(&run);
    let detailed: Vec<_> = served.events_with_hosts(&run).collect();
    assert_eq!(plain.len(), detailed.len());
    let intervals: Vec<&Value> =
        detailed.iter().filter(|event| event.kind == "interval").map(|event| &event.data).collect();
    assert!(intervals.len() >= 3, "{detailed:?}");
    for interval in &intervals {
        let hosts = list(interval, "hosts");
        assert_eq!(names(hosts, "host"), ["node1", "node-2"], "the order of the fleet");
        assert_eq!(hosts.iter().map(|host| sum(&host["ops"])).sum::<u64>(), sum(&interval["ops"]));
    }
    for (plain, detailed) in plain.iter().zip(&detailed) {
        let mut data = detailed.data.clone();
        data.as_object_mut().unwrap().remove("hosts");
        assert_eq!((plain.id, &plain.kind, &plain.data), (detailed.id, &detailed.kind, &data));
    }

    // What is stored is the same, in pages too.
    let base = format!("/api/v3/runs/{run}/intervals");
    let all = served.get_json(&format!("{base}?hosts=true"));
    let measured: Vec<_> = intervals.iter().filter(|interval| interval["stage"] == "measure").collect();
    assert_eq!(list(&all, "intervals").len(), measured.len());
    for (stored, sent) in list(&all, "intervals").iter().zip(measured) {
        assert_eq!((&stored["ops"], &stored["hosts"]), (&sent["ops"], &sent["hosts"]));
    }
    assert!(served.get_json(&base)["intervals"][0].get("hosts").is_none());
    let first = served.get_json(&format!("{base}?host=node-2&limit=1"));
    let second = served.get_json(first["next"].as_str().unwrap());
    for (at, page) in [(0, &first), (1, &second)] {
        assert_eq!(page["intervals"][0]["ops"], all["intervals"][at]["hosts"][1]["ops"]);
    }
    for (query, status, code) in [
        ("?host=node3", 404, "no-such-agent"),
        ("?host=", 404, "no-such-agent"),
        ("?host=node1&hosts=true", 400, "query"),
        ("?hosts=true&limit=1001", 400, "query"),
        ("?hosts=yes", 400, "query"),
    ] {
        let answer = served.get(&format!("{base}{query}"));
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{query}");
    }
}
