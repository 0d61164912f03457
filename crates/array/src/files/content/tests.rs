//! Compares a file's content with a plain byte vector.

use proptest::prelude::*;

use super::*;
use crate::capacity::Capacity;

/// Operations on a file. Offsets straddle block boundaries on purpose.
#[derive(Clone, Debug)]
enum Step {
    Write { offset: u64, len: usize, stable: bool },
    SetSize(u64),
    Commit,
}

fn offsets() -> impl Strategy<Value = u64> {
    let block = BLOCK_BYTES as u64;
    prop_oneof![0..5000u64, block - 5000..block + 5000, 2 * block - 9..2 * block + 9, 200_000..300_000u64]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (offsets(), prop_oneof![0..9000usize, Just(BLOCK_BYTES), Just(300_000)], any::<bool>())
            .prop_map(|(offset, len, stable)| Step::Write { offset, len, stable }),
        2 => offsets().prop_map(Step::SetSize),
        1 => Just(Step::Commit),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn it_reads_back_what_was_written_and_charges_what_it_holds(steps in steps()) {
        let array = Capacity::new(1 << 30);
        let mut space = Space::new(std::sync::Arc::clone(&array), None);
        let mut content = Content::default();
        let mut model: Vec<u8> = Vec::new();
        let mut stable = model.clone();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Write { offset, len, stable: lasting } => {
                    let data: Vec<u8> = (0..len).map(|at| (at * 7 + number) as u8 | 1).collect();
                    content.write(offset, &data, lasting, &mut space).unwrap();
                    let end = offset as usize + len;
                    for (image, wanted) in [(&mut model, true), (&mut stable, lasting)] {
                        if len > 0 && wanted {
                            image.resize(image.len().max(end), 0);
                            image[offset as usize..end].copy_from_slice(&data);
                        } else if len > 0 {
                            // Lost in a restart: zeros where the file was long enough.
                            let to = end.min(image.len());
                            image[(offset as usize).min(to)..to].fill(0);
                        }
                    }
                }
                Step::SetSize(size) => {
                    content.set_size(size, &mut space);
                    model.resize(size as usize, 0);
                    stable.resize(size as usize, 0);
                }
                Step::Commit => {
                    content.commit();
                    stable = model.clone();
                }
            }
            prop_assert_eq!(content.size(), model.len() as u64);
            prop_assert_eq!(content.charged(), array.used());
            prop_assert!(content.charged() <= (model.len() as u64).next_multiple_of(PAGE));
            let mut read = vec![0xaa; model.len()];
            content.read(0, &mut read);
            prop_assert!(read == model, "content differs");
        }
        content.restart(&mut space);
        prop_assert_eq!(content.size(), stable.len() as u64);
        let mut read = vec![0xaa; stable.len()];
        content.read(0, &mut read);
        prop_assert!(read == stable, "what is left after a restart differs");
        content.set_size(0, &mut space);
        prop_assert_eq!(array.used(), 0);
    }
}

#[test]
fn a_write_that_does_not_fit_changes_nothing() {
    let array = Capacity::new(8192);
    let mut space = Space::new(std::sync::Arc::clone(&array), None);
    let mut content = Content::default();
    content.write(0, &[1; 4096], true, &mut space).unwrap();
    assert_eq!(content.write(4096, &[2; 4097], true, &mut space), Err(Full { wanted: 8192, free: 4096 }));
    assert_eq!((content.size(), content.charged()), (4096, 4096));
    content.write(4096, &[2; 4096], true, &mut space).unwrap();
    content.write(0, &[3; 8192], true, &mut space).expect("overwriting takes no space");
}

#[test]
fn a_far_hole_costs_nothing() {
    let array = Capacity::new(1 << 20);
    let mut space = Space::new(std::sync::Arc::clone(&array), None);
    let mut content = Content::default();
    let far = 1u64 << 50;
    content.write(far, b"x", true, &mut space).unwrap();
    assert_eq!(content.size(), far + 1);
    assert_eq!(content.charged(), 4096);
    let mut read = [9; 3];
    content.read(far - 2, &mut read);
    assert_eq!(read, [0, 0, b'x']);
}
