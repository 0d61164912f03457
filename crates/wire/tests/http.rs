//! Response heads and bodies: what is accepted, what is rejected, and that splitting the input does not matter.

use proptest::prelude::*;
use wire::http1::{
    BodyDecoder, Framing, HeadScanner, HeaderStorage, HttpError, MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES,
    MAX_HEADERS, MAX_TRAILER_BYTES, RequestWriter, ResponseHead,
};

fn framing_of(head: &str) -> Result<(u16, Framing, bool), HttpError> {
    let mut storage = HeaderStorage::new();
    let head = ResponseHead::parse(head.as_bytes(), &mut storage)?;
    Ok((head.status, head.framing(false)?, head.keeps_alive()))
}

/// Decodes a body split at the cuts; returns the payload, the number of consumed bytes, and whether the body is done.
fn decode(framing: Framing, input: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, usize, bool), HttpError> {
    let mut decoder = BodyDecoder::new(framing);
    let mut payload = Vec::new();
    let mut at = 0;
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (input.len() + 1)).collect();
    ends.push(input.len());
    ends.sort_unstable();
    for end in ends {
        while at < end && !decoder.is_done() {
            let piece = decoder.next(&input[at..end])?;
            assert!(piece.consumed > 0, "a step on bytes at hand makes progress");
            payload.extend_from_slice(&input[at..end][piece.data]);
            at += piece.consumed;
        }
    }
    Ok((payload, at, decoder.is_done()))
}

#[test]
fn framing_follows_the_rfc() {
    let ok = |head: &str| framing_of(head).unwrap();
    assert_eq!(ok("HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n"), (200, Framing::Length(42), true));
    assert_eq!(ok("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\n").1, Framing::Length(5));
    assert_eq!(ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n").1, Framing::Chunked);
    assert_eq!(ok("HTTP/1.1 200 OK\r\n\r\n").1, Framing::UntilClose);
    assert_eq!(ok("HTTP/1.1 204 No Content\r\n\r\n").1, Framing::Length(0));
    assert_eq!(ok("HTTP/1.1 100 Continue\r\n\r\n").1, Framing::Length(0));
    assert_eq!(ok("HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n").1, Framing::Length(0));
    assert!(!ok("HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n\r\n").2);
    assert!(!ok("HTTP/1.0 200 OK\r\n\r\n").2);
    assert!(ok("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\n").2);

    let mut storage = HeaderStorage::new();
    let head =
        ResponseHead::parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nETag: \"a\"\r\n\r\n", &mut storage)
            .unwrap();
    assert_eq!(head.framing(true), Ok(Framing::Length(0)), "no body after HEAD");
    assert_eq!(head.content_length(), Ok(Some(9)));
    assert_eq!(head.text("etag"), Some("\"a\""));
    assert_eq!(head.header("absent"), None);
}

#[test]
fn doubtful_framing_is_refused() {
    for (head, error) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", HttpError::BadContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", HttpError::BadContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", HttpError::BadContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", HttpError::BadContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", HttpError::BadContentLength),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            HttpError::AmbiguousLength,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", HttpError::UnknownTransferCoding),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", HttpError::Malformed("bad header name")),
    ] {
        assert_eq!(framing_of(head), Err(error), "{head}");
    }
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1));
    assert_eq!(framing_of(&many), Err(HttpError::TooManyHeaders));
    let most = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS));
    assert!(framing_of(&most).is_ok());
}

#[test]
fn the_end_of_a_head_is_found_and_its_length_is_bounded() {
    let head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
    let mut scanner = HeadScanner::default();
    for len in 0..25 {
        assert_eq!(scanner.find(&head[..len]), Ok(None), "{len}");
    }
    assert_eq!(scanner.find(&head[..25]), Ok(Some(25)));
    assert_eq!(HeadScanner::default().find(head), Ok(Some(25)));

    let mut endless = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
    endless.resize(1 << 20, b'a');
    assert_eq!(HeadScanner::default().find(&endless), Err(HttpError::HeadTooLong));
    assert_eq!(HeadScanner::default().find(&endless[..MAX_HEAD_BYTES]), Err(HttpError::HeadTooLong));
    assert_eq!(HeadScanner::default().find(&endless[..MAX_HEAD_BYTES - 1]), Ok(None));
    assert!(matches!(HeadScanner::default().find(b"SSH-2.0"), Err(HttpError::Malformed(_))));
    assert!(matches!(HeadScanner::default().find(b"HTTP/2"), Err(HttpError::Malformed(_))));
}

