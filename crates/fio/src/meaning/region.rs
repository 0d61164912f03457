//! Which part of the files is used, and how much data is moved.

use super::asked::Asked;
use experiment::{Amount, FoundFile, Job, JobFiles, Region, Zones};

/// The region. `least_block`: the smallest block used, in bytes.
pub(crate) fn region(asked: &Asked<'_>, files: &JobFiles, least_block: u64) -> Region {
    let offset = asked.amount("offset").unwrap_or_default();
    let aligned = matches!(offset, Amount::Percent(_));
    let size = asked.amount("size").unwrap_or_default();
    let io_bytes = asked.amount("io_size").unwrap_or_default();
    // With file sizes, `size` becomes the amount of data to move.
    let (size, io_bytes) = match (files.bytes, size, io_bytes) {
        (1.., Amount::Bytes(bytes), Amount::Bytes(0)) => (Amount::Bytes(0), Amount::Bytes(bytes)),
        (1.., Amount::Bytes(_), given) => (Amount::Bytes(0), given),
        _ => (size, io_bytes),
    };
    Region {
        offset,
        offset_increment: asked.amount("offset_increment").unwrap_or_default(),
        offset_align: if aligned {
            asked.number("offset_align").filter(|align| *align > 0).unwrap_or(least_block)
        } else {
            0
        },
        size,
        io_bytes,
        operations: asked.number("number_ios").unwrap_or(0),
        fill_device: asked.flag("fill_device"),
        zones: zones(asked),
    }
}

fn zones(asked: &Asked<'_>) -> Option<Zones> {
    let bytes = asked.number("zonesize").unwrap_or(0);
    let range = asked.number("zonerange").unwrap_or(0);
    let skip = asked.number("zoneskip").unwrap_or(0);
    match asked.text("zonemode") {
        Some("strided") => {}
        None | Some("none") => {
            if bytes > 0 {
                let text = "zonesize is given, but zonemode is none";
                asked.fault("zonesize", text, "add zonemode=strided, or take zonesize out");
            }
            return None;
        }
        Some("zbd") => {
            let hint = "use a plain device, or zonemode=strided";
            asked.fault("zonemode", "zoned block devices are not supported (zonemode=zbd)", hint);
            return None;
        }
        Some(other) => {
            let hint = experiment::hint(other, ["none", "strided"]);
            asked.fault("zonemode", format!("there is no zonemode {other:?}"), hint);
            return None;
        }
    }
    if bytes == 0 {
        asked.fault("zonemode", "zonemode=strided needs zonesize", "add zonesize, in bytes");
        return None;
    }
    Some(Zones { bytes, range: if range == 0 { bytes } else { range }, skip })
}

/// With explicit file sizes, `size` moves at most what the files hold.
pub(crate) fn within_files(asked: &Asked<'_>, job: &mut Job, clones: u32) {
    let Amount::Bytes(bytes) = job.region.io_bytes else { return };
    if job.files.bytes == 0 || asked.has("io_size") || bytes == 0 {
        return;
    }
    let held = |number: u32| -> u64 {
        let parts = (0..job.files.per_worker()).map(|file| job.part(number, file, FoundFile::default()));
        parts.map(|part| part.map_or(0, |part| part.length)).sum()
    };
    if (0..clones).all(|number| bytes >= held(number)) {
        job.region.io_bytes = Amount::Bytes(0);
    }
}

/// Checks sizes and blocks for contradictions.
pub(crate) fn check(asked: &Asked<'_>, region: &Region, files: &JobFiles, least_block: u64) {
    let too_small = |name: &'static str, bytes: u64| {
        let text = format!(
            "{name} is smaller than a block: {bytes} bytes, and the smallest block has {least_block}"
        );
        asked.fault(name, text, "use a larger size or a smaller bs");
    };
    match asked.amount("size") {
        Some(Amount::Bytes(bytes)) if bytes > 0 && bytes < least_block && files.bytes == 0 => {
            too_small("size", bytes);
        }
        _ => {}
    }
    let largest = files.most_bytes.max(files.bytes);
    if files.bytes > 0 && largest < least_block {
        too_small("filesize", largest);
    }
    if let (Amount::Percent(percent), "size") = (region.size, "size")
        && percent == 0.0
    {
        asked.fault("size", "size is 0 %", "write a percentage above 0");
    }
    if files.layout.append && asked.has("offset") {
        asked.fault("file_append", "file_append and offset both say where writes begin", "take one out");
    }
}
