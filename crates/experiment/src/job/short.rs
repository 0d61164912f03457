//! Sizes and amounts of a job as text: `4KiB` instead of `{fixed: 4096}`, `50%` instead of `{percent: 50}`.

use std::fmt;

use schemars::Schema;
use serde::de::{self, Deserialize, Deserializer, EnumAccess, VariantAccess, Visitor};
use units::{Share, Size};

use super::{Amount, SizeChoice};
use crate::WeightedSize;

/// The keys of the map form, for messages.
const AMOUNTS: &[&str] = &["bytes", "percent"];
const SIZES: &[&str] = &["fixed", "range", "split"];

/// Allows the text form in the schema of a value.
pub(super) fn or_text(schema: &mut Schema) {
    if let Some(forms) = schema.get_mut("oneOf").and_then(|forms| forms.as_array_mut()) {
        forms.push(serde_json::json!({"type": ["string", "integer"]}));
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Amount", AMOUNTS, AmountVisitor)
    }
}

struct AmountVisitor;

impl<'de> Visitor<'de> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as 64MiB, or a percentage such as 50%")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Amount, A::Error> {
        let (word, value) = data.variant::<String>()?;
        match &*word {
            "bytes" => value.newtype_variant().map(Amount::Bytes),
            "percent" => value.newtype_variant().map(Amount::Percent),
            text => {
                value.unit_variant()?;
                amount(text).ok_or_else(|| de::Error::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
    }
}

/// `64MiB`, `50%`.
fn amount(text: &str) -> Option<Amount> {
    match text.trim().strip_suffix('%') {
        Some(number) => {
            let fits = text.parse::<Share>().is_ok();
            number.trim().parse().ok().filter(|_| fits).map(Amount::Percent)
        }
        None => text.parse().ok().map(|size: Size| Amount::Bytes(size.bytes())),
    }
}

impl<'de> Deserialize<'de> for SizeChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("SizeChoice", SIZES, SizeVisitor)
    }
}

struct SizeVisitor;

/// The ends of a range.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    least: u64,
    most: u64,
}

impl<'de> Visitor<'de> for SizeVisitor {
    type Value = SizeChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as 4KiB, {range: {least: …, most: …}} or {split: [{bytes: …, weight: …}]}")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<SizeChoice, A::Error> {
        let (word, value) = data.variant::<String>()?;
        match &*word {
            "fixed" => value.newtype_variant().map(SizeChoice::Fixed),
            "range" => value.newtype_variant().map(|Ends { least, most }| SizeChoice::Range { least, most }),
            "split" => value.newtype_variant::<Vec<WeightedSize>>().map(SizeChoice::Split),
            text => {
                value.unit_variant()?;
                let size: Result<Size, _> = text.parse();
                size.map(|size| SizeChoice::Fixed(size.bytes()))
                    .map_err(|_| de::Error::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let amount = |text: &str| serde_json::from_str::<Amount>(text);
        assert_eq!(amount(r#""64MiB""#).unwrap(), Amount::Bytes(64 << 20));
        assert_eq!(amount(r#""12.5%""#).unwrap(), Amount::Percent(12.5));
        assert_eq!(amount(r#""512""#).unwrap(), Amount::Bytes(512));
        for written in [Amount::Bytes(7), Amount::Percent(33.3)] {
            assert_eq!(amount(&serde_json::to_string(&written).unwrap()).unwrap(), written);
        }
        for wrong in [r#""120%""#, r#""many""#, r#"{"bits": 1}"#, r#"{"bytes": 1, "percent": 1}"#, "{}", "[]"]
        {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
        let size = |text: &str| serde_json::from_str::<SizeChoice>(text);
        assert_eq!(size(r#""4KiB""#).unwrap(), SizeChoice::Fixed(4096));
        let split = SizeChoice::Split(vec![WeightedSize { bytes: 4096, weight: 0.25 }]);
        for written in [SizeChoice::Fixed(1), SizeChoice::Range { least: 1, most: 2 }, split] {
            assert_eq!(size(&serde_json::to_string(&written).unwrap()).unwrap(), written);
        }
        assert!(size(r#"{"fixed": "x"}"#).is_err() && size(r#"{"one": 1}"#).is_err());
    }
}
