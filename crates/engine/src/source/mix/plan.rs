//! What the lanes of a mix have in common.

use drivers::Op;
use experiment::Access;
use metrics::{OpChange, OpKind, OpSubject};

use crate::access::Field;
use crate::data_set::{Index, Place};
use crate::share::Shares;
use crate::written::{Rules, WriteLedger};
use crate::{DataShape, Mix};

/// A mix with precomputed tables for drawing.
#[derive(Debug)]
pub(crate) struct MixDraws {
    pub mix: Mix,
    pub ops: Vec<DrawnOp>,
    pub sizes: Vec<DrawnSize>,
    pub items: Index,
    /// See [`Mix::knows_own_content`].
    pub knows_own_content: bool,
    /// How content is tracked; `None` if it is not, or if nothing changes it.
    pub rules: Option<Rules>,
}

/// An operation with its cumulative weight.
#[derive(Debug)]
pub(crate) struct DrawnOp {
    below: f64,
    pub kind: OpKind,
    pub role: Role,
}

/// What an operation does to the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Blocks,
    Items,
    Book,
    Own,
    Commit,
    /// Opens files of a tree that exists, and closes them.
    Open,
    /// Symbolic links of such a tree.
    Links,
    /// Its directories.
    Directories,
}

/// A block size with its cumulative weight, and all blocks of that size.
#[derive(Debug)]
pub(crate) struct DrawnSize {
    below: f64,
    pub bytes: u64,
    pub blocks: Index,
}

impl MixDraws {
    pub(crate) fn new(mix: &Mix) -> Self {
        let rules = mix.book_rules();
        let total: f64 = mix.ops.iter().map(|op| op.weight).sum();
        let mut sum = 0.0;
        let of_tree = mix.data_set.tree().is_some();
        let role = |kind: OpKind| match (kind.traits().subject, kind.traits().changes) {
            _ if of_tree && matches!(kind, OpKind::Open | OpKind::Close) => Role::Open,
            _ if of_tree && kind == OpKind::Readlink => Role::Links,
            _ if of_tree && matches!(kind, OpKind::List | OpKind::Readdir) => Role::Directories,
            (OpSubject::Either, _) if mix.puts_are_new() => Role::Own,
            (OpSubject::OwnMaking, _) => Role::Own,
            (OpSubject::DataSet, _) if mix.on_own => Role::Own,
            (_, OpChange::Durability) => Role::Commit,
            (_, OpChange::Content) if rules.is_some() => Role::Book,
            _ if kind.is_of_ranges() => Role::Blocks,
            _ => Role::Items,
        };
        let ops = mix.ops.iter().map(|weighted| {
            sum += weighted.weight / total;
            DrawnOp { below: sum, kind: weighted.op, role: role(weighted.op) }
        });
        let ops = ops.collect();
        let total: f64 = mix.block_sizes.iter().map(|size| size.weight).sum();
        let mut sum = 0.0;
        let sizes = mix.block_sizes.iter().map(|size| {
            sum += size.weight / total;
            DrawnSize { below: sum, bytes: size.bytes, blocks: mix.data_set.blocks(size.bytes) }
        });
        MixDraws {
            ops,
            sizes: sizes.collect(),
            items: mix.data_set.items(),
            knows_own_content: mix.knows_own_content(),
            rules,
            mix: mix.clone(),
        }
    }

    /// The only possible operation of any lane, if nothing is drawn and nothing changes.
    pub(crate) fn only(&self) -> Option<Op> {
        let [DrawnOp { kind, role, .. }] = &*self.ops else { return None };
        let field = match (role, &*self.sizes) {
            (Role::Blocks, [size]) => &size.blocks,
            (Role::Items, _) => &self.items,
            _ => return None,
        };
        let alone = field.total() == 1 && !kind.changes_data() && self.mix.think.is_none();
        alone.then(|| {
            let Place { object, offset, len } = field.place(0);
            Op::new(*kind, 0, object).range(offset, len).generation(self.mix.generation)
        })
    }

    /// Size of a file or object in bytes, the max if they differ.
    #[inline]
    pub(super) fn item_bytes(&self) -> u64 {
        self.mix.data_set.shape().item_bytes()
    }

    /// Size of the file or object with this number in bytes.
    #[inline]
    pub(super) fn bytes_of(&self, object: u64) -> u64 {
        self.mix.data_set.bytes_of(object)
    }

