//! A complete request: every parameter with its value or default.

use experiment::FileSizes;

use crate::Operation;
use crate::parameter::{ParameterError, Parameters, flag};

/// The default directory.
const USUAL_TOP: &str = "/var/tmp/smf";
/// With fewer files than this per thread the first thread's end decides nothing.
const FEWEST_TO_CUT: u64 = 10;

/// What is asked for; sizes in KiB, as in smallfile.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// Directories that hold the tree, as given.
    pub top: Vec<String>,
    /// The hosts; `None`: this one.
    pub host_set: Option<Vec<String>>,
    /// Files of each thread.
    pub files: u32,
    /// Threads of each host.
    pub threads: u32,
    /// Size of a file, or the mean, in KiB.
    pub file_size_kib: u64,
    /// How sizes are distributed.
    pub sizes: FileSizes,
    /// Size of a read or write, in KiB; 0: the file's, at most 1 MiB.
    pub record_size_kib: u64,
    /// Files in a directory.
    pub files_per_dir: u32,
    /// Directories in a directory.
    pub dirs_per_dir: u32,
    /// A hash selects the directory.
    pub hash_into_dirs: bool,
    /// All threads share the directories.
    pub same_dir: bool,
    /// Each host works on the next one's files.
    pub permute_host_dirs: bool,
    /// Begins names.
    pub prefix: String,
    /// Ends names.
    pub suffix: String,
    /// Bytes of an extended attribute.
    pub xattr_size: u32,
    /// Extended attributes of a file.
    pub xattr_count: u32,
    /// Commit each file.
    pub fsync: bool,
    /// Pause before each file, in microseconds.
    pub pause_us: u64,
    /// Compare what is read.
    pub verify_read: bool,
    /// Threads finish their files after counting has ended.
    pub finish: bool,
    /// Counting ends with the first thread.
    pub stonewall: bool,
    /// Where the JSON output goes.
    pub output_json: Option<String>,
    /// The results file.
    pub results: Option<String>,
}

impl Request {
    /// The request of these parameters.
    ///
    /// # Errors
    /// A value does not fit, or values contradict each other.
    pub fn of(parameters: &Parameters) -> Result<Request, ParameterError> {
        let number = |name: &str, least: u64, usual: u64| within(parameters, name, least, usual);
        let flag = |name: &str, usual: bool| parameters.get(name).and_then(flag).unwrap_or(usual);
        let text = |name: &str| parameters.get(name).map(str::to_owned);
        let list = |name: &str| {
            let items = parameters.get(name)?.split([',', ' ']).filter(|item| !item.is_empty());
            Some(items.map(str::to_owned).collect::<Vec<_>>())
        };
        let files = number("files", 1, 200)?;
        let request = Request {
            operation: Operation::of(parameters.get("operation").unwrap_or("cleanup"))?,
            top: list("top").unwrap_or_else(|| vec![USUAL_TOP.to_owned()]),
            host_set: list("host-set"),
            files: files as u32,
            threads: number("threads", 1, 2)? as u32,
            file_size_kib: number("file-size", 0, 64)?,
            sizes: match parameters.get("file-size-distribution") {
                None | Some("fixed") => FileSizes::Fixed,
                Some("exponential") => FileSizes::Exponential,
                Some(other) => {
                    return Err(ParameterError::Value {
                        name: "file-size-distribution".to_owned(),
                        value: other.to_owned(),
                        wanted: "write exponential".to_owned(),
                    });
                }
            },
            record_size_kib: number("record-size", 0, 0)?,
            files_per_dir: number("files-per-dir", 1, 100)? as u32,
            dirs_per_dir: number("dirs-per-dir", 2, 10)? as u32,
            hash_into_dirs: flag("hash-into-dirs", false),
            same_dir: flag("same-dir", false),
            permute_host_dirs: flag("permute-host-dirs", false),
            prefix: text("prefix").unwrap_or_default(),
            suffix: text("suffix").unwrap_or_default(),
            xattr_size: number("xattr-size", 0, 0)? as u32,
            xattr_count: number("xattr-count", 0, 0)? as u32,
            fsync: flag("fsync", false),
            pause_us: number("pause", 0, 0)?,
            verify_read: flag("verify-read", true),
            finish: flag("finish", true),
            stonewall: flag("stonewall", true) && files >= FEWEST_TO_CUT,
            output_json: text("output-json"),
            results: text("results"),
        };
        if request.file_size_kib > 0 && request.record_size_kib > request.file_size_kib {
            let text =
                "--record-size is larger than --file-size; next: make it smaller, or 0 for whole files";
            return Err(ParameterError::Together(text.to_owned()));
        }
        if request.top.is_empty() || request.top.iter().any(|top| top.trim_matches('/').is_empty()) {
            let text = "--top names the root of the file system; next: name a directory for the files";
            return Err(ParameterError::Together(text.to_owned()));
        }
        if request.host_set.as_ref().is_some_and(Vec::is_empty) {
            return Err(ParameterError::Together(
                "--host-set names no host; next: name one, or leave it out".to_owned(),
            ));
        }
        Ok(request)
    }
}

