//! fio's progress line for the current state of a run.

use fio::output::{Style, progress};
use runner::progress::RunProgress;
use store::State;

/// The line at a given time on the reactors' clock.
pub fn line(model: &RunProgress, now_ns: u64) -> String {
    let states = model.cells.iter().flat_map(|cell| {
        let letter = match cell.state {
            State::Pending => 'P',
            State::Running => cell.letter,
            State::Finished | State::Interrupted | State::Failed => '_',
        };
        (0..cell.workers).map(move |_| letter)
    });
    let running = model.running.iter().filter_map(|running| model.cells.get(running.cell));
    let (mut bytes_per_s, mut ops_per_s) = ([0.0; 3], [0.0; 3]);
    for op in &model.ops {
        let Some(direction) = op.op.and_then(|op| op.traits().direction).map(|direction| direction as usize)
        else {
            continue;
        };
        bytes_per_s[direction] += op.bytes_per_s();
        ops_per_s[direction] += op.ops_per_s();
    }
    let elapsed = model.stage_elapsed_s(now_ns);
    let limit = model.stage.at_most_s.filter(|most| *most > 0.0);
    let seen = progress::FioProgress {
        states: states.collect(),
        files: running.map(|cell| u64::from(cell.workers)).sum(),
        done: limit.map(|most| (elapsed / most).clamp(0.0, 1.0)),
        bytes_per_s,
        ops_per_s,
        left_s: limit.map(|most| (most - elapsed).max(0.0).ceil() as u64),
    };
    progress::line(&seen, Style::of(&experiment::Reporting::default()))
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use runner::progress::Stage;
    use runner::test_support::{cell, interval};

    #[test]
    fn jobs_that_run_wait_and_are_over_have_their_letters() {
        let mut model = RunProgress {
            cells: vec![cell("a", 1.0), cell("b", 1.0), cell("c", 1.0)],
            ..RunProgress::default()
        };
        model.cells[1].letter = 'w';
        model.cells[1].workers = 2;
        model.begin_cell(0, "null:", 0);
        model.end_cell(0, State::Finished, String::new(), 1);
        model.begin_cell(1, "null:", 1);
        let stage = Stage { name: "measure".into(), at_most_s: Some(4.0), ..Stage::default() };
        model.begin_stage(Some(1), stage);
        model.interval(1, &interval(0, &[(OpKind::Write, 256, 4096, 1000)]));
        let line = line(&model, 1_000_000_000);
        assert_eq!(line, "Jobs: 2 (f=2): [_(1),w(2),P(1)][25.0%][w=1024KiB/s][w=256 IOPS][eta 00m:03s]");
    }
}
