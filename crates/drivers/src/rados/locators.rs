//! Objects on chosen OSDs. RADOS hashes an object's locator, where it has one, in place of its name, and the hash says which
//! placement group holds it; so objects get the locators of those groups whose primary OSD has a certain address.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::ErrorKind;
use serde::Deserialize;
use serde_json::json;

use super::client::{RadosClient, c_text};
use super::config::RadosConfig;
use super::osd_map::OsdMap;
use crate::failure::Failure;

/// Max number of locators: enough for many OSDs behind one address.
const MAX_LOCATORS: usize = 256;
/// Max number of texts whose placement groups the monitors are asked for.
const MAX_ASKED: u32 = 8192;

/// The locators of placement groups with their primary OSDs at one address, one for each group.
#[derive(Debug)]
pub(super) struct Locators(Box<[CString]>);

#[derive(Deserialize)]
struct Placement {
    pgid: String,
    acting_primary: i64,
}

#[derive(Deserialize)]
struct Groups {
    pg_num: usize,
}

impl Locators {
    /// The locator of an object of ours.
    #[inline]
    pub(super) fn of(&self, object: u64) -> &CStr {
        // Objects of a worker have neighbouring numbers or a stride between them; both reach every group.
        let mixed = object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.0[mixed as usize % self.0.len()]
    }

    /// Asks the monitors for the groups of texts until each group was met, or enough of those that are wanted.
    fn find(client: &RadosClient, config: &RadosConfig, primary: IpAddr) -> Result<Self, Failure> {
        let map: OsdMap = client.ask(json!({"prefix": "osd dump"}))?;
        let Some(osds) = map.up_at(primary) else {
            let text = format!(
                "no OSD that is up has the public address {primary}; next: name one of {}",
                map.listed()
            );
            return Err(Failure::new(ErrorKind::NotFound, text));
        };
        let groups: Groups =
            client.ask(json!({"prefix": "osd pool get", "pool": config.pool, "var": "pg_num"}))?;
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for number in 0..MAX_ASKED {
            if seen.len() >= groups.pg_num || found.len() >= MAX_LOCATORS {
                break;
            }
            let text = number.to_string();
            // The namespace is hashed too.
            let placement: Placement = client.ask(json!({
                "prefix": "osd map", "pool": config.pool, "object": text, "nspace": config.namespace,
            }))?;
            let is_there = u32::try_from(placement.acting_primary).is_ok_and(|osd| osds.contains(&osd));
            if seen.insert(placement.pgid) && is_there {
                found.push(c_text(text)?);
            }
        }
        match found.is_empty() {
            true => Err(Failure::new(
                ErrorKind::NotFound,
                format!(
                    "none of the pool's {} placement groups has its primary OSD at {primary}; next: give the pool more \
                     placement groups, or choose OSDs that its CRUSH rule uses",
                    groups.pg_num
                ),
            )),
            false => Ok(Self(found.into())),
        }
    }
}

/// The locators of a driver, found once for all of its sessions.
#[derive(Debug, Default)]
pub(super) struct SharedLocators(Mutex<Option<Arc<Locators>>>);

impl SharedLocators {
    /// The locators; `None` if the configuration wants objects on all OSDs. Blocks.
    ///
    /// # Errors
    /// The monitors cannot be asked, or no placement group fits.
    pub(super) fn get(
        &self,
        config: &RadosConfig,
        limit: Duration,
    ) -> Result<Option<Arc<Locators>>, Failure> {
        let Some(primary) = config.primary_address else { return Ok(None) };
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_none() {
            let client = RadosClient::connect(config, limit, Some(limit))?;
            *found = Some(Arc::new(Locators::find(&client, config, primary)?));
        }
        Ok(found.clone())
    }
}
