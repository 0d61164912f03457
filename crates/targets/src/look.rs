//! What can be known of a target before anything is made or written there.

use std::net::IpAddr;
use std::net::SocketAddr;

use drivers::paths::Paths;
use drivers::{interfaces, path_mtu};
use serde::{Deserialize, Serialize};

use super::TargetError;
use super::paths::interface;

/// A difference between clocks that is worth a warning, in seconds. S3 servers refuse requests beyond fifteen minutes.
const CLOCK_TOLERANCE_S: i64 = 60;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// Looks wrong and does not stop a run.
    Warning,
    /// A run would fail: the target does not answer, refuses or has no room.
    Failure,
    /// The target was named wrongly, or must not be overwritten: wrong usage.
    Misuse,
}

impl FindingKind {
    /// True when no run can begin with it.
    pub fn is_fault(self) -> bool {
        self != FindingKind::Warning
    }
}

/// Something that was found in looking. One line: what is wrong, where, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub kind: FindingKind,
    /// The line.
    pub text: String,
}

/// What can still be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// What tells its file system from others, on one host or, of a remote target, on one server.
    pub file_system: String,
    /// For people: the directory or export.
    pub place: String,
    /// Bytes that this user may still write.
    pub available_bytes: u64,
    /// Data of the user's own choice of place lies there already, so that what is written may take no more room.
    pub holds_data: bool,
}

/// What was seen of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// All that was found, the worst not necessarily first.
    pub findings: Vec<Finding>,
    /// The room for its data, where that is known.
    pub space: Option<FreeSpace>,
    /// What answered, in words; empty where nothing was asked.
    pub seen: String,
}

impl Look {
    /// A target that cannot be used.
    pub fn refused(error: &TargetError) -> Self {
        let kind = match error {
            TargetError::Input(_) => FindingKind::Misuse,
            TargetError::Driver(_) | TargetError::Journal(_) => FindingKind::Failure,
        };
        Self::default().with(kind, error.to_string())
    }

    /// With one more finding.
    #[must_use]
    pub fn with(mut self, kind: FindingKind, text: String) -> Self {
        self.findings.push(Finding { kind, text });
        self
    }

    /// With a warning where the clock of `server` is this many seconds ahead of this machine's by more than anybody should be.
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

    /// With a warning where the kernel knows that the path to `remote` carries smaller packets than the card sends.
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

/// Whether the path carries less than the card; a path that is not known (0) says nothing, and no packet is longer than IP allows, which
/// loopback's MTU is.
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
