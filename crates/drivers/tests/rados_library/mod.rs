//! The scripted librados, compiled from `data/librados.c`.

use std::process::Command;

/// A directory with the library as `librados.so.2`.
pub fn compiled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    // Tests of other crates use it too.
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../drivers/tests/data/librados.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-pthread", "-o"]);
    let made = compiler.arg(directory.path().join("librados.so.2")).arg(source).status();
    assert!(made.unwrap().success(), "cc compiles {source}");
    directory
}
