//! Paths of connections, and how they are written.

use std::collections::BTreeMap;

use super::*;

fn some(count: u8) -> Vec<SourceAddress> {
    let source =
        |last| SourceAddress { address: IpAddr::from([127, 0, 0, last]), device: None, unbound: None };
    (1..=count).map(source).collect()
}

#[test]
fn every_pair_gets_its_share() {
    for (sources, addresses) in [(1, 1), (2, 2), (2, 4), (4, 2), (3, 2), (6, 4), (1, 5), (0, 3)] {
        let paths = Paths { sources: some(sources), pairing: Pairing::Every };
        let count = paths.count(addresses);
        assert_eq!(count, sources.max(1) as usize * addresses);
        let mut pairs: BTreeMap<(Option<IpAddr>, usize), u32> = BTreeMap::new();
        for number in 0..3 * count as u64 {
            let (source, address) = paths.of(number, addresses);
            *pairs.entry((source.map(|source| source.address), address)).or_default() += 1;
        }
        assert_eq!(pairs.len(), count, "{sources} by {addresses}");
        assert!(pairs.values().all(|uses| *uses == 3), "{sources} by {addresses}: {pairs:?}");
        // Few connections use as many sources and addresses as they can.
        let few: Vec<_> = (0..2).map(|number| paths.of(number, addresses)).collect();
        assert!(few[0].1 != few[1].1 || addresses == 1);
        assert!(few[0].0 != few[1].0 || sources < 2);
    }
}

#[test]
fn rails_keep_to_themselves() {
    let paths = Paths { sources: some(2), pairing: Pairing::InTurn };
    assert_eq!((paths.count(2), paths.count(4)), (2, 4));
    for number in 0..16 {
        let (source, address) = paths.of(number, 4);
        assert_eq!(source.unwrap().address, paths.sources[address % 2].address);
    }
}

#[test]
fn too_few_connections_are_told() {
    let paths = Paths { sources: some(2), pairing: Pairing::Every };
    assert_eq!(paths.shortage(2, 4), None);
    assert!(paths.shortage(2, 3).unwrap().starts_with("3 connections use 3 of 4 paths only"));
    assert_eq!(paths.describe(2, 6).unwrap(), "4 (2 by 2), 6 connections, 1 or 2 on each");
    assert_eq!(Paths::default().describe(1, 6), None);
}

#[test]
fn addresses_of_servers_are_read() {
    let read = addresses("10.0.0.1, 10.0.0.2:2050").unwrap();
    assert_eq!(read.iter().map(|address| address.port).collect::<Vec<_>>(), [None, Some(2050)]);
    assert_eq!(addresses("[2001:db8::1]:80,2001:db8::2,[2001:db8::3]").unwrap().len(), 3);
    for (text, problem) in [
        ("", "\"\" is no address"),
        ("host", "\"host\" is no address"),
        ("10.0.0.1:0", "\"10.0.0.1:0\" is no address"),
        ("10.0.0.1,10.0.0.1", "10.0.0.1 stands there twice"),
        ("10.0.0.1,::1", "10.0.0.1 and ::1: IPv4 and IPv6 do not mix"),
    ] {
        let error = addresses(text).unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

#[test]
fn sources_are_read() {
    let remote: [IpAddr; 1] = ["127.0.0.1".parse().unwrap()];
    let both = sources("127.0.0.2, lo", &remote).unwrap();
    assert_eq!(both[0].address, IpAddr::from([127, 0, 0, 2]));
    assert_eq!(both[1].address, IpAddr::from([127, 0, 0, 1]));
    assert_eq!(both[1].device.is_some(), both[1].unbound.is_none());
    for (text, problem) in [
        ("192.0.2.1", "192.0.2.1 is no address of this machine"),
        (
            "no-such-0",
            "\"no-such-0\" is neither an address nor a network interface of this machine; there are",
        ),
        ("::1", "::1 is of IPv6, and the server's addresses are of IPv4"),
        ("127.0.0.2,127.0.0.2", "127.0.0.2 stands there twice"),
        ("", "\"\" is neither"),
    ] {
        let error = sources(text, &remote).unwrap_err().to_string();
        assert!(error.starts_with(problem) && !error.contains('\n'), "{error}");
    }
    let mixed: [IpAddr; 2] = [remote[0], "::1".parse().unwrap()];
    assert!(sources("lo", &mixed).unwrap_err().to_string().contains("IPv4 and IPv6 do not mix"));
}
