//! `sim:?latency=1ms&…`: a scripted target on a virtual clock, for trying out experiments and rules.

use std::collections::BTreeMap;

use drivers::sim::{Noise, Periodic, SimConfig, SimDriver, SimLatency};
use experiment::OptionKind::{Count, Share};
use experiment::{OptionHelp, SyntaxError, TargetKind, UrlForm};
use metrics::{ErrorKind, OpKind};
use units::{ByteRate, Span};

use super::engines::{EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, ValueKind};
use super::paths::named;
use super::{OpenRequest, OpenTarget, Protocol, StageRunner, TargetError};

/// The protocol of `sim:`.
pub(super) struct Sim;

const OPTIONS: &[OptionHelp] = &[
    OptionHelp::checked(
        "latency",
        "1ms",
        "latency of every operation: 1ms, uniform 1ms 5ms or exponential 5ms",
        |text| latency(text).map(drop),
    ),
    OptionHelp::checked("bandwidth", "unlimited", "bandwidth limit of each job: 1GB/s", |text| {
        bandwidth(text).map(drop)
    }),
    OptionHelp::checked("stall", "none", "answer nothing for LENGTH every PERIOD: 1s/10s", |text| {
        stall(text).map(drop)
    }),
    OptionHelp::checked("errors", "none", "share of operations that fail: 1/1000", |text| {
        errors(text).map(drop)
    }),
    OptionHelp::checked(
        "slow",
        "none",
        "slow operations: latency, and one in how many operations of a job: 70s/1000",
        |text| slow(text).map(drop),
    ),
    OptionHelp::checked("drift", "none", "latency grows by this share each minute: 1%", |text| {
        drift(text).map(drop)
    }),
    OptionHelp::new("noise", Share, "0", "random variation of latency (relative standard deviation)"),
    OptionHelp::new("seed", Count { least: 0, most: u64::MAX }, "the experiment's", "seed of the randomness"),
];

static KIND: TargetKind = TargetKind {
    objects: true,
    ranges: true,
    imaginary: true,
    virtual_clock: true,
    ..TargetKind::new("sim", "sim:?latency=1ms", UrlForm::Bare, OpKind::ALL, OPTIONS)
};

const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        ..JobEngine::new(
            "sim",
            "sim",
            OptionSupport::Ours(
                "a target inside the program on a clock of its own; sim_url says how it answers",
            ),
            |job| EngineTarget::of_url(job.text("sim_url").unwrap_or("sim:")),
        )
    }],
    options: &[EngineOption::ours(
        &["sim"],
        "sim_url",
        ValueKind::Text,
        "how the simulated target answers, as in an experiment: sim:?latency=1ms",
    )],
};

impl Protocol for Sim {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }
}

/// A scripted target.
struct SimTarget {
    driver: SimDriver,
    /// The script as written, for the result.
    script: Vec<(String, String)>,
}

/// Lag-1 autocorrelation of the noise from second to second: strong enough to be detected, as on real systems.
const NOISE_CORRELATION: f64 = 0.5;

impl OpenTarget for SimTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let script = self.script.iter().map(|(name, value)| (&**name, value.clone()));
        named(script.chain([("clock", "virtual".to_owned())]))
    }
}

fn open(request: &OpenRequest<'_>) -> Result<SimTarget, TargetError> {
    let given = request.options;
    let usual = SimConfig::default();
    let noise = given.share("noise").filter(|deviation| *deviation > 0.0);
    let config = SimConfig {
        seed: given.number("seed").unwrap_or(request.context.seed),
        latency: request.read("latency", latency)?.unwrap_or(usual.latency.clone()),
        bytes_per_s: request.read("bandwidth", bandwidth)?,
        stall_every: request.read("stall", stall)?,
        drift_per_s: request.read("drift", drift)?.unwrap_or(0.0),
        noise: noise.map(|deviation| Noise {
            deviation,
            correlation: NOISE_CORRELATION,
            step_ns: 1_000_000_000,
        }),
        errors: request.read("errors", errors)?.into_iter().collect(),
        slow: request.read("slow", slow)?,
        ..usual
    };
    let script = given.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    Ok(SimTarget { driver: SimDriver::new(config), script })
}

/// Parses `1ms`, `uniform 1ms 5ms` or `exponential 5ms`; in URLs with `:` between the words.
fn latency(text: &str) -> Result<SimLatency, SyntaxError> {
    let form = || SyntaxError::Form("write 1ms, uniform:1ms:5ms or exponential:5ms");
    let words: Vec<&str> = text.split([':', ' ']).filter(|word| !word.is_empty()).collect();
    match *words {
        ["uniform", least, most] => {
            let (least, most) = (nanoseconds(least)?, nanoseconds(most)?);
            if least <= most { Ok(SimLatency::Uniform(least, most)) } else { Err(form()) }
        }
        ["exponential", mean] => Ok(SimLatency::Exponential(nanoseconds(mean)?)),
        [fixed] => nanoseconds(fixed).map(SimLatency::Fixed).map_err(|_| form()),
        _ => Err(form()),
    }
}

