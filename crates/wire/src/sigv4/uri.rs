//! URI encoding as SigV4 canonicalises it for S3: once, and with no path normalisation.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn encode(text: &str, keep_slash: bool, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b'/' if keep_slash => out.push('/'),
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

/// Appends an object key as it appears in a path. Slashes stay, even double ones, and `.` and `..` are ordinary names:
/// S3 keys are not file paths.
pub fn encode_path(key: &str, out: &mut String) {
    encode(key, true, out);
}

/// Appends the name or the value of a query parameter; slashes are encoded.
pub fn encode_component(text: &str, out: &mut String) {
    encode(text, false, out);
}

/// The canonical query of these parameters: encoded, sorted by encoded name and then value. It also serves as the
/// request's query.
pub fn canonical_query(parameters: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> = parameters
        .iter()
        .map(|(name, value)| {
            let mut pair = (String::new(), String::new());
            encode_component(name, &mut pair.0);
            encode_component(value, &mut pair.1);
            pair
        })
        .collect();
    pairs.sort();
    let mut out = String::new();
    for (name, value) in &pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(name);
        out.push('=');
        out.push_str(value);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(key: &str) -> String {
        let mut out = String::new();
        encode_path(key, &mut out);
        out
    }

    #[test]
    fn keys_keep_their_shape() {
        assert_eq!(path("a/b//c"), "a/b//c");
        assert_eq!(path("../a/./b"), "../a/./b");
        assert_eq!(path("a b+c%d"), "a%20b%2Bc%25d");
        assert_eq!(path("\u{1234}"), "%E1%88%B4");
        assert_eq!(path("-._~AZaz09"), "-._~AZaz09");
        assert_eq!(path("$&:=;@?#'\"*"), "%24%26%3A%3D%3B%40%3F%23%27%22%2A");
    }

    #[test]
    fn queries_are_sorted_by_their_encoded_names() {
        assert_eq!(canonical_query(&[]), "");
        assert_eq!(canonical_query(&[("uploads", "")]), "uploads=");
        assert_eq!(
            canonical_query(&[("prefix", "a/b c"), ("list-type", "2"), ("max-keys", "7")]),
            "list-type=2&max-keys=7&prefix=a%2Fb%20c"
        );
        assert_eq!(canonical_query(&[("b", "2"), ("a", "2"), ("a", "1")]), "a=1&a=2&b=2");
    }
}
