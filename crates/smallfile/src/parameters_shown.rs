//! A request's parameters as smallfile shows them, in lines and in JSON.

use experiment::FileSizes;
use serde_json::{Value, json};

use crate::Request;

fn yes(flag: bool) -> &'static str {
    if flag { "Y" } else { "N" }
}

fn distribution(sizes: FileSizes) -> &'static str {
    match sizes {
        FileSizes::Fixed => "fixed",
        FileSizes::Exponential => "random exponential",
    }
}

/// The parameters of a request, under the names that smallfile gives them in JSON.
pub(crate) fn parameters_as_json(request: &Request) -> Value {
    let hosts = request.host_set.clone().unwrap_or_else(|| vec!["localhost".to_owned()]);
    json!({
        "host-set": hosts.join(","),
        "version": concat!("manometer ", env!("CARGO_PKG_VERSION")),
        "top": request.top.join(","),
        "operation": request.operation.name,
        "files-per-thread": request.files,
        "threads": request.threads,
        "file-size": request.file_size_kib,
        "file-size-distr": distribution(request.sizes),
        "files-per-dir": request.files_per_dir,
        "dirs-per-dir": request.dirs_per_dir,
        "record-size": request.record_size_kib,
        "share-dir": yes(request.same_dir),
        "fname-prefix": request.prefix,
        "fname-suffix": request.suffix,
        "hash-to-dir": yes(request.hash_into_dirs),
        "fsync-after-modify": yes(request.fsync),
        "pause-between-files": request.pause_us.to_string(),
        "finish-all-requests": yes(request.finish),
        "stonewall": yes(request.stonewall),
        "verify-read": yes(request.verify_read),
        "xattr-size": request.xattr_size.to_string(),
        "xattr-count": request.xattr_count.to_string(),
        "permute-host-dirs": yes(request.permute_host_dirs),
        "network-sync-dir": null,
    })
}

/// The lines that state the parameters before a run.
pub fn prelude(request: &Request) -> String {
    let hosts = request.host_set.as_ref().map_or("None".to_owned(), |hosts| hosts.join(","));
    let lines = [
        ("version", concat!("manometer ", env!("CARGO_PKG_VERSION")).to_owned()),
        ("hosts in test", hosts),
        ("top test directory(s)", request.top.join(",")),
        ("operation", request.operation.name.to_owned()),
        ("files/thread", request.files.to_string()),
        ("threads", request.threads.to_string()),
        ("record size (KB, 0 = maximum)", request.record_size_kib.to_string()),
        ("file size (KB)", request.file_size_kib.to_string()),
        ("file size distribution", distribution(request.sizes).to_owned()),
        ("files per dir", request.files_per_dir.to_string()),
        ("dirs per dir", request.dirs_per_dir.to_string()),
        ("threads share directories?", yes(request.same_dir).to_owned()),
        ("filename prefix", request.prefix.clone()),
        ("filename suffix", request.suffix.clone()),
        ("hash file number into dir.?", yes(request.hash_into_dirs).to_owned()),
        ("fsync after modify?", yes(request.fsync).to_owned()),
        ("pause between files (microsec)", request.pause_us.to_string()),
        ("finish all requests?", yes(request.finish).to_owned()),
        ("stonewall?", yes(request.stonewall).to_owned()),
        ("verify read?", yes(request.verify_read).to_owned()),
        ("ext.attr.size", request.xattr_size.to_string()),
        ("ext.attr.count", request.xattr_count.to_string()),
    ];
    lines.into_iter().map(|(name, value)| format!("{name:>40} : {value}\n")).collect()
}
