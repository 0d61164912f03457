//! `HOST:PORT`, where the port may be left out.

use std::fmt;

use experiment::{bare_host, host_port};

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Its name or address; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// What is no `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostPortError {
    /// The host is missing or has characters that no host has.
    #[error("{0:?} names no host; next: write HOST:PORT")]
    Host(String),
    /// The port is no number from 1 to 65535.
    #[error("{0:?}: the port is no number from 1 to 65535; next: write HOST:PORT")]
    Port(String),
}

impl HostPort {
    /// Reads `host`, `host:port`, `address`, `[IPv6 address]:port` or a bare IPv6 address.
    ///
    /// # Errors
    /// There is no host, or the port is no port.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, HostPortError> {
        let host = bare_host(text);
        if host.is_empty()
            || text.contains(|c: char| c.is_whitespace() || "/@".contains(c))
            || host.contains('[')
        {
            return Err(HostPortError::Host(text.to_owned()));
        }
        let port = match text == host || text == format!("[{host}]") {
            true => default_port,
            false => match host_port(text) {
                Some(port) if port > 0 => port,
                _ => return Err(HostPortError::Port(text.to_owned())),
            },
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphite::test_vectors::vectors;

    #[test]
    fn every_vector_of_storperf() {
        let vectors = vectors("address");
        assert_eq!(vectors.len(), 2);
        for vector in vectors {
            let parsed = HostPort::parse(vector["input"]["address"].as_str().unwrap(), 22).unwrap();
            assert_eq!(vector["expected"]["host"], parsed.host, "{vector}");
            assert_eq!(vector["expected"]["port"], parsed.port, "{vector}");
        }
    }

    #[test]
    fn ports_may_be_left_out_and_errors_say_what_is_wrong() {
        let read = |text: &str| HostPort::parse(text, 2003).map(|parsed| parsed.to_string());
        assert_eq!(read("graphite.example").unwrap(), "graphite.example:2003");
        assert_eq!(read("10.0.0.1:2013").unwrap(), "10.0.0.1:2013");
        assert_eq!(read("[::1]").unwrap(), "[::1]:2003");
        assert_eq!(read("fe80::1").unwrap(), "[fe80::1]:2003");
        for wrong in ["", ":2003", "http://g:2003", "a b", "[::1"] {
            assert!(matches!(read(wrong), Err(HostPortError::Host(_))), "{wrong}");
        }
        for wrong in ["g:", "g:0", "g:70000", "g:x", "[::1]2003"] {
            assert!(matches!(read(wrong), Err(HostPortError::Port(_))), "{wrong}");
        }
    }
}
