//! The content of written data.

use super::asked::Asked;
use super::patterns::pattern;
use experiment::{Content, ContentKind};

/// Default chunk size within a block for compression, in bytes.
const USUAL_CHUNK_BYTES: u64 = 512;
/// Default size of a working set, in percent of the region.
const USUAL_SET_PERCENT: f64 = 5.0;

/// The content of written data where no check prescribes it.
pub(crate) fn content(asked: &Asked<'_>) -> Content {
    let kind = match asked.setting("buffer_pattern") {
        Some(setting) => asked
            .read(setting, &setting.value, |text| pattern(text, asked.around.read_file, false))
            .map_or(ContentKind::Fresh, ContentKind::Pattern),
        None if asked.flag("zero_buffers") => ContentKind::Zeros,
        None => ContentKind::Fresh,
    };
    let compress_percent = percent(asked, "buffer_compress_percentage");
    let chunk = asked.number("buffer_compress_chunk");
    let dedupe_percent = percent(asked, "dedupe_percentage");
    let in_set = match asked.text("dedupe_mode") {
        None | Some("repeat") => false,
        Some("working_set") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["repeat", "working_set"]);
            asked.fault("dedupe_mode", format!("there is no dedupe_mode {other:?}"), hint);
            false
        }
    };
    let set = asked.has("dedupe_working_set_percentage");
    Content {
        kind,
        compress_percent,
        chunk_bytes: if compress_percent > 0.0 { chunk.unwrap_or(USUAL_CHUNK_BYTES) } else { 0 },
        dedupe_percent,
        dedupe_set_percent: (in_set && dedupe_percent > 0.0)
            .then(|| if set { percent(asked, "dedupe_working_set_percentage") } else { USUAL_SET_PERCENT }),
    }
}

fn percent(asked: &Asked<'_>, name: &'static str) -> f64 {
    let Some(setting) = asked.setting(name) else { return 0.0 };
    asked.read(setting, &setting.value, super::numbers::share).unwrap_or(0.0)
}
