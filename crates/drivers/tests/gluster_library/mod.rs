//! The scripted libgfapi, compiled from `data/libgfapi.c`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

/// A libgfapi whose volume `gv` is a directory of this machine.
pub struct GlusterLibrary {
    directory: tempfile::TempDir,
    /// Accepts connections where glusterd would.
    glusterd: TcpListener,
}

impl GlusterLibrary {
    /// Compiles it.
    pub fn compiled() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("gv")).unwrap();
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../drivers/tests/data");
        let root = directory.path().join("gv");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-pthread", "-D_FILE_OFFSET_BITS=64"]);
        compiler.arg(format!("-DROOT=\"{}\"", root.display()));
        compiler.arg(format!("-Wl,--version-script={data}/libgfapi.map"));
        compiler.arg("-o").arg(directory.path().join("libgfapi.so.0")).arg(format!("{data}/libgfapi.c"));
        assert!(compiler.status().unwrap().success(), "cc compiles libgfapi.c");
        Self { directory, glusterd: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    /// The library.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join("libgfapi.so.0")
    }

    /// The directory that is the volume.
    #[allow(dead_code, reason = "not every test looks there")]
    pub fn volume(&self) -> PathBuf {
        self.directory.path().join("gv")
    }

    /// The port of glusterd.
    pub fn port(&self) -> u16 {
        self.glusterd.local_addr().unwrap().port()
    }
}
