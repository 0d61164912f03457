//! Waits as the first process of a pod, so that agents can be started in it.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// How often to check for other processes.
const TICK: Duration = Duration::from_secs(1);
/// How long agents may take to clean up after SIGTERM: less than the pod's grace period.
const PATIENCE: Duration = Duration::from_secs(super::kubernetes::GRACE_S - 20);

/// Waits until SIGTERM or SIGINT arrives, or until this pod had no other process for `quiet_s` seconds. Before it
/// returns, it asks all other processes in the pod to end (SIGTERM) and waits for them: when a pod is deleted, the end
/// of its first process ends all others, and an agent has files to remove.
///
/// Where it is not the first process (outside a container), it leaves other processes alone, and `quiet_s` counts from
/// the start.
///
/// To be called before other threads exist: they would receive the signals.
///
/// # Errors
/// Signals cannot be waited for, or `/proc` cannot be read.
pub fn idle(quiet_s: u64) -> io::Result<()> {
    let signals = Signals::block()?;
    let first = std::process::id() == 1;
    let mut quiet_since = reactor::clock::now_ns();
    loop {
        if signals.wait(TICK)? {
            break;
        }
        reap();
        let now = reactor::clock::now_ns();
        if first && !others(Path::new("/proc"))?.is_empty() {
            quiet_since = now;
        }
        if now.saturating_sub(quiet_since) / 1_000_000_000 >= quiet_s {
            break;
        }
    }
    if first { end_others(&signals) } else { Ok(()) }
}

/// Asks all other processes to end and waits for that.
fn end_others(signals: &Signals) -> io::Result<()> {
    let begin = reactor::clock::now_ns();
    let mut asked = Vec::new();
    loop {
        reap();
        let left = others(Path::new("/proc"))?;
        if left.is_empty() || u128::from(reactor::clock::now_ns() - begin) >= PATIENCE.as_nanos() {
            return Ok(());
        }
        for pid in left {
            if !asked.contains(&pid) {
                asked.push(pid);
                if let Some(pid) = Pid::from_raw(pid) {
                    // It may have ended by itself.
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
        }
        // More signals change nothing.
        signals.wait(Duration::from_millis(50))?;
    }
}

/// Reaps orphans that became our children.
fn reap() {
    while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
}

/// The live processes in `proc` other than this one.
fn others(proc: &Path) -> io::Result<Vec<i32>> {
    let own = std::process::id() as i32;
    let mut pids = Vec::new();
    for entry in std::fs::read_dir(proc)? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // One that has just ended has no `stat`.
        let Ok(stat) = std::fs::read_to_string(proc.join(pid.to_string()).join("stat")) else { continue };
        // proc(5): the state follows the name, which is in parentheses and may itself contain some.
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        if pid != own && !matches!(state, Some('Z' | 'X' | 'x')) {
            pids.push(pid);
        }
    }
    Ok(pids)
}

/// SIGTERM and SIGINT, blocked from their default actions. For the first process of a container the kernel ignores them
/// by default: without this they would be lost, and the pod killed at the end of its grace period.
struct Signals(libc::sigset_t);

impl Signals {
    fn block() -> io::Result<Self> {
        // SAFETY: a sigset_t may hold any bits; sigemptyset sets all of them.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` lives across the calls and is not shared.
        let code = unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut())
        };
        if code == 0 { Ok(Self(set)) } else { Err(io::Error::from_raw_os_error(code)) }
    }

    /// Waits for one of them; false when none arrived in time.
    fn wait(&self, longest: Duration) -> io::Result<bool> {
        let time = libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(longest.subsec_nanos() as i32),
        };
        // SAFETY: both pointers are to values that live across the call; no information is requested.
        let signal = unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const time) };
        if signal >= 0 {
            return Ok(true);
        }
        match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(false),
            error => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(proc: &Path, pid: u32, stat: &str) {
        std::fs::create_dir(proc.join(pid.to_string())).unwrap();
        std::fs::write(proc.join(pid.to_string()).join("stat"), stat).unwrap();
    }

    #[test]
    fn others_are_processes_that_have_not_ended() {
        let proc = tempfile::tempdir().unwrap();
        let own = std::process::id();
        process(proc.path(), own, &format!("{own} (manometer) S 0 1"));
        process(proc.path(), own + 1, "7 (odd) Z name) R 1 1");
        process(proc.path(), own + 2, "8 (ended) Z 1 1");
        std::fs::create_dir(proc.path().join((own + 3).to_string())).unwrap();
        std::fs::create_dir(proc.path().join("self")).unwrap();
        assert_eq!(others(proc.path()).unwrap(), [own as i32 + 1]);
    }

    #[test]
    fn a_pod_in_which_nobody_is_ends_by_itself() {
        idle(0).unwrap();
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let waited = std::thread::spawn(|| {
            let signals = Signals::block().unwrap();
            // SAFETY: a signal to this very thread, which has it blocked.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
            signals.wait(Duration::from_secs(60)).unwrap()
        });
        assert!(waited.join().unwrap());
    }
}
