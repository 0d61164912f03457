//! S3 on the wire: what foreign libraries do not test, and the effect of faults.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
#[path = "../rest/http.rs"]
mod http;
mod space;

use std::net::{SocketAddr, TcpStream};
use std::time::SystemTime;

use array::{Array, Config, ManagementTls};
use http::{Answer, request};
use serde_json::{Value, json};
use wire::sigv4::{CanonicalRequest, Signer, UNSIGNED_PAYLOAD};

/// Access key and secret.
pub type Key = (String, String);

/// An array with a bucket, and the key of a user with full access.
pub struct Stage {
    /// The array.
    pub array: Array,
    /// The key.
    pub key: Key,
    session: String,
}

impl Stage {
    /// Starts and provisions the array.
    pub fn new(mut config: Config) -> Self {
        config.tls = ManagementTls::Off;
        let array = Array::start(config).unwrap();
        let to = array.management_address();
        let login = request(to, "POST", "/api/login", &[("api-token", array.token().reveal())], b"").unwrap();
        let session = login.header("x-auth-token").unwrap().to_owned();
        let mut stage = Self { array, key: Key::default(), session };
        stage.manage("POST", "object-store-accounts?names=a", &json!({}));
        stage.key = stage.user("a/u", true);
        stage.manage("POST", "buckets?names=bucket", &json!({ "account": { "name": "a" } }));
        stage
    }

    /// A management call that must succeed.
    pub fn manage(&self, method: &str, resource: &str, body: &Value) -> Value {
        let headers = [("x-auth-token", self.session.as_str())];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let target = format!("/api/2.0/{resource}");
        let answer =
            request(self.array.management_address(), method, &target, &headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{resource}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// Creates a user with a key.
    pub fn user(&self, name: &str, full_access: bool) -> Key {
        self.manage(
            "POST",
            &format!("object-store-users?names={name}&full_access={full_access}"),
            &json!({}),
        );
        let made = self.manage("POST", "object-store-access-keys", &json!({ "user": { "name": name } }));
        let text = |field: &str| made["items"][0][field].as_str().unwrap().to_owned();
        (text("name"), text("secret_access_key"))
    }

    /// S3's address and port at a data address.
    pub fn address(&self, number: usize) -> SocketAddr {
        let data = &self.array.data()[number];
        SocketAddr::new(data.ip, data.s3_port)
    }

    /// A request to the first address with the stage's key.
    pub fn s3(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        self.try_s3(0, &self.key, method, target, body).unwrap()
    }

    /// A request whose outcome is open.
    pub fn try_s3(
        &self,
        number: usize,
        key: &Key,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let to = self.address(number);
        let signed = sign(to, key, method, target);
        let headers: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, value.as_str())).collect();
        request(to, method, target, &headers, body)
    }

    /// The bucket's entry in the state.
    pub fn bucket(&self) -> Value {
        self.array.state()["buckets"][0].clone()
    }
}

/// The headers of a signed request.
pub fn sign(to: SocketAddr, key: &Key, method: &str, target: &str) -> Vec<(&'static str, String)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut signer = Signer::new(&key.0, &key.1, "us-east-1", "s3");
    // A test may use the wall clock.
    #[allow(clippy::disallowed_methods)]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    signer.set_time(now);
    let (host, date) = (to.to_string(), signer.time().text().to_owned());
    let headers =
        [("host", host.as_str()), ("x-amz-content-sha256", UNSIGNED_PAYLOAD), ("x-amz-date", &date)];
    let canonical =
        CanonicalRequest { method, path, query, headers: &headers, payload_hash: UNSIGNED_PAYLOAD };
    let mut authorization = Vec::new();
    signer.authorization(&canonical, &mut authorization);
    vec![
        ("host", host),
        ("x-amz-content-sha256", UNSIGNED_PAYLOAD.into()),
        ("x-amz-date", date),
        ("authorization", String::from_utf8(authorization).unwrap()),
    ]
}

#[test]
fn what_is_put_is_got_from_every_address() {
    let stage = Stage::new(Config::loopback());
    let body: Vec<u8> = (0..3_000_001u32).map(|i| (i * 7 / 3) as u8).collect();
    let put = stage.s3("PUT", "/bucket/key", &body);
    assert_eq!(put.status, 200, "{}", put.text());
    assert!(put.header("etag").unwrap().contains('-'), "nobody takes it for an MD5 sum");
    for number in 0..2 {
        let got = stage.try_s3(number, &stage.key, "GET", "/bucket/key", b"").unwrap();
        assert!(got.body == body);
        assert_eq!(got.header("etag"), put.header("etag"));
    }
    let head = stage.s3("HEAD", "/bucket/key", b"");
    assert_eq!((head.status, head.header("content-length")), (200, Some("3000001")));
    assert_eq!(stage.bucket()["objects"], 1);
}

