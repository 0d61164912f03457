//! Whether a data set that was not made by this run is there in full size.

use drivers::Payload;
use engine::DataSet;

use super::{OpenTarget, TargetError};

/// Looks at the size of every file or object.
pub(super) fn check(opened: &dyn OpenTarget, data_set: &DataSet) -> Result<(), TargetError> {
    let mut found = Found {
        first: data_set.first(),
        items: data_set.objects(),
        bytes: data_set.shape().item_bytes(),
        right: 0,
        wrong: None,
    };
    if !opened.items(&mut |number, size| found.item(number, size))? {
        return Ok(());
    }
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
const BEGINNING: u32 = 256 << 10;

/// The generation of what lies at the beginning of the first file or object; `None` when nothing can be read there, or it
/// is no data of this payload.
pub(super) fn held_generation(opened: &dyn OpenTarget, payload: &Payload, first: u64) -> Option<u32> {
    let data = opened.first_bytes(first, BEGINNING)?;
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
}

/// The number of a file or object by its name, or by its key, which ends with its name; `None` when it is not of a data set.
pub(super) fn item_number(name: &str) -> Option<u64> {
    let name = name.rsplit('/').next().unwrap_or(name);
    if name.len() != 16 {
        return None;
    }
    u64::from_str_radix(name, 16).ok()
}
