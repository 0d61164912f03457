//! Options of `rados:` for keys of objects (omap) and methods of object classes (exec).

use drivers::rados::{ObjectMethod, OmapShape};
use experiment::OptionKind::{Bytes, Count, Text};
use experiment::{OptionHelp, SyntaxError, TargetOptions};

/// Max length of a method's input as written.
const INPUT_MAX: usize = 8192;
/// What an input in hexadecimal digits begins with.
const HEX: &str = "hex:";
const USUAL_KEYS: u32 = 16;
const USUAL_VALUE_BYTES: u32 = 128;
const USUAL_OUTPUT_BYTES: u32 = 64 << 10;

pub(super) const OMAP_KEYS: OptionHelp = OptionHelp::new(
    "omap_keys",
    // With the largest values these are still less than OSDs accept in one write.
    Count { least: 1, most: 1000 },
    "16",
    "keys that each omap-set sets, and omap-get reads, at most 1,000; every object has the same keys",
);
pub(super) const OMAP_VALUE_SIZE: OptionHelp = OptionHelp::new(
    "omap_value_size",
    Bytes { least: 1, most: 64 << 10 },
    "128B",
    "size of each key's value, at most 64KiB",
);
pub(super) const EXEC_CLASS: OptionHelp = OptionHelp::new(
    "exec_class",
    Text,
    "none",
    "object class whose method exec calls, such as hello; the OSDs must have and allow it",
);
pub(super) const EXEC_METHOD: OptionHelp =
    OptionHelp::new("exec_method", Text, "none", "the method that exec calls, such as say_hello");
pub(super) const EXEC_INPUT: OptionHelp = OptionHelp::checked(
    "exec_input",
    "empty",
    "input of the method: a text, or bytes as hex:00ff; at most 8,192 characters",
    |text| input(text).map(drop),
);
pub(super) const EXEC_OUTPUT_SIZE: OptionHelp = OptionHelp::new(
    "exec_output_size",
    Bytes { least: 1, most: 16 << 20 },
    "64KiB",
    "max size of the output of the method, at most 16MiB; a longer one is an error",
);

/// The keys of a target with these options.
pub(super) fn omap(options: &TargetOptions) -> OmapShape {
    OmapShape {
        keys: options.number(OMAP_KEYS.name).unwrap_or(USUAL_KEYS),
        value_bytes: options.number(OMAP_VALUE_SIZE.name).unwrap_or(USUAL_VALUE_BYTES),
    }
}

/// The method that `exec` calls on a target with these options.
pub(super) fn method(options: &TargetOptions) -> ObjectMethod {
    let text = |help: OptionHelp| options.text(help.name).unwrap_or_default();
    ObjectMethod {
        class: text(EXEC_CLASS).to_owned(),
        method: text(EXEC_METHOD).to_owned(),
        // It was checked when the options were read.
        input: input(text(EXEC_INPUT)).unwrap_or_default(),
        output_bytes: options.number(EXEC_OUTPUT_SIZE.name).unwrap_or(USUAL_OUTPUT_BYTES),
    }
}

/// The bytes of an input.
fn input(text: &str) -> Result<Vec<u8>, SyntaxError> {
    if text.len() > INPUT_MAX {
        return Err(SyntaxError::Form("write at most 8,192 characters"));
    }
    let Some(digits) = text.strip_prefix(HEX) else { return Ok(text.as_bytes().to_vec()) };
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some(value(high)? << 4 | value(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or(SyntaxError::Form("write hex: and two hexadecimal digits for each byte, such as hex:00ff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_a_text_or_bytes() {
        assert_eq!(input("hello").unwrap(), b"hello");
        assert_eq!(input("hex:00fF7a").unwrap(), [0, 255, 0x7a]);
        assert!(input("hex:").unwrap().is_empty() && input("").unwrap().is_empty());
        for wrong in ["hex:0", "hex:0g", "hex:\u{e9}", &"x".repeat(INPUT_MAX + 1)] {
            assert!(input(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_defaults_are_those_that_the_reference_names() {
        for (help, usual) in [
            (OMAP_KEYS, USUAL_KEYS),
            (OMAP_VALUE_SIZE, USUAL_VALUE_BYTES),
            (EXEC_OUTPUT_SIZE, USUAL_OUTPUT_BYTES),
        ] {
            let named = help.read(help.default).unwrap();
            assert_eq!(named, experiment::OptionValue::Number(usual.into()), "{}", help.name);
        }
    }
}