fn nanoseconds(text: &str) -> Result<u64, SyntaxError> {
    Ok(text.parse::<Span>()?.nanos())
}

fn bandwidth(text: &str) -> Result<u64, SyntaxError> {
    let rate = text.parse::<ByteRate>()?.bytes_per_second();
    if rate >= 1.0 {
        Ok(rate as u64)
    } else {
        Err(SyntaxError::Form("write a rate above zero, such as 1GB/s"))
    }
}

/// Parses `1s/10s`: no responses for the first duration in each period of the second.
fn stall(text: &str) -> Result<Periodic, SyntaxError> {
    let form = || SyntaxError::Form("write LENGTH/PERIOD, such as 1s/10s, the length being the shorter");
    let (length, period) = text.split_once('/').ok_or_else(form)?;
    let (length, period) = (nanoseconds(length)?, nanoseconds(period)?);
    if length == 0 || length >= period {
        return Err(form());
    }
    Ok(Periodic::new(length, period))
}

/// Parses `1/1000`: this many in this many operations fail.
fn errors(text: &str) -> Result<(u64, ErrorKind), SyntaxError> {
    let form = "write 1/COUNT, such as 1/1000: one operation in COUNT fails";
    let every = text.strip_prefix("1/").and_then(|count| count.trim().parse().ok());
    every
        .filter(|every| *every > 0)
        .map(|every| (every, ErrorKind::ServerFault))
        .ok_or(SyntaxError::Form(form))
}

/// Parses `70s/1000`: one in this many operations takes this long.
fn slow(text: &str) -> Result<(u64, u64), SyntaxError> {
    let form =
        || SyntaxError::Form("write LENGTH/COUNT, such as 70s/1000: one operation in COUNT takes LENGTH");
    let (length, every) = text.split_once('/').ok_or_else(form)?;
    let every = every.trim().parse().ok().filter(|every| *every > 0).ok_or_else(form)?;
    Ok((every, nanoseconds(length)?))
}

fn share(text: &str) -> Result<f64, SyntaxError> {
    Ok(text.parse::<units::Share>()?.value())
}

/// Parses `1%`: latency grows by this share of its initial value each minute; `-1%`: it shrinks.
fn drift(text: &str) -> Result<f64, SyntaxError> {
    let (sign, size) = text.strip_prefix('-').map_or((1.0, text), |size| (-1.0, size));
    Ok(sign * share(size)? / 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        assert_eq!(latency("1ms"), Ok(SimLatency::Fixed(1_000_000)));
        assert_eq!(latency("exponential:5ms"), Ok(SimLatency::Exponential(5_000_000)));
        assert_eq!(latency("uniform 1ms 5ms"), Ok(SimLatency::Uniform(1_000_000, 5_000_000)));
        assert_eq!(bandwidth("1GB/s"), Ok(1_000_000_000));
        assert_eq!(stall("1s/10s"), Ok(Periodic::new(1_000_000_000, 10_000_000_000)));
        assert_eq!(errors("1/1000"), Ok((1000, ErrorKind::ServerFault)));
        assert_eq!(slow("70s/1000"), Ok((1000, 70_000_000_000)));
        assert_eq!(drift("6%"), Ok(0.001));
        assert_eq!(drift("-6%"), Ok(-0.001));
    }

    #[test]
    fn what_cannot_be_read_says_how_to_write_it() {
        for (result, form) in [
            (latency("fast").map(drop), "exponential:5ms"),
            (latency("uniform:5ms").map(drop), "uniform:1ms:5ms"),
            (latency("uniform:5ms:1ms").map(drop), "uniform:1ms:5ms"),
            (latency("exponential").map(drop), "exponential:5ms"),
            (latency("1ms 2ms").map(drop), "uniform:1ms:5ms"),
            (bandwidth("0 MB/s").map(drop), "1GB/s"),
            (stall("1s").map(drop), "1s/10s"),
            (stall("10s/10s").map(drop), "1s/10s"),
            (errors("2/1000").map(drop), "1/1000"),
            (errors("1/0").map(drop), "1/1000"),
            (slow("70s").map(drop), "70s/1000"),
            (slow("70s/0").map(drop), "70s/1000"),
            (drift("fast").map(drop), "80%"),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(form), "{error}");
        }
    }
}
