//! What the monitors of a Ceph cluster know about a pool.

use std::fmt;
use std::time::Duration;

use drivers::DriverError;
use drivers::rados::{RadosConfig, RadosDriver, short_version};
use serde_json::Value;

use super::FreeSpace;
use super::place::PATIENCE;

/// What the monitors know about a pool.
pub(super) struct PoolFacts {
    fsid: Option<String>,
    version: Option<String>,
    /// OSDs that are up, of all.
    osds: Option<(u64, u64)>,
    /// Settings of the pool.
    settings: Value,
    /// Bytes that can be written; `None` if that is not known.
    pub(super) available_bytes: Option<u64>,
}

impl PoolFacts {
    /// Asks the monitors.
    pub(super) fn ask(driver: &RadosDriver, limit: Duration) -> Result<Self, DriverError> {
        let name = &driver.config().pool;
        let command = |prefix: &str| serde_json::json!({"prefix": prefix, "format": "json"});
        let mut get = command("osd pool get");
        get["pool"] = name.as_str().into();
        get["var"] = "all".into();
        let commands = [command("fsid"), command("version"), command("osd stat"), get, command("df")];
        let answers = driver.ask(&commands.map(|command| command.to_string()), limit)?;
        let mut answers = answers.into_iter().map(|answer| {
            answer.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or(Value::Null)
        });
        let [fsid, version, osds, settings, df] =
            std::array::from_fn(|_| answers.next().unwrap_or(Value::Null));
        let count = |key: &str| osds[key].as_u64();
        let pools = df["pools"].as_array().into_iter().flatten();
        let own = pools.into_iter().find(|pool| pool["name"] == name.as_str());
        Ok(Self {
            fsid: fsid["fsid"].as_str().map(str::to_owned),
            version: version["version"].as_str().map(|text| short_version(text).to_owned()),
            osds: count("num_up_osds").zip(count("num_osds")),
            // 0 until the manager has statistics.
            available_bytes: own
                .and_then(|pool| pool["stats"]["max_avail"].as_u64())
                .filter(|bytes| *bytes > 0),
            settings,
        })
    }

    /// The same by name, for a result.
    pub(super) fn named(driver: &RadosDriver) -> Vec<(String, String)> {
        let pool = match Self::ask(driver, PATIENCE) {
            Ok(pool) => pool,
            Err(error) => return vec![("cluster".to_owned(), format!("unknown: {}", error.detail))],
        };
        let setting = |key: &str| {
            let value = &pool.settings[key];
            value.as_str().map(str::to_owned).or_else(|| value.as_u64().map(|value| value.to_string()))
        };
        let all = [
            ("pool size", setting("size")),
            ("pool min_size", setting("min_size")),
            ("placement groups", setting("pg_num")),
            ("CRUSH rule", setting("crush_rule")),
            ("erasure code profile", setting("erasure_code_profile")),
            ("compression", setting("compression_mode")),
            ("cluster", pool.fsid),
            ("server", pool.version.map(|version| format!("Ceph {version}"))),
            ("OSDs", pool.osds.map(|(up, all)| format!("{up} up of {all}"))),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Whether each object is spread over OSDs in parts, without replicas.
    pub(super) fn is_erasure_coded(&self) -> bool {
        self.settings["erasure_code_profile"].is_string()
    }

    /// Space for data, if known.
    pub(super) fn space(&self, config: &RadosConfig, holds_data: bool) -> Option<FreeSpace> {
        self.available_bytes.map(|available_bytes| FreeSpace {
            file_system: format!("ceph {} {}", self.fsid.as_deref().unwrap_or_default(), config.pool),
            place: format!("pool {}", config.pool),
            available_bytes,
            holds_data,
        })
    }
}

/// The cluster in a few words.
impl fmt::Display for PoolFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ceph {}", self.version.as_deref().unwrap_or_default())?;
        self.osds.map_or(Ok(()), |(up, all)| write!(f, " with {up} of {all} OSDs up"))
    }
}
