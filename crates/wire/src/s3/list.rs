//! ListObjectsV2.

use super::xml::{XmlError, malformed, number, walk};

/// One object of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedObject {
    /// The key, decoded.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The objects of this page, in the server's order.
    pub objects: Vec<ListedObject>,
    /// Number of common prefixes of this page.
    pub prefixes: u64,
    /// Continuation token of the next page, if there is one.
    pub next: Option<String>,
}

/// Parses one page, with or without `encoding-type=url`.
///
/// # Errors
/// If the body is malformed, is an error document, or says that it is truncated but not where to continue.
pub fn parse_list_v2(body: &[u8]) -> Result<ListPage, XmlError> {
    let mut page = ListPage::default();
    let mut object = (None, None);
    let mut truncated = false;
    let mut url_encoded = false;
    walk(body, "ListBucketResult", |path, text| {
        match path {
            "/ListBucketResult/Contents/Key" => object.0 = Some(text.to_owned()),
            "/ListBucketResult/Contents/Size" => object.1 = Some(number(text, "Size")?),
            "/ListBucketResult/Contents" => {
                let (key, size) = std::mem::take(&mut object);
                page.objects.push(ListedObject {
                    key: key.ok_or(XmlError::Missing("Key"))?,
                    size: size.ok_or(XmlError::Missing("Size"))?,
                });
            }
            "/ListBucketResult/CommonPrefixes" => page.prefixes += 1,
            "/ListBucketResult/EncodingType" => url_encoded = text == "url",
            "/ListBucketResult/IsTruncated" => truncated = text.trim() == "true",
            "/ListBucketResult/NextContinuationToken" if !text.is_empty() => {
                page.next = Some(text.to_owned());
            }
            _ => {}
        }
        Ok(())
    })?;
    if url_encoded {
        for object in &mut page.objects {
            object.key = decode_url(&object.key)?;
        }
    }
    match (truncated, &page.next) {
        (true, None) => Err(XmlError::Missing("NextContinuationToken")),
        (true, Some(_)) => Ok(page),
        (false, _) => Ok(ListPage { next: None, ..page }),
    }
}

/// Decodes percent encoding, and `+` as a space, which some servers send.
pub(super) fn decode_url(text: &str) -> Result<String, XmlError> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let mut digit = || {
                    let digit = bytes.next().and_then(|digit| char::from(digit).to_digit(16));
                    digit.ok_or_else(|| malformed("bad percent encoding in a key"))
                };
                out.push((digit()? << 4 | digit()?) as u8);
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).map_err(|_| malformed("a key is not UTF-8"))
}
