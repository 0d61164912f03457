//! An experiment without a file: one target and one workload from the command line, turned into the file that a person
//! would write. The regular file reader parses it, so that everything means the same as there.

mod lines;
mod ops;
mod text;
mod yaml;

pub(crate) use yaml::scalar;

use crate::kind::{TargetKind, kind_of};
use crate::option::OptionValue;

pub use text::BriefText;

use lines::{Line, Lines};
use ops::Operations;

/// Default number of items for a load that moves no data: enough that no cache holds just one of them.
const SMALL_ITEMS: &str = "1000";
/// Size of those items.
const SMALL_BYTES: &str = "4KiB";

/// One target and one workload, with each value as typed. A value may be a comma-separated list, which makes the
/// experiment a matrix. A value in braces is YAML: `{poisson: 1000/s}`.
#[derive(Clone, Debug, Default)]
pub struct BriefExperiment {
    /// The target's URL.
    pub url: String,
    /// The experiment's name; by default it is named after target and workload.
    pub name: Option<String>,
    /// Share of reads (or of gets, where whole objects are fetched). The rest are writes, unless other operations are
    /// given.
    pub read: Option<String>,
    /// Share of writes or puts.
    pub write: Option<String>,
    /// Operations: `stat`, or with a share `stat=30%`. If none has a share, each is a value of the matrix.
    pub ops: Vec<String>,
    /// Which block or object comes next.
    pub access: Option<String>,
    /// Size of reads and writes.
    pub block_size: Option<String>,
    /// Operations that each job keeps in flight.
    pub queue_depth: Option<String>,
    /// Number of threads.
    pub jobs: Option<String>,
    /// Files in the data set.
    pub files: Option<String>,
    /// Size of each file.
    pub file_size: Option<String>,
    /// Objects in the data set.
    pub objects: Option<String>,
    /// Size of each object.
    pub object_size: Option<String>,
    /// Operations started per second, however long they take.
    pub rate: Option<String>,
    /// Bypass the page cache; the default wherever there is one.
    pub direct: Option<String>,
    /// Measure for exactly this long, without a steady-state rule.
    pub duration: Option<String>,
    /// Maximum length of the measurement, steady or not.
    pub at_most: Option<String>,
    /// Length of the load before the measurement.
    pub warm_up: Option<String>,
    /// Length of the trials at half and twice the concurrency after each measurement.
    pub probe: Option<String>,
    /// How often to measure each point.
    pub repetitions: Option<String>,
}

