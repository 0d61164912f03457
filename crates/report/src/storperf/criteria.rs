//! Whether a job passed.

/// `PASS` if every cell is steady. Cells whose names begin with an underscore, such as a warm-up, do not count.
pub fn criteria<'a>(cells: impl IntoIterator<Item = (&'a str, bool)>) -> &'static str {
    let passed = cells.into_iter().all(|(name, steady)| steady || name.starts_with('_'));
    if passed { "PASS" } else { "FAIL" }
}
