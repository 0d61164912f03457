//! Values with several parts: one each for reads, writes and trims; ranges; lists.

use super::ValueError;
use super::number::{integer, percent};
use super::time::time;
use experiment::Amount;

/// One value each for reads, writes and trims; `None` where the text keeps the previous value.
pub type Triple<T> = [Option<T>; 3];

/// One to three parts separated by commas: `8k` applies to all, `8k,32k` to reads and to writes and trims, `8k,32k,`
/// leaves trims unchanged, `,8k` leaves reads unchanged.
fn triple<T: Copy>(
    text: &str,
    read: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Triple<T>, ValueError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    // A trailing comma ends the list.
    let (parts, closed) = match parts.as_slice() {
        [parts @ .., ""] => (parts.to_vec(), true),
        _ => (parts, false),
    };
    if parts.len() > 3 {
        return Err(ValueError::TooManyDirections);
    }
    if parts.iter().all(|part| part.is_empty()) {
        return Err(ValueError::Missing);
    }
    let mut values = [None; 3];
    for (value, part) in values.iter_mut().zip(&parts) {
        if !part.is_empty() {
            *value = Some(read(part)?);
        }
    }
    if !closed {
        let last = parts.len() - 1;
        for index in parts.len()..3 {
            values[index] = values[last];
        }
    }
    Ok(values)
}

/// Integers for reads, writes and trims. As in fio, `:` and `-` separate them as well as commas.
///
/// # Errors
/// How to write it.
pub fn integers(text: &str, kb_base: u32) -> Result<Triple<i64>, ValueError> {
    let text = text.trim();
    let mut depth = 0i32;
    let with_commas: String = text
        .char_indices()
        .map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            let follows =
                text[..at].chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric() || c == ')');
            if depth == 0 && (c == ':' || c == '-' && follows) { ',' } else { c }
        })
        .collect();
    triple(&with_commas, |part| integer(part, kb_base))
}

/// Durations in microseconds, for reads, writes and trims.
///
/// # Errors
/// How to write it.
pub fn times(text: &str, unit_us: u64) -> Result<Triple<u64>, ValueError> {
    triple(text, |part| time(part, unit_us))
}

/// A size in bytes, or a percentage.
///
/// # Errors
/// How to write it.
pub fn amount(text: &str, kb_base: u32) -> Result<Amount, ValueError> {
    if let Some(percent) = percent(text)? {
        return Ok(Amount::Percent(percent));
    }
    let bytes = integer(text, kb_base)?;
    u64::try_from(bytes).map(Amount::Bytes).map_err(|_| ValueError::NegativeSize)
}

/// Two sizes separated by `-` or `:`, the smaller first, or one that is both.
///
/// # Errors
/// How to write it.
pub fn range(text: &str, kb_base: u32) -> Result<(u64, u64), ValueError> {
    let size = |part: &str| {
        let bytes = integer(part, kb_base)?;
        u64::try_from(bytes).map_err(|_| ValueError::NegativeSize)
    };
    let text = text.trim();
    let mut depth = 0i32;
    let separator = text.char_indices().find(|(at, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0 && *at > 0 && matches!(c, '-' | ':')
    });
    let Some((at, _)) = separator else {
        let both = size(text)?;
        return Ok((both, both));
    };
    let (first, second) = (size(&text[..at])?, size(&text[at + 1..])?);
    Ok((first.min(second), first.max(second)))
}

/// Ranges of sizes for reads, writes and trims, separated by `,` or `/` outside parentheses.
///
/// # Errors
/// How to write it.
pub fn ranges(text: &str, kb_base: u32) -> Result<Triple<(u64, u64)>, ValueError> {
    let mut depth = 0i32;
    let with_commas: String = text
        .chars()
        .map(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 && c == '/' { ',' } else { c }
        })
        .collect();
    triple(&with_commas, |part| range(part, kb_base))
}

/// Numbers separated by `:`; a `%` after one is dropped.
///
/// # Errors
/// How to write it.
pub fn floats(text: &str) -> Result<Vec<f64>, ValueError> {
    text.split(':')
        .map(|part| {
            let number = part.trim();
            let number = number.strip_suffix('%').unwrap_or(number);
            match number.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(ValueError::NoFloat(part.to_owned())),
            }
        })
        .collect()
}

/// Names separated by `:`; `\:` is a colon within a name. Empty names are skipped.
pub fn names(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                all.last_mut().expect("there is one").push(':');
            }
            ':' => all.push(String::new()),
            other => all.last_mut().expect("there is one").push(other),
        }
    }
    all.retain(|name| !name.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_for_directions_are_filled_as_the_howto_says() {
        let k = |n: i64| Some(n * 1024);
        for (text, values) in [
            ("256k", [k(256), k(256), k(256)]),
            ("8k,32k", [k(8), k(32), k(32)]),
            ("8k,32k,", [k(8), k(32), None]),
            (",8k", [None, k(8), k(8)]),
            (",8k,", [None, k(8), None]),
            ("8k,", [k(8), None, None]),
            ("8k,,16k", [k(8), None, k(16)]),
            ("1k:2k:3k", [k(1), k(2), k(3)]),
            ("1k-2k", [k(1), k(2), k(2)]),
            ("(2*4k),(9k-1k)", [k(8), k(8), k(8)]),
        ] {
            assert_eq!(integers(text, 1024), Ok(values), "{text}");
        }
        for text in ["", ",", "1k,2k,3k,4k", "x", "1k;2k"] {
            assert!(integers(text, 1024).is_err(), "{text}");
        }
        assert_eq!(integers("-5", 1024), Ok([Some(-5); 3]));
    }

    #[test]
    fn ranges_and_amounts() {
        assert_eq!(range("4k-1k", 1024), Ok((1024, 4096)));
        assert_eq!(range("1k:4k", 1024), Ok((1024, 4096)));
        assert_eq!(range("(1k)-(5k-1k)", 1024), Ok((1024, 4096)));
        assert_eq!(range("1k", 1024), Ok((1024, 1024)));
        let both = [Some((1024, 4096)), Some((8192, 32768)), Some((8192, 32768))];
        assert_eq!(ranges("1k-4k/8k-32k", 1024), Ok(both));
        assert_eq!(ranges("1k-4k,8k-32k", 1024), Ok(both));
        for text in ["-1k-4k", "4k-", "1k - ", ""] {
            assert!(range(text, 1024).is_err(), "{text}");
        }
        assert_eq!(amount("50%", 1024), Ok(Amount::Percent(50.0)));
        assert_eq!(amount("1k", 1000), Ok(Amount::Bytes(1000)));
        assert!(amount("150%", 1024).is_err() && amount("-1", 1024).is_err());
    }

    #[test]
    fn colons_in_names_are_escaped() {
        assert_eq!(names("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(names(r"/dev/foo@3,0\:c:b"), ["/dev/foo@3,0:c", "b"]);
        assert!(names("::").is_empty());
        assert_eq!(floats("1:2.5:99.9%"), Ok(vec![1.0, 2.5, 99.9]));
        assert!(floats("a:b").is_err() && floats("inf").is_err());
    }
}
