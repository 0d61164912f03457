//! Ctrl-C, SIGTERM, and SIGHUP of a terminal that was closed or an SSH session that was lost.
//!
//! A check's first signal ends the stage under way and lets everything be removed; the second leaves at once
//! and says what is left. A run's first signal lets the measurement end well, at the end of its interval; the
//! second ends it at once and cleans up briefly; the third leaves at once. A SIGHUP counts once at most: nobody repeats it on
//! purpose, and a shell and the kernel may both send it. Where it was ignored at the start (nohup(1)), it stays ignored.

use runner::{StopReason, StopToken};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{self, CommandError};
use crate::live::restore_terminal;
use crate::messages::Messages;
use crate::results::ended;

/// What the first signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The stage under way ends; the second signal leaves.
    Check,
    /// The measurement under way ends well; the second signal ends it at once, the third leaves.
    Run,
}

/// Carries out a command of which nothing but an interrupted run is kept when a signal ends it; the process's exit code.
pub fn whole_or_nothing(messages: &Messages, work: impl FnOnce(&StopToken) -> anyhow::Result<u8>) -> u8 {
    let stop = match listen(messages, Manner::Check) {
        Ok(stop) => stop,
        Err(refusal) => return refusal.tell(messages),
    };
    let outcome = work(&stop);
    match (stop.reason(), outcome) {
        (Some(reason), _) => {
            messages.note("interrupted: nothing is kept but the run");
            exit::of_reason(reason)
        }
        (None, Ok(code)) => code,
        (None, Err(error)) => ended(Err(error), messages),
    }
}

/// Lets signals end what the token that is returned governs. `messages` gets a line at each signal.
///
/// # Errors
/// When the thread or the signal handlers cannot be set up.
pub fn listen(messages: &Messages, manner: Manner) -> Result<StopToken, CommandError> {
    let stop = StopToken::new();
    spawn_listener(messages.clone(), manner, stop.clone())
        .map_err(|error| CommandError::Failure(format!("signals cannot be caught: {error}")))?;
    Ok(stop)
}

fn spawn_listener(messages: Messages, manner: Manner, token: StopToken) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // The handlers are in place before this function returns.
    let (mut interrupts, mut terminations, mut hangups) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hangups()?)
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            let mut count = 0;
            loop {
                let reason = tokio::select! {
                    Some(()) = interrupts.recv() => StopReason::Interrupt,
                    Some(()) = terminations.recv() => StopReason::Terminate,
                    Some(()) = hangup(&mut hangups) => StopReason::HangUp,
                    else => return,
                };
                if reason == StopReason::HangUp {
                    messages.hang_up();
                    if count > 0 {
                        continue;
                    }
                }
                count += 1;
                arrived(reason, count, manner, &token, &messages);
            }
        });
    })?;
    Ok(())
}

fn arrived(reason: StopReason, count: u32, manner: Manner, stop: &StopToken, messages: &Messages) {
    match (manner, count) {
        (Manner::Check, 1) => {
            stop.stop(reason);
            messages
                .note("interrupted: ending the phase and removing what was created (again to leave at once)");
        }
        (Manner::Run, 1) => {
            // A measurement that has begun is worth keeping; anything else is not waited for.
            stop.finish(reason);
            messages.note(
                "interrupted: the cell ends with its interval and is kept, then what was created is removed \
                 (again to stop at once)",
            );
        }
        (Manner::Run, 2) => {
            stop.stop(reason);
            messages.note(
                "interrupted again: stopping at once, removing what was created (a third time to leave it)",
            );
        }
        _ => {
            restore_terminal();
            if let Some(leftovers) = stop.leftovers() {
                messages.error(&format!("left at once: {leftovers}"));
            }
            std::process::exit(i32::from(exit::of_reason(reason)));
        }
    }
}

/// Catches SIGHUP, in a runtime that is entered; `None` where it is ignored.
pub fn hangups() -> std::io::Result<Option<Signal>> {
    if hangup_is_ignored() { Ok(None) } else { signal(SignalKind::hangup()).map(Some) }
}

/// The next SIGHUP; never, where it is ignored.
pub async fn hangup(hangups: &mut Option<Signal>) -> Option<()> {
    match hangups {
        Some(hangups) => hangups.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether whoever started this process wants it to outlive its terminal (nohup(1), sigaction(2)).
fn hangup_is_ignored() -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with no new action the call changes nothing and fills `now` when it succeeds.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
