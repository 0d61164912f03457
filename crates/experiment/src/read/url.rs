//! Checks a target's URL and its options, as far as possible without any I/O.

use crate::kind::TargetKind;
use crate::url::TargetUrl;

/// What is wrong with a URL, and what to write instead.
type Wrong = (String, String);

/// The kind of target that a URL names.
///
/// # Errors
/// What is wrong with it or with one of its options' values, and what to write instead.
pub(super) fn check_url(kinds: &[&'static TargetKind], url: &str) -> Result<&'static TargetKind, Wrong> {
    let url = TargetUrl::parse(kinds, url).map_err(|fault| (fault.text, fault.hint))?;
    let kind = url.kind();
    for (name, value) in url.query() {
        let read = kind.option(name).map_or(Ok(()), |help| help.read(value).map(drop));
        read.map_err(|error| {
            let fault = error.fault();
            (format!("{name}: {}", fault.text), fault.hint)
        })?;
    }
    Ok(kind)
}
