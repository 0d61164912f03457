//! The units of a data set by number, and where each is.

use std::sync::Arc;

use content::{SizeSums, SizeTable};

use super::{Extent, size_of_item};

#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) block_bytes: u64,
    pub(super) per_item: u64,
    pub(super) item_bytes: u64,
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
pub(super) struct Drawn {
    pub(super) table: Arc<SizeTable>,
    pub(super) sums: Option<SizeSums>,
}

impl Index {
    pub(super) fn new(extents: Vec<Extent>, count: impl Fn(&Extent) -> u64, unit: Unit) -> Self {
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

    /// The same units, of items that differ in size.
    pub(super) fn drawn_from(self, drawn: Option<Drawn>) -> Self {
        Index { drawn, ..self }
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
