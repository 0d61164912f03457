//! Which block or object comes next.

use crate::known::{ACCESS, HOTSPOT};
use crate::plan::Access;
use crate::reader::Fields;
use crate::tree::Value;

/// The access pattern of a workload.
pub(super) fn access(fields: &Fields<'_>) -> Option<Access> {
    let reader = fields.reader;
    let Some(node) = fields.get("access") else { return Some(Access::Random) };
    if !matches!(node.value, Value::Map(_)) {
        return match reader.choice(&node, "access pattern", ACCESS)? {
            "sequential" => Some(Access::Sequential),
            "random" => Some(Access::Random),
            "shuffled" => Some(Access::Shuffled),
            "zipf" => Some(Access::Zipf { theta: 0.99 }),
            "pareto" => Some(Access::Pareto { h: 0.2 }),
            "hotspot" => Some(Access::Hotspot { ops: 0.8, space: 0.2 }),
            _ => {
                reader.fault(&node, "strided needs its stride", "write access: {strided: 1MiB}");
                None
            }
        };
    }
    let entry = reader.only_entry(&node, "access pattern", ACCESS)?;
    match &*entry.key {
        "zipf" => {
            let wanted = "write a number above 0 and up to 10, such as 0.99 or 1.1";
            let theta = reader.number(&entry.node, wanted, |theta| theta > 0.0 && theta <= 10.0)?;
            Some(Access::Zipf { theta })
        }
        "pareto" => {
            let wanted = "write a number between 0 and 1, such as 0.2 for the 80/20 rule";
            let h = reader.number(&entry.node, wanted, |h| h > 0.0 && h < 1.0)?;
            Some(Access::Pareto { h })
        }
        "hotspot" => {
            let before = reader.log.count();
            let hotspot = Fields::new(reader, "hotspot", "access.hotspot.", entry.key_place, [entry.node]);
            hotspot.check_keys(HOTSPOT);
            let (ops, space) = (hotspot.share("ops", 0.8), hotspot.share("space", 0.2));
            if space == 0.0 || space == 1.0 {
                hotspot.fault(
                    "space",
                    "a hot spot is a part of the space",
                    "write a share between 0% and 100%",
                );
            }
            (reader.log.count() == before).then_some(Access::Hotspot { ops, space })
        }
        "strided" => {
            let stride_bytes = reader.size(&entry.node)?;
            if stride_bytes == 0 {
                reader.fault(&entry.node, "a stride of 0 goes nowhere", "write a size such as 1MiB");
                return None;
            }
            Some(Access::Strided { stride_bytes })
        }
        other => {
            reader.log.fault(
                entry.key_place,
                format!("{other} takes no value"),
                format!("write access: {other}"),
            );
            None
        }
    }
}
