//! Tests against the simulated array: every version of both generations, paging, expiring sessions, trust.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use array::faults::{FaultPlan, SessionFault};
use array::{AddressConfig, Array, Config};
use provision::{
    ApiSecret, ApiVersion, Failure, Management, ManagementStep, ProvisionError, Targets, Trust, Want, Wanted,
    steps,
};
use support::Scene;

fn management(array: &Array) -> Management {
    Management {
        address: array.management_address().to_string(),
        token: ApiSecret::new(array.token().reveal()),
        trust: Trust::Fingerprint(array.fingerprint().unwrap().parse().unwrap()),
        call_timeout: Duration::from_secs(30),
    }
}

fn speaking(versions: &[&str]) -> Array {
    let mut config = Config::loopback();
    config.versions = versions.iter().map(|&version| version.to_owned()).collect();
    Array::start(config).unwrap()
}

/// Opens, lists, creates, removes and closes; afterwards the array must be as before.
fn whole_run(array: &Array) -> Targets {
    let before = array.state();
    let scene = Scene::new();
    let mut session = scene.open(&management(array)).unwrap();
    let choice = session.data_addresses().unwrap();
    let expected: Vec<_> = array.data().iter().map(|data| data.ip).collect();
    assert_eq!(choice.chosen.iter().map(|found| found.address).collect::<Vec<_>>(), expected);
    assert!(choice.chosen.iter().all(|found| found.mtu == Some(9000)), "{choice:?}");
    let targets = session.create(&Wanted::both()).unwrap();
    assert_ne!(array.state(), before);
    session.remove().unwrap();
    session.close().unwrap();
    assert_eq!(array.state(), before);
    targets
}

#[test]
fn every_version_that_has_buckets_creates_and_removes_everything() {
    let with_buckets = |text: &String| text.parse::<ApiVersion>().unwrap() >= ApiVersion::new(1, 5);
    for version in array::config::all_versions().into_iter().filter(with_buckets) {
        let targets = whole_run(&speaking(&[&version]));
        let access = targets.bucket.unwrap();
        assert_eq!(targets.export.unwrap(), format!("/{}", access.bucket));
        assert!(!access.access_key.is_empty() && !access.secret_key.is_empty(), "{version}");
    }
}

#[test]
fn the_newest_version_is_agreed_on_and_each_step_is_made_once() {
    for (versions, newest) in [(vec!["1.0", "1.12"], "1.12"), (vec!["1.12", "2.0", "2.29"], "2.29")] {
        let array = speaking(&versions);
        array.faults().set(FaultPlan::default());
        let session_version = Scene::new().open(&management(&array)).unwrap().version().to_string();
        assert_eq!(session_version, newest);
        array.faults().set(FaultPlan::default());
        whole_run(&array);
        assert_eq!(array.faults().calls_counted(), steps().len() as u64);
    }
}

#[test]
fn an_old_array_lists_addresses_and_makes_a_file_system() {
    let array = speaking(&["1.3"]);
    let before = array.state();
    let scene = Scene::new();
    let mut session = scene.open(&management(&array)).unwrap();
    assert_eq!(session.data_addresses().unwrap().chosen.len(), 2);
    session.create(&Wanted { filesystem: Some(Want::Create), bucket: None, ..Wanted::default() }).unwrap();
    let error = session
        .create(&Wanted { filesystem: None, bucket: Some(Want::Create), ..Wanted::default() })
        .unwrap_err();
    assert!(error.to_string().contains("1.5"), "{error}");
    session.remove().unwrap();
    assert_eq!(array.state(), before);
}

#[test]
fn one_address_a_subnet_and_no_disabled_one() {
    let mut config = Config::loopback();
    let mut disabled = AddressConfig::new([127, 0, 3, 1], "data5", "subnet3");
    disabled.enabled = false;
    config.data.extend([AddressConfig::new([127, 0, 1, 2], "data3", "subnet1"), disabled]);
    let array = Array::start(config).unwrap();
    let choice = Scene::new().open(&management(&array)).unwrap().data_addresses().unwrap();
    let chosen: Vec<_> = choice.chosen.iter().map(|found| found.interface.as_str()).collect();
    assert_eq!(chosen, ["data1", "data2"]);
    for expected in [
        "data3 (127.0.1.2) left out: subnet subnet1 is tested through data1",
        "data5 left out: 127.0.3.1 is disabled",
    ] {
        assert!(choice.reasons.iter().any(|reason| reason == expected), "{expected}: {:?}", choice.reasons);
    }
}

