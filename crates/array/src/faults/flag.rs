//! Faults on the command line: `WHERE=WHAT[,WHAT…]`.
//!
//! ```text
//! 127.0.2.1/s3=drop                    an address and protocol that drop packets
//! 127.0.2.1=refuse                     both protocols of an address
//! */nfs=latency:20ms,bandwidth:1GB/s   one protocol of all addresses
//! 127.0.1.1=errors:1%,resets:0.1%
//! */nfs=lost-renames:1%,stale-reads:1%  acknowledged but not done; old content
//! disk=full
//! management=fail@5                    the 5th call fails
//! management=do-then-hang@1 POST /api/*/buckets
//! session=calls:5                      sessions end after 5 calls
//! session=time:2s
//! ```

use units::{ByteRate, ParseError, Share, Span};

use super::latency::LatencyError;
use super::plan::{DataProtocol, FaultPlan, Match, PathRule, StepAction, StepRule, Unreachable};

/// An invalid `--fault`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault {flag:?}: {problem}")]
pub struct FlagError {
    flag: String,
    problem: FlagProblem,
}

/// What is wrong with a flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum FlagProblem {
    #[error("write WHERE=WHAT, for example 127.0.2.1/s3=drop")]
    Form,
    #[error("the only fault of `disk` is `full`")]
    Disk,
    #[error("write session=calls:5 or session=time:2s")]
    Session,
    #[error("{0:?} is not a number of calls")]
    Calls(String),
    #[error("{0:?} is not an address, `*`, `disk`, `management` or `session`")]
    Place(String),
    #[error("{0:?} is not a protocol; write nfs or s3")]
    Protocol(String),
    #[error(
        "{0:?} is none of drop, refuse, stall, latency:…, bandwidth:…, errors:…, resets:…, lost-renames:…, stale-reads:…"
    )]
    Path(String),
    #[error("the bandwidth must be at least one byte per second")]
    NoBandwidth,
    #[error("{0:?} is not the number of a call")]
    Call(String),
    #[error("{0:?} is none of fail, hang, close, do-then-fail, do-then-hang, do-then-close")]
    Step(String),
    #[error(transparent)]
    Latency(#[from] LatencyError),
    #[error(transparent)]
    Quantity(#[from] ParseError),
}

impl FaultPlan {
    /// Adds the faults given by one flag.
    ///
    /// # Errors
    /// The text does not match the grammar of this module; the message says where.
    pub fn add_flag(&mut self, flag: &str) -> Result<(), FlagError> {
        self.try_add(flag).map_err(|problem| FlagError { flag: flag.to_owned(), problem })
    }

    fn try_add(&mut self, flag: &str) -> Result<(), FlagProblem> {
        let (place, what) = flag.split_once('=').ok_or(FlagProblem::Form)?;
        match place {
            "disk" if what == "full" => self.full_disk = true,
            "disk" => return Err(FlagProblem::Disk),
            "management" => self.management.push(step(what)?),
            "session" => self.add_session(what)?,
            place => self.paths.push(path(place, what)?),
        }
        Ok(())
    }

    fn add_session(&mut self, what: &str) -> Result<(), FlagProblem> {
        match what.split_once(':') {
            Some(("calls", count)) => {
                let count = count.parse().map_err(|_| FlagProblem::Calls(count.to_owned()))?;
                self.session.expires_after_calls = Some(count);
            }
            Some(("time", time)) => {
                let time: Span = time.parse()?;
                self.session.expires_after_ms = Some(time.nanos() / 1_000_000);
            }
            _ => return Err(FlagProblem::Session),
        }
        Ok(())
    }
}

fn path(place: &str, what: &str) -> Result<PathRule, FlagProblem> {
    let (address, protocol) = match place.split_once('/') {
        Some((address, protocol)) => (address, Some(protocol)),
        None => (place, None),
    };
    let address = match address {
        "*" => None,
        address => Some(address.parse().map_err(|_| FlagProblem::Place(address.to_owned()))?),
    };
    let protocol = match protocol {
        None | Some("*") => None,
        Some("nfs") => Some(DataProtocol::Nfs),
        Some("s3") => Some(DataProtocol::S3),
        Some(other) => return Err(FlagProblem::Protocol(other.to_owned())),
    };
    let mut rule = PathRule { address, protocol, ..PathRule::default() };
    for item in what.split(',') {
        match item.split_once(':') {
            None => {
                rule.unreachable = Some(match item {
                    "drop" => Unreachable::Drop,
                    "refuse" => Unreachable::Refuse,
                    "stall" => Unreachable::Stall,
                    other => return Err(FlagProblem::Path(other.to_owned())),
                });
            }
            Some(("latency", value)) => rule.latency = Some(value.parse()?),
            Some(("bandwidth", value)) => {
                let rate: ByteRate = value.parse()?;
                if rate.bytes_per_second() < 1.0 {
                    return Err(FlagProblem::NoBandwidth);
                }
                rule.bandwidth_bytes_per_s = Some(rate.bytes_per_second() as u64);
            }
            Some(("errors", value)) => rule.error_share = Some(share(value)?),
            Some(("resets", value)) => rule.reset_share = Some(share(value)?),
            Some(("lost-renames", value)) => rule.lost_rename_share = Some(share(value)?),
            Some(("stale-reads", value)) => rule.stale_read_share = Some(share(value)?),
            Some(_) => return Err(FlagProblem::Path(item.to_owned())),
        }
    }
    Ok(rule)
}

fn share(value: &str) -> Result<f64, FlagProblem> {
    Ok(value.parse::<Share>()?.value())
}

fn step(what: &str) -> Result<StepRule, FlagProblem> {
    let mut words = what.split_whitespace();
    let head = words.next().unwrap_or_default();
    let (action, at) = match head.split_once('@') {
        Some((action, at)) => {
            let at = at.parse().map_err(|_| FlagProblem::Call(at.to_owned()))?;
            (action, Some(at))
        }
        None => (head, None),
    };
    let then = match action {
        "fail" => StepAction::Fail,
        "hang" => StepAction::Hang,
        "close" => StepAction::Close,
        "do-then-fail" => StepAction::DoThenFail,
        "do-then-hang" => StepAction::DoThenHang,
        "do-then-close" => StepAction::DoThenClose,
        other => return Err(FlagProblem::Step(other.to_owned())),
    };
    let mut calls = Match::default();
    for word in words {
        if word.starts_with(['/', '*']) {
            calls.path = Some(word.into());
        } else {
            calls.method = Some(word.into());
        }
    }
    Ok(StepRule { calls, at, then, status: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(flags: &[&str]) -> FaultPlan {
        let mut plan = FaultPlan::default();
        flags.iter().for_each(|flag| plan.add_flag(flag).unwrap());
        plan
    }

    #[test]
    fn flags_add_up_and_survive_the_file_format() {
        let plan = plan(&[
            "127.0.2.1/s3=drop",
            "*/nfs=latency:20ms,bandwidth:1GB/s",
            "127.0.1.1=errors:1%,resets:0.5%",
            "*/nfs=lost-renames:2%,stale-reads:3%",
            "disk=full",
            "management=fail@5",
            "management=do-then-hang@1 POST /api/*/buckets",
            "session=calls:5",
            "session=time:2s",
        ]);
        let nfs = plan.path("127.0.1.1".parse().unwrap(), DataProtocol::Nfs);
        assert_eq!(nfs.bandwidth_bytes_per_s, Some(1_000_000_000));
        assert_eq!(nfs.latency.unwrap().to_string(), "20ms");
        assert!((nfs.error_share - 0.01).abs() < 1e-12 && (nfs.reset_share - 0.005).abs() < 1e-12);
        assert!((nfs.lost_rename_share - 0.02).abs() < 1e-12 && (nfs.stale_read_share - 0.03).abs() < 1e-12);
        let s3 = plan.path("127.0.2.1".parse().unwrap(), DataProtocol::S3);
        assert_eq!(s3.unreachable, Some(Unreachable::Drop));
        assert_eq!(s3.latency, None);
        assert!(plan.full_disk);
        assert_eq!(plan.management[1].then, StepAction::DoThenHang);
        assert_eq!(plan.session.expires_after_ms, Some(2000));

        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<FaultPlan>(&json).unwrap(), plan);
    }

    #[test]
    fn a_wrong_flag_says_what_is_wrong() {
        for (flag, word) in [
            ("drop", "WHERE=WHAT"),
            ("nowhere=drop", "not an address"),
            ("127.0.0.1/smb=drop", "not a protocol"),
            ("127.0.0.1=explode", "none of drop"),
            ("127.0.0.1=latency:soon", "latency"),
            ("127.0.0.1=bandwidth:0B/s", "at least one byte"),
            ("management=dance@1", "none of fail"),
            ("management=fail@x", "number of a call"),
            ("disk=empty", "full"),
            ("session=x", "session=calls"),
        ] {
            let error = FaultPlan::default().add_flag(flag).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(flag), "{flag}: {error}");
        }
    }
}
