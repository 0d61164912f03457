//! Pages of hosts, and what runs recorded about one.

use super::*;

fn known(names: &[&str]) -> BTreeMap<String, KnownHost> {
    let host =
        |name: &&str| KnownHost { name: (*name).to_owned(), occupied_by: None, waiting: 0, runs: Vec::new() };
    names.iter().map(|name| ((*name).to_owned(), host(name))).collect()
}

fn names(page: &HostPage) -> Vec<&str> {
    page.hosts.iter().map(|host| &*host.name).collect()
}

#[test]
fn pages_follow_each_other_and_the_last_has_no_next() {
    let hosts = known(&["a", THIS_HOST, "z"]);
    let first = page(&hosts, None, 2);
    assert_eq!(names(&first), ["a", THIS_HOST]);
    assert_eq!(first.next.as_deref(), Some("/api/v3/hosts?limit=2&after=this%20host"));
    let last = page(&hosts, Some(THIS_HOST.to_owned()), 2);
    assert_eq!((names(&last), &last.next), (vec!["z"], &None));
    let whole = page(&hosts, None, 3);
    assert_eq!((whole.hosts.len(), whole.next), (3, None));
    assert!(page(&hosts, Some("zz".to_owned()), 2).hosts.is_empty());
}

#[test]
fn names_are_encoded_in_paths_of_pages() {
    assert_eq!(in_query("2001:db8::1 & ü"), "2001%3Adb8%3A%3A1%20%26%20%C3%BC");
}
