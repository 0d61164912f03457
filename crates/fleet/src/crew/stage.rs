//! A stage of many members: one start, one stop, intervals merged as they come.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use engine::{Beside, Control, Merger, Rendezvous};
use metrics::Interval;

use super::many::{Many, Site};
use super::outcome::{Part, sum_up};
use crate::link::{Guard, News, Wire};
use crate::message::{ToAgent, encode};
use crate::order::{Refusal, StageOrder, StageTask};
use crate::seen::{CrewResult, Seen};

/// How often it is looked whether to stop, and who is lost.
const LOOK: Duration = Duration::from_millis(20);
/// A stage that is stopped has so long to hand its result in.
const STOPPING: Duration = Duration::from_secs(30);
/// A measurement may take so much longer than was planned, besides what its operations may take.
const OVERTIME: Duration = Duration::from_secs(120);
/// Between the last member's readiness and the common start: for threads to wake up, here and there.
const LEAD_NS: u64 = 10_000_000;
/// And at most, however slow the pipes are.
const MOST_LEAD_NS: u64 = 5_000_000_000;
/// A last interval is named so long before its end, besides the pipes' time.
const NOTICE_NS: u64 = 100_000_000;
/// Intervals that wait for a member's part; then they are shown without it.
const MOST_WAITING: usize = 30;

/// A place at a rendezvous, given up when the stage does not come.
struct Seat(Option<Rendezvous>);

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.0.take() {
            rendezvous.leave();
        }
    }
}

/// A stage under way.
struct Stage<'a> {
    many: &'a Many,
    id: u64,
    control: &'a Control,
    parts: Vec<Part>,
    /// Places in `parts`, by member number.
    places: HashMap<usize, usize>,
    merger: Merger,
    /// The interval after the last one that was shown whole.
    shown: u32,
    /// When it was ordered, on this side's clock.
    ordered_ns: u64,
    /// The common start, once it is named.
    start_ns: Option<u64>,
    /// Before the measured window, the longest of the members.
    warm_up_ns: u64,
    /// Length of the intervals, once one came.
    interval_ns: u64,
    finish_sent: bool,
    stop_sent_ns: Option<u64>,
}

impl Many {
    pub(super) fn run_stage(
        &self,
        orders: Vec<(usize, StageOrder)>,
        beside: Beside,
        control: &Control,
        observer: &mut dyn FnMut(Seen<'_>),
    ) -> Result<CrewResult, Refusal> {
        let mut seat = Seat(beside.rendezvous);
        if control.is_stopped() {
            return Err(Refusal { stopped: true, ..Refusal::failed("stopped before the stage began") });
        }
        if orders.iter().any(|(at, _)| *at >= self.wires.len()) {
            return Err(Refusal::failed("a stage was ordered of a member that there is not"));
        }
        control.begin();
        let (mut stage, news) = Stage::begin(self, orders, control);
        stage.lead(&news, &mut seat, observer);
        let id = stage.id;
        stage.parts.iter().for_each(|part| self.wires[part.member].forget_stage(id));
        sum_up(self, stage.parts, stage.start_ns)
    }
}

impl<'a> Stage<'a> {
    fn begin(
        many: &'a Many,
        orders: Vec<(usize, StageOrder)>,
        control: &'a Control,
    ) -> (Self, Receiver<(usize, News)>) {
        let id = many.id();
        let (sender, news) = sync_channel(2 * orders.len() + 64);
        let mut warm_up_s = 0f64;
        let mut parts = Vec::with_capacity(orders.len());
        for (member, order) in orders {
            let site: Site = many.site(member, order.site);
            let mut limit = None;
            if let StageTask::Measure(measurement) = &order.task {
                warm_up_s = warm_up_s.max(measurement.warm_up_s);
                let planned = (measurement.warm_up_s + measurement.limit_s).clamp(0.0, 1e9);
                limit = Some(Duration::from_secs_f64(planned) + 2 * site.patience + OVERTIME);
            }
            let wire = &many.wires[member];
            wire.know_clock();
            let body = encode(&ToAgent::Stage { id, order });
            wire.begin_stage(id, &body, sender.clone(), Guard::new(site.virtual_clock));
            parts.push(Part::new(member, wire.name.clone(), site, limit));
        }
        let stage = Stage {
            many,
            id,
            control,
            places: parts.iter().enumerate().map(|(place, part)| (part.member, place)).collect(),
            merger: Merger::new(parts.len()),
            parts,
            shown: 0,
            ordered_ns: reactor::clock::now_ns(),
            start_ns: None,
            warm_up_ns: (warm_up_s.clamp(0.0, 1e9) * 1e9) as u64,
            interval_ns: 0,
            finish_sent: false,
            stop_sent_ns: None,
        };
        (stage, news)
    }

