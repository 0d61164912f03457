//! S3's XML: realistic responses and the corresponding requests.

use proptest::prelude::*;
use wire::s3::{
    CompletedPart, ListedObject, MAX_DEPTH, MAX_TEXT_BYTES, Upload, XmlError, complete_multipart,
    create_bucket_configuration, delete_objects, parse_complete, parse_delete_result, parse_error,
    parse_initiate, parse_list_parts, parse_list_uploads, parse_list_v2, parse_location,
};

#[test]
fn a_listing_in_two_pages() {
    let first = br#"<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys>
  <IsTruncated>true</IsTruncated><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
  <Contents><Key>p/a&amp;b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag><Size>8388608</Size>
    <Owner><ID>1</ID><DisplayName>Key</DisplayName></Owner><StorageClass>STANDARD</StorageClass></Contents>
  <Contents><Key>p/&#233;&#x20;<![CDATA[<x>]]></Key><Size>0</Size></Contents>
  <CommonPrefixes><Prefix>p/q/</Prefix></CommonPrefixes>
</ListBucketResult>"#;
    let page = parse_list_v2(first).unwrap();
    assert_eq!(
        page.objects,
        [
            ListedObject { key: "p/a&b".into(), size: 8_388_608 },
            ListedObject { key: "p/\u{e9} <x>".into(), size: 0 }
        ]
    );
    assert_eq!(page.next.as_deref(), Some("1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="));

    let last = br#"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>
        <Contents><Key>p/%E1%88%B4+x%2By</Key><Size>1</Size></Contents></ListBucketResult>"#;
    let page = parse_list_v2(last).unwrap();
    assert_eq!(page.objects[0].key, "p/\u{1234} x+y");
    assert_eq!(page.next, None);
    assert_eq!(parse_list_v2(b"<ListBucketResult/>").unwrap().objects, []);
}

#[test]
fn a_listing_that_cannot_be_trusted_is_refused() {
    let inside =
        |text: &str| parse_list_v2(format!("<ListBucketResult>{text}</ListBucketResult>").as_bytes());
    assert_eq!(inside("<IsTruncated>true</IsTruncated>"), Err(XmlError::Missing("NextContinuationToken")));
    assert_eq!(inside("<Contents><Key>a</Key></Contents>"), Err(XmlError::Missing("Size")));
    assert_eq!(inside("<Contents><Size>1</Size></Contents>"), Err(XmlError::Missing("Key")));
    assert_eq!(inside("<Contents><Key>a</Key><Size>-1</Size></Contents>"), Err(XmlError::Missing("Size")));
    for text in [
        "<Contents>",
        "<a></b>",
        "&nosuch;",
        "<EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size></Contents>",
        "<!--",
    ] {
        assert!(matches!(inside(text), Err(XmlError::Malformed(_))), "{text}: {:?}", inside(text));
    }
    assert!(matches!(parse_list_v2(b"\xff<ListBucketResult/>"), Err(XmlError::Malformed(_))));
    assert!(matches!(parse_list_v2(b""), Err(XmlError::Malformed(_))));
    assert!(
        matches!(parse_list_v2(b"<html><body>502</body></html>"), Err(XmlError::Unexpected { found, .. }) if &*found == "html")
    );
    assert_eq!(inside(&"<a>".repeat(MAX_DEPTH)), Err(XmlError::TooBig("deep")));
    assert_eq!(inside(&"x".repeat(MAX_TEXT_BYTES + 1)), Err(XmlError::TooBig("long")));
}

#[test]
fn errors_in_their_fields() {
    let error = parse_error(
        b"<?xml version=\"1.0\"?>\n<Error><Code>PermanentRedirect</Code><Message>go\nthere</Message><Endpoint>b.s3.eu-central-1.amazonaws.com</Endpoint>\
          <Region>eu-central-1</Region><RequestId>4442587FB7D0A2F9</RequestId><HostId>x</HostId></Error>",
    )
    .unwrap();
    assert_eq!(error.code, "PermanentRedirect");
    assert_eq!(error.region, "eu-central-1");
    assert_eq!(error.to_string(), "PermanentRedirect (go there), request 4442587FB7D0A2F9");
    assert_eq!(parse_error(b"<Error></Error>"), Err(XmlError::Missing("Code")));
    assert!(parse_error(b"").is_err());
    let long = format!("<Error><Code>{}</Code></Error>", "A".repeat(5000));
    assert_eq!(parse_error(long.as_bytes()).unwrap().code.len(), 80);
}