    /// Draws an operation by its weight.
    #[inline]
    pub(super) fn draw_op(&self, random: &mut fastrand::Rng) -> usize {
        draw(self.ops.iter().map(|op| op.below), random)
    }

    /// Draws a block size by its weight.
    #[inline]
    pub(super) fn draw_size(&self, random: &mut fastrand::Rng) -> usize {
        draw(self.sizes.iter().map(|size| size.below), random)
    }

    #[inline]
    pub(super) fn keeps_book(&self) -> bool {
        self.rules.is_some()
    }

    /// Number of units in which content is tracked: blocks, or whole objects.
    fn units(&self) -> u64 {
        match self.rules.as_ref().and_then(|rules| rules.block_bytes) {
            Some(_) => self.sizes[0].blocks.total(),
            None => self.items.total(),
        }
    }

    /// The ledger of a lane.
    pub(crate) fn book(&self, number: u64, lanes: u64) -> Option<WriteLedger> {
        let share = Shares { total: self.units(), parts: lanes }.of(number);
        self.rules.clone().map(|rules| WriteLedger::new(rules, share))
    }

    /// The unit that a block of a size belongs to.
    pub(super) fn unit_of(&self, size: usize, block: u64) -> u64 {
        match self.rules.as_ref().and_then(|rules| rules.block_bytes) {
            Some(_) => block,
            None => self.sizes[size].blocks.item_of(block),
        }
    }

    /// The operation that writes a unit, and the unit's location.
    pub(super) fn place_of_unit(&self, unit: u64) -> (OpKind, Place) {
        match self.rules.as_ref().and_then(|rules| rules.block_bytes) {
            Some(_) => (OpKind::Write, self.sizes[0].blocks.place(unit)),
            None => (OpKind::Put, self.items.place(unit)),
        }
    }

    /// The operation that creates the new file or object with this number, and its size.
    pub(super) fn makes(&self, object: u64) -> (OpKind, u64) {
        match self.mix.data_set.shape() {
            DataShape::Files { .. } if self.knows_own_content => (OpKind::WriteFile, self.bytes_of(object)),
            DataShape::Objects { .. } => (OpKind::Put, self.bytes_of(object)),
            DataShape::Files { .. } | DataShape::Device { .. } => (OpKind::Create, 0),
        }
    }
}

/// The first entry whose cumulative weight exceeds a uniform draw.
#[inline]
fn draw(below: impl ExactSizeIterator<Item = f64>, random: &mut fastrand::Rng) -> usize {
    let mut below = below;
    // Rounding may leave the last slightly below 1: it takes the remainder.
    let last = below.len() - 1;
    let drawn = random.f64();
    below.position(|below| drawn < below).unwrap_or(last)
}

/// The range from which a lane draws links or directories of a tree that exists.
pub(super) fn field_of_entries(plan: &MixDraws, total: u64, number: u64, lanes: u64, salt: u64) -> Field {
    let share = Shares { total, parts: lanes }.of(number);
    Field { total, share, keep_to_share: false, place_bytes: 1, seed: seed_of(plan, salt) }
}

/// Popular places are the same for every operation; sequential orders start separately for each.
fn seed_of(plan: &MixDraws, salt: u64) -> u64 {
    match plan.mix.access {
        Access::Zipf { .. } | Access::Pareto { .. } | Access::Hotspot { .. } => plan.mix.seed,
        _ => plan.mix.seed ^ salt << 56,
    }
}

/// The range from which a lane draws its places: blocks or items.
pub(super) fn field_of(
    plan: &MixDraws,
    index: &Index,
    place_bytes: u64,
    number: u64,
    lanes: u64,
    salt: u64,
) -> Field {
    let (total, keep_to_share) = (index.total(), plan.keeps_book());
    let share = if keep_to_share {
        // The same files or blocks as in the lane's ledger, in places of this size.
        let units = plan.units();
        let share = Shares { total: units, parts: lanes }.of(number);
        match plan.rules.as_ref().and_then(|rules| rules.block_bytes) {
            Some(_) => {
                let each = total / units.max(1);
                share.start * each..share.end * each
            }
            None => index.first_of_item(share.start)..index.first_of_item(share.end),
        }
    } else {
        Shares { total, parts: lanes }.of(number)
    };
    Field { total, share, keep_to_share, place_bytes, seed: seed_of(plan, salt) }
}