impl BriefExperiment {
    /// The experiment as a file, as short as a person would write it.
    pub fn text(&self, kinds: &[&'static TargetKind]) -> BriefText {
        self.lines(kinds).short()
    }

    /// The experiment as a file to build on: with comments, defaults, and further options.
    pub fn commented(&self, kinds: &[&'static TargetKind]) -> BriefText {
        self.lines(kinds).commented()
    }

    fn lines(&self, kinds: &[&'static TargetKind]) -> Lines {
        let kind = kind_of(kinds, &self.url);
        let ops = Operations::of(self, kind);
        let workload = ops.workload_name();
        let mut lines = Lines::default();
        let name = self.name.clone().unwrap_or_else(|| {
            kind.map_or_else(|| workload.to_owned(), |kind| format!("{}-{workload}", kind.scheme))
        });
        let origin = self.name.as_ref().map(|name| format!("--name {name}"));
        lines.add(Line::of(0, "name", &yaml::value(&name)).from(origin));
        self.target(&mut lines, kind);
        lines.add(Line::head(0, "workloads"));
        lines.add(Line::head(1, workload));
        ops.write(&mut lines);
        self.workload(&mut lines, kind, &ops);
        self.measurement(&mut lines, kind, &ops);
        lines
    }

    /// Whether the URL has this option.
    fn has_option(&self, name: &str) -> bool {
        let query = self.url.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair.split('=').next() == Some(name))
    }

    fn target(&self, lines: &mut Lines, kind: Option<&'static TargetKind>) {
        let name = "data";
        lines.add(Line::head(0, "targets"));
        let url = yaml::value(&self.url);
        let from = Some("URL".to_owned());
        let known = kind.and_then(|kind| kind.option("direct"));
        let in_url = self.has_option("direct");
        let usual = known.is_some_and(|help| help.read(help.default) == Ok(OptionValue::Flag(true)));
        let about =
            "past the page cache of this client; false measures memory as soon as the data fits into it";
        let direct = match self.direct.as_deref().map(yaml::items) {
            Some(values) if values.len() > 1 => {
                lines.cross("direct", &values, format!("--direct {}", values.join(",")));
                None
            }
            Some(values) => Some((values.concat(), Some(format!("--direct {}", values.concat())))),
            None => (known.is_some() && !in_url && !usual).then(|| ("true".to_owned(), None)),
        };
        match direct {
            Some((value, origin)) => {
                lines.add(Line::head(1, name));
                lines.add(Line::of(2, "url", &url).from(from));
                lines.add(Line::of(2, "direct", &yaml::value(&value)).from(origin).about(about));
            }
            None => lines.add(Line::of(1, name, &url).from(from)),
        }
    }

    fn workload(&self, lines: &mut Lines, kind: Option<&'static TargetKind>, ops: &Operations) {
        let objects = kind.is_some_and(|kind| kind.objects && (!kind.ranges || ops.are_for_objects()));
        let device = kind.is_some_and(|kind| kind.device);
        let small = ops.look_at_names() && kind.is_some_and(|kind| !kind.imaginary && !device);
        let or_small = |given: &Option<String>, small_value: &str, of_objects: bool| {
            let needed = small && objects == of_objects;
            given.clone().or_else(|| needed.then(|| small_value.to_owned()))
        };
        let (files, file_size) =
            (or_small(&self.files, SMALL_ITEMS, false), or_small(&self.file_size, SMALL_BYTES, false));
        let (things, thing_size) =
            (or_small(&self.objects, SMALL_ITEMS, true), or_small(&self.object_size, SMALL_BYTES, true));
        let ranges = ops.move_ranges();
        lines.key(
            &self.access,
            "access",
            "--access",
            "random",
            "or sequential, shuffled, {zipf: 0.99}, …",
            ranges,
        );
        lines.key(
            &self.block_size,
            "block_size",
            "--block-size",
            "4KiB",
            "or shares: {4KiB: 60%, 64KiB: 40%}",
            ranges,
        );
        let depth = "operations each job keeps in flight";
        lines.key(&self.queue_depth, "queue_depth", "--queue-depth", "1", depth, true);
        lines.key(&self.jobs, "jobs", "--jobs", "1", "threads, each with its own connections", true);
        let usual = kind.map_or((1, 1 << 30), |kind| (kind.usual_files, kind.usual_file_bytes));
        let (count, size) = (usual.0.to_string(), units::Size(usual.1).to_string());
        lines.key(&files, "files", "--files", &count, "files in the data set", !objects && !device);
        let about = "larger than every cache on the way, or a cache is what is measured";
        lines.key(&file_size, "file_size", "--file-size", &size, about, !objects && !device);
        lines.key(&things, "objects", "--objects", "64", "objects in the data set", objects);
        let usual = kind.map_or(0, |kind| kind.usual_object_bytes);
        let usual = units::Size(usual).to_string();
        lines.key(&thing_size, "object_size", "--object-size", &usual, "size of each", objects);
        lines.optional_key(
            &self.rate,
            "rate",
            "--rate",
            "1000/s",
            "operations start on schedule, however long they take",
        );
    }

    fn measurement(&self, lines: &mut Lines, kind: Option<&'static TargetKind>, ops: &Operations) {
        // Filling a whole device that is then only read would destroy its content.
        let exists =
            |kind: &TargetKind| kind.device && !kind.creates_device(|option| self.has_option(option));
        let keeps = kind.is_some_and(exists) && ops.only_look();
        if self.duration.is_some() {
            lines.add(Line::of(0, "steady", "none").about("the measurement lasts a fixed time"));
        } else {
            let about =
                "measured until throughput and p99 of every operation are steady; none: for a fixed time";
            lines.add(Line::of(0, "steady", "default").about(about).only_commented());
        }
        lines.begin_stages();
        if keeps {
            let about = "reads what the device holds; fill would overwrite all of it first";
            lines.add(Line::of(1, "prepare", "keep").about(about).always_explained());
        }
        lines.stage(&self.warm_up, "warm_up", "--warm-up", "10s", "load before the measurement starts");
        match (&self.duration, &self.at_most) {
            (Some(_), _) => lines.stage(&self.duration, "measure", "--for", "60s", "how long is measured"),
            (None, Some(most)) => {
                let values = yaml::items(most);
                let origin = format!("--at-most {most}");
                match values.as_slice() {
                    [one] => {
                        lines.add(Line::head(1, "measure"));
                        lines.add(Line::of(2, "at_most", &yaml::value(one)).from(Some(origin)));
                    }
                    _ => lines.cross("stages.measure.at_most", &values, origin),
                }
            }
            (None, None) => {
                lines.add(Line::head(1, "measure").only_commented());
                let least = "no measurement is shorter";
                lines.add(Line::of(2, "at_least", "60s").about(least).only_commented());
                let most = "and none is longer: what is not steady by then says so";
                lines.add(Line::of(2, "at_most", "30m").about(most).only_commented());
            }
        }
        let about = "then half and twice as much in flight is tried for so long each, for the verdict";
        lines.stage(&self.probe, "probe", "--probe", "0s", about);
        if let Some(repetitions) = &self.repetitions {
            let origin = format!("--repetitions {repetitions}");
            lines.matrix_line(Line::of(1, "repetitions", &yaml::value(repetitions)).from(Some(origin)));
        }
    }
}
