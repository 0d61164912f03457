//! The live state of a run. The runner writes it; progress lines, live views and services read it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{Interval, SeriesPoint};
use stats::Criterion;
use store::State;

/// Maximum points of history; when full, every second one is dropped, so that the whole cell stays visible.
const MAX_POINTS: usize = 600;
/// Maximum messages kept for the view.
const MAX_NOTES: usize = 200;

/// The state of a run that several threads share.
#[derive(Debug, Default)]
pub struct SharedProgress(Mutex<RunProgress>);

impl SharedProgress {
    /// Shares a state.
    pub fn new(progress: RunProgress) -> Self {
        Self(Mutex::new(progress))
    }

    /// The state, for reading or changing. Holding the lock holds up the run: copy anything that takes long to show.
    pub fn lock(&self) -> MutexGuard<'_, RunProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A snapshot of a run.
#[derive(Clone, Debug, Default)]
pub struct RunProgress {
    /// The run's id.
    pub run: String,
    /// The experiment's name.
    pub experiment: String,
    /// Start of the run, on the reactors' clock.
    pub began_ns: u64,
    /// All cells of the matrix.
    pub cells: Vec<CellLine>,
    /// Cells under way at the same time; the first one leads: its stage is shown.
    pub running: Vec<RunningCell>,
    /// The leading cell, or the last that led.
    pub current: usize,
    /// When that cell began.
    pub cell_began_ns: u64,
    /// Its target.
    pub target: String,
    /// Its stage.
    pub stage: Stage,
    /// Recent intervals of the stage, thinned out; combined over all cells under way.
    pub history: History,
    /// The operations in the last interval.
    pub ops: Vec<SeriesPoint>,
    /// Operations that failed since the cell began.
    pub failed: u64,
    /// Progress of the measurement, in the rule's terms.
    pub steady: Option<Steady>,
    /// What may be limiting the result, busiest first.
    pub limits: Vec<Limit>,
    /// Messages, oldest first.
    pub notes: VecDeque<String>,
}

/// A cell in the list.
#[derive(Clone, Debug)]
pub struct CellLine {
    /// Its name.
    pub name: String,
    /// How far it got.
    pub state: State,
    /// Its result in a few words, once there is one.
    pub outcome: String,
    /// Expected duration, in seconds.
    pub expected_s: f64,
    /// Actual duration, in seconds, once it has ended.
    pub took_s: Option<f64>,
    /// Number of workers.
    pub workers: u32,
    /// What they do, as a letter of fio's progress line: `r` random reads, `W` sequential writes.
    pub letter: char,
}

/// A cell under way.
#[derive(Clone, Debug, Default)]
pub struct RunningCell {
    /// Its index among all cells.
    pub cell: usize,
    began_ns: u64,
    target: String,
    stage: Stage,
    /// Its last interval.
    last: Option<Arc<Interval>>,
}

/// A stage under way.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// `prepare`, `warm-up`, `measure`, `verify`, `clean-up`.
    pub name: String,
    /// Its start, on the reactors' clock.
    pub began_ns: u64,
    /// Maximum duration, in seconds, if known.
    pub at_most_s: Option<f64>,
    /// Time passes in the target's simulation, not in real time.
    pub simulated: bool,
    /// Seconds of the target's time covered by intervals so far.
    pub seen_s: f64,
    /// Total bytes it will move, if known.
    pub bytes_expected: Option<u64>,
    /// Bytes moved so far.
    pub bytes: u64,
}

/// The rule's view of the measurement.
#[derive(Clone, Debug, Default)]
pub struct Steady {
    /// Its name.
    pub rule: String,
    /// Time of its next look, in seconds since the measurement began.
    pub next_look_s: f64,
    /// Its criteria as of the last look.
    pub criteria: Vec<Criterion>,
}

/// Something that may limit the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// Utilisation, 0 to 1; above 1 it is overloaded.
    pub share: f64,
    /// In words.
    pub text: String,
}

/// Points of a stage, thinned to what can be shown.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: Vec<SeriesPoint>,
    /// Intervals skipped between two kept points.
    skip: u32,
    skipped: u32,
}

impl History {
    fn push(&mut self, point: SeriesPoint) {
        if self.skipped < self.skip {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.points.len() == MAX_POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.skip = self.skip * 2 + 1;
        }
        self.points.push(point);
    }

    /// The points, oldest first.
    pub fn points(&self) -> &[SeriesPoint] {
        &self.points
    }
}

