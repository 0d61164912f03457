//! A small S3 in memory that trusts nothing: it checks every signature, digest and checksum.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wire::checksum::{Checksum, ChecksumKind, Sha256, content_md5};
use wire::sigv4::{CanonicalRequest, Signer};

use super::{Conn, Received, Server};

/// Contents of the store.
#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<String, Vec<u8>>,
    pub uploads: BTreeMap<String, (String, BTreeMap<u32, Vec<u8>>)>,
    pub begun: u32,
    /// The last tagging document of each object.
    pub tags: BTreeMap<String, Vec<u8>>,
    pub requests: Vec<String>,
}

pub type Store = Arc<Mutex<State>>;

/// Keys per page of a listing.
pub const PAGE: usize = 3;

/// Starts a store behind `/bucket/`, for the keys AK and SK.
pub fn start() -> (Server, Store) {
    let store = Store::default();
    let shared = Arc::clone(&store);
    let server = Server::start(move |conn| serve(conn, &shared));
    (server, store)
}

/// Answers requests on one connection.
pub fn serve(mut conn: Conn, store: &Store) {
    while let Some(mut request) = conn.request() {
        let checked = check(&mut request);
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let key =
            decode(path.strip_prefix("/bucket").expect("path style")).trim_start_matches('/').to_owned();
        let query: BTreeMap<String, String> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (decode(name), decode(value)))
            .collect();
        let mut state = store.lock().expect("no test panics with it");
        state.requests.push(format!("{} {}", request.method, request.target));
        let (status, headers, body) = match checked {
            Ok(()) => state.answer(&request, &key, &query),
            Err(code) => error(&code),
        };
        drop(state);
        if request.method == "HEAD" {
            conn.write(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()));
        } else {
            conn.answer(&status, &headers, &body);
        }
    }
}

type Reply = (String, String, Vec<u8>);

fn error(code: &str) -> Reply {
    let status = if code.starts_with("NoSuch") { "404 Not Found" } else { "400 Bad Request" };
    (
        status.into(),
        String::new(),
        format!("<Error><Code>{code}</Code><RequestId>R</RequestId></Error>").into(),
    )
}

fn ok(body: impl Into<Vec<u8>>) -> Reply {
    ("200 OK".into(), String::new(), body.into())
}

impl State {
    fn answer(&mut self, request: &Received, key: &str, query: &BTreeMap<String, String>) -> Reply {
        let has = |name: &str| query.get(name).map(String::as_str);
        match (request.method.as_str(), key) {
            ("HEAD", "") => ok(""),
            ("GET", "") if has("list-type") == Some("2") => {
                self.list(has("prefix"), has("continuation-token"))
            }
            ("GET", "") if has("uploads").is_some() => {
                let uploads: String = self
                    .uploads
                    .iter()
                    .map(|(id, (key, _))| {
                        format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload>")
                    })
                    .collect();
                ok(format!("<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>"))
            }
            ("POST", "") if has("delete").is_some() => {
                let text = String::from_utf8(request.body.clone()).expect("XML");
                for part in text.split("<Key>").skip(1) {
                    self.objects.remove(part.split("</Key>").next().expect("an end"));
                }
                ok("<DeleteResult/>")
            }
            ("POST", _) if has("uploads").is_some() => {
                self.begun += 1;
                let id = format!("up/{}+", self.begun);
                self.uploads.insert(id.clone(), (key.to_owned(), BTreeMap::new()));
                ok(format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
                ))
            }
            ("PUT", _) if has("uploadId").is_some() => {
                let number = has("partNumber").expect("a number").parse().expect("a number");
                let Some((_, parts)) = self.uploads.get_mut(has("uploadId").expect("just matched")) else {
                    return error("NoSuchUpload");
                };
                parts.insert(number, request.body.clone());
                ("200 OK".into(), format!("ETag: \"part-{number}\"\r\n"), Vec::new())
            }
            ("POST", _) => {
                let Some((key, parts)) = self.uploads.remove(has("uploadId").expect("an id")) else {
                    return error("NoSuchUpload");
                };
                let text = String::from_utf8(request.body.clone()).expect("XML");
                for number in parts.keys() {
                    assert!(
                        text.contains(&format!(
                            "<PartNumber>{number}</PartNumber><ETag>&quot;part-{number}&quot;</ETag>"
                        )),
                        "{text}"
                    );
                }
                self.objects.insert(key, parts.into_values().flatten().collect());
                ok("<CompleteMultipartUploadResult><ETag>\"x\"</ETag></CompleteMultipartUploadResult>")
            }
            ("DELETE", _) if has("uploadId").is_some() => {
                self.uploads.remove(has("uploadId").expect("just matched"));
                ("204 No Content".into(), String::new(), Vec::new())
            }
            ("PUT", _) if has("tagging").is_some() => {
                assert_eq!(request.header("content-md5"), Some(content_md5(&request.body, &mut [0; 24])));
                if !self.objects.contains_key(key) {
                    return error("NoSuchKey");
                }
                self.tags.insert(key.to_owned(), request.body.clone());
                ok("")
            }
            ("GET", _) if has("tagging").is_some() => match self.tags.get(key) {
                Some(tags) => ok(tags.clone()),
                None if self.objects.contains_key(key) => error("NoSuchTagSet"),
                None => error("NoSuchKey"),
            },
            ("PUT", _) if request.header("x-amz-copy-source").is_some() => {
                let source = decode(request.header("x-amz-copy-source").expect("just matched"));
                let source = source.strip_prefix("/bucket/").expect("our bucket");
                let Some(object) = self.objects.get(source).cloned() else { return error("NoSuchKey") };
                self.objects.insert(key.to_owned(), object);
                ok("<CopyObjectResult><ETag>\"x\"</ETag></CopyObjectResult>")
            }
            ("PUT", _) => {
                self.objects.insert(key.to_owned(), request.body.clone());
                ok("")
            }
            ("DELETE", _) => {
                self.objects.remove(key);
                ("204 No Content".into(), String::new(), Vec::new())
            }
            ("GET" | "HEAD", _) => {
                let Some(object) = self.objects.get(key) else { return error("NoSuchKey") };
                let Some(range) = request.header("range") else { return ok(object.clone()) };
                let (first, last) =
                    range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).expect("a range");
                let (first, last): (usize, usize) =
                    (first.parse().expect("first"), last.parse().expect("last"));
                if first >= object.len() {
                    return ("416 Range Not Satisfiable".into(), String::new(), Vec::new());
                }
                let last = last.min(object.len() - 1);
                let header = format!("Content-Range: bytes {first}-{last}/{}\r\n", object.len());
                ("206 Partial Content".into(), header, object[first..=last].to_vec())
            }
            _ => error("MethodNotAllowed"),
        }
    }

    fn list(&self, prefix: Option<&str>, token: Option<&str>) -> Reply {
        let prefix = prefix.unwrap_or("");
        let mut keys = self.objects.iter().filter(|(key, _)| {
            key.starts_with(prefix)
                && token.is_none_or(|token| key.as_str() > token.trim_start_matches("t/+"))
        });
        let mut body = String::from("<ListBucketResult>");
        let mut last = "";
        for (key, object) in keys.by_ref().take(PAGE) {
            body.push_str(&format!("<Contents><Key>{key}</Key><Size>{}</Size></Contents>", object.len()));
            last = key;
        }
        if keys.next().is_some() {
            body.push_str(&format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>t/+{last}</NextContinuationToken>"
            ));
        }
        body.push_str("</ListBucketResult>");
        ok(body)
    }
}

