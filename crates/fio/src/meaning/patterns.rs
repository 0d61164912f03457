//! Byte patterns: `0xdeadface"abcd"-12'file'%o`.

use experiment::PatternPiece;

/// Maximum length of a pattern, in bytes.
const MAX_BYTES: usize = 512;
const HOW: &str =
    "write hexadecimal digits after 0x, numbers, \"text\" and 'file' in a row, as in 0xff\"abc\"-12";

/// Reads a file's bytes, or returns why it cannot.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The pieces of a pattern; `offsets`: `%o` is allowed.
pub(crate) fn pattern(text: &str, file: ReadFile<'_>, offsets: bool) -> Result<Vec<PatternPiece>, String> {
    let mut pieces: Vec<PatternPiece> = Vec::new();
    let mut rest = text.trim();
    let mut bytes = 0;
    while let Some(first) = rest.chars().next() {
        let piece = match first {
            '"' | '\'' => {
                let (inner, after) =
                    rest[1..].split_once(first).ok_or("a quotation mark is missing at the end")?;
                rest = after;
                let content = if first == '"' { inner.as_bytes().to_vec() } else { file(inner)? };
                PatternPiece::Hex(hex(&content[..content.len().min(MAX_BYTES - bytes.min(MAX_BYTES))]))
            }
            '%' => {
                rest = rest.strip_prefix("%o").ok_or("after % only o may stand, for the block's offset")?;
                if !offsets {
                    return Err("%o is for verify_pattern only".to_owned());
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
        0 => Err(HOW.to_owned()),
        bytes if bytes > MAX_BYTES => Err(format!("the pattern has {bytes} bytes; use at most {MAX_BYTES}")),
        _ => Ok(pieces),
    }
}

/// The number at the start, as the hexadecimal digits of its bytes, and the rest: digits after 0x are bytes in the
/// given order; a decimal number is little endian, in as few bytes as hold it, or in four if negative.
fn number(text: &str) -> Result<(String, &str), String> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let (digits, after) = digits.split_at(end);
        return match digits.len() {
            0 => Err(HOW.to_owned()),
            odd if odd % 2 == 1 => Ok((format!("0{}", digits.to_ascii_lowercase()), after)),
            _ => Ok((digits.to_ascii_lowercase(), after)),
        };
    }
    let sign = usize::from(text.starts_with(['-', '+']));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at + sign);
    // The 0 of a following 0x is no digit of this number: -120xff is -12 and 0xff.
    let is_hex = text[end..].starts_with(['x', 'X']) && text[..end].ends_with('0') && end - sign > 1;
    let (number, after) = text.split_at(if is_hex { end - 1 } else { end });
    let number: i64 = number.parse().map_err(|_| HOW.to_owned())?;
    if number > i64::from(u32::MAX) || number < i64::from(i32::MIN) {
        return Err(format!("{number} does not fit 32 bits; write it in hexadecimal digits after 0x"));
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

    fn no_file(_: &str) -> Result<Vec<u8>, String> {
        Err("no such file".to_owned())
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
                pattern(text, &no_file, false),
                Ok(vec![PatternPiece::Hex(bytes.to_owned())]),
                "{text}"
            );
        }
        let with_offset = pattern("0xff%o\"abcd\"-12", &no_file, true).unwrap();
        let hex = |text: &str| PatternPiece::Hex(text.to_owned());
        assert_eq!(with_offset, [hex("ff"), PatternPiece::Offset, hex("61626364f4ffffff")]);
        let file = |name: &str| Ok(name.as_bytes().to_vec());
        assert_eq!(pattern("'ab'1", &file, false), Ok(vec![hex("616201")]));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "abc", "\"abc", "%o", "%x", "0x", "4294967296", "-", "'missing'"] {
            assert!(pattern(text, &no_file, false).is_err(), "{text}");
        }
        assert!(pattern(&format!("0x{}", "ab".repeat(513)), &no_file, false).is_err());
    }
}
