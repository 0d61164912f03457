//! Byte patterns: `0xdeadface"abcd"-12'file'%o`.

use experiment::PatternPiece;

use crate::ReadFile;

/// Maximum length of a pattern, in bytes.
const MAX_BYTES: usize = 512;
const HOW: &str =
    "write hexadecimal digits after 0x, numbers, \"text\" and 'file' in a row, as in 0xff\"abc\"-12";

/// Why a text is no pattern.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("{HOW}")]
    Form,
    #[error("a quotation mark is missing at the end")]
    OpenQuote,
    #[error("after % only o may stand, for the block's offset")]
    NoOffset,
    /// This option's pattern has no offsets.
    #[error("%o is for verify_pattern only")]
    OffsetElsewhere,
    #[error("the pattern has {0} bytes; use at most {MAX_BYTES}")]
    TooLong(usize),
    #[error("{0} does not fit 32 bits; write it in hexadecimal digits after 0x")]
    NumberTooLarge(i64),
    /// A file in it cannot be read.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

/// The pieces of a pattern; `offsets`: `%o` is allowed.
pub(crate) fn pattern(
    text: &str,
    file: ReadFile<'_>,
    offsets: bool,
) -> Result<Vec<PatternPiece>, PatternError> {
    let mut pieces: Vec<PatternPiece> = Vec::new();
    let mut rest = text.trim();
    let mut bytes = 0;
    while let Some(first) = rest.chars().next() {
        let piece = match first {
            '"' | '\'' => {
                let (inner, after) = rest[1..].split_once(first).ok_or(PatternError::OpenQuote)?;
                rest = after;
                let content = if first == '"' { inner.as_bytes().to_vec() } else { file(inner)? };
                PatternPiece::Hex(hex(&content[..content.len().min(MAX_BYTES - bytes.min(MAX_BYTES))]))
            }
            '%' => {
                rest = rest.strip_prefix("%o").ok_or(PatternError::NoOffset)?;
                if !offsets {
                    return Err(PatternError::OffsetElsewhere);
                }
                PatternPiece::Offset
            }
            _ => {
                let (digits, after) = number(rest)?;
                rest = after;
                PatternPiece::Hex(digits)
            }
        };
        bytes += match &piece {
            PatternPiece::Hex(digits) => digits.len() / 2,
            PatternPiece::Offset => 8,
        };
        match (pieces.last_mut(), piece) {
            (Some(PatternPiece::Hex(before)), PatternPiece::Hex(digits)) => before.push_str(&digits),
            (_, piece) => pieces.push(piece),
        }
    }
    match bytes {
        0 => Err(PatternError::Form),
        bytes if bytes > MAX_BYTES => Err(PatternError::TooLong(bytes)),
        _ => Ok(pieces),
    }
}

/// The number at the start, as the hexadecimal digits of its bytes, and the rest: digits after 0x are bytes in the
/// given order; a decimal number is little endian, in as few bytes as hold it, or in four if negative.
fn number(text: &str) -> Result<(String, &str), PatternError> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let (digits, after) = digits.split_at(end);
        return match digits.len() {
            0 => Err(PatternError::Form),
            odd if odd % 2 == 1 => Ok((format!("0{}", digits.to_ascii_lowercase()), after)),
            _ => Ok((digits.to_ascii_lowercase(), after)),
        };
    }
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at + sign);
    // The 0 of a following 0x is no digit of this number: -120xff is -12 and 0xff.
    let is_hex = text[end..].starts_with(['x', 'X']) && text[..end].ends_with('0') && end - sign > 1;
    let (number, after) = text.split_at(if is_hex { end - 1 } else { end });
    let number: i64 = number.parse().map_err(|_| PatternError::Form)?;
    if number > i64::from(u32::MAX) || number < i64::from(i32::MIN) {
        return Err(PatternError::NumberTooLarge(number));
    }
    let bytes = (number as u32).to_le_bytes();
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    Ok((hex(&bytes[..used]), after))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_file(_: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    /// What fio 3.33 writes for each.
    #[test]
    fn patterns_have_fios_bytes() {
        for (text, bytes) in [
            ("0xdeadface\"abc\"-12", "deadface616263f4ffffff"),
            ("300", "2c01"),
            ("0xabc", "0abc"),
            ("-12", "f4ffffff"),
            ("-300", "d4feffff"),
            ("0", "00"),
            ("255", "ff"),
            ("\"abcd\"-120xdeadface", "61626364f4ffffffdeadface"),
            ("65536", "000001"),
            ("0xdeadbeefcafe01", "deadbeefcafe01"),
            (r#""a\nb""#, "615c6e62"),
        ] {
            assert_eq!(
                pattern(text, &no_file, false).unwrap(),
                [PatternPiece::Hex(bytes.to_owned())],
                "{text}"
            );
        }
        let with_offset = pattern("0xff%o\"abcd\"-12", &no_file, true).unwrap();
        let hex = |text: &str| PatternPiece::Hex(text.to_owned());
        assert_eq!(with_offset, [hex("ff"), PatternPiece::Offset, hex("61626364f4ffffff")]);
        let file = |name: &str| Ok(name.as_bytes().to_vec());
        assert_eq!(pattern("'ab'1", &file, false).unwrap(), [hex("616201")]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "abc", "\"abc", "%o", "%x", "0x", "4294967296", "-", "'missing'"] {
            assert!(pattern(text, &no_file, false).is_err(), "{text}");
        }
        assert!(pattern(&format!("0x{}", "ab".repeat(513)), &no_file, false).is_err());
    }
}
