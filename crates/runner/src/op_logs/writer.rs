//! Turns operation records into the log lines that a job asks for.

use std::io;
use std::path::PathBuf;

use engine::TraceRecord;
use experiment::Logs;

use super::file::LineFile;
use super::lines::{Columns, Line, add_histogram, kib_per_s};
use super::operations::Operations;
use super::plan::LogPlan;
use super::windows::{Complete, Windows};
use super::{buckets, direction};

/// All logs of one cell.
#[derive(Debug)]
pub(super) struct Writer {
    plan: LogPlan,
    columns: Columns,
    files: Vec<Files>,
    operations: Option<Operations>,
}

/// The logs of one worker, or of all workers if they share files.
#[derive(Debug)]
struct Files {
    bandwidth: Option<LineFile>,
    /// Submission, service, response.
    latency: Option<[LineFile; 3]>,
    rate: Option<LineFile>,
    histograms: Option<LineFile>,
    means: Windows<[Sums; direction::COUNT]>,
    counts: Windows<[Counts; direction::COUNT]>,
}

/// Sums over a window, in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    ops: u64,
    bytes: u64,
    /// Service and response times: sum and maximum, in nanoseconds.
    sums_ns: [u64; 2],
    longest_ns: [u64; 2],
}

/// The service times of a window, in one direction.
#[derive(Debug, Default)]
struct Counts {
    /// The last block size.
    block: u64,
    buckets: Vec<u64>,
}

impl Writer {
    /// Creates the files; `None` when there are none to create.
    pub(super) fn open(plan: LogPlan) -> io::Result<Option<Writer>> {
        let logs = plan.job.logs.clone();
        let (class, level) = plan.job.placement.io_priority.unwrap_or_default();
        let priority = logs.priorities.then_some(u16::from(class) << 13 | u16::from(level));
        let operations = match &logs.operations_list {
            Some(name) => Some(Operations::new(LineFile::append(&plan.directory.join(name))?, plan.workers)?),
            None => None,
        };
        let lines = logs.bandwidth.is_some()
            || logs.latency.is_some()
            || logs.operations.is_some()
            || logs.histograms.is_some();
        if !lines && operations.is_none() {
            return Ok(None);
        }
        let files =
            (0..plan.files()).map(|worker| Files::create(&plan, &logs, worker)).collect::<io::Result<_>>()?;
        Ok(Some(Writer { columns: Columns { offsets: logs.offsets, priority }, files, operations, plan }))
    }

    /// Adds a worker's records.
    pub(super) fn take(&mut self, worker: u32, records: &[TraceRecord]) -> io::Result<()> {
        let logs = &self.plan.job.logs;
        let number = self.plan.file_of(worker);
        // In a shared file each worker keeps its own position in time.
        let place = if logs.together { worker } else { 0 };
        for record in records {
            if let Some(operations) = &mut self.operations {
                operations.take(&self.plan.job, record)?;
            }
            let (Some(direction), None, true) =
                (direction::of_kind(record.kind), record.error, record.measured)
            else {
                continue;
            };
            let Some(files) = self.files.get_mut(number) else { continue };
            let ended = Ended {
                place,
                direction,
                end_ns: record.end_ns.saturating_sub(self.plan.ramp_ns),
                service_ns: record.end_ns.saturating_sub(record.start_ns),
                response_ns: record.end_ns.saturating_sub(record.intended_ns),
                bytes: record.len,
                offset: record.offset,
            };
            files.take(&ended, logs, self.columns, self.plan.epoch_ms);
        }
        if let Some(files) = self.files.get_mut(number) {
            files.show(logs, self.columns, self.plan.epoch_ms, false);
            files.write(false)?;
        }
        Ok(())
    }

    /// Writes the rest; returns the files.
    pub(super) fn finish(self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for mut files in self.files {
            files.show(&self.plan.job.logs, self.columns, self.plan.epoch_ms, true);
            files.write(true)?;
            paths.extend(files.all().map(|file| file.path().to_owned()));
        }
        if let Some(operations) = self.operations {
            paths.push(operations.finish(&self.plan.job)?);
        }
        Ok(paths)
    }
}

/// An operation that ended successfully inside the measured window.
struct Ended {
    place: u32,
    direction: usize,
    end_ns: u64,
    service_ns: u64,
    response_ns: u64,
    bytes: u64,
    offset: u64,
}

