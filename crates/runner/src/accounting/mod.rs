//! What servers were asked to do during a measurement: counters of others, read before and after it. Those of an NFS mount
//! beneath the target are used without being asked for, those of servers as the target's `accounting` says.

mod error;
mod gluster;
mod mountstats;
mod printed;
mod reading;

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::StageResult;
use experiment::{Accounting, Cell, ServerCounters};
use fleet::launch::{LaunchSettings, output_of};
use store::{CallCounter, ServerCalls};

use self::error::AccountingError;
use self::gluster::Profile;
use self::reading::CounterReading;
use crate::context::Context;
use crate::site::Site;

/// Profiles of volumes that this run started, to be stopped at its end.
pub type StartedProfiles = Mutex<Vec<Accounting>>;

/// Counters that are watched during a measurement.
#[derive(Debug)]
pub struct CallWatch<'a> {
    source: Source<'a>,
    before: CounterReading,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    /// The mount point of an NFS mount of this host.
    Mount(String),
    Server(&'a Accounting),
}

/// Starts watching all counters of a cell's target. Those that cannot be read are reported and left out. Blocks until they
/// are read.
pub fn watch<'a>(context: &Context, cell: &'a Cell, site: &Site) -> Vec<CallWatch<'a>> {
    let mount =
        mount_of(context, site).map(|(mount, before)| CallWatch { source: Source::Mount(mount), before });
    let server = cell.target.accounting.as_ref().and_then(|accounting| {
        let source = Source::Server(accounting);
        match source.read(context) {
            Ok(before) => Some(CallWatch { source, before }),
            Err(error) => {
                source.tell(context, cell, &error);
                None
            }
        }
    });
    mount.into_iter().chain(server).collect()
}

/// What was counted since, in the measurement with this result. Counters that cannot be read are reported. Blocks.
pub fn counted(
    context: &Context,
    cell: &Cell,
    watches: Vec<CallWatch<'_>>,
    result: &StageResult,
) -> Vec<ServerCalls> {
    let apart = result.before.ok + result.before.failed + result.after.ok + result.after.failed;
    let operations = result.total.ok() + result.total.failed() + apart;
    let of = |CallWatch { source, before }: CallWatch<'_>| {
        let counted =
            source.read(context).and_then(|now| now.since(&before).ok_or(AccountingError::BeganAnew));
        match counted {
            Ok(reading) => {
                let (counter, name) = source.name();
                Some(reading.calls(counter, name, operations))
            }
            Err(error) => {
                source.tell(context, cell, &error);
                None
            }
        }
    };
    watches.into_iter().filter_map(of).collect()
}

/// Stops the profiles that the run started. What cannot be stopped is reported.
pub fn stop_profiles(context: &Context) {
    let mut started = context.started_profiles.lock().unwrap_or_else(PoisonError::into_inner);
    for accounting in started.drain(..) {
        // Even after a signal.
        let never = || false;
        let words = command(&accounting.counters, "stop");
        if let Err(error) = execute(context, &accounting, &words, &never) {
            context.events.warn(&format!("a volume is still being profiled: {error}"));
        }
    }
}

/// The NFS mount beneath the target, if it is one of this host, with its counters.
fn mount_of(context: &Context, site: &Site) -> Option<(String, CounterReading)> {
    // The mounts of other hosts are not in this host's file.
    if !context.host_group.sees_the_load() || site.virtual_clock() {
        return None;
    }
    let by_host = site.facts_by_host(context);
    let mount = by_host.values().find_map(|facts| facts.get("mount point"))?;
    Some((mount.clone(), read_mount(mount)?))
}

fn read_mount(mount: &str) -> Option<CounterReading> {
    mountstats::counters(&fs::read_to_string("/proc/self/mountstats").ok()?, mount)
}

impl Source<'_> {
    fn name(&self) -> (CallCounter, String) {
        match self {
            Self::Mount(mount) => (CallCounter::Mount, mount.clone()),
            Self::Server(accounting) => match &accounting.counters {
                ServerCounters::Gluster { volume, .. } => (CallCounter::Gluster, volume.clone()),
                ServerCounters::Ceph { mds, .. } => (CallCounter::Ceph, mds.join(", ")),
                ServerCounters::Command { run } => (CallCounter::Command, run.join(" ")),
            },
        }
    }

    fn tell(&self, context: &Context, cell: &Cell, error: &AccountingError) {
        let (counter, name) = self.name();
        let nothing = ServerCalls { counter, name, operations: 0, procedures: Vec::new() };
        context.remark(cell, "warning", &format!("no {}: {error}", nothing.title()));
    }

    fn read(&self, context: &Context) -> Result<CounterReading, AccountingError> {
        let accounting = match self {
            Self::Mount(mount) => return read_mount(mount).ok_or(AccountingError::Unmounted),
            Self::Server(accounting) => *accounting,
        };
        let stopped = || context.stop.is_requested();
        let ask = |words: &[String]| execute(context, accounting, words, &stopped);
        match &accounting.counters {
            ServerCounters::Gluster { .. } => {
                let info = command(&accounting.counters, "info");
                if let Profile::Counters(reading) = gluster::profile(&ask(&info)?)? {
                    return Ok(reading);
                }
                // Cells that run at the same time start it once.
                let mut started = context.started_profiles.lock().unwrap_or_else(PoisonError::into_inner);
                if !started.contains(accounting) {
                    gluster::profile(&ask(&command(&accounting.counters, "start"))?)?;
                    started.push(accounting.clone());
                }
                drop(started);
                match gluster::profile(&ask(&info)?)? {
                    Profile::Counters(reading) => Ok(reading),
                    Profile::NotStarted => Err(AccountingError::BeganAnew),
                }
            }
            ServerCounters::Ceph { mds, options } => {
                let mut all = CounterReading::default();
                for name in mds {
                    let server = format!("mds.{name}");
                    let mut words = vec!["ceph".to_owned()];
                    words.extend(options.iter().cloned());
                    words.extend(["tell", &server, "perf", "dump"].map(str::to_owned));
                    all.extend(printed::of_mds(&server, &ask(&words)?)?);
                }
                Ok(all)
            }
            ServerCounters::Command { run } => printed::of_command(&ask(run)?),
        }
    }
}

/// gluster's command line for an action on a profile: `info`, `start`, `stop`.
fn command(counters: &ServerCounters, action: &str) -> Vec<String> {
    let ServerCounters::Gluster { volume, options } = counters else { return Vec::new() };
    let mut words = ["gluster", "--mode=script", "--xml"].map(str::to_owned).to_vec();
    words.extend(options.iter().cloned());
    words.extend(["volume", "profile", volume, action].map(str::to_owned));
    if action == "info" {
        words.push("cumulative".to_owned());
    }
    words
}

fn execute(
    context: &Context,
    accounting: &Accounting,
    words: &[String],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<String, AccountingError> {
    let timeout = Duration::from_millis(accounting.timeout_ms);
    let mut settings = LaunchSettings::new(env!("CARGO_PKG_VERSION"), timeout, stop);
    settings.login = context.login.clone();
    Ok(output_of(words, "", accounting.via.as_ref(), &settings)?)
}
