//! SigV4 against the published test suite and the worked examples of the S3 API reference.

use wire::checksum::Sha256;
use wire::sigv4::{
    CanonicalRequest, EMPTY_SHA256, STREAMING_UNSIGNED_TRAILER, Signer, Timestamp, UNSIGNED_PAYLOAD,
    canonical_query, encode_path,
};

/// The test suite's user, region, service and time.
fn suite() -> Signer {
    let mut signer =
        Signer::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service");
    signer.set_time(1_440_938_160);
    assert_eq!(signer.time().text(), "20150830T123600Z");
    signer
}

/// The S3 reference's user, region and time.
fn s3() -> Signer {
    let mut signer =
        Signer::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3");
    signer.set_time(1_369_353_600);
    signer
}

fn hex(signature: [u8; 64]) -> String {
    String::from_utf8(signature.to_vec()).expect("hexadecimal digits")
}

fn suite_signature(method: &str, path: &str, query: &[(&str, &str)]) -> String {
    let mut encoded = String::new();
    encode_path(path, &mut encoded);
    let request = CanonicalRequest {
        method,
        path: &encoded,
        query: &canonical_query(query),
        headers: &[("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")],
        payload_hash: EMPTY_SHA256,
    };
    hex(suite().signature(&request))
}

#[test]
fn the_test_suite_s_requests_have_the_published_signatures() {
    for (name, method, path, query, signature) in [
        (
            "get-vanilla",
            "GET",
            "/",
            &[][..],
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "post-vanilla",
            "POST",
            "/",
            &[][..],
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "get-utf8",
            "GET",
            "/\u{1234}",
            &[][..],
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
        ),
        (
            "get-unreserved",
            "GET",
            "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            &[][..],
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
        ),
        (
            "get-vanilla-query-order-key-case",
            "GET",
            "/",
            &[("Param2", "value2"), ("Param1", "value1")][..],
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "get-vanilla-empty-query-key",
            "GET",
            "/",
            &[("Param1", "value1")][..],
            "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
        ),
        (
            "get-vanilla-utf8-query",
            "GET",
            "/",
            &[("\u{1234}", "bar")][..],
            "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
        ),
    ] {
        assert_eq!(suite_signature(method, path, query), signature, "{name}");
    }
}

#[test]
fn the_whole_authorization_header() {
    let mut out = Vec::new();
    suite().authorization(
        &CanonicalRequest {
            method: "GET",
            path: "/",
            query: "",
            headers: &[("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")],
            payload_hash: EMPTY_SHA256,
        },
        &mut out,
    );
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,\
         SignedHeaders=host;x-amz-date,\
         Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    );
}

#[test]
fn the_s3_reference_s_examples() {
    let get = CanonicalRequest {
        method: "GET",
        path: "/test.txt",
        query: "",
        headers: &[
            ("host", "examplebucket.s3.amazonaws.com"),
            ("range", "bytes=0-9"),
            ("x-amz-content-sha256", EMPTY_SHA256),
            ("x-amz-date", "20130524T000000Z"),
        ],
        payload_hash: EMPTY_SHA256,
    };
    assert_eq!(hex(s3().signature(&get)), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

    let mut body = Sha256::new();
    body.update(b"Welcome to ");
    body.update(b"Amazon S3.");
    let body = hex(body.hex());
    let mut path = String::from("/");
    encode_path("test$file.text", &mut path);
    let put = CanonicalRequest {
        method: "PUT",
        path: &path,
        query: "",
        headers: &[
            ("date", "Fri, 24 May 2013 00:00:00 GMT"),
            ("host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-content-sha256", &body),
            ("x-amz-date", "20130524T000000Z"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ],
        payload_hash: &body,
    };
    assert_eq!(hex(s3().signature(&put)), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");

    let query = |query: &[(&str, &str)]| {
        hex(s3().signature(&CanonicalRequest {
            method: "GET",
            path: "/",
            query: &canonical_query(query),
            headers: &[
                ("host", "examplebucket.s3.amazonaws.com"),
                ("x-amz-content-sha256", EMPTY_SHA256),
                ("x-amz-date", "20130524T000000Z"),
            ],
            payload_hash: EMPTY_SHA256,
        }))
    };
    assert_eq!(
        query(&[("lifecycle", "")]),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    );
    assert_eq!(
        query(&[("max-keys", "2"), ("prefix", "J")]),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    );
}

#[test]
fn the_day_s_key_is_renewed_at_midnight_and_only_then() {
    let request = CanonicalRequest {
        method: "GET",
        path: "/",
        query: "",
        headers: &[("host", "h")],
        payload_hash: UNSIGNED_PAYLOAD,
    };
    let midnight = 1_369_440_000;
    let fresh = |at| {
        let mut signer = s3();
        signer.set_time(at);
        hex(signer.signature(&request))
    };
    let mut kept = s3();
    for at in [midnight - 1, midnight, midnight + 1, midnight - 1] {
        kept.set_time(at);
        assert_eq!(hex(kept.signature(&request)), fresh(at), "at {:?}", Timestamp::from_unix(at));
    }
    assert_ne!(fresh(midnight - 1), fresh(midnight));
}

#[test]
fn every_part_of_the_request_is_signed() {
    let request = |method, path, query, value, hash| {
        hex(s3().signature(&CanonicalRequest {
            method,
            path,
            query,
            headers: &[("host", value)],
            payload_hash: hash,
        }))
    };
    let all = [
        request("GET", "/", "", "h", UNSIGNED_PAYLOAD),
        request("PUT", "/", "", "h", UNSIGNED_PAYLOAD),
        request("GET", "/a", "", "h", UNSIGNED_PAYLOAD),
        request("GET", "/", "a=", "h", UNSIGNED_PAYLOAD),
        request("GET", "/", "", "i", UNSIGNED_PAYLOAD),
        request("GET", "/", "", "h", STREAMING_UNSIGNED_TRAILER),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(!all[..index].contains(one));
    }
}

#[test]
fn the_secret_is_not_printed() {
    let printed = format!("{:?}", s3());
    assert!(printed.contains("AKIAIOSFODNN7EXAMPLE"));
    assert!(!printed.contains("wJalr") && !printed.contains("119, 74"), "{printed}");
}