#[test]
fn keys_and_policies_are_checked() {
    let stage = Stage::new(Config::loopback());
    stage.s3("PUT", "/bucket/key", b"x");
    let status = |key: &Key, method: &str, target: &str| {
        let answer = stage.try_s3(0, key, method, target, b"").unwrap();
        (answer.status, answer.text())
    };
    let refused = |(status, text): (u16, String), code: &str| {
        assert!(status == 403 && text.contains(code), "{status} {text}");
    };
    refused(status(&(stage.key.0.clone(), "wrong".into()), "GET", "/bucket/key"), "SignatureDoesNotMatch");
    refused(status(&("NOBODY".into(), stage.key.1.clone()), "GET", "/bucket/key"), "InvalidAccessKeyId");
    let unsigned = request(stage.address(0), "GET", "/bucket/key", &[("host", "x")], b"").unwrap();
    refused((unsigned.status, unsigned.text()), "AccessDenied");

    let reader = stage.user("a/reader", false);
    refused(status(&reader, "GET", "/bucket/key"), "AccessDenied");
    let member = "object-store-users/object-store-access-policies?member_names=a/reader&policy_names=pure:policy/object-read";
    stage.manage("POST", member, &Value::Null);
    assert_eq!(status(&reader, "GET", "/bucket/key").0, 200);
    refused(status(&reader, "DELETE", "/bucket/key"), "AccessDenied");

    stage.manage("POST", "object-store-accounts?names=other", &json!({}));
    let stranger = stage.user("other/u", true);
    refused(status(&stranger, "GET", "/bucket/key"), "AccessDenied");

    stage.manage(
        "PATCH",
        &format!("object-store-access-keys?names={}", reader.0),
        &json!({ "enabled": false }),
    );
    refused(status(&reader, "GET", "/bucket/key"), "InvalidAccessKeyId");
}

#[test]
fn a_body_that_ends_early_leaves_nothing() {
    let stage = Stage::new(Config::loopback());
    let to = stage.address(0);
    let mut stream = TcpStream::connect(to).unwrap();
    let mut head = "PUT /bucket/key HTTP/1.1\r\ncontent-length: 1000000\r\n".to_owned();
    for (name, value) in sign(to, &stage.key, "PUT", "/bucket/key") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    std::io::Write::write_all(&mut stream, format!("{head}\r\nonly this").as_bytes()).unwrap();
    drop(stream);
    let gone = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        stage.array.capacity().used() == 0
    });
    assert!(gone, "the room is given back");
    assert_eq!(stage.s3("GET", "/bucket/key", b"").status, 404);
}

/// As used by part-wise downloaders: by the part numbers of the upload, with their count in the response.
#[test]
fn a_part_of_an_object_is_got_by_its_number() {
    let stage = Stage::new(Config::loopback());
    let text = |answer: &Answer, name: &str| answer.header(name).map(str::to_owned);
    let begun = stage.s3("POST", "/bucket/key?uploads=", b"").text();
    let id = begun.split("<UploadId>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let (first, second) = (vec![1; 5 << 20], vec![2; 1000]);
    let mut list = String::from("<CompleteMultipartUpload>");
    for (number, body) in [(1, &first), (2, &second)] {
        let put = stage.s3("PUT", &format!("/bucket/key?partNumber={number}&uploadId={id}"), body);
        let etag = text(&put, "etag").unwrap();
        list.push_str(&format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"));
    }
    list.push_str("</CompleteMultipartUpload>");
    assert_eq!(stage.s3("POST", &format!("/bucket/key?uploadId={id}"), list.as_bytes()).status, 200);

    let part = stage.s3("GET", "/bucket/key?partNumber=2", b"");
    assert_eq!((part.status, &part.body), (206, &second));
    assert_eq!(text(&part, "x-amz-mp-parts-count").as_deref(), Some("2"));
    assert_eq!(text(&part, "content-range").as_deref(), Some("bytes 5242880-5243879/5243880"));
    let part = stage.s3("GET", "/bucket/key?partNumber=1", b"");
    assert!(part.status == 206 && part.body == first);
    let none = stage.s3("GET", "/bucket/key?partNumber=3", b"");
    assert!(none.status == 416 && none.text().contains("InvalidPartNumber"), "{}", none.text());
    // An object put as a whole is its only part.
    stage.s3("PUT", "/bucket/whole", b"abc");
    let part = stage.s3("GET", "/bucket/whole?partNumber=1", b"");
    assert_eq!((part.status, &*part.body, text(&part, "x-amz-mp-parts-count")), (206, &b"abc"[..], None));
    assert_eq!(stage.s3("GET", "/bucket/whole?partNumber=2", b"").status, 416);
}
