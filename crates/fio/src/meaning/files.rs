//! The files of a job: names, number, sizes, and how they are created.

use super::asked::{Asked, whole};
use super::lists::{ends, names};
use super::numbers::float;
use crate::values::ValueError;
use experiment::{Advice, Allocate, FileNames, FileService, JobFiles, Layout};

/// The files. `mapped`: the engine maps them into memory, so that they must have their size beforehand.
pub(crate) fn files(asked: &Asked<'_>, mapped: bool) -> JobFiles {
    let names = file_names(asked);
    let listed = names.listed.len() as u32;
    let count = match asked.count("nrfiles") {
        Some(0) => {
            asked.fault("nrfiles", "nrfiles is 0", "write how many files each worker has, from 1 on");
            0
        }
        // Names given afterwards determine the number.
        Some(_) if listed > 0 && !stands_after(asked, "nrfiles", "filename") => 0,
        given => given.unwrap_or(0),
    };
    let (bytes, most_bytes) = file_sizes(asked);
    let mut files = JobFiles {
        names,
        count,
        bytes,
        most_bytes,
        open: 0,
        service: service(asked),
        layout: layout(asked, mapped),
    };
    files.open = asked.count("openfiles").filter(|open| *open < files.per_worker()).unwrap_or(0);
    files
}

fn stands_after(asked: &Asked<'_>, later: &str, earlier: &str) -> bool {
    let place = |name: &str| asked.section.settings.iter().rposition(|setting| setting.option.name == name);
    place(later) > place(earlier)
}

fn file_names(asked: &Asked<'_>) -> FileNames {
    let directories = asked.text("directory").map(names).unwrap_or_default();
    let mut listed = asked.text("filename").map(names).unwrap_or_default();
    if listed.iter().any(|name| name == "-") {
        asked.fault("filename", "standard input and output are no files here", "name a file");
    }
    if asked.has("filename") && listed.is_empty() {
        asked.fault("filename", "filename is empty", "write one or more names with colons between them");
    }
    // Given names are only below the first directory, even if they start with a slash.
    if let Some(first) = directories.first() {
        listed = listed.iter().map(|name| below(first, name)).collect();
    }
    if let Some(directory) = asked.text("opendir") {
        match (asked.around.open_directory)(directory) {
            Ok(found) if found.is_empty() => asked.fault(
                "opendir",
                format!("there are no files below {directory}"),
                "name a directory with files",
            ),
            Ok(found) => listed.extend(found),
            Err(why) => {
                asked.fault("opendir", format!("{directory} cannot be read: {why}"), "name a directory")
            }
        }
    }
    let format = asked.text("filename_format").unwrap_or_default().to_owned();
    if listed.is_empty() {
        FileNames { directories, listed, format, found: None }
    } else {
        FileNames { listed, ..FileNames::default() }
    }
}

fn below(directory: &str, name: &str) -> String {
    format!("{}/{}", directory.trim_end_matches('/'), name.trim_start_matches('/'))
}

/// The min and max size; the max is 0 if all sizes are equal.
fn file_sizes(asked: &Asked<'_>) -> (u64, u64) {
    let Some(setting) = asked.setting("filesize") else { return (0, 0) };
    let sizes = asked.read(setting, &setting.value, |text| {
        let (low, high) = ends(text);
        Ok::<_, ValueError>((whole(low, setting.kb_base)?, whole(high, setting.kb_base)?))
    });
    match sizes {
        Some((low, high)) if low == high => (low, 0),
        Some((low, high)) => (low.min(high).max(1), low.max(high)),
        None => (0, 0),
    }
}

/// The policies for choosing the next file.
const SERVICES: [&str; 7] = ["random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"];

fn service(asked: &Asked<'_>) -> FileService {
    let Some(setting) = asked.setting("file_service_type") else { return FileService::default() };
    let mut parts = setting.value.split(':').map(str::trim);
    let word = parts.next().unwrap_or("");
    let (first, second) = (parts.next(), parts.next());
    let operations = |text: Option<&str>| match text {
        None => Some(1),
        Some(text) => asked.read(setting, text, |text| match whole(text, setting.kb_base)? {
            number @ 1..=0xFFFF_FFFF => Ok(number as u32),
            _ => Err(ValueError::Form("write how many operations a file gets before the next, from 1 on")),
        }),
    };
    let number = |usual: f64, fits: fn(f64) -> bool, how: &'static str| match first {
        None => Some(usual),
        Some(text) => asked.read(setting, text, |text| {
            let number = float(text)?;
            if fits(number) { Ok(number) } else { Err(ValueError::Form(how)) }
        }),
    };
    let found = match word {
        "roundrobin" => operations(first).map(FileService::RoundRobin),
        "sequential" => Some(FileService::Sequential),
        "random" => operations(first).map(FileService::Random),
        "zipf" => number(1.1, |theta| theta > 0.0 && theta != 1.0, "write a theta above 0 other than 1")
            .zip(operations(second))
            .map(|(theta, n)| FileService::Zipf(theta, n)),
        "pareto" => number(0.2, |h| h > 0.0 && h < 1.0, "write a power above 0 and below 1")
            .zip(operations(second))
            .map(|(h, n)| FileService::Pareto(h, n)),
        "normal" | "gauss" => {
            number(0.0, |d| (0.0..100.0).contains(&d), "write a deviation in percent below 100")
                .zip(operations(second))
                .map(|(deviation, n)| FileService::Normal(deviation, n))
        }
        _ => {
            let hint = experiment::hint(word, SERVICES);
            asked.fault("file_service_type", format!("there is no file_service_type {word:?}"), hint);
            None
        }
    };
    found.unwrap_or_default()
}

fn layout(asked: &Asked<'_>, mapped: bool) -> Layout {
    let pre_read = asked.flag("pre_read");
    Layout {
        create: asked.flag_or("allow_file_create", true),
        create_only: asked.flag("create_only"),
        create_on_open: asked.flag("create_on_open"),
        create_fsync: asked.flag_or("create_fsync", true),
        allocate: allocate(asked),
        overwrite: asked.flag("overwrite") || mapped,
        append: asked.flag("file_append"),
        pre_read,
        invalidate: asked.flag_or("invalidate", true) && !pre_read,
        advice: advice(asked),
        unlink: asked.flag("unlink"),
        unlink_each_loop: asked.flag("unlink_each_loop"),
        mounted_device: asked.flag("allow_mounted_write"),
    }
}

fn allocate(asked: &Asked<'_>) -> Allocate {
    match asked.text("fallocate") {
        None | Some("native") => Allocate::Native,
        Some("none" | "0") => Allocate::None,
        Some("posix" | "1") => Allocate::Posix,
        Some("keep") => Allocate::Keep,
        Some("truncate") => Allocate::Truncate,
        Some(other) => {
            let hint = experiment::hint(other, ["none", "native", "posix", "keep", "truncate"]);
            asked.fault("fallocate", format!("there is no fallocate {other:?}"), hint);
            Allocate::Native
        }
    }
}

fn advice(asked: &Asked<'_>) -> Advice {
    match asked.text("fadvise_hint") {
        None | Some("1" | "") => Advice::ByPattern,
        Some("0" | "none") => Advice::None,
        Some("sequential") => Advice::Sequential,
        Some("random") => Advice::Random,
        Some(other) => {
            let hint = experiment::hint(other, ["0", "1", "sequential", "random"]);
            asked.fault("fadvise_hint", format!("there is no fadvise_hint {other:?}"), hint);
            Advice::ByPattern
        }
    }
}
