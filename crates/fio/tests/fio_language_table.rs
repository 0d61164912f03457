//! The table of fio's options is complete, consistent, and matches the documentation.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fio::{
    Input, OptionGroup, OptionSupport, Reading, ValueKind, document, every_engine, every_option,
    find_argument, find_option, read,
};

fn docs_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio-options.md")
}

#[test]
fn the_checked_in_table_is_up_to_date() {
    let made = document();
    if std::env::var_os("MANOMETER_UPDATE_SCHEMA").is_some() {
        std::fs::write(docs_file(), made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(docs_file()).unwrap();
    assert!(kept == made, "run with MANOMETER_UPDATE_SCHEMA=1 to write docs/fio-options.md anew");
}

#[test]
fn every_option_of_the_howto_is_in_the_table() {
    let names = include_str!("data/fio-howto-options.txt");
    let mut count = 0;
    for line in names.lines().filter(|line| !line.starts_with('#')) {
        let mut of_line = line.split(' ');
        let first = of_line.next().unwrap();
        let found = |name: &str| match name.strip_prefix("--") {
            Some(name) => find_argument(name),
            None => find_option(name).or_else(|| {
                every_option().find(|option| option.group == OptionGroup::Profile && option.name == name)
            }),
        };
        let option = found(first).unwrap_or_else(|| panic!("{first} is not in the table"));
        for other in of_line {
            assert_eq!(found(other), Some(option), "{other} and {first} are the same option in fio");
        }
        count += 1;
    }
    assert!(count > 330, "{count}");
}

#[test]
fn names_are_unique_and_notes_say_something() {
    let mut of_jobs = BTreeSet::new();
    let mut of_program = BTreeSet::new();
    for option in every_option() {
        let names =
            if matches!(option.group, OptionGroup::Program(_)) { &mut of_program } else { &mut of_jobs };
        for name in std::iter::once(&option.name).chain(option.aliases) {
            assert!(names.insert(*name), "{name} is there twice");
        }
        match option.support {
            OptionSupport::Same => {}
            OptionSupport::Differs(how) => assert!(how.len() > 10, "{}", option.name),
            OptionSupport::Absent { why, instead } => {
                assert!(why.len() > 10 && instead.len() > 5, "{}", option.name);
            }
            OptionSupport::Ours(what) => assert!(what.len() > 10, "{}", option.name),
        }
        assert!(
            option.harmless.is_empty() || matches!(option.support, OptionSupport::Absent { .. }),
            "{}",
            option.name
        );
        if let OptionGroup::Engine(engines) = option.group {
            let known = |engine: &&str| every_engine().any(|known| known.name == *engine);
            assert!(engines.iter().all(known), "{}: {engines:?}", option.name);
        }
        if let ValueKind::Integer(least, most) | ValueKind::Integers(least, most) = option.kind {
            assert!(least < most, "{}", option.name);
        }
    }
}

#[test]
fn engines_have_one_meaning_each_and_those_that_are_there_make_targets() {
    let mut names = BTreeSet::new();
    for engine in every_engine() {
        assert!(names.insert(engine.name), "{} is there twice", engine.name);
        let absent = matches!(engine.support, OptionSupport::Absent { .. });
        assert_eq!(engine.loads.is_none(), absent, "{}", engine.name);
    }
    assert!(["psync", "nfs", "net", "http", "rados"].iter().all(|name| names.contains(name)));
}

#[test]
fn what_the_table_promises_has_a_meaning_and_nothing_else_has() {
    let promised: BTreeSet<&str> = every_option()
        .filter(|option| option.is_of_jobs() && !matches!(option.support, OptionSupport::Absent { .. }))
        .map(|option| option.name)
        .collect();
    let meant: BTreeSet<&str> = fio::meaning::handled().iter().copied().collect();
    let without_meaning: Vec<_> = promised.difference(&meant).collect();
    let not_promised: Vec<_> = meant.difference(&promised).collect();
    assert!(without_meaning.is_empty(), "without a meaning: {without_meaning:?}");
    assert!(not_promised.is_empty(), "absent in the table: {not_promised:?}");
}

#[test]
fn every_absent_option_is_refused_with_its_reason() {
    for option in every_option().filter(|option| option.is_of_jobs()) {
        let OptionSupport::Absent { why, instead } = option.support else { continue };
        let text = format!("[a]\n{}=2\n", option.name);
        let reading = Reading {
            environment: &|_| None,
            include: &|_| Err(std::io::ErrorKind::NotFound.into()),
            page_bytes: 4096,
            memory_mib: 1024,
            cpus: 1,
            sections: &[],
            ignore_unsupported: false,
        };
        let faults = read(&[Input::File { name: "job", bytes: text.as_bytes() }], &reading).unwrap_err();
        let told = &faults.faults[0];
        assert_eq!((told.origin.line, told.hint.as_str()), (2, instead), "{faults}");
        assert!(told.text.contains(option.name) && told.text.contains(why), "{faults}");
    }
}
