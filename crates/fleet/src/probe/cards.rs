//! NICs (/proc/net/dev, /sys/class/net), and packets before programs see them (/proc/net/softnet_stat).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;

use super::sample::{NicSample, Softnet};
use super::source::{Source, per_second, thousandth};

/// Maximum NICs reported.
const MAX_CARDS: usize = 64;

/// Received bytes, packets, errors, drops; sent bytes, packets, errors, drops.
type Counts = [u64; 8];

/// State of the NICs at the last sample.
#[derive(Debug, Default)]
pub(super) struct Cards {
    before: BTreeMap<String, Counts>,
    /// Speed and MTU, read once per NIC.
    known: BTreeMap<String, (Option<u64>, u32)>,
}

impl Cards {
    /// Activity of each NIC since the last sample, without idle ones.
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Vec<NicSample> {
        let now = parse(&source.text("proc/self/net/dev").unwrap_or_default());
        let before = std::mem::replace(&mut self.before, now.clone());
        self.known.retain(|name, _| now.contains_key(name));
        let mut samples = Vec::new();
        for (name, after) in &now {
            let Some(before) = before.get(name) else { continue };
            let since = |at: usize| after[at].saturating_sub(before[at]);
            if since(1) + since(5) == 0 {
                continue;
            }
            let rate = |at: usize| per_second(since(at), length_ns) as u64;
            let (speed_mbit, mtu) = *self.known.entry(name.clone()).or_insert_with(|| facts(source, name));
            samples.push(NicSample {
                received_bytes_per_s: rate(0),
                received_packets_per_s: rate(1),
                sent_bytes_per_s: rate(4),
                sent_packets_per_s: rate(5),
                errors: since(2) + since(6),
                dropped: since(3) + since(7),
                speed_mbit,
                mtu,
                loopback: name == "lo",
                name: name.clone(),
            });
        }
        samples
    }
}

/// A NIC as described by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CardFacts {
    /// The kernel's name.
    pub name: String,
    /// Link speed in Mbit/s, if there is one: virtual interfaces have none.
    pub speed_mbit: Option<u64>,
    /// Configured MTU, in bytes.
    pub mtu: Option<u32>,
    /// Both ends are this machine.
    pub loopback: bool,
}

/// The NIC used by connections from this local address; `None` where no NIC has the address.
pub fn card_of(local: IpAddr) -> Option<CardFacts> {
    let name = drivers::interfaces::interface_of(local)?;
    let (speed_mbit, mtu) = facts(&Source::host(), &name);
    let loopback = local.to_canonical().is_loopback();
    Some(CardFacts { name, speed_mbit, mtu: (mtu > 0).then_some(mtu), loopback })
}

/// Speed in Mbit/s, where the kernel reports one, and MTU.
fn facts(source: &Source, name: &str) -> (Option<u64>, u32) {
    let number = |file: &str| source.number(&format!("sys/class/net/{name}/{file}"));
    // The kernel returns -1 or an error where there is no physical link. veth pairs report a meaningless 10000.
    let speed = number("speed").and_then(|speed| u64::try_from(speed).ok());
    let speed = speed.filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX));
    let hardware = source.path(&format!("sys/class/net/{name}/device")).exists();
    (speed.filter(|_| hardware), number("mtu").and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(0))
}

fn parse(text: &str) -> BTreeMap<String, Counts> {
    let line = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> =
            counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
        let at = |place: usize| counts.get(place).copied().unwrap_or(0);
        Some((name.trim().to_owned(), [at(0), at(1), at(2), at(3), at(8), at(9), at(10), at(11)]))
    };
    text.lines().filter_map(line).take(MAX_CARDS).collect()
}

/// Packets, drops and squeezes, summed over the cores.
#[derive(Debug, Default)]
pub(super) struct SoftnetLook {
    before: Option<[u64; 3]>,
}

impl SoftnetLook {
    pub(super) fn look(&mut self, source: &Source, length_ns: u64) -> Softnet {
        let mut now = [0_u64; 3];
        for line in source.text("proc/self/net/softnet_stat").unwrap_or_default().lines() {
            let counts =
                line.split_ascii_whitespace().map(|count| u64::from_str_radix(count, 16).unwrap_or(0));
            for (sum, count) in now.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let before = self.before.replace(now).unwrap_or(now);
        // The kernel's per-core counters have 32 bits and wrap around.
        let since = |at: usize| now[at].saturating_sub(before[at]);
        Softnet {
            packets_per_s: thousandth(per_second(since(0), length_ns)),
            dropped: since(1),
            squeezed: since(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_and_packets_are_differences() {
        let root = tempfile::tempdir().unwrap();
        let source = Source::below(root.path());
        std::fs::create_dir_all(root.path().join("proc/self/net")).unwrap();
        std::fs::create_dir_all(root.path().join("sys/class/net/e0/device")).unwrap();
        std::fs::write(root.path().join("sys/class/net/e0/speed"), "25000\n").unwrap();
        std::fs::write(root.path().join("sys/class/net/e0/mtu"), "9000\n").unwrap();
        let dev = |bytes: u64| {
            let text = format!(
                "Inter-|   Receive\n face |bytes\n  e0: {bytes} {bytes} 0 0 0 0 0 0 7 7 0 0 0 0 0 0\n idle: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
            );
            std::fs::write(root.path().join("proc/self/net/dev"), text).unwrap();
        };
        let softnet =
            |text: &str| std::fs::write(root.path().join("proc/self/net/softnet_stat"), text).unwrap();
        let (mut cards, mut packets) = (Cards::default(), SoftnetLook::default());
        dev(1000);
        softnet("0000000a 00000000 00000001\n0000000a 00000000 00000000\n");
        assert!(cards.look(&source, 1_000_000_000).is_empty());
        packets.look(&source, 1_000_000_000);
        dev(3000);
        softnet("0000001a 00000002 00000001\n0000000a 00000000 00000000\n");
        let seen = cards.look(&source, 2_000_000_000);
        assert_eq!(seen.len(), 1, "idle did nothing");
        assert_eq!((seen[0].received_bytes_per_s, seen[0].sent_bytes_per_s), (1000, 0));
        assert_eq!((seen[0].speed_mbit, seen[0].mtu), (Some(25_000), 9000));
        let softnet = packets.look(&source, 1_000_000_000);
        assert_eq!((softnet.packets_per_s, softnet.dropped, softnet.squeezed), (16.0, 2, 0));
    }

    #[test]
    fn the_card_of_an_address_is_found() {
        let card = card_of("127.9.8.7".parse().unwrap()).unwrap();
        assert_eq!((&*card.name, card.speed_mbit, card.loopback), ("lo", None, true));
        assert!(card.mtu.unwrap() >= 1500);
        assert_eq!(card_of("203.0.113.77".parse().unwrap()), None);
        assert_eq!(card_of("2001:db8::77".parse().unwrap()), None);
    }

    #[test]
    fn speed_is_told_only_when_it_is_one() {
        let root = tempfile::tempdir().unwrap();
        for (name, speed, expected) in
            [("fast", "100000\n", Some(100_000)), ("tap", "-1\n", None), ("odd", "4294967295\n", None)]
        {
            let card = root.path().join("sys/class/net").join(name);
            std::fs::create_dir_all(card.join("device")).unwrap();
            std::fs::write(card.join("speed"), speed).unwrap();
            std::fs::write(card.join("mtu"), "9000\n").unwrap();
            assert_eq!(facts(&Source::below(root.path()), name), (expected, 9000), "{name}");
        }
    }
}
