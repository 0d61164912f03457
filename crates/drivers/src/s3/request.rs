//! Requests, and their signed heads.

use metrics::ErrorKind;
use wire::NumberText;
use wire::checksum::{CONTENT_MD5_LEN, Checksum, content_md5};
use wire::http1::RequestWriter;
use wire::sigv4::{CanonicalRequest, EMPTY_SHA256, STREAMING_UNSIGNED_TRAILER, Signer, UNSIGNED_PAYLOAD};

use super::addressing::Addressing;
use super::config::{PayloadSigning, S3Config};
use super::failure::Failure;
use crate::{Op, Payload};

/// Payload generated and sent at a time, in bytes: small enough to stay in the CPU cache, large enough to wake the
/// server rarely (decision 0010).
pub(super) const PIECE_BYTES: usize = 256 * 1024;
/// Space for the head before the first piece.
pub(super) const LEAD_BYTES: usize = 16 * 1024;
/// Space after a piece for the end of a chunk, the last chunk and the trailer.
const TAIL_BYTES: usize = 128;
/// Length of a send buffer.
pub(super) const SEND_BYTES: usize = LEAD_BYTES + PIECE_BYTES + TAIL_BYTES;

/// The resource of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// The bucket.
    Bucket,
    /// The object with this number under our prefix.
    Object(u64),
    /// The object that holds a block of a file.
    Block {
        /// The file's number.
        file: u64,
        /// The block's offset in the file.
        offset: u64,
        /// The block's length.
        len: u64,
    },
    /// An object by its key.
    Key(&'a str),
    /// The encoded path of a redirect.
    Path(&'a str),
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    None,
    /// A document.
    Bytes(&'a [u8]),
    /// A range of an operation's payload.
    Payload {
        op: Op,
        /// Its offset in the operation's block.
        from: u64,
        len: u64,
    },
}

impl Body<'_> {
    pub(super) const fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Payload { len, .. } => *len,
        }
    }

    /// Writes the bytes from offset `at`.
    pub(super) fn fill(&self, payload: &Payload, at: u64, out: &mut [u8]) {
        match self {
            Self::None => {}
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[at as usize..][..out.len()]),
            Self::Payload { op, from, .. } => payload.fill_op(op, from + at, out),
        }
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    pub(super) subject: Subject<'a>,
    /// The canonical query.
    pub(super) query: &'a str,
    /// First byte and length of a ranged GET; the length is not 0.
    pub(super) range: Option<(u64, u64)>,
    pub(super) body: Body<'a>,
    /// Send Content-MD5, as S3 requires with batch deletes and tags.
    pub(super) md5: bool,
    /// The number of the object that the server copies.
    pub(super) copy_of: Option<u64>,
}

impl<'a> Request<'a> {
    pub(super) const fn new(method: &'static str, subject: Subject<'a>) -> Self {
        Self { method, subject, query: "", range: None, body: Body::None, md5: false, copy_of: None }
    }
}

/// Buffers for building heads, allocated by the first request.
#[derive(Default)]
pub(super) struct HeadBuffers {
    /// The complete head.
    pub(super) head: Vec<u8>,
    path: String,
    source: String,
    authorization: Vec<u8>,
}

/// How the body is framed on the wire.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    /// The checksum for the trailer; if present, the body is `aws-chunked`.
    pub(super) trailer: Option<Checksum>,
    /// Content-Length.
    wire_len: u64,
}

impl Framed {
    /// Plans the framing of a body. Only payload is chunked: documents are signed.
    pub(super) fn plan(body: &Body<'_>, signing: PayloadSigning) -> Self {
        let kind = match body {
            Body::Payload { .. } => signing.trailer(),
            _ => None,
        };
        let len = body.len();
        let Some(kind) = kind else { return Self { trailer: None, wire_len: len } };
        let piece = PIECE_BYTES as u64;
        let framing = |size: u64| hex_digits(size) + 4;
        let mut wire_len = len + len / piece * framing(piece);
        if !len.is_multiple_of(piece) {
            wire_len += framing(len % piece);
        }
        // 0 CRLF name : value CRLF CRLF
        wire_len += 3 + kind.header().len() as u64 + 1 + kind.base64_len() as u64 + 4;
        Self { trailer: Some(Checksum::new(kind)), wire_len }
    }
}

const fn hex_digits(size: u64) -> u64 {
    if size == 0 { 1 } else { (64 - size.leading_zeros() as u64).div_ceil(4) }
}

