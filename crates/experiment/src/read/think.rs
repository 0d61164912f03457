//! Pauses between operations.

use crate::job::Think;
use crate::known::THINK;
use crate::reader::Fields;

/// The pauses of a workload; `None` if it has none.
pub(super) fn think(fields: &Fields<'_>) -> Option<Think> {
    if !fields.has("think") {
        return None;
    }
    let think = fields.below("think", "think", Some("pause"));
    think.check_keys(THINK);
    if !think.has("pause") {
        fields.fault("think", "think needs the length of its pause", "write think: 1ms, or {pause: 1ms, …}");
    }
    let (pause_s, spin_s) = (think.seconds("pause", 0.0), think.seconds("spin", 0.0));
    if spin_s > pause_s {
        think.fault("spin", "this is longer than the pause", "write a part of the pause");
    }
    let after_s = think.seconds("after_time", 0.0);
    if think.has("after") && after_s > 0.0 {
        think.fault("after", "a pause comes after operations or after a time", "remove after, or after_time");
    }
    let after = think.count("after", 1, u32::MAX, 1);
    // 0 stands for the default, which is omitted when stored.
    let after = if think.has("after") { after } else { 0 };
    (pause_s > 0.0).then_some(Think { pause_s, spin_s, after, count_begun: false, after_s })
}
