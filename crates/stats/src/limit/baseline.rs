//! A host's load compared with its network baseline, where that baseline applies to this load.

use super::evidence::{Host, NetworkBaseline};
use super::finding::{Bound, Cause, Confidence, EvidenceRow, Found};
use super::words::{age, percent};

/// A baseline, measured on an idle network, counts as reached from this share on.
pub(super) const REACHED: f64 = 0.9;
/// A load above this share shows that the network has changed since. Two measurements of the same network with
/// different headers and numbers of connections differ by less.
pub(super) const BEATEN: f64 = 1.05;

/// How a load relates to the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// The load got this share of it.
    Share(f64),
    /// The load exceeded the baseline by this share: the network has changed.
    OutOfDate(f64),
    /// The load uses another address than the one measured.
    Elsewhere,
}

fn says(host: &Host, baseline: &NetworkBaseline) -> Option<Says> {
    if baseline.bytes_per_s <= 0.0 {
        return None;
    }
    // Another address often means another NIC, and two NICs carry more than one.
    if host.paths.is_empty() || host.paths.iter().any(|path| path.own != baseline.address) {
        return Some(Says::Elsewhere);
    }
    let share = host.load.bytes_per_s / baseline.bytes_per_s;
    Some(if share > BEATEN { Says::OutOfDate(share) } else { Says::Share(share) })
}

/// The load got nearly all that the network gives.
pub(super) fn limit(host: &Host) -> Option<Found> {
    let baseline = host.baseline.as_ref()?;
    let Says::Share(share) = says(host, baseline)? else { return None };
    if share < REACHED {
        return None;
    }
    let way = if baseline.received { "received" } else { "sent" };
    let why = format!(
        "{} of the {} that this host {way} in its network's own test (baseline {}, {})",
        percent(share),
        units::ByteRate(baseline.bytes_per_s),
        baseline.name,
        age(baseline.age_s)
    );
    let next = "more hosts or more paths; manometer network measures the path again";
    Some(Found::new(Bound::Network, Cause::Baseline, Confidence::Medium, why, next).share(share))
}

/// The baseline's row in the evidence table, whether it applies or not.
pub(super) fn row(host: &Host) -> Option<EvidenceRow> {
    let baseline = host.baseline.as_ref()?;
    let seen = says(host, baseline)?;
    let way = if baseline.received { "received" } else { "sent" };
    let most = units::ByteRate(baseline.bytes_per_s);
    let share = match seen {
        Says::Share(share) | Says::OutOfDate(share) => format!("{} of ", percent(share)),
        Says::Elsewhere => String::new(),
    };
    let says = match seen {
        Says::Share(share) if share >= REACHED => "reached".to_owned(),
        Says::Share(_) => "has room".to_owned(),
        Says::OutOfDate(_) => "out of date, not used: measure it again".to_owned(),
        Says::Elsewhere => {
            format!("not used: it is of {}, which this load does not use alone", baseline.address)
        }
    };
    Some(EvidenceRow {
        name: format!("baseline {}", baseline.name),
        value: format!("{share}{most} {way}, {}", age(baseline.age_s)),
        limit: percent(REACHED),
        says,
    })
}

#[cfg(test)]
mod tests {
    use super::super::evidence::{ObservedLoad, Path};
    use super::*;

    fn host(load: f64, own: &[&str]) -> Host {
        let path = |own: &&str| Path { own: (*own).to_owned(), ..Path::default() };
        let baseline = NetworkBaseline {
            name: "rack 7".into(),
            age_s: 3.0 * 86_400.0,
            bytes_per_s: 1e9,
            received: true,
            address: "10.0.0.1".into(),
        };
        Host {
            load: ObservedLoad { bytes_per_s: load, ..ObservedLoad::default() },
            paths: own.iter().map(path).collect(),
            baseline: Some(baseline),
            ..Host::default()
        }
    }

    fn said(load: f64, own: &[&str]) -> (bool, String, String) {
        let host = host(load, own);
        let row = row(&host).unwrap();
        (limit(&host).is_some(), row.value, row.says)
    }

    #[test]
    fn nine_tenths_of_it_are_the_limit_and_less_is_room() {
        let (bound, value, says) = said(0.93e9, &["10.0.0.1", "10.0.0.1"]);
        assert!(bound);
        assert_eq!((value.as_str(), says.as_str()), ("93 % of 1.0 GB/s received, 3 days ago", "reached"));
        let (bound, _, says) = said(0.89e9, &["10.0.0.1"]);
        assert!(!bound);
        assert_eq!(says, "has room");
        assert!(said(1.04e9, &["10.0.0.1"]).0, "two measurements differ a little");
    }

    #[test]
    fn the_sentence_says_which_baseline_how_old_and_how_much() {
        let found = limit(&host(0.95e9, &["10.0.0.1"])).unwrap();
        assert_eq!(
            found.why,
            "95 % of the 1.0 GB/s that this host received in its network's own test (baseline rack 7, 3 days ago)"
        );
        assert_eq!((found.confidence, found.share), (Confidence::Medium, Some(0.95)));
    }

    #[test]
    fn a_baseline_that_was_beaten_is_out_of_date_and_not_used() {
        let (bound, value, says) = said(1.2e9, &["10.0.0.1"]);
        assert!(!bound);
        assert!(value.starts_with("120 % of 1.0 GB/s"), "{value}");
        assert!(says.contains("out of date"), "{says}");
    }

    #[test]
    fn a_baseline_of_another_address_is_not_used() {
        for own in [&["10.1.0.1"][..], &["10.0.0.1", "10.1.0.1"], &[]] {
            let (bound, _, says) = said(0.95e9, own);
            assert!(!bound, "{own:?}");
            assert!(says.contains("not used: it is of 10.0.0.1"), "{says}");
        }
    }

    #[test]
    fn nothing_is_said_of_none() {
        let none = Host { baseline: None, ..host(1e9, &["10.0.0.1"]) };
        assert!(row(&none).is_none() && limit(&none).is_none());
        let mut empty = host(1e9, &["10.0.0.1"]);
        empty.baseline.as_mut().unwrap().bytes_per_s = 0.0;
        assert!(row(&empty).is_none() && limit(&empty).is_none());
    }
}