#[test]
fn chunked_bodies_with_extensions_and_trailers() {
    let body = b"5;name=\"v\"\r\nhello\r\n00A\r\n, chunked!\r\n0\r\nx-amz-checksum-crc32c: AAAAAA==\r\nb: c\r\n\r\nNEXT";
    let (payload, consumed, done) = decode(Framing::Chunked, body, &[]).unwrap();
    assert_eq!(payload, b"hello, chunked!");
    assert!(done);
    assert_eq!(&body[consumed..], b"NEXT");
}

#[test]
fn broken_chunks_are_refused() {
    let long_extension = format!("5;{}", "x".repeat(MAX_CHUNK_LINE_BYTES + 1));
    let long_trailers = format!("0\r\n{}", "a: b\r\n".repeat(MAX_TRAILER_BYTES));
    for body in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        ";x\r\n",
        "5\n",
        "5\rX",
        "11111111111111111\r\n",
        "1\r\nab",
        "1\r\na\rb",
        "0\r\n\rX",
        "5;a\nb",
        &long_extension,
        &long_trailers,
    ] {
        let result = decode(Framing::Chunked, body.as_bytes(), &[]);
        assert!(matches!(result, Err(HttpError::BadChunk(_))), "{body:.20}: {result:?}");
    }
}

#[test]
fn an_early_end_is_named() {
    let mut decoder = BodyDecoder::new(Framing::Length(10));
    decoder.next(b"abc").unwrap();
    assert_eq!(decoder.end(), Err(HttpError::BodyTruncated { missing: 7 }));
    let mut decoder = BodyDecoder::new(Framing::UntilClose);
    decoder.next(b"abc").unwrap();
    assert_eq!(decoder.end(), Ok(()));
    assert!(decoder.is_done());
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    decoder.next(b"3\r\nabc\r\n").unwrap();
    assert!(decoder.end().is_err());
}

#[test]
fn payload_taken_past_the_decoder_counts() {
    let mut decoder = BodyDecoder::new(Framing::Chunked);
    decoder.next(b"8\r\n").unwrap();
    assert_eq!(decoder.ahead(), 8);
    decoder.skip(5);
    assert_eq!(decoder.ahead(), 3);
    decoder.skip(3);
    assert_eq!(decoder.ahead(), 0);
    let piece = decoder.next(b"\r\n0\r\n\r\n").unwrap();
    assert_eq!((piece.consumed, decoder.is_done()), (7, true));

    let mut decoder = BodyDecoder::new(Framing::Length(8));
    decoder.skip(8);
    assert!(decoder.is_done());
}

proptest! {
    #[test]
    fn the_pieces_of_a_chunked_body_do_not_matter(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
        tail in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut body = Vec::new();
        for chunk in &chunks {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\ntrailer: 1\r\n\r\n");
        let end = body.len();
        body.extend_from_slice(&tail);
        let (payload, consumed, done) = decode(Framing::Chunked, &body, &cuts).unwrap();
        prop_assert_eq!(payload, chunks.concat());
        prop_assert_eq!(consumed, end);
        prop_assert!(done);
    }

    #[test]
    fn the_pieces_of_a_body_with_a_length_do_not_matter(
        body in prop::collection::vec(any::<u8>(), 0..500),
        extra in prop::collection::vec(any::<u8>(), 0..20),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut input = body.clone();
        input.extend_from_slice(&extra);
        let (payload, consumed, done) = decode(Framing::Length(body.len() as u64), &input, &cuts).unwrap();
        prop_assert_eq!(payload, body.clone());
        prop_assert_eq!(consumed, body.len());
        prop_assert!(done);
    }

    #[test]
    fn what_is_written_has_one_line_a_header(
        headers in prop::collection::vec(("[a-z-]{1,20}", any::<Vec<u8>>()), 0..20),
    ) {
        let mut out = vec![1, 2, 3];
        let mut writer = RequestWriter::new(&mut out, "GET", "/k", "a=b");
        for (name, value) in &headers {
            writer.header(name, value);
        }
        let len = writer.finish();
        prop_assert_eq!(len, out.len());
        let lines = out.windows(2).filter(|pair| pair == b"\r\n").count();
        prop_assert_eq!(lines, headers.len() + 2);
        prop_assert!(out.ends_with(b"\r\n\r\n"));
    }
}
