//! Splits a command line in one text into words: at blanks, with quotes and backslashes as in a shell, and without any
//! other shell syntax.

/// The words of a text.
///
/// # Errors
/// One line: what is not closed, or that the text is empty.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                let next =
                    letters.next().ok_or_else(|| format!("{text:?} ends with a backslash; remove it"))?;
                word.get_or_insert_default().push(next);
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("{text:?} has a {open} that is not closed; close it"));
    }
    words.extend(word);
    if words.is_empty() {
        Err("there is nothing in it; write a program and its arguments".to_owned())
    } else {
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_quotes_and_backslashes_are_as_in_a_shell() {
        for (text, words) in [
            (
                "podman exec -i {host} manometer agent",
                &["podman", "exec", "-i", "{host}", "manometer", "agent"][..],
            ),
            (" a  'b c' \"d 'e'\" f\\ g ''", &["a", "b c", "d 'e'", "f g", ""]),
            ("a'b'\"c\"$HOME;x|y", &["abc$HOME;x|y"]),
            ("'\\'", &["\\"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
        for (text, said) in [("a 'b", "not closed"), ("a\\", "backslash"), (" ", "nothing"), ("", "nothing")]
        {
            assert!(split(text).unwrap_err().contains(said), "{text}");
        }
    }
}
