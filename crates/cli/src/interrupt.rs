//! Ctrl-C, SIGTERM, and SIGHUP from a closed terminal or a lost SSH session.
//!
//! In a check, the first signal ends the stage under way and lets everything be removed; the second exits at once and
//! says what is left. In a run, the first signal lets the measurement end cleanly with its current interval; the second
//! ends it at once and cleans up briefly; the third exits at once. A SIGHUP counts at most once: nobody repeats it on
//! purpose, and a shell and the kernel may both send it. If it was ignored at the start (nohup(1)), it stays ignored.

use runner::{StopReason, StopToken};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{self, CommandError};
use crate::live::restore_terminal;
use crate::messages::Messages;
use crate::results::ended;

/// What the first signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The stage under way ends; the second signal exits.
    Check,
    /// The measurement under way ends cleanly; the second signal ends it at once, the third exits.
    Run,
}

/// Runs a command that, when a signal ends it, keeps nothing but an interrupted run; returns the process's exit code.
pub fn whole_or_nothing(messages: &Messages, work: impl FnOnce(&StopToken) -> anyhow::Result<u8>) -> u8 {
    let stop = match listen(messages, Manner::Check) {
        Ok(stop) => stop,
        Err(refusal) => return refusal.tell(messages),
    };
    let outcome = work(&stop);
    match (stop.reason(), outcome) {
        (Some(reason), _) => {
            messages.note("interrupted: only the run is kept");
            exit::of_reason(reason)
        }
        (None, Ok(code)) => code,
        (None, Err(error)) => ended(Err(error), messages),
    }
}

/// Lets signals end whatever the returned token governs. `messages` gets a line for each signal.
///
/// # Errors
/// The thread or the signal handlers cannot be set up.
pub fn listen(messages: &Messages, manner: Manner) -> Result<StopToken, CommandError> {
    let stop = StopToken::new();
    spawn_listener(messages.clone(), manner, stop.clone())
        .map_err(|error| CommandError::Failure(format!("signals cannot be caught: {error}")))?;
    Ok(stop)
}

fn spawn_listener(messages: Messages, manner: Manner, token: StopToken) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // The handlers are installed before this function returns.
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
            // A measurement that has started is worth keeping; nothing else is waited for.
            stop.finish(reason);
            messages.note(
                "interrupted: ending the cell after its current interval, keeping it and removing what was created \
                 (again to stop at once)",
            );
        }
        (Manner::Run, 2) => {
            stop.stop(reason);
            messages.note(
                "interrupted again: stopping at once, removing what was created (a third time to exit without removing it)",
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

/// Catches SIGHUP; needs an entered runtime. `None` if SIGHUP is ignored.
pub fn hangups() -> std::io::Result<Option<Signal>> {
    if hangup_is_ignored() { Ok(None) } else { signal(SignalKind::hangup()).map(Some) }
}

/// Waits for the next SIGHUP; for ever if it is ignored.
pub async fn hangup(hangups: &mut Option<Signal>) -> Option<()> {
    match hangups {
        Some(hangups) => hangups.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the parent wants this process to outlive its terminal (nohup(1), sigaction(2)).
fn hangup_is_ignored() -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call changes nothing, and fills `now` on success.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
