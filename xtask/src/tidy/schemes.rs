//! Code outside the protocols' modules distinguishes targets by their traits, never by comparing a URL's scheme as
//! text.

use super::{Finding, code_lines};

/// Where the protocols are.
const PROTOCOLS: &str = "crates/targets/src/";

/// Where schemes may be compared: code that speaks the protocols, and code that only tests them.
const MAY_COMPARE: [&str; 7] =
    [PROTOCOLS, "crates/drivers/", "crates/wire/", "crates/array/", "interop/", "bench/", "xtask/"];

/// The schemes that the protocols' modules define, each as the first argument of its `Kind::new`.
pub fn known<'t>(files: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<String> {
    let protocols = files.filter(|(path, _)| path.starts_with(PROTOCOLS));
    let named = protocols.flat_map(|(_, text)| text.split("Kind::new(").skip(1));
    named.filter_map(|after| after.split('"').nth(1).map(str::to_owned)).collect()
}

/// Every line of a file that compares a scheme as text.
pub fn check(path: &str, text: &str, schemes: &[String]) -> Vec<Finding> {
    let message =
        "a scheme is compared as text: ask the traits of the target's kind (`experiment::TargetKind`)";
    code_lines((path, text), &MAY_COMPARE, message, |line| {
        let compared = ["scheme == \"", "scheme != \""].iter().any(|text| line.contains(text));
        let matched = line.contains(".scheme") && (line.contains("matches!(") || line.contains("match "));
        let begins = |scheme: &String| {
            let called = ["starts_with(", "strip_prefix("];
            called.iter().any(|call| line.contains(&format!("{call}\"{scheme}:")))
                || line.contains(&format!("\"{scheme}:\""))
        };
        compared || matched || schemes.iter().any(begins)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(path, text, &["nfs".to_owned()]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn comparisons_are_found_where_they_do_not_belong() {
        let path = "crates/runner/src/site.rs";
        for line in [
            "if url.starts_with(\"nfs://\") {",
            "let rest = url.strip_prefix(\"nfs:\");",
            "if kind.scheme == \"nfs\" {",
            "let far = matches!(kind.scheme, \"nfs\" | \"s3\");",
            "match kind.scheme {",
            "for scheme in [\"nfs:\"] {",
        ] {
            assert_eq!(found(path, &format!("//! x\n{line}\n")), [2], "{line}");
            assert_eq!(found("crates/targets/src/nfs.rs", line), [0_usize; 0]);
        }
        for line in
            ["if kind.remote {", "// kind.scheme == \"nfs\"", "print(kind.scheme)", "starts_with(\"n\")"]
        {
            assert_eq!(found(path, line), [0_usize; 0], "{line}");
        }
        assert_eq!(found(path, "#[cfg(test)]\nmatch kind.scheme {"), [0_usize; 0]);
    }

    #[test]
    fn schemes_are_those_of_the_protocols() {
        let files = [
            ("crates/targets/src/nfs.rs", "..Kind::new(\n        \"nfs\",\n \"nfs://host\")"),
            ("crates/other/src/x.rs", "Kind::new(\"x\")"),
        ];
        assert_eq!(known(files.into_iter()), ["nfs"]);
    }
}
