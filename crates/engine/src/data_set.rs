//! What was written: a few numbers per lane, however many objects there are.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use content::{SizeSums, SizeTable};
use drivers::numbers::{COUNT_BITS, COUNT_MASK, LANE_BITS, OWN};

/// Files or objects, and their sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataShape {
    /// Files written block by block.
    Files {
        /// Size of a file, the max if they differ.
        file_bytes: u64,
        /// Bytes that one operation writes.
        block_bytes: u64,
    },
    /// Objects written whole.
    Objects {
        /// Size of an object, the max if they differ.
        object_bytes: u64,
    },
    /// One block device, or one file used like one: it exists, and is neither created nor removed. Hosts that share it
    /// have a slice each.
    Device {
        /// Size of the used part, or of a slice.
        bytes: u64,
    },
}

impl DataShape {
    /// Size of a complete file or object, the max if they differ.
    pub fn item_bytes(&self) -> u64 {
        match self {
            DataShape::Files { file_bytes, .. } => *file_bytes,
            DataShape::Objects { object_bytes } => *object_bytes,
            DataShape::Device { bytes } => *bytes,
        }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        match self {
            DataShape::Files { file_bytes: 0, .. } => Some("the file size must be above zero"),
            DataShape::Files { block_bytes: 0, .. } => Some("the block size must be above zero"),
            DataShape::Objects { object_bytes: 0 } => Some("the object size must be above zero"),
            DataShape::Device { bytes: 0 } => Some("the size of the device must be above zero"),
            _ => None,
        }
    }
}

/// The number of a lane's first file or object; the others follow. Unique over all workers and lanes.
pub(crate) fn first_object(worker: u32, lane: u32) -> u64 {
    u64::from(worker) << 48 | u64::from(lane) << 32
}

/// Maximum number of files or objects per lane that keeps the numbers unique.
pub(crate) const MAX_ITEMS: u64 = 1 << 32;

/// What one lane wrote: files or objects numbered from `first` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub first: u64,
    /// Number that exist; the last of them may be empty or partial.
    pub existing: u64,
    /// Number that are complete.
    pub complete: u64,
    /// Bytes acknowledged of the next, incomplete one.
    pub partial_bytes: u64,
    /// How far the data has been overwritten.
    pub again: Again,
}

/// A lane's progress in its current pass, which determines the content of its files or objects: up to a position
/// everything has this pass's number as its generation, and beyond it that of the previous pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Again {
    /// Number of previous passes.
    pub pass: u32,
    /// The file or object being written, counted from the lane's first.
    pub item: u64,
    /// Bytes of it that were acknowledged in this pass.
    pub acknowledged_bytes: u64,
    /// Bytes of it that this pass may have changed: more than were acknowledged if a write failed or was not answered,
    /// or if a commit failed.
    pub touched_bytes: u64,
}

impl Again {
    /// The generation of a range of a file or object; `None` if no single one is certain.
    fn generation(&self, item: u64, Range { start, end }: Range<u64>) -> Option<u32> {
        let before = self.pass.saturating_sub(1);
        match item.cmp(&self.item) {
            Ordering::Less => Some(self.pass),
            Ordering::Greater => Some(before),
            Ordering::Equal if end <= self.acknowledged_bytes => Some(self.pass),
            // In the first pass no other content can be read.
            Ordering::Equal if self.pass == 0 => Some(0),
            Ordering::Equal if start >= self.touched_bytes => Some(before),
            Ordering::Equal => None,
        }
    }
}

/// What a write stage wrote: the input of stages that read, verify and remove it.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    shape: DataShape,
    extents: Vec<Extent>,
    /// Each file is an extent with a size of its own, and complete in it.
    own_sizes: bool,
    /// The sizes of complete files or objects, if they follow a distribution, or exist.
    drawn: Option<Arc<SizeTable>>,
    /// What else there is beside the files, in a tree that exists.
    beside: Option<BesideFiles>,
}

/// Entries of a tree that exists, beside its files. Nothing in such a tree is created, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesideFiles {
    /// Numbers of symbolic links.
    pub links: Range<u64>,
    /// Numbers of directories.
    pub directories: Range<u64>,
}

impl Default for DataSet {
    fn default() -> Self {
        DataSet::new(DataShape::Objects { object_bytes: 1 }, Vec::new())
    }
}

impl DataSet {
    pub(crate) fn new(shape: DataShape, mut extents: Vec<Extent>) -> Self {
        extents.retain(|extent| extent.existing > 0);
        DataSet { shape, extents, own_sizes: false, drawn: None, beside: None }
    }

    /// Complete files or objects numbered from 0; slices of a device are numbered, too.
    pub fn laid_out(shape: DataShape, items: u64) -> Self {
        DataSet::laid_out_from(shape, 0, items)
    }

