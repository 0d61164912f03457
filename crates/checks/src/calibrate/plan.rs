//! The loads of a calibration as cells, as an experiment file would describe them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use experiment::{CalibratedOp, Cell, ErrorPolicy, Plan, Settings, SourceText, Target};
use targets::{CheckTarget, CheckTraits};

use super::microbenchmarks::{BlockSize, Microbenchmark};
use super::{CalibrateRequest, WARM_UP, served as on_array};
use crate::error::CheckError;

/// The experiment's name.
const NAME: &str = "calibrate";
/// Size of the files that are read and written, in bytes.
const FILE: u64 = 2 << 20;
/// Files per worker.
const FILES: u32 = 32;
/// Objects of 1 MiB per worker.
const LARGE_OBJECTS: u32 = 32;
/// Objects of 4 KiB, over all lanes.
const SMALL_OBJECTS: u32 = 4096;
/// Operations in flight of a worker with large blocks.
const LARGE_LANES: u32 = 8;
/// Operations in flight of a worker with small blocks, or with no data.
const SMALL_LANES: u32 = 32;
/// Timeout of an operation, in seconds.
const OP_TIMEOUT_S: f64 = 30.0;
/// Bytes of one block on a TCP connection.
const TCP_BLOCK: u64 = 256 << 10;

/// Address of the simulated array and the streams in the plan. The real addresses and ports are free ones in
/// 127.0.0.0/8, different each time so that concurrent calibrations do not collide; they do not matter later.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// All loads of a calibration, one cell each. Steps without a target have none.
///
/// # Errors
/// As [`null`].
pub fn of_calibration(request: &CalibrateRequest, cores: u32, clients: u32) -> Result<Plan, CheckError> {
    let (mut plan, _) = parsed(NAME, "{url: 'null:'}", "ops: read, file_size: 4096", (1, 1))?;
    plan.cells.clear();
    plan.description = Some("the most that this host can drive: loads on local targets".to_owned());
    for step in super::steps().into_iter().flat_map(Microbenchmark::all_of_step) {
        let Some(mut cell) = planned(step, cores, clients)? else { continue };
        cell.index = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
        cell.name = step.name();
        cell.workload_name = step.name();
        cell.stages.warm_up_s = request.seconds * WARM_UP;
        cell.stages.measure_at_least_s = request.seconds * f64::from(request.repetitions);
        cell.stages.measure_at_most_s = cell.stages.measure_at_least_s;
        plan.cells.push(cell);
    }
    Ok(plan)
}

fn planned(step: Microbenchmark, cores: u32, clients: u32) -> Result<Option<Cell>, CheckError> {
    let stream = |streams, side: usize| {
        let [send, receive] = tcp((LOOPBACK, 9).into(), streams, clients)?;
        let mut cell = if side == 0 { send } else { receive };
        cell.target.name = "tcp".to_owned();
        Ok::<_, CheckError>(cell)
    };
    let cell = match step {
        Microbenchmark::NullOne => null(step, 1)?,
        Microbenchmark::NullAll => null(step, cores)?,
        Microbenchmark::Served(scheme, op, block) => {
            let found = on_array::protocols().find(|protocol| protocol.kind.scheme == scheme);
            let Some(protocol) = found else { return Ok(None) };
            let target = CheckTarget {
                host: LOOPBACK.to_string(),
                port: None,
                tls: false,
                name: NAME.to_owned(),
                options: BTreeMap::new(),
            };
            let (url, options) = protocol.through(&target, LOOPBACK, &BTreeMap::new());
            served(protocol, &Target::new(scheme, url, options), (op, block), clients)?
        }
        Microbenchmark::TcpSend(streams) => stream(streams, 0)?,
        Microbenchmark::TcpReceive(streams) => stream(streams, 1)?,
        Microbenchmark::CopyOne
        | Microbenchmark::CopyAll
        | Microbenchmark::PayloadMake
        | Microbenchmark::PayloadCompare
        | Microbenchmark::Clock
        | Microbenchmark::Timer => return Ok(None),
    };
    Ok(Some(cell))
}

/// The load on the null target.
///
/// # Errors
/// The plan's text does not parse, which is a defect.
pub fn null(step: Microbenchmark, workers: u32) -> Result<Cell, CheckError> {
    let block = BlockSize::Small.bytes();
    let mut cell = cell(
        &step.name(),
        "{url: 'null:'}",
        &format!("ops: read, access: sequential, block_size: {block}, file_size: {block}"),
        (workers, SMALL_LANES),
    )?;
    cell.target.name = "null".to_owned();
    Ok(cell)
}

/// The load of one protocol operation, on a target with this URL and these options.
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

/// The loads of the TCP sender and receiver; `listen` is where the receiver listens.
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
fn cell(name: &str, target: &str, load: &str, lanes: (u32, u32)) -> Result<Cell, CheckError> {
    parsed(name, target, load, lanes).map(|(_, cell)| cell)
}

fn parsed(
    name: &str,
    target: &str,
    load: &str,
    (workers, lanes): (u32, u32),
) -> Result<(Plan, Cell), CheckError> {
    let text = format!(
        "name: {NAME}\nstages: {{prepare: fill, measure: 1s}}\nsteady: none\n\
         targets: {{target: {target}}}\n\
         workloads: {{{name}: {{{load}, jobs: {workers}, queue_depth: {lanes}}}}}\n"
    );
    let source = SourceText { file: NAME, text: &text };
    let plan = experiment::parse(&source, &Settings::of(targets::kinds()))
        .map_err(|faults| CheckError::failure(format!("{faults}").replace('\n', " ")))?;
    let first = plan.cells.first().cloned();
    let mut cell =
        first.ok_or_else(|| CheckError::failure("a calibration's plan has no cell; this is a defect"))?;
    // Failures are reported when the step ends, with their count.
    cell.errors = ErrorPolicy::Continue;
    cell.workload.op_timeout_s = OP_TIMEOUT_S;
    Ok((plan, cell))
}

#[cfg(test)]
mod tests {
    use experiment::Access;

    use super::*;
    use crate::calibrate::served;

    #[test]
    fn every_piece_is_a_cell_and_those_of_files_read_the_same_data() {
        let target = Target::new("x", "x://y", Default::default());
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

    #[test]
    fn every_load_is_a_cell_and_what_has_no_target_is_none() {
        let request = CalibrateRequest { seconds: 0.5, repetitions: 4, ..crate::calibrate::tests::request() };
        let plan = of_calibration(&request, 6, 3).unwrap();
        let names: Vec<&str> = plan.cells.iter().map(|cell| &*cell.name).collect();
        assert_eq!(names.len(), 14, "{names:?}");
        assert_eq!(names[..2], ["null-one", "null-all"]);
        assert_eq!(names[10..], ["tcp-send-1", "tcp-receive-1", "tcp-send-8", "tcp-receive-8"]);
        assert!((0..).zip(&plan.cells).all(|(index, cell)| cell.index == index));
        assert_eq!((plan.cells[1].workload.jobs, plan.cells[2].workload.jobs), (6, 3));
        let times = &plan.cells[2].stages;
        assert_eq!((times.warm_up_s, times.measure_at_most_s), (0.1, 2.0));
        assert_eq!(plan.cells[2].target.url, "nfs://127.0.0.1/calibrate");
    }
}