impl RunProgress {
    /// Starts a cell.
    pub fn begin_cell(&mut self, index: usize, target: &str, now_ns: u64) {
        if self.running.is_empty() {
            self.failed = 0;
        }
        let target = target.to_owned();
        self.running.push(RunningCell { cell: index, began_ns: now_ns, target, ..RunningCell::default() });
        if let Some(cell) = self.cells.get_mut(index) {
            cell.state = State::Running;
        }
        if self.running.len() == 1 {
            self.lead();
        }
    }

    /// Ends a cell.
    pub fn end_cell(&mut self, index: usize, state: State, outcome: String, now_ns: u64) {
        let Some(at) = self.running.iter().position(|running| running.cell == index) else { return };
        let ended = self.running.remove(at);
        let took_s = now_ns.saturating_sub(ended.began_ns) as f64 / 1e9;
        if let Some(cell) = self.cells.get_mut(index) {
            cell.state = state;
            cell.outcome = outcome;
            cell.took_s = Some(took_s);
        }
        if at == 0 {
            self.lead();
        }
    }

    /// Shows the first of the cells under way.
    fn lead(&mut self) {
        self.stage = Stage::default();
        self.steady = None;
        self.limits.clear();
        if let Some(first) = self.running.first() {
            self.current = first.cell;
            self.cell_began_ns = first.began_ns;
            self.target = first.target.clone();
            self.stage = first.stage.clone();
        } else {
            self.history = History::default();
            self.ops.clear();
        }
    }

    /// True when this is the cell whose stage is shown.
    pub fn leads(&self, index: usize) -> bool {
        self.running.first().is_none_or(|first| first.cell == index)
    }

    /// Starts a stage of a cell; a stage without a cell is shown at once.
    pub fn begin_stage(&mut self, cell: Option<usize>, stage: Stage) {
        let running = self.running.iter_mut().find(|running| Some(running.cell) == cell);
        if let Some(running) = running {
            running.stage = stage.clone();
            running.last = None;
        }
        if cell.is_none_or(|cell| self.leads(cell)) {
            self.stage = stage;
            self.history = History::default();
            self.ops.clear();
        }
    }

    /// Adds an interval of a cell's stage.
    pub fn interval(&mut self, cell: usize, interval: &Interval) {
        if interval.length_ns == 0 {
            return;
        }
        self.failed += interval.failed();
        let leads = self.leads(cell);
        if let Some(running) = self.running.iter_mut().find(|running| running.cell == cell) {
            running.stage.seen_s = (interval.start_ns + interval.length_ns) as f64 / 1e9;
            running.stage.bytes += interval.bytes();
            running.last = Some(Arc::new(interval.clone()));
            if leads {
                self.stage = running.stage.clone();
            }
        } else if self.running.is_empty() {
            self.stage.bytes += interval.bytes();
        }
        if leads {
            self.show();
        }
    }

    /// Shows the combined last intervals of all cells under way.
    fn show(&mut self) {
        let mut lasts = self.running.iter().filter_map(|running| running.last.as_deref()).peekable();
        let Interval { index, start_ns, length_ns, .. } =
            *lasts.peek().copied().unwrap_or(&Interval::default());
        let mut sum = Interval { index, start_ns, length_ns, ops: Vec::new() };
        for interval in lasts {
            // Rates add up: scales the counts of a shorter interval to the length of the leader's.
            let scaled = |count: u64| match interval.length_ns == length_ns {
                true => count,
                false => (count as f64 * length_ns as f64 / interval.length_ns as f64) as u64,
            };
            for (kind, stats) in interval.ops.iter().filter(|(_, stats)| !stats.is_empty()) {
                let all = sum.op_mut(*kind);
                let (ok, bytes) = (all.ok + scaled(stats.ok), all.bytes.saturating_add(scaled(stats.bytes)));
                all.merge(stats);
                (all.ok, all.bytes) = (ok, bytes);
            }
        }
        self.history.push(SeriesPoint::of(&sum, None, &sum.all_ops()));
        sum.ops.sort_by_key(|(kind, _)| *kind);
        self.ops = sum.ops.iter().map(|(kind, stats)| SeriesPoint::of(&sum, Some(*kind), stats)).collect();
    }

    /// Adds a message.
    pub fn note(&mut self, text: &str) {
        if self.notes.len() == MAX_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(text.to_owned());
    }

    /// The latest point of the stage.
    pub fn now(&self) -> Option<SeriesPoint> {
        self.history.points().last().copied()
    }

    /// Seconds that the stage has taken so far: in the target's time if that is simulated.
    pub fn stage_elapsed_s(&self, now_ns: u64) -> f64 {
        if self.stage.simulated {
            return self.stage.seen_s;
        }
        now_ns.saturating_sub(self.stage.began_ns) as f64 / 1e9
    }

