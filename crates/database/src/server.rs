//! Which PostgreSQL server, database and user.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls;

/// Time for connecting to one address.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a lost connection is tried again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where an outage of a server is reported, one line each.
pub type OutageNotes = Arc<dyn Fn(&str) + Send + Sync>;

/// A database of a PostgreSQL server, and how to log in. Its text never contains the password.
#[derive(Clone)]
pub struct DatabaseServer {
    pub(crate) config: Config,
    pub(crate) tls: MakeRustlsConnect,
    pub(crate) patience: Duration,
    pub(crate) notes: Option<OutageNotes>,
}

/// Why a URL does not name a database: one line that contains nothing of the URL.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseUrlError {
    /// It contains a password.
    #[error(
        "the URL contains a password, which every user of this host can read in the process list; next: leave it out, \
         and put it into a file only you can read: --database-password-file FILE"
    )]
    Password,
    /// It is no URL of a PostgreSQL database.
    #[error("{0}; next: write postgres://USER@HOST/DATABASE")]
    Malformed(String),
    /// The file of authorities cannot be used.
    #[error("{}: {why}; next: give a file with certificates in PEM", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl DatabaseServer {
    /// The database at a URL (`postgres://USER@HOST:PORT/DATABASE`, with the parameters of `tokio_postgres::Config`).
    ///
    /// TLS is required except to this host, unless the URL has an `sslmode` of its own. The server's certificate must
    /// be signed by an authority of this host, or by one in the PEM file `authorities`.
    ///
    /// # Errors
    /// The URL contains a password or is malformed, or `authorities` cannot be used.
    pub fn new(
        url: &str,
        password: Option<&str>,
        authorities: Option<&Path>,
    ) -> Result<Self, DatabaseUrlError> {
        let malformed = |why: &str| DatabaseUrlError::Malformed(why.to_owned());
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| malformed("the URL does not begin with postgres://"))?;
        let address = rest.split('?').next().unwrap_or_default();
        if address.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(DatabaseUrlError::Password);
        }
        // The certificate is verified whenever there is one.
        let plain = url.replace("sslmode=verify-full", "sslmode=require");
        let plain = plain.replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = plain.parse().map_err(|error: postgres::Error| {
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            malformed(&format!("the URL cannot be read: {why}"))
        })?;
        if config.get_password().is_some() {
            return Err(DatabaseUrlError::Password);
        }
        if config.get_user().is_none() || config.get_dbname().is_none() {
            return Err(malformed("the URL names no user or no database"));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(malformed("the URL names no host"));
        }
        if !rest.contains("sslmode=") {
            config.ssl_mode(if is_here(&config) { SslMode::Disable } else { SslMode::Require });
        }
        if let Some(password) = password {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("manometer");
        }
        // A server that vanished without a word is noticed in half a minute.
        config
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(4)
            .tcp_user_timeout(Duration::from_secs(30));
        Ok(Self { config, tls: tls::connector(authorities)?, patience: PATIENCE, notes: None })
    }

    /// The same, with outages reported to `notes`.
    #[must_use]
    pub fn with_notes(mut self, notes: OutageNotes) -> Self {
        self.notes = Some(notes);
        self
    }

    /// The same, with `patience` for a lost connection instead of a minute.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(crate) fn note(&self, line: &str) {
        if let Some(notes) = &self.notes {
            notes(&format!("{self}: {line}"));
        }
    }
}

/// Whether every address is one of this host.
fn is_here(config: &Config) -> bool {
    let loopback = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(loopback) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

impl fmt::Display for DatabaseServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        write!(out, "postgres://{}@", config.get_user().unwrap_or_default())?;
        let ports = config.get_ports();
        let mut sockets = Vec::new();
        for (index, host) in config.get_hosts().iter().enumerate() {
            match host {
                Host::Unix(path) => sockets.push(path.display().to_string()),
                Host::Tcp(name) => {
                    let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
                    write!(out, "{}{name}:{port}", if index > 0 { "," } else { "" })?;
                }
            }
        }
        write!(out, "/{}", config.get_dbname().unwrap_or_default())?;
        if !sockets.is_empty() {
            write!(out, "?host={}", sockets.join(","))?;
        }
        Ok(())
    }
}

impl fmt::Debug for DatabaseServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DatabaseServer({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_accepted_in_a_url_or_printed() {
        for url in [
            "postgres://u:secret@h/d",
            "postgresql://u:se@cret@h/d",
            "postgres://u@h/d?password=secret",
            "postgres://u:@h/d",
            "postgres://u:se/cret@h/d",
        ] {
            let error = DatabaseServer::new(url, None, None).unwrap_err();
            assert!(matches!(error, DatabaseUrlError::Password), "{url}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let server = DatabaseServer::new("postgres://u@h:5433/d", Some("secret"), None).unwrap();
        assert_eq!(server.to_string(), "postgres://u@h:5433/d");
        assert_eq!(format!("{server:?}"), "DatabaseServer(postgres://u@h:5433/d)");
        assert_eq!(server.config.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn tls_is_required_except_to_this_host() {
        let mode = |url: &str| DatabaseServer::new(url, None, None).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://u@h/d"), SslMode::Require);
        assert_eq!(mode("postgres://u@10.0.0.1/d?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://u@h/d?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://u@127.0.0.1/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u@localhost,h/d"), SslMode::Require);
        assert_eq!(mode("postgres://u@%2Frun%2Fpostgresql/d"), SslMode::Disable);
    }

    #[test]
    fn a_malformed_url_is_refused_in_one_line() {
        for url in
            ["mysql://u@h/d", "postgres://h/d", "postgres://u@h", "postgres://u@/d", "postgres://u@h:x/d"]
        {
            let error = DatabaseServer::new(url, None, None).unwrap_err().to_string();
            assert!(error.contains("next: ") && !error.contains('\n'), "{url}: {error}");
        }
    }
}
