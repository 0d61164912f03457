//! The full-screen view of a [`RunProgress`].

use metrics::OpKind;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Gauge, Paragraph, Row, Table};
use store::State;
use units::{ByteRate, OpRate, latency};

use super::chart;
use super::line::{clock, shortened};
use runner::progress::RunProgress;

/// Below this width only the charts are shown.
const WIDE: u16 = 90;

/// Draws the run as it is at `now_ns` on the reactors' clock.
pub fn draw(frame: &mut Frame<'_>, model: &RunProgress, now_ns: u64) {
    let rows = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(8),
        Constraint::Length(below(model, frame.area().height)),
        Constraint::Length(1),
    ])
    .split(frame.area());
    header(frame, rows[0], model, now_ns);
    if frame.area().width >= WIDE {
        let columns = Layout::horizontal([Constraint::Percentage(54), Constraint::Min(20)]).split(rows[1]);
        chart::both(frame, columns[0], model);
        side(frame, columns[1], model);
    } else {
        chart::both(frame, rows[1], model);
    }
    let columns = Layout::horizontal([Constraint::Percentage(54), Constraint::Min(20)]).split(rows[2]);
    matrix(frame, columns[0], model);
    notes(frame, columns[1], model);
    let keys = " q closes only this view · Ctrl-C ends the cell, keeps it and cleans up";
    frame.render_widget(Paragraph::new(keys).style(Style::new().fg(Color::DarkGray)), rows[3]);
}

/// Height of the matrix and the messages: at most a third of the screen.
fn below(model: &RunProgress, height: u16) -> u16 {
    let cells = u16::try_from(model.cells.len()).unwrap_or(u16::MAX);
    cells.saturating_add(2).clamp(4, (height / 3).max(4))
}

fn header(frame: &mut Frame<'_>, area: Rect, model: &RunProgress, now_ns: u64) {
    let rows = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).split(area);
    let elapsed = now_ns.saturating_sub(model.began_ns) as f64 / 1e9;
    let mut title = vec![
        " manometer ".bold().reversed(),
        format!(" {} ", model.experiment).bold(),
        format!("run {} · {} of {} cells done", model.run, model.ended(), model.cells.len()).into(),
        format!(" · {} so far", clock(elapsed)).into(),
    ];
    if let Some((_, whole)) = model.eta_s(now_ns) {
        title.push(format!(" · about {} left", clock(whole)).into());
    }
    frame.render_widget(Paragraph::new(Line::from(title)), rows[0]);
    let stage = &model.stage;
    if stage.name.is_empty() {
        return;
    }
    let elapsed = model.stage_elapsed_s(now_ns);
    let by_bytes = stage.bytes_expected.filter(|bytes| *bytes > 0).map(|all| stage.bytes as f64 / all as f64);
    let by_time = stage.at_most_s.filter(|most| *most > 0.0).map(|most| elapsed / most);
    let simulated = if stage.simulated { " of simulated time" } else { "" };
    let label = match stage.at_most_s {
        Some(most) => format!("{} {} of at most {}{simulated}", stage.name, clock(elapsed), clock(most)),
        None => format!("{} {}{simulated}", stage.name, clock(elapsed)),
    };
    let gauge = Gauge::default()
        .ratio(by_bytes.or(by_time).unwrap_or(0.0).clamp(0.0, 1.0))
        .label(label)
        .gauge_style(Style::new().fg(Color::Blue).bg(Color::Black));
    frame.render_widget(gauge, rows[1]);
}

fn framed(title: String) -> Block<'static> {
    Block::new().borders(Borders::ALL).border_style(Style::new().fg(Color::DarkGray)).title(title)
}

fn side(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let criteria = model.steady.as_ref().map_or(1, |steady| steady.criteria.len().max(1));
    let heights = [
        Constraint::Length(model.ops.len().max(1) as u16 + 3),
        Constraint::Length((criteria as u16).saturating_add(2).min(area.height / 2)),
        Constraint::Min(3),
    ];
    let rows = Layout::vertical(heights).split(area);
    operations(frame, rows[0], model);
    steady(frame, rows[1], model);
    limits(frame, rows[2], model);
}

