//! Matches management calls against the rules of a plan.

use std::sync::{Mutex, PoisonError};

use super::plan::{StepAction, StepRule};

/// Outcome of a management call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// Normal processing.
    Proceed,
    /// A rule applies.
    Strike {
        /// Its action.
        action: StepAction,
        /// HTTP status of a failure.
        status: u16,
    },
}

/// How many calls each rule has matched.
#[derive(Debug, Default)]
pub(super) struct StepCounter(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: u64,
    matched: Vec<u64>,
}

impl StepCounter {
    pub(super) fn reset(&self, rules: usize) {
        *self.lock() = Counts { total: 0, matched: vec![0; rules] };
    }

    pub(super) fn total(&self) -> u64 {
        self.lock().total
    }

    /// Counts the call for every matching rule; the first rule that applies decides.
    pub(super) fn judge(&self, rules: &[StepRule], method: &str, path: &str) -> StepOutcome {
        let mut counts = self.lock();
        counts.total += 1;
        counts.matched.resize(rules.len(), 0);
        let mut verdict = StepOutcome::Proceed;
        for (rule, matched) in rules.iter().zip(&mut counts.matched) {
            if !matches(rule, method, path) {
                continue;
            }
            *matched += 1;
            if verdict == StepOutcome::Proceed && rule.at.is_none_or(|at| at == *matched) {
                verdict = StepOutcome::Strike { action: rule.then, status: rule.status.unwrap_or(500) };
            }
        }
        verdict
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn matches(rule: &StepRule, method: &str, path: &str) -> bool {
    rule.calls.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
        && rule.calls.path.as_deref().is_none_or(|pattern| glob(pattern, path))
}

/// Whether `text` matches `pattern`, in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::plan::Match;
    use super::*;

    #[test]
    fn a_pattern_matches_whole_paths() {
        assert!(glob("/api/*/buckets", "/api/2.0/buckets"));
        assert!(!glob("/api/*/buckets", "/api/2.0/buckets/x"));
        assert!(glob("*", "anything"));
        assert!(glob("/api/login", "/api/login"));
        assert!(!glob("/api/login", "/api/login2"));
        assert!(glob("/a*b*c", "/aXbYc"));
        assert!(!glob("/a*b*c", "/aXcYb"));
    }

    #[test]
    fn the_nth_matching_call_is_struck_and_no_other() {
        let rule = StepRule {
            calls: Match { method: Some("post".into()), path: Some("*/buckets".into()) },
            at: Some(2),
            then: StepAction::Hang,
            status: None,
        };
        let rules = [rule];
        let counter = StepCounter::default();
        counter.reset(1);
        let post = || counter.judge(&rules, "POST", "/api/2.0/buckets");
        assert_eq!(post(), StepOutcome::Proceed);
        assert_eq!(counter.judge(&rules, "GET", "/api/2.0/buckets"), StepOutcome::Proceed);
        assert_eq!(post(), StepOutcome::Strike { action: StepAction::Hang, status: 500 });
        assert_eq!(post(), StepOutcome::Proceed);
        assert_eq!(counter.total(), 4);
    }
}
