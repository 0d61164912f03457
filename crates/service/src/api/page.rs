//! Pages of lists that are known as a whole, sorted by names that occur once.

use std::fmt::Write;

use crate::problem::Problem;

/// What a request says about its page.
pub(super) struct PageStart<'a> {
    /// The path of the list.
    pub(super) path: &'a str,
    /// The name of the last item of the page before.
    pub(super) after: Option<&'a str>,
    /// The size of a page.
    pub(super) limit: u32,
}

/// The views of a page's items, and the path of the next page if there is one.
pub(super) fn page<'i, T: 'i, V>(
    items: impl IntoIterator<Item = &'i T>,
    name: impl Fn(&T) -> &str,
    start: &PageStart<'_>,
    view: impl FnMut(&'i T) -> Result<V, Problem>,
) -> Result<(Vec<V>, Option<String>), Problem> {
    let PageStart { path, after, limit } = *start;
    let mut rest = items.into_iter().filter(|item| after.is_none_or(|after| name(item) > after));
    let page: Vec<&T> = rest.by_ref().take(limit as usize).collect();
    let last = page.last().filter(|_| rest.next().is_some());
    let next = last.map(|item| format!("{path}?limit={limit}&after={}", in_query(name(item))));
    Ok((page.into_iter().map(view).collect::<Result<_, _>>()?, next))
}

/// A text as the value of a parameter of a URL.
pub(super) fn in_query(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => {
                // Writing to a text does not fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_in_paths_of_pages() {
        assert_eq!(in_query("2001:db8::1 & ü"), "2001%3Adb8%3A%3A1%20%26%20%C3%BC");
    }
}
