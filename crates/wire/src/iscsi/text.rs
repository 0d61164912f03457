//! Text of logins and of SendTargets: `key=value` pairs, each ended by a zero byte (RFC 7143, 6.1).

/// Appends a pair.
pub fn push_key(text: &mut Vec<u8>, key: &str, value: &str) {
    text.extend_from_slice(key.as_bytes());
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    text.push(0);
}

/// The pairs of a text. Anything that is no pair is skipped.
#[derive(Clone, Debug)]
pub struct TextKeys<'a>(&'a [u8]);

impl<'a> TextKeys<'a> {
    /// The pairs of these bytes.
    pub fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The value of the first pair with this key.
    pub fn get(text: &'a [u8], key: &str) -> Option<&'a str> {
        Self(text).find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

impl<'a> Iterator for TextKeys<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
            let (pair, rest) = self.0.split_at(end);
            self.0 = rest.get(1..).unwrap_or_default();
            if let Some(found) = std::str::from_utf8(pair).ok().and_then(|pair| pair.split_once('=')) {
                return Some(found);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_there_and_back() {
        let mut text = Vec::new();
        push_key(&mut text, "TargetName", "iqn.2026-01.lab:t1");
        push_key(&mut text, "Empty", "");
        assert_eq!(text, b"TargetName=iqn.2026-01.lab:t1\0Empty=\0");
        assert_eq!(TextKeys::get(&text, "TargetName"), Some("iqn.2026-01.lab:t1"));
        assert_eq!(TextKeys::get(&text, "Empty"), Some(""));
        assert_eq!(TextKeys::get(&text, "None"), None);
        let odd = TextKeys::new(b"\0\0x\0\xff=1\0a=b=c\0last=1").collect::<Vec<_>>();
        assert_eq!(odd, [("a", "b=c"), ("last", "1")]);
    }
}
