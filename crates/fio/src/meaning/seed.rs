//! Seeds.

use super::asked::Asked;
use crate::language::values;

/// The seed of jobs whose pattern is to be the same in every run (`randrepeat=1`, which is usual).
pub(crate) const REPEATED_SEED: u64 = 1;

/// The seed of a section, before each worker mixes its number into it: sections differ, runs do not. They differ by two, because
/// the lowest bit says in headers of blocks what is around them.
pub(crate) fn of(asked: &Asked<'_>, clones_before: u64) -> u64 {
    base(asked).wrapping_add(2 * clones_before)
}

fn base(asked: &Asked<'_>) -> u64 {
    if let Some(setting) = asked.setting("randseed") {
        let seed = asked.read(setting, &setting.value, |text| values::integer(text, setting.kb_base));
        return seed.unwrap_or(0).cast_unsigned();
    }
    let repeats = asked.flag_or("randrepeat", true) || asked.flag("allrandrepeat");
    if repeats { REPEATED_SEED } else { asked.around.seed }
}
