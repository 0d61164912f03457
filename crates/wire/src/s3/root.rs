//! What a document is, found without parsing it, so that the usual answers cost no allocation.

/// The local name of the root element; `None` if the body does not begin like an XML document.
pub fn root(body: &[u8]) -> Option<&str> {
    let mut rest = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    for (begin, end) in [("<?", "?>"), ("<!--", "-->")] {
        while let Some(after) = rest.strip_prefix(begin.as_bytes()) {
            let at = find(after, end.as_bytes())?;
            rest = after[at + end.len()..].trim_ascii_start();
        }
    }
    let after = rest.strip_prefix(b"<")?;
    let len = after.iter().position(|byte| matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace())?;
    let name = std::str::from_utf8(&after[..len]).ok()?;
    let local = name.rsplit(':').next().unwrap_or(name);
    local.starts_with(|first: char| first.is_alphabetic() || first == '_').then_some(local)
}

/// Whether the document has this root and an element whose whole text is `value`, which needs no escaping.
pub fn has_value(body: &[u8], expected_root: &str, value: &str) -> bool {
    if value.is_empty() || root(body) != Some(expected_root) {
        return false;
    }
    let mut rest = body;
    while let Some(at) = find(rest, value.as_bytes()) {
        let after = &rest[at + value.len()..];
        if rest[..at].ends_with(b">") && after.starts_with(b"<") {
            return true;
        }
        rest = after;
    }
    false
}

/// Whether the bytes are in the document.
pub(super) fn contains(body: &[u8], bytes: &[u8]) -> bool {
    find(body, bytes).is_some()
}

fn find(body: &[u8], bytes: &[u8]) -> Option<usize> {
    body.windows(bytes.len()).position(|window| window == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_after_a_prologue() {
        for (body, expected) in [
            ("<Error>", Some("Error")),
            ("\u{feff} <?xml version=\"1.0\"?>\n<!-- a > b --><ns:Error a=\"b\">", Some("Error")),
            ("<Empty/>", Some("Empty")),
            // Anything unusual is left to the parser.
            ("<!-- a --><?xml version=\"1.0\"?><Error>", None),
            ("<!DOCTYPE html><html>", None),
            ("<?xml", None),
            ("<Error", None),
            ("<>", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(root(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_value_is_the_whole_text_of_an_element() {
        for (body, expected) in [
            ("<T><V>12</V></T>", true),
            ("<T><V>12x</V><V>12</V></T>", true),
            ("<T><V>x12</V></T>", false),
            ("<U><V>12</V></U>", false),
        ] {
            assert_eq!(has_value(body.as_bytes(), "T", "12"), expected, "{body}");
        }
        assert!(!has_value(b"<T></T>", "T", ""));
    }
}
