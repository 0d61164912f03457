//! Where the workers of a workload run.

use crate::job::Placement;
use crate::known::PLACEMENT;
use crate::reader::Fields;
use crate::tree::Node;

/// Higher core and node numbers are typing errors.
const MOST: u32 = 1 << 16;

/// The placement of a workload; `None` if it does not give one.
pub(crate) fn placement(fields: &Fields<'_>) -> Option<Placement> {
    if !fields.has("placement") {
        return None;
    }
    let given = fields.below("placement", "placement", Some("cores"));
    given.check_keys(PLACEMENT);
    let near_card = given.choice("numa", &["any", "nic"], "any") == "nic";
    let (cores, numa_nodes) = (numbers(&given, "cores"), numbers(&given, "numa_nodes"));
    if near_card && !(cores.is_empty() && numa_nodes.is_empty()) {
        given.fault("numa", "nic chooses the cores itself", "remove cores and numa_nodes, or numa");
    }
    Some(Placement { cores, numa_nodes, near_card, split_cores: true, ..Placement::default() })
}

/// A number, a range such as `0-7`, several with commas between them, or a list of these.
fn numbers(fields: &Fields<'_>, key: &str) -> Vec<u32> {
    let Some(node) = fields.get(key) else { return Vec::new() };
    let items = fields.reader.list(&node).unwrap_or_default();
    let mut all: Vec<u32> = items.iter().flat_map(|item| of_item(fields, item)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn of_item(fields: &Fields<'_>, item: &Node) -> Vec<u32> {
    const MEND: &str = "write numbers and ranges such as 0-7,16 or [0, 1]";
    let Some(text) = fields.reader.text(item, MEND) else { return Vec::new() };
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (from, until) = part.split_once('-').unwrap_or((part, part));
        match (from.trim().parse::<u32>(), until.trim().parse::<u32>()) {
            (Ok(from), Ok(until)) if from <= until && until < MOST => found.extend(from..=until),
            _ => {
                fields.reader.fault(item, format!("{text:?} are no numbers of cores or nodes"), MEND);
                return Vec::new();
            }
        }
    }
    found
}
