//! Starts many agents at once.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::process::Launched;
use super::start_error::AgentStartError;
use super::{HostFailure, LaunchError};

/// Starts one agent per name, `width` at a time, and returns them in the order of the names. If one cannot be started,
/// those already started are ended.
///
/// # Errors
/// One line for each host that could not be started.
pub(super) fn start_all(
    names: &[String],
    width: usize,
    start: impl Fn(usize, &str) -> Result<Launched, AgentStartError> + Sync,
) -> Result<Vec<Launched>, LaunchError> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<(usize, Result<Launched, AgentStartError>)>> =
        Mutex::new(Vec::with_capacity(names.len()));
    std::thread::scope(|scope| {
        for _ in 0..width.clamp(1, names.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(name) = names.get(index) else { return };
                    let outcome = start(index, name);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((index, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(index, _)| *index);
    let (mut started, mut failed) = (Vec::new(), Vec::new());
    for (index, outcome) in outcomes {
        match outcome {
            Ok(launched) => started.push(launched),
            Err(error) => failed.push(HostFailure { name: names[index].clone(), text: error.to_string() }),
        }
    }
    if failed.is_empty() { Ok(started) } else { Err(LaunchError::Hosts(failed)) }
}
