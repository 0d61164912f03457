//! Pauses: of a lane of a mix, or of a job's whole worker.

use experiment::Think;

/// Spends time computing.
pub(crate) fn compute(for_ns: u64) {
    let until = reactor::clock::now_ns() + for_ns;
    while reactor::clock::now_ns() < until {
        std::hint::spin_loop();
    }
}

/// Counts the work between pauses.
#[derive(Debug)]
pub(crate) struct Thinker {
    pause_ns: u64,
    spin_ns: u64,
    after: u64,
    count_begun: bool,
    after_ns: u64,
    seen: u64,
    /// When the load last resumed.
    since_ns: u64,
    /// A pause is due once nothing is in flight.
    due: bool,
    until_ns: u64,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Thought {
    Go,
    /// Nothing starts until nothing is in flight.
    Settle,
    /// A pause starts now: how much of it to spend computing, and when it ends.
    Begin {
        spin_ns: u64,
        until_ns: u64,
    },
    /// The pause lasts until then.
    Wait(u64),
}

impl Thinker {
    pub(crate) fn new(think: &Think, start_ns: u64) -> Option<Thinker> {
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        (think.pause_s > 0.0).then(|| Thinker {
            pause_ns: ns(think.pause_s),
            spin_ns: ns(think.spin_s.min(think.pause_s)),
            after: think.after.max(1).into(),
            count_begun: think.count_begun,
            after_ns: ns(think.after_s),
            seen: 0,
            since_ns: start_ns,
            due: false,
            until_ns: 0,
        })
    }

    pub(crate) fn pause_ns(&self) -> u64 {
        self.pause_ns
    }

    pub(crate) fn begun(&mut self) {
        if self.count_begun {
            self.count();
        }
    }

    pub(crate) fn ended(&mut self) {
        if !self.count_begun {
            self.count();
        }
    }

    fn count(&mut self) {
        self.seen += 1;
        if self.after_ns == 0 && self.seen.is_multiple_of(self.after) {
            self.due = true;
        }
    }

    pub(crate) fn look(&mut self, now: u64, in_flight: u32) -> Thought {
        if self.after_ns > 0 && now >= self.until_ns && now.saturating_sub(self.since_ns) >= self.after_ns {
            self.due = true;
        }
        if now < self.until_ns {
            return Thought::Wait(self.until_ns);
        }
        match (self.due, in_flight) {
            (false, _) => Thought::Go,
            (true, 0) => {
                self.due = false;
                self.until_ns = now + self.pause_ns;
                self.since_ns = self.until_ns;
                Thought::Begin { spin_ns: self.spin_ns, until_ns: self.until_ns }
            }
            (true, _) => Thought::Settle,
        }
    }
}
