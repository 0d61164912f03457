//! The load of an experiment: which operations, on what, in which order.

use experiment::{Access, Think, WeightedOp, WeightedSize};
use metrics::{OpChange, OpKind, OpShapes, OpSubject};

use crate::written::Rules;
use crate::{BesideFiles, ContentSummary, DataSet, DataShape};

/// Operations drawn by weight, each on a place drawn by the access pattern. `docs/load.md` specifies which operation
/// goes where.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The data to read, write or query.
    pub data_set: DataSet,
    /// Operations and their weights.
    pub ops: Vec<WeightedOp>,
    /// Which block, file or object comes next.
    pub access: Access,
    /// Sizes of reads and writes and their weights.
    pub block_sizes: Vec<WeightedSize>,
    /// One commit per this many writes of a lane; 0 for never.
    pub fsync_every: u32,
    /// Objects that a batch delete removes, 1 to 1,000.
    pub batch_size: u32,
    /// Pauses of each lane.
    pub think: Option<Think>,
    /// Whether operations that otherwise work on files or objects of the data set work on those that the lane itself created
    /// and has not removed. There is no data set then.
    pub on_own: bool,
    /// Tracks the content, so that reads are compared with what was written: use it with [`drivers::Sink::Verify`].
    /// Each lane is then confined to an even share of the blocks, and writes go through that share so that each block
    /// is written once before any is written again.
    pub verify: bool,
    /// The generation of the content at the start.
    pub generation: u32,
    /// Seed of all draws.
    pub seed: u64,
}

impl Mix {
    fn has(&self, kind: OpKind) -> bool {
        self.ops.iter().any(|op| op.op == kind)
    }

    /// Whether it changes blocks of the data set.
    fn changes_blocks(&self) -> bool {
        self.has(OpKind::Write) || self.has(OpKind::WriteZeroes)
    }

    /// Share of the operations that change blocks which write zeroes.
    fn zeroed(&self) -> f64 {
        let weight = |kind| self.ops.iter().filter(|op| op.op == kind).map(|op| op.weight).sum::<f64>();
        let zeroes = weight(OpKind::WriteZeroes);
        if zeroes > 0.0 { zeroes / (zeroes + weight(OpKind::Write)) } else { 0.0 }
    }

    /// Whether puts create new objects, which deletes remove; otherwise they overwrite the data set's objects.
    pub(crate) fn puts_are_new(&self) -> bool {
        self.on_own || self.has(OpKind::Delete) || self.has(OpKind::BatchDelete)
    }

    /// Whether the content of the lane's own files or objects is known, and some operation needs that: each has its whole
    /// size, but for the one that is appended to, and keeps its content's number when it is renamed.
    pub(crate) fn knows_own_content(&self) -> bool {
        self.on_own && self.ops.iter().any(|op| op.op.is_whole() && op.op.needs_data())
    }

    /// Whether it changes the data set's content.
    pub(crate) fn overwrites(&self) -> bool {
        let overwrites =
            |kind: OpKind| kind.traits().changes == OpChange::Content && !self.makes_its_own(kind);
        self.ops.iter().any(|op| overwrites(op.op))
    }

    /// Whether it creates files or objects of its own.
    pub(crate) fn churns(&self) -> bool {
        self.on_own || !self.is_of_tree() && self.ops.iter().any(|op| op.op.makes_or_removes())
    }

    /// Whether it only reads a tree that exists.
    fn is_of_tree(&self) -> bool {
        self.data_set.tree().is_some()
    }

    /// Whether an operation works without any existing data.
    fn makes_its_own(&self, kind: OpKind) -> bool {
        match kind.traits().subject {
            _ if self.is_of_tree() => false,
            OpSubject::DataSet => self.on_own,
            OpSubject::OwnMaking | OpSubject::Nothing => true,
            OpSubject::Either => self.puts_are_new(),
        }
    }

    /// The kinds of operations that it may execute.
    pub(crate) fn kinds(&self) -> Vec<OpKind> {
        let mut kinds: Vec<OpKind> = self.ops.iter().map(|op| op.op).collect();
        if self.fsync_every > 0 || self.verify {
            kinds.extend(self.changes_blocks().then_some(OpKind::Commit));
        }
        if self.has(OpKind::Append) {
            kinds.push(OpKind::Truncate);
            kinds.extend((self.fsync_every > 0).then_some(OpKind::Commit));
        }
        if self.is_of_tree() && (self.has(OpKind::Open) || self.has(OpKind::Close)) {
            kinds.extend([OpKind::Open, OpKind::Close]);
        }
        if self.churns() {
            // What is to be removed must be created first.
            let objects = matches!(self.data_set.shape(), DataShape::Objects { .. });
            kinds.push(if objects { OpKind::Put } else { OpKind::Create });
            kinds.extend((self.knows_own_content() && !objects).then_some(OpKind::WriteFile));
            kinds.extend(self.has(OpKind::Rmdir).then_some(OpKind::Mkdir));
            kinds.extend(self.has(OpKind::Readlink).then_some(OpKind::Symlink));
            if self.has(OpKind::Open) || self.has(OpKind::Close) {
                kinds.extend([OpKind::Open, OpKind::Close]);
            }
        }
        kinds
    }

    /// How changing content is tracked.
    pub(crate) fn book_rules(&self) -> Option<Rules> {
        (self.verify && self.overwrites()).then(|| Rules {
            access: self.access,
            base: self.generation,
            block_bytes: self.changes_blocks().then(|| self.block_sizes[0].bytes),
            zeroed: self.zeroed(),
            seed: self.seed,
        })
    }

