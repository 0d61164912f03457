//! Access keys given in job files, for engines with options for them.

use std::collections::BTreeMap;

use targets::AccessKey;

use super::engines::target_name;
use crate::language::settings::engine_of;
use crate::{JobScript, find_engine};

/// The access keys in job files, by the name of the target in the plan. Plans never contain them.
pub fn access_keys(script: &JobScript) -> BTreeMap<String, AccessKey> {
    let keys = script.sections.iter().enumerate().filter_map(|(number, section)| {
        let (_, engine) = find_engine(engine_of(section.settings.iter().rev()))?.loads?;
        let options = engine.key_options?;
        let text = |name: &str| section.last(name).map(|setting| setting.value.trim().to_owned());
        let key = AccessKey { id: text(options.id)?, secret: text(options.secret)?, token: None };
        Some((target_name(engine, number), key))
    });
    keys.collect()
}
