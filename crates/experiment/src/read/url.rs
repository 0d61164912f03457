//! A target's URL, checked as far as it can be without asking anybody.

use crate::nearest::hint;
use crate::target_options::{KINDS, Kind, kind};

/// What is wrong with a URL, and the mend.
type Wrong = (String, String);

/// The kind of target that a URL names.
///
/// # Errors
/// What is wrong with it, and what to write instead.
pub(super) fn check_url(url: &str) -> Result<&'static Kind, Wrong> {
    let wrong = |text: String, mend: String| Err((text, mend));
    if url.starts_with('/') {
        let form = if url.starts_with("/dev/") { "block" } else { "file" };
        return wrong(format!("{url:?} is a path, not a URL"), format!("write {form}://{url}"));
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return wrong(format!("{url:?} is no URL"), format!("write such as {}", examples()));
    };
    let Some(kind) = kind(scheme) else {
        let mend = match scheme {
            "http" | "https" => "an S3 bucket is written s3://bucket?endpoint=https://host:port".into(),
            _ => match crate::nearest::nearest(scheme, KINDS.iter().map(|kind| kind.scheme)) {
                Some(near) => format!("did you mean {near}:?"),
                None => format!("write such as {}", examples()),
            },
        };
        return wrong(format!("there is no kind of target {scheme:?}"), mend);
    };
    let form = format!("write {}", kind.example);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.strip_prefix("//").map(|after| after.split('/').next().unwrap_or(""));
    if authority.is_some_and(|authority| authority.contains('@')) {
        return wrong(
            "a URL must hold no user and no password: plans are stored with the results".into(),
            "remove what stands before the @; S3 keys are read from the environment or from credentials_file"
                .into(),
        );
    }
    let secret = ["secret", "password", "token", "access_key", "accesskey"];
    if query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
        secret.iter().any(|word| name.contains(word))
    }) {
        return wrong(
            "a URL must hold no secret: plans are stored with the results".into(),
            "remove it; S3 keys are read from the environment or from credentials_file".into(),
        );
    }
    match scheme {
        "file" | "block" => match place.strip_prefix("//") {
            Some(path) if path.starts_with('/') && path.len() > 1 => {}
            Some(path) if path.starts_with('/') => {
                return wrong(format!("{url:?} names the root of all files"), form);
            }
            Some(path) if !path.is_empty() => {
                return wrong(
                    format!("{url:?} has no absolute path: two slashes are a host's"),
                    format!("write {scheme}:///{path}, with three"),
                );
            }
            _ => return wrong(format!("{url:?} has no absolute path"), form),
        },
        "nfs" => {
            let host = authority.unwrap_or("");
            let path = place.strip_prefix("//").and_then(|after| after.find('/')).is_some();
            if host.is_empty() || !path {
                let missing = if host.is_empty() { "host" } else { "export" };
                return wrong(format!("{url:?} has no {missing}"), form);
            }
        }
        "tcp" => {
            let end = authority.and_then(|authority| authority.rsplit_once(':'));
            let right = |(host, port): &(&str, &str)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            };
            if !end.as_ref().is_some_and(right) {
                return wrong(format!("{url:?} has no host and port"), form);
            }
        }
        "s3" => {
            if authority.unwrap_or("").is_empty() {
                return wrong(format!("{url:?} has no bucket"), form);
            }
            if !query.split('&').any(|pair| pair.starts_with("endpoint=http")) {
                return wrong(format!("{url:?} does not say where the service is"), form);
            }
        }
        _ => {}
    }
    // Options can stand in the URL too; `endpoint` is the only key that is no option.
    for name in
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(""))
    {
        let endpoint = scheme == "s3" && name == "endpoint";
        if !endpoint && !kind.options.iter().any(|help| help.name == name) {
            let names = kind.options.iter().map(|help| help.name);
            return wrong(format!("{scheme}: knows no {name:?}"), hint(name, names));
        }
    }
    Ok(kind)
}

fn examples() -> String {
    let all: Vec<_> = KINDS.iter().map(|kind| kind.example).collect();
    crate::reader::one_of(&all)
}
