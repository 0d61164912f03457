//! Keys and values of objects (omap). Every object has the same keys; seed, object and key determine a value, whenever it is
//! set.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use metrics::ErrorKind;

use super::api::{Librados, OmapHandle};
use super::config::OmapShape;
use super::error::failure;
use super::flights::{Located, RadosCalls};
use crate::failure::{Failure, compared};
use crate::flights::TakenFlight;
use crate::{Op, Payload};

/// Where in an object's payload stream its values lie: behind any data (an OSD's objects have at most 4 GiB).
const VALUES_AT: u64 = 1 << 47;
/// Bytes of a key with the zero byte at its end: a prefix, and the number in decimal digits.
const KEY_BYTES: usize = PREFIX.len() + DIGITS + 1;
const PREFIX: &[u8] = b"key.";
const DIGITS: usize = 6;

type Key = [u8; KEY_BYTES];

/// The keys of a session's operations, and the memory that their calls use. librados copies all of it before a call returns.
pub(super) struct Omap {
    value_bytes: usize,
    keys: Vec<Key>,
    /// Where each key begins.
    key_places: Vec<*const c_char>,
    /// The length of each value.
    lens: Vec<usize>,
    values: RefCell<Values>,
}

/// The values of one object.
struct Values {
    bytes: Vec<u8>,
    /// Where each value begins.
    places: Vec<*const c_char>,
}

/// Keys and values that librados found.
pub(super) struct OmapAnswer {
    api: &'static Librados,
    found: OmapHandle,
}

impl Drop for OmapAnswer {
    fn drop(&mut self) {
        // SAFETY: the operation that fills it is complete, and it is freed here only.
        unsafe { (self.api.rados_omap_get_end)(self.found) };
    }
}

impl OmapAnswer {
    /// The next key in ascending order, with its value. Only the answer of an operation that succeeded has any.
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        let (mut key, mut value, mut len) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: the operation succeeded. librados keeps what it points to until the answer is freed, and keys end with a
        // zero byte.
        unsafe {
            let code = (self.api.rados_omap_get_next)(self.found, &mut key, &mut value, &mut len);
            if code < 0 || key.is_null() {
                return None;
            }
            let value = if value.is_null() { &[] } else { slice::from_raw_parts(value.cast::<u8>(), len) };
            Some((CStr::from_ptr(key).to_bytes(), value))
        }
    }
}

impl Omap {
    pub(super) fn new(shape: OmapShape) -> Self {
        let value_bytes = shape.value_bytes as usize;
        let keys: Vec<Key> = (0..shape.keys).map(key).collect();
        let values =
            Values { bytes: vec![0; keys.len() * value_bytes], places: vec![ptr::null(); keys.len()] };
        Self {
            value_bytes,
            key_places: keys.iter().map(|key| key.as_ptr().cast()).collect(),
            lens: vec![value_bytes; keys.len()],
            keys,
            values: RefCell::new(values),
        }
    }

    /// The range of the object's payload stream that holds its values.
    fn content(&self, op: &Op) -> Op {
        Op { generation: 0, ..op.range(VALUES_AT, (self.keys.len() * self.value_bytes) as u64) }
    }

    /// Sets all keys of the operation's object.
    pub(super) async fn set(
        &self,
        flight: &mut TakenFlight<'_, RadosCalls>,
        at: &Located<'_>,
        oid: *const c_char,
        (payload, op): (&Payload, &Op),
    ) -> Result<(), Failure> {
        flight
            .fly_write(at, oid, |api, write| {
                let Values { bytes, places } = &mut *self.values.borrow_mut();
                payload.fill_op(&self.content(op), 0, bytes);
                for (place, value) in places.iter_mut().zip(bytes.chunks_exact(self.value_bytes)) {
                    *place = value.as_ptr().cast();
                }
                let (keys, values, lens) = (self.key_places.as_ptr(), places.as_ptr(), self.lens.as_ptr());
                // SAFETY: the handle is open; each table has an entry for every key.
                unsafe { (api.rados_write_op_omap_set)(write, keys, values, lens, self.keys.len()) };
            })
            .await
            .map(drop)
    }

    /// Reads all keys of the operation's object, and checks that all of them have a value of the right length; with
    /// `verify` also its bytes.
    pub(super) async fn get(
        &self,
        flight: &mut TakenFlight<'_, RadosCalls>,
        at: &Located<'_>,
        oid: *const c_char,
        (payload, op, verify): (&Payload, &Op, bool),
    ) -> Result<(), Failure> {
        flight
            .fly_read(at, oid, |api, read, memory| {
                let mut found = ptr::null_mut();
                let (keys, count, result) =
                    (self.key_places.as_ptr(), self.keys.len(), &raw mut memory.extra.result);
                // SAFETY: the handle is open; the table has so many keys. What librados writes to lives until the
                // operation is complete: the result is the flight's, and the answer is kept there.
                unsafe {
                    (api.rados_read_op_omap_get_vals_by_keys)(read, keys, count, &mut found, result);
                }
                memory.extra.omap = Some(OmapAnswer { api, found });
            })
            .await?;
        let answer = &mut flight.memory().extra;
        if answer.result < 0 {
            return Err(failure(answer.result));
        }
        let Some(mut found) = answer.omap.take() else { return Ok(()) };
        let content = self.content(op);
        let mut count = 0;
        while let Some((key, value)) = found.next() {
            let expected = self.keys.get(count).map(|key| &key[..KEY_BYTES - 1]);
            if expected != Some(key) {
                break;
            }
            if value.len() != self.value_bytes {
                let text = format!(
                    "the value of {} has {} bytes where {} were set",
                    String::from_utf8_lossy(key),
                    value.len(),
                    self.value_bytes
                );
                return Err(Failure::new(ErrorKind::Length, text));
            }
            if verify {
                let at = (count * self.value_bytes) as u64;
                compared(payload, &content, at, value).map_err(|wrong| wrong_value(key, &wrong))?;
            }
            count += 1;
        }
        if count == self.keys.len() {
            return Ok(());
        }
        let text = format!("{count} of {} keys are set", self.keys.len());
        Err(Failure::new(ErrorKind::NotFound, text))
    }
}

#[cold]
fn wrong_value(key: &[u8], wrong: &Failure) -> Failure {
    Failure::new(wrong.kind, format!("the value of {}: {}", String::from_utf8_lossy(key), wrong.detail))
}

/// The key with this number, such as `key.000007`.
fn key(number: u32) -> Key {
    let mut key = [0; KEY_BYTES];
    key[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut rest = number;
    for digit in key[PREFIX.len()..KEY_BYTES - 1].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_in_the_order_in_which_they_are_found() {
        let omap = Omap::new(OmapShape { keys: 1000, value_bytes: 3 });
        assert_eq!(CStr::from_bytes_with_nul(&omap.keys[7]).unwrap(), c"key.000007");
        assert!(omap.keys.is_sorted());
        assert_eq!(omap.content(&Op::new(metrics::OpKind::OmapSet, 0, 9)).len, 3000);
    }
}
