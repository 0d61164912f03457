//! Request heads, appended to the caller's buffer.

use crate::NumberText;

/// Writes one request head (RFC 9112 section 3). Does not allocate once the buffer has reached its usual size.
///
/// Names and values are written unchanged; the caller ensures that they contain no line ends. Any that slip through are
/// written as spaces, so that a value can never become a second header.
#[derive(Debug)]
pub struct RequestWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> RequestWriter<'a> {
    /// Clears `out` and writes the request line. `query` comes without its question mark; empty means none.
    pub fn new(out: &'a mut Vec<u8>, method: &str, path: &str, query: &str) -> Self {
        out.clear();
        push_clean(out, method.as_bytes());
        out.push(b' ');
        push_clean(out, path.as_bytes());
        if !query.is_empty() {
            out.push(b'?');
            push_clean(out, query.as_bytes());
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
        Self { out }
    }

    /// Writes one header line.
    pub fn header(&mut self, name: &str, value: &[u8]) -> &mut Self {
        push_clean(self.out, name.as_bytes());
        self.out.extend_from_slice(b": ");
        push_clean(self.out, value);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Writes one header line with a decimal number.
    pub fn header_u64(&mut self, name: &str, value: u64) -> &mut Self {
        push_clean(self.out, name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(NumberText::decimal(value).as_bytes());
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Writes the empty line that ends the head and returns its length in bytes.
    pub fn finish(self) -> usize {
        self.out.extend_from_slice(b"\r\n");
        self.out.len()
    }
}

fn push_clean(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    // A first pass over the whole, which the compiler vectorises; it hardly ever finds anything.
    if bytes.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        for byte in &mut out[start..] {
            if matches!(*byte, b'\r' | b'\n' | 0) {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_written_in_order() {
        let mut out = Vec::new();
        let mut head = RequestWriter::new(&mut out, "PUT", "/b/k", "partNumber=1&uploadId=x");
        head.header("host", b"h").header_u64("content-length", 1024);
        let len = head.finish();
        assert_eq!(
            out,
            b"PUT /b/k?partNumber=1&uploadId=x HTTP/1.1\r\nhost: h\r\ncontent-length: 1024\r\n\r\n"
        );
        assert_eq!(len, out.len());
    }

    #[test]
    fn a_line_end_in_a_value_does_not_make_a_header() {
        let mut out = Vec::new();
        let mut head = RequestWriter::new(&mut out, "GET", "/", "");
        head.header("a", b"x\r\nevil: 1");
        head.finish();
        assert_eq!(out, b"GET / HTTP/1.1\r\na: x  evil: 1\r\n\r\n");
    }

    #[test]
    fn numbers_of_every_length() {
        for value in [0, 7, 10, 65_536, u64::MAX] {
            let mut out = Vec::new();
            let mut head = RequestWriter::new(&mut out, "PUT", "/", "");
            head.header_u64("n", value);
            head.finish();
            assert_eq!(out, format!("PUT / HTTP/1.1\r\nn: {value}\r\n\r\n").as_bytes());
        }
    }
}
