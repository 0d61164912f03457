//! The report: every figure is from the document, nothing hostile gets through, odd runs are shown, size is bounded.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fixture;

use report::{CellBuilder, CellView, Document, PointLimits, html};
use serde_json::Value;
use store::State;

/// Every text between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    text.split(from).skip(1).filter_map(|rest| rest.split_once(to).map(|(inside, _)| inside)).collect()
}

/// The document embedded in the page.
fn embedded(page: &str) -> Value {
    let json = between(page, "id=\"manometer-data\">", "</script>");
    assert_eq!(json.len(), 1);
    serde_json::from_str(json[0]).unwrap()
}

#[test]
fn the_page_carries_the_document_as_it_is_exported() {
    let document = fixture::everything();
    assert_eq!(embedded(&html(&document)), report::data(&document));
}

#[test]
fn every_figure_is_one_of_the_document() {
    let document = fixture::everything();
    let page = html(&document);
    let data = embedded(&page);
    let figures = between(&page, "<data value=\"", "</data>");
    assert!(figures.len() > 1000, "{}", figures.len());
    for figure in figures {
        let (value, rest) = figure.split_once("\" data-path=\"").unwrap();
        let (paths, text) = rest.split_once("\">").unwrap();
        let found: Vec<f64> =
            paths.split(' ').map(|path| data.pointer(path).unwrap().as_f64().unwrap()).collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert_eq!(value.parse::<f64>().unwrap(), mean, "{paths}");
        assert!(text.starts_with(|c: char| c.is_ascii_digit() || c == '-'), "{paths}: {text}");
    }
    // The headline of each cell is among them.
    for (position, view) in document.cells.iter().enumerate() {
        let Some(result) = &view.record.result else { continue };
        let wanted = format!(
            "<data value=\"{}\" data-path=\"/cells/{position}/result/total/ops_per_s/mean\">",
            result.total.ops_per_s.mean
        );
        assert!(page.contains(&wanted), "{wanted}");
    }
}

/// Numbers in the page's text that are not in the document must be axis labels, names or dates.
#[test]
fn a_changed_figure_changes_the_page() {
    let mut document = fixture::simple("aaaaaaaa", 1.0, 1);
    let before = html(&document);
    document.cells[1].record.result.as_mut().unwrap().total.response.p999_ns = 123_456_789;
    let after = html(&document);
    assert!(!before.contains(">123 ms</data>"));
    // Once in the summary, once in the headline, once in the table of latencies.
    assert_eq!(after.matches("<data value=\"123456789\"").count(), 3);
}

