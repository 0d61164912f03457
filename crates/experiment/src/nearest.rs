//! Finds the known word that was probably meant by a wrong one.

/// The word in `known` closest to `word`, if it is close enough to be what was meant: at most a third of the letters of
/// the shorter one differ, or the known one starts with it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    known
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| {
            let shorter = candidate.chars().count().min(folded.len());
            let prefix = folded.len() >= 3 && fold(candidate).starts_with(&folded[..]);
            prefix || *distance <= shorter.div_ceil(3).min(3)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean "x"?` if there is something close, otherwise the alternatives.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => {
            let all: Vec<&str> = known.into_iter().collect();
            match all.as_slice() {
                [] => "remove it".into(),
                [only] => format!("there is only {only:?}"),
                [most @ .., last] => format!("there are {} and {last}", most.join(", ")),
            }
        }
    }
}

/// Folds a word: case, dashes and underscores do not matter for the distance.
fn fold(word: &str) -> Vec<char> {
    word.chars().take(64).map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// Insertions, deletions, substitutions and swaps of neighbours (Damerau and Levenshtein, restricted).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j + 1] + 1).min(row[j] + 1).min(last[j] + usize::from(x != y));
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["block_size", "queue_depth", "jobs", "file_size", "files"];

    #[test]
    fn near_words_are_found() {
        for (word, near) in [
            ("queue_dept", "queue_depth"),
            ("Block-Size", "block_size"),
            ("blocksize", "block_size"),
            ("que", "queue_depth"),
            ("flies", "files"),
            ("job", "jobs"),
        ] {
            assert_eq!(nearest(word, KNOWN), Some(near), "{word}");
        }
        for word in ["colour", "x", "", "bs"] {
            assert_eq!(nearest(word, KNOWN), None, "{word}");
        }
        assert_eq!(nearest("hdfs", ["nfs", "s3"]), None);
        assert_eq!(nearest("nsf", ["nfs", "s3"]), Some("nfs"));
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        let d = |a: &str, b: &str| distance(&fold(a), &fold(b));
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("ab", "ba"), 1);
        assert_eq!(d("same", "same"), 0);
    }

    #[test]
    fn hints_name_what_there_is_when_nothing_is_near() {
        assert_eq!(hint("jbos", KNOWN), "did you mean \"jobs\"?");
        assert_eq!(hint("zzz", ["a", "b", "c"]), "there are a, b and c");
    }
}
