//! What requests may and may not use.

use std::os::unix::fs::symlink;

use super::*;

const LOAD: &str = "workloads: {w: {ops: read}}\n";

fn faults(text: &str, policy: &RequestPolicy) -> Vec<(usize, usize, String)> {
    match plan(text, policy) {
        Ok(_) => Vec::new(),
        Err(found) => found.faults.into_iter().map(|fault| (fault.line, fault.column, fault.text)).collect(),
    }
}

#[test]
fn nothing_of_this_host_is_used_unless_it_is_allowed() {
    let none = RequestPolicy::default();
    let sim = "targets: {t: 'sim:?latency=1ms'}\n";
    for (text, line, said) in [
        (format!("{LOAD}targets:\n  t: file:///etc\n"), 3, "not among the paths"),
        (format!("{LOAD}targets:\n  t: block:///dev/vda\n"), 3, "not among the paths"),
        (format!("{LOAD}{sim}results: /tmp/x.sqlite\n"), 3, "names a file"),
        (format!("{LOAD}{sim}fleet:\n  local: 2\n"), 4, "not allowed"),
        (format!("{LOAD}{sim}fleet:\n  command: {{hosts: [a], command: [sh, -c, x]}}\n"), 4, "any program"),
        (format!("{LOAD}{sim}fleet:\n  hosts: [a]\n  ssh_options: ['-oProxyCommand=x']\n"), 5, "any program"),
        (format!("{LOAD}{sim}observe:\n  local: 1\n"), 4, "not allowed"),
        (format!("{LOAD}{sim}observe:\n  command: {{hosts: [a], command: [sh, -c, x]}}\n"), 4, "any program"),
        (
            format!("{LOAD}{sim}observe:\n  hosts: [a]\n  ssh_options: ['-oProxyCommand=x']\n"),
            5,
            "any program",
        ),
        (
            format!("{LOAD}{sim}scale:\n  server: {{values: [1, 2], set: 'touch {{value}}'}}\n"),
            4,
            "any program",
        ),
        (format!("{LOAD}{sim}fleet:\n  hosts: '@/etc/passwd'\n"), 4, "reads no files"),
        (format!("{LOAD}targets:\n  t: 's3://b?endpoint=http://h&tls_ca=/etc/passwd'\n"), 3, "tls_ca reads"),
        (format!("{LOAD}targets: {{t: 'null:'}}\nname: ${{env:PATH}}\n"), 3, "PATH"),
        (
            format!("{LOAD}targets:\n  t:\n    url: 'null:'\n    accounting: {{command: date}}\n"),
            5,
            "any program",
        ),
        (
            format!("{LOAD}targets:\n  t:\n    url: 'null:'\n    accounting: {{gluster: gv}}\n"),
            5,
            "any program",
        ),
        (
            format!(
                "{LOAD}targets:\n  t:\n    url: 'null:'\n    accounting: {{gluster: {{volume: gv, via: {{host: a, ssh_options: -v}}}}}}\n"
            ),
            5,
            "any program",
        ),
        (
            format!(
                "{LOAD}targets:\n  t:\n    url: 'iscsi://s/{{provisioned}}'\n    provision: {{tgt: {{directory: /srv, size: 1GiB, via: server}}}}\n"
            ),
            5,
            "provision can start any program",
        ),
    ] {
        let found = faults(&text, &none);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].0 == line && found[0].2.contains(said), "{text}: {found:?}");
    }
    assert_eq!(faults(&format!("{LOAD}{sim}"), &none), []);
    let by_ssh = "targets: {t: {url: 'null:', accounting: {gluster: {volume: gv, via: server}}}}\n";
    assert_eq!(faults(&format!("{LOAD}{by_ssh}"), &none), []);
}