    /// What is known of the content afterwards if lanes did not track it.
    pub(crate) fn written_without_books(&self) -> ContentSummary {
        if self.overwrites() { ContentSummary::unknown() } else { ContentSummary::uniform(self.generation) }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self, lanes: u64) -> Option<&'static str> {
        let positive = |weight: f64| weight > 0.0 && weight.is_finite();
        if self.ops.is_empty() || !self.ops.iter().all(|op| positive(op.weight)) {
            return Some("a mix needs at least one operation, and weights above zero");
        }
        if self.has(OpKind::BatchDelete) && !(1..=1000).contains(&self.batch_size) {
            return Some("a batch delete removes 1 to 1,000 objects");
        }
        let ranges = self.ops.iter().any(|op| op.op.is_of_ranges());
        if ranges && self.block_sizes.is_empty()
            || !self.block_sizes.iter().all(|size| size.bytes > 0 && positive(size.weight))
        {
            return Some(
                "reads and writes need at least one block size, above zero, with a weight above zero",
            );
        }
        let empty = match self.data_set.tree() {
            Some(beside) => self.ops.iter().any(|op| self.lacks(beside, op.op)),
            None => self.data_set.objects() == 0 || ranges && self.data_set.bytes() == 0,
        };
        if empty && !self.ops.iter().all(|op| self.makes_its_own(op.op)) {
            return Some("there is nothing to work on: the data set is empty");
        }
        if self.has(OpKind::Append) && self.data_set.shape().item_bytes() == 0 {
            return Some("appends need a file size above zero");
        }
        if !self.data_set.is_complete() {
            return Some("a mix works on a data set of complete files or objects");
        }
        self.tree_fault()
            .or_else(|| self.kind_fault())
            .or_else(|| self.own_fault())
            .or_else(|| access_fault(&self.access))
            .or_else(|| self.verify_fault(lanes))
    }

    /// Whether a tree that exists has nothing that an operation could use.
    fn lacks(&self, beside: &BesideFiles, kind: OpKind) -> bool {
        match kind {
            OpKind::Readlink => beside.links.is_empty(),
            OpKind::List | OpKind::Readdir => beside.directories.is_empty(),
            _ if kind.is_of_ranges() => self.data_set.bytes() == 0,
            _ => self.data_set.objects() == 0,
        }
    }

    /// A tree that exists is only read.
    fn tree_fault(&self) -> Option<&'static str> {
        use OpKind::{Access, Close, Getxattr, List, Open, Read, ReadFile, Readdir, Readlink, Stat};
        let reads = [Read, ReadFile, Stat, Open, Close, Access, Getxattr, Readlink, Readdir, List];
        let only_reads = self.ops.iter().all(|op| reads.contains(&op.op));
        (self.is_of_tree() && (self.on_own || !only_reads))
            .then_some("a tree that exists is only read: nothing in it is created, changed or removed")
    }

    fn kind_fault(&self) -> Option<&'static str> {
        let all = |has: fn(&OpShapes) -> bool| self.ops.iter().all(|op| has(&op.op.traits().of));
        match self.data_set.shape() {
            DataShape::Files { .. } if !all(|of| of.files) => {
                Some("files have no operations of objects, such as put, get and delete")
            }
            DataShape::Objects { .. } if !all(|of| of.objects) => {
                Some("objects have no operations of files, such as write, create and remove")
            }
            DataShape::Device { .. } if !all(|of| of.device) => {
                Some("a device is read, written, zeroed, trimmed, committed and statted; nothing else")
            }
            _ => None,
        }
    }

    fn own_fault(&self) -> Option<&'static str> {
        let blocks = |kind: OpKind| kind.is_of_ranges() && kind.needs_data();
        if self.on_own && self.ops.iter().any(|op| blocks(op.op)) {
            return Some(
                "blocks are read, written, zeroed and trimmed in a data set only, not in files that the load creates",
            );
        }
        let unknown = [OpKind::Create, OpKind::Truncate, OpKind::Link, OpKind::Copy];
        (self.knows_own_content() && unknown.iter().any(|kind| self.has(*kind))).then_some(
            "files that the load creates are read or overwritten as a whole, so it cannot create empty ones, truncate, link or copy",
        )
    }

    fn verify_fault(&self, lanes: u64) -> Option<&'static str> {
        let rules = self.book_rules()?;
        if self.has(OpKind::Overwrite) || self.has(OpKind::TruncateOverwrite) {
            return Some("a verified load cannot overwrite whole files: content is tracked by blocks");
        }
        if self.has(OpKind::ReadFile) {
            return Some(
                "a verified load that writes blocks cannot read whole files: their blocks differ in age",
            );
        }
        if self.has(OpKind::Trim) {
            return Some("a verified load cannot trim: what a trimmed block holds is not defined");
        }
        if rules.block_bytes.is_some() && self.block_sizes.len() > 1 {
            return Some("a verified load that writes needs one block size, not several");
        }
        let units = match rules.block_bytes {
            Some(block_bytes) => self.data_set.blocks(block_bytes).total(),
            None => self.data_set.objects(),
        };
        (units < lanes).then_some(
            "a verified load that writes needs at least one block or object for each lane: make the data set larger or the queue shorter",
        )
    }
}

fn access_fault(access: &Access) -> Option<&'static str> {
    let share = |value: f64| (0.0..=1.0).contains(&value);
    match access {
        Access::Zipf { theta } if !(*theta > 0.0 && theta.is_finite()) => {
            Some("the exponent of a zipf distribution must be above zero")
        }
        Access::Pareto { h } if !(*h > 0.0 && *h < 1.0) => {
            Some("the power of a pareto distribution must lie between zero and one")
        }
        Access::Hotspot { ops, space } if !(share(*ops) && share(*space)) => {
            Some("the shares of a hotspot must lie between zero and one")
        }
        Access::Strided { stride_bytes: 0 } => Some("the stride must be above zero"),
        _ => None,
    }
}