#[test]
fn nothing_hostile_gets_out_of_its_text() {
    const EVIL: &str =
        "\"><script>alert(1)</script><img src=x onerror=alert(2)>'</title></style>\u{202e}&\u{0}";
    let mut document = fixture::everything();
    document.run.name = EVIL.into();
    document.run.id = EVIL.into();
    document.run.version = EVIL.into();
    document.run.plan.name = EVIL.into();
    document.run.plan.description = Some(EVIL.into());
    document.run.environment.facts =
        [(EVIL.to_owned(), EVIL.to_owned()), ("kernel".into(), EVIL.into())].into();
    for cell in &mut document.run.plan.cells {
        cell.name = EVIL.into();
        cell.workload_name = EVIL.into();
        cell.target.name = EVIL.into();
        cell.target.url = EVIL.into();
        cell.target.options = [(EVIL.to_owned(), EVIL.to_owned())].into();
        cell.point = cell.point.iter().map(|(k, v)| (format!("{k}{EVIL}"), format!("{v}{EVIL}"))).collect();
        cell.gates.iter_mut().for_each(|gate| gate.text = EVIL.into());
    }
    for view in &mut document.cells {
        view.record.failure = view.record.failure.is_some().then(|| EVIL.into());
        let Some(result) = &mut view.record.result else { continue };
        result.cache = EVIL.into();
        result.target = [(EVIL.to_owned(), EVIL.to_owned())].into();
        result.client = [(EVIL.to_owned(), 1.0)].into();
        result.verdict.reasons = vec![EVIL.into()];
        result.steady.reason = EVIL.into();
        result.steady.rule = EVIL.into();
        result.steady.notes = vec![EVIL.into()];
        result.steady.criteria.iter_mut().for_each(|criterion| criterion.name = EVIL.into());
        result.gates.iter_mut().for_each(|gate| gate.text = EVIL.into());
        result.stages.iter_mut().for_each(|stage| {
            stage.name = EVIL.into();
            stage.note = Some(EVIL.into());
        });
        result.error_samples.iter_mut().for_each(|sample| sample.detail = EVIL.into());
    }
    document.events.iter_mut().for_each(|event| {
        event.kind = EVIL.into();
        event.text = EVIL.into();
    });
    let page = html(&document);
    // Two script elements: one with data, one with our script.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("</style").count(), 1);
    assert_eq!(page.matches("</title").count(), page.matches("<title").count());
    assert!(!page.contains("<img"));
    assert!(!page.contains('\u{202e}') || !page.split("<script type").next().unwrap().contains('\u{202e}'));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert_eq!(embedded(&page)["run"]["name"], EVIL);
    let notebook: Value = serde_json::from_str(&report::notebook(&document)).unwrap();
    let title = notebook["cells"][0]["source"].to_string();
    assert!(!title.contains("<script"), "{title}");
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let page = html(&fixture::everything());
    let head = page.split("</head>").next().unwrap();
    assert!(head.contains("default-src 'none'"));
    for asks in [
        "src=",
        "@import",
        "url(",
        "<link rel=\"stylesheet\"",
        "fetch(",
        "XMLHttpRequest",
        "http://",
        "https://",
    ] {
        let found = page.matches(asks).count();
        // The SVG namespace name is not a URL that anything fetches.
        let allowed = page.matches("http://www.w3.org/2000/svg").count() * usize::from(asks == "http://");
        assert_eq!(found, allowed, "{asks}");
    }
}

/// The numbers embedded for a chart, by its name.
fn chart(page: &str, name: &str) -> Value {
    let from = page.split(&format!("data-series=\"{name}\"")).nth(1).unwrap();
    serde_json::from_str(between(from, "<metadata>", "</metadata>")[0]).unwrap()
}

#[test]
fn the_overview_has_each_crossed_parameter_with_its_intervals() {
    let document = fixture::everything();
    let page = html(&document);
    // Three figures by block size, the same by queue depth, and these for the workloads without crossed parameters.
    for (name, title) in [
        ("overview-0", "Throughput by block size"),
        ("overview-1", "IOPS by block size"),
        ("overview-2", "p99 by block size"),
        ("overview-3", "Throughput by queue depth"),
        ("overview-5", "p99 by queue depth"),
        ("overview-6", "Throughput by workload"),
    ] {
        assert!(page.contains(&format!("<span class=\"title\">{title}</span>")), "{title}");
        assert!(page.contains(&format!("data-series=\"{name}\"")), "{name}");
    }
    let by_size = chart(&page, "overview-0");
    assert_eq!(by_size["x"], serde_json::json!(["block size", "", [4096, 65540.0, 1.049e6]]));
    assert_eq!(by_size["labels"], serde_json::json!(["4KiB", "64KiB", "1MiB"]));
    assert_eq!(by_size["rows"].as_array().unwrap().len(), 4);
    // Cell 6 has 64 KiB at a queue depth of 8.
    let rate = &document.cells[5].record.result.as_ref().unwrap().total.bytes_per_s;
    let row = &by_size["rows"][1];
    assert_eq!(row[0], "queue depth 8");
    for (part, value) in [(2, rate.mean), (3, rate.low), (4, rate.high)] {
        let shown = row[part][1].as_f64().unwrap();
        assert!((shown / value - 1.0).abs() < 1e-3, "{shown} is not {value}");
    }
}

