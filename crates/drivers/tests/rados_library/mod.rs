//! The scripted librados and librbd, compiled from `data/`.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;
use std::process::Command;

/// A directory with the library as `librados.so.2`.
pub fn compiled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    compile("librados.c", &directory.path().join("librados.so.2"), &[]);
    directory
}

/// A directory with both libraries, `librados.so.2` and `librbd.so.1`.
pub fn compiled_with_rbd() -> tempfile::TempDir {
    let directory = compiled();
    compile("librbd.c", &directory.path().join("librbd.so.1"), &[]);
    directory
}

/// A directory with a `librados.so.2` that lacks this function.
pub fn compiled_without(function: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let renamed = format!("-D{function}=unknown");
    compile("librados.c", &directory.path().join("librados.so.2"), &[&renamed]);
    directory
}

fn compile(source: &str, to: &Path, flags: &[&str]) {
    // Tests of other crates use it too.
    let source = format!("{}/../drivers/tests/data/{source}", env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-pthread"]).args(flags).arg("-o");
    let made = compiler.arg(to).arg(&source).status();
    assert!(made.unwrap().success(), "cc compiles {source}");
}
