//! Writes the tables of embedded files: the dashboard's (those in dashboard/dist with the feature `dashboard`, else one short
//! page) and Swagger UI's.

mod swagger_ui;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file to embed: its path in the service, where it lies now, and whether that is compressed by gzip.
struct File {
    name: String,
    stored: PathBuf,
    gzip: bool,
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the crate's directory"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the output directory"));
    println!("cargo:rerun-if-changed=build");
    let dashboard = match env::var_os("CARGO_FEATURE_DASHBOARD") {
        Some(_) => all_of(&here.join("../../dashboard/dist")),
        None => {
            let stored = here.join("src/api/without_dashboard.html");
            println!("cargo:rerun-if-changed={}", stored.display());
            vec![File { name: "index.html".to_owned(), stored, gzip: false }]
        }
    };
    let write = |name: &str, code: String| {
        fs::write(out.join(name), code).expect("the output directory is writable");
    };
    write("dashboard.rs", table(&dashboard));
    write("swagger_ui.rs", table(&swagger_ui::unpack(&out.join("swagger-ui"))));
}

/// Every file below a directory; where there is a compressed form beside it, that one.
fn all_of(dist: &Path) -> Vec<File> {
    println!("cargo:rerun-if-changed={}", dist.display());
    assert!(
        dist.join("index.html").is_file(),
        "the feature `dashboard` needs {}; next: make dashboard",
        dist.display()
    );
    let mut paths = BTreeSet::new();
    list(dist, &mut paths);
    paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end != "gz"))
        .map(|path| {
            let name = path.strip_prefix(dist).expect("it is below the directory").display().to_string();
            let compressed = PathBuf::from(format!("{}.gz", path.display()));
            let gzip = paths.contains(&compressed);
            File { name, stored: if gzip { compressed } else { path.clone() }, gzip }
        })
        .collect()
}

fn list(directory: &Path, paths: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).expect("dashboard/dist can be read") {
        let path = entry.expect("dashboard/dist can be read").path();
        match path.is_dir() {
            true => list(&path, paths),
            false => {
                paths.insert(path);
            }
        }
    }
}

fn table(files: &[File]) -> String {
    let mut code = "static FILES: &[EmbeddedFile] = &[\n".to_owned();
    for File { name, stored, gzip } in files {
        let stored = stored.display().to_string();
        writeln!(
            code,
            "    EmbeddedFile {{ path: {name:?}, stored: include_bytes!({stored:?}), gzip: {gzip} }},"
        )
        .expect("a text takes everything");
    }
    code + "];\n"
}
