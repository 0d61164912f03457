//! A stage of many members: one start, one stop, intervals merged as they arrive.

mod ending;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use engine::{Control, Merger, Rendezvous, StageContext};
use metrics::Interval;

use super::many::{Many, Site};
use super::outcome::{Part, sum_up};
use crate::link::{Guard, News, Wire};
use crate::message::{ToAgent, encode};
use crate::order::{HostRefusal, StageRequest};
use crate::seen::{HostGroupResult, StageUpdate};

/// How often to check whether to stop, and who is lost.
const LOOK: Duration = Duration::from_millis(20);
/// Time beyond the plan that a measurement may take, besides the operation timeout.
const OVERTIME: Duration = Duration::from_secs(120);
/// Between the last member's readiness and the common start: time for threads to wake up, on both sides and on busy
/// hosts.
const LEAD_NS: u64 = 50_000_000;
/// The maximum, however slow the pipes are.
const MAX_LEAD_NS: u64 = 5_000_000_000;
/// Intervals that may wait for a member's part; after that they are shown without it.
const MAX_WAITING: usize = 30;

/// Maximum queued news; senders of more wait and stop reading.
const MAX_NEWS: usize = 128;

/// A seat at a rendezvous, given up when the stage does not come.
struct Seat(Option<Rendezvous>);

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.0.take() {
            rendezvous.leave();
        }
    }
}

/// A running stage.
struct Stage<'a> {
    many: &'a Many,
    id: u64,
    control: &'a Control,
    parts: Vec<Part>,
    /// Indices into `parts`, by member number.
    places: HashMap<usize, usize>,
    merger: Merger,
    /// The interval after the last one shown as a whole.
    shown: u32,
    /// When it was ordered, on this side's clock.
    ordered_ns: u64,
    /// The common start, once set.
    start_ns: Option<u64>,
    /// The longest time before the measured window, over all members.
    warm_up_ns: u64,
    /// Length of the intervals, once one has arrived.
    interval_ns: u64,
    finish_sent: bool,
    stop_sent_ns: Option<u64>,
}

impl Many {
    pub(super) fn run_stage(
        &self,
        requests: Vec<(usize, StageRequest)>,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(StageUpdate<'_>),
    ) -> Result<HostGroupResult, HostRefusal> {
        let mut seat = Seat(beside.rendezvous);
        if control.is_stopped() {
            return Err(HostRefusal {
                stopped: true,
                ..HostRefusal::failed("stopped before the stage began")
            });
        }
        if requests.iter().any(|(at, _)| *at >= self.wires.len()) {
            return Err(HostRefusal::failed("a stage was ordered of a member that there is not"));
        }
        control.begin();
        let (mut stage, news) = Stage::begin(self, requests, control);
        stage.lead(&news, &mut seat, observer);
        let id = stage.id;
        stage.parts.iter().for_each(|part| self.wires[part.member].forget_stage(id));
        sum_up(self, stage.parts, stage.start_ns)
    }
}

impl<'a> Stage<'a> {
    fn begin(
        many: &'a Many,
        requests: Vec<(usize, StageRequest)>,
        control: &'a Control,
    ) -> (Self, Receiver<(usize, News)>) {
        let id = many.id();
        let (sender, news) = sync_channel(MAX_NEWS.min(2 * requests.len() + 16));
        let mut warm_up_s = 0f64;
        let mut parts = Vec::with_capacity(requests.len());
        for (member, request) in requests {
            let site: Site = many.site(member, request.site);
            warm_up_s = warm_up_s.max(request.warm_up_s);
            let limit = request.task.ends_by_time().then(|| {
                let planned = (request.warm_up_s + request.limit_s).clamp(0.0, 1e9);
                Duration::from_secs_f64(planned) + 2 * site.patience + OVERTIME
            });
            let wire = &many.wires[member];
            wire.know_clock();
            let body = encode(&ToAgent::Stage { id, request });
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

    /// Parts that have not ended.
    fn going(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parts.len()).filter(|place| !self.parts[*place].ended)
    }

    /// Sends the same message to all that have not ended.
    fn tell_all(&self, message: &ToAgent, lockstep_only: bool) {
        let body = encode(message);
        for place in self.going().filter(|place| !lockstep_only || self.parts[*place].site.virtual_clock) {
            self.wire(place).send_body(&body);
        }
    }

    fn lead(
        &mut self,
        news: &Receiver<(usize, News)>,
        seat: &mut Seat,
        observer: &mut dyn FnMut(StageUpdate<'_>),
    ) {
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

    /// Sets the common start, and tells each member in terms of its own clock.
    fn go(&mut self, seat: &mut Seat) {
        let now = reactor::clock::now_ns();
        // The same for all stages of a group, whichever members take part.
        let clocks = self.many.wires.iter().filter(|wire| wire.lost().is_none());
        let slowest = clocks.filter_map(|wire| wire.clock(now)).map(|c| c.round_trip_ns + c.uncertainty_ns);
        let lead_ns = (LEAD_NS + 2 * slowest.max().unwrap_or(0)).min(MAX_LEAD_NS);
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

    fn take(&mut self, member: usize, news: News, observer: &mut dyn FnMut(StageUpdate<'_>)) {
        let Some(place) = self.places.get(&member).copied().filter(|place| !self.parts[*place].ended) else {
            return;
        };
        match news {
            News::Ready => self.parts[place].ready = true,
            News::Sample(sample) => observer(StageUpdate::Sample { member, sample: &sample }),
            News::Interval(interval) => {
                observer(StageUpdate::Part { member, interval: &interval });
                self.interval_ns = self.interval_ns.max(interval.length_ns);
                self.parts[place].add(&interval);
                // An interval already shown without this part is not shown again.
                if interval.index >= self.shown {
                    self.merge(observer, |merger, show| merger.add(place as u32, &interval, show));
                }
                if self.merger.waiting() > MAX_WAITING {
                    self.merge(observer, Merger::show_first);
                }
            }
            News::Finished(result) => {
                self.parts[place].finish(result);
                self.end(place, observer);
            }
            News::Refused(refusal) => {
                self.parts[place].refusal = Some(refusal);
                self.end(place, observer);
                // Whatever it is, the others must not continue without it.
                self.stop();
            }
        }
    }

    /// Records that a member will send nothing more.
    fn end(&mut self, place: usize, observer: &mut dyn FnMut(StageUpdate<'_>)) {
        self.parts[place].ended = true;
        self.merge(observer, |merger, show| merger.finish(place as u32, show));
    }

    fn merge(
        &mut self,
        observer: &mut dyn FnMut(StageUpdate<'_>),
        change: impl FnOnce(&mut Merger, &mut dyn FnMut(&Interval)),
    ) {
        let before = self.shown;
        let shown = &mut self.shown;
        change(&mut self.merger, &mut |whole| {
            *shown = whole.index.saturating_add(1);
            observer(StageUpdate::Whole(whole));
        });
        if self.shown > before {
            self.interval_seen(self.shown - 1);
        }
    }
}