#[test]
fn multipart_from_begin_to_end() {
    let id = parse_initiate(b"<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>VXBs/b2Fk</UploadId></InitiateMultipartUploadResult>");
    assert_eq!(id.as_deref(), Ok("VXBs/b2Fk"));
    assert_eq!(parse_initiate(b"<InitiateMultipartUploadResult/>"), Err(XmlError::Missing("UploadId")));

    let body = complete_multipart(&[
        CompletedPart { number: 1, etag: "\"a\"".into() },
        CompletedPart { number: 2, etag: "\"b\"".into() },
    ]);
    assert_eq!(
        body,
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>\
         <Part><PartNumber>2</PartNumber><ETag>&quot;b&quot;</ETag></Part></CompleteMultipartUpload>"
    );
    let done = parse_complete(
        b"\n  <CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>",
    );
    assert_eq!(done.as_deref(), Ok("\"x-2\""));
    let failed = parse_complete(b"<Error><Code>InternalError</Code><Message>m</Message></Error>");
    assert!(matches!(failed, Err(XmlError::Server(error)) if error.code == "InternalError"));

    let page = parse_list_uploads(
        b"<ListMultipartUploadsResult><Bucket>b</Bucket><NextKeyMarker>k2</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker>\
          <IsTruncated>true</IsTruncated><Upload><Key>k1</Key><UploadId>u1</UploadId><Initiator><ID>x</ID></Initiator></Upload>\
          <Upload><Key>k2</Key><UploadId>u2</UploadId></Upload></ListMultipartUploadsResult>",
    )
    .unwrap();
    assert_eq!(page.uploads[1], Upload { key: "k2".into(), id: "u2".into() });
    assert_eq!(page.next, Some(("k2".into(), "u2".into())));

    let parts = parse_list_parts(
        b"<ListPartsResult><IsTruncated>false</IsTruncated><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag><Size>5</Size></Part></ListPartsResult>",
    )
    .unwrap();
    assert_eq!((parts.parts[0].number, parts.parts[0].size, parts.next), (1, 5, None));
}

#[test]
fn deletes_buckets_and_regions() {
    assert_eq!(
        delete_objects(["a", "<&>"]),
        "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>\
         <Object><Key>a</Key></Object><Object><Key>&lt;&amp;&gt;</Key></Object></Delete>"
    );
    assert_eq!(parse_delete_result(b"<DeleteResult/>").unwrap(), []);
    let failed = parse_delete_result(
        b"<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>",
    )
    .unwrap();
    assert_eq!((failed.len(), &*failed[0].key, &*failed[0].code), (1, "b", "AccessDenied"));

    assert_eq!(create_bucket_configuration("us-east-1"), "");
    assert!(create_bucket_configuration("eu-west-1").contains(">eu-west-1<"));
    assert_eq!(
        parse_location(b"<LocationConstraint>eu-west-1</LocationConstraint>").as_deref(),
        Ok("eu-west-1")
    );
    assert_eq!(parse_location(b"<LocationConstraint xmlns=\"x\"/>").as_deref(), Ok("us-east-1"));
}

proptest! {
    /// A key survives escaping, parsing and, where requested, URL decoding.
    #[test]
    fn keys_survive_the_way_through_xml(keys in prop::collection::vec("[^\\x00-\\x08\\x0b-\\x1f\u{7f}-\u{9f}\u{2028}\u{fffe}\u{ffff}]{1,40}", 1..5)) {
        let delete = delete_objects(keys.iter().map(String::as_str));
        // The same escaping in a listing: the keys between their tags, in order.
        let mut contents = String::new();
        for part in delete.split("<Object>").skip(1) {
            let key = part.split("</Object>").next().unwrap();
            contents.push_str(&format!("<Contents>{key}<Size>1</Size></Contents>"));
        }
        let page = parse_list_v2(format!("<ListBucketResult>{contents}</ListBucketResult>").as_bytes()).unwrap();
        let found: Vec<_> = page.objects.into_iter().map(|object| object.key).collect();
        prop_assert_eq!(found, keys);
    }

    #[test]
    fn percent_encoded_keys_come_back(key in "\\PC{1,40}") {
        let mut encoded = String::new();
        wire::sigv4::encode_component(&key, &mut encoded);
        let body = format!("<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>{encoded}</Key><Size>1</Size></Contents></ListBucketResult>");
        prop_assert_eq!(&parse_list_v2(body.as_bytes()).unwrap().objects[0].key, &key);
    }
}
