//! Standalone limits of each host: its processors from `manometer calibrate`, its network from `manometer network`.

use std::path::Path;

use fleet::HostGroup;
use metrics::Interval;
use stats::Calibration;
use stats::limit::NetworkBaseline;
use store::{Baseline, Store};

use super::ceiling::{Work, ceiling};
use crate::network_baseline::{self, OfHost};
use crate::timestamp;

/// What is known about one host when a command starts.
#[derive(Debug, Default)]
pub struct Alone {
    calibration: Option<Calibration>,
    network: OfHost,
}

impl Alone {
    /// For this host, from the default results file and the files beside it. A missing or unreadable file yields
    /// nothing.
    pub fn of_this_host() -> Self {
        let Ok(results) = store::default_path() else { return Self::default() };
        let store = Store::open_existing(&results).ok();
        let kept = store.as_ref().map(network_baseline::newest_first).unwrap_or_default();
        Self::find(&results, &kept, None, Some(own_host()))
    }

    /// For each member of a host group, in member order.
    pub fn of_host_group(store: &Store, host_group: &HostGroup) -> Vec<Self> {
        let kept = network_baseline::newest_first(store);
        // Results on a server have no directory for calibrations: those of this user count.
        let file = match store.is_shared() {
            false => store.path().to_owned(),
            true => store::default_path().unwrap_or_default(),
        };
        let find = |(member, name): (usize, String)| {
            Self::find(&file, &kept, Some(name), host_group.host_facts(member).remove("host"))
        };
        host_group.names().into_iter().enumerate().map(find).collect()
    }

    /// For a host, by its name in the fleet and its own host name.
    fn find(results: &Path, kept: &[Baseline], name: Option<String>, own: Option<String>) -> Self {
        // An unreadable calibration counts as none: `calibrate` reports it when asked.
        let calibration = own.as_ref().and_then(|own| store::load_calibration(results, own).ok()?);
        let names: Vec<String> = [name, own].into_iter().flatten().collect();
        Self { calibration, network: OfHost::named(kept, &names) }
    }

    /// Upper limit that the host's processors set for this work, in payload bytes per second.
    pub fn ceiling(&self, work: &Work) -> Option<f64> {
        ceiling(self.calibration.as_ref()?, work)
    }

    /// Throughput of the host's network in the direction in which the data moved.
    pub fn baseline(&self, moved: &Interval) -> Option<NetworkBaseline> {
        self.network.of(moved, timestamp::now())
    }
}

/// This host's name (uname(2)); its calibration is stored under it.
pub fn own_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