    /// Complete files or objects numbered from `first`; for a device, the slices that hosts share it by.
    pub fn laid_out_from(shape: DataShape, first: u64, items: u64) -> Self {
        DataSet::new(shape, vec![Extent { first, existing: items, complete: items, ..Extent::default() }])
    }

    /// Complete files numbered from `first`, of these sizes in bytes, all above 0.
    pub fn of_sizes(first: u64, sizes: &[u64], block_bytes: u64) -> Self {
        let file_bytes = sizes.iter().copied().max().unwrap_or(0);
        let shape = DataShape::Files { file_bytes, block_bytes };
        if sizes.iter().all(|bytes| *bytes == file_bytes) {
            return DataSet::laid_out_from(shape, first, sizes.len() as u64);
        }
        let extent = |(number, bytes): (u64, &u64)| match *bytes == file_bytes {
            true => Extent { first: number, existing: 1, complete: 1, ..Extent::default() },
            false => Extent { first: number, existing: 1, partial_bytes: *bytes, ..Extent::default() },
        };
        let extents = (first..).zip(sizes).map(extent).collect();
        DataSet { own_sizes: true, ..DataSet::new(shape, extents) }
    }

    /// The same complete files or objects, each of the size that its number has in this table.
    #[must_use]
    pub fn drawn_from(self, table: Option<Arc<SizeTable>>) -> Self {
        DataSet { drawn: table.filter(|_| self.is_laid_out()), ..self }
    }

    /// The same files, of a tree that exists and has these entries beside them.
    #[must_use]
    pub fn beside(self, beside: BesideFiles) -> Self {
        DataSet { beside: Some(beside), ..self }
    }

    /// What else there is in a tree that exists; `None` for all other data.
    pub(crate) fn tree(&self) -> Option<&BesideFiles> {
        self.beside.as_ref()
    }

    /// The size of a complete file or object with this number in bytes: of the data set, or of a lane's own.
    #[inline]
    pub fn bytes_of(&self, object: u64) -> u64 {
        match &self.drawn {
            Some(table) => table.bytes_of(size_number(object)),
            None => self.shape.item_bytes(),
        }
    }

    /// The number of the first file or object; 0 if there is none.
    pub fn first(&self) -> u64 {
        self.extents.first().map_or(0, |extent| extent.first)
    }

    /// Files or objects, and their sizes.
    pub fn shape(&self) -> DataShape {
        self.shape
    }

    /// Number of existing files or objects, including unfinished ones.
    pub fn objects(&self) -> u64 {
        self.extents.iter().map(|extent| extent.existing).sum()
    }

    /// Bytes that were acknowledged and can be read back.
    pub fn bytes(&self) -> u64 {
        if let Some(table) = &self.drawn {
            let bytes = table.in_bytes();
            let of =
                |extent: &Extent| bytes.before(extent.first + extent.complete) - bytes.before(extent.first);
            return self.extents.iter().map(of).sum();
        }
        let item = self.shape.item_bytes();
        self.extents.iter().map(|extent| extent.complete * item + extent.partial_bytes).sum()
    }

    /// The number of every file or object with its size in bytes, for checks by other means.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> {
        let item = self.shape.item_bytes();
        self.extents.iter().flat_map(move |extent| {
            let size = move |at| match &self.drawn {
                Some(_) => self.bytes_of(extent.first + at),
                None => size_of_item(extent, at, item),
            };
            (0..extent.existing).map(move |at| (extent.first + at, size(at)))
        })
    }

    /// Blocks of `block_bytes` in all files or objects together; a file's last one may be shorter.
    pub(crate) fn blocks(&self, block_bytes: u64) -> Index {
        let item_bytes = self.shape.item_bytes();
        let per_item = item_bytes.div_ceil(block_bytes);
        let unit = Unit { block_bytes, per_item, item_bytes };
        if let Some(table) = &self.drawn {
            let sums = table.in_blocks(block_bytes);
            let count = |e: &Extent| sums.before(e.first + e.complete) - sums.before(e.first);
            let index = Index::new(self.extents.clone(), count, unit);
            return Index { drawn: Some(Drawn { table: Arc::clone(table), sums: Some(sums) }), ..index };
        }
        let count = |e: &Extent| e.complete * per_item + e.partial_bytes.div_ceil(block_bytes);
        Index::new(self.extents.clone(), count, unit)
    }

    /// The units written or checked by one operation: blocks of files and devices, whole objects.
    pub(crate) fn units(&self, block_bytes: u64) -> Index {
        match self.shape {
            DataShape::Objects { .. } => self.items(),
            DataShape::Files { .. } | DataShape::Device { .. } => self.blocks(block_bytes),
        }
    }

    /// Whether these are complete files or objects, perhaps each of its own size.
    pub(crate) fn is_complete(&self) -> bool {
        self.own_sizes || self.is_laid_out()
    }

    /// Whether these are complete files or objects of one size with contiguous numbers.
    pub(crate) fn is_laid_out(&self) -> bool {
        self.extents.iter().all(|extent| extent.existing == extent.complete) && self.extents.len() <= 1
    }

    /// Files or objects, one unit each.
    pub(crate) fn items(&self) -> Index {
        let item_bytes = self.shape.item_bytes();
        let unit = Unit { block_bytes: item_bytes, per_item: 1, item_bytes };
        let index = Index::new(self.extents.clone(), |e| e.existing, unit);
        Index { drawn: self.drawn.clone().map(|table| Drawn { table, sums: None }), ..index }
    }
}

