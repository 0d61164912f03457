//! Latency histograms: 1 ns to 48 h with three significant digits, mergeable without loss.
//!
//! The range is fixed so that recording never fails, and never allocates once the counts are allocated; the structure
//! is an `HdrHistogram` (Tene, <http://hdrhistogram.org>). An empty histogram takes no memory, and a received one takes
//! only what its values need.

use std::borrow::Cow;
use std::cmp::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

/// The longest distinguishable latency, in nanoseconds (48 hours); longer ones are counted as this.
pub const MAX_NS: u64 = 48 * 3600 * 1_000_000_000;

/// Maximum number of values kept as a list: 128 KiB, compared with 312 KiB for all counts.
const MAX_LISTED: usize = 8192;

/// A histogram of latencies in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Counts);

/// How the counts are stored. All forms behave the same from outside.
#[derive(Clone, Debug, Default)]
enum Counts {
    /// No counts.
    #[default]
    Nothing,
    /// Values in ascending order at the histogram's resolution, each with its count. Used for the histograms of many
    /// hosts.
    Listed(Vec<(u64, u64)>),
    /// Counts for every possible value: the form for recording.
    All(Box<Hdr<u64>>),
}

/// A serialised histogram could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramError(String);

impl std::fmt::Display for HistogramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the stored histogram cannot be read: {}", self.0)
    }
}

impl std::error::Error for HistogramError {}

/// Allocates counts for every possible value.
fn room() -> Box<Hdr<u64>> {
    Box::new(Hdr::new_with_bounds(1, MAX_NS, 3).expect("the bounds are constants that are valid"))
}

/// The same values with counts for every possible value.
fn listed(values: &[(u64, u64)]) -> Box<Hdr<u64>> {
    let mut all = room();
    for (value, count) in values {
        all.saturating_record_n(*value, *count);
    }
    all
}

/// Merges two lists; both are in ascending order.
fn merged(one: &[(u64, u64)], other: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sum = Vec::with_capacity(one.len().max(other.len()));
    let (mut one, mut other) = (one, other);
    while let ([a, one_left @ ..], [b, other_left @ ..]) = (one, other) {
        match a.0.cmp(&b.0) {
            Ordering::Less => {
                sum.push(*a);
                one = one_left;
            }
            Ordering::Greater => {
                sum.push(*b);
                other = other_left;
            }
            Ordering::Equal => {
                sum.push((a.0, a.1.saturating_add(b.1)));
                (one, other) = (one_left, other_left);
            }
        }
    }
    sum.extend_from_slice(one);
    sum.extend_from_slice(other);
    sum
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.counts().eq(other.counts())
    }
}

impl Histogram {
    /// An empty histogram, which takes no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty histogram with all counts allocated, so that recording allocates nothing.
    pub fn with_room() -> Self {
        Self(Counts::All(room()))
    }

