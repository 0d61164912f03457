//! What is wrong with an experiment file: where, what, and how to fix it.

use std::fmt;

/// Maximum number of faults reported at once; more would only scroll the first ones away.
pub const MAX_FAULTS: usize = 20;

/// Maximum length of a source line excerpt, in characters.
const SHOWN_CHARS: usize = 100;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line in the file, from 1; 0 if the fault lies outside the file (`origin` says where).
    pub line: usize,
    /// The column in characters, from 1; 0 with line 0.
    pub column: usize,
    /// Number of underlined characters, at least 1.
    pub length: usize,
    /// What is wrong.
    pub text: String,
    /// How to fix it.
    pub hint: String,
    /// Where a substituted value came from: `${size} is 4QiB, from --set size=4QiB`.
    pub note: Option<String>,
    /// The place outside the file: `--set size=4QiB`.
    pub origin: Option<String>,
    /// The line's text, with tabs as spaces and without passwords.
    pub source_line: String,
}

/// All faults of a file, in line order; never empty. Its `Display` is what users see: for each fault `file:line:column:
/// what is wrong`, the line with a caret, and the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The file's name.
    pub file: String,
    /// At most [`MAX_FAULTS`].
    pub faults: Vec<Diagnostic>,
    /// Number of further faults.
    pub more: usize,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            fault.write(f, &self.file)?;
        }
        if self.more > 0 {
            writeln!(f)?;
            writeln!(f, "… and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl Diagnostic {
    /// Writes the faults as users see them, for a file with this name.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, f: &mut fmt::Formatter<'_>, file: &str) -> fmt::Result {
        if let Some(origin) = &self.origin {
            writeln!(f, "{origin}: {}", self.text)?;
            writeln!(f, "  = {}", self.hint)?;
            return Ok(());
        }
        writeln!(f, "{file}:{}:{}: {}", self.line, self.column, self.text)?;
        let (shown, column) = window(&self.source_line, self.column);
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let room = shown.chars().count().saturating_sub(column - 1).max(1);
        let line = format!(" {number} | {shown}");
        writeln!(f, "{}", line.trim_end())?;
        let carets = "^".repeat(self.length.clamp(1, room));
        writeln!(f, " {margin} | {}{carets}", " ".repeat(column - 1))?;
        if let Some(note) = &self.note {
            writeln!(f, " {margin} = where {note}")?;
        }
        writeln!(f, " {margin} = {}", self.hint)
    }
}

/// The part of a long line around `column`, and the column's position in it.
fn window(line: &str, column: usize) -> (String, usize) {
    let count = line.chars().count();
    let column = column.clamp(1, count + 1);
    if count <= SHOWN_CHARS {
        return (line.to_owned(), column);
    }
    let from = (column - 1).saturating_sub(SHOWN_CHARS / 2).min(count - SHOWN_CHARS);
    let mut shown: String = line.chars().skip(from).take(SHOWN_CHARS).collect();
    let mut at = column - from;
    if from > 0 {
        shown.insert(0, '…');
        at += 1;
    }
    if from + SHOWN_CHARS < count {
        shown.push('…');
    }
    (shown, at)
}

/// A line in presentable form: control characters become spaces, and the part between `://` and `@` is hidden, because
/// it may be a password.
pub fn shown_line(line: &str) -> String {
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    hide_passwords(&clean)
}

/// `text` without passwords: those in URLs, after `sshpass -p` and after `password=`. They are replaced by the same
/// number of `…`, so that carets stay in position.
pub fn hide_passwords(text: &str) -> String {
    let mut text = hide_in_urls(text);
    for word in ["sshpass -p", "sshpass, -p", "sshpass\", \"-p", "password=", "token="] {
        text = hide_after(&text, word);
    }
    text
}

/// `text` with what follows each `word`, up to the next space, quote or comma, replaced by `…`.
fn hide_after(text: &str, word: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    // Changing the case of ASCII letters only does not move anything.
    while let Some(at) = rest.to_ascii_lowercase().find(word) {
        let from = at + word.len();
        let skipped = rest[from..].find(|c: char| !matches!(c, ' ' | ',' | '"' | '\'')).unwrap_or(0);
        let (before, after) = rest.split_at(from + skipped);
        let end = after.find(|c: char| c.is_whitespace() || "\"',]}".contains(c)).unwrap_or(after.len());
        out.push_str(before);
        out.push_str(&"…".repeat(after[..end].chars().count()));
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// `text` with each `//user:password@` replaced by `//…@`.
fn hide_in_urls(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(after.len());
        match after[..end].rfind('@') {
            Some(at_sign) => {
                out.push_str(&"…".repeat(after[..at_sign].chars().count()));
                rest = &after[at_sign..];
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_columns_stay() {
        assert_eq!(hide_passwords("a: s3://me:pw@host/b"), "a: s3://……………@host/b");
        assert!(!hide_passwords("s3://key:hunter2@b, x://k:hunter2@c").contains("hunter2"));
        assert_eq!(hide_passwords("nfs://host/a@b").chars().count(), "nfs://host/a@b".len());
        assert!(hide_passwords("nfs://host/a@b").ends_with("/a@b"));
    }

    #[test]
    fn passwords_of_command_lines_are_hidden() {
        for (text, shown) in [
            ("sshpass -p hunter2 ssh {host}", "sshpass -p ………………… ssh {host}"),
            ("sshpass -phunter2 ssh", "sshpass -p………………… ssh"),
            ("[sshpass, -p, hunter2, ssh]", "[sshpass, -p, …………………, ssh]"),
            ("[\"sshpass\", \"-p\", \"hunter2\"]", "[\"sshpass\", \"-p\", \"…………………\"]"),
            ("x --Password=hunter2 y", "x --Password=………………… y"),
            ("-o PasswordAuthentication=no", "-o PasswordAuthentication=no"),
            ("sshpass -p", "sshpass -p"),
            ("password=", "password="),
        ] {
            assert_eq!(hide_passwords(text).replace("…", "."), shown.replace("…", "."), "{text}");
            assert_eq!(hide_passwords(text).chars().count(), text.chars().count());
        }
    }

    #[test]
    fn long_lines_are_shown_around_the_column() {
        let line = format!("{}X{}", "a".repeat(300), "b".repeat(300));
        let (shown, column) = window(&line, 301);
        assert_eq!(shown.chars().nth(column - 1), Some('X'));
        assert!(shown.chars().count() <= SHOWN_CHARS + 2);
        assert_eq!(window("abc", 9), ("abc".into(), 4));
    }
}
