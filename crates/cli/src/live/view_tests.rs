//! Tests of the view, drawn into memory.

use metrics::OpKind;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use stats::Criterion;
use store::State;

use super::view::draw;
use runner::progress::{Limit, RunProgress, Stage, Steady};
use runner::test_support::{cell, interval};

const SECOND: u64 = 1_000_000_000;

fn criterion(name: &str, value: f64, limit: f64, met: bool) -> Criterion {
    Criterion { name: name.into(), value, limit, at_most: true, met, unit: stats::CriterionUnit::Share }
}

/// A run of twelve cells in the middle of its third.
fn model() -> RunProgress {
    let mut model = RunProgress {
        run: "abcdefgh".into(),
        experiment: "demo".into(),
        cells: (1..=12).map(|number| cell(&format!("randread block_size={number}KiB"), 60.0)).collect(),
        ..RunProgress::default()
    };
    model.begin_cell(0, "file:///mnt/data", 0);
    model.end_cell(0, State::Finished, "1.2 GB/s".into(), 60 * SECOND);
    model.begin_cell(1, "file:///mnt/data", 60 * SECOND);
    model.end_cell(1, State::Failed, "no such directory".into(), 61 * SECOND);
    model.begin_cell(2, "file:///mnt/data", 61 * SECOND);
    model.begin_stage(
        Some(2),
        Stage { name: "measure".into(), began_ns: 70 * SECOND, at_most_s: Some(120.0), ..Stage::default() },
    );
    for index in 0..40 {
        let reads = 1000 + u64::from(index) * 10;
        model.interval(
            2,
            &interval(
                index,
                &[(OpKind::Read, reads, 4096, 1_000_000), (OpKind::Write, 100, 4096, 5_000_000)],
            ),
        );
    }
    model.steady = Some(Steady {
        rule: "default".into(),
        next_look_s: 45.0,
        criteria: vec![
            criterion("total ops/s: half-width", 0.012, 0.03, true),
            criterion("total ops/s: drift", 0.31, 0.05, false),
        ],
    });
    model.limits = vec![
        Limit { name: "busiest worker".into(), share: 0.97, text: "97 % of its core".into() },
        Limit { name: "backlog".into(), share: 0.1, text: "3 waiting".into() },
    ];
    model.note("cell 2: no such directory");
    model
}

fn drawn(model: &RunProgress, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, 110 * SECOND)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_wide_screen_shows_all_of_it() {
    let screen = drawn(&model(), 140, 40);
    for text in [
        "demo",
        "abcdefgh",
        "measure",
        "40 s of at most 2:00",
        "read",
        "write",
        "drift",
        "31 % ≤ 5 %",
        "busiest worker",
        "97 % of its core",
        "cells: 2 of 12 done",
        "no such directory",
        "q closes",
    ] {
        assert!(screen.contains(text), "{text:?} is missing in\n{screen}");
    }
    insta::assert_snapshot!(screen);
}

#[test]
fn a_narrow_screen_keeps_the_charts_and_the_matrix() {
    insta::assert_snapshot!(drawn(&model(), 80, 24));
}

#[test]
fn no_size_and_no_state_is_too_small() {
    for (width, height) in [(1, 1), (10, 3), (40, 8), (300, 100)] {
        drawn(&model(), width, height);
        drawn(&RunProgress::default(), width, height);
    }
}

#[test]
fn what_is_missing_stands_before_what_is_met() {
    let screen = drawn(&model(), 140, 40);
    let at = |text: &str| screen.find(text).unwrap();
    assert!(at("total ops/s: drift") < at("total ops/s: half-width"));
}