/// Writes the signed head of a request into `buffers.head`. `digest` is the body's SHA-256 if it is signed.
pub(super) fn write_head(
    request: &Request<'_>,
    addressing: &Addressing,
    config: &S3Config,
    signer: &mut Signer,
    framed: &Framed,
    digest: Option<&[u8; 64]>,
    buffers: &mut HeadBuffers,
) -> Result<(), Failure> {
    addressing.path(request.subject, &mut buffers.path);
    if let Some(number) = request.copy_of {
        addressing.source(number, &mut buffers.source);
    }
    let payload_hash = match (&request.body, digest) {
        (_, Some(digest)) => std::str::from_utf8(digest).expect("hexadecimal digits"),
        (Body::None, None) => EMPTY_SHA256,
        (_, None) if framed.trailer.is_some() => STREAMING_UNSIGNED_TRAILER,
        (_, None) => UNSIGNED_PAYLOAD,
    };
    let decoded_len = NumberText::decimal(request.body.len());
    let mut md5 = [0; CONTENT_MD5_LEN];
    let time = *signer.time();
    let mut headers: [(&str, &str); 9] = [("", ""); 9];
    let mut count = 0;
    let mut push = |name, value| {
        headers[count] = (name, value);
        count += 1;
    };
    // In ascending order of their names, as required for signing.
    if framed.trailer.is_some() {
        push("content-encoding", "aws-chunked");
    }
    if let (true, Body::Bytes(bytes)) = (request.md5, &request.body) {
        push("content-md5", content_md5(bytes, &mut md5));
    }
    push("host", &addressing.host);
    push("x-amz-content-sha256", payload_hash);
    if request.copy_of.is_some() {
        push("x-amz-copy-source", &buffers.source);
    }
    push("x-amz-date", time.text());
    if framed.trailer.is_some() {
        push("x-amz-decoded-content-length", decoded_len.as_str());
    }
    if let Some(token) = &config.credentials.session_token {
        push("x-amz-security-token", token.reveal());
    }
    if let Some(kind) = config.payload_signing.trailer().filter(|_| framed.trailer.is_some()) {
        push("x-amz-trailer", kind.header());
    }
    let headers = &headers[..count];

    buffers.authorization.clear();
    signer.authorization(
        &CanonicalRequest {
            method: request.method,
            path: &buffers.path,
            query: request.query,
            headers,
            payload_hash,
        },
        &mut buffers.authorization,
    );
    let mut head = RequestWriter::new(&mut buffers.head, request.method, &buffers.path, request.query);
    for (name, value) in headers {
        head.header(name, value.as_bytes());
    }
    head.header("authorization", &buffers.authorization);
    if matches!(request.method, "PUT" | "POST") {
        head.header_u64("content-length", framed.wire_len);
    }
    if let Some((offset, len)) = request.range {
        let (first, last) = (offset, offset.saturating_add(len) - 1);
        let mut value = [0; 48];
        head.header("range", write_range(first, last, &mut value));
    }
    head.header("user-agent", concat!("manometer/", env!("CARGO_PKG_VERSION")).as_bytes());
    if head.finish() > LEAD_BYTES - 32 {
        return Err(Failure::new(
            ErrorKind::Rejected,
            format!(
                "the request's head is longer than {} KiB: key or session token too long",
                LEAD_BYTES / 1024
            ),
        ));
    }
    Ok(())
}

