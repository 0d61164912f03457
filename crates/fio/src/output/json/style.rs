//! fio's JSON style: two spaces per level, a space before and after each colon, six decimals. Programs that search for
//! lines such as `"iops" : 100.000000` find them.

use std::io::{self, Write};

use serde_json::ser::{Formatter, PrettyFormatter};

/// Formats JSON as fio does.
pub struct FioStyle(PrettyFormatter<'static>);

impl FioStyle {
    /// At the start of a document.
    pub fn new() -> Self {
        FioStyle(PrettyFormatter::with_indent(b"  "))
    }
}

impl Formatter for FioStyle {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{:.6}", if value.is_finite() { value } else { 0.0 })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_fio() {
        #[derive(serde::Serialize)]
        struct Example {
            iops: f64,
            list: [u64; 2],
        }
        let mut out = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, FioStyle::new());
        serde::Serialize::serialize(&Example { iops: 2.0, list: [1, 2] }, &mut serializer).expect("memory");
        let text = String::from_utf8(out).expect("JSON is UTF-8");
        assert_eq!(text, "{\n  \"iops\" : 2.000000,\n  \"list\" : [\n    1,\n    2\n  ]\n}");
    }
}
