//! Engines: what a job's `ioengine` makes of its target.

use std::collections::BTreeMap;

use super::asked::Asked;
use super::job_targets::{NetOptions, net_target, nfs_target};
use super::objects;
use super::order::Order;
use crate::find_engine;
use experiment::FileNames;
use experiment::Target;

/// What an engine means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Files and devices, one operation at a time.
    Blocking,
    /// The same, but files are mapped into memory.
    Mapped,
    /// Files and devices, with a queue.
    Queued,
    /// io_uring by name.
    Uring,
    /// Nothing is done.
    Null,
    /// A script on a clock of its own.
    Simulated,
    /// A stream to another process.
    Net,
    /// Our NFS client.
    Nfs,
    /// Objects.
    Objects,
}

/// The engine when none is named.
pub(crate) const USUAL_ENGINE: &str = "psync";

/// The engines' names.
const ENGINES: [(&str, Kind); 14] = [
    ("psync", Kind::Blocking),
    ("sync", Kind::Blocking),
    ("vsync", Kind::Blocking),
    ("pvsync", Kind::Blocking),
    ("pvsync2", Kind::Blocking),
    ("mmap", Kind::Mapped),
    ("libaio", Kind::Queued),
    ("posixaio", Kind::Queued),
    ("io_uring", Kind::Uring),
    ("null", Kind::Null),
    ("sim", Kind::Simulated),
    ("net", Kind::Net),
    ("nfs", Kind::Nfs),
    ("http", Kind::Objects),
];

impl Kind {
    /// True when it keeps more than one operation in flight by itself.
    pub(crate) fn queues(self) -> bool {
        matches!(self, Kind::Queued | Kind::Uring | Kind::Null | Kind::Simulated | Kind::Nfs)
    }

    /// True for files and devices of this machine.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Kind::Blocking | Kind::Mapped | Kind::Queued | Kind::Uring)
    }
}

/// The name of the engine, and what it means.
pub(crate) fn engine<'a>(asked: &Asked<'a>) -> (&'a str, Kind) {
    let name = asked.text("ioengine").unwrap_or(USUAL_ENGINE);
    match ENGINES.iter().find(|engine| engine.0 == name) {
        Some(engine) => (name, engine.1),
        None => {
            let mend = match find_engine(name) {
                Some(_) => "use psync, libaio, io_uring, nfs, net, http or null".to_owned(),
                None => experiment::hint(name, ENGINES.iter().map(|engine| engine.0)),
            };
            asked.fault("ioengine", format!("there is no engine {name:?}"), mend);
            (name, Kind::Blocking)
        }
    }
}

/// The target. Names of files are changed where a part of them belongs to the target.
pub(crate) fn target(
    asked: &Asked<'_>,
    kind: Kind,
    order: &Order,
    names: &mut FileNames,
    section_number: usize,
) -> Target {
    match kind {
        Kind::Null => Target { name: "null".to_owned(), url: "null:".to_owned(), options: BTreeMap::new() },
        Kind::Simulated => Target {
            name: "sim".to_owned(),
            url: asked.text("sim_url").unwrap_or("sim:").to_owned(),
            options: BTreeMap::new(),
        },
        Kind::Net => net(asked, order),
        Kind::Nfs => nfs(asked, order),
        Kind::Objects => objects::target(asked, names, section_number),
        _ => files(asked, kind),
    }
}

/// True when operations pass the page cache: the last of `direct` and `buffered` holds.
pub(crate) fn is_direct(asked: &Asked<'_>) -> bool {
    let place = |name: &str| asked.section.settings.iter().rposition(|setting| setting.option.name == name);
    match (place("direct"), place("buffered")) {
        (direct, Some(buffered)) if direct < Some(buffered) => !asked.flag_or("buffered", true),
        _ => asked.flag("direct"),
    }
}

fn files(asked: &Asked<'_>, kind: Kind) -> Target {
    let mut options = BTreeMap::new();
    let mut set = |name: &str, value: &str| options.insert(name.to_owned(), value.to_owned());
    set(
        "engine",
        match kind {
            Kind::Uring => "uring",
            Kind::Queued => "auto",
            _ if asked.flag("hipri") => "uring",
            _ => "threads",
        },
    );
    if is_direct(asked) {
        set("direct", "true");
    }
    match asked.text("sync") {
        None | Some("none" | "0") => {}
        Some("sync" | "1" | "") => drop(set("sync", "sync")),
        Some("dsync") => drop(set("sync", "dsync")),
        Some(other) => {
            let mend = experiment::hint(other, ["none", "sync", "dsync"]);
            asked.fault("sync", format!("there is no sync {other:?}"), mend);
        }
    }
    let polled = asked.flag("hipri");
    if polled {
        set("iopoll", "true");
    }
    if kind == Kind::Uring && asked.flag("sqthread_poll") {
        set("sqpoll", "true");
    }
    if kind == Kind::Uring && (asked.flag("fixedbufs") || asked.flag("registerfiles")) {
        set("registered", "true");
    }
    if polled && !is_direct(asked) {
        asked.fault("hipri", "hipri needs direct=1", "add direct=1, or take hipri out");
    }
    // What has a meaning in URLs is written in another way; the root has a name that is no mistake.
    let directory = asked.around.directory.trim_end_matches('/').replace('%', "%25").replace('?', "%3F");
    let url = if directory.is_empty() { "file:///.".to_owned() } else { format!("file://{directory}") };
    Target { name: "files".to_owned(), url, options }
}

fn nfs(asked: &Asked<'_>, order: &Order) -> Target {
    if order.trims {
        asked.fault("rw", "ioengine=nfs has no trims", "use rw=write or rw=randwrite");
    }
    // Several stand one behind the other, with commas or blanks between them.
    let urls = asked.text("nfs_url").unwrap_or("").split_whitespace().map(|url| url.trim_matches(','));
    let urls: Vec<&str> = urls.filter(|url| !url.is_empty()).collect();
    let given = nfs_target(&urls.join(","), asked.number("nfs_connections"));
    named(asked, "nfs", "nfs_url", given)
}

fn net(asked: &Asked<'_>, order: &Order) -> Target {
    if order.random {
        asked.fault("rw", "a stream has no places to choose by chance", "use rw=read or rw=write");
    }
    if usize::from(order.reads) + usize::from(order.writes) + usize::from(order.trims) > 1 || order.trims {
        asked.fault("rw", "a stream is read or written", "use rw=read or rw=write, and a job for each end");
    }
    let text = |name: &'static str| asked.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let options = NetOptions {
        hostname: text("hostname"),
        port: asked.number("port"),
        protocol: text("protocol"),
        listen: asked.flag("listen"),
        nodelay: asked.flag("nodelay"),
        window_bytes: asked.number("window_size"),
        mss: asked.number("mss"),
        pingpong: asked.flag("pingpong"),
        interface: None,
    };
    named(asked, "net", "port", net_target(&options))
}

fn named(
    asked: &Asked<'_>,
    name: &str,
    option: &'static str,
    given: Result<(String, BTreeMap<String, String>), String>,
) -> Target {
    let (url, options) = given.unwrap_or_else(|why| {
        let (text, mend) =
            why.split_once("; ").unwrap_or((&why, "see the engine's options in docs/fio-options.md"));
        // Lines name the option they are about where that is another one.
        let about = ["hostname", "port", "protocol", "listen"];
        let place = about.into_iter().find(|option| text.starts_with(option)).unwrap_or(option);
        asked.fault(place, text, mend);
        (String::new(), BTreeMap::new())
    });
    Target { name: name.to_owned(), url, options }
}