    /// Counts one latency, in nanoseconds. The first one allocates the counts if necessary.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        match &mut self.0 {
            Counts::All(all) => all.saturating_record(latency_ns),
            _ => self.make_room().saturating_record(latency_ns),
        }
    }

    #[cold]
    fn make_room(&mut self) -> &mut Hdr<u64> {
        let all = match std::mem::take(&mut self.0) {
            Counts::Nothing => room(),
            Counts::Listed(values) => listed(&values),
            Counts::All(all) => all,
        };
        self.0 = Counts::All(all);
        match &mut self.0 {
            Counts::All(all) => all,
            Counts::Nothing | Counts::Listed(_) => unreachable!("there is room now"),
        }
    }

    /// Adds everything that another histogram counted.
    pub fn merge(&mut self, other: &Histogram) {
        match (&mut self.0, &other.0) {
            (_, Counts::Nothing) => {}
            (_, Counts::All(theirs)) if theirs.is_empty() => {}
            (Counts::All(mine), Counts::All(theirs)) => {
                mine.add(&**theirs).expect("both have the same bounds");
            }
            (Counts::All(mine), Counts::Listed(values)) => {
                values.iter().for_each(|(value, count)| mine.saturating_record_n(*value, *count));
            }
            (Counts::Nothing, theirs) => self.0 = theirs.clone(),
            (Counts::Listed(mine), Counts::Listed(theirs)) => {
                let mut sum = merged(mine, theirs);
                sum.shrink_to_fit();
                let long = sum.len() > MAX_LISTED;
                self.0 = Counts::Listed(sum);
                if long {
                    self.make_room();
                }
            }
            (Counts::Listed(_), Counts::All(theirs)) => {
                self.make_room().add(&**theirs).expect("both have the same bounds");
            }
        }
    }

    /// Resets everything, keeping the memory.
    pub fn clear(&mut self) {
        match &mut self.0 {
            // Writing zeros over zeros would make untouched memory resident.
            Counts::All(all) if !all.is_empty() => all.reset(),
            Counts::Listed(values) => values.clear(),
            Counts::All(_) | Counts::Nothing => {}
        }
    }

    /// The same in a form that can be queried.
    fn all(&self) -> Option<Cow<'_, Hdr<u64>>> {
        match &self.0 {
            Counts::Nothing => None,
            Counts::Listed(values) => (!values.is_empty()).then(|| Cow::Owned(*listed(values))),
            Counts::All(all) => (!all.is_empty()).then_some(Cow::Borrowed(&**all)),
        }
    }

    /// Number of latencies counted.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Nothing => 0,
            Counts::Listed(values) => {
                values.iter().fold(0, |sum: u64, (_, count)| sum.saturating_add(*count))
            }
            Counts::All(all) => all.len(),
        }
    }

    /// The latency in nanoseconds below which the share `quantile` (0 to 1) of all lie; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.all().map_or(0, |all| all.value_at_quantile(quantile).min(all.max()))
    }

    /// The longest latency, in nanoseconds, within the resolution; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.all().map_or(0, |all| all.max())
    }

    /// The shortest latency, in nanoseconds, within the resolution; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        self.all().map_or(0, |all| all.min())
    }

    /// The mean latency in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        self.all().map_or(0.0, |all| all.mean())
    }

    /// Each latency at the histogram's resolution, in nanoseconds, with its count; in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (listed, all) = match &self.0 {
            Counts::Nothing => (None, None),
            Counts::Listed(values) => (Some(values), None),
            Counts::All(all) => (None, Some(all)),
        };
        let steps = all.into_iter().flat_map(|all| all.iter_recorded());
        let steps = steps.map(|step| (step.value_iterated_to(), step.count_at_value()));
        listed.into_iter().flatten().copied().chain(steps)
    }

    /// The portable binary form (`HdrHistogram` V2).
    pub fn to_bytes(&self) -> Vec<u8> {
        let all = self.all().unwrap_or_else(|| Cow::Owned(*room()));
        let mut out = Vec::new();
        V2Serializer::new().serialize(&all, &mut out).expect("writing to memory cannot fail");
        out
    }

    /// The same in no more memory than its values need.
    #[must_use]
    pub fn packed(self) -> Self {
        let Counts::All(_) = &self.0 else { return self };
        let mut values = Vec::with_capacity(self.counts().count());
        values.extend(self.counts());
        if values.len() > MAX_LISTED { self } else { Self(Counts::Listed(values)) }
    }

    /// Reads the output of [`Histogram::to_bytes`].
    ///
    /// # Errors
    /// If the bytes are not a histogram, or hold values outside this one's range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let read = read_any(bytes)?;
        let mut all = room();
        all.add(&read).map_err(|e| HistogramError(e.to_string()))?;
        Ok(Self(Counts::All(all)))
    }
}

