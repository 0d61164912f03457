//! Which links are measured, and in which order: rounds of pairs that have no host in common.

use std::collections::BTreeSet;

/// A direction between two hosts, as host numbers.
pub type LinkDirection = (u32, u32);

/// Every pair of hosts: one direction of each pair, or both.
pub fn every(hosts: u32, both: bool) -> Vec<LinkDirection> {
    let pairs = (0..hosts).flat_map(|from| (from + 1..hosts).map(move |to| (from, to)));
    pairs.flat_map(|(a, b)| [Some((a, b)), both.then_some((b, a))]).flatten().collect()
}

/// A pair in a list of pairs that names no link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--pairs {pair:?}: {fault}; write pairs of hosts such as a:b,c:d")]
pub struct PairError {
    /// The pair as written.
    pub pair: String,
    /// What is wrong with it.
    pub fault: PairFault,
}

/// What is wrong with a pair.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairFault {
    /// It is not two names.
    #[error("no colon between two hosts")]
    NoColon,
    /// No host has this name.
    #[error("{name:?} is none of {}", hosts.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The hosts.
        hosts: Vec<String>,
    },
    /// Twice the same host.
    #[error("a host has no link to itself")]
    Itself,
    /// The same pair was named before.
    #[error("named twice")]
    Twice,
}

/// Parses `a:b,c:d`: from the first to the second of each pair.
///
/// # Errors
/// [`PairError`].
pub fn named(text: &str, hosts: &[String]) -> Result<Vec<LinkDirection>, PairError> {
    let wrong = |pair: &str, fault| PairError { pair: pair.to_owned(), fault };
    let number = |pair: &str, name: &str| {
        let at = hosts.iter().position(|host| host == name);
        at.and_then(|at| u32::try_from(at).ok())
            .ok_or_else(|| wrong(pair, PairFault::Unknown { name: name.to_owned(), hosts: hosts.to_vec() }))
    };
    let mut found = Vec::new();
    for pair in text.split(',').map(str::trim) {
        // Host names may contain colons themselves: every split is tried.
        let split = pair.match_indices(':').map(|(at, _)| (&pair[..at], &pair[at + 1..]));
        let known = split.clone().find(|(a, b)| hosts.iter().any(|h| h == a) && hosts.iter().any(|h| h == b));
        let Some((from, to)) = known.or_else(|| split.clone().next()) else {
            return Err(wrong(pair, PairFault::NoColon));
        };
        let (from, to) = (number(pair, from)?, number(pair, to)?);
        if from == to {
            return Err(wrong(pair, PairFault::Itself));
        }
        if found.contains(&(from, to)) {
            return Err(wrong(pair, PairFault::Twice));
        }
        found.push((from, to));
    }
    Ok(found)
}

/// Rounds in which no host has two links, so that links of a round share no NIC; every direction occurs once. They
/// follow a round-robin tournament, in which each host meets another one in each round (the circle method).
pub fn rounds(links: &[LinkDirection], hosts: u32) -> Vec<Vec<LinkDirection>> {
    let mut left: BTreeSet<LinkDirection> = links.iter().copied().collect();
    let mut rounds = Vec::new();
    // With an odd number, one host rests in each round.
    let seats = hosts + hosts % 2;
    for turn in 0..seats.saturating_sub(1) {
        for reverse in [false, true] {
            let mut round = Vec::new();
            for at in 0..seats / 2 {
                let (a, b) = meets(seats, turn, at);
                let direction = if (a > b) == reverse { (a, b) } else { (b, a) };
                if a.max(b) < hosts && left.remove(&direction) {
                    round.push(direction);
                }
            }
            if !round.is_empty() {
                rounds.push(round);
            }
        }
    }
    rounds
}

/// The opponent of a seat: seat 0 stays, the others rotate.
fn meets(seats: u32, turn: u32, at: u32) -> (u32, u32) {
    let round = seats - 1;
    let place = |seat: u32| 1 + (seat + turn) % round;
    match at {
        0 => (0, place(round - 1)),
        _ => (place(at - 1), place(round - 1 - at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_two_hosts_meet_once_and_nobody_twice_in_a_round() {
        for hosts in 2..=17 {
            for both in [false, true] {
                let links = every(hosts, both);
                assert_eq!(links.len() as u32, hosts * (hosts - 1) / if both { 1 } else { 2 });
                let rounds = rounds(&links, hosts);
                let mut met: Vec<LinkDirection> = rounds.iter().flatten().copied().collect();
                met.sort_unstable();
                let mut expected = links.clone();
                expected.sort_unstable();
                assert_eq!(met, expected, "{hosts} hosts");
                for round in &rounds {
                    let mut busy: Vec<u32> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                    let count = busy.len();
                    busy.sort_unstable();
                    busy.dedup();
                    assert_eq!(busy.len(), count, "{round:?}");
                }
                // No more rounds than a tournament needs.
                let seats = hosts + hosts % 2;
                assert_eq!(rounds.len() as u32, (seats - 1) * if both { 2 } else { 1 });
            }
        }
    }

    #[test]
    fn pairs_are_read_by_name() {
        let hosts = ["a", "b", "node-3", "fe80::1"].map(String::from);
        assert_eq!(named("a:b, node-3:a", &hosts).unwrap(), [(0, 1), (2, 0)]);
        assert_eq!(named("a:fe80::1,fe80::1:b", &hosts).unwrap(), [(0, 3), (3, 1)]);
        for (text, expected) in [
            ("a", "no colon"),
            ("a:x", "\"x\" is none of a, b"),
            ("a:a", "no link to itself"),
            ("a:b,a:b", "named twice"),
            ("", "no colon"),
        ] {
            let error = named(text, &hosts).unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains("a:b,c:d") && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
