//! Cumulative counters of servers, and what was counted between two readings.

use std::collections::BTreeMap;

use store::{CallCounter, CallFigures, ProcedureCalls, ServerCalls, ServerFigures};

/// The counters of one reading, by server and procedure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterReading(BTreeMap<(String, String), CallCounts>);

/// The counters of a procedure of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallCounts {
    /// Calls.
    pub calls: u64,
    /// The time that calls took.
    pub time: Option<Time>,
    /// Calls that ended with an error, if they are counted.
    pub errors: Option<u64>,
}

/// The time that calls took, together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Calls that were timed; for the kernel's mounts all but retransmits.
    pub calls: u64,
    /// The sum of their times, in nanoseconds.
    pub ns: f64,
}

impl CounterReading {
    /// Adds a procedure of a server; repeated ones add up.
    pub fn add(&mut self, server: &str, procedure: &str, counters: CallCounts) {
        let key = (server.to_owned(), procedure.to_owned());
        self.0.entry(key).and_modify(|known| *known = known.plus(&counters)).or_insert(counters);
    }

    /// Adds everything of another reading.
    pub fn extend(&mut self, other: CounterReading) {
        for ((server, procedure), counters) in other.0 {
            self.add(&server, &procedure, counters);
        }
    }

    /// What was counted since an earlier reading; procedures without calls are left out. `None` if counters began anew
    /// in between: a file system was mounted again, a server restarted.
    pub fn since(&self, before: &CounterReading) -> Option<CounterReading> {
        if !before.0.keys().all(|key| self.0.contains_key(key)) {
            return None;
        }
        let mut counted = BTreeMap::new();
        for (key, now) in &self.0 {
            let counters = match before.0.get(key) {
                Some(before) => now.minus(before)?,
                None => *now,
            };
            if counters.calls > 0 || counters.time.is_some_and(|time| time.calls > 0) {
                counted.insert(key.clone(), counters);
            }
        }
        Some(CounterReading(counted))
    }

    /// The counters of a difference, for the results.
    pub fn calls(self, counter: CallCounter, name: String, operations: u64) -> ServerCalls {
        let mut by_procedure: BTreeMap<String, Vec<(String, CallCounts)>> = BTreeMap::new();
        for ((server, procedure), counters) in self.0 {
            by_procedure.entry(procedure).or_default().push((server, counters));
        }
        let procedure = |(procedure, servers): (String, Vec<(String, CallCounts)>)| {
            let all = servers.iter().map(|(_, counters)| *counters).reduce(|sum, one| sum.plus(&one));
            let server = |(server, counters): (String, CallCounts)| ServerFigures {
                server,
                figures: counters.figures(operations),
            };
            let mut servers: Vec<_> = servers.into_iter().map(server).collect();
            servers.sort_by_key(|one| std::cmp::Reverse(one.figures.calls));
            ProcedureCalls { procedure, all: all.unwrap_or_default().figures(operations), servers }
        };
        let mut procedures: Vec<_> = by_procedure.into_iter().map(procedure).collect();
        procedures.sort_by_key(|one| std::cmp::Reverse(one.all.calls));
        ServerCalls { counter, name, operations, procedures }
    }
}

impl CallCounts {
    fn plus(&self, other: &CallCounts) -> CallCounts {
        let both = |(a, b): (Time, Time)| Time { calls: a.calls.saturating_add(b.calls), ns: a.ns + b.ns };
        CallCounts {
            calls: self.calls.saturating_add(other.calls),
            time: self.time.zip(other.time).map(both),
            errors: self.errors.zip(other.errors).map(|(a, b)| a.saturating_add(b)),
        }
    }

    fn minus(&self, before: &CallCounts) -> Option<CallCounts> {
        Some(CallCounts {
            calls: self.calls.checked_sub(before.calls)?,
            time: match (self.time, before.time) {
                (Some(now), Some(before)) => Some(Time {
                    calls: now.calls.checked_sub(before.calls)?,
                    // Sums made of rounded means may shrink a little.
                    ns: (now.ns - before.ns).max(0.0),
                }),
                (now, _) => now,
            },
            errors: match (self.errors, before.errors) {
                (Some(now), Some(before)) => Some(now.checked_sub(before)?),
                (now, _) => now,
            },
        })
    }

    fn figures(&self, operations: u64) -> CallFigures {
        let share = |sum: f64, of: u64| if of == 0 { 0.0 } else { sum / of as f64 };
        CallFigures {
            calls: self.calls,
            calls_per_op: share(self.calls as f64, operations),
            errors: self.errors,
            mean_ns: self.time.map(|time| share(time.ns, time.calls)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters([calls, timed, ns, errors]: [u64; 4]) -> CallCounts {
        CallCounts { calls, time: Some(Time { calls: timed, ns: ns as f64 }), errors: Some(errors) }
    }

    fn reading(all: &[(&str, &str, [u64; 4])]) -> CounterReading {
        let mut reading = CounterReading::default();
        all.iter().for_each(|(server, procedure, n)| reading.add(server, procedure, counters(*n)));
        reading
    }

    #[test]
    fn calls_are_divided_by_operations_and_times_by_timed_calls() {
        let counted = reading(&[
            ("a", "OPEN", [12, 10, 40, 3]),
            ("b", "OPEN", [36, 30, 0, 0]),
            ("a", "CLOSE", [24, 24, 48, 0]),
        ]);
        let calls = counted.clone().calls(CallCounter::Mount, "/mnt".into(), 24);
        let [open, close] = &calls.procedures[..] else { panic!("{calls:?}") };
        assert_eq!((open.procedure.as_str(), open.all.calls, open.all.calls_per_op), ("OPEN", 48, 2.0));
        assert_eq!((open.all.errors, open.all.mean_ns), (Some(3), Some(1.0)));
        let by_server: Vec<_> = open.servers.iter().map(|one| (&*one.server, one.figures.mean_ns)).collect();
        assert_eq!(by_server, [("b", Some(0.0)), ("a", Some(4.0))]);
        assert_eq!((close.all.calls_per_op, close.all.mean_ns), (1.0, Some(2.0)));
        let idle = counted.calls(CallCounter::Mount, "/mnt".into(), 0);
        assert_eq!(idle.procedures[0].all.calls_per_op, 0.0);
    }

    #[test]
    fn counters_that_began_anew_are_no_difference() {
        let many = reading(&[("a", "OPEN", [9, 9, 9, 0])]);
        let few = reading(&[("a", "OPEN", [2, 2, 2, 0])]);
        assert_eq!(few.since(&many), None);
        assert_eq!(CounterReading::default().since(&few), None);
        assert_eq!(many.since(&many), Some(CounterReading::default()));
    }

    #[test]
    fn what_only_some_servers_measure_is_not_summed() {
        let mut reading = reading(&[("a", "OPEN", [1, 1, 1, 1])]);
        reading.add("b", "OPEN", CallCounts { calls: 1, ..CallCounts::default() });
        let calls = reading.calls(CallCounter::Command, "x".into(), 1);
        let all = calls.procedures[0].all;
        assert_eq!((all.calls, all.errors, all.mean_ns), (2, None, None));
    }

    proptest! {
        #[test]
        fn the_difference_is_what_was_added(
            before in proptest::array::uniform4(0u64..1 << 40), added in proptest::array::uniform4(0u64..1 << 40),
        ) {
            let sum: Vec<u64> = before.iter().zip(added).map(|(a, b)| a + b).collect();
            let (before, now) = (counters(before), counters(sum.try_into().unwrap()));
            prop_assert_eq!(now.minus(&before), Some(counters(added)));
        }
    }
}
