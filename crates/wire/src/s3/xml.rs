//! A bounded traversal of a small XML document.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

/// Maximum nesting depth of elements; S3's own responses reach 5.
pub const MAX_DEPTH: usize = 16;
/// Maximum text length of one element, in bytes; keys have up to 1024 characters.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Why a body could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// Not UTF-8, not well-formed, or a reference to an unknown entity.
    #[error("the XML in the answer is malformed: {0}")]
    Malformed(Box<str>),
    /// Nested deeper than [`MAX_DEPTH`], or a text longer than [`MAX_TEXT_BYTES`].
    #[error("the XML in the answer is too {0}")]
    TooBig(&'static str),
    /// A different document than the one requested.
    #[error("the answer is a {found} document where {expected} was expected")]
    Unexpected {
        /// The expected root element.
        expected: &'static str,
        /// The actual root element.
        found: Box<str>,
    },
    /// A required element is missing or does not contain a number.
    #[error("the answer has no valid {0}")]
    Missing(&'static str),
    /// The server responded 200 with an error in the body, as S3 does for long operations.
    #[error("{0}")]
    Server(Box<super::S3Error>),
}

/// Calls `leave` at the end of every element with its path (`/Root/Child`) and the text inside it. Children come before
/// their parents; namespaces and attributes are ignored.
pub(super) fn walk(
    body: &[u8],
    root: &'static str,
    mut leave: impl FnMut(&str, &str) -> Result<(), XmlError>,
) -> Result<(), XmlError> {
    let text = std::str::from_utf8(body).map_err(|_| malformed("not UTF-8"))?;
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    reader.config_mut().expand_empty_elements = true;
    let mut path = String::new();
    let mut content = String::new();
    let mut depth = 0;
    let mut seen_root = false;
    loop {
        match reader.read_event().map_err(malformed)? {
            Event::Start(start) => {
                let name = start.local_name();
                let name: &str = name.as_ref();
                if depth == 0 {
                    if seen_root {
                        return Err(malformed("two root elements"));
                    }
                    if name != root {
                        let found = name.chars().take(64).collect::<String>().into();
                        return Err(XmlError::Unexpected { expected: root, found });
                    }
                    seen_root = true;
                }
                depth += 1;
                if depth > MAX_DEPTH || path.len() + name.len() > MAX_TEXT_BYTES {
                    return Err(XmlError::TooBig("deep"));
                }
                path.push('/');
                path.push_str(name);
                content.clear();
            }
            Event::End(_) => {
                leave(&path, &content)?;
                let parent = path.rfind('/').ok_or_else(|| malformed("an end without a start"))?;
                path.truncate(parent);
                depth -= 1;
                content.clear();
            }
            Event::Text(text) => append(&mut content, depth, text.xml10_content())?,
            Event::CData(text) => append(&mut content, depth, text.xml10_content())?,
            Event::GeneralRef(reference) => {
                let resolved = match reference.resolve_char_ref().map_err(malformed)? {
                    Some(character) => Cow::Owned(character.to_string()),
                    None => Cow::Borrowed(
                        resolve_xml_entity(&reference).ok_or_else(|| malformed("unknown entity"))?,
                    ),
                };
                append(&mut content, depth, resolved)?;
            }
            Event::Eof if depth == 0 && seen_root => return Ok(()),
            Event::Eof => return Err(malformed("it ends early")),
            _ => {}
        }
    }
}

/// Appends text within the root element; outside it whitespace is allowed and other text is ignored.
fn append(content: &mut String, depth: usize, text: Cow<'_, str>) -> Result<(), XmlError> {
    if depth == 0 {
        return Ok(());
    }
    if content.len() + text.len() > MAX_TEXT_BYTES {
        return Err(XmlError::TooBig("long"));
    }
    content.push_str(&text);
    Ok(())
}

pub(super) fn malformed(reason: impl ToString) -> XmlError {
    XmlError::Malformed(reason.to_string().chars().take(200).collect::<String>().into())
}

/// Appends text with the five special characters escaped, and with carriage return and line feed, which a parser would
/// otherwise normalise, as character references.
pub(super) fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\r' => out.push_str("&#13;"),
            '\n' => out.push_str("&#10;"),
            _ => out.push(character),
        }
    }
}

/// Parses an element's decimal number.
pub(super) fn number(text: &str, element: &'static str) -> Result<u64, XmlError> {
    crate::http1::parse_decimal(text.as_bytes()).ok_or(XmlError::Missing(element))
}
