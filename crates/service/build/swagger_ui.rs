//! Takes the files of Swagger UI that its page loads out of the archive. They stay compressed: an entry of a ZIP archive and
//! a gzip file (RFC 1952) contain the same deflate stream.

use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive};

use crate::File;

/// What the page loads, without `swagger-initializer.js`, which names the documents and is written by the service.
const NAMES: [&str; 6] = [
    "favicon-16x16.png",
    "favicon-32x32.png",
    "index.css",
    "swagger-ui-bundle.js",
    "swagger-ui-standalone-preset.js",
    "swagger-ui.css",
];
const PAGE: &str = "index.html";

/// Deflate, no name, no time, unknown system (RFC 1952, section 2.3).
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Writes the files into a directory.
pub fn unpack(directory: &Path) -> Vec<File> {
    fs::create_dir_all(directory).expect("the output directory is writable");
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).expect("Swagger UI is a ZIP archive");
    [PAGE].iter().chain(&NAMES).map(|name| entry(&mut archive, name, directory)).collect()
}

fn entry(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str, directory: &Path) -> File {
    let wanted = format!("/dist/{name}");
    let index = (0..archive.len())
        .find(
            |&index| matches!(archive.name_for_index(index), Some(Ok(path)) if is_top_level(&path, &wanted)),
        )
        .unwrap_or_else(|| panic!("Swagger UI has no {name}"));
    let mut entry = archive.by_index_raw(index).expect("the archive can be read");
    let mut stored = Vec::new();
    let gzip = match entry.compression() {
        CompressionMethod::Stored => false,
        CompressionMethod::DEFLATE => true,
        other => panic!("{name} is compressed by {other}"),
    };
    if gzip {
        stored.extend(GZIP_HEADER);
    }
    entry.read_to_end(&mut stored).expect("the archive can be read");
    if gzip {
        stored.extend(entry.crc32().to_le_bytes());
        stored.extend((entry.size() as u32).to_le_bytes());
    }
    let path = directory.join(name);
    fs::write(&path, stored).expect("the output directory is writable");
    File { name: name.to_owned(), stored: path, gzip }
}

/// Whether `path` is `wanted` in the archive's outermost directory.
fn is_top_level(path: &str, wanted: &str) -> bool {
    path.strip_suffix(wanted).is_some_and(|outermost| !outermost.contains('/'))
}
