//! What can be learned about a target before anything is created or written on it.

use std::net::IpAddr;
use std::net::SocketAddr;

use drivers::paths::Paths;
use drivers::{interfaces, path_mtu};
use serde::{Deserialize, Serialize};

use super::TargetError;
use super::paths::interface;

/// Difference between clocks, in seconds, above which a warning is given. S3 servers reject requests more than fifteen
/// minutes off.
const CLOCK_TOLERANCE_S: i64 = 60;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// Suspicious, but does not stop a run.
    Warning,
    /// A run would fail: the target does not answer, refuses, or lacks space.
    Failure,
    /// The target was named wrongly, or must not be overwritten: a usage error.
    Misuse,
}

impl FindingKind {
    /// True when no run can start with it.
    pub fn is_fault(self) -> bool {
        self != FindingKind::Warning
    }
}

/// A finding about a target. One line: what is wrong, where, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Severity.
    pub kind: FindingKind,
    /// The line.
    pub text: String,
}

/// Space left for writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Identifies its file system, on one host or, for a remote target, on one server.
    pub file_system: String,
    /// For people: the directory or export.
    pub place: String,
    /// Bytes that this user may still write.
    pub available_bytes: u64,
    /// Data already lies in a place that the user chose, so that writing may need no more space.
    pub holds_data: bool,
}

/// The result of inspecting a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// All findings, in no order of severity.
    pub findings: Vec<Finding>,
    /// Free space for its data, where known.
    pub space: Option<FreeSpace>,
    /// Description of what answered; empty where nothing was asked.
    pub seen: String,
}

impl Look {
    /// The result for a target that cannot be used.
    pub fn refused(error: &TargetError) -> Self {
        let kind = match error {
            TargetError::Input(_) => FindingKind::Misuse,
            TargetError::Driver(_) | TargetError::Journal(_) => FindingKind::Failure,
        };
        Self::default().with(kind, error.to_string())
    }

    /// Adds a finding.
    #[must_use]
    pub fn with(mut self, kind: FindingKind, text: String) -> Self {
        self.findings.push(Finding { kind, text });
        self
    }

    /// Adds a warning when the clock of `server` is ahead of this machine's by `ahead_s` seconds, or behind, by more
    /// than the tolerance.
    #[must_use]
    pub(super) fn with_clock(self, server: &str, ahead_s: i64) -> Self {
        if ahead_s.abs() <= CLOCK_TOLERANCE_S {
            return self;
        }
        let side = if ahead_s > 0 { "ahead of" } else { "behind" };
        let text = format!(
            "the clock of {server} is {} s {side} this machine's; next: synchronize both (NTP), for requests are refused from 15 \
             minutes on",
            ahead_s.abs()
        );
        self.with(FindingKind::Warning, text)
    }

    /// Adds a warning when the kernel knows that the path to `remote` carries smaller packets than the NIC sends.
    #[must_use]
    pub(super) fn with_mtu(self, paths: &Paths, remote: SocketAddr) -> Self {
        let source = paths.sources.first().map(|source| source.address);
        match small_path(source, remote, interface(paths, remote.ip()).ok().as_deref()) {
            Some(text) => self.with(FindingKind::Warning, text),
            None => self,
        }
    }
}

fn small_path(source: Option<IpAddr>, remote: SocketAddr, interface: Option<&str>) -> Option<String> {
    let interface = interface?;
    let (path, card) = (path_mtu::known_path_mtu(source, remote).ok()?, interfaces::mtu(interface)?);
    smaller(path, card).then(|| {
        format!(
            "the path to {} carries packets of {path} bytes only, and {interface} sends {card} (MTU); next: set the same MTU on \
             every switch and host of the path",
            remote.ip()
        )
    })
}

/// Whether the path's MTU is below the NIC's. An unknown path (0) gives no warning, and the NIC's MTU is capped at IP's
/// longest packet, which loopback's MTU exceeds.
fn smaller(path_bytes: u32, card_bytes: u32) -> bool {
    path_bytes > 0 && path_bytes < card_bytes.min(u16::MAX.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_a_warning_and_no_fault() {
        assert!(Look::default().with_clock("s", 60).findings.is_empty());
        for (ahead_s, part) in [(61, "61 s ahead of this"), (-900, "900 s behind this")] {
            let look = Look::default().with_clock("http://h", ahead_s);
            let [found] = &look.findings[..] else { panic!("{look:?}") };
            assert!(found.text.contains("http://h") && found.text.contains(part), "{found:?}");
            assert!(!found.kind.is_fault());
        }
    }

    #[test]
    fn a_path_of_the_cards_size_is_not_worth_a_word() {
        let remote = "127.0.0.1:9".parse().unwrap();
        assert!(Look::default().with_mtu(&Paths::default(), remote).findings.is_empty());
        assert!(smaller(1500, 9000) && !smaller(9000, 9000) && !smaller(0, 9000) && !smaller(65535, 65536));
    }

    #[test]
    fn what_is_written_wrongly_is_told_from_what_does_not_answer() {
        let misuse = Look::refused(&TargetError::Input("no such directory".into()));
        assert_eq!(misuse.findings[0].kind, FindingKind::Misuse);
        let refused = drivers::DriverError::new(metrics::ErrorKind::ConnectFailed, "no answer");
        assert_eq!(Look::refused(&refused.into()).findings[0].kind, FindingKind::Failure);
    }
}