/// The text form is the portable binary form in base64.
impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.count() == 0 {
            return serializer.serialize_str("");
        }
        serializer.serialize_str(&BASE64.encode(self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(Self::new());
        }
        let bytes = BASE64.decode(text.as_bytes()).map_err(serde::de::Error::custom)?;
        if !has_own_bounds(&bytes) {
            return Err(serde::de::Error::custom("a histogram of other bounds"));
        }
        let values = read_listed(&bytes).map_err(serde::de::Error::custom)?;
        if values.len() <= MAX_LISTED {
            return Ok(Self(Counts::Listed(values)));
        }
        Ok(Self(Counts::All(listed(&values))))
    }
}

fn read_any(bytes: &[u8]) -> Result<Hdr<u64>, HistogramError> {
    let mut bytes = std::io::Cursor::new(bytes);
    Deserializer::new().deserialize(&mut bytes).map_err(|e| HistogramError(e.to_string()))
}

/// Sub-buckets of the first bucket, and of each further one: required for three significant digits.
const FIRST: u64 = 2048;
const EACH: u64 = FIRST / 2;

/// The counts of the portable form with our own bounds, without counts for every value: a thousand hosts send them
/// every second. They are zigzag LEB128 numbers of at most nine bytes; a negative one is a run of zeros (HdrHistogram,
/// V2 encoding).
fn read_listed(bytes: &[u8]) -> Result<Vec<(u64, u64)>, HistogramError> {
    let wrong = |text: &str| HistogramError(text.to_owned());
    let mut payload = bytes[HEADER..].iter();
    let (mut values, mut index) = (Vec::new(), 0_u64);
    while !payload.as_slice().is_empty() {
        let mut raw = 0_u64;
        for at in 0..9 {
            let byte = *payload.next().ok_or_else(|| wrong("it ends within a number"))?;
            let bits = if at == 8 { byte } else { byte & 0x7F };
            raw |= u64::from(bits) << (7 * at);
            if byte & 0x80 == 0 {
                break;
            }
        }
        let number = (raw >> 1) as i64 ^ -((raw & 1) as i64);
        if number < 0 {
            index = index.saturating_add(number.unsigned_abs());
            continue;
        }
        let value = highest_of(index).filter(|value| *value <= highest_of_all());
        let value = value.ok_or_else(|| wrong("it counts a value beyond its bounds"))?;
        if number > 0 {
            values.push((value, number.unsigned_abs()));
        }
        index += 1;
    }
    values.shrink_to_fit();
    Ok(values)
}

/// The highest value counted at an index: each bucket is twice as wide as the one before.
fn highest_of(index: u64) -> Option<u64> {
    if index < FIRST {
        return Some(index);
    }
    let bucket = u32::try_from(index / EACH - 1).ok().filter(|bucket| *bucket < 48)?;
    let within = index % EACH + EACH;
    Some(((within + 1) << bucket) - 1)
}

/// The highest countable value, rounded up to the resolution.
fn highest_of_all() -> u64 {
    MAX_NS.next_power_of_two() - 1
}

/// Length of the portable form's header.
const HEADER: usize = 40;

/// Whether the portable form has our own bounds. It states its length and bounds (digits, lowest and highest value) at
/// fixed offsets. Other bounds could demand any amount of memory.
fn has_own_bounds(bytes: &[u8]) -> bool {
    const START: std::ops::Range<usize> = 0..4;
    const SHIFT: std::ops::Range<usize> = 8..12;
    const LENGTH: std::ops::Range<usize> = 4..8;
    const BOUNDS: std::ops::Range<usize> = 12..32;
    static OWN: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let own = OWN.get_or_init(|| Histogram::new().to_bytes());
    let length = bytes.len().checked_sub(HEADER).and_then(|length| u32::try_from(length).ok());
    let same = |range: std::ops::Range<usize>| bytes[range.clone()] == own[range];
    length.is_some_and(|length| {
        bytes[LENGTH] == length.to_be_bytes() && same(START) && same(SHIFT) && same(BOUNDS)
    })
}