/// Checks signature, digest and checksums, and decodes `aws-chunked`.
fn check(request: &mut Received) -> Result<(), String> {
    let authorization = request.header("authorization").ok_or("AccessDenied")?.to_owned();
    let field = |name: &str| {
        let start = authorization.find(name).expect("a field") + name.len();
        authorization[start..].split(',').next().expect("a value").to_owned()
    };
    let signed = field("SignedHeaders=");
    let headers: Vec<(&str, &str)> =
        signed.split(';').map(|name| (name, request.header(name).expect("a signed header"))).collect();
    for (name, _) in &request.headers {
        let must = name == "host" || name == "content-md5" || name.starts_with("x-amz-");
        assert!(!must || signed.split(';').any(|known| known == name), "{name} is not signed");
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let hash = request.header("x-amz-content-sha256").expect("a payload hash").to_owned();
    let mut signer = Signer::new("AK", "SK", "us-east-1", "s3");
    signer.set_time(unix(request.header("x-amz-date").expect("a date")));
    let canonical =
        CanonicalRequest { method: &request.method, path, query, headers: &headers, payload_hash: &hash };
    if field("Signature=").as_bytes() != signer.signature(&canonical) {
        return Err("SignatureDoesNotMatch".into());
    }
    if let Some(md5) = request.header("content-md5")
        && md5 != content_md5(&request.body, &mut [0; 24])
    {
        return Err("BadDigest".into());
    }
    match hash.as_str() {
        "UNSIGNED-PAYLOAD" => {}
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => unchunk(request)?,
        digest => {
            let mut sum = Sha256::new();
            sum.update(&request.body);
            if digest.as_bytes() != sum.hex() {
                return Err("XAmzContentSHA256Mismatch".into());
            }
        }
    }
    Ok(())
}

fn unchunk(request: &mut Received) -> Result<(), String> {
    let name = request.header("x-amz-trailer").expect("a trailer").to_owned();
    let kind = match name.as_str() {
        "x-amz-checksum-crc64nvme" => ChecksumKind::Crc64Nvme,
        "x-amz-checksum-crc32c" => ChecksumKind::Crc32c,
        other => return Err(format!("InvalidTrailer{other}")),
    };
    assert_eq!(request.header("content-encoding"), Some("aws-chunked"));
    let mut rest = request.body.as_slice();
    let mut data = Vec::new();
    let mut sum = Checksum::new(kind);
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").ok_or("IncompleteBody")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).expect("hex"), 16).expect("hex");
        rest = &rest[end + 2..];
        if size == 0 {
            break;
        }
        sum.update(&rest[..size]);
        data.extend_from_slice(&rest[..size]);
        assert_eq!(&rest[size..size + 2], b"\r\n");
        rest = &rest[size + 2..];
    }
    assert_eq!(rest, format!("{name}:{}\r\n\r\n", sum.base64()).as_bytes());
    assert_eq!(request.header("x-amz-decoded-content-length"), Some(data.len().to_string().as_str()));
    request.body = data;
    Ok(())
}

/// Seconds since 1970 of `YYYYMMDDTHHMMSSZ`, through the HTTP date that the codec reads.
fn unix(text: &str) -> u64 {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month: usize = text[4..6].parse().expect("a month");
    let date = format!(
        "Xxx, {} {} {} {}:{}:{} GMT",
        &text[6..8],
        MONTHS[month - 1],
        &text[..4],
        &text[9..11],
        &text[11..13],
        &text[13..15]
    );
    wire::http1::parse_date(&date).expect("a date")
}

fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next().expect("a digit"), bytes.next().expect("a digit")];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).expect("hex"), 16).expect("hex"));
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).expect("UTF-8")
}