#[test]
fn paths_are_compared_without_links_and_dots() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (inside, outside) = (root.join("in"), root.join("out"));
    [&inside, &outside].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
    symlink(&outside, inside.join("link")).unwrap();
    symlink(root.join("nowhere"), inside.join("dangling")).unwrap();
    let allowed = [inside.clone()];
    for (path, expected) in [
        ("in", true),
        ("in/new/deeper", true),
        ("out", false),
        ("in/../out", false),
        ("in/link", false),
        ("in/link/x", false),
        ("in/dangling", false),
        ("in/dangling/x", false),
        ("in/new/../../out", false),
        ("innermost", false),
    ] {
        assert_eq!(AllowedPaths::of(&allowed).contain(&root.join(path)), expected, "{path}");
    }
    let policy = RequestPolicy { paths: allowed.to_vec(), ..RequestPolicy::default() };
    let text = |url: String| format!("{LOAD}targets: {{t: 'file://{url}'}}\n");
    assert_eq!(faults(&text(inside.display().to_string()), &policy), []);
    let through_name = text(format!("{}?directory=link", inside.display()));
    assert!(faults(&through_name, &policy)[0].2.contains("not among"), "the link leads out");
    let named = |name: &str| {
        let target = format!("targets: {{t: 'file://{}'}}\n", inside.display());
        format!(
            "{target}workloads:\n  w: {{ops: read, file_size: 4KiB, files: {{names: ['{name}']}}, stages: {{prepare: keep}}}}\n"
        )
    };
    assert_eq!(faults(&named("a.dat"), &policy), []);
    for name in ["/etc/passwd", "../out/a.dat", "link/a.dat"] {
        let found = faults(&named(name), &policy);
        assert!(found.len() == 1 && found[0].0 == 3 && found[0].2.contains("not among"), "{name}: {found:?}");
    }
}

#[test]
fn a_job_uses_only_the_files_that_it_names() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let policy = RequestPolicy { paths: vec![root.join("in")], ..RequestPolicy::default() };
    std::fs::create_dir(root.join("in")).unwrap();
    let text = |url: &str, job: &str| {
        format!("targets: {{t: '{url}'}}\nworkloads:\n  w: {{ops: read, job: {{{job}}}}}\n")
    };
    let root = root.display();
    for (job, expected) in [
        (format!("files: {{names: {{directories: [{root}/in]}}, bytes: 1MiB}}"), ""),
        (format!("files: {{names: {{directories: [{root}]}}, bytes: 1MiB}}"), "not among"),
        (format!("files: {{names: {{listed: [{root}/in/a, {root}/b]}}, bytes: 1MiB}}"), "not among"),
        (
            format!("files: {{names: {{directories: [{root}/in], format: '../$filenum'}}, bytes: 1MiB}}"),
            "not among",
        ),
        (
            format!("files: {{names: {{directories: [{root}/in]}}, bytes: 1MiB}}, logs: {{bandwidth: x}}"),
            "no logs of single",
        ),
        (
            format!("files: {{names: {{directories: [{root}/in]}}, bytes: 1MiB}}, replay: {{files: [x]}}"),
            "replays no logs",
        ),
    ] {
        let found = faults(&text("file:///tmp", &job), &policy);
        match expected {
            "" => assert_eq!(found, [], "{job}"),
            said => assert!(found.len() == 1 && found[0].2.contains(said), "{job}: {found:?}"),
        }
    }
    let found = faults(&text("block:///dev/vda", "ending: {runtime_s: 1}"), &policy);
    assert!(
        found.len() == 1 && found[0].2.contains("not among"),
        "a device is used whatever names say: {found:?}"
    );
}

#[test]
fn the_queue_knows_the_hosts_of_a_plan() {
    let policy = RequestPolicy { commands: true, local: true, ..RequestPolicy::default() };
    for (fleet, expected) in [
        ("", &[THIS_HOST][..]),
        ("fleet: {local: 2}", &[THIS_HOST]),
        ("fleet: {hosts: [me@B:22, a]}", &["a", "b"]),
        ("fleet: {hosts: [127.0.0.1, localhost]}", &[THIS_HOST]),
    ] {
        let text = format!("{LOAD}targets: {{t: 'null:'}}\n{fleet}\n");
        assert_eq!(hosts(&plan(&text, &policy).unwrap()), expected, "{fleet}");
    }
}

#[test]
fn an_experiment_with_too_many_cells_is_refused_at_its_matrix() {
    let text = "targets: {t: 'sim:?latency=1ms'}\nworkloads: {w: {ops: read}}\nmatrix: {queue_depth: [1, 2, 4, 8]}\n";
    let policy = |max_cells| RequestPolicy { max_cells, ..RequestPolicy::default() };
    assert_eq!(plan(text, &policy(4)).unwrap().cells.len(), 4);
    let refused = plan(text, &policy(3)).unwrap_err();
    let fault = &refused.faults[0];
    assert_eq!((refused.faults.len(), fault.line), (1, 3));
    assert_eq!(fault.text, "the matrix has 4 cells, more than the 3 that this service accepts");
    assert!(fault.hint.contains("--max-cells"), "{}", fault.hint);
}