/// `bytes=FIRST-LAST`, with space for two numbers of up to 20 digits.
fn write_range(first: u64, last: u64, out: &mut [u8; 48]) -> &[u8] {
    let mut len = 0;
    for part in [
        b"bytes=".as_slice(),
        NumberText::decimal(first).as_bytes(),
        b"-",
        NumberText::decimal(last).as_bytes(),
    ] {
        out[len..][..part.len()].copy_from_slice(part);
        len += part.len();
    }
    &out[..len]
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::Secret;
    use crate::s3::Credentials;

    fn config(path_style: bool) -> S3Config {
        let mut config = S3Config::new(
            "http://h:9000".parse().unwrap(),
            "bu",
            "manometer-x y",
            Credentials::new("AK", "SK"),
        );
        config.path_style = path_style;
        config
    }

    fn head(config: &S3Config, request: &Request<'_>) -> String {
        let mut signer = Signer::new("AK", "SK", "us-east-1", "s3");
        let mut buffers = HeadBuffers::default();
        let framed = Framed::plan(&request.body, config.payload_signing);
        write_head(request, &Addressing::new(config), config, &mut signer, &framed, None, &mut buffers)
            .unwrap();
        String::from_utf8(buffers.head).unwrap()
    }

    #[test]
    fn path_style_and_virtual_host_style() {
        let request = Request { range: Some((10, 5)), ..Request::new("GET", Subject::Object(255)) };
        let path = head(&config(true), &request);
        assert!(
            path.starts_with("GET /bu/manometer-x%20y/00000000000000ff HTTP/1.1\r\nhost: h:9000\r\n"),
            "{path}"
        );
        assert!(path.contains("\r\nrange: bytes=10-14\r\n") && !path.contains("content-length"), "{path}");
        let host = head(&config(false), &request);
        assert!(
            host.starts_with("GET /manometer-x%20y/00000000000000ff HTTP/1.1\r\nhost: bu.h:9000\r\n"),
            "{host}"
        );
        let mut blocks = config(true);
        blocks.blocks = Some([(255, "dir/an object".to_owned())].into());
        let block = Subject::Block { file: 255, offset: 8192, len: 4096 };
        let head_of_block = head(&blocks, &Request::new("PUT", block));
        assert!(
            head_of_block.starts_with("PUT /bu/dir/an%20object_8192_4096 HTTP/1.1\r\n"),
            "{head_of_block}"
        );
        let bucket = Request::new("HEAD", Subject::Bucket);
        assert!(head(&config(true), &bucket).starts_with("HEAD /bu HTTP"));
        assert!(head(&config(false), &bucket).starts_with("HEAD / HTTP"));
        assert_eq!(Addressing::new(&config(true)).key(1), "manometer-x y/0000000000000001");
    }

    #[test]
    fn keys_are_spread_over_common_prefixes() {
        let mut config = config(true);
        for (digits, name) in
            [(0, "0000000000001a2b"), (1, "b/0000000000001a2b"), (3, "a2b/0000000000001a2b")]
        {
            config.prefix_digits = digits;
            assert_eq!(Addressing::new(&config).key(0x1a2b), format!("manometer-x y/{name}"));
            let request = Request { copy_of: Some(0x1a2b), ..Request::new("PUT", Subject::Object(0x1a2b)) };
            let head = head(&config, &request);
            assert!(head.starts_with(&format!("PUT /bu/manometer-x%20y/{name} HTTP/1.1\r\n")), "{head}");
            assert!(head.contains(&format!("-source: /bu/manometer-x%20y/{name}\r\n")), "{head}");
        }
    }

    #[test]
    fn the_source_of_a_copy_names_the_bucket_in_both_styles() {
        let request = Request { copy_of: Some(255), ..Request::new("PUT", Subject::Object(1)) };
        for path_style in [true, false] {
            let copy = head(&config(path_style), &request);
            let source = "\r\nx-amz-copy-source: /bu/manometer-x%20y/00000000000000ff\r\n";
            let signed = "SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;x-amz-date,";
            assert!(copy.contains(source) && copy.contains(signed), "{copy}");
            assert!(copy.contains("/manometer-x%20y/0000000000000001 HTTP/1.1\r\n"), "{copy}");
            assert!(copy.contains("\r\ncontent-length: 0\r\n"), "{copy}");
        }
    }

    #[test]
    fn payload_is_announced_as_it_is_sent() {
        let len = 2 * PIECE_BYTES as u64 + 7;
        let op = Op::new(OpKind::Put, 0, 1).range(0, len);
        let body = Body::Payload { op, from: 0, len };
        let request = Request { body, ..Request::new("PUT", Subject::Object(1)) };
        let mut config = config(true);
        let plain = head(&config, &request);
        assert!(
            plain.contains("\r\ncontent-length: 524295\r\n") && plain.contains(": UNSIGNED-PAYLOAD\r\n"),
            "{plain}"
        );

        config.payload_signing = PayloadSigning::CrcTrailer;
        config.credentials.session_token = Some(Secret::new("tok"));
        let chunked = head(&config, &request);
        // 40000 CRLF data CRLF twice, 7 CRLF data CRLF, 0 CRLF, the trailer and two line ends.
        let wire = 524_295 + 2 * 9 + 5 + 3 + "x-amz-checksum-crc64nvme:".len() + 12 + 4;
        for line in [
            format!("content-length: {wire}"),
            "content-encoding: aws-chunked".to_owned(),
            "x-amz-decoded-content-length: 524295".to_owned(),
            "x-amz-trailer: x-amz-checksum-crc64nvme".to_owned(),
            "x-amz-security-token: tok".to_owned(),
            "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER".to_owned(),
        ] {
            assert!(chunked.contains(&format!("\r\n{line}\r\n")), "{line} in {chunked}");
        }
        assert!(chunked.contains(
            "SignedHeaders=content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-security-token;x-amz-trailer,"
        ), "{chunked}");
    }
}
