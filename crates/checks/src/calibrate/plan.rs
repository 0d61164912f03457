//! The loads of a calibration as cells, as an experiment file would say them.

use experiment::{CalibratedOp, Cell, ErrorPolicy, Settings, SourceText, Target};
use targets::CheckTraits;

use super::microbenchmarks::{BlockSize, Microbenchmark};
use crate::error::CheckError;

/// The experiment's name.
const NAME: &str = "calibrate";
/// Files that are read and written are so large, in bytes.
const FILE: u64 = 2 << 20;
/// Files for each worker.
const FILES: u32 = 32;
/// Objects of 1 MiB for each worker.
const LARGE_OBJECTS: u32 = 32;
/// Objects of 4 KiB, over all lanes.
const SMALL_OBJECTS: u32 = 4096;
/// Operations in flight of a worker that moves large blocks.
const LARGE_LANES: u32 = 8;
/// And of one that moves small blocks, or none.
const SMALL_LANES: u32 = 32;
/// The longest that an operation may take, in seconds.
const OP_TIMEOUT_S: f64 = 30.0;
/// Bytes of one block on a TCP connection.
const TCP_BLOCK: u64 = 256 << 10;

/// The load on the null target.
///
/// # Errors
/// The text of the plan is not understood, which is a defect.
pub fn null(step: Microbenchmark, workers: u32) -> Result<Cell, CheckError> {
    let block = BlockSize::Small.bytes();
    cell(
        &step.name(),
        "{url: 'null:'}",
        &format!("ops: read, access: sequential, block_size: {block}, file_size: {block}"),
        (workers, SMALL_LANES),
    )
}

/// The load by an operation of a protocol, on a target of this URL and with these options.
///
/// # Errors
/// As [`null`].
pub fn served(
    protocol: &CheckTraits,
    target: &Target,
    (calibrated, block): (CalibratedOp, BlockSize),
    workers: u32,
) -> Result<Cell, CheckError> {
    let op = calibrated.op;
    let small = block == BlockSize::Small;
    let data = if op.is_whole() {
        let objects = if small { SMALL_OBJECTS } else { workers * LARGE_OBJECTS };
        format!("access: sequential, object_size: {}, objects: {objects}", block.bytes())
    } else {
        let access = if small { "random" } else { "sequential" };
        let (block, files) = (block.bytes(), workers * FILES);
        format!("access: {access}, block_size: {block}, file_size: {FILE}, files: {files}")
    };
    let mut cell = cell(
        &Microbenchmark::Served(protocol.kind.scheme, calibrated, block).name(),
        &format!("{{url: '{}'}}", protocol.kind.example),
        &format!("ops: {}, {data}", op.name()),
        (workers, if small { SMALL_LANES } else { LARGE_LANES }),
    )?;
    cell.target = target.clone();
    Ok(cell)
}

/// The loads of the side that sends over TCP, and of the one that receives; `listen`: where that listens.
///
/// # Errors
/// As [`null`].
pub fn tcp(listen: std::net::SocketAddr, streams: u32, most_workers: u32) -> Result<[Cell; 2], CheckError> {
    let divides = |workers: &u32| streams.is_multiple_of(*workers);
    let workers = (1..=most_workers.min(streams)).rev().find(divides).unwrap_or(1);
    let lanes = streams / workers;
    let side = |op: &str, options: &str| {
        cell(
            &format!("tcp-{op}-{streams}"),
            &format!("{{url: 'tcp://{listen}', connections: {lanes}, {options}}}"),
            &format!("ops: {op}, block_size: {TCP_BLOCK}"),
            (workers, lanes),
        )
    };
    Ok([side("write", "repeat: true")?, side("read", "listen: true")?])
}