/// The operations of the last interval, and their target.
fn operations(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let header = Row::new(["", "ops/s", "throughput", "p50", "p99", "max", "err"]).bold();
    let rows = model.ops.iter().map(|op| {
        let moved = if op.bytes > 0 { ByteRate(op.bytes_per_s()).to_string() } else { "-".into() };
        let rate = OpRate(op.ops_per_s()).to_string();
        let row = Row::new([
            op.op.map_or("", OpKind::name).to_owned(),
            rate.trim_end_matches("/s").trim_end_matches(" ops").to_owned(),
            moved,
            latency(op.p50_ns),
            latency(op.p99_ns),
            latency(op.max_ns),
            op.failed.to_string(),
        ]);
        if op.failed > 0 { row.fg(Color::Red) } else { row }
    });
    let widths = [
        Constraint::Length(6),
        Constraint::Length(7),
        Constraint::Length(10),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Min(3),
    ];
    let others = match model.running.len() {
        0 | 1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    let room = usize::from(area.width).saturating_sub(4 + others.len());
    let title = format!(" {}{others} ", shortened(&model.target, room));
    frame.render_widget(Table::new(rows, widths).header(header).block(framed(title)), area);
}

/// The rule's criteria, and what is still missing.
fn steady(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let Some(steady) = &model.steady else {
        frame.render_widget(Paragraph::new("not measuring").block(framed(" steady? ".into())), area);
        return;
    };
    let title = format!(" steady? rule {} ", steady.rule);
    if steady.criteria.is_empty() {
        let text = match steady.rule.as_str() {
            "none" => "no steady-state rule: measured for its full length".to_owned(),
            _ => format!("first look after {}", clock(steady.next_look_s)),
        };
        frame.render_widget(Paragraph::new(text).block(framed(title)), area);
        return;
    }
    // Unmet criteria come first: they are what the user waits for.
    let mut criteria: Vec<_> = steady.criteria.iter().collect();
    criteria.sort_by_key(|criterion| criterion.met);
    let lines = criteria.into_iter().map(|criterion| {
        let (mark, colour) = if criterion.met { ("✓", Color::Green) } else { ("·", Color::Yellow) };
        let sign = if criterion.at_most { "≤" } else { "≥" };
        Line::from(vec![
            Span::styled(
                format!(
                    "{mark} {} {sign} {}",
                    criterion.unit.print(criterion.value),
                    criterion.unit.print(criterion.limit)
                ),
                Style::new().fg(colour),
            ),
            // The name is truncated if space is short; the figures are not.
            Span::raw(format!("  {}", criterion.name)),
        ])
    });
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(framed(title)), area);
}

fn limits(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let lines = model.limits.iter().map(|limit| {
        let colour = match limit.share {
            share if share >= 0.95 => Color::Red,
            share if share >= 0.75 => Color::Yellow,
            _ => Color::Green,
        };
        let filled = (limit.share.clamp(0.0, 1.0) * 10.0).round() as usize;
        Line::from(vec![
            Span::styled("█".repeat(filled), Style::new().fg(colour)),
            Span::styled("░".repeat(10 - filled), Style::new().fg(Color::DarkGray)),
            Span::raw(format!(" {}: {}", limit.name, limit.text)),
        ])
    });
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(framed(" limits ".into())), area);
}

/// The cells; the current one stays visible.
fn matrix(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let room = usize::from(area.height.saturating_sub(2)).max(1);
    let first = (model.current + 1).saturating_sub(room.div_ceil(2) + room / 4);
    let first = first.min(model.cells.len().saturating_sub(room));
    let lines = model.cells.iter().enumerate().skip(first).take(room).map(|(index, cell)| {
        let (mark, style) = match cell.state {
            State::Pending => ("  ", Style::new().fg(Color::DarkGray)),
            State::Running => ("▶ ", Style::new().add_modifier(Modifier::BOLD)),
            State::Finished => ("✓ ", Style::new().fg(Color::Green)),
            State::Interrupted => ("◼ ", Style::new().fg(Color::Yellow)),
            State::Failed => ("✗ ", Style::new().fg(Color::Red)),
        };
        Line::from(vec![
            Span::styled(format!("{mark}{:>3} {}", index + 1, cell.name), style),
            Span::styled(format!("  {}", cell.outcome), Style::new().fg(Color::Gray)),
        ])
    });
    let title = format!(" cells: {} of {} done ", model.ended(), model.cells.len());
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(framed(title)), area);
}

fn notes(frame: &mut Frame<'_>, area: Rect, model: &RunProgress) {
    let room = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(2));
    let lines = model.notes.iter().rev().take(room).rev().map(|note| Line::from(shortened(note, width)));
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(framed(" messages ".into())), area);
}
