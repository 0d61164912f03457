//! Embeds the files of the dashboard: those in dashboard/dist with the feature `dashboard`, else one short page.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the crate's directory"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the output directory"));
    let code = match env::var_os("CARGO_FEATURE_DASHBOARD") {
        Some(_) => all_of(&here.join("../../dashboard/dist")),
        None => {
            let page = here.join("src/api/without_dashboard.html");
            println!("cargo:rerun-if-changed={}", page.display());
            table(&[("index.html".to_owned(), page, None)])
        }
    };
    fs::write(out.join("dashboard.rs"), code).expect("the output directory is writable");
}

/// Every file below a directory, each with its compressed form.
fn all_of(dist: &Path) -> String {
    println!("cargo:rerun-if-changed={}", dist.display());
    assert!(
        dist.join("index.html").is_file(),
        "the feature `dashboard` needs {}; next: make dashboard",
        dist.display()
    );
    let mut paths = BTreeSet::new();
    list(dist, &mut paths);
    let files: Vec<_> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end != "gz"))
        .map(|path| {
            let name = path.strip_prefix(dist).expect("it is below the directory").display().to_string();
            let compressed = PathBuf::from(format!("{}.gz", path.display()));
            (name, path.clone(), paths.contains(&compressed).then_some(compressed))
        })
        .collect();
    table(&files)
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

fn table(files: &[(String, PathBuf, Option<PathBuf>)]) -> String {
    let mut code = "static FILES: &[EmbeddedFile] = &[\n".to_owned();
    let bytes = |path: &Path| format!("include_bytes!({:?})", path.display().to_string());
    for (name, path, compressed) in files {
        let content = bytes(path);
        let gzip =
            compressed.as_deref().map_or_else(|| "None".to_owned(), |path| format!("Some({})", bytes(path)));
        writeln!(code, "    EmbeddedFile {{ path: {name:?}, content: {content}, gzip: {gzip} }},")
            .expect("a text takes everything");
    }
    code + "];\n"
}
