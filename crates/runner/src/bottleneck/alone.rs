//! What hosts can do by tests of each alone: its processors by `manometer calibrate`, its network by `manometer network`.

use std::path::Path;

use fleet::HostGroup;
use metrics::Interval;
use stats::Calibration;
use stats::limit::NetworkBaseline;
use store::{Baseline, Store};

use super::ceiling::{Work, ceiling};
use crate::network_baseline::{self, OfHost};
use crate::timestamp;

/// What is known of one host, as it was when a command began.
#[derive(Debug, Default)]
pub struct Alone {
    calibration: Option<Calibration>,
    network: OfHost,
}

impl Alone {
    /// Of this host, by the default results file and what lies beside it. Of a file that is not there or cannot be read nothing
    /// is known.
    pub fn of_this_host() -> Self {
        let Ok(results) = store::default_path() else { return Self::default() };
        let store = Store::open_existing(&results).ok();
        let kept = store.as_ref().map(network_baseline::newest_first).unwrap_or_default();
        Self::find(&results, &kept, None, Some(own_host()))
    }

    /// Of each member of a host group, in the order of their numbers.
    pub fn of_host_group(store: &Store, host_group: &HostGroup) -> Vec<Self> {
        let kept = network_baseline::newest_first(store);
        let find = |(member, name): (usize, String)| {
            Self::find(store.path(), &kept, Some(name), host_group.host_facts(member).remove("host"))
        };
        host_group.names().into_iter().enumerate().map(find).collect()
    }

    /// Of a host by the name that it was given and the one that it has itself.
    fn find(results: &Path, kept: &[Baseline], name: Option<String>, own: Option<String>) -> Self {
        // A calibration that cannot be read is as none: `calibrate` says so when it is asked.
        let calibration = own.as_ref().and_then(|own| store::load_calibration(results, own).ok()?);
        let names: Vec<String> = [name, own].into_iter().flatten().collect();
        Self { calibration, network: OfHost::named(kept, &names) }
    }

    /// What the host's processors would allow of this work at most, in payload bytes a second.
    pub fn ceiling(&self, work: &Work) -> Option<f64> {
        ceiling(self.calibration.as_ref()?, work)
    }

    /// What the host's network carried in the direction of what was moved.
    pub fn baseline(&self, moved: &Interval) -> Option<NetworkBaseline> {
        self.network.of(moved, timestamp::now())
    }
}

/// What this host calls itself (uname(2)): its calibration lies under this name.
pub fn own_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
