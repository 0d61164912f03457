//! Checks that a value is of its option's kind.

use super::{ValueError, amount, floats, integer, integers, percent, range, ranges, time, time_range, times};
use crate::language::options::{FioOption, ValueKind};

/// Checks `value` for this option. `None` means an option without `=`.
///
/// # Errors
/// How to write it.
pub(crate) fn check(option: &FioOption, value: Option<&str>, kb_base: u32) -> Result<(), ValueError> {
    let Some(value) = value else {
        let name = option.name;
        return if option.may_be_alone() { Ok(()) } else { Err(ValueError::NameOnly(name)) };
    };
    if value.is_empty() && option.kind != ValueKind::OptionalText {
        return Err(ValueError::Empty);
    }
    match option.kind {
        ValueKind::Flag | ValueKind::Bool => match integer(value, kb_base) {
            Ok(0 | 1) => Ok(()),
            _ => Err(ValueError::NoFlag),
        },
        ValueKind::Integer(least, most) => match percent(value)? {
            Some(_) if most == 100 => Ok(()),
            _ => within(integer(value, kb_base)?, least, most),
        },
        ValueKind::Integers(least, most) => {
            let text = if most == 100 { value.replace('%', "") } else { value.to_owned() };
            let values = integers(&text, kb_base)?;
            values.into_iter().flatten().try_for_each(|value| within(value, least, most))
        }
        ValueKind::Amount => amount(value, kb_base).map(drop),
        ValueKind::Range => range(value, kb_base).map(drop),
        ValueKind::Ranges => ranges(value, kb_base).map(drop),
        ValueKind::Time(unit_us) => time(value, unit_us).map(drop),
        ValueKind::TimeRange(unit_us) => time_range(value, unit_us).map(drop),
        ValueKind::Times(unit_us) => times(value, unit_us).map(drop),
        ValueKind::Float(least, most) => numbers(value, 1, least, most),
        ValueKind::Floats(count, least, most) => numbers(value, count, least, most),
        ValueKind::Word(words) => word(value, words),
        ValueKind::Words(words) => value.split(',').try_for_each(|part| word(part, words)),
        ValueKind::Text | ValueKind::OptionalText => Ok(()),
    }
}

fn within(value: i64, least: i64, most: i64) -> Result<(), ValueError> {
    if value < least {
        Err(ValueError::BelowLeast(least))
    } else if value > most {
        Err(ValueError::AboveMost(most))
    } else {
        Ok(())
    }
}

fn numbers(text: &str, count: usize, least: f64, most: f64) -> Result<(), ValueError> {
    let values = floats(text)?;
    if values.len() > count {
        return Err(ValueError::TooMany(count));
    }
    match values.iter().find(|value| !(least..=most).contains(*value)) {
        Some(value) => Err(ValueError::Outside { value: *value, least, most }),
        None => Ok(()),
    }
}

fn word(text: &str, words: &'static [&'static str]) -> Result<(), ValueError> {
    let first = text.split(':').next().unwrap_or("").trim();
    if words.contains(&first) {
        Ok(())
    } else {
        Err(ValueError::UnknownWord { word: first.to_owned(), words })
    }
}
