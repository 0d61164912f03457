//! A few examples of each kind of error, for error messages.

use metrics::ErrorKind;

/// Maximum number of examples per kind.
pub(crate) const MOST: usize = 3;
/// Maximum length of an example, in bytes.
const LONGEST: usize = 400;

/// The first details of each kind of error; bounded however many errors there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    kept: Vec<(ErrorKind, String)>,
}

impl Samples {
    /// Keeps the detail, unless it is a duplicate or its kind already has enough.
    pub(crate) fn add(&mut self, kind: ErrorKind, detail: &str) {
        let alike = self.kept.iter().filter(|(k, _)| *k == kind);
        if alike.clone().count() >= MOST || alike.clone().any(|(_, kept)| kept == shorten(detail)) {
            return;
        }
        self.kept.push((kind, shorten(detail).to_owned()));
    }

    /// Adds the examples of another worker.
    pub(crate) fn merge(&mut self, other: Samples) {
        for (kind, detail) in other.kept {
            self.add(kind, &detail);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<(ErrorKind, String)> {
        self.kept
    }
}

fn shorten(detail: &str) -> &str {
    &detail[..detail.floor_char_boundary(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_different_few_of_each_kind_are_kept() {
        let mut samples = Samples::default();
        for detail in ["a", "a", "b", "c", "d"] {
            samples.add(ErrorKind::Busy, detail);
        }
        samples.add(ErrorKind::Tls, &"é".repeat(1000));
        let mut other = Samples::default();
        other.add(ErrorKind::Busy, "e");
        other.add(ErrorKind::Stale, "f");
        samples.merge(other);
        let kept = samples.into_vec();
        let of = |kind| kept.iter().filter(|(k, _)| *k == kind).map(|(_, d)| d.as_str()).collect::<Vec<_>>();
        assert_eq!(of(ErrorKind::Busy), ["a", "b", "c"]);
        assert_eq!(of(ErrorKind::Stale), ["f"]);
        assert_eq!(of(ErrorKind::Tls), ["é".repeat(200)]);
    }
}
