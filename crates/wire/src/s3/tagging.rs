//! PutObjectTagging and GetObjectTagging.

use super::xml::{XmlError, escape_into, walk};

/// One tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// The key, at most 128 characters.
    pub key: String,
    /// The value, at most 256 characters.
    pub value: String,
}

/// Writes the document that replaces an object's tags. `write` appends the text of a value, which needs no escaping.
pub fn tagging<V>(
    tags: impl IntoIterator<Item = (&'static str, V)>,
    write: impl Fn(V, &mut String),
    out: &mut String,
) {
    out.clear();
    out.push_str("<Tagging xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TagSet>");
    for (key, value) in tags {
        out.push_str("<Tag><Key>");
        escape_into(key, out);
        out.push_str("</Key><Value>");
        write(value, out);
        out.push_str("</Value></Tag>");
    }
    out.push_str("</TagSet></Tagging>");
}

/// Parses the tags of an object, in the server's order.
///
/// # Errors
/// If the body is malformed or a different document.
pub fn parse_tags(body: &[u8]) -> Result<Vec<Tag>, XmlError> {
    let mut tags = Vec::new();
    let mut tag = Tag::default();
    walk(body, "Tagging", |path, text| {
        match path {
            "/Tagging/TagSet/Tag/Key" => text.clone_into(&mut tag.key),
            "/Tagging/TagSet/Tag/Value" => text.clone_into(&mut tag.value),
            "/Tagging/TagSet/Tag" => tags.push(std::mem::take(&mut tag)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_there_and_back() {
        let mut document = "old".to_owned();
        tagging([("a<b", 7), ("c", 8)], |value, out| out.push_str(&format!("v{value}")), &mut document);
        let tag = |key: &str, value: &str| Tag { key: key.into(), value: value.into() };
        assert_eq!(parse_tags(document.as_bytes()), Ok(vec![tag("a<b", "v7"), tag("c", "v8")]));
        assert_eq!(parse_tags(b"<Tagging><TagSet/></Tagging>"), Ok(Vec::new()));
        assert!(matches!(parse_tags(b"<Error/>"), Err(XmlError::Unexpected { .. })));
    }
}
