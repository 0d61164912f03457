//! Faults on the path between an S3 client and the array.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use array::Config;
use array::faults::{DataProtocol, FaultPlan, LatencyDistribution, PathRule, Unreachable};
use reactor::clock;

use super::http::{PATIENCE, send};
use super::{Stage, sign};

const MIB: usize = 1 << 20;

fn plan(rule: PathRule) -> FaultPlan {
    FaultPlan { paths: vec![PathRule { protocol: Some(DataProtocol::S3), ..rule }], ..FaultPlan::default() }
}

fn unreachable(stage: &Stage, how: Unreachable) -> FaultPlan {
    let address = Some(stage.address(1).ip());
    plan(PathRule { address, unreachable: Some(how), ..PathRule::default() })
}

/// Outcome of connecting to the second address within a fifth of a second: an error, or silence afterwards.
fn knock(stage: &Stage) -> Result<(), ErrorKind> {
    let patience = Duration::from_millis(200);
    let mut stream = TcpStream::connect_timeout(&stage.address(1), patience).map_err(|error| error.kind())?;
    stream.set_read_timeout(Some(patience)).unwrap();
    let to = stage.address(1);
    let signed = sign(to, &stage.key, "HEAD", "/bucket");
    let headers: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    send(&mut stream, "HEAD", "/bucket", &headers, b"").map_err(|error| error.kind())?;
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(1) => Ok(()),
        Ok(_) => Err(ErrorKind::UnexpectedEof),
        Err(error) => Err(error.kind()),
    }
}

#[test]
fn an_address_can_vanish_refuse_stall_and_come_back() {
    let stage = Stage::new(Config::loopback());
    let becomes = |wanted: Result<(), ErrorKind>| {
        let found = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            knock(&stage) == wanted
        });
        assert!(found, "{wanted:?}");
        // The other address is not affected.
        assert_eq!(stage.s3("HEAD", "/bucket", b"").status, 200);
    };
    becomes(Ok(()));
    stage.array.faults().set(unreachable(&stage, Unreachable::Drop));
    becomes(Err(ErrorKind::TimedOut));
    stage.array.faults().set(unreachable(&stage, Unreachable::Refuse));
    becomes(Err(ErrorKind::ConnectionRefused));
    stage.array.faults().set(unreachable(&stage, Unreachable::Stall));
    becomes(Err(ErrorKind::WouldBlock));
    stage.array.faults().set(FaultPlan::default());
    becomes(Ok(()));
}

#[test]
fn an_address_that_drops_from_the_start_never_answers() {
    let mut config = Config::loopback();
    config.faults.add_flag("127.0.2.1/s3=drop").unwrap();
    let stage = Stage::new(config);
    for _ in 0..3 {
        assert_eq!(knock(&stage), Err(ErrorKind::TimedOut));
    }
}

#[test]
fn answers_come_after_the_latency_and_never_before() {
    let stage = Stage::new(Config::loopback());
    stage.s3("PUT", "/bucket/a", &vec![1; MIB]);
    let latency = Some(LatencyDistribution::Fixed(Duration::from_millis(30)));
    stage.array.faults().set(plan(PathRule { latency, ..PathRule::default() }));
    for (method, body) in [("GET", vec![]), ("PUT", vec![2; MIB]), ("HEAD", vec![])] {
        let mut taken: Vec<u64> = (0..9)
            .map(|_| {
                let start = clock::now_ns();
                assert_eq!(stage.s3(method, "/bucket/a", &body).status, 200);
                (clock::now_ns() - start) / 1000
            })
            .collect();
        taken.sort_unstable();
        assert!(taken[0] >= 30_000, "{method} after {} us", taken[0]);
    }
}

#[test]
fn payload_flows_at_the_bandwidth_in_each_direction() {
    let stage = Stage::new(Config::loopback());
    let rate = 40_000_000;
    stage.array.faults().set(plan(PathRule { bandwidth_bytes_per_s: Some(rate), ..PathRule::default() }));
    let body = vec![7; 4 * MIB];
    let least_ns = 4 * MIB as u64 * 1_000_000_000 / rate;
    let start = clock::now_ns();
    assert_eq!(stage.s3("PUT", "/bucket/a", &body).status, 200);
    let put = clock::now_ns() - start;
    let start = clock::now_ns();
    assert!(stage.s3("GET", "/bucket/a", b"").body == body);
    let get = clock::now_ns() - start;
    assert!(put >= least_ns && get >= least_ns, "{put} and {get} ns, at least {least_ns} ns");
}

#[test]
fn errors_and_resets_strike() {
    let stage = Stage::new(Config::loopback());
    stage.s3("PUT", "/bucket/a", &vec![1; MIB]);
    stage.array.faults().set(plan(PathRule { error_share: Some(1.0), ..PathRule::default() }));
    let failed = stage.s3("PUT", "/bucket/b", &vec![1; MIB]);
    assert_eq!(failed.status, 503);
    assert!(failed.text().contains("<Code>SlowDown</Code>"));

    stage.array.faults().set(plan(PathRule { reset_share: Some(1.0), ..PathRule::default() }));
    let put = stage.try_s3(0, &stage.key, "PUT", "/bucket/b", &vec![1; MIB]).unwrap_err();
    assert_eq!(put.kind(), ErrorKind::ConnectionReset, "{put}");
    // A GET is truncated in the middle of its body.
    let to = stage.address(0);
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let signed = sign(to, &stage.key, "GET", "/bucket/a");
    let headers: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, value.as_str())).collect();
    send(&mut stream, "GET", "/bucket/a", &headers, b"").unwrap();
    let mut got = Vec::new();
    let end = stream.read_to_end(&mut got).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::ConnectionReset, "{end}");
    assert!(got.starts_with(b"HTTP/1.1 200 OK") && got.len() < MIB, "{} bytes", got.len());

    stage.array.faults().set(FaultPlan::default());
    assert_eq!(stage.s3("GET", "/bucket/b", b"").status, 404, "what failed had no effect");
}
