//! Many paths in little memory.

/// Paths by number: their bytes, and four bytes for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    text: String,
    /// Where each path ends.
    ends: Vec<u32>,
}

impl PathList {
    /// Max bytes of all paths together.
    pub const MAX_BYTES: usize = 256 << 20;

    /// The list of these paths, in order; `None` if they have more than [`PathList::MAX_BYTES`] together.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Option<Self> {
        let mut list = Self::default();
        for path in paths {
            list.text.push_str(path);
            if list.text.len() > Self::MAX_BYTES {
                return None;
            }
            list.ends.push(list.text.len() as u32);
        }
        list.text.shrink_to_fit();
        list.ends.shrink_to_fit();
        Some(list)
    }

    /// The path with this number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)? as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_by_number() {
        let list = PathList::of(["a", "", "b/c", "ü"]).unwrap();
        assert_eq!(
            (0..5).map(|at| list.get(at)).collect::<Vec<_>>(),
            [Some("a"), Some(""), Some("b/c"), Some("ü"), None]
        );
        assert_eq!((list.len(), list.is_empty()), (4, false));
        assert!(PathList::of([]).unwrap().is_empty());
    }
}
