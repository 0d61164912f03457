//! Values as fio reads them.

/// A whole number with suffix.
///
/// # Errors
/// How to write it.
pub fn integer(text: &str, _kb_base: u32) -> Result<i64, String> {
    text.trim().parse().map_err(|_| "write a whole number such as 4k, 0x1000 or (2*4k)".to_owned())
}
