//! Errors of libraries are types whose variants hold the parts of the message, never bare texts.

use super::Finding;

/// The binary, which may add context to errors as text.
const BINARY: &str = "crates/cli/";

/// Types that are only a text.
const TEXTS: [&str; 4] = ["String", "&str", "&'static str", "Cow<'static, str>"];

/// Every `Result` in a library's code whose error is a text.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let library = path.starts_with("crates/") && path.contains("/src/") && !path.starts_with(BINARY);
    if !library || !path.ends_with(".rs") || path.contains("/tests/") || path.ends_with("tests.rs") {
        return Vec::new();
    }
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let code: Vec<&str> = code.map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let results = code.match_indices("Result<").filter(|(at, _)| is_text(&code[at + "Result<".len()..]));
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let message =
        "an error is a text: make it a `thiserror` type whose variants hold what was wrong and where";
    results.map(|(at, _)| Finding::new(path, line(at), message)).collect()
}

/// Whether the second parameter of a type is a text; `parameters` begins after the opening bracket.
fn is_text(parameters: &str) -> bool {
    let mut depth = 0_usize;
    let mut error_from = None;
    let mut before = ' ';
    for (at, letter) in parameters.char_indices() {
        match letter {
            // The arrow of a function type closes nothing.
            '>' if before == '-' => {}
            '>' | ')' | ']' if depth == 0 => {
                let error = error_from.map(|from: usize| parameters[from..at].trim().trim_end_matches(','));
                return error.is_some_and(|error| TEXTS.contains(&error));
            }
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 && error_from.is_none() => error_from = Some(at + 1),
            _ => {}
        }
        before = letter;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(path, text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn errors_that_are_texts_are_found() {
        let path = "crates/wire/src/a.rs";
        for line in [
            "pub fn f() -> Result<(), String> {",
            "fn f<T>(&self) -> Result<T, &'static str> {",
            "pub fn f() -> Result<Vec<(u64, String)>, String> {",
            "pub type Check = fn(&str) -> Result<(), String>;",
            "pub read: &'a dyn Fn(&str) -> Result<String, String>,",
            "let look = || -> Result<fn(u8) -> u8, String> {",
            "pub fn f() -> Result<\n    BTreeMap<String, String>,\n    String,\n> {",
        ] {
            assert_eq!(found(path, &format!("//! x\n{line}\n")), [2], "{line}");
            assert_eq!(found("crates/cli/src/a.rs", line), [0_usize; 0], "{line}");
            assert_eq!(found("crates/wire/tests/a.rs", line), [0_usize; 0], "{line}");
            assert_eq!(found("crates/wire/src/tests.rs", line), [0_usize; 0], "{line}");
            assert_eq!(found(path, &format!("#[cfg(test)]\n{line}")), [0_usize; 0], "{line}");
        }
    }

    #[test]
    fn typed_errors_pass() {
        for line in [
            "pub fn f() -> Result<String, FlagError> {",
            "pub fn f() -> io::Result<String> {",
            "pub fn f() -> Result<BTreeMap<String, String>, TextFault> {",
            "pub fn f() -> io::Result<BTreeMap<String, String>> {",
            "pub fn f(of: Result<(), Lost>, name: String) {",
            "let pair: (Result<(), Lost>, String) = both;",
            "// fn f() -> Result<(), String>",
        ] {
            assert_eq!(found("crates/wire/src/a.rs", line), [0_usize; 0], "{line}");
        }
    }
}