#[test]
fn repetitions_are_one_point_whose_band_holds_the_interval_of_each() {
    let once = fixture::simple("aaaaaaaa", 1.0, 1);
    let mut document = once.clone();
    let slower = fixture::simple("bbbbbbbb", 0.8, 2);
    for (mut planned, mut view) in slower.run.plan.cells.into_iter().zip(slower.cells) {
        planned.index += 3;
        view.record.index += 3;
        planned.repetition = 2;
        document.run.plan.cells.push(planned);
        document.cells.push(view);
    }
    let rates = |at: usize| document.cells[at].record.result.as_ref().unwrap().total.bytes_per_s;
    let data = chart(&html(&document), "overview-0");
    assert_eq!(data["x"][2], serde_json::json!([1, 8, 32]));
    let row = &data["rows"][0];
    let (fast, slow) = (rates(1), rates(4));
    for (part, value) in [(2, (fast.mean + slow.mean) / 2.0), (3, slow.low), (4, fast.high)] {
        let shown = row[part][1].as_f64().unwrap();
        assert!((shown / value - 1.0).abs() < 1e-3, "{shown} is not {value}");
    }
}

#[test]
fn of_many_cells_twelve_curves_are_drawn_and_the_rule_is_stated() {
    let mut document = fixture::simple("aaaaaaaa", 1.0, 1);
    assert_eq!(chart(&html(&document), "curves")["rows"].as_array().unwrap().len(), 3);
    for index in 3..40u32 {
        let mut planned = document.run.plan.cells[0].clone();
        planned.index = index;
        planned.point = [("queue_depth".to_owned(), (index + 100).to_string())].into();
        let mut view = document.cells[0].clone();
        view.record.index = index;
        document.run.plan.cells.push(planned);
        document.cells.push(view);
    }
    let page = html(&document);
    assert_eq!(chart(&page, "curves")["rows"].as_array().unwrap().len(), 12);
    assert!(page.contains("12 of 40 cells, evenly spread from the lowest to the highest p99"));
}

#[test]
fn the_client_is_drawn_over_time_beside_the_load() {
    let page = html(&fixture::everything());
    let busy = chart(&page, "busy-0");
    assert_eq!(busy["rows"].as_array().unwrap().len(), 4);
    assert_eq!(
        (busy["rows"][0][0].as_str(), busy["rows"][3][0].as_str()),
        (Some("busiest core"), Some("busiest disk"))
    );
    assert_eq!(chart(&page, "network-0")["rows"][0][0], "received");
    // The same time axis as the load above.
    let axis = |name: &str| {
        let from = page.split(&format!("data-series=\"{name}\"")).next().unwrap();
        from.rsplit("data-x=\"").next().unwrap().split('"').next().unwrap().to_owned()
    };
    assert_eq!(axis("busy-0"), axis("rate-0"));
    // Without samples there is nothing to draw.
    let mut without = fixture::everything();
    without.cells.iter_mut().for_each(|view| view.samples.clear());
    assert!(!html(&without).contains("data-series=\"busy-"));
}

#[test]
fn cells_are_folded_and_what_they_share_is_said_once() {
    let page = html(&fixture::everything());
    assert_eq!(page.matches("<details class=\"cell\"><summary>").count(), 15);
    let shown = page.split("id=\"manometer-data\"").next().unwrap();
    assert_eq!(shown.matches("registered files and buffers").count(), 1);
    assert!(
        html(&fixture::document(
            "a",
            "b",
            vec![fixture::make(
                fixture::planned(0, "w", [].into(), 4096, 1),
                &fixture::Load { seconds: 60, ..fixture::Load::of_device(4096, 1, 1) }
            )]
        ))
        .contains("<details class=\"cell\" open>")
    );
}

