//! What a resumed run knows about its data sets: the events that recorded what each place holds.

use super::context::{CellFailure, Context};
use super::data_sets::{Held, StoredContent};

/// The kind of these events.
pub const DATA_SET: &str = "data-set";
/// What is recorded of a place in which a load creates files or objects besides the data set.
const MORE: &str = "a load creates more than the data set";

/// Records in the results what a place holds, so that a resumed run knows.
pub fn remember(context: &Context, place: &str, layout: &str, generation: Option<u32>) {
    let text = match generation {
        Some(generation) => format!("{place}: {layout}; complete, generation {generation}"),
        None => format!("{place}: {layout}; being written"),
    };
    context.recorder().event(None, DATA_SET, text);
}

/// Records in the results that a load creates files or objects in a place besides its data set.
pub fn remember_more(context: &Context, place: &str) {
    context.recorder().event(None, DATA_SET, format!("{place}: {MORE}"));
}

/// What an interrupted run knew about a place.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// The data set, if it was complete.
    pub held: Option<Held>,
    /// The next content generation.
    pub next_generation: u32,
    /// A load may have left more than the data set.
    pub more: bool,
}

/// What the interrupted run knew about a place.
///
/// # Errors
/// The results file cannot be read.
pub fn remembered(context: &Context, place: &str) -> Result<Remembered, CellFailure> {
    let events = context.recorder().events()?;
    let texts: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == DATA_SET)
        .filter_map(|event| event.text.strip_prefix(place)?.strip_prefix(": "))
        .collect();
    Ok(recall(&texts))
}

fn recall(texts: &[&str]) -> Remembered {
    let complete = |text: &str| {
        let (layout, rest) = text.split_once("; complete, generation ")?;
        Some((layout.to_owned(), rest.parse::<u32>().ok()?))
    };
    // An unfinished pass may have used the generations after the last completed one.
    let used = texts.iter().filter_map(|text| complete(text)).map(|(_, generation)| generation).max();
    let next_generation = used.map_or(1, |generation| (generation + 0x101) & 0xFFFF);
    let last = texts.last().and_then(|text| complete(text));
    let held = last.map(|(layout, generation)| Held { layout, content: StoredContent::Uniform(generation) });
    Remembered { held, next_generation, more: texts.last() == Some(&MORE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_is_used_again_only_when_it_was_complete_last() {
        let (a, b) = ("4 files of 1 bytes; complete, generation 3", "4 files of 1 bytes; being written");
        let Remembered { held, next_generation, more } = recall(&[b, a]);
        assert_eq!(held.as_ref().map(|held| held.layout.as_str()), Some("4 files of 1 bytes"));
        assert_eq!(held.unwrap().content, StoredContent::Uniform(3));
        assert!(next_generation > 3 && !more);
        let Remembered { held, next_generation, .. } = recall(&[b, a, b]);
        assert!(held.is_none() && next_generation > 4);
        assert!(recall(&[a, "removed"]).held.is_none());
        assert!(recall(&[]).held.is_none());
    }

    #[test]
    fn what_a_load_created_is_there_until_the_place_is_made_again() {
        let (a, b) = ("4 files of 1 bytes; complete, generation 3", "4 files of 1 bytes; being written");
        let left = recall(&[b, a, b, MORE]);
        assert!(left.held.is_none() && left.more);
        assert!(!recall(&[b, a, b, MORE, b]).more && !recall(&[MORE, "removed"]).more);
    }
}
