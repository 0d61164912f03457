//! Workload keys that set part of its job: they mean the same as without a job, and can be crossed.

use super::user_files::{self, Files};
use super::{access, placement, think, weights};
use crate::job::{Amount, BlockSizes, Directions, Distribution, Job, SizeChoice, Zone};
use crate::plan::{Access, CacheControl, WeightedSize};
use crate::reader::Fields;
use crate::tree::Node;
use content::Check;

/// A key, and the equivalent path in a job.
const PARTS: &[(&str, &[&str])] = &[
    ("access", &["pattern"]),
    ("block_size", &["block_sizes"]),
    ("files", &["files", "count"]),
    ("file_size", &["files", "bytes"]),
    ("file_size", &["region", "size"]),
    ("rate", &["pace", "rates"]),
    ("think", &["pace", "think"]),
    ("fsync_every", &["commits"]),
    ("fdatasync", &["commits"]),
    ("compressible", &["content"]),
    ("dedupe", &["content"]),
    ("verify", &["check"]),
    ("placement", &["placement"]),
    ("cache", &["files", "layout", "invalidate"]),
];

/// Applies keys beside a job to the job; giving a value in both places is a fault. Defaults never override what the job
/// says itself.
pub(super) fn put_in(fields: &Fields<'_>, job: &mut Job, cache: Option<CacheControl>) -> Option<()> {
    let node = fields.get("job")?;
    let said = |path: &[&str]| stands_at(&node, path);
    for (key, path) in PARTS {
        if fields.own(key) && said(path) {
            let text = format!("{key} stands in the job, too: {}", path.join("."));
            fields.fault(key, text, "give it in one of the two places");
        }
    }
    let given = |key: &str| fields.has(key) && !PARTS.iter().any(|(other, path)| *other == key && said(path));
    if given("block_size") {
        let sizes = weights::block_sizes(fields, 4096)?;
        job.block_sizes = BlockSizes { sizes: Directions::all(choice(sizes)), ..BlockSizes::default() };
    }
    if given("access") {
        put_access(fields, job)?;
    }
    if given("files") {
        let Files { count, names, tree } = user_files::files(fields)?;
        if tree.is_some() {
            fields.fault(
                "files",
                "a job names its files, and does not walk a tree",
                "remove job, or name the files",
            );
        }
        if names.is_some() && said(&["files", "names"]) {
            let text = "names of files stand in the job, too: files.names";
            fields.fault("files", text, "give them in one of the two places");
        }
        job.files.count = count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX));
        if let Some(names) = names {
            job.files.names = names;
        }
    }
    if given("file_size") {
        job.files.bytes = fields.size("file_size", 0);
        if job.files.bytes == 0 {
            fields.fault("file_size", "a file of no bytes holds nothing", "write a size such as 1GiB");
        }
    }
    if given("think") {
        job.pace.think = think::think(fields);
    }
    if given("fsync_every") {
        let every = fields.count("fsync_every", 0, u32::MAX, 0);
        let commits = &mut job.commits;
        let data = fields.flag("fdatasync", false);
        *(if data { &mut commits.fdatasync_every } else { &mut commits.fsync_every }) = every;
    }
    for (key, percent) in
        [("compressible", &mut job.content.compress_percent), ("dedupe", &mut job.content.dedupe_percent)]
    {
        if given(key) {
            *percent = fields.share(key, 0.0) * 100.0;
        }
    }
    if given("verify") && fields.flag("verify", false) {
        job.check = Some(Check::default());
    }
    if given("placement") {
        job.placement = placement::placement(fields)?;
    }
    if let Some(cache) = cache.filter(|_| given("cache")) {
        // Dropping all caches is more than a job does for its files.
        job.files.layout.invalidate = cache == CacheControl::Invalidate;
    }
    Some(())
}

/// Whether the job itself sets this.
fn stands_at(job: &Node, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    job.get(first).is_some_and(|part| stands_at(part, rest))
}

fn choice(sizes: Vec<WeightedSize>) -> SizeChoice {
    match sizes.as_slice() {
        [one] => SizeChoice::Fixed(one.bytes),
        _ => SizeChoice::Split(sizes),
    }
}

/// Converts an access pattern to its form in a job.
fn put_access(fields: &Fields<'_>, job: &mut Job) -> Option<()> {
    let distributed = |distribution| Directions::all(distribution);
    let pattern = &mut job.pattern;
    let access = access::access(fields)?;
    pattern.random = !matches!(access, Access::Sequential | Access::Strided { .. });
    match access {
        Access::Sequential | Access::Shuffled => {}
        Access::Random => pattern.with_repeats = true,
        Access::Zipf { theta } => {
            pattern.distribution = distributed(Distribution::Zipf { theta, centre: None })
        }
        Access::Pareto { h } => pattern.distribution = distributed(Distribution::Pareto { h, centre: None }),
        Access::Hotspot { ops, space } => {
            let zone =
                |ops: f64, space: f64| Zone { percent: ops * 100.0, length: Amount::Percent(space * 100.0) };
            let zones = vec![zone(ops, space), zone(1.0 - ops, 1.0 - space)];
            pattern.distribution = distributed(Distribution::Zoned { zones });
        }
        Access::Strided { stride_bytes } => {
            let sizes = &job.block_sizes.sizes;
            let least = [&sizes.read, &sizes.write, &sizes.trim].map(SizeChoice::least);
            let most = [&sizes.read, &sizes.write, &sizes.trim].map(SizeChoice::most);
            let block = least[0];
            if least != [block; 3] || most != [block; 3] || stride_bytes < block {
                let hint = "give one block_size that is no larger, or job: {pattern: {skip: …}}";
                fields.fault("access", "the stride of a job goes from one block to the next", hint);
                return None;
            }
            pattern.skip = i64::try_from(stride_bytes - block).unwrap_or(i64::MAX);
        }
    }
    Some(())
}