#[test]
fn an_empty_run_is_shown() {
    let page = html(&fixture::document("aaaaaaaa", "nothing", Vec::new()));
    assert!(page.contains("nothing measured"));
    assert!(page.contains("The plan has no cells."));
}

#[test]
fn an_interrupted_run_shows_what_there_is() {
    let mut document = fixture::simple("aaaaaaaa", 1.0, 1);
    document.run.state = State::Interrupted;
    document.run.finished = None;
    // One was measuring, one had not started.
    document.cells[1].record.result = None;
    document.cells[1].record.state = State::Running;
    let index = document.cells[2].record.index;
    document.cells[2] = CellView::pending(index);
    let page = html(&document);
    for text in [
        "1 cell measured and steady",
        "1 cell did not come to an end",
        "1 cell not begun",
        "interrupted",
        "--resume",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The unfinished cell's timeline is there, although it has no result.
    assert!(page.contains("data-series=\"rate-1\""));
    assert!(!page.contains("data-series=\"rate-2\""));
}

#[test]
fn a_cell_in_which_nothing_succeeded_has_no_latency() {
    let mut document = fixture::simple("aaaaaaaa", 1.0, 1);
    let view = &mut document.cells[0];
    let total = &mut view.record.result.as_mut().unwrap().total;
    total.response = store::LatencySummary::default();
    total.ok = 0;
    let page = html(&document);
    assert!(page.contains("<dt>median</dt><dd>–"));
    assert!(!page.contains(">0 ns</data>"));
}

#[test]
fn figures_that_are_not_numbers_are_dashes() {
    let mut document = fixture::simple("aaaaaaaa", 1.0, 1);
    let total = &mut document.cells[0].record.result.as_mut().unwrap().total;
    total.ops_per_s.mean = f64::NAN;
    total.bytes_per_s.high = f64::INFINITY;
    let page = html(&document);
    assert!(!page.contains("NaN") && !page.contains(">inf"), "not a number is shown");
}

#[test]
fn a_hundred_cells_of_an_hour_make_a_file_that_opens_at_once() {
    let load = fixture::Load { seconds: 3600, draws: 50, ..fixture::Load::of_device(4096, 8, 5) };
    let intervals = load.intervals(false);
    let mut document = fixture::document("aaaaaaaa", "large", Vec::new());
    let small = fixture::simple("bbbbbbbb", 1.0, 1);
    let limits = PointLimits::for_cells(100);
    for index in 0..100u32 {
        let mut planned = small.run.plan.cells[0].clone();
        planned.index = index;
        planned.point = [("queue_depth".to_owned(), index.to_string())].into();
        document.run.plan.cells.push(planned);
        let mut record = small.cells[0].record.clone();
        record.index = index;
        // All are alike: reading one hour once is enough.
        let view = match document.cells.first() {
            Some(first) => CellView { record, ..first.clone() },
            None => {
                let mut builder = CellBuilder::new(limits);
                intervals.iter().for_each(|interval| {
                    builder.measured(interval);
                    builder.window(interval);
                });
                builder.finish(record)
            }
        };
        document.cells.push(view);
    }
    let page = html(&document);
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    // The extremes are still there.
    let most = intervals.iter().map(|interval| interval.ok()).max().unwrap() as f64;
    let kept = document.cells[0].total().unwrap().points.iter().map(|p| p.ops_per_s.high).fold(0.0, f64::max);
    assert_eq!(kept, most);
    assert!(document.cells[0].total().unwrap().points.len() <= 300);
}

#[test]
fn the_summary_reads_well() {
    let document: Document = fixture::everything();
    let page = html(&document);
    let summary = between(&page, "<p class=\"verdict\">", "</p>")[0];
    insta::assert_snapshot!(summary, @r#"<span class="badge bad">✕ CELLS FAILED</span> 14 cells measured (13 steady, 1 without a steady state), 1 cell could not be run on <span class="url">file:///mnt/data</span>"#);
}