impl Files {
    fn create(plan: &LogPlan, logs: &Logs, worker: u32) -> io::Result<Files> {
        let create = |name: &Option<String>, kind: &str| {
            name.as_ref().map(|name| LineFile::create(&plan.path(name, kind, worker))).transpose()
        };
        let latency = match &logs.latency {
            None => None,
            Some(_) => {
                let [submission, service, response] =
                    ["slat", "clat", "lat"].map(|kind| create(&logs.latency, kind));
                submission?.zip(service?).zip(response?).map(|((s, c), l)| [s, c, l])
            }
        };
        let places = if logs.together { plan.workers } else { 1 };
        Ok(Files {
            bandwidth: create(&logs.bandwidth, "bw")?,
            latency,
            rate: create(&logs.operations, "iops")?,
            histograms: create(&logs.histograms, "clat_hist")?,
            means: Windows::new(logs.average_ms, places),
            counts: Windows::new(logs.histogram_ms, places),
        })
    }

    fn all(&mut self) -> impl Iterator<Item = &mut LineFile> {
        let latency = self.latency.iter_mut().flatten();
        [&mut self.bandwidth, &mut self.rate, &mut self.histograms].into_iter().flatten().chain(latency)
    }

    fn write(&mut self, all: bool) -> io::Result<()> {
        self.all().try_for_each(|file| file.write(all))
    }

    fn take(&mut self, ended: &Ended, logs: &Logs, columns: Columns, epoch_ms: u64) {
        if self.histograms.is_some() && logs.histogram_ms > 0 {
            let counts = &mut self.counts.at(ended.place, ended.end_ns)[ended.direction];
            counts.buckets.resize(buckets::FIO_BUCKETS, 0);
            counts.buckets[buckets::number(ended.service_ns).min(buckets::FIO_BUCKETS - 1)] += 1;
            counts.block = ended.bytes;
        }
        if logs.average_ms > 0 {
            let sums = &mut self.means.at(ended.place, ended.end_ns)[ended.direction];
            sums.ops += 1;
            sums.bytes += ended.bytes;
            for (n, ns) in [ended.service_ns, ended.response_ns].into_iter().enumerate() {
                sums.sums_ns[n] += ns;
                sums.longest_ns[n] = sums.longest_ns[n].max(ns);
            }
            return;
        }
        let line = |value| Line {
            time_ms: ended.end_ns / 1_000_000 + epoch_ms,
            value,
            direction: ended.direction,
            block: ended.bytes,
            offset: ended.offset,
        };
        let values = [kib_per_s(ended.bytes, ended.service_ns), 1, ended.service_ns, ended.response_ns];
        self.add(values, line, columns);
    }

    /// Adds a line to each log: bandwidth, rate, service time, response time.
    fn add(&mut self, values: [u64; 4], line: impl Fn(u64) -> Line, columns: Columns) {
        let [_, service, response] =
            self.latency.as_mut().map_or([const { None }; 3], |files| files.each_mut().map(Some));
        for (file, value) in
            [self.bandwidth.as_mut(), self.rate.as_mut(), service, response].into_iter().zip(values)
        {
            if let Some(file) = file {
                columns.add(line(value), file.lines());
            }
        }
    }

    /// Writes the windows that are complete.
    fn show(&mut self, logs: &Logs, columns: Columns, epoch_ms: u64, all: bool) {
        while let Some(Complete { end_ns, length_ns, counted }) = self.means.next(all) {
            for (direction, sums) in counted.iter().enumerate().filter(|(_, sums)| sums.ops > 0) {
                let time_ms = end_ns.div_ceil(1_000_000) + epoch_ms;
                let line = |value| Line { time_ms, value, direction, block: 0, offset: 0 };
                let latency =
                    |n: usize| if logs.largest { sums.longest_ns[n] } else { sums.sums_ns[n] / sums.ops };
                let rate = (sums.ops as f64 * 1e9 / length_ns as f64).round() as u64;
                self.add([kib_per_s(sums.bytes, length_ns), rate, latency(0), latency(1)], line, columns);
            }
        }
        while let Some(Complete { end_ns, counted, .. }) = self.counts.next(all) {
            let Some(file) = &mut self.histograms else { continue };
            let time_ms = end_ns.div_ceil(1_000_000) + epoch_ms;
            for (direction, counts) in
                counted.iter().enumerate().filter(|(_, counts)| !counts.buckets.is_empty())
            {
                add_histogram(
                    time_ms,
                    direction,
                    counts.block,
                    &counts.buckets,
                    logs.coarseness,
                    file.lines(),
                );
            }
        }
    }
}
