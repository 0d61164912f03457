//! Trees of directories that files with numbers are spread over.

use super::names::{OPS, load, remove};
use super::*;

#[test]
fn names_in_a_tree_are_in_the_directories_of_their_numbers() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = workload(&OPS);
    for (layout, leaves) in [("hashed", 16), ("own", 16), ("shared", 1)] {
        let more = if layout == "shared" { None } else { Some(("directories", "4")) };
        let given: Vec<_> = [("depth", "2"), ("layout", layout)].into_iter().chain(more).collect();
        let opened = open(&target(&url, &given), &workload, &options(&run)).unwrap();
        let mixed = load(&opened, &workload);
        let place = opened.directory().unwrap().to_owned();
        let mut used = std::collections::BTreeSet::new();
        for (object, _) in mixed.data_set.sizes() {
            let path = opened.path_of(object).unwrap();
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
            if drivers::numbers::is_symlink(object) {
                let text = std::fs::read_link(&path).unwrap();
                assert!(path.parent().unwrap().join(text).parent().unwrap().is_dir());
            }
            used.insert(path.parent().unwrap().to_owned());
        }
        // The 8 lanes of layout own created everything.
        assert_eq!(used.len(), if layout == "own" { 8 } else { leaves });
        let mut items = 0;
        assert!(opened.items(&mut |_, _| items += 1).unwrap());
        assert_eq!(items, mixed.data_set.objects() + 8);
        opened.cache(CacheControl::Invalidate);
        opened.remove_all().unwrap();
        assert!(!place.exists());
    }
    assert!(run.remaining().is_empty());
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    for (given, words) in [
        (&[("directories", "4")][..], "directories: there are no levels"),
        (&[("layout", "own")], "layout: there are no levels"),
        (&[("depth", "1"), ("directories", "4"), ("layout", "shared")], "one per level"),
        (&[("depth", "3"), ("directories", "256")], "use fewer"),
    ] {
        let refused = open(&target(&url, given), &workload(&OPS), &options(&run)).err().unwrap().to_string();
        assert!(refused.contains(words) && !refused.contains('\n'), "{refused}");
    }
}

/// An export with a tree of 2 levels of 4 directories.
fn tree_on(array: &Provisioned, given: &[(&str, &str)]) -> Target {
    let mut target = array.nfs();
    let tree = [("depth", "2"), ("directories", "4")];
    target.options.extend(tree.iter().chain(given).map(|(name, value)| ((*name).into(), (*value).into())));
    target
}

#[test]
fn a_tree_on_an_export_holds_what_the_load_left() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = workload(&OPS);
    for layout in ["hashed", "own"] {
        let target = tree_on(&array, &[("layout", layout)]);
        let opened = open(&target, &workload, &options(&run)).unwrap();
        let mixed = load(&opened, &workload);
        let mut items = 0;
        assert!(opened.items(&mut |_, _| items += 1).unwrap());
        assert_eq!(items, mixed.data_set.objects() + 8);
        assert!(opened.first_bytes(7, 10).is_some_and(|bytes| bytes.len() == 10));
        // Directories are looked up once a worker, like files.
        let lookups = |kind| {
            let stats = mixed.total.op(kind).unwrap();
            let calls = stats.procedures.iter().find(|calls| calls.procedure == metrics::CallKind::Lookup);
            (calls.map_or(0, |calls| calls.calls), stats.ok)
        };
        for kind in [OpKind::Create, OpKind::Rename, OpKind::Mkdir, OpKind::List] {
            assert!(lookups(kind).0 <= 2 * 20, "{kind}: {:?}", lookups(kind));
        }
        remove(&opened, &workload, &mixed);
        opened.remove_all().unwrap();
    }
    assert!(run.remaining().is_empty());
}

#[test]
fn a_walk_through_a_tree_looks_up_each_level() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = workload(&OPS);
    let target = tree_on(&array, &[("lookup", "each_component")]);
    let opened = open(&target, &workload, &options(&run)).unwrap();
    let mixed = load(&opened, &workload);
    for (kind, lookups) in [
        (OpKind::Create, 3),
        (OpKind::Mkdir, 3),
        (OpKind::List, 3),
        (OpKind::Readdir, 3),
        (OpKind::WriteFile, 3),
        (OpKind::Stat, 4),
        (OpKind::Append, 4),
        (OpKind::Readlink, 4),
        (OpKind::Link, 7),
    ] {
        let stats = mixed.total.op(kind).unwrap();
        let lookup = stats.procedures.iter().find(|stats| stats.procedure == metrics::CallKind::Lookup);
        assert_eq!(lookup.unwrap().calls, lookups * stats.ok, "{kind}");
    }
    // From one directory to another, except for one in 16 by chance.
    let renamed = mixed.total.op(OpKind::Rename).unwrap();
    let lookup = renamed.procedures.iter().find(|calls| calls.procedure == metrics::CallKind::Lookup);
    let (lookups, most) = (lookup.unwrap().calls, 6 * renamed.ok);
    assert!(lookups % 3 == 0 && lookups < most && lookups > most * 9 / 10, "{lookups} of {most}");
    opened.remove_all().unwrap();
}

#[test]
fn a_kept_export_needs_the_same_tree() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = workload(&[(OpKind::Stat, 1.0)]);
    let opened = |given: &[(&str, &str)]| {
        let mut target = array.nfs();
        target.options.insert("directory".into(), "kept".into());
        target.options.extend(given.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        open(&target, &workload, &options(&run)).unwrap()
    };
    let tree = [("depth", "2"), ("directories", "4")];
    opened(&tree).prepare().unwrap();
    opened(&tree).prepare().unwrap();
    for other in [
        &[][..],
        &[("depth", "1"), ("directories", "4")],
        &[("depth", "2"), ("directories", "3")],
        &[("depth", "2"), ("directories", "5")],
        &[("depth", "3"), ("directories", "4")],
    ] {
        let refused = opened(other).prepare().err().unwrap().to_string();
        assert!(refused.contains("made with another tree") && !refused.contains('\n'), "{refused}");
    }
    assert!(run.remaining().is_empty());
}
