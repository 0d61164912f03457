//! Experiments with keys of objects and methods of object classes, against a scripted librados whose objects live as long as
//! the program.

#![allow(clippy::unwrap_used)] // a test may fail loudly

#[path = "../../drivers/tests/rados_library/mod.rs"]
mod rados_library;
mod run_support;
mod support;

use run_support::Lab;
use serde_json::Value;
use support::{Ended, run};

const URL: &str = "rados://bench?conf=/lab/ceph.conf&omap_keys=5&omap_value_size=33&exec_class=hello\
                   &exec_method=say_hello&exec_input=hex:776f726c64";

fn measured(lab: &Lab, url: &str, load: &str) -> Ended {
    let library = rados_library::compiled();
    let text = format!(
        "
targets: {{pool: '{url}'}}
workloads: {{load: {{{load}, objects: 20, object_size: 1KiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
"
    );
    let file = lab.experiment("e.yaml", &text);
    run(lab.command().env("LD_LIBRARY_PATH", library.path()).arg(file).args(["--output", "json"]))
}

/// Keys are there before the load begins, and stay right while objects and keys are written.
#[test]
fn keys_and_methods_are_loaded_and_verified() {
    let lab = Lab::new();
    let mixed = "ops: {omap-set: 25%, omap-get: 40%, exec: 15%, put: 10%, get: 10%}, queue_depth: 4, jobs: 2, verify: true";
    for (load, passes) in [(mixed, 1), ("ops: omap-get, queue_depth: 4, verify: true", 1), ("ops: exec", 0)] {
        let ended = measured(&lab, URL, load);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let cell = &json["cells"][0]["result"];
        assert_eq!(cell["total"]["failed"], 0, "{cell:#}");
        let of_keys = |stage: &&Value| stage["note"] == "omap-set on each";
        let set: Vec<&Value> = cell["stages"].as_array().unwrap().iter().filter(of_keys).collect();
        assert_eq!(set.len(), passes, "{cell:#}");
        assert!(set.iter().all(|stage| stage["name"] == "prepare" && stage["ok"] == 20), "{set:#?}");
        let facts = json.to_string();
        assert_eq!(facts.contains("5 keys of 33 bytes in each operation"), passes > 0, "{facts}");
        assert_eq!(facts.contains("hello.say_hello, 5 bytes of input"), load.contains("exec"), "{facts}");
    }
    lab.assert_clean();
}

#[test]
fn what_a_cluster_lacks_is_named_before_anything_is_created() {
    let lab = Lab::new();
    for (url, load, part) in [
        (
            URL.replace("say_hello", "say_bye"),
            "ops: exec",
            "no object class hello with a method say_bye; next:",
        ),
        (URL.replace("class=hello", "class=secret"), "ops: exec", "osd_class_load_list must name the class"),
        ("rados://bench?conf=/c".to_owned(), "ops: exec", "exec needs the option exec_class of the target"),
        (URL.replace("hex:776f", "hex:x"), "ops: exec", "two hexadecimal digits for each byte"),
        (URL.to_owned(), "ops: {omap-get: 50%, put: 50%}, works_on: own", "omap-get finds what omap-set set"),
    ] {
        let ended = measured(&lab, &url, load);
        assert!(ended.code != Some(0) && ended.stderr.contains(part), "{ended:#?}");
        let lines = ended.stderr.lines().filter(|line| line.contains(part));
        assert_eq!(lines.count(), 1, "{ended:#?}");
    }
    lab.assert_clean();
}