    fn wire(&self, place: usize) -> &Wire {
        &self.many.wires[self.parts[place].member]
    }

    /// Those that have not ended.
    fn going(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parts.len()).filter(|place| !self.parts[*place].ended)
    }

    /// Sends the same to all that have not ended.
    fn tell_all(&self, message: &ToAgent, lockstep_only: bool) {
        let body = encode(message);
        for place in self.going().filter(|place| !lockstep_only || self.parts[*place].site.virtual_clock) {
            self.wire(place).send_body(&body);
        }
    }

    fn lead(&mut self, news: &Receiver<(usize, News)>, seat: &mut Seat, observer: &mut dyn FnMut(Seen<'_>)) {
        let mut looked_ns = 0;
        while self.going().next().is_some() {
            match news.recv_timeout(LOOK) {
                Ok((member, news)) => self.take(member, news, observer),
                Err(RecvTimeoutError::Timeout) => self.note_lost(observer),
                Err(RecvTimeoutError::Disconnected) => {
                    self.note_lost(observer);
                    std::thread::sleep(LOOK);
                }
            }
            let now_ns = reactor::clock::now_ns();
            if now_ns.saturating_sub(looked_ns) > LOOK.as_nanos() as u64 {
                looked_ns = now_ns;
                self.look(now_ns);
            }
            if self.start_ns.is_none() && self.stop_sent_ns.is_none() && self.all_ready() {
                self.go(seat);
            }
            self.name_last();
        }
    }

    fn all_ready(&self) -> bool {
        self.going().next().is_some() && self.going().all(|place| self.parts[place].ready)
    }

    /// Names the common start, and tells each member on its own clock.
    fn go(&mut self, seat: &mut Seat) {
        let now = reactor::clock::now_ns();
        // The same for all stages of a group, whoever takes part in them.
        let clocks = self.many.wires.iter().filter(|wire| wire.lost().is_none());
        let slowest = clocks.filter_map(|wire| wire.clock(now)).map(|c| c.round_trip_ns + c.uncertainty_ns);
        let lead_ns = (LEAD_NS + 2 * slowest.max().unwrap_or(0)).min(MOST_LEAD_NS);
        let control = self.control;
        let met = match seat.0.take() {
            None => Some(now + lead_ns),
            Some(rendezvous) => rendezvous.meet(lead_ns, &|| control.is_stopped()),
        };
        let now = reactor::clock::now_ns();
        let start_ns = met.unwrap_or(now).max(now + lead_ns / 2);
        self.start_ns = Some(start_ns);
        let id = self.id;
        for place in self.going().collect::<Vec<_>>() {
            let wire = self.wire(place);
            match wire.clock(start_ns) {
                Some(clock) => {
                    wire.with_guard(id, |guard| guard.began_ns = now);
                    wire.send(&ToAgent::Go { id, start_ns: clock.theirs(start_ns) });
                }
                None => wire.lose("it answers no question for its clock"),
            }
            self.parts[place].began = true;
        }
    }

    fn take(&mut self, member: usize, news: News, observer: &mut dyn FnMut(Seen<'_>)) {
        let Some(place) = self.places.get(&member).copied().filter(|place| !self.parts[*place].ended) else {
            return;
        };
        match news {
            News::Ready => self.parts[place].ready = true,
            News::Sample(sample) => observer(Seen::Sample { member, sample: &sample }),
            News::Interval(interval) => {
                observer(Seen::Part { member, interval: &interval });
                self.interval_ns = self.interval_ns.max(interval.length_ns);
                self.parts[place].add(&interval);
                // One that was shown without this part already is not shown again.
                if interval.index >= self.shown {
                    self.merge(observer, |merger, show| merger.add(place as u32, &interval, show));
                }
                if self.merger.waiting() > MOST_WAITING {
                    self.merge(observer, Merger::show_first);
                }
            }
            News::Finished(result) => {
                self.parts[place].result = Some(result);
                self.end(place, observer);
            }
            News::Refused(refusal) => {
                self.parts[place].refusal = Some(refusal);
                self.end(place, observer);
                // Whatever it is, the others are not to go on without it.
                self.stop();
            }
        }
    }

    /// A member hands in nothing more.
    fn end(&mut self, place: usize, observer: &mut dyn FnMut(Seen<'_>)) {
        self.parts[place].ended = true;
        self.merge(observer, |merger, show| merger.finish(place as u32, show));
    }

    fn merge(
        &mut self,
        observer: &mut dyn FnMut(Seen<'_>),
        change: impl FnOnce(&mut Merger, &mut dyn FnMut(&Interval)),
    ) {
        let before = self.shown;
        let shown = &mut self.shown;
        change(&mut self.merger, &mut |whole| {
            *shown = whole.index.saturating_add(1);
            observer(Seen::Whole(whole));
        });
        if self.shown > before {
            self.interval_seen(self.shown - 1);
        }
    }

    /// An interval was shown whole: those on virtual clocks may go on.
    fn interval_seen(&mut self, index: u32) {
        if !self.parts.iter().any(|part| part.site.virtual_clock) {
            return;
        }
        let id = self.id;
        if let Some(last) = self.control.last_interval().filter(|_| !self.finish_sent) {
            self.finish_sent = true;
            self.tell_all(&ToAgent::FinishAfter { id, index: last.max(index) }, false);
        }
        for place in self.going() {
            self.wire(place).with_guard(id, |guard| guard.interval_seen(index));
        }
        self.tell_all(&ToAgent::IntervalSeen { id, index }, true);
    }

    /// Passes on which interval is to be the last: the first that all can still hear of in time.
    fn name_last(&mut self) {
        let Some(last) = self.control.last_interval().filter(|_| !self.finish_sent) else { return };
        let Some(start_ns) = self.start_ns.filter(|_| self.interval_ns > 0) else { return };
        if self.parts.iter().any(|part| part.site.virtual_clock) {
            return;
        }
        let now = reactor::clock::now_ns();
        let slowest =
            self.going().filter_map(|place| self.wire(place).clock(now)).map(|c| c.round_trip_ns).max();
        let heard_ns = now + NOTICE_NS + slowest.unwrap_or(0);
        let window_ns = heard_ns.saturating_sub(start_ns + self.warm_up_ns);
        let soonest = u32::try_from(window_ns / self.interval_ns).unwrap_or(u32::MAX - 1);
        self.finish_sent = true;
        self.tell_all(&ToAgent::FinishAfter { id: self.id, index: last.max(soonest) }, false);
    }

    fn stop(&mut self) {
        if self.stop_sent_ns.is_none() {
            let now_ns = reactor::clock::now_ns();
            self.stop_sent_ns = Some(now_ns);
            let id = self.id;
            for place in self.going() {
                // One that waits for the start begins now, and ends at once.
                self.wire(place).with_guard(id, |guard| {
                    if guard.began_ns == 0 {
                        guard.began_ns = now_ns;
                    }
                });
            }
            self.tell_all(&ToAgent::Stop { id: self.id }, false);
        }
    }

    fn note_lost(&mut self, observer: &mut dyn FnMut(Seen<'_>)) {
        for place in self.going().collect::<Vec<_>>() {
            if let Some(why) = self.wire(place).lost().map(str::to_owned) {
                self.parts[place].lost = Some(why);
                self.end(place, observer);
            }
        }
    }

    /// Stops when that is asked for, and loses those that take too long.
    fn look(&mut self, now_ns: u64) {
        if self.control.is_stopped() {
            self.stop();
        }
        let since = |from_ns: u64| Duration::from_nanos(now_ns.saturating_sub(from_ns));
        for place in self.going() {
            let part = &self.parts[place];
            let (why, limit, passed) = match (self.stop_sent_ns, self.start_ns) {
                (Some(stopped_ns), _) => ("did not stop", Some(STOPPING), since(stopped_ns)),
                (None, Some(start_ns)) => ("did not end the stage", part.limit, since(start_ns)),
                (None, None) if part.ready => continue,
                (None, None) => {
                    let limit = self.many.settings.ready_limit + part.site.patience;
                    ("was not ready for the stage", Some(limit), since(self.ordered_ns))
                }
            };
            if let Some(limit) = limit.filter(|limit| passed > *limit) {
                self.wire(place).lose(&format!("it {why} within {} s", limit.as_secs()));
            }
        }
    }
}
