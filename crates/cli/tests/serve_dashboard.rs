//! The pages of `manometer serve`: who may load them, with which headers, and what they need from the API.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use serve_support::{Answer, Served, directory};

const SHORT: &str = "name: short\ntargets: {t: \"sim:?latency=1ms&noise=2%\"}\nworkloads: {w: {ops: read, block_size: 4KiB}}\n\
                     stages: {warm_up: 1s, measure: {at_least: 60s, at_most: 2m}}\n";

/// The value of a header, in lower case.
fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let line = answer.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name}: {answer:?}")).trim()
}

#[test]
fn pages_need_no_token_and_allow_nothing_from_outside() {
    let directory = directory();
    let token = directory.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123\n").unwrap();
    let service = Served::start(&directory, &["--token-file", token.to_str().unwrap()]);
    let page = service.get("/");
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");
    assert_eq!(header(&page, "x-frame-options"), "deny");
    assert_eq!(header(&page, "cache-control"), "no-cache");
    let policy = header(&page, "content-security-policy");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(service.get("/api/v3/runs").problem(), "no-token");
    assert_eq!(service.get("/assets/absent.js").problem(), "no-such-page");
    assert_eq!(service.get("/assets/..%2findex.html").problem(), "no-such-page");
    let foreign = service.exchange("GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert_eq!(foreign.problem(), "wrong-host");
    if cfg!(feature = "dashboard") {
        the_dashboard(&service, &page);
    } else {
        assert!(page.body.contains("make dashboard") && page.body.contains("/api/v3/runs"), "{page:?}");
    }
}

/// What the built page names is there, immutable and compressed; reports have an origin of their own.
fn the_dashboard(service: &Served, page: &Answer) {
    assert!(!page.body.contains("<style") && !page.body.contains("style="), "{page:?}");
    let names = page.body.split('"').filter(|text| text.starts_with("/assets/"));
    let names: Vec<&str> = names.collect();
    assert!(
        names.iter().any(|name| name.ends_with(".js")) && names.iter().any(|name| name.ends_with(".css"))
    );
    for name in names {
        let file = service.get(name);
        assert_eq!(file.status, 200, "{name}");
        assert_eq!(header(&file, "cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(header(&file, "x-content-type-options"), "nosniff");
        let kind = if name.ends_with(".js") { "text/javascript" } else { "text/css" };
        assert_eq!(header(&file, "content-type"), format!("{kind}; charset=utf-8"));
    }
    let frame = service.get("/frame.html");
    assert_eq!(header(&frame, "x-frame-options"), "sameorigin");
    let policy = header(&frame, "content-security-policy");
    assert!(policy.starts_with("sandbox ") && !policy.contains("allow-same-origin"), "{policy}");
}

#[test]
fn a_run_has_progress_a_summary_a_comparison_and_a_history() {
    let directory = directory();
    let service = Served::start(&directory, &[]);
    let history = |name: &str| service.get_json(&format!("/api/v3/history?name={name}"));
    assert_eq!(history("short")["runs"].as_array().unwrap().len(), 0);
    let runs = [service.run(SHORT), service.run(SHORT)];
    for run in &runs {
        service.all_events(run);
        assert_eq!(service.state(run), "finished");
        let summary = service.get_json(&format!("/api/v3/runs/{run}/summary"));
        assert_eq!(summary["cells"]["all"], 1, "{summary}");
        assert_eq!(summary["cells"]["ended"], 1, "{summary}");
        assert!(
            summary["verdict"].is_string() && summary["ops_per_s"]["value"].as_f64().unwrap() > 0.0,
            "{summary}"
        );
        assert_eq!(service.get(&format!("/api/v3/runs/{run}/experiment")).body, SHORT);
        // Nothing is under way any more.
        let progress = service.get_json(&format!("/api/v3/runs/{run}/progress"));
        assert!(progress["stage"].is_null(), "{progress}");
    }
    let [a, b] = &runs;
    let comparison = service.get_json(&format!("/api/v3/runs/{b}/compare?with={a}"));
    assert_eq!((&comparison["a"]["id"], &comparison["b"]["id"]), (&a.as_str().into(), &b.as_str().into()));
    let page =
        service.request("GET", &format!("/api/v3/runs/{b}/compare?with={a}"), "accept: text/html\r\n", "");
    assert!(page.status == 200 && page.body.contains("<h1"), "{}", page.head);
    let series = history("short");
    let order: Vec<&str> =
        series["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(order, [a, b], "oldest first");
    assert_eq!(series["cells"][0]["figures"].as_array().unwrap().len(), 2, "{series}");
    assert_eq!(service.get("/api/v3/runs/aaaaaaaa/progress").problem(), "no-such-run");
    assert_eq!(service.get("/api/v3/history?name=short&limit=0").problem(), "query");
}

#[test]
fn a_run_under_way_tells_how_far_it_is() {
    let directory = directory();
    let service = Served::start(&directory, &[]);
    let run = service.run(
        "targets: {t: \"null:\"}\nworkloads: {w: {ops: read, block_size: 4KiB}}\n\
         stages: {warm_up: 1s, measure: {at_least: 5m, at_most: 5m}}\n",
    );
    service.wait_for_intervals(&run, 1);
    let progress = service.get_json(&format!("/api/v3/runs/{run}/progress"));
    assert_eq!(progress["cell_count"], 1, "{progress}");
    assert_eq!(progress["cell"]["target"], "null:", "{progress}");
    assert_eq!(progress["stage"]["name"], "measure", "{progress}");
    assert!(progress["eta_s"]["run"].as_f64().unwrap() > 0.0, "{progress}");
    for _ in 0..2 {
        service.request("POST", &format!("/api/v3/runs/{run}/stop"), "", "");
    }
    service.all_events(&run);
    assert_eq!(service.state(&run), "interrupted");
}
