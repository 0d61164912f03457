//! Content of blocks and how it is verified: the payload for a [`Content`] and a [`Check`].

use std::sync::{Mutex, PoisonError};

use content::{Check, CheckMethod, Content};

use super::body::Body;
use super::damaged::{Damaged, Keeper};
use super::header::{differ, hex};
use super::marks::Marks;
use super::pattern::Pattern;
use super::{Mismatch, Payload};
use crate::{Op, Sink};

/// Content of blocks beyond what the payload generates itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    body: Body,
    marks: Option<Marks>,
    /// Data read is not examined (`verify=null`).
    unseen: bool,
    /// Receiver of damaged blocks.
    keeper: Option<Keeper>,
}

impl Recipe {
    fn of(body: Body) -> Self {
        Self { body, marks: None, unseen: false, keeper: None }
    }

    /// Interns the recipe for the life of the process, so that payloads are copyable. A run needs one for each
    /// different content, of at most a few hundred bytes.
    fn kept(self) -> &'static Self {
        static KEPT: Mutex<Vec<&'static Recipe>> = Mutex::new(Vec::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = kept.iter().find(|recipe| ***recipe == self) {
            return same;
        }
        let recipe: &'static Self = Box::leak(Box::new(self));
        kept.push(recipe);
        recipe
    }
}

impl Payload {
    /// The payload with this seed for a content specification, marked and verified as a check specifies.
    ///
    /// A check that marks blocks (all methods but [`CheckMethod::Fresh`], [`CheckMethod::Pattern`] and
    /// [`CheckMethod::Null`]) overrides the content: the check's pattern, or fresh bytes, surround the headers.
    pub fn of_content(seed: u64, content: &Content, check: Option<&Check>) -> Self {
        let plain = Self::new(seed);
        let fresh = || plain.with(0.0, content.dedupe_percent / 100.0);
        let (payload, recipe) = match check {
            Some(check) if check.method != CheckMethod::Fresh => {
                let body = Body::of_pattern(Pattern::new(&check.pattern));
                let recipe = Recipe {
                    marks: Marks::new(check),
                    unseen: check.method == CheckMethod::Null,
                    ..Recipe::of(body)
                };
                (plain, recipe)
            }
            _ => (fresh(), Recipe::of(Body::new(content))),
        };
        let usual = recipe.body.is_fresh() && recipe.marks.is_none() && !recipe.unseen;
        Self { recipe: (!usual).then(|| recipe.kept()), ..payload }
    }

    /// The same, passing every difference that [`Payload::verify_op`] finds to `keep`, on the thread that found it.
    #[must_use]
    pub fn keeping(self, keep: &'static (dyn Fn(Damaged) + Send + Sync)) -> Self {
        let recipe = self.recipe.cloned().unwrap_or_else(|| Recipe::of(Body::of_pattern(None)));
        Self { recipe: Some(Recipe { keeper: Some(Keeper(keep)), ..recipe }.kept()), ..self }
    }

    /// True when [`Payload::verify_op`] needs an operation's whole block at once, as with checksums over it.
    pub fn whole_blocks(&self) -> bool {
        let whole = |recipe: &Recipe| recipe.marks.is_some() || recipe.keeper.is_some();
        self.recipe.is_some_and(|recipe| whole(recipe) && !recipe.unseen)
    }

    /// Whether data read are verified only once the operation's whole block has arrived.
    #[inline]
    pub fn gathers(&self, sink: Sink) -> bool {
        sink == Sink::Verify && self.whole_blocks()
    }

    /// Writes the bytes from offset `at` of the operation's block. Pieces add up to the whole block, but where blocks
    /// carry checksums, writing a whole block costs less than writing its pieces.
    #[inline]
    pub fn fill_op(&self, op: &Op, at: u64, out: &mut [u8]) {
        match self.recipe {
            None => self.fill(op.content(), op.stream_offset() + at, out),
            Some(recipe) => self.fill_by_recipe(recipe, op, at, out),
        }
    }

