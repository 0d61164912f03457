//! An experiment on the command line: a target URL and flags in place of a file.

use clap::Args;
use experiment::BriefExperiment;

/// What is done to a target that is named on the command line. Each value may be a list, with commas: then every
/// combination is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct BriefArguments {
    /// Share of reads (for S3 and memcached, gets); the rest are writes. Without a value: 100%
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "100%", help_heading = HEADING)]
    pub read: Option<String>,
    /// Share of writes (for S3 and memcached, puts); the rest are reads. Without a value: 100%
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "100%", help_heading = HEADING)]
    pub write: Option<String>,
    /// Operations by name: stat, or a mix such as --op stat=90% --op list=10% [default: read, or get]
    #[arg(long, value_name = "NAME[=SHARE]", help_heading = HEADING)]
    pub op: Vec<String>,
    /// Access pattern: random, sequential, shuffled, zipf … [default: random]
    #[arg(long, value_name = "PATTERN", help_heading = HEADING)]
    pub access: Option<String>,
    /// Size of reads and writes: 4KiB, or 4KiB,64KiB,1MiB to measure each [default: 4KiB]
    #[arg(long, value_name = "SIZE", alias = "bs", help_heading = HEADING)]
    pub block_size: Option<String>,
    /// Operations each job keeps in flight: 32, or 1,8,32 to measure each [default: 1]
    #[arg(long, value_name = "N", aliases = ["iodepth", "concurrent"], help_heading = HEADING)]
    pub queue_depth: Option<String>,
    /// Threads, each with its own connections and queue [default: 1]
    #[arg(long, value_name = "N", visible_alias = "workers", alias = "numjobs", help_heading = HEADING)]
    pub jobs: Option<String>,
    /// Files in the data set [default: 1; 1000 for stat and list]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub files: Option<String>,
    /// Size of each file, or of the part of a block device to use [default: 1GiB; 4KiB for stat and list; the
    /// whole device]
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub file_size: Option<String>,
    /// Objects in the data set [default: 64; 1000 for stat and list]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub objects: Option<String>,
    /// Size of each object [default: 8MiB; 4MiB for RADOS; 4KiB for memcached, stat and list]
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub object_size: Option<String>,
    /// Start operations at a fixed rate such as 1000/s, however long they take (open loop) [default: closed
    /// loop]
    #[arg(long, value_name = "RATE", help_heading = HEADING)]
    pub rate: Option<String>,
    /// Bypass this client's page cache (files and devices) [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = HEADING)]
    pub direct: Option<String>,
    /// Measure for exactly this long [default: at least 1m, until the figures are steady, at most --at-most]
    #[arg(long = "for", value_name = "DURATION", aliases = ["runtime", "duration"], help_heading = HEADING)]
    pub duration: Option<String>,
    /// Measure no longer than this, steady or not [default: 30m]
    #[arg(long, value_name = "DURATION", conflicts_with = "duration", help_heading = HEADING)]
    pub at_most: Option<String>,
    /// Load before the measurement [default: 10s]
    #[arg(long, value_name = "DURATION", help_heading = HEADING)]
    pub warm_up: Option<String>,
    /// Measure each combination this many times
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub repetitions: Option<String>,
    /// Name of the run in results and reports [default: the kind of target and the load]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub name: Option<String>,
}

const HEADING: &str = "The load on the target of a URL";

impl BriefArguments {
    /// Flags with an optional value swallow a URL that follows them. Returns such a URL.
    pub fn misplaced_url(&mut self) -> Option<String> {
        let mut flags = [(&mut self.read, "100%"), (&mut self.write, "100%"), (&mut self.direct, "true")];
        let (value, without) = flags.iter_mut().find_map(|(value, without)| {
            value
                .as_deref()
                .is_some_and(|text| experiment::is_url(targets::kinds(), text))
                .then_some((value, without))
        })?;
        value.replace((*without).to_owned())
    }

    /// The first of these flags that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let flags = [
            ("--read", &self.read),
            ("--write", &self.write),
            ("--access", &self.access),
            ("--block-size", &self.block_size),
            ("--queue-depth", &self.queue_depth),
            ("--jobs", &self.jobs),
            ("--files", &self.files),
            ("--file-size", &self.file_size),
            ("--objects", &self.objects),
            ("--object-size", &self.object_size),
            ("--rate", &self.rate),
            ("--direct", &self.direct),
            ("--for", &self.duration),
            ("--at-most", &self.at_most),
            ("--warm-up", &self.warm_up),
            ("--repetitions", &self.repetitions),
            ("--name", &self.name),
        ];
        let given = flags.into_iter().find(|(_, value)| value.is_some()).map(|(flag, _)| flag);
        given.or((!self.op.is_empty()).then_some("--op"))
    }

    /// The experiment with this target.
    pub fn experiment(&self, url: &str) -> BriefExperiment {
        let own = self.clone();
        BriefExperiment {
            url: url.to_owned(),
            name: own.name,
            read: own.read,
            write: own.write,
            ops: own.op,
            access: own.access,
            block_size: own.block_size,
            queue_depth: own.queue_depth,
            jobs: own.jobs,
            files: own.files,
            file_size: own.file_size,
            objects: own.objects,
            object_size: own.object_size,
            rate: own.rate,
            direct: own.direct,
            duration: own.duration,
            at_most: own.at_most,
            warm_up: own.warm_up,
            probe: None,
            repetitions: own.repetitions,
        }
    }
}
