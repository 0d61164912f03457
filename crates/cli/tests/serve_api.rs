//! `manometer serve`: its documents for programs and people, and what notebooks ask for.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use serde_json::Value;
use serve_support::{Served, directory};

const TOKEN: &str = "a-token-of-thirty-two-characters";

/// A target that answers after exactly this many milliseconds, on a virtual clock.
fn exact(milliseconds: u32) -> String {
    format!(
        "name: exact\ntargets: {{t: 'sim:?latency={milliseconds}ms'}}\n\
         workloads: {{w: {{ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}}}\n\
         stages: {{warm_up: 1s, measure: {{at_least: 10s, at_most: 10s}}}}\nsteady: none\n"
    )
}

fn document() -> Value {
    serde_json::from_str(include_str!("../../../schemas/openapi-v3.json")).unwrap()
}

#[test]
fn the_documents_are_public_and_the_api_is_not() {
    let directory = directory();
    let file = directory.path().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    let served = Served::start(&directory, &["--token-file", file.to_str().unwrap()]);
    assert!(served.get_json("/api/v3/openapi.json") == document(), "the checked-in document");
    let moved = served.get("/docs");
    assert!(moved.status == 308 && moved.head.contains("location: /docs/\r\n"), "{}", moved.head);
    let page = served.get("/docs/");
    assert!(page.status == 200 && page.head.contains("content-type: text/html"), "{}", page.head);
    assert!(
        page.head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{}",
        page.head
    );
    // Everything that the page names is there, and nothing of it is on another host.
    let names = page.body.split(['"', '\'']).filter_map(|part| part.strip_prefix("./"));
    let files: Vec<&str> = names.filter(|name| name.ends_with(".js") || name.ends_with(".css")).collect();
    assert!(files.len() >= 4 && files.contains(&"swagger-ui-bundle.js"), "{files:?}");
    for name in files {
        assert_eq!(served.get(&format!("/docs/{name}")).status, 200, "{name}");
    }
    assert!(!page.body.contains("://"), "{}", page.body);
    let start = served.get("/docs/swagger-initializer.js").body;
    assert!(start.contains("/api/v3/openapi.json") && start.contains(r#""validatorUrl": "none""#), "{start}");
    assert_eq!(served.get("/docs/none.js").problem(), "no-such-page");
    for path in ["/api/v3/runs", "/metrics", "/docs-of-others", "/api/v3/openapi.yaml"] {
        assert_eq!(served.get(path).problem(), "no-token", "{path}");
    }
    let elsewhere = served.exchange("GET /docs/ HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert_eq!(elsewhere.problem(), "wrong-host");
}

#[test]
fn every_route_of_the_document_exists() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "aaaaaaaa");
        for method in methods.as_object().unwrap().keys() {
            let answer = served.request(&method.to_uppercase(), &path, "", "");
            let code = if answer.status < 400 { String::new() } else { answer.problem() };
            assert!(code != "no-such-page" && code != "method", "{method} {path}: {answer:?}");
        }
        assert_eq!(served.request("PATCH", &path, "", "").problem(), "method", "{path}");
    }
}

#[test]
fn a_run_is_compared_with_another() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (fast, slow) = (served.run(&exact(1)), served.run(&exact(2)));
    for run in [&fast, &slow] {
        assert_eq!(served.all_events(run).last().unwrap().data["state"], "finished");
    }
    let path = format!("/api/v3/runs/{slow}/compare?with={fast}&metric=rate");
    let found = served.get_json(&path);
    assert_eq!((&found["a"]["id"], &found["b"]["id"]), (&fast.clone().into(), &slow.clone().into()));
    assert_eq!(found["schema"], "manometer.comparison");
    let relative = found["cells"][0]["difference"]["relative"].as_f64().unwrap();
    assert!((relative + 0.5).abs() < 0.01, "{found}");
    let page = served.request("GET", &path, "accept: text/html,application/xhtml+xml;q=0.9\r\n", "");
    assert!(
        page.head.contains("content-type: text/html") && page.head.contains("vary: accept"),
        "{}",
        page.head
    );
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    let of = |query: &str| served.get(&format!("/api/v3/runs/{slow}/compare{query}"));
    for (query, status, code) in [
        (String::new(), 400, "query"),
        (format!("?with={fast}&metric=speed"), 400, "query"),
        (format!("?with={fast}&threshold=7"), 400, "query"),
        (format!("?with={fast}&threshold=NaN"), 400, "query"),
        ("?with=aaaaaaaa".to_owned(), 404, "no-such-run"),
        ("?with=..%2Fx".to_owned(), 404, "no-such-run"),
    ] {
        let answer = of(&query);
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{query}");
    }
    let refused =
        served.run("targets: {t: 's3://b?endpoint=http://127.0.0.1:9'}\nworkloads: {w: {ops: get}}\n");
    served.all_events(&refused);
    assert_eq!(of(&format!("?with={refused}")).problem(), "no-results");
    let posted = served.get(&format!("/api/v3/runs/{slow}/experiment"));
    assert_eq!((posted.status, posted.body), (200, exact(2)));
    assert!(posted.head.contains("content-type: application/yaml"), "{}", posted.head);
}
