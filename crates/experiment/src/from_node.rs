//! Deserialises values from the tree: every fault points at the key or value that is wrong, and carries the hint.
//!
//! Numbers may have units: a size where a whole number is expected (`4KiB`), a duration where a number in seconds is
//! expected (`250ms`).

use std::fmt;

use serde::de::{self, DeserializeOwned, IntoDeserializer, Visitor};
use units::{Size, Span};

use crate::nearest::hint;
use crate::place::Place;
use crate::reader::Reader;
use crate::tree::{Entry, Node, Value};

/// Reads a value, and reports a fault if it is invalid.
pub(crate) fn read<T: DeserializeOwned>(reader: &Reader<'_>, node: &Node) -> Option<T> {
    let node = reader.resolve(node)?;
    match T::deserialize(FromNode { reader, node: &node }) {
        Ok(value) => Some(value),
        Err(Wrong { text, hint, place }) => {
            if !text.is_empty() {
                reader.log.fault(place.unwrap_or(node.place), text, hint);
            }
            None
        }
    }
}

/// What is wrong, and where; an empty text means that it was reported already.
#[derive(Debug)]
struct Wrong {
    text: String,
    hint: String,
    place: Option<Place>,
}

impl Wrong {
    fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Wrong { text: text.into(), hint: hint.into(), place: None }
    }

    /// Keeps the innermost place, which is the one that helps.
    fn at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Wrong::new(text.to_string(), "see docs/experiments.md, section \"Jobs\"")
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Wrong::new(format!("there is no key {field:?} here"), hint(field, expected.iter().copied()))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Wrong::new(format!("{variant:?} does not fit here"), hint(variant, expected.iter().copied()))
    }

    fn missing_field(field: &'static str) -> Self {
        Wrong::new(format!("{field} is missing here"), format!("add {field}: …"))
    }

    fn invalid_length(len: usize, expected: &dyn de::Expected) -> Self {
        Wrong::new(format!("{len} items do not fit here"), format!("write {}", in_words(expected)))
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match unexpected {
            de::Unexpected::Str(text) => format!("{text:?}"),
            de::Unexpected::Seq => "a list".to_owned(),
            de::Unexpected::Map => "a map".to_owned(),
            de::Unexpected::Unit => "nothing".to_owned(),
            other => other.to_string(),
        };
        Wrong::new(format!("{found} does not fit here"), format!("write {}", in_words(expected)))
    }
}

/// What serde expects; type names mean nothing to authors of files.
fn in_words(expected: &dyn de::Expected) -> String {
    let text = expected.to_string();
    if text.starts_with("struct") { "a map: key: value".to_owned() } else { text }
}

/// A node as a deserialiser.
struct FromNode<'a> {
    reader: &'a Reader<'a>,
    node: &'a Node,
}

impl<'a> FromNode<'a> {
    fn text(&self, wanted: &str) -> Result<String, Wrong> {
        // The reader reports its own faults.
        let noted = Wrong::new("", "");
        self.reader.text(self.node, &format!("write {wanted}")).ok_or(noted)
    }

    fn whole(&self, least: i128, most: i128) -> Result<i128, Wrong> {
        let wanted = "a whole number, or a size such as 4KiB";
        let text = self.text(wanted)?;
        let digits: String = text.chars().filter(|c| *c != '_').collect();
        let value = match digits.parse::<i128>() {
            Ok(value) => value,
            Err(_) => match text.parse::<Size>() {
                Ok(size) => i128::from(size.bytes()),
                Err(_) => {
                    let wrong =
                        Wrong::new(format!("{text:?} is not a whole number"), format!("write {wanted}"));
                    return Err(wrong.at(self.node.place));
                }
            },
        };
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        let hint = format!("write a whole number from {least} to {most}");
        Err(Wrong::new(format!("{text} does not fit here"), hint).at(self.node.place))
    }

    fn number(&self) -> Result<f64, Wrong> {
        let wanted = "a number, or a duration such as 250ms";
        let text = self.text(wanted)?;
        let plain = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = plain.or_else(|| text.parse::<Span>().ok().map(|span| span.duration().as_secs_f64()));
        value.ok_or_else(|| {
            Wrong::new(format!("{text:?} is not a number"), format!("write {wanted}")).at(self.node.place)
        })
    }

