//! Which paths to a cluster are checked, and how.

use std::path::PathBuf;

use super::super::input::{CheckInput, gateway};
use super::super::input_error::OptionStyle;
use super::super::request::CheckSource;
use super::*;
use crate::record_options::RecordOptions;

/// Two hosts with OSDs, of which one is down, and two gateways on one of them.
fn cluster() -> CephCluster {
    let osds = r#"{"osds": [{"osd": 0, "up": 1, "public_addr": "10.0.0.2:6800/1"}, {"osd": 1, "up": 1, "public_addr": "10.0.0.1:6800/1"},
        {"osd": 2, "up": 0, "public_addr": "10.0.0.1:6804/1"}]}"#;
    let gateway =
        |port: u16, tls: bool| ObjectGateway { address: format!("10.0.0.1:{port}").parse().unwrap(), tls };
    CephCluster {
        fsid: "f".to_owned(),
        version: "16.2.15".to_owned(),
        monitors: "[v2:10.0.0.1:3300]".to_owned(),
        osds: serde_json::from_str(osds).unwrap(),
        gateways: vec![gateway(80, false), gateway(443, true)],
    }
}

fn request(ceph: CephRequest, change: impl Fn(&mut CheckInput)) -> CheckRequest {
    let mut input = CheckInput::new(CheckSource::Ceph(ceph));
    change(&mut input);
    let scratch = PathBuf::from("/nowhere");
    input.into_request(OptionStyle::Flags, RecordOptions::default(), None, scratch).unwrap()
}

/// Labels and places of the rows.
fn rows(ceph: CephRequest, change: impl Fn(&mut CheckInput)) -> Result<Vec<(String, String)>, CheckError> {
    let (cluster, request) = (cluster(), request(ceph.clone(), change));
    let found = CephPaths::of(&request, &ceph, &cluster)?;
    let rows = found.rows(&request, &ceph, &cluster);
    assert!(rows.iter().all(|row| row.provision.is_some() && row.url.contains(PROVISIONED)));
    Ok(rows.into_iter().map(|row| (row.label(), row.place)).collect())
}

fn labels(found: Result<Vec<(String, String)>, CheckError>) -> Vec<String> {
    found.unwrap().into_iter().map(|(label, _)| label).collect()
}

#[test]
fn every_address_of_osds_and_every_gateway_is_a_row() {
    let found = rows(CephRequest::default(), |_| {}).unwrap();
    let expected = [
        ("rados 10.0.0.1", "{provisioned}"),
        ("s3 10.0.0.1", "http://10.0.0.1:80"),
        ("s3 10.0.0.1", "https://10.0.0.1:443"),
        ("rados 10.0.0.2", "{provisioned}"),
    ];
    assert_eq!(found, expected.map(|(label, place)| (label.to_owned(), place.to_owned())));
    let lines = CephPaths::of(&request(CephRequest::default(), |_| {}), &CephRequest::default(), &cluster())
        .unwrap()
        .lines;
    assert_eq!(lines[..2], ["10.0.0.1: 2 OSDs, 1 of them down", "10.0.0.2: 1 OSD"]);
}

#[test]
fn the_user_chooses_addresses_protocols_and_gateways() {
    let second = |input: &mut CheckInput| input.data_vips = vec!["10.0.0.2".parse().unwrap()];
    assert_eq!(labels(rows(CephRequest::default(), second)), ["rados 10.0.0.2"]);
    let no_rados = |input: &mut CheckInput| input.skip_rados = true;
    assert_eq!(labels(rows(CephRequest::default(), no_rados)), ["s3 10.0.0.1", "s3 10.0.0.1"]);
    let given = vec![gateway("--ceph-gateway", "http://[::1]:7480").unwrap()];
    let with_gateway = CephRequest { gateways: given, ..CephRequest::default() };
    assert_eq!(labels(rows(with_gateway, no_rados)), ["s3 ::1"]);
    let nowhere = |input: &mut CheckInput| input.data_vips = vec!["10.0.0.9".parse().unwrap()];
    let refused = rows(CephRequest::default(), nowhere).unwrap_err().to_string();
    assert!(refused.contains("10.0.0.1, 10.0.0.2") && refused.contains("next: "), "{refused}");
    let both = |input: &mut CheckInput| {
        input.data_vips = ["10.0.0.2", "10.0.0.9"].map(|ip| ip.parse().unwrap()).to_vec()
    };
    let refused = rows(CephRequest::default(), both).unwrap_err().to_string();
    assert!(refused.contains("at 10.0.0.9;"), "{refused}");
    let discard = |input: &mut CheckInput| (input.sink, input.skip_rados) = (Sink::Discard, true);
    assert!(matches!(rows(CephRequest::default(), discard), Err(CheckError::Usage(_))));
    let mut input = CheckInput::new(CheckSource::Ceph(CephRequest::default()));
    input.sink = Sink::Discard;
    let refused =
        input.into_request(OptionStyle::Flags, RecordOptions::default(), None, PathBuf::new()).unwrap_err();
    assert!(refused.to_string().contains("--skip-rados"), "{refused}");
}

#[test]
fn librados_gets_a_configuration_or_the_monitors() {
    let options = |conf: Option<&str>| {
        let (ceph, cluster) = (CephRequest::default(), cluster());
        let request = request(ceph.clone(), |input| input.rados.conf = conf.map(PathBuf::from));
        let found = CephPaths::of(&request, &ceph, &cluster).unwrap();
        found.rows(&request, &ceph, &cluster).swap_remove(0).options
    };
    let (with, without) = (options(Some("/lab/ceph.conf")), options(None));
    assert_eq!((with.get("conf").map(String::as_str), with.get("monitors")), (Some("/lab/ceph.conf"), None));
    assert_eq!((without.get("conf"), &*without["monitors"]), (None, "[v2:10.0.0.1:3300]"));
    assert_eq!(without["primary_address"], "10.0.0.1");
}

#[test]
fn every_osd_is_the_primary_of_some_placement_groups() {
    let groups = |pg_num| pool(&CephRequest { pg_num, ..CephRequest::default() }, &cluster()).pg_num;
    assert_eq!((groups(None), groups(Some(3))), (Some(32), Some(3)));
}
