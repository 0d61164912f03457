//! Lists in values: separated by colons that may be escaped, or by commas; and ranges.

/// The unmodified parts between separators outside brackets.
pub(crate) fn outside_brackets<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && separators.contains(&c) => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// File names separated by colons; `\:` is a colon within a name.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.trim().chars().peekable();
    while let Some(c) = letters.next() {
        let last = names.len() - 1;
        match c {
            '\\' if letters.peek() == Some(&':') => {
                names[last].push(':');
                letters.next();
            }
            ':' => names.push(String::new()),
            c => names[last].push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The two ends of a range, separated by `-` or `:`; a single value is both.
pub(crate) fn ends(text: &str) -> (&str, &str) {
    let parts = outside_brackets(text.trim(), &['-', ':']);
    match parts.as_slice() {
        [low, high] if !low.trim().is_empty() => (low.trim(), high.trim()),
        _ => (text.trim(), text.trim()),
    }
}

/// Why a text is no list of numbers and ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndicesError {
    #[error("{HOW}")]
    Form,
    #[error("{low} is more than {high}; {HOW}")]
    Order { low: u32, high: u32 },
}

const HOW: &str = "write numbers and ranges with commas between them, as in 0,5,8-15";

/// Integers and integer ranges separated by commas: `0,5,8-15`.
pub(crate) fn indices(text: &str) -> Result<Vec<u32>, IndicesError> {
    let mut found = Vec::new();
    for part in text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| IndicesError::Form);
        let (low, high) = (number(low)?, number(high)?);
        if low > high || high - low > 65_536 {
            return Err(IndicesError::Order { low, high });
        }
        found.extend(low..=high);
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err(IndicesError::Form) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_part_names_unless_they_are_escaped() {
        assert_eq!(names("/dev/a:b"), ["/dev/a", "b"]);
        assert_eq!(names(r"/dev/foo@3,0\:c"), ["/dev/foo@3,0:c"]);
        assert_eq!(names(r"F\:\x:y"), [r"F:\x", "y"]);
        assert!(names("::").is_empty());
    }

    #[test]
    fn ranges_have_two_ends() {
        assert_eq!(ends("1k-4k"), ("1k", "4k"));
        assert_eq!(ends("1k:4k"), ("1k", "4k"));
        assert_eq!(ends("(8-4)-9"), ("(8-4)", "9"));
        assert_eq!(ends("7"), ("7", "7"));
    }

    #[test]
    fn indices_are_put_in_order_once() {
        assert_eq!(indices("8-10,0, 9"), Ok(vec![0, 8, 9, 10]));
        for wrong in ["", "a", "3-1", "1-", "-1"] {
            assert!(indices(wrong).is_err(), "{wrong}");
        }
    }
}
