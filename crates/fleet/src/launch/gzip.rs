//! A file in the gzip format (RFC 1952), which nearly every host can unpack.

use std::io::{self, Read};

use crc_fast::{CrcAlgorithm, Digest};
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress_to_output, create_comp_flags_from_zip_params,
};

/// Level 6 makes programs a tenth smaller and takes three times as long.
const LEVEL: i32 = 1;

/// Raw DEFLATE without zlib's header: gzip has its own.
const RAW_WINDOW_BITS: i32 = -15;

/// Magic number, method DEFLATE, no flags, no modification time, fastest compression, Unix (RFC 1952, section 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

/// Bytes read at a time.
const PART_BYTES: usize = 1 << 18;

/// Compresses everything read from `from`, as one gzip member.
///
/// # Errors
/// Reading fails.
pub(super) fn compress(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut packed = HEADER.to_vec();
    let mut deflate = CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, RAW_WINDOW_BITS, 0));
    let mut crc = Digest::new(CrcAlgorithm::Crc32IsoHdlc);
    let mut part = vec![0; PART_BYTES];
    let mut bytes = 0_u64;
    loop {
        let n = match from.read(&mut part) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        crc.update(&part[..n]);
        bytes += n as u64;
        let flush = if n == 0 { TDEFLFlush::Finish } else { TDEFLFlush::None };
        let (status, _) = compress_to_output(&mut deflate, &part[..n], flush, |more| {
            packed.extend_from_slice(more);
            true
        });
        match status {
            TDEFLStatus::Okay if n > 0 => {}
            TDEFLStatus::Done if n == 0 => break,
            _ => return Err(io::Error::other("the compressor failed")),
        }
    }
    // Both fields hold 32 bits; the length is modulo 2^32.
    packed.extend_from_slice(&(crc.finalize() as u32).to_le_bytes());
    packed.extend_from_slice(&(bytes as u32).to_le_bytes());
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    /// Uncompressed by this host's gzip.
    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut child = Command::new("gzip")
            .arg("-dc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("gzip is installed");
        let mut input = child.stdin.take().unwrap();
        let packed = packed.to_vec();
        let writer = std::thread::spawn(move || input.write_all(&packed).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    #[test]
    fn gzip_unpacks_what_was_compressed_and_accepts_its_sum() {
        let text = "one program for all hosts. ".repeat(60_000);
        let mut noise = vec![0; 3 * PART_BYTES + 17];
        fastrand::Rng::with_seed(1).fill(&mut noise);
        for data in [b"".as_slice(), b"x", text.as_bytes(), &noise] {
            assert!(unpacked(&compress(data).unwrap()) == data, "{} bytes", data.len());
        }
        assert!(compress(text.as_bytes()).unwrap().len() < text.len() / 50);
    }

    /// Yields its bytes in parts of any length, with interruptions between them.
    struct Pieces<'a>(&'a [u8], Vec<usize>);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.1.pop() {
                Some(0) => Err(io::ErrorKind::Interrupted.into()),
                length => {
                    let n = length.unwrap_or(usize::MAX).min(self.0.len()).min(into.len());
                    into[..n].copy_from_slice(&self.0[..n]);
                    self.0 = &self.0[n..];
                    Ok(n)
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_inflates_to_the_same_bytes_however_they_come(
            data in proptest::collection::vec(any::<u8>(), 0..5000),
            pieces in proptest::collection::vec(0_usize..700, 0..20),
        ) {
            let packed = compress(Pieces(&data, pieces)).unwrap();
            let inner = &packed[HEADER.len()..packed.len() - 8];
            let inflated = miniz_oxide::inflate::decompress_to_vec(inner).unwrap();
            prop_assert!(inflated == data);
            prop_assert_eq!(&packed[packed.len() - 4..], (data.len() as u32).to_le_bytes());
        }
    }
}
