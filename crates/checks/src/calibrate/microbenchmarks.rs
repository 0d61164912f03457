//! The steps of a calibration: their names and their results.

use experiment::CalibratedOp;
use stats::{Calibration, CalibrationMeasure, CalibrationUnit, Ceiling, Spread};

/// One step of a calibration: a measurement of one part of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Microbenchmark {
    /// Operations that do nothing, on one core.
    NullOne,
    /// The same on every core.
    NullAll,
    /// An operation of the protocol with this scheme, served by the simulated array.
    Served(&'static str, CalibratedOp, BlockSize),
    /// Sending over this many TCP connections.
    TcpSend(u32),
    /// Receiving over this many TCP connections.
    TcpReceive(u32),
    /// Copying memory on one core.
    CopyOne,
    /// Copying memory on every core.
    CopyAll,
    /// Generating the payload of writes.
    PayloadMake,
    /// Comparing read data with the payload.
    PayloadCompare,
    /// Reading the clock.
    Clock,
    /// Waiting for a timer.
    Timer,
}

/// Block size of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSize {
    /// 1 MiB.
    Large,
    /// 4 KiB.
    Small,
}

impl BlockSize {
    /// In bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            BlockSize::Large => 1 << 20,
            BlockSize::Small => 4 << 10,
        }
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            BlockSize::Large => ("1m", "1 MiB"),
            BlockSize::Small => ("4k", "4 KiB"),
        }
    }

    const fn unit(self) -> CalibrationUnit {
        match self {
            BlockSize::Large => CalibrationUnit::BytesPerS,
            BlockSize::Small => CalibrationUnit::OpsPerS,
        }
    }
}

/// Result of one repetition of a step.
#[derive(Clone, Copy, Debug)]
pub struct RepetitionResult {
    /// By wall-clock time.
    pub by_clock: f64,
    /// Per second of the client's processor time.
    pub per_cpu_second: Option<f64>,
}

impl RepetitionResult {
    /// A value unrelated to processor time.
    pub fn plain(by_clock: f64) -> Self {
        Self { by_clock, per_cpu_second: None }
    }

    /// A rate: this amount over seconds of wall-clock time and of processor time.
    pub fn rate(amount: f64, seconds: f64, cpu_seconds: f64) -> Self {
        let over = |seconds: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Self { by_clock: over(seconds), per_cpu_second: (cpu_seconds > 0.0).then(|| over(cpu_seconds)) }
    }
}

impl Microbenchmark {
    /// Name in machine-readable output; it never changes.
    pub fn name(self) -> String {
        match self {
            Microbenchmark::NullOne => "null-one".into(),
            Microbenchmark::NullAll => "null-all".into(),
            Microbenchmark::Served(scheme, op, block) => format!("{scheme}-{}-{}", op.name, block.words().0),
            Microbenchmark::TcpSend(streams) => format!("tcp-send-{streams}"),
            Microbenchmark::TcpReceive(streams) => format!("tcp-receive-{streams}"),
            Microbenchmark::CopyOne => "copy-one".into(),
            Microbenchmark::CopyAll => "copy-all".into(),
            Microbenchmark::PayloadMake => "payload-make".into(),
            Microbenchmark::PayloadCompare => "payload-compare".into(),
            Microbenchmark::Clock => "clock".into(),
            Microbenchmark::Timer => "timer".into(),
        }
    }

    /// All steps measured together with it, itself first: sending and receiving are one stream.
    pub fn all_of_step(self) -> Vec<Self> {
        match self {
            Microbenchmark::TcpSend(streams) | Microbenchmark::TcpReceive(streams) => {
                vec![Microbenchmark::TcpSend(streams), Microbenchmark::TcpReceive(streams)]
            }
            one => vec![one],
        }
    }

    fn title(self) -> String {
        let streams = |what: &str, streams: u32| match streams {
            1 => format!("TCP {what}, 1 stream"),
            several => format!("TCP {what}, {several} streams"),
        };
        match self {
            Microbenchmark::NullOne => "null target, 32 in flight, one core".into(),
            Microbenchmark::NullAll => "null target, 32 in flight, every core".into(),
            Microbenchmark::Served(_, op, block) => format!("{} {}", op.title, block.words().1),
            Microbenchmark::TcpSend(count) => streams("send", count),
            Microbenchmark::TcpReceive(count) => streams("receive", count),
            Microbenchmark::CopyOne => "memory copy, one core".into(),
            Microbenchmark::CopyAll => "memory copy, every core".into(),
            Microbenchmark::PayloadMake => "payload made, one core".into(),
            Microbenchmark::PayloadCompare => "payload compared, one core".into(),
            Microbenchmark::Clock => "reading the clock".into(),
            Microbenchmark::Timer => "a timer of 1 ms is late by".into(),
        }
    }

    fn unit(self) -> CalibrationUnit {
        match self {
            Microbenchmark::NullOne | Microbenchmark::NullAll => CalibrationUnit::OpsPerS,
            Microbenchmark::Served(_, _, block) => block.unit(),
            Microbenchmark::Clock | Microbenchmark::Timer => CalibrationUnit::Nanoseconds,
            _ => CalibrationUnit::BytesPerS,
        }
    }

    /// Protocol, operation and size, if the step measures a protocol's ceiling.
    fn protocol(self) -> Option<(&'static str, &'static str, u64)> {
        match self {
            Microbenchmark::Served(scheme, op, block) => Some((scheme, op.name, block.bytes())),
            Microbenchmark::TcpSend(streams) if streams > 1 => {
                Some(("tcp", "send", BlockSize::Large.bytes()))
            }
            Microbenchmark::TcpReceive(streams) if streams > 1 => {
                Some(("tcp", "receive", BlockSize::Large.bytes()))
            }
            _ => None,
        }
    }
}

/// Combines all repetitions.
pub fn gather(calibration: &mut Calibration, steps: &[(Microbenchmark, Vec<RepetitionResult>)]) {
    for (step, found) in steps {
        let by_clock: Vec<f64> = found.iter().map(|found| found.by_clock).collect();
        let per_cpu: Vec<f64> = found.iter().filter_map(|found| found.per_cpu_second).collect();
        let Some(by_clock) = Spread::of(&by_clock) else { continue };
        let per_cpu_second = Spread::of(&per_cpu);
        if let (Some((protocol, operation, block_bytes)), Some(per_core)) = (step.protocol(), per_cpu_second)
        {
            calibration.ceilings.push(Ceiling {
                protocol: protocol.to_owned(),
                operation: operation.to_owned(),
                block_bytes,
                unit: step.unit(),
                per_core,
                all_cores: per_core.times(f64::from(calibration.cores)),
            });
        }
        calibration.measures.push(CalibrationMeasure {
            name: step.name(),
            title: step.title(),
            unit: step.unit(),
            by_clock,
            per_cpu_second,
        });
    }
}
