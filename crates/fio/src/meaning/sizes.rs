//! Block sizes: `bs`, `bsrange`, `bssplit`, and block alignment.

use super::asked::{Asked, whole};
use super::lists::{ends, outside_brackets};
use super::numbers::percent;
use crate::values::ValueError;
use experiment::WeightedSize;
use experiment::{BlockSizes, Directions, SizeChoice};

/// Default block size, in bytes.
pub(crate) const USUAL_BYTES: u64 = 4096;
/// Maximum sizes in a split.
const MAX_SIZES: usize = 64;

/// Sizes for each direction: a split overrides a range, a range overrides a size.
pub(crate) fn block_sizes(asked: &Asked<'_>) -> BlockSizes {
    let fixed = asked.directions("bs", |setting, text| match whole(text, setting.kb_base)? {
        0 => Err(ValueError::Form("write a size of at least one byte")),
        bytes => Ok(SizeChoice::Fixed(bytes)),
    });
    let ranges = ranges(asked);
    let splits = asked.directions("bssplit", |setting, text| split(text, setting.kb_base));
    let choose = |split: Option<SizeChoice>, range: Option<SizeChoice>, fixed: Option<SizeChoice>| {
        split.or(range).or(fixed).unwrap_or(SizeChoice::Fixed(USUAL_BYTES))
    };
    let sizes = Directions {
        read: choose(splits.read, ranges.read, fixed.read),
        write: choose(splits.write, ranges.write, fixed.write),
        trim: choose(splits.trim, ranges.trim, fixed.trim),
    };
    let align = asked.directions("ba", |setting, text| match whole(text, setting.kb_base)? {
        0 => Err(ValueError::Form("write an alignment of at least one byte")),
        bytes => Ok(bytes),
    });
    BlockSizes {
        sizes,
        align: Directions {
            read: align.read.unwrap_or(0),
            write: align.write.unwrap_or(0),
            trim: align.trim.unwrap_or(0),
        },
        unaligned: asked.flag("bs_unaligned"),
    }
}

/// Ranges; a `/` may separate them instead of a comma.
fn ranges(asked: &Asked<'_>) -> Directions<Option<SizeChoice>> {
    let range = |text: &str, kb_base: u32| {
        let (low, high) = ends(text);
        let (low, high) = (whole(low, kb_base)?, whole(high, kb_base)?);
        let (least, most) = (low.min(high), low.max(high));
        match least {
            0 => Err(ValueError::Form("write sizes of at least one byte, as in 1k-4k")),
            _ if least == most => Ok(SizeChoice::Fixed(least)),
            _ => Ok(SizeChoice::Range { least, most }),
        }
    };
    let mut found = asked.directions("bsrange", |setting, text| match text.split_once('/') {
        Some((first, _)) => range(first, setting.kb_base),
        None => range(text, setting.kb_base),
    });
    if let Some(setting) = asked.setting("bsrange") {
        let sets: Vec<&str> = outside_brackets(&setting.value, &['/']);
        let later = |index: usize| {
            let text = sets.get(index).or(sets.last())?;
            asked.read(setting, text, |text| range(text, setting.kb_base))
        };
        if sets.len() > 1 {
            found.write = later(1);
            found.trim = later(2);
        }
    }
    found
}

/// Why a text is no list of sizes and shares.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
enum SplitError {
    #[error("{HOW}")]
    Form,
    /// None, or too many.
    #[error("{HOW}, at most {MAX_SIZES}")]
    Count,
    #[error("the percentages add up to {0}; make it 100")]
    Sum(f64),
}

const HOW: &str = "write SIZE/PERCENT:…, as in 4k/10:64k/50:32k/40";

/// `4k/10:64k/50:32k/`: sizes with an empty share divide the remainder; if there are none, it goes to the last.
fn split(text: &str, kb_base: u32) -> Result<SizeChoice, SplitError> {
    let mut sizes: Vec<(u64, Option<f64>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let bytes = whole(size, kb_base).ok().filter(|bytes| *bytes > 0).ok_or(SplitError::Form)?;
        let share = match share.trim() {
            "" => None,
            share => {
                let share = percent(share).map_err(|_| SplitError::Form)?;
                Some(share).filter(|share| (0.0..=100.0).contains(share)).ok_or(SplitError::Form)?.into()
            }
        };
        sizes.push((bytes, share));
    }
    if sizes.is_empty() || sizes.len() > MAX_SIZES {
        return Err(SplitError::Count);
    }
    let given: f64 = sizes.iter().filter_map(|size| size.1).sum();
    if given > 100.001 {
        return Err(SplitError::Sum(given));
    }
    let rest = (100.0 - given).max(0.0);
    let blanks = sizes.iter().filter(|size| size.1.is_none()).count();
    let last = sizes.len() - 1;
    let sizes = sizes.into_iter().enumerate().map(|(index, (bytes, share))| {
        let weight = match share {
            None => rest / blanks as f64,
            Some(share) if blanks == 0 && index == last => share + rest,
            Some(share) => share,
        };
        WeightedSize { bytes, weight: weight / 100.0 }
    });
    let sizes: Vec<WeightedSize> = sizes.filter(|size| size.weight > 0.0).collect();
    match sizes.as_slice() {
        [only] => Ok(SizeChoice::Fixed(only.bytes)),
        _ => Ok(SizeChoice::Split(sizes)),
    }
}

/// The smallest and largest block of the directions in use.
pub(crate) fn extremes(sizes: &BlockSizes, used: &[metrics::OpKind]) -> (u64, u64) {
    let of = |op: &metrics::OpKind| match op {
        metrics::OpKind::Read => &sizes.sizes.read,
        metrics::OpKind::Write => &sizes.sizes.write,
        _ => &sizes.sizes.trim,
    };
    let least = used.iter().map(|op| of(op).least()).min().unwrap_or(USUAL_BYTES);
    let most = used.iter().map(|op| of(op).most()).max().unwrap_or(USUAL_BYTES);
    (least, most)
}
