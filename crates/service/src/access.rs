//! Who may ask: the host name, the origin and the token of a request, checked before anything else.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::token::TokenDigest;

/// Names of query parameters in which clients put tokens; there they would end up in logs and histories.
const TOKEN_PARAMETERS: [&str; 7] =
    ["token", "access_token", "auth_token", "api_token", "api_key", "apikey", "authorization"];

/// The address of this host that a connection reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAddress(pub SocketAddr);

/// The rules for all requests.
#[derive(Debug)]
pub(crate) struct Access {
    /// The token, unless none is required.
    pub token: Option<TokenDigest>,
    /// Names of this service, besides its addresses and `localhost`; in lower case.
    pub host_names: Vec<String>,
}

/// Refuses what must not be answered; passes everything else on.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match access.check(&request).and_then(|()| access.token(request.headers())) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// The same for pages that everyone may see, because they tell nothing about this service.
pub(crate) async fn guard_without_token(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    match access.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

impl Access {
    /// Everything but the token.
    fn check(&self, request: &Request) -> Result<(), Problem> {
        let local = request.extensions().get::<LocalAddress>().map(|local| local.0.ip());
        let (uri, headers) = (request.uri(), request.headers());
        let host = self.host(uri, headers, local)?;
        self.no_token_in_url(uri)?;
        if !request.method().is_safe() {
            same_origin(&host, headers)?;
        }
        Ok(())
    }

    /// The name by which the client addressed this service, if it is one of ours. A page whose name was rebound to this
    /// address sends its own name.
    fn host(&self, uri: &Uri, headers: &HeaderMap, local: Option<IpAddr>) -> Result<Authority, Problem> {
        let wrong = |given: &str| {
            let detail = format!(
                "this service does not answer to {given:?}; next: use its address, or start it with --host-name NAME"
            );
            Problem::new(StatusCode::MISDIRECTED_REQUEST, "wrong-host", detail)
        };
        let mut given = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return Err(Problem::bad_request("host", "a request has exactly one Host header"));
        };
        let text = host.to_str().unwrap_or_default();
        let authority: Authority = text.parse().map_err(|_| wrong(text))?;
        for name in [Some(&authority), uri.authority()].into_iter().flatten() {
            if name.as_str().contains('@') || !self.is_ours(name.host(), local) {
                return Err(wrong(name.host()));
            }
        }
        Ok(authority)
    }

    fn is_ours(&self, host: &str, local: Option<IpAddr>) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let loopback = local.is_some_and(|local| local.to_canonical().is_loopback());
        match bare.parse::<IpAddr>() {
            Ok(address) => {
                let address = address.to_canonical();
                local.is_some_and(|local| local.to_canonical() == address)
                    || (loopback && address.is_loopback())
            }
            Err(_) => (loopback && bare == "localhost") || self.host_names.contains(&bare),
        }
    }

    fn no_token_in_url(&self, uri: &Uri) -> Result<(), Problem> {
        let pairs = uri.query().unwrap_or_default().split('&');
        let found = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).any(|(name, value)| {
            TOKEN_PARAMETERS.contains(&&*name.to_ascii_lowercase())
                || self.token.as_ref().is_some_and(|token| token.matches(value))
        });
        match found {
            true => Err(Problem::bad_request(
                "token-in-url",
                "URLs end up in logs and histories; next: send the header Authorization: Bearer TOKEN, and replace this \
                 token",
            )),
            false => Ok(()),
        }
    }

    fn token(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        match given {
            Some(given) if token.matches(given) => Ok(()),
            Some(_) => Err(Problem::new(StatusCode::UNAUTHORIZED, "wrong-token", "this is not the token")),
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "no-token",
                "a token is required; next: send the header Authorization: Bearer TOKEN",
            )),
        }
    }
}

/// A request that changes something must not come from another site's page.
fn same_origin(host: &Authority, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = || {
        let detail = "a page of another site must not change anything here";
        Problem::new(StatusCode::FORBIDDEN, "cross-site", detail)
    };
    if let Some(site) = headers.get("sec-fetch-site")
        && !matches!(site.as_bytes(), b"same-origin" | b"none")
    {
        return Err(refused());
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
        let authority = origin.as_ref().and_then(Uri::authority).ok_or_else(refused)?;
        if !authority.as_str().eq_ignore_ascii_case(host.as_str()) {
            return Err(refused());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Method;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn checked(token: bool, method: Method, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let access = Access {
            token: token.then(|| TokenDigest::of(TOKEN)),
            host_names: vec!["lab.example".to_owned()],
        };
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(LocalAddress("127.0.0.1:5000".parse().unwrap()));
        match access.check(&request).and_then(|()| access.token(request.headers())) {
            Ok(()) => 200,
            Err(problem) => problem.into_response().status().as_u16(),
        }
    }

    #[test]
    fn only_our_names_are_answered() {
        for (host, status) in [
            ("127.0.0.1:5000", 200),
            ("LOCALHOST:8080", 200),
            ("[::1]:5000", 200),
            ("lab.example", 200),
            ("evil.example:5000", 421),
            ("10.0.0.1", 421),
            ("localhost.evil.example", 421),
            ("a@localhost", 421),
            ("", 421),
        ] {
            assert_eq!(checked(false, Method::GET, "/x", &[("host", host)]), status, "{host}");
        }
        assert_eq!(checked(false, Method::GET, "/x", &[]), 400);
        assert_eq!(checked(false, Method::GET, "http://evil.example/x", &[("host", "localhost")]), 421);
    }

    #[test]
    fn other_sites_change_nothing() {
        for (name, value, status) in [
            ("origin", "http://localhost:5000", 200),
            ("origin", "http://localhost:5001", 403),
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
            ("sec-fetch-site", "same-origin", 200),
            ("sec-fetch-site", "cross-site", 403),
            ("sec-fetch-site", "same-site", 403),
        ] {
            let headers = [("host", "localhost:5000"), (name, value)];
            assert_eq!(checked(false, Method::POST, "/x", &headers), status, "{name}: {value}");
            assert_eq!(checked(false, Method::GET, "/x", &headers), 200, "reading: {name}: {value}");
        }
    }

    #[test]
    fn a_token_is_a_header_and_never_in_the_url() {
        let with =
            |value: &str| [("host", "localhost"), ("authorization", value)].map(|(a, b)| (a, b.to_owned()));
        let status = |uri: &str, value: &str| {
            let headers = with(value);
            let headers: Vec<(&str, &str)> = headers.iter().map(|(a, b)| (*a, &**b)).collect();
            checked(true, Method::GET, uri, &headers)
        };
        assert_eq!(status("/x", &format!("Bearer {TOKEN}")), 200);
        assert_eq!(status("/x", "Bearer 0123456789abcdeX"), 401);
        assert_eq!(status("/x", &format!("Basic {TOKEN}")), 401);
        assert_eq!(checked(true, Method::GET, "/x", &[("host", "localhost")]), 401);
        assert_eq!(status(&format!("/x?q={TOKEN}"), &format!("Bearer {TOKEN}")), 400);
        assert_eq!(status("/x?Access_Token=other", &format!("Bearer {TOKEN}")), 400);
    }
}
