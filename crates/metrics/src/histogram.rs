//! Latency histograms: 1 ns to 48 h with three significant digits, mergeable without loss.
//!
//! The range is fixed so that recording never allocates and never fails; the structure is an
//! `HdrHistogram` (Tene, <http://hdrhistogram.org>).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

/// The longest latency kept apart, in nanoseconds (48 hours); longer ones are counted there.
pub const MAX_NS: u64 = 48 * 3600 * 1_000_000_000;

/// A histogram of latencies in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(Hdr<u64>);

/// A serialised histogram could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramError(String);

impl std::fmt::Display for HistogramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the stored histogram cannot be read: {}", self.0)
    }
}

impl std::error::Error for HistogramError {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self(Hdr::new_with_bounds(1, MAX_NS, 3).expect("the bounds are constants that are valid"))
    }

    /// Counts one latency, in nanoseconds.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns);
    }

    /// Adds all that another histogram counted.
    pub fn merge(&mut self, other: &Histogram) {
        if !other.0.is_empty() {
            self.0.add(&other.0).expect("both have the same bounds");
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        // Writing zeros over zeros would make memory resident that was never used.
        if !self.0.is_empty() {
            self.0.reset();
        }
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency in nanoseconds below which the share `quantile` (0 to 1) of all lie; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_quantile(quantile).min(self.max_ns()) }
    }

    /// The longest latency, in nanoseconds, within the resolution; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.max() }
    }

    /// The shortest latency, in nanoseconds, within the resolution; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    /// The mean latency in nanoseconds; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() }
    }

    /// Each latency that was counted, as its histogram keeps it, and how often; in rising order, in nanoseconds.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// The portable binary form (`HdrHistogram` V2).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut out).expect("writing to memory cannot fail");
        out
    }

    /// Reads what [`Histogram::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are not a histogram, or hold values that do not fit this one's range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let read = read_any(bytes)?;
        let mut out = Self::new();
        out.0.add(&read).map_err(|e| HistogramError(e.to_string()))?;
        Ok(out)
    }
}

/// The text form is the portable binary form in base64.
impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() {
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
        read_any(&bytes).map(Self).map_err(serde::de::Error::custom)
    }
}

fn read_any(bytes: &[u8]) -> Result<Hdr<u64>, HistogramError> {
    let mut bytes = std::io::Cursor::new(bytes);
    Deserializer::new().deserialize(&mut bytes).map_err(|e| HistogramError(e.to_string()))
}

/// The portable form says its length and its bounds (digits, lowest and highest value) at fixed places. Other ones may ask for
/// any amount of memory.
fn has_own_bounds(bytes: &[u8]) -> bool {
    const HEADER: usize = 40;
    const LENGTH: std::ops::Range<usize> = 4..8;
    const BOUNDS: std::ops::Range<usize> = 12..32;
    static OWN: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let own = OWN.get_or_init(|| Histogram::new().to_bytes());
    let length = bytes.len().checked_sub(HEADER).and_then(|length| u32::try_from(length).ok());
    length.is_some_and(|length| bytes[LENGTH] == length.to_be_bytes() && bytes[BOUNDS] == own[BOUNDS])
}
