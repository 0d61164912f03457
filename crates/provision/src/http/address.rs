//! The address of a management API, as users write it.

use std::fmt;
use std::net::Ipv6Addr;

use crate::error::ProvisionError;

/// `host`, `host:port`, `[v6]:port`, optionally after `https://` or `http://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Whether to use TLS; only an explicit `http://` turns it off.
    pub tls: bool,
}

impl Address {
    /// Parses an address.
    pub(crate) fn parse(text: &str) -> Result<Self, ProvisionError> {
        let wrong = |why: &str| {
            ProvisionError::Input(format!(
                "{text:?} is not a management address: {why}; next: write HOST, HOST:PORT or https://HOST:PORT"
            ))
        };
        let (tls, rest) = match text.trim().split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, _)) => return Err(wrong(&format!("{scheme:?} is neither https nor http"))),
            None => (true, text.trim()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = if let Some(inside) = rest.strip_prefix('[') {
            let (host, after) = inside.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
            host.parse::<Ipv6Addr>().map_err(|_| wrong("there is no IPv6 address in the brackets"))?;
            match after {
                "" => (host, None),
                _ => (host, Some(after.strip_prefix(':').ok_or_else(|| wrong("a port follows a colon"))?)),
            }
        } else if rest.parse::<Ipv6Addr>().is_ok() {
            (rest, None)
        } else {
            match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            }
        };
        let port = match port {
            None if tls => 443,
            None => 80,
            Some(digits) => match digits.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(wrong(&format!("{digits:?} is not a port"))),
            },
        };
        if host.is_empty() {
            return Err(wrong("there is no host in it"));
        }
        let plain = |character: char| character.is_ascii_alphanumeric() || ".-_:".contains(character);
        if !host.chars().all(plain) {
            return Err(wrong("a host name has letters, digits, dots and hyphens only"));
        }
        Ok(Self { host: host.to_owned(), port, tls })
    }

    /// Host and port as in a `Host` header, with the port only where it is not the scheme's default.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, url) in [
            ("10.1.2.3", "https://10.1.2.3"),
            ("array.example.com", "https://array.example.com"),
            (" 10.1.2.3:8443\n", "https://10.1.2.3:8443"),
            ("https://10.1.2.3/", "https://10.1.2.3"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("HTTP://127.0.0.1", "http://127.0.0.1"),
            ("fd00::1", "https://[fd00::1]"),
            ("[fd00::1]", "https://[fd00::1]"),
            ("https://[fd00::1]:444", "https://[fd00::1]:444"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), url, "{text}");
        }
    }

    #[test]
    fn a_wrong_address_is_named_with_the_reason() {
        for text in [
            "",
            "ftp://x",
            "host:port",
            "host:0",
            "host:70000",
            "[::1",
            "[x]:1",
            "a/b",
            "a b",
            "user@host",
            "[::1]443",
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("next:"), "{error}");
        }
    }
}
