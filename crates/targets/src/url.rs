//! Target URLs in their parts, with the query decoded.

use super::TargetError;

/// The parts of `scheme://authority/path?name=value&…`, or of `scheme:?name=value&…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetUrl {
    /// In lower case.
    pub(super) scheme: String,
    /// Host and port, or the bucket; empty when there is none.
    pub(super) authority: String,
    /// From its first `/` on, decoded; empty when there is none.
    pub(super) path: String,
    /// Names and values, decoded, in order.
    pub(super) query: Vec<(String, String)>,
}

/// A right URL of each kind of target.
const FORMS: [(&str, &str); 7] = [
    ("file", "file:///directory"),
    ("block", "block:///dev/device"),
    ("nfs", "nfs://host[:port]/export"),
    ("s3", "s3://bucket?endpoint=https://host[:port]"),
    ("tcp", "tcp://host:port"),
    ("null", "null:"),
    ("sim", "sim:?latency=1ms"),
];

/// How a URL of this kind is written.
pub(super) fn form(scheme: &str) -> &'static str {
    FORMS.iter().find(|(name, _)| *name == scheme).map_or("", |(_, form)| form)
}

impl TargetUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// One line with the text, unless it may hold a password, what is wrong and how to write it.
    pub(super) fn parse(text: &str) -> Result<Self, TargetError> {
        let known = || FORMS.map(|(name, _)| format!("{name}:")).join(", ");
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(wrong(text, &format!("it has no scheme; write one of {}", known())));
        };
        let scheme = scheme.to_ascii_lowercase();
        let form = form(&scheme);
        if form.is_empty() {
            let hint = experiment::nearest(&scheme, FORMS.map(|(name, _)| name))
                .map_or_else(|| format!("write one of {}", known()), |near| format!("did you mean {near}:?"));
            return Err(wrong(text, &format!("there is no kind of target \"{scheme}:\"; {hint}")));
        }
        let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, query)| (place, query));
        let bare = matches!(&*scheme, "null" | "sim");
        let (authority, path) = if bare {
            if !matches!(place, "" | "//") {
                return Err(wrong(text, &format!("nothing stands before the question mark; write {form}")));
            }
            ("", "")
        } else {
            let place = place
                .strip_prefix("//")
                .ok_or_else(|| wrong(text, &format!("// is missing after {scheme}:; write {form}")))?;
            place.split_at(place.find('/').unwrap_or(place.len()))
        };
        if authority.contains('@') {
            let next = if scheme == "s3" {
                "give keys by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or by the option credentials_file"
            } else {
                "take it out"
            };
            return Err(wrong(text, &format!("a user or password does not belong in a URL; {next}")));
        }
        let mut pairs = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                let problem =
                    format!("\"{part}\" after the question mark has no value; write name=value&name=value");
                return Err(wrong(text, &problem));
            };
            if pairs.iter().any(|(known, _)| known == name) {
                return Err(wrong(text, &format!("\"{name}\" is given twice; give it once")));
            }
            pairs.push((name.to_owned(), decoded(text, value)?));
        }
        Ok(Self { scheme, authority: authority.to_owned(), path: decoded(text, path)?, query: pairs })
    }
}

/// One line about a URL that cannot be used. What may hold a password is not repeated.
pub(super) fn wrong(text: &str, problem: &str) -> TargetError {
    let shown = if text.contains('@') { "…" } else { text };
    TargetError::Input(format!("target \"{shown}\": {problem}"))
}

/// Text with its `%XX` replaced; a `%` that no two hexadecimal digits follow stands for itself, as in `5%`.
fn decoded(url: &str, text: &str) -> Result<String, TargetError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| (*byte as char).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains(char::is_control));
    text.ok_or_else(|| wrong(url, "a %XX in it makes no text; write the character itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, String, String, Vec<(String, String)>) {
        let url = TargetUrl::parse(text).unwrap();
        (url.scheme, url.authority, url.path, url.query)
    }

    #[test]
    fn urls_come_apart() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (text, scheme, authority, path, query) in [
            ("file:///mnt/a%20b", "file", "", "/mnt/a b", vec![]),
            ("FILE:///x?direct=true", "file", "", "/x", vec![pair("direct", "true")]),
            ("block:///dev/nvme0n1", "block", "", "/dev/nvme0n1", vec![]),
            (
                "nfs://[fd00::1]:20049/a/b?uid=3&gid=4",
                "nfs",
                "[fd00::1]:20049",
                "/a/b",
                vec![pair("uid", "3"), pair("gid", "4")],
            ),
            (
                "s3://b?endpoint=https://h:9000&region=eu-1",
                "s3",
                "b",
                "",
                vec![pair("endpoint", "https://h:9000"), pair("region", "eu-1")],
            ),
            ("null:", "null", "", "", vec![]),
            ("sim:?drift=1%&noise=5%25", "sim", "", "", vec![pair("drift", "1%"), pair("noise", "5%")]),
            ("sim:", "sim", "", "", vec![]),
        ] {
            assert_eq!(parts(text), (scheme.into(), authority.into(), path.into(), query), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, problem) in [
            ("/mnt/data", "it has no scheme; write one of file:, block:"),
            ("nsf://host/export", "there is no kind of target \"nsf:\"; did you mean nfs:?"),
            ("gopher://host/", "there is no kind of target \"gopher:\"; write one of file:"),
            ("file:/mnt", "// is missing after file:; write file:///directory"),
            ("nfs:host", "// is missing after nfs:"),
            ("null:x", "nothing stands before the question mark"),
            ("sim://host?latency=1ms", "nothing stands before the question mark"),
            ("sim:?latency", "\"latency\" after the question mark has no value"),
            ("sim:?seed=1&seed=2", "\"seed\" is given twice"),
            ("file:///a%00b", "makes no text"),
            ("file:///a%ffb", "makes no text"),
        ] {
            let error = TargetUrl::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("target \"{text}\": ")) && error.contains(problem), "{error}");
            assert!(!error.contains('\n'));
        }
        for text in ["nfs://me:hunter2@host/export", "s3://key:hunter2@bucket?endpoint=http://h"] {
            let error = TargetUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains("does not belong in a URL") && !error.contains("hunter2"), "{error}");
        }
    }
}
