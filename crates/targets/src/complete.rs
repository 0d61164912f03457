//! Checks that a data set not created by this run is complete.

use drivers::Payload;
use engine::DataSet;

use super::{OpenTarget, TargetError};

/// Checks the size of every file or object.
pub(super) fn check(opened: &dyn OpenTarget, data_set: &DataSet) -> Result<(), TargetError> {
    let mut found =
        Found { first: data_set.first(), items: data_set.objects(), data_set, right: 0, wrong: None };
    if !opened.items(&mut |number, size| found.item(number, size))? {
        return Ok(());
    }
    if found.right == found.items {
        return Ok(());
    }
    let what = match found.wrong {
        Some((number, size)) => {
            format!("{number:016x} has {size} bytes and should have {}", data_set.bytes_of(number))
        }
        None => format!("there are {} of {} with the right size", found.right, found.items),
    };
    Err(TargetError::Input(format!("the data set is not complete: {what}; prepare it by `prepare: fill`")))
}

/// Bytes read to find out the generation of a data set: enough to include a block that is not a duplicate.
const BEGINNING: u32 = 256 << 10;

/// The generation of the data at the start of the first file or object; `None` when it cannot be read or is not data of
/// this payload.
pub(super) fn held_generation(opened: &dyn OpenTarget, payload: &Payload, first: u64) -> Option<u32> {
    let data = opened.first_bytes(first, BEGINNING)?;
    payload.generation_of(first, 0, &data)
}

/// What the listing found so far.
struct Found<'d> {
    first: u64,
    items: u64,
    data_set: &'d DataSet,
    right: u64,
    /// The first with a wrong size.
    wrong: Option<(u64, u64)>,
}

impl Found<'_> {
    fn item(&mut self, number: u64, size: u64) {
        if !(self.first..self.first + self.items).contains(&number) {
            return;
        }
        if size == self.data_set.bytes_of(number) {
            self.right += 1;
        } else {
            self.wrong.get_or_insert((number, size));
        }
    }
}

/// Number of a file or object, from its name or from a key that ends with its name; `None` when it is not part of a
/// data set.
pub(super) fn item_number(name: &str) -> Option<u64> {
    let name = name.rsplit('/').next().unwrap_or(name);
    if name.len() != 16 {
        return None;
    }
    u64::from_str_radix(name, 16).ok()
}