    fn flag(&self) -> Result<bool, Wrong> {
        self.reader.flag(self.node).ok_or(Wrong::new("", ""))
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            let value = self.whole(<$type>::MIN.into(), <$type>::MAX.into())?;
            visitor.$visit(<$type>::try_from(value).unwrap_or_default())
        }
    )*};
}

impl<'de> de::Deserializer<'de> for FromNode<'_> {
    type Error = Wrong;

    whole_numbers!(
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let place = self.node.place;
        match &self.node.value {
            Value::Scalar(_) => visitor.visit_string(self.text("a value")?),
            Value::Empty => visitor.visit_unit(),
            Value::List(items) => visitor.visit_seq(Items { reader: self.reader, items: items.iter() }),
            Value::Map(entries) => {
                visitor.visit_map(Entries { reader: self.reader, entries: entries.iter(), current: None })
            }
        }
        .map_err(|wrong: Wrong| wrong.at(place))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_bool(self.flag()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_string(self.text("a text")?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.node.value {
            Value::Empty => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let (reader, place) = (self.reader, self.node.place);
        match &self.node.value {
            Value::Map(entries) => match entries.as_slice() {
                [entry] => visitor
                    .visit_enum(Variant {
                        reader,
                        name: &entry.key,
                        place: entry.key_place,
                        value: Some(&entry.node),
                    })
                    .map_err(|wrong| wrong.at(entry.node.place)),
                several => {
                    let text = format!("{} keys where one belongs", several.len());
                    Err(Wrong::new(text, format!("write one of {}", crate::reader::one_of(variants)))
                        .at(place))
                }
            },
            _ => {
                let name = self.text(&crate::reader::one_of(variants))?;
                visitor.visit_enum(Variant { reader, name: &name, place, value: None })
            }
        }
    }

    serde::forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The items of a list.
struct Items<'a> {
    reader: &'a Reader<'a>,
    items: std::slice::Iter<'a, Node>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(node) = self.items.next() else { return Ok(None) };
        value(self.reader, node, seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// A value with its parameters substituted.
fn value<'de, T: de::DeserializeSeed<'de>>(
    reader: &Reader<'_>,
    node: &Node,
    seed: T,
) -> Result<T::Value, Wrong> {
    let resolved = reader.resolve(node).ok_or(Wrong::new("", ""))?;
    seed.deserialize(FromNode { reader, node: &resolved }).map_err(|wrong| wrong.at(resolved.place))
}

/// The entries of a map.
struct Entries<'a> {
    reader: &'a Reader<'a>,
    entries: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Wrong;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.current = Some(entry);
        let key: de::value::StrDeserializer<'_, Wrong> = (*entry.key).into_deserializer();
        seed.deserialize(key).map(Some).map_err(|wrong| wrong.at(entry.key_place))
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let entry = self.current.take().ok_or(Wrong::new("", ""))?;
        value(self.reader, &entry.node, seed)
    }
}

/// One of several words, possibly with a value.
struct Variant<'a> {
    reader: &'a Reader<'a>,
    name: &'a str,
    place: Place,
    value: Option<&'a Node>,
}

impl<'a, 'de> de::EnumAccess<'de> for Variant<'a> {
    type Error = Wrong;
    type Variant = Variant<'a>;

    fn variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), Wrong> {
        let name: de::value::StrDeserializer<'_, Wrong> = self.name.into_deserializer();
        let found = seed.deserialize(name).map_err(|wrong| wrong.at(self.place))?;
        Ok((found, self))
    }
}

impl Variant<'_> {
    fn needed(&self) -> Wrong {
        let text = format!("{} needs a value", self.name);
        Wrong::new(text, format!("write {{{}: …}}", self.name)).at(self.place)
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.value {
            None => Ok(()),
            Some(node) if matches!(node.value, Value::Empty) => Ok(()),
            Some(node) => {
                let text = format!("{} has no value", self.name);
                Err(Wrong::new(text, format!("write {} alone", self.name)).at(node.place))
            }
        }
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        let node = self.value.ok_or_else(|| self.needed())?;
        value(self.reader, node, seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Wrong> {
        let node = self.value.ok_or_else(|| self.needed())?;
        de::Deserializer::deserialize_any(FromNode { reader: self.reader, node }, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let node = self.value.ok_or_else(|| self.needed())?;
        de::Deserializer::deserialize_any(FromNode { reader: self.reader, node }, visitor)
    }
}
