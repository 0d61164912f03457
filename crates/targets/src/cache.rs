//! Cache control before a cell: what was asked for and what was really done.

use drivers::file::drop_caches;
use experiment::CacheControl;
use metrics::ErrorKind;

use super::Opened;

/// Does what is asked, as far as it can be done; says what was done, for the result.
pub(super) fn control(opened: &Opened, wanted: CacheControl) -> String {
    match (opened, wanted) {
        (_, CacheControl::Keep) => "kept".to_owned(),
        (Opened::Nfs(_), _) => "not possible for nfs: this client has no page cache".to_owned(),
        (Opened::S3(_), _) => "not possible for s3: this client has no cache".to_owned(),
        (Opened::Net(_), _) => "not possible for tcp: there is no cache".to_owned(),
        (Opened::Null(_) | Opened::Sim(_), _) => "not possible: there is no cache".to_owned(),
        (Opened::File(target), CacheControl::Invalidate) => match target.driver.invalidate() {
            Ok(done) => done,
            Err(error) => format!("not invalidated: {}", error.detail),
        },
        (Opened::File(_), CacheControl::Drop) => match drop_caches() {
            Ok(()) => "dropped".to_owned(),
            Err(error) if error.kind == ErrorKind::AccessDenied => "refused: needs root".to_owned(),
            Err(error) => format!("refused: {}", error.detail),
        },
    }
}
