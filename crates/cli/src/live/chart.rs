//! Throughput and latency over time.

use metrics::SeriesPoint;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Borders, Chart, Dataset, GraphType, LegendPosition};
use units::{ByteRate, OpRate, latency};

use super::line::clock;
use runner::progress::RunProgress;

/// Both charts, one above the other.
pub fn both(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let rows = Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).split(area);
    let points = model.history.points();
    throughput(frame, rows[0], points);
    latencies(frame, rows[1], points);
}

/// Bytes if any are moved, else operations.
fn throughput(frame: &mut Frame<'_>, area: Rect, points: &[SeriesPoint]) {
    let moves = points.iter().any(|point| point.bytes > 0);
    let value = |point: &SeriesPoint| if moves { point.bytes_per_s() } else { point.ops_per_s() };
    let words = |value: f64| if moves { ByteRate(value).to_string() } else { OpRate(value).to_string() };
    let series = series(points, value);
    let now = points.last().map_or_else(String::new, |last| format!("now {} ", words(value(last))));
    let lines = [("", Color::Cyan, series)];
    draw(frame, area, (" throughput ".into(), now), &lines, &words);
}

fn latencies(frame: &mut Frame<'_>, area: Rect, points: &[SeriesPoint]) {
    let words = |value: f64| latency(value as u64);
    let now =
        points.last().map_or_else(String::new, |last| format!("now p99 {} ", words(last.p99_ns as f64)));
    let lines = [
        ("p99", Color::Magenta, series(points, |point| point.p99_ns as f64)),
        ("p50", Color::Green, series(points, |point| point.p50_ns as f64)),
    ];
    draw(frame, area, (" latency ".into(), now), &lines, &words);
}

fn series(points: &[SeriesPoint], value: impl Fn(&SeriesPoint) -> f64) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.end_s(), value(point))).collect()
}

type Series<'a> = (&'a str, Color, Vec<(f64, f64)>);

fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    (title, now): (String, String),
    lines: &[Series<'_>],
    words: &dyn Fn(f64) -> String,
) {
    let all = || lines.iter().flat_map(|(_, _, points)| points);
    let most = all().map(|(_, value)| *value).fold(0.0, f64::max);
    let most = if most > 0.0 { most * 1.1 } else { 1.0 };
    let last = all().map(|(at, _)| *at).fold(0.0, f64::max).max(1.0);
    let data = lines.iter().map(|(name, colour, points)| {
        Dataset::default()
            .name(*name)
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(*colour))
            .data(points)
    });
    let grey = Style::new().fg(Color::DarkGray);
    let chart = Chart::new(data.collect())
        .block(
            Block::new()
                .borders(Borders::ALL)
                .border_style(grey)
                .title(title)
                .title(Line::from(now).alignment(Alignment::Right)),
        )
        .x_axis(Axis::default().bounds([0.0, last]).labels(["0 s".to_owned(), clock(last)]).style(grey))
        .y_axis(
            Axis::default()
                .bounds([0.0, most])
                .labels(["0".to_owned(), words(most / 2.0), words(most)])
                .style(grey),
        )
        .legend_position((lines.len() > 1).then_some(LegendPosition::TopLeft));
    frame.render_widget(chart, area);
}