#[test]
fn listings_of_many_pages_are_read_whole() {
    // Arrays return one page at a time regardless of the request; this exceeds one page.
    let mut config = Config::loopback();
    for subnet in 0..12_u8 {
        for host in 1..=100_u8 {
            let mut address = AddressConfig::new(
                [127, 7, subnet, host],
                &format!("many{subnet}-{host:03}"),
                &format!("many{subnet:02}"),
            );
            // Listed like any other in the middle of the pages, but without a listener.
            address.enabled = false;
            config.data.push(address);
        }
    }
    config.data.rotate_left(2);
    for version in ["1.12", "2.29"] {
        let mut config = config.clone();
        config.versions = vec![version.into()];
        let array = Array::start(config).unwrap();
        array.faults().set(FaultPlan::default());
        let choice = Scene::new().open(&management(&array)).unwrap().data_addresses().unwrap();
        assert_eq!(choice.chosen.len(), 2);
        assert_eq!(choice.reasons.len(), 1202);
        assert!(array.faults().calls_counted() > 5, "one page held everything");
    }
}

#[test]
fn sessions_that_expire_after_every_call_are_renewed() {
    for version in ["1.12", "2.29"] {
        let array = speaking(&[version]);
        let session = SessionFault { expires_after_calls: Some(1), expires_after_ms: None };
        array.faults().set(FaultPlan { session, ..FaultPlan::default() });
        whole_run(&array);
        assert!(array.faults().calls_counted() > steps().len() as u64, "no session expired");
    }
}

#[test]
fn a_wrong_token_and_an_untrusted_certificate_are_told_apart() {
    let array = speaking(&["2.29"]);
    let good = management(&array);
    let error =
        Scene::new().open(&Management { token: ApiSecret::new("T-wrong"), ..good.clone() }).unwrap_err();
    assert_eq!(error.step(), Some(ManagementStep::Login));
    assert!(error.to_string().contains("check the API token"), "{error}");
    let error = Scene::new().open(&Management { trust: Trust::System, ..good }).unwrap_err();
    assert!(
        matches!(&error, ProvisionError::Call(call) if matches!(call.failure, Failure::Tls { .. })),
        "{error}"
    );
    assert!(error.to_string().contains(array.fingerprint().unwrap()), "{error}");
}

#[test]
fn a_name_that_is_taken_on_the_array_is_refused_and_stays() {
    for version in ["1.12", "2.29"] {
        let array = speaking(&[version]);
        let owner = Scene::new();
        let mut theirs = owner.open(&management(&array)).unwrap();
        theirs.create(&Wanted::both()).unwrap();
        let before = array.state();
        // The scene's run has the same id in a journal of its own.
        let scene = Scene::new();
        let mut ours = scene.open(&management(&array)).unwrap();
        let error = ours.create(&Wanted::both()).unwrap_err();
        assert!(matches!(error, ProvisionError::NotOurs { .. }), "{error}");
        ours.remove().unwrap();
        drop(ours);
        assert_eq!(array.state(), before);
    }
}

#[test]
fn an_existing_file_system_and_bucket_are_used_and_left() {
    let array = speaking(&["2.29"]);
    let owner = Scene::new();
    let mut theirs = owner.open(&management(&array)).unwrap();
    let made = theirs.create(&Wanted::both()).unwrap();
    let before = array.state();
    let directory = tempfile::tempdir().unwrap();
    let journal = provision::Journal::open(directory.path()).unwrap();
    let run = journal.begin(&provision::RunId::random()).unwrap();
    let mut ours =
        provision::ArraySession::open(&management(&array), &run, &provision::Cancel::new()).unwrap();
    let name = made.bucket.unwrap().bucket;
    let wanted = Wanted {
        filesystem: Some(Want::Existing(name.clone())),
        bucket: Some(Want::Existing(name.clone())),
        ..Wanted::default()
    };
    let targets = ours.create(&wanted).unwrap();
    assert_eq!((targets.export, targets.bucket.unwrap().bucket), (made.export, name));
    ours.remove().unwrap();
    assert_eq!(array.state(), before);
}
