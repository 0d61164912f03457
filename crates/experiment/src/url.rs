//! The parser of target URLs: splits them into parts and decodes the query.

use crate::kind::{TargetKind, UrlForm, kind_of};
use crate::nearest::nearest;
use crate::reader::one_of;
use crate::text_fault::TextFault;

/// The parts of `scheme://authority/path?name=value&…`, or of `scheme:?name=value&…`.
#[derive(Clone, Debug)]
pub struct TargetUrl {
    kind: &'static TargetKind,
    authority: String,
    path: String,
    endpoint: Option<String>,
    query: Vec<(String, String)>,
}

/// Words that mark option names of other programs as secrets.
const SECRET: [&str; 5] = ["secret", "password", "token", "access_key", "accesskey"];

/// The only query key that is no option: the endpoint of a bucket's service.
const ENDPOINT: &str = "endpoint";

impl TargetUrl {
    /// Splits a URL into its parts. Option values are not parsed yet.
    ///
    /// # Errors
    /// What is wrong with it, and how to write it.
    pub fn parse(kinds: &[&'static TargetKind], url: &str) -> Result<Self, TextFault> {
        let examples = || {
            let all: Vec<_> = kinds.iter().map(|kind| kind.example).collect();
            format!("write such as {}", one_of(&all))
        };
        if url.starts_with('/') {
            let device = url.starts_with("/dev/");
            let mut forms = kinds.iter().filter(|kind| kind.form == UrlForm::Path && kind.device == device);
            let scheme = forms.next().map_or("", |kind| kind.scheme);
            return Err(TextFault::new(
                format!("{url:?} is a path, not a URL"),
                format!("write {scheme}://{url}"),
            ));
        }
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(TextFault::new(format!("{url:?} is no URL"), examples()));
        };
        let Some(kind) = kind_of(kinds, url) else {
            let bucket = kinds.iter().find(|kind| kind.form == UrlForm::Bucket);
            let near = nearest(scheme, kinds.iter().map(|kind| kind.scheme));
            let hint = match (scheme, bucket) {
                ("http" | "https", Some(bucket)) => format!("an S3 bucket is written {}", bucket.example),
                _ => match near {
                    Some(near) => format!("did you mean {near}:?"),
                    None => examples(),
                },
            };
            return Err(TextFault::new(format!("there is no kind of target {scheme:?}"), hint));
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let after = place.strip_prefix("//");
        let (authority, path) =
            after.map_or(("", ""), |after| after.split_at(after.find('/').unwrap_or(after.len())));
        without_secrets(kind, authority, query)?;
        form(kind, url, place, (authority, path))?;
        let mut own = Self {
            kind,
            authority: authority.to_owned(),
            path: decoded(path)?,
            endpoint: None,
            query: Vec::new(),
        };
        own.read_query(url, query)?;
        Ok(own)
    }

    fn read_query(&mut self, url: &str, query: &str) -> Result<(), TextFault> {
        let kind = self.kind;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let endpoint = kind.form == UrlForm::Bucket && name == ENDPOINT;
            if !endpoint && kind.option(name).is_none() {
                let names = kind.options.iter().map(|help| help.name);
                return Err(TextFault::new(
                    format!("{}: knows no {name:?}", kind.scheme),
                    crate::nearest::hint(name, names),
                ));
            }
            if !part.contains('=') {
                return Err(TextFault::new(
                    format!("{part:?} after the question mark of {url:?} has no value"),
                    "write name=value&name=value",
                ));
            }
            if self.query.iter().any(|(known, _)| known == name) || endpoint && self.endpoint.is_some() {
                return Err(TextFault::new(format!("{name:?} is given twice in {url:?}"), "give it once"));
            }
            let value = decoded(value)?;
            if endpoint {
                self.endpoint = Some(value);
            } else {
                self.query.push((name.to_owned(), value));
            }
        }
        match &self.endpoint {
            Some(endpoint) if endpoint.starts_with("http") => Ok(()),
            _ if kind.form == UrlForm::Bucket => Err(TextFault::new(
                format!("{url:?} does not say where the service is"),
                format!("write {}", kind.example),
            )),
            _ => Ok(()),
        }
    }

    /// The kind of target it names.
    pub fn kind(&self) -> &'static TargetKind {
        self.kind
    }

    /// Host and port, or the name, such as a bucket's; empty if there is none. A user is not part of it.
    pub fn authority(&self) -> &str {
        self.authority.rsplit_once('@').map_or(&*self.authority, |(_, host)| host)
    }

    /// The user, where the form of the kind's URLs has one and it is given.
    pub fn user(&self) -> Option<&str> {
        self.authority.rsplit_once('@').map(|(user, _)| user)
    }

    /// The part from the first `/` on, decoded; empty if there is none.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The endpoint of a bucket's service.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// The options: names and decoded values, in order.
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }
}

