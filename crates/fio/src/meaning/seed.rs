//! Seeds.

use super::asked::Asked;
use crate::language::values;

/// The seed of jobs whose pattern is to be the same in every run (`randrepeat=1`, which is usual).
pub(crate) const REPEATED_SEED: u64 = 0x6D61_6E6F_6D65_7465;

/// The seed of a section, before each worker mixes its number into it: sections differ, runs do not.
pub(crate) fn of(asked: &Asked<'_>, clones_before: u64) -> u64 {
    base(asked) ^ mixed(clones_before)
}

fn base(asked: &Asked<'_>) -> u64 {
    if let Some(setting) = asked.setting("randseed") {
        let seed = asked.read(setting, &setting.value, |text| values::integer(text, setting.kb_base));
        return seed.unwrap_or(0).cast_unsigned();
    }
    let repeats = asked.flag_or("randrepeat", true) || asked.flag("allrandrepeat");
    if repeats { REPEATED_SEED } else { asked.around.seed }
}

/// Nothing is added for the first.
fn mixed(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
}