/// The number whose size an object has: files that lanes create begin at different places of the table.
#[inline]
fn size_number(object: u64) -> u64 {
    if object & OWN == 0 {
        return object;
    }
    let lane = object >> COUNT_BITS & ((1 << LANE_BITS) - 1);
    (object & COUNT_MASK) + content::mixed(lane) % content::SIZE_PERIOD
}

fn size_of_item(extent: &Extent, at: u64, item_bytes: u64) -> u64 {
    match at.cmp(&extent.complete) {
        Ordering::Less => item_bytes,
        Ordering::Equal => extent.partial_bytes,
        Ordering::Greater => 0,
    }
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    block_bytes: u64,
    per_item: u64,
    item_bytes: u64,
}

/// A range of a file or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub object: u64,
    pub offset: u64,
    pub len: u64,
}

/// All units of a data set, numbered consecutively.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Each extent with the number of its first unit.
    extents: Vec<(u64, Extent)>,
    total: u64,
    unit: Unit,
    /// Where items differ in size.
    drawn: Option<Drawn>,
}

/// Sizes of items, and the blocks of all of them; `None` if each item is one unit.
#[derive(Clone, Debug)]
struct Drawn {
    table: Arc<SizeTable>,
    sums: Option<SizeSums>,
}

impl Index {
    fn new(extents: Vec<Extent>, count: impl Fn(&Extent) -> u64, unit: Unit) -> Self {
        let mut total = 0;
        let mut numbered = Vec::with_capacity(extents.len());
        for extent in extents {
            let units = count(&extent);
            if units > 0 {
                numbered.push((total, extent));
            }
            total += units;
        }
        Index { extents: numbered, total, unit, drawn: None }
    }

    /// Number of units.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The location of a unit.
    #[inline]
    pub(crate) fn place(&self, number: u64) -> Place {
        self.locate(number).2
    }

    /// The location of a unit, and the generation of its content; `None` if that is uncertain.
    #[inline]
    pub(crate) fn held(&self, number: u64) -> (Place, Option<u32>) {
        let (extent, item, place) = self.locate(number);
        (place, extent.again.generation(item, place.offset..place.offset + place.len))
    }

    /// The file or object that a unit belongs to, counted over all of them.
    pub(crate) fn item_of(&self, number: u64) -> u64 {
        // Only complete files or objects are divided in two ways, and these are one extent.
        self.locate(number).1
    }

    /// The first unit of a file or object, counted over all of them.
    pub(crate) fn first_of_item(&self, item: u64) -> u64 {
        match (&self.drawn, self.extents.first()) {
            (Some(Drawn { sums: Some(sums), .. }), Some((_, extent))) => {
                sums.before(extent.first + item) - sums.before(extent.first)
            }
            _ => item * self.unit.per_item,
        }
    }

    #[inline]
    fn locate(&self, number: u64) -> (&Extent, u64, Place) {
        debug_assert!(number < self.total);
        let after = self.extents.partition_point(|(first, _)| *first <= number);
        let (first, extent) = &self.extents[after - 1];
        let within = number - first;
        if let Some(drawn) = &self.drawn {
            return drawn.locate(extent, within, self.unit.block_bytes);
        }
        let (item, block) = (within / self.unit.per_item, within % self.unit.per_item);
        let offset = block * self.unit.block_bytes;
        let size = size_of_item(extent, item, self.unit.item_bytes);
        let len = size.saturating_sub(offset).min(self.unit.block_bytes);
        (extent, item, Place { object: extent.first + item, offset, len })
    }
}

impl Drawn {
    /// The extent's item with this unit, and the unit's location.
    fn locate<'e>(&self, extent: &'e Extent, unit: u64, block_bytes: u64) -> (&'e Extent, u64, Place) {
        let (object, block) = match &self.sums {
            Some(sums) => sums.locate(sums.before(extent.first) + unit),
            None => (extent.first + unit, 0),
        };
        let offset = block * block_bytes;
        let len = (self.table.bytes_of(object) - offset).min(block_bytes);
        (extent, object - extent.first, Place { object, offset, len })
    }
}

#[cfg(test)]
mod tests;
