//! What data sets count, and where their units lie.

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
    assert!((sizes.len(), sizes[0].0) == (20, 65_530) && sizes.iter().any(|(_, size)| *size != sizes[0].1));
    assert_eq!(set.bytes(), sizes.iter().map(|(_, size)| size).sum::<u64>());
    let (blocks, items) = (set.blocks(10), set.items());
    let mut expected = Vec::new();
    for (item, (object, size)) in sizes.into_iter().enumerate() {
        assert_eq!(items.place(item as u64), Place { object, offset: 0, len: size });
        assert_eq!(blocks.first_of_item(item as u64), expected.len() as u64);
        expected
            .extend((0..size).step_by(10).map(|offset| (item as u64, object, offset, 10.min(size - offset))));
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
    let of_lane = |lane: u64| (0..100).map(|count| set.bytes_of(OWN | lane << COUNT_BITS | count)).collect();
    let (one, other): (Vec<u64>, Vec<u64>) = (of_lane(0), of_lane(1));
    assert!(one != other && one.contains(&35) && one.contains(&5));
}

#[test]
fn items_include_the_empty_and_the_unfinished() {
    let index = data_set().items();
    let objects: Vec<_> = (0..index.total()).map(|at| index.place(at).object).collect();
    assert_eq!(objects, [0, 1, 2, 2 << 32]);
}
