//! Whether a data set that was not made by this run is there in full size.

use drivers::{DriverError, Payload};
use engine::DataSet;

use super::place::PATIENCE;
use super::{Opened, TargetError};

/// Looks at the size of every file or object.
pub(super) fn check(opened: &Opened, data_set: &DataSet) -> Result<(), TargetError> {
    let mut found = Found {
        first: data_set.first(),
        items: data_set.objects(),
        bytes: data_set.shape().item_bytes(),
        right: 0,
        wrong: None,
    };
    let listed: Result<(), DriverError> = match opened {
        Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => return Ok(()),
        Opened::File(target) if target.is_device() => return Ok(()),
        Opened::File(target) => target
            .driver
            .files()
            .map(|files| files.iter().for_each(|(number, size)| found.item(*number, *size))),
        Opened::Nfs(target) => target.driver.list_each(PATIENCE, |name, size| found.named(name, size)),
        Opened::S3(target) => target.driver.list_prefix(|key, size| found.named(key, size)).map(drop),
    };
    listed?;
    if found.right == found.items {
        return Ok(());
    }
    let what = match found.wrong {
        Some((number, size)) => format!("{number:016x} has {size} bytes and should have {}", found.bytes),
        None => format!("there are {} of {} with {} bytes", found.right, found.items, found.bytes),
    };
    Err(TargetError::Input(format!("the data set is not complete: {what}; prepare it by `prepare: fill`")))
}

/// How much is read to see of which generation a data set is: enough to meet a block that is no duplicate.
const BEGINNING: u64 = 256 << 10;

/// The generation of what lies at the beginning of the first file or object; `None` when nothing can be read there, or it
/// is no data of this payload.
pub(super) fn held_generation(opened: &Opened, payload: &Payload, first: u64) -> Option<u32> {
    let data = match opened {
        Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => return None,
        Opened::File(target) => target.beginning(first, BEGINNING).ok()?,
        Opened::Nfs(target) => target.driver.beginning(first, BEGINNING as u32, PATIENCE).ok()?,
        Opened::S3(target) => target.driver.beginning(first, BEGINNING).ok()?,
    };
    payload.generation_of(first, 0, &data)
}

/// What a listing brought so far.
struct Found {
    first: u64,
    items: u64,
    bytes: u64,
    right: u64,
    /// The first of another size.
    wrong: Option<(u64, u64)>,
}

impl Found {
    fn item(&mut self, number: u64, size: u64) {
        if !(self.first..self.first + self.items).contains(&number) {
            return;
        }
        if size == self.bytes {
            self.right += 1;
        } else {
            self.wrong.get_or_insert((number, size));
        }
    }

    /// An item by its name, or by its key, which ends with its name.
    fn named(&mut self, name: &str, size: u64) {
        let name = name.rsplit('/').next().unwrap_or(name);
        let ours = name.len() == 16;
        if let Some(number) = u64::from_str_radix(name, 16).ok().filter(|_| ours) {
            self.item(number, size);
        }
    }
}