    /// Estimated seconds until the cell and the whole run end, from the actual and expected durations so far. `None`
    /// while no estimate is possible.
    pub fn eta_s(&self, now_ns: u64) -> Option<(f64, f64)> {
        let ended = self.cells.iter().filter_map(|cell| Some((cell.took_s?, cell.expected_s)));
        let (took, expected) = ended.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        let ratio = if expected > 0.0 { took / expected } else { 1.0 };
        let current = self.cells.get(self.current)?;
        if current.state != State::Running || self.stage.simulated {
            return None;
        }
        let elapsed = now_ns.saturating_sub(self.cell_began_ns) as f64 / 1e9;
        let cell = (current.expected_s * ratio - elapsed).max(0.0);
        let pending = self.cells.iter().filter(|cell| cell.state == State::Pending);
        let rest: f64 = pending.map(|cell| cell.expected_s * ratio).sum();
        Some((cell, cell + rest))
    }

    /// Number of cells that have ended, whatever the outcome.
    pub fn ended(&self) -> usize {
        let over = |cell: &&CellLine| !matches!(cell.state, State::Pending | State::Running);
        self.cells.iter().filter(over).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::OpKind;

    use crate::test_support::{cell, interval};

    #[test]
    fn history_stays_bounded_and_spans_the_whole_stage() {
        let mut model = RunProgress { cells: vec![cell("a", 10.0)], ..RunProgress::default() };
        model.begin_cell(0, "null:", 0);
        for index in 0..10_000 {
            model.interval(0, &interval(index, &[(OpKind::Read, 3, 4096, 1000)]));
        }
        let points = model.history.points();
        assert!(points.len() <= MAX_POINTS && points.len() > MAX_POINTS / 4, "{}", points.len());
        assert_eq!(points[0].end_s(), 1.0);
        assert!(points.last().unwrap().end_s() > 9_900.0);
        assert_eq!(model.stage.bytes, 3 * 4096 * 10_000);
    }

    #[test]
    fn the_time_left_follows_what_cells_really_took() {
        let second = 1_000_000_000;
        let mut model = RunProgress {
            cells: vec![cell("a", 10.0), cell("b", 10.0), cell("c", 20.0)],
            ..RunProgress::default()
        };
        model.begin_cell(0, "null:", 0);
        assert_eq!(model.eta_s(4 * second), Some((6.0, 36.0)));
        // Twice as fast as expected.
        model.end_cell(0, State::Finished, String::new(), 5 * second);
        assert_eq!(model.eta_s(5 * second), None);
        model.begin_cell(1, "null:", 5 * second);
        assert_eq!(model.eta_s(6 * second), Some((4.0, 14.0)));
        // Overdue: soon, not in the past.
        assert_eq!(model.eta_s(30 * second), Some((0.0, 10.0)));
        assert_eq!(model.ended(), 1);
    }

    #[test]
    fn cells_at_the_same_time_are_added_up_and_the_next_leads_when_the_first_ends() {
        let mut model =
            RunProgress { cells: vec![cell("a", 10.0), cell("b", 10.0)], ..RunProgress::default() };
        let stage = |name: &str| Stage { name: name.into(), ..Stage::default() };
        model.begin_cell(0, "null:", 0);
        model.begin_cell(1, "sim:", 5);
        model.begin_stage(Some(0), stage("measure"));
        model.begin_stage(Some(1), stage("warm-up"));
        model.interval(1, &interval(0, &[(OpKind::Write, 7, 4096, 1000)]));
        model.interval(0, &interval(0, &[(OpKind::Read, 3, 4096, 1000)]));
        assert_eq!((model.now().unwrap().ops_per_s(), model.ops.len()), (10.0, 2));
        assert_eq!((model.stage.name.as_str(), model.stage.bytes), ("measure", 3 * 4096));
        model.end_cell(0, State::Finished, String::new(), 10);
        assert_eq!((model.stage.name.as_str(), model.current), ("warm-up", 1));
        assert_eq!(model.target, "sim:");
        model.end_cell(1, State::Finished, String::new(), 11);
        assert_eq!((model.stage.name.as_str(), model.ended()), ("", 2));
    }

    #[test]
    fn notes_stay_bounded() {
        let mut model = RunProgress::default();
        (0..500).for_each(|number| model.note(&number.to_string()));
        assert_eq!(model.notes.len(), MAX_NOTES);
        assert_eq!(model.notes.back().unwrap(), "499");
    }
}