    /// Compares data read from offset `at` of the operation's block with what was written. With
    /// [`Payload::whole_blocks`] it must be the whole block.
    ///
    /// # Errors
    /// What is wrong and where, in words.
    #[inline]
    pub fn verify_op(&self, op: &Op, at: u64, data: &[u8]) -> Result<(), Box<str>> {
        if op.generation == Op::UNCHECKED {
            return Ok(());
        }
        if op.generation == Op::ZEROES {
            return zeroes(op, at, data);
        }
        match self.recipe {
            None => self
                .verify(op.content(), op.stream_offset() + at, data)
                .or_else(|found| self.judge_fresh(op, at, data, found)),
            Some(recipe) => self.verify_by_recipe(recipe, op, at, data),
        }
    }

    fn fill_by_recipe(&self, recipe: &Recipe, op: &Op, at: u64, out: &mut [u8]) {
        match &recipe.marks {
            Some(marks) => marks.fill(self, &recipe.body, op, at, out),
            None => recipe.body.fill(self, op, at, out),
        }
    }

    fn verify_by_recipe(&self, recipe: &Recipe, op: &Op, at: u64, data: &[u8]) -> Result<(), Box<str>> {
        if recipe.unseen {
            return Ok(());
        }
        if let Some(marks) = &recipe.marks {
            debug_assert!(at == 0 && data.len() as u64 == op.len, "a sum is over a whole block");
            return marks.verify(self, &recipe.body, op, data).map_err(|(from, len, text)| {
                self.keep(recipe, op, from as u64, &data[from..from + len]);
                text
            });
        }
        let Some(found) = recipe.body.differs(self, op, at, data) else { return Ok(()) };
        self.keep(recipe, op, at, data);
        Err(differs(op, at, data, found, |expected| recipe.body.fill(self, op, at, expected)))
    }

    /// Reports a difference, if there is a receiver.
    #[cold]
    fn keep(&self, recipe: &Recipe, op: &Op, at: u64, data: &[u8]) {
        let Some(Keeper(keep)) = recipe.keeper else { return };
        let mut expected = vec![0; data.len()];
        self.fill_by_recipe(recipe, op, at, &mut expected);
        keep(Damaged { object: op.object, offset: op.offset + at, received: data.to_vec(), expected });
    }

    /// With an unknown generation, any content that this payload writes there is correct.
    #[cold]
    fn judge_fresh(&self, op: &Op, at: u64, data: &[u8], found: Mismatch) -> Result<(), Box<str>> {
        if op.generation == Op::ANY_GENERATION
            && let Some(generation) = self.generation_of(op.content(), op.offset + at, data)
        {
            return self.verify_op(&Op { generation, ..*op }, at, data);
        }
        let place = op.stream_offset() + at;
        let diagnosis = self.diagnose(op.content(), place, data, found);
        // A block that arrives in pieces is compared piece by piece, up to the first that is wrong.
        let end = op.offset + at + data.len() as u64;
        let cut = diagnosis.offset + diagnosis.bytes >= end && end < op.offset + op.len;
        Err(diagnosis.words(cut).into())
    }
}

/// Checks that data are zeroes.
fn zeroes(op: &Op, at: u64, data: &[u8]) -> Result<(), Box<str>> {
    let Some(found) = data.iter().position(|byte| *byte != 0) else { return Ok(()) };
    let (place, count) = (op.offset + at + found as u64, data.iter().filter(|byte| **byte != 0).count());
    let cut = if at + (data.len() as u64) < op.len { "at least " } else { "" };
    Err(format!(
        "{cut}{count} bytes from byte {place} on are not the zeroes that were written: a lost write, or a stale read"
    )
    .into())
}

/// Describes where data differs from what `fill` generates, how far, and how both begin there.
#[cold]
fn differs(op: &Op, at: u64, data: &[u8], found: usize, fill: impl FnOnce(&mut [u8])) -> Box<str> {
    let mut expected = vec![0; data.len()];
    fill(&mut expected);
    let count = data.iter().zip(&expected).filter(|(read, made)| read != made).count();
    let place = op.offset + at + found as u64;
    let shown = |bytes: &[u8]| hex(&bytes[found..(found + 8).min(bytes.len())]);
    let cut = if at + (data.len() as u64) < op.len { "at least " } else { "" };
    format!(
        "{cut}{} from byte {place} on (block at {}): expected {}, got {}",
        differ(count),
        op.offset,
        shown(&expected),
        shown(data)
    )
    .into()
}