fn within(parameters: &Parameters, name: &str, least: u64, usual: u64) -> Result<u64, ParameterError> {
    let Some(text) = parameters.get(name) else { return Ok(usual) };
    let number = text.parse::<u64>().ok().filter(|number| (least..=u64::from(u32::MAX - 1)).contains(number));
    number.ok_or_else(|| ParameterError::Value {
        name: name.to_owned(),
        value: text.to_owned(),
        wanted: format!("write a whole number from {least} to {}", u32::MAX - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split_arguments;

    fn request(line: &str) -> Result<Request, ParameterError> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::of(&split_arguments(&arguments)?)
    }

    #[test]
    fn the_readmes_command_lines_are_read() {
        let one = request("--operation create --threads 8 --file-size 1024 --files 2048 --top /mnt/gfs/smf")
            .unwrap();
        assert_eq!(
            (one.operation.name, one.threads, one.files, one.file_size_kib),
            ("create", 8, 2048, 1024)
        );
        assert_eq!((one.top.as_slice(), one.host_set), (&["/mnt/gfs/smf".to_owned()][..], None));
        let four =
            request("--operation create --top /mnt/gfs/smf --host-set host1,host2,host3,host4").unwrap();
        assert_eq!(four.host_set.unwrap().len(), 4);
        let few = request("--files 9 --operation stat").unwrap();
        assert!(!few.stonewall && request("--files 10 --operation stat").unwrap().stonewall);
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (line, part) in [
            ("create", "pairs of --name and value"),
            ("--files", "has no value"),
            ("--file 3", "no parameter --file"),
            ("--files x", "whole number"),
            ("--files 0", "from 1"),
            ("--finish maybe", "Y or N"),
            ("--operation shred", "shred"),
            ("--operation await-create", "not supported"),
            ("--response-times Y", "percentiles"),
            ("--record-size 8 --file-size 4", "larger than"),
            ("--top /", "root"),
        ] {
            let error = request(line).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn a_yaml_file_has_the_same_parameters() {
        let mut parameters = split_arguments(&["--threads".to_owned(), "5".to_owned()]).unwrap();
        parameters
            .add_yaml("a.yaml", "operation: create\nfiles: 12\nthreads: 9\nfsync: true\nstonewall: N\n")
            .unwrap();
        let read = Request::of(&parameters).unwrap();
        assert_eq!((read.operation.name, read.files, read.threads), ("create", 12, 5));
        assert!(read.fsync && !read.stonewall);
        let error = parameters.add_yaml("a.yaml", "- 3\n").unwrap_err().to_string();
        assert!(error.starts_with("a.yaml: "), "{error}");
    }
}
