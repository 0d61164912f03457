//! Record marking: any split of the stream gives the same records; oversized ones are rejected at once.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::rpc::{LAST_FRAGMENT, RecordError, RecordEvent, RecordScanner, begin_record, end_record};

/// The stream bytes of a record in fragments.
fn stream(fragments: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, fragment) in fragments.iter().enumerate() {
        let last = if index + 1 == fragments.len() { LAST_FRAGMENT } else { 0 };
        out.extend((fragment.len() as u32 | last).to_be_bytes());
        out.extend(fragment);
    }
    out
}

/// All records of a stream that arrives in the given pieces.
fn scan(scanner: &mut RecordScanner, pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, RecordError> {
    let mut records = Vec::new();
    let mut current = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            if let Some(record) = scanner.whole_record(&mut input)? {
                assert!(current.is_empty(), "a whole record begins between records");
                records.push(record.to_vec());
                continue;
            }
            let Some(event) = scanner.next(&mut input)? else { break };
            match event {
                RecordEvent::Data(data) => {
                    assert!(!data.is_empty());
                    current.extend_from_slice(data);
                }
                RecordEvent::End => records.push(std::mem::take(&mut current)),
            }
        }
        assert!(input.is_empty(), "a scanner that wants more has used all");
    }
    Ok(records)
}

proptest! {
    #[test]
    fn cuts_do_not_matter(
        records in vec(vec(vec(any::<u8>(), 0..40), 1..5), 0..6),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes: Vec<u8> = records.iter().flat_map(|record| stream(record)).collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let mut scanner = RecordScanner::new(4096);
        let found = scan(&mut scanner, &pieces).expect("all records are small");
        let expected: Vec<Vec<u8>> = records.iter().map(|record| record.concat()).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(scanner.between_records());
    }

    #[test]
    fn arbitrary_streams_are_survived(bytes in vec(any::<u8>(), 0..300)) {
        let mut scanner = RecordScanner::new(1 << 20);
        let _ = scan(&mut scanner, &[&bytes]);
    }
}

#[test]
fn oversize_is_refused_by_its_header() {
    let mut scanner = RecordScanner::new(1024);
    let mut input: &[u8] = &0x7fff_ffffu32.to_be_bytes();
    assert_eq!(scanner.next(&mut input), Err(RecordError::Oversize { len: 0x7fff_ffff + 4, limit: 1024 }));
    assert_eq!(
        RecordError::Oversize { len: 2_147_483_651, limit: 1024 }.to_string(),
        "oversize record: at least 2147483651 bytes, at most 1024 allowed"
    );
}

#[test]
fn oversize_in_small_fragments_is_refused() {
    let mut scanner = RecordScanner::new(1024);
    let fragment: Vec<u8> = [&100u32.to_be_bytes()[..], &[0; 100]].concat();
    let pieces = vec![&fragment[..]; 20];
    assert!(matches!(scan(&mut scanner, &pieces), Err(RecordError::Oversize { .. })));
}

#[test]
fn empty_fragments_do_not_go_on_for_ever() {
    let mut scanner = RecordScanner::new(1024);
    let zeros = [0u8; 4096];
    assert!(matches!(scan(&mut scanner, &[&zeros]), Err(RecordError::Oversize { .. })));
}

#[test]
fn a_payload_received_elsewhere_is_skipped() {
    let record = stream(&[b"head".to_vec(), b"payload!".to_vec()]);
    let mut scanner = RecordScanner::new(100);
    let mut input = &record[..14];
    assert_eq!(scanner.next(&mut input), Ok(Some(RecordEvent::Data(b"head"))));
    assert_eq!(scanner.next(&mut input), Ok(Some(RecordEvent::Data(b"pa"))));
    assert_eq!(scanner.next(&mut input), Ok(None));
    assert!(scanner.in_last_fragment());
    assert_eq!(scanner.fragment_left(), 6);
    scanner.skip(6);
    assert_eq!(scanner.next(&mut input), Ok(Some(RecordEvent::End)));
    assert!(scanner.between_records());
}

#[test]
fn a_record_with_a_payload_behind_it() {
    let mut out = vec![1, 2, 3];
    let at = begin_record(&mut out);
    out.extend([5; 8]);
    end_record(&mut out, at, 100);
    assert_eq!(out[3..7], (LAST_FRAGMENT | 108).to_be_bytes());
}
