//! Text from files, servers and systems may contain anything, and must stay text.

/// Text for an element or a quoted attribute. Replaces terminal control characters and characters that change the
/// writing direction with a replacement character.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                out.push('\u{fffd}')
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON for the inside of an element: nothing in it can end the element or change the writing direction, and it remains
/// the same JSON.
pub fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text for a quoted string in a style sheet: all characters except letters, digits and spaces become numeric escapes.
pub fn style_safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == ' ' => out.push(c),
            c if c.is_control() => out.push(' '),
            // The space ends the escape and is part of it.
            c => out.push_str(&format!("\\{:x} ", u32::from(c))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_opens_an_element_or_ends_an_attribute() {
        assert_eq!(
            escape("<script>alert('\"&')</script>"),
            "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;"
        );
        assert_eq!(escape("a\u{202e}b\u{0}c\u{1b}[31m"), "a\u{fffd}b\u{fffd}c\u{fffd}[31m");
        assert_eq!(style_safe("a\"}</style>\n·9"), "a\\22 \\7d \\3c \\2f style\\3e  \\b7 9");
        assert_eq!(script_safe("\"</script><!--\""), "\"\\u003c/script\\u003e\\u003c!--\"");
    }

    proptest! {
        #[test]
        fn json_stays_the_same_json(text in "\\PC{0,60}") {
            let json = serde_json::to_string(&text).unwrap();
            let safe = script_safe(&json);
            prop_assert!(!safe.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
