//! The pieces: what each is called, and what was measured of it.

use stats::{Calibration, CalibrationMeasure, CalibrationUnit, Ceiling, Spread};

/// One piece of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    NullOne,
    NullAll,
    Nfs(Operation, Block),
    S3(Operation, Block),
    TcpSend(u32),
    TcpReceive(u32),
    CopyOne,
    CopyAll,
    PayloadMake,
    PayloadCompare,
    Clock,
    Timer,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Read,
    Write,
}

/// How much of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    Large,
    Small,
}

impl Block {
    /// In bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Block::Large => 1 << 20,
            Block::Small => 4 << 10,
        }
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Block::Large => ("1m", "1 MiB"),
            Block::Small => ("4k", "4 KiB"),
        }
    }

    const fn unit(self) -> CalibrationUnit {
        match self {
            Block::Large => CalibrationUnit::BytesPerS,
            Block::Small => CalibrationUnit::OpsPerS,
        }
    }
}

/// What one repetition found of a piece.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// By the clock.
    pub by_clock: f64,
    /// Per second of the client's processor time.
    pub per_cpu_second: Option<f64>,
}

impl Found {
    /// A value that has nothing to do with processor time.
    pub fn plain(by_clock: f64) -> Self {
        Self { by_clock, per_cpu_second: None }
    }

    /// So much in so many seconds by the clock and of the processors.
    pub fn rate(amount: f64, seconds: f64, cpu_seconds: f64) -> Self {
        let over = |seconds: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Self { by_clock: over(seconds), per_cpu_second: (cpu_seconds > 0.0).then(|| over(cpu_seconds)) }
    }
}

impl Piece {
    /// In machine output; the same for ever.
    pub fn name(self) -> String {
        let of = |protocol: &str, words: (&str, &str), block: Block| {
            format!("{protocol}-{}-{}", words.0, block.words().0)
        };
        match self {
            Piece::NullOne => "null-one".into(),
            Piece::NullAll => "null-all".into(),
            Piece::Nfs(operation, block) => of("nfs", nfs(operation), block),
            Piece::S3(operation, block) => of("s3", s3(operation), block),
            Piece::TcpSend(streams) => format!("tcp-send-{streams}"),
            Piece::TcpReceive(streams) => format!("tcp-receive-{streams}"),
            Piece::CopyOne => "copy-one".into(),
            Piece::CopyAll => "copy-all".into(),
            Piece::PayloadMake => "payload-make".into(),
            Piece::PayloadCompare => "payload-compare".into(),
            Piece::Clock => "clock".into(),
            Piece::Timer => "timer".into(),
        }
    }

    fn title(self) -> String {
        let streams = |what: &str, streams: u32| match streams {
            1 => format!("TCP {what}, 1 stream"),
            several => format!("TCP {what}, {several} streams"),
        };
        match self {
            Piece::NullOne => "null target, 32 in flight, one core".into(),
            Piece::NullAll => "null target, 32 in flight, every core".into(),
            Piece::Nfs(operation, block) => format!("NFS {} {}", nfs(operation).1, block.words().1),
            Piece::S3(operation, block) => format!("S3 {} {}", s3(operation).1, block.words().1),
            Piece::TcpSend(count) => streams("send", count),
            Piece::TcpReceive(count) => streams("receive", count),
            Piece::CopyOne => "memory copy, one core".into(),
            Piece::CopyAll => "memory copy, every core".into(),
            Piece::PayloadMake => "payload made, one core".into(),
            Piece::PayloadCompare => "payload compared, one core".into(),
            Piece::Clock => "reading the clock".into(),
            Piece::Timer => "a timer of 1 ms is late by".into(),
        }
    }

    fn unit(self) -> CalibrationUnit {
        match self {
            Piece::NullOne | Piece::NullAll => CalibrationUnit::OpsPerS,
            Piece::Nfs(_, block) | Piece::S3(_, block) => block.unit(),
            Piece::Clock | Piece::Timer => CalibrationUnit::Nanoseconds,
            _ => CalibrationUnit::BytesPerS,
        }
    }

    /// Protocol, operation and size, where the piece is a ceiling of one.
    fn protocol(self) -> Option<(&'static str, &'static str, u64)> {
        match self {
            Piece::Nfs(operation, block) => Some(("nfs", nfs(operation).0, block.bytes())),
            Piece::S3(operation, block) => Some(("s3", s3(operation).0, block.bytes())),
            Piece::TcpSend(streams) if streams > 1 => Some(("tcp", "send", Block::Large.bytes())),
            Piece::TcpReceive(streams) if streams > 1 => Some(("tcp", "receive", Block::Large.bytes())),
            _ => None,
        }
    }
}

/// In machine output and for people.
fn nfs(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::Read => ("read", "read"),
        Operation::Write => ("write", "write"),
    }
}

fn s3(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::Read => ("get", "GET"),
        Operation::Write => ("put", "PUT"),
    }
}

/// Puts all repetitions together.
pub fn gather(calibration: &mut Calibration, pieces: &[(Piece, Vec<Found>)]) {
    for (piece, found) in pieces {
        let by_clock: Vec<f64> = found.iter().map(|found| found.by_clock).collect();
        let per_cpu: Vec<f64> = found.iter().filter_map(|found| found.per_cpu_second).collect();
        let Some(by_clock) = Spread::of(&by_clock) else { continue };
        let per_cpu_second = Spread::of(&per_cpu);
        if let (Some((protocol, operation, block_bytes)), Some(per_core)) = (piece.protocol(), per_cpu_second)
        {
            calibration.ceilings.push(Ceiling {
                protocol: protocol.to_owned(),
                operation: operation.to_owned(),
                block_bytes,
                unit: piece.unit(),
                per_core,
                all_cores: per_core.times(f64::from(calibration.cores)),
            });
        }
        calibration.measures.push(CalibrationMeasure {
            name: piece.name(),
            title: piece.title(),
            unit: piece.unit(),
            by_clock,
            per_cpu_second,
        });
    }
}
