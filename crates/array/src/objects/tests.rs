//! The rules between objects.

use super::*;
use crate::files::ExportVersion;

fn empty() -> (Objects, Arc<Files>) {
    let files = Files::new(crate::Capacity::new(1 << 20));
    (Objects::new(Arc::clone(&files)), files)
}

#[test]
fn a_file_system_is_exported_until_destroyed_and_gone_when_eradicated() {
    let (mut objects, files) = empty();
    let new = NewFileSystem {
        provisioned: Some(1000),
        change: FileSystemChange { v3_enabled: Some(true), ..FileSystemChange::default() },
    };
    objects.create_file_system("fs", &new).unwrap();
    let exported = || files.exported("fs", ExportVersion::V3).is_some();
    assert!(exported());
    let again = objects.create_file_system("fs", &new).unwrap_err();
    assert!(again.message.contains("already exists"), "{again}");

    assert!(objects.eradicate_file_system("fs").unwrap_err().message.contains("destroyed"));
    let destroy = FileSystemChange { destroyed: Some(true), ..FileSystemChange::default() };
    objects.change_file_system("fs", &destroy).unwrap();
    assert!(!exported());
    // A destroyed one still occupies its name, cannot be changed, and can be recovered.
    assert!(objects.create_file_system("fs", &new).is_err());
    let change = FileSystemChange { nfs_rules: Some("*(ro)".into()), ..FileSystemChange::default() };
    assert!(objects.change_file_system("fs", &change).is_err());
    let recover = FileSystemChange { destroyed: Some(false), ..FileSystemChange::default() };
    objects.change_file_system("fs", &recover).unwrap();
    assert!(exported());
    objects.change_file_system("fs", &destroy).unwrap();
    objects.eradicate_file_system("fs").unwrap();
    assert!(files.usage("fs").is_err());
    assert!(objects.eradicate_file_system("fs").unwrap_err().message.contains("does not exist"));
}

#[test]
fn objects_are_removed_only_in_the_right_order() {
    let (mut objects, _) = empty();
    objects.create_account("a").unwrap();
    assert!(objects.create_user("u", true).is_err());
    objects.create_user("a/u", true).unwrap();
    let key = objects.create_key("a/u", None).unwrap();
    objects.create_bucket("bucket", "a").unwrap();
    assert!(objects.create_bucket("bucket", "a").unwrap_err().message.contains("already exists"));

    assert!(objects.delete_account("a").unwrap_err().message.contains("users"));
    assert!(objects.delete_user("a/u").unwrap_err().message.contains("access keys"));
    objects.delete_key(&key).unwrap();
    objects.delete_user("a/u").unwrap();
    assert!(objects.delete_account("a").unwrap_err().message.contains("buckets"));
    assert!(objects.eradicate_bucket("bucket").is_err());
    objects.change_bucket("bucket", Some(true), None).unwrap();
    assert!(objects.live_bucket("bucket").is_none());
    assert!(objects.delete_account("a").is_err());
    objects.eradicate_bucket("bucket").unwrap();
    objects.delete_account("a").unwrap();
}

#[test]
fn a_user_without_a_policy_may_do_nothing() {
    let (mut objects, _) = empty();
    objects.create_account("a").unwrap();
    objects.create_user("a/u", false).unwrap();
    let key = objects.create_key("a/u", None).unwrap();
    assert_eq!(objects.allowed(&key, &["pure:policy/object-read"]), None);
    objects.add_policy("a/u", "pure:policy/object-read").unwrap();
    assert_eq!(objects.allowed(&key, &["pure:policy/object-read"]), Some("a"));
    assert_eq!(objects.allowed(&key, &["pure:policy/object-write"]), None);
    objects.add_policy("a/u", FULL_ACCESS).unwrap();
    assert_eq!(objects.allowed(&key, &["pure:policy/object-write"]), Some("a"));
    assert!(objects.add_policy("a/u", FULL_ACCESS).is_err());
    assert!(objects.add_policy("a/u", "pure:policy/none").is_err());
    objects.remove_policy("a/u", FULL_ACCESS).unwrap();
    assert!(objects.remove_policy("a/u", FULL_ACCESS).is_err());
}

#[test]
fn secrets_are_not_shown() {
    let (mut objects, _) = empty();
    objects.create_account("a").unwrap();
    objects.create_user("a/u", true).unwrap();
    let key = objects.create_key("a/u", Some(("KEY", Secret::new("hush")))).unwrap();
    assert!(!format!("{:?}", objects.keys[&key]).contains("hush"));
}

#[test]
fn export_rules_decide_who_may_mount() {
    let (mut objects, files) = empty();
    let with = |rules: &str| NewFileSystem {
        provisioned: None,
        change: FileSystemChange {
            v3_enabled: Some(true),
            nfs_rules: Some(rules.into()),
            ..FileSystemChange::default()
        },
    };
    objects.create_file_system("fs", &with("192.0.2.0/24(ro)")).unwrap();
    let (_, options) = files.exported("fs", ExportVersion::V3).unwrap();
    assert!(
        options.read_only && options.admits([192, 0, 2, 7].into()) && !options.admits([127, 0, 0, 1].into())
    );
    let refused = objects.create_file_system("other", &with("@netgroup(rw)")).unwrap_err();
    assert!(refused.message.contains("@netgroup"), "{refused}");
    assert!(files.usage("other").is_err());
}
