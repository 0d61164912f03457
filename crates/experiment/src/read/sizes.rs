//! Sizes of files or objects: one, or a distribution.

use content::{SizeDistribution, SizeLaw};

use super::weights;
use crate::known::{LOGNORMAL, SIZE_LAWS, SIZES};
use crate::reader::Fields;
use crate::tree::Value;

/// Max standard deviation of the logarithm of a size: beyond, a few files hold all of the data.
const MAX_SIGMA: f64 = 4.0;

/// How the sizes of files or objects differ: `None` if they do not, if the key is not given, or if it is
/// wrong, which is reported.
pub(super) fn sizes(fields: &Fields<'_>, key: &str, seed: u64) -> Option<SizeDistribution> {
    let reader = fields.reader;
    let node = fields.get(key).filter(|node| matches!(node.value, Value::Map(_)))?;
    let before = reader.log.count();
    let map = Fields::new(reader, key, &format!("{key}."), node.place, [node.clone()]);
    map.check_keys(SIZES);
    let mut laws = node.entries().iter().filter(|entry| SIZE_LAWS.contains(&&*entry.key));
    let (Some(law), None) = (laws.next(), laws.next()) else {
        if reader.log.count() == before {
            let text = format!("{key} as a map has one distribution, and perhaps max");
            reader.fault(&node, text, "write one of exponential, lognormal and shares");
        }
        return None;
    };
    let law = match &*law.key {
        "exponential" => SizeLaw::Exponential { mean_bytes: map.size("exponential", 0) },
        "lognormal" => {
            let lognormal = map.below("lognormal", "lognormal", None);
            lognormal.check_keys(LOGNORMAL);
            for needed in ["median", "sigma"].into_iter().filter(|needed| !lognormal.has(needed)) {
                let text = format!("a lognormal distribution needs its {needed}");
                map.fault("lognormal", text, "write {lognormal: {median: 16KiB, sigma: 1.5}}");
            }
            let wanted = "write a number above 0 and up to 4, such as 1.5";
            let sigma = lognormal
                .get("sigma")
                .and_then(|node| reader.number(&node, wanted, |sigma| sigma > 0.0 && sigma <= MAX_SIGMA));
            SizeLaw::Lognormal { median_bytes: lognormal.size("median", 1), sigma: sigma.unwrap_or(1.0) }
        }
        _ => {
            let table = map.get("shares")?;
            let sizes = weights::sizes_of(reader, &table, "shares: {4KiB: 60%, 64KiB: 40%}")?;
            SizeLaw::Shares(sizes.into_iter().map(|size| (size.bytes, size.weight)).collect())
        }
    };
    let smallest = match &law {
        SizeLaw::Exponential { mean_bytes } => *mean_bytes,
        SizeLaw::Lognormal { median_bytes, .. } => *median_bytes,
        SizeLaw::Shares(sizes) => sizes.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0),
    };
    let limit_bytes = map.has("max").then(|| map.size("max", 1));
    if reader.log.count() == before && (smallest == 0 || limit_bytes == Some(0)) {
        reader.fault(&node, "a size of no bytes holds nothing", "write sizes such as 4KiB");
    }
    (reader.log.count() == before).then_some(SizeDistribution { law, limit_bytes, seed })
}
