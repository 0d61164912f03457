//! YAML values.

use crate::place::Log;
use crate::tree;

/// The items of a list: split at commas outside of brackets and quotes. A single value is a list of one.
pub(super) fn items(text: &str) -> Vec<String> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let (mut items, mut depth, mut quote) = (vec![String::new()], 0_u32, None);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        items.last_mut().expect("there is always one").push(c);
    }
    items.into_iter().map(|item| item.trim().to_owned()).collect()
}

/// A list of values.
pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| value(item)).collect();
    format!("[{}]", items.join(", "))
}

/// A value as typed: a map in braces stays as it is, anything else becomes text.
pub(super) fn value(text: &str) -> String {
    if text.starts_with('{') && !text.contains(['\n', '\r']) {
        let scratch = Log::default();
        let read = tree::read(text, &scratch);
        if read.is_some_and(|node| !node.entries().is_empty()) && scratch.is_clean() {
            return text.to_owned();
        }
    }
    scalar(text)
}

/// A text, quoted if YAML or a person could take it for something else.
pub(crate) fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:._~%- ".contains(c);
    let begins = |c: char| c.is_ascii_alphanumeric() || c == '/';
    if text != "null"
        && text.starts_with(begins)
        && text.chars().all(plain)
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
    {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        return serde_json::Value::from(text).to_string();
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::place::Log;
    use crate::tree::Value;

    #[test]
    fn lists_are_parted_at_commas_outside_of_brackets() {
        let parts = |text: &str| items(text).join(" | ");
        assert_eq!(parts("4KiB, 64KiB"), "4KiB | 64KiB");
        assert_eq!(parts("[1,16]"), "1 | 16");
        assert_eq!(
            parts("{poisson: 1/s},{ramp: {from: 1/s, to: 2/s, over: 1s}}"),
            "{poisson: 1/s} | {ramp: {from: 1/s, to: 2/s, over: 1s}}"
        );
        assert_eq!(parts("'a,b',c"), "'a,b' | c");
        assert_eq!(parts("4KiB,"), "4KiB | ");
    }

    #[test]
    fn texts_are_plain_where_they_can_be() {
        assert_eq!(value("file:///mnt/data"), "file:///mnt/data");
        assert_eq!(value("s3://b?endpoint=http://h:9"), "'s3://b?endpoint=http://h:9'");
        assert_eq!(value("null:"), "'null:'");
        assert_eq!(value("{poisson: 100/s}"), "{poisson: 100/s}");
        assert_eq!(value("{poisson: 100/s"), "'{poisson: 100/s'");
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_it_was(text in "\\PC{0,30}") {
            prop_assume!(!text.starts_with('{'));
            let log = Log::default();
            let node = tree::read(&format!("a: {}\nb: {}\n", value(&text), list(std::slice::from_ref(&text))), &log).unwrap();
            prop_assert!(log.is_clean());
            let is = |node: &crate::tree::Node| matches!(&node.value, Value::Scalar(read) if **read == *text);
            prop_assert!(is(node.get("a").unwrap()), "{node:?}");
            let Value::List(items) = &node.get("b").unwrap().value else { panic!("{node:?}") };
            prop_assert!(is(&items[0]), "{node:?}");
        }
    }
}
