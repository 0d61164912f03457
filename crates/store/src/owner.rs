//! Which process executes a run, and whether it is still alive, so that nobody else resumes or removes the run
//! meanwhile.

use std::fs;

/// Identifies a process uniquely across this machine and its reboots.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    /// Boot id of the machine (`/proc/sys/kernel/random/boot_id`).
    boot: String,
    /// The PID namespace: PIDs are meaningless outside it.
    namespace: String,
    process: u32,
    /// Start time of the process in clock ticks since boot (`/proc/PID/stat`, field 22).
    start: u64,
}

/// This process, as recorded in the file.
pub(crate) fn this_process() -> Option<String> {
    let process = std::process::id();
    let owner = Owner { boot: boot()?, namespace: namespace()?, process, start: start_of(process)? };
    Some(format!("{} {} {} {}", owner.boot, owner.namespace, owner.process, owner.start))
}

/// Who executes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunHolder {
    /// A process of this host, by its PID.
    Process(u32),
    /// Another host, which shares the database with this one.
    AnotherHost,
}

impl std::fmt::Display for RunHolder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(process) => write!(out, "in process {process}"),
            Self::AnotherHost => out.write_str("on another host"),
        }
    }
}

/// The process recorded in a database, if it is not this one and alive as far as can be known: in one that hosts share
/// (`shared`), those of other hosts count as alive.
pub(crate) fn alive_elsewhere(text: &str, shared: bool) -> Option<RunHolder> {
    let owner = parse(text)?;
    let here = boot()? == owner.boot && namespace()? == owner.namespace;
    if !here {
        return shared.then_some(RunHolder::AnotherHost);
    }
    let lives = owner.process != std::process::id() && start_of(owner.process)? == owner.start;
    lives.then_some(RunHolder::Process(owner.process))
}

/// Whether the process recorded in a database is this one or alive as far as can be known.
pub(crate) fn alive(text: &str, shared: bool) -> bool {
    alive_elsewhere(text, shared).is_some() || this_process().is_some_and(|this| this == text)
}

fn parse(text: &str) -> Option<Owner> {
    let mut words = text.split(' ');
    let mut next = || words.next();
    Some(Owner {
        boot: next()?.to_owned(),
        namespace: next()?.to_owned(),
        process: next()?.parse().ok()?,
        start: next()?.parse().ok()?,
    })
}

fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

fn namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// A zombie has ended, but has not been waited for.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything; the state and the numbers follow the last closing parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_told_from_a_dead_one_and_from_its_successor() {
        let this = this_process().unwrap();
        assert!(alive(&this, false) && alive_elsewhere(&this, false).is_none());
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let start = start_of(child.id()).unwrap();
        let (boot, namespace) = (boot().unwrap(), namespace().unwrap());
        let text = format!("{boot} {namespace} {} {start}", child.id());
        assert_eq!(alive_elsewhere(&text, false), Some(RunHolder::Process(child.id())));
        let successor = format!("{boot} {namespace} {} {}", child.id(), start + 1);
        assert_eq!(alive_elsewhere(&successor, true), None);
        let other_start = format!("another-boot {namespace} {} {start}", child.id());
        assert_eq!(alive_elsewhere(&other_start, false), None);
        assert_eq!(alive_elsewhere(&other_start, true), Some(RunHolder::AnotherHost), "it cannot be asked");
        child.kill().unwrap();
        while start_of(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!alive(&text, true), "a zombie does not run anything");
        child.wait().unwrap();
        assert!(!alive(&text, true) && !alive("rubbish", true) && !alive("", true));
    }
}
