//! What was written: a few numbers per lane, however many objects there are.

mod index;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use content::SizeTable;
use drivers::numbers::{COUNT_BITS, COUNT_MASK, LANE_BITS, OWN};

use self::index::{Drawn, Unit};
pub(crate) use self::index::{Index, Place};

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
            return index.drawn_from(Some(Drawn { table: Arc::clone(table), sums: Some(sums) }));
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
        index.drawn_from(self.drawn.clone().map(|table| Drawn { table, sums: None }))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn data_set() -> DataSet {
        let extent = |lane, existing, complete, partial_bytes| Extent {
            first: first_object(0, lane),
            existing,
            complete,
            partial_bytes,
            ..Extent::default()
        };
        // Two files and 25 bytes; nothing at all; one file, created but still empty.
        let extents = vec![extent(0, 3, 2, 25), extent(1, 0, 0, 0), extent(2, 1, 0, 0)];
        DataSet::new(DataShape::Files { file_bytes: 35, block_bytes: 10 }, extents)
    }

    #[test]
    fn counts_what_exists_and_what_can_be_read() {
        assert_eq!((data_set().objects(), data_set().bytes()), (4, 95));
        let lane_2 = 2 << 32;
        let sizes: Vec<_> = data_set().sizes().collect();
        assert_eq!(sizes, [(0, 35), (1, 35), (2, 25), (lane_2, 0)]);
    }

    #[test]
    fn blocks_cover_every_byte_once() {
        let index = data_set().blocks(10);
        let places: Vec<_> = (0..index.total()).map(|at| index.place(at)).collect();
        let lengths: Vec<_> = places.iter().map(|p| (p.object, p.offset, p.len)).collect();
        let file = |object| [(object, 0, 10), (object, 10, 10), (object, 20, 10), (object, 30, 5)];
        let mut expected = [file(0), file(1)].concat();
        expected.extend([(2, 0, 10), (2, 10, 10), (2, 20, 5)]);
        assert_eq!(lengths, expected);
    }

    #[test]
    fn any_block_size_covers_every_byte() {
        for block in [1, 7, 25, 35, 36, 1000] {
            let index = data_set().blocks(block);
            let bytes: u64 = (0..index.total()).map(|at| index.place(at).len).sum();
            assert_eq!(bytes, 95, "in blocks of {block}");
        }
    }

    #[test]
    fn files_of_their_own_sizes_are_covered_to_their_ends() {
        let set = DataSet::of_sizes(5, &[20, 35, 7], 10);
        assert!(set.is_complete() && !set.is_laid_out());
        assert_eq!((set.first(), set.objects(), set.bytes()), (5, 3, 62));
        assert_eq!(set.sizes().collect::<Vec<_>>(), [(5, 20), (6, 35), (7, 7)]);
        let index = set.blocks(10);
        let places: Vec<_> = (0..index.total()).map(|at| index.place(at)).collect();
        let ends: Vec<_> = places.iter().map(|place| (place.object, place.offset + place.len)).collect();
        assert_eq!(ends, [(5, 10), (5, 20), (6, 10), (6, 20), (6, 30), (6, 35), (7, 7)]);
        let items = set.items();
        let sizes: Vec<_> = (0..items.total()).map(|at| items.place(at)).map(|p| (p.object, p.len)).collect();
        assert_eq!(sizes, [(5, 20), (6, 35), (7, 7)]);
        let alike = DataSet::of_sizes(5, &[20, 20], 10);
        let shape = DataShape::Files { file_bytes: 20, block_bytes: 10 };
        assert_eq!(alike, DataSet::laid_out_from(shape, 5, 2));
    }

    fn drawn(first: u64, files: u64) -> DataSet {
        let law = content::SizeLaw::Shares(vec![(5, 0.3), (20, 0.3), (35, 0.4)]);
        let table = SizeTable::new(content::SizeDistribution { law, limit_bytes: None, seed: 1 });
        let shape = DataShape::Files { file_bytes: 35, block_bytes: 10 };
        DataSet::laid_out_from(shape, first, files).drawn_from(Some(Arc::new(table)))
    }

    #[test]
    fn files_of_drawn_sizes_are_covered_to_their_ends() {
        // Beyond one period of the table.
        let set = drawn(65_530, 20);
        let sizes: Vec<_> = set.sizes().collect();
        assert!(
            (sizes.len(), sizes[0].0) == (20, 65_530) && sizes.iter().any(|(_, size)| *size != sizes[0].1)
        );
        assert_eq!(set.bytes(), sizes.iter().map(|(_, size)| size).sum::<u64>());
        let (blocks, items) = (set.blocks(10), set.items());
        let mut expected = Vec::new();
        for (item, (object, size)) in sizes.into_iter().enumerate() {
            assert_eq!(items.place(item as u64), Place { object, offset: 0, len: size });
            assert_eq!(blocks.first_of_item(item as u64), expected.len() as u64);
            expected.extend(
                (0..size).step_by(10).map(|offset| (item as u64, object, offset, 10.min(size - offset))),
            );
        }
        let places = (0..blocks.total()).map(|at| {
            let Place { object, offset, len } = blocks.place(at);
            (blocks.item_of(at), object, offset, len)
        });
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lanes_create_files_of_different_sizes() {
        let set = drawn(0, 1);
        let of_lane =
            |lane: u64| (0..100).map(|count| set.bytes_of(OWN | lane << COUNT_BITS | count)).collect();
        let (one, other): (Vec<u64>, Vec<u64>) = (of_lane(0), of_lane(1));
        assert!(one != other && one.contains(&35) && one.contains(&5));
    }

    #[test]
    fn items_include_the_empty_and_the_unfinished() {
        let index = data_set().items();
        let objects: Vec<_> = (0..index.total()).map(|at| index.place(at).object).collect();
        assert_eq!(objects, [0, 1, 2, 2 << 32]);
    }
}