/// A cell of a plan with one workload on one target.
fn cell(name: &str, target: &str, load: &str, (workers, lanes): (u32, u32)) -> Result<Cell, CheckError> {
    let text = format!(
        "name: {NAME}\nstages: {{prepare: fill, measure: 1s}}\nsteady: none\n\
         targets: {{target: {target}}}\n\
         workloads: {{{name}: {{{load}, jobs: {workers}, queue_depth: {lanes}}}}}\n"
    );
    let source = SourceText { file: NAME, text: &text };
    let plan = experiment::parse(&source, &Settings::of(targets::kinds()))
        .map_err(|faults| CheckError::failure(format!("{faults}").replace('\n', " ")))?;
    let first = plan.cells.into_iter().next();
    let mut cell =
        first.ok_or_else(|| CheckError::failure("a calibration's plan has no cell; this is a defect"))?;
    // What failed is told when the step is over, with how often it did.
    cell.errors = ErrorPolicy::Continue;
    cell.workload.op_timeout_s = OP_TIMEOUT_S;
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use experiment::Access;

    use super::*;
    use crate::calibrate::served;

    #[test]
    fn every_piece_is_a_cell_and_those_of_files_read_the_same_data() {
        let target = Target { name: "x".into(), url: "x://y".into(), options: Default::default() };
        for workers in [1, 3, 16] {
            let mut seen = Vec::new();
            for protocol in served::protocols() {
                for op in protocol.kind.calibrated {
                    for block in [BlockSize::Large, BlockSize::Small] {
                        let cell = served(protocol, &target, (*op, block), workers).unwrap();
                        let load = &cell.workload;
                        assert_eq!((&*cell.target.url, load.jobs), ("x://y", workers));
                        assert_eq!((load.ops.len(), load.ops[0].op), (1, op.op));
                        assert!(!load.verifies() && cell.errors == ErrorPolicy::Continue);
                        let small = block == BlockSize::Small;
                        assert_eq!(load.queue_depth, if small { 32 } else { 8 });
                        assert_eq!(load.op_timeout_s, 30.0);
                        let random = load.access() == Access::Random;
                        assert_eq!(random, small && !op.op.is_whole());
                        let size = load.block_sizes().first().map(|size| size.bytes);
                        let size = if op.op.is_whole() { load.file_bytes() } else { size.unwrap() };
                        assert_eq!(size, block.bytes());
                        seen.push((cell.name.clone(), load.files(), load.file_bytes()));
                    }
                }
            }
            let many = u64::from(workers) * 32;
            let data = |name: &str| seen.iter().find(|(other, ..)| other.contains(name)).unwrap();
            for name in ["nfs-read-1m", "nfs-read-4k", "nfs-write-1m", "nfs-write-4k"] {
                assert_eq!((data(name).1, data(name).2), (many, 2 << 20), "{name}");
            }
            assert_eq!((data("s3-get-1m").1, data("s3-get-1m").2), (many, 1 << 20));
            assert_eq!((data("s3-put-4k").1, data("s3-put-4k").2), (4096, 4096));
            let cell = null(Microbenchmark::NullAll, workers).unwrap();
            assert_eq!((cell.workload.jobs, cell.workload.queue_depth), (workers, 32));
        }
    }

    #[test]
    fn all_streams_are_there_however_many_workers_share_them() {
        let listen = "127.1.2.3:9000".parse().unwrap();
        for (streams, most, workers, lanes) in
            [(1, 16, 1, 1), (8, 1, 1, 8), (8, 3, 2, 4), (8, 5, 4, 2), (8, 16, 8, 1)]
        {
            let [send, receive] = tcp(listen, streams, most).unwrap();
            for cell in [&send, &receive] {
                assert_eq!((cell.workload.jobs, cell.workload.queue_depth), (workers, lanes), "{most}");
                assert_eq!(cell.target.url, "tcp://127.1.2.3:9000");
                assert_eq!(cell.target.option("connections"), Some(&*lanes.to_string()));
                assert_eq!(cell.workload.block_sizes()[0].bytes, 256 << 10);
            }
            assert_eq!((send.target.option("repeat"), send.target.option("listen")), (Some("true"), None));
            assert_eq!(receive.target.option("listen"), Some("true"));
        }
    }
}
