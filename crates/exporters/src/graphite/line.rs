//! Paths and lines of Carbon's plaintext protocol (<https://graphite.readthedocs.io/en/latest/feeding-carbon.html>).

use std::fmt::Write;

use experiment::Target;
use jiff::Timestamp;
use report::host_key;

/// The path of what one host does in one cell: `<job>.<cell>.<host>-<target>`.
pub(super) fn prefix(job: &str, cell_key: &str, host: &str, target: &str) -> String {
    format!("{job}.{cell_key}.{}", host_key(host, target))
}

/// A target as paths name it: the directory, device, export or bucket of its URL, otherwise its name.
pub(super) fn target(target: &Target) -> &str {
    let place = target.url.split_once("://").map(|(_, rest)| rest.split(['?', '#']).next().unwrap_or(rest));
    place.map(|place| place.trim_end_matches('/')).filter(|place| !place.is_empty()).unwrap_or(&target.name)
}

/// Adds a line: `<path> <value> <Unix time>`.
pub(super) fn push(lines: &mut String, path: &str, value: f64, at: Timestamp) {
    writeln!(lines, "{path} {value:?} {}", at.as_second()).expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphite::test_vectors::vectors;

    #[test]
    fn every_vector_of_storperf() {
        let prefixes = vectors("metric_prefix");
        assert_eq!(prefixes.len(), 4);
        for vector in prefixes {
            let input = |name: &str, or: &str| vector["input"][name].as_str().unwrap_or(or).to_owned();
            let cell = report::cell_key(&input("workload", ""), &input("iodepth", "1"), "64k");
            let found =
                prefix(&input("id", "None"), &cell, &input("remote_host", "None"), &input("target", ""));
            assert_eq!(vector["expected"]["fullname"], found, "{vector}");
        }
        let lines = vectors("carbon_lines");
        assert_eq!(lines.len(), 2, "the other one is about a broken connection");
        let (input, expected) = (&lines[0]["input"], &lines[0]["expected"]["lines_contain"][0]);
        let path = format!("{}.key", input["prefix"].as_str().unwrap());
        let mut line = String::new();
        push(
            &mut line,
            &path,
            input["json"]["key"].as_f64().unwrap(),
            input["now"].as_str().unwrap().parse().unwrap(),
        );
        assert_eq!(*expected, line);
    }

    #[test]
    fn targets_have_a_short_name() {
        let named = |url: &str| {
            let given = Target::new("data", url, std::collections::BTreeMap::new());
            target(&given).to_owned()
        };
        assert_eq!(named("block:///dev/vdb"), "/dev/vdb");
        assert_eq!(named("file:///mnt/data/?direct=true"), "/mnt/data");
        assert_eq!(named("nfs://filer/export"), "filer/export");
        assert_eq!(named("s3://bucket?endpoint=http://10.0.0.1:9000"), "bucket");
        assert_eq!((named("sim:?latency=1ms"), named("file:///")), ("data".to_owned(), "data".to_owned()));
    }
}