/// Rejects secrets: plans are stored with the results and must contain neither passwords nor keys. Only a logical unit
/// has a user, without a password: libiscsi writes one behind `%`, others behind `:`.
fn without_secrets(kind: &TargetKind, authority: &str, query: &str) -> Result<(), TextFault> {
    if let Some((user, _)) = authority.rsplit_once('@') {
        if kind.form != UrlForm::LogicalUnit {
            return Err(TextFault::new(
                "a URL must hold no user and no password: plans are stored with the results",
                "remove what stands before the @; S3 keys are read from the environment or from credentials_file",
            ));
        }
        if user.contains(['%', ':', '@']) {
            return Err(TextFault::new(
                "a URL must hold no password: plans are stored with the results",
                "leave only the user before the @; the secret is read from the environment or from credentials_file",
            ));
        }
        if user.is_empty() {
            let text = "no user stands before the @";
            return Err(TextFault::new(text, format!("write {}", kind.example)));
        }
    }
    let secret = |pair: &str| {
        let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
        SECRET.iter().any(|word| name.contains(word))
    };
    if query.split('&').any(secret) {
        return Err(TextFault::new(
            "a URL must hold no secret: plans are stored with the results",
            "remove it; S3 keys are read from the environment or from credentials_file",
        ));
    }
    Ok(())
}

/// Checks that a URL has exactly the parts that its kind needs.
fn form(kind: &TargetKind, url: &str, place: &str, (authority, path): (&str, &str)) -> Result<(), TextFault> {
    let scheme = kind.scheme;
    let write = || format!("write {}", kind.example);
    let wrong = |text: String| Err(TextFault::new(text, write()));
    let slashes = place.starts_with("//");
    match kind.form {
        UrlForm::Path if !slashes => wrong(format!("{url:?} has no absolute path")),
        UrlForm::Path if authority.is_empty() && path.len() > 1 => Ok(()),
        UrlForm::Path if authority.is_empty() && path == "/" => {
            wrong(format!("{url:?} names the root of all files"))
        }
        UrlForm::Path if authority.is_empty() => wrong(format!("{url:?} has no absolute path")),
        UrlForm::Path => Err(TextFault::new(
            format!("{url:?} has no absolute path: two slashes are a host's"),
            format!("write {scheme}:///{authority}{path}, with three"),
        )),
        UrlForm::HostAndPath | UrlForm::HostAndVolume | UrlForm::Host if authority.is_empty() => {
            wrong(format!("{url:?} has no host"))
        }
        UrlForm::HostAndPath if path.is_empty() => wrong(format!("{url:?} has no export")),
        UrlForm::HostAndVolume if path.trim_matches('/').is_empty() => {
            wrong(format!("{url:?} has no volume"))
        }
        UrlForm::LogicalUnit => {
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            match path.strip_prefix('/').unwrap_or("").split_once('/') {
                _ if host.is_empty() => wrong(format!("{url:?} has no host")),
                _ if path.len() <= 1 => wrong(format!("{url:?} names no target behind the host")),
                Some((name, unit)) if !name.is_empty() && number(unit) => Ok(()),
                _ => wrong(format!("{url:?} has no number of a logical unit (LUN) behind the target")),
            }
        }
        UrlForm::HostAndPort => {
            let right = |(host, port): (&str, &str)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            };
            if authority.rsplit_once(':').is_some_and(right) {
                nothing_behind(path, "port", url, &write())
            } else {
                wrong(format!("{url:?} has no host and port"))
            }
        }
        UrlForm::Host => nothing_behind(path, "host", url, &write()),
        UrlForm::Bucket if authority.is_empty() => wrong(format!("{url:?} has no bucket")),
        UrlForm::Bucket => nothing_behind(path, "bucket", url, &write()),
        UrlForm::Name if authority.is_empty() => wrong(format!("{url:?} has no name after the slashes")),
        UrlForm::Name => nothing_behind(path, "name", url, &write()),
        UrlForm::NameInName if authority.is_empty() => {
            wrong(format!("{url:?} has no name after the slashes"))
        }
        UrlForm::NameInName if path.matches('/').count() > 1 => {
            wrong(format!("nothing stands behind the second name in {url:?}"))
        }
        UrlForm::NameInName => Ok(()),
        UrlForm::Bare if matches!(place, "" | "//") => Ok(()),
        UrlForm::Bare => wrong(format!("nothing stands before the question mark in {url:?}")),
        UrlForm::HostAndPath | UrlForm::HostAndVolume => Ok(()),
    }
}

fn nothing_behind(path: &str, what: &str, url: &str, write: &str) -> Result<(), TextFault> {
    if matches!(path, "" | "/") {
        return Ok(());
    }
    Err(TextFault::new(format!("nothing stands behind the {what} in {url:?}"), write))
}

/// Decodes `%XX`; a `%` that is not followed by two hexadecimal digits stands for itself, as in `5%`.
fn decoded(text: &str) -> Result<String, TextFault> {
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
    text.ok_or_else(|| TextFault::new("a %XX in the URL makes no text", "write the character itself"))
}
