//! Seeds.

use super::asked::Asked;
use crate::language::values;

/// Seed of jobs whose pattern is the same in every run (`randrepeat=1`, the default).
pub(crate) const REPEATED_SEED: u64 = 1;

/// The seed of a section, before each worker mixes in its number: it differs between sections, but not between runs.
/// Sections differ by two, because the lowest bit in block headers encodes what surrounds the blocks.
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
