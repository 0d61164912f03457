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
    let first = host_page(&hosts, None, 2).unwrap();
    assert_eq!(names(&first), ["a", THIS_HOST]);
    assert_eq!(first.next.as_deref(), Some("/api/v3/hosts?limit=2&after=this%20host"));
    let last = host_page(&hosts, Some(THIS_HOST), 2).unwrap();
    assert_eq!((names(&last), &last.next), (vec!["z"], &None));
    let whole = host_page(&hosts, None, 3).unwrap();
    assert_eq!((whole.hosts.len(), whole.next), (3, None));
    assert!(host_page(&hosts, Some("zz"), 2).unwrap().hosts.is_empty());
}
