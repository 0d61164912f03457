//! Everything is created and removed by tools that only pretend, and that record how they were called.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use experiment::{Plan, Settings, SourceText};
use fleet::launch::{Say, SshLogin};
use provision::{
    ApiSecret, BucketAccess, CleanupOptions, Helper, Journal, PlaceError, RecordedPlace, Run, RunId, cleanup,
};
use provisioners::{ProvisionedItems, ToolAccess, look, remove_left};

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;
const RUN: &str = "abcdefgh";
const NAME: &str = "manometer-abcdefgh-1";

/// A server that consists of a directory.
struct Server {
    directory: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        let server = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["journal", "a", "b", "bad"] {
            fs::create_dir(server.path(directory)).unwrap();
        }
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Words that run a command on the server, and record it as it is in our argument list.
    fn via(&self) -> String {
        let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes");
        let directory = self.directory.path().display();
        let script = format!(
            "FAKE={directory} PATH={}:/usr/bin:/bin; export FAKE PATH; echo \"$@\" >> $FAKE/argv; exec \"$@\"",
            fakes.display()
        );
        format!("{{command: [sh, -c, '{script}', sh]}}")
    }

    fn plan(&self, url: &str, provision: &str) -> Plan {
        let load = if url.starts_with("s3:") { "ops: get" } else { "ops: read, file_size: 1MiB" };
        let text = format!(
            "targets: {{t: {{url: '{url}', provision: {provision}}}}}\nworkloads: {{w: {{{load}}}}}\n"
        )
        .replace("$DIR", &self.directory.path().display().to_string())
        .replace("$VIA", &self.via());
        let source = SourceText { file: "experiment.yaml", text: &text };
        experiment::parse(&source, &Settings::of(targets::kinds()))
            .unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn volume(&self, brick: &str, more: &str) -> Plan {
        let bricks = format!("['h1:$DIR/{brick}', 'h2:$DIR/b/']");
        let options = "options: --glusterd-sock=x, via: $VIA";
        self.plan(
            "gluster://h1/{provisioned}",
            &format!("{{gluster: {{bricks: {bricks}, {more} {options}}}}}"),
        )
    }

    fn unit(&self, more: &str) -> Plan {
        let provision =
            format!("{{tgt: {{directory: $DIR/a, size: 8MiB, {more} options: [-C, 7], via: $VIA}}}}");
        self.plan("iscsi://127.0.0.1/{provisioned}", &provision)
    }

    fn pool(&self, more: &str) -> Plan {
        let provision = format!("{{ceph: {{{more} options: --conf=x, via: $VIA}}}}");
        self.plan("rados://{provisioned}?conf=/etc/ceph/ceph.conf", &provision)
    }

    fn bucket(&self) -> Plan {
        let provision = "{radosgw: {placement: nvme, options: --conf=x, via: $VIA}}";
        self.plan("s3://{provisioned}?endpoint=http://127.0.0.1:1", provision)
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.path("journal")).unwrap()
    }

    fn run(&self) -> Run {
        self.journal().begin(&RUN.parse::<RunId>().unwrap()).unwrap()
    }

    /// What is in the directories of the server.
    fn left(&self) -> Vec<String> {
        let names =
            ["a", "b", "bad"].into_iter().flat_map(|directory| fs::read_dir(self.path(directory)).unwrap());
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn silent() -> Say {
    Arc::new(|_: &str| {})
}

fn create(plan: &Plan, run: &Run) -> Result<ProvisionedItems, provisioners::ProvisionerError> {
    ProvisionedItems::create(plan, run, &SshLogin::default(), NEVER, &silent())
}

fn refusal(plan: &Plan, run: &Run) -> String {
    let text = create(plan, run).err().expect("it is refused").to_string();
    assert!(!text.contains('\n') && text.contains("; next: "), "{text}");
    text
}

#[test]
fn a_volume_is_created_and_removed_with_its_bricks() {
    let server = Server::new();
    let plan = server.volume("a", "replica: 2, force: true, settings: {performance.io-cache: 'off'},");
    let run = server.run();
    let cell = plan.with_provisioned(&plan.cells[0], &run.id().object_name());
    assert_eq!(cell.target.url, format!("gluster://h1/{NAME}"));
    let mut made = create(&plan, &run).unwrap();
    let directory = server.directory.path().display().to_string();
    let expected = format!(
        "gluster --mode=script --glusterd-sock=x volume create {NAME} replica 2 h1:{directory}/a/{NAME} h2:{directory}/b/{NAME} force"
    );
    let calls = server.read("calls");
    assert!(calls.lines().any(|line| line == expected), "{calls}");
    assert!(calls.contains(&format!("volume set {NAME} performance.io-cache off")), "{calls}");
    assert_eq!(server.read("volumes"), format!("{NAME}\n"));
    assert_eq!(run.remaining(), [format!("Gluster volume {NAME} of 2 bricks")]);
    fs::write(server.path("theirs"), "").unwrap();
    fs::write(server.path("a").join("theirs"), "").unwrap();
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!((server.read("volumes"), server.left()), (String::new(), vec!["theirs".to_owned()]));
    assert_eq!(run.remaining(), Vec::<String>::new());
}

#[test]
fn a_dry_run_creates_nothing_and_sees_what_is_in_the_way() {
    let server = Server::new();
    let plan = server.volume("a", "");
    let access = ToolAccess { login: SshLogin::default(), stop: NEVER };
    let seen = look(&plan, "manometer-abcdefgh", &access).unwrap();
    assert_eq!(seen, [format!("Gluster volume {NAME} of 2 bricks")]);
    assert!(server.left().is_empty() && !server.read("calls").contains("create"));
    fs::create_dir(server.path("b").join(NAME)).unwrap();
    let text = look(&plan, "manometer-abcdefgh", &access).unwrap_err().to_string();
    assert!(text.contains(&format!("/b/{NAME} on h2 exists already")), "{text}");
}

#[test]
fn a_name_that_exists_is_left_alone() {
    let server = Server::new();
    let run = server.run();
    fs::write(server.path("volumes"), format!("{NAME}\n")).unwrap();
    let text = refusal(&server.volume("a", ""), &run);
    assert!(text.contains(&format!("Gluster volume {NAME} exists already")), "{text}");
    assert_eq!(server.read("volumes"), format!("{NAME}\n"));
    fs::write(server.path("a").join(format!("{NAME}.img")), "theirs").unwrap();
    let text = refusal(&server.unit(""), &run);
    assert!(text.contains(&format!("{NAME}.img exists already")), "{text}");
    fs::write(server.path("account"), format!("{NAME}\n")).unwrap();
    let text = refusal(&server.unit("chap: true,"), &run);
    assert!(text.contains(&format!("the account {NAME} of tgtd exists already")), "{text}");
    fs::write(server.path("target"), format!("9: iqn.2026-01.manometer:{NAME}\n")).unwrap();
    let text = refusal(&server.unit(""), &run);
    assert!(text.contains(&format!("iSCSI target iqn.2026-01.manometer:{NAME} exists already")), "{text}");
    assert_eq!(run.remaining(), Vec::<String>::new());
    let calls = server.read("calls");
    assert!(!calls.contains("create") && !calls.contains("delete") && !calls.contains("new"), "{calls}");
    assert_eq!(fs::read_to_string(server.path("a").join(format!("{NAME}.img"))).unwrap(), "theirs");
}

#[test]
fn what_fails_halfway_is_said_in_one_line_and_removed() {
    let server = Server::new();
    let run = server.run();
    for (plan, said) in [
        (server.volume("bad", ""), "Failed to create brick directory"),
        (server.volume("a", "settings: {no.such: x},"), "option : no.such does not exist"),
        (
            server.volume("a", "bricks_via: {command: [sh, -c, 'echo /elsewhere/{host}']},"),
            "/elsewhere/h1 on h1 exists",
        ),
    ] {
        let text = refusal(&plan, &run);
        assert!(text.contains(said), "{text}");
        // The fake makes the first bricks before it refuses the next.
        assert_eq!((server.left(), run.remaining()), (Vec::<String>::new(), Vec::<String>::new()), "{text}");
    }
    fs::write(server.path("no-units"), "").unwrap();
    let text = refusal(&server.unit("chap: true,"), &run);
    assert!(text.contains("out of memory"), "{text}");
    assert_eq!((server.left(), run.remaining()), (Vec::<String>::new(), Vec::<String>::new()));
    assert_eq!((server.read("target"), server.read("account")), (String::new(), String::new()));
}

#[test]
fn a_unit_on_a_device_needs_one() {
    let server = Server::new();
    let run = server.run();
    let plan = server
        .plan("iscsi://127.0.0.1/{provisioned}", "{tgt: {device: $DIR/a, options: [-C, 7], via: $VIA}}");
    let text = refusal(&plan, &run);
    assert!(text.contains("/a is no block device"), "{text}");
    assert_eq!(run.remaining(), Vec::<String>::new());
    assert!(server.path("a").is_dir() && !server.read("calls").contains("new"));
}

#[test]
fn a_brick_that_could_not_be_removed_is_not_left_behind() {
    let server = Server::new();
    let run = server.run();
    // Nothing is seen on the bricks' hosts, whatever is looked for.
    let script = "case $3 in *' -d '*) echo \"$5\" ;; *' -e '*) ;; *) exec \"$@\" ;; esac\n";
    fs::write(server.path("blind"), script).unwrap();
    let text = refusal(&server.volume("a", "bricks_via: {command: [sh, $DIR/blind]},"), &run);
    assert!(text.contains("is not seen on h1") && text.contains("bricks_via: \"{host}\""), "{text}");
    assert_eq!((server.left(), server.read("volumes")), (Vec::<String>::new(), String::new()));
}

#[test]
fn a_secret_is_in_no_argument_list_of_ours() {
    let server = Server::new();
    let run = server.run();
    let plan = server.unit("chap: true, initiators: 10.0.0.0/24,");
    let mut made = create(&plan, &run).unwrap();
    let keys: Vec<_> = made.keys().collect();
    let [(target, key)] = &keys[..] else { panic!("{} keys", keys.len()) };
    assert_eq!((&**target, &*key.id), ("t", NAME));
    assert_eq!(server.read("secret").trim(), key.secret);
    assert!(key.secret.len() >= 16 && !server.read("argv").contains(&key.secret));
    let file = server.path("a").join(format!("{NAME}.img"));
    assert_eq!(fs::metadata(&file).unwrap().len(), 8 << 20);
    let calls = server.read("calls");
    assert_eq!(server.read("target").trim(), format!("2: iqn.2026-01.manometer:{NAME}"));
    assert!(calls.contains("--op bind --mode target --tid 2 --initiator-address 10.0.0.0/24"), "{calls}");
    let journal = fs::read_to_string(run.path()).unwrap();
    assert!(journal.contains(NAME) && !journal.contains(&key.secret), "{journal}");
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!(server.left(), Vec::<String>::new());
    assert_eq!((server.read("target"), server.read("account")), (String::new(), String::new()));
}

/// The only key that was made up, checked to be in no journal and in no argument list of ours.
fn hidden_key(made: &ProvisionedItems, server: &Server, run: &Run) -> targets::AccessKey {
    let keys: Vec<_> = made.keys().collect();
    let [(target, key)] = &keys[..] else { panic!("{} keys", keys.len()) };
    assert_eq!(target, "t");
    let journal = fs::read_to_string(run.path()).unwrap();
    assert!(journal.contains(NAME) && !journal.contains(&key.secret), "{journal}");
    assert!(!server.read("argv").contains(&key.secret));
    key.clone()
}

#[test]
fn a_pool_is_created_with_a_user_of_its_own_when_it_is_active() {
    let server = Server::new();
    let run = server.run();
    let plan = server
        .pool("pg_num: 8, size: 1, crush_rule: nvme, application: rbd, settings: {compression_mode: none},");
    let mut made = create(&plan, &run).unwrap();
    let key = hidden_key(&made, &server, &run);
    assert_eq!((&*key.id, &*key.secret), (NAME, "c2VjcmV0IG9mIGEgY2x1c3Rlcg=="));
    let calls = server.read("calls");
    for call in [
        format!("osd pool create {NAME} 8 8 replicated nvme"),
        format!("osd pool set {NAME} size 1 --yes-i-really-mean-it"),
        format!("osd pool set {NAME} compression_mode none"),
        format!("osd pool application enable {NAME} rbd"),
        format!("auth get-or-create-key client.{NAME} mon profile rbd osd profile rbd pool={NAME}"),
    ] {
        assert!(calls.lines().any(|line| line == format!("ceph --conf=x {call}")), "{call}: {calls}");
    }
    assert_eq!(calls.matches("pg ls-by-pool").count(), 2, "it waits until all groups are active");
    assert_eq!(run.remaining(), [format!("Ceph pool {NAME} with the user client.{NAME}")]);
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!((server.read("pools"), server.read("users")), (String::new(), String::new()));
    let mut made = create(&server.pool("erasure_code_profile: k4m2,"), &run).unwrap();
    let calls = server.read("calls");
    assert!(calls.contains(&format!("osd pool create {NAME} erasure k4m2\n")), "{calls}");
    assert!(calls.contains(&format!("client.{NAME} mon allow r osd allow rwx pool={NAME}\n")), "{calls}");
    assert_eq!(server.read("rules"), format!("{NAME}\n"), "the monitors make a rule");
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!(server.read("rules"), "");
}

#[test]
fn a_pool_that_would_stay_or_exists_is_not_created() {
    let server = Server::new();
    let run = server.run();
    fs::write(server.path("deletes"), "false").unwrap();
    let text = refusal(&server.pool(""), &run);
    assert!(text.contains("mon_allow_pool_delete"), "{text}");
    fs::remove_file(server.path("deletes")).unwrap();
    fs::write(server.path("users"), format!("client.{NAME}\n")).unwrap();
    let text = refusal(&server.pool(""), &run);
    assert!(text.contains(&format!("the Ceph user client.{NAME} exists already")), "{text}");
    fs::write(server.path("pools"), format!("{NAME}\n")).unwrap();
    let text = refusal(&server.pool(""), &run);
    assert!(text.contains(&format!("Ceph pool {NAME} exists already")), "{text}");
    let calls = server.read("calls");
    assert!(!calls.contains("create") && !calls.contains(" rm "), "{calls}");
    for name in ["users", "pools"] {
        fs::remove_file(server.path(name)).unwrap();
    }
    fs::write(server.path("peering"), "").unwrap();
    for (more, said) in [
        ("erasure_code_profile: missing,", "no erasure code profile missing"),
        ("settings: {no_such: 1},", "no_such"),
        ("timeout: 1s,", "1 of its 2 placement groups are active"),
    ] {
        let text = refusal(&server.pool(more), &run);
        assert!(text.contains(said), "{text}");
        let left = (server.read("pools"), server.read("users"), run.remaining());
        assert_eq!(left, (String::new(), String::new(), Vec::new()), "{text}");
    }
}

#[test]
fn a_gateways_user_goes_with_the_bucket() {
    let server = Server::new();
    let run = server.run();
    let mut made = create(&server.bucket(), &run).unwrap();
    let key = hidden_key(&made, &server, &run);
    assert_eq!((&*key.id, &*key.secret), ("ACCESS", "hush"));
    let calls = server.read("calls");
    let call = format!("user create --uid={NAME} --display-name={NAME} --max-buckets=1 --placement-id=nvme");
    assert!(calls.contains(&call), "{calls}");
    fs::write(server.path("buckets"), format!("others\n{NAME}\n")).unwrap();
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!(
        (server.read("gateway-users"), server.read("buckets")),
        (String::new(), "others\n".to_owned())
    );
    let text = {
        fs::write(server.path("buckets"), format!("{NAME}\n")).unwrap();
        refusal(&server.bucket(), &run)
    };
    assert!(text.contains(&format!("bucket {NAME} of the gateway exists already")), "{text}");
    fs::remove_file(server.path("buckets")).unwrap();
    fs::write(server.path("garbled"), "").unwrap();
    let text = refusal(&server.bucket(), &run);
    assert!(text.contains("cannot be read") && !text.contains("hush"), "{text}");
    assert_eq!(run.remaining(), Vec::<String>::new());
}

/// Removes what dead runs left on servers; there are no other places.
struct OnServers {
    others: Mutex<Vec<String>>,
}

impl Helper for OnServers {
    fn token_for(&mut self, _: &str) -> Option<ApiSecret> {
        None
    }

    fn remove(&mut self, place: &RecordedPlace, _: Option<&BucketAccess>) -> Result<(), PlaceError> {
        match remove_left(place) {
            Some(removed) => Ok(removed?),
            None => {
                self.others.lock().unwrap().push(place.title.clone());
                Ok(())
            }
        }
    }
}

fn clean_up(server: &Server) -> (Vec<String>, Vec<String>) {
    let mut helper = OnServers { others: Mutex::default() };
    let limit = std::time::Duration::from_secs(600);
    let options = CleanupOptions { call_timeout: limit, trust: None, time_limit: limit };
    let report = cleanup(&server.journal(), &options, &mut helper, &mut |_| ()).unwrap();
    (report.failures, helper.others.into_inner().unwrap())
}

#[test]
fn a_killed_run_is_cleaned_up_and_the_places_inside_with_it() {
    let server = Server::new();
    let plan = server.volume("a", "");
    {
        let run = server.run();
        create(&plan, &run).unwrap().keep();
        let place = |name: &str, volume: &str| RecordedPlace {
            scheme: "gluster".into(),
            name: run.id().object_name(),
            title: format!("directory {name} in {volume}"),
            within: Some(provision::Container::Provisioned(volume.to_owned())),
            holds: None,
            place: serde_json::Value::Null,
        };
        run.record_place(&place("inside", NAME)).unwrap();
        run.record_place(&place("outside", "gv")).unwrap();
    }
    assert_eq!(server.read("volumes"), format!("{NAME}\n"));
    assert_eq!(clean_up(&server), (vec![], vec!["directory outside in gv".to_owned()]));
    assert_eq!((server.read("volumes"), server.left()), (String::new(), vec![]));
    assert_eq!(fs::read_dir(server.path("journal")).unwrap().count(), 0, "the journal is done with");
}

#[test]
fn cleanup_refuses_what_does_not_bear_the_name_of_the_run() {
    let server = Server::new();
    {
        let run = server.run();
        create(&server.volume("a", ""), &run).unwrap().keep();
    }
    let path = server.path("journal").join(format!("{RUN}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&format!("\"name\":\"{NAME}\""), "\"name\":\"gv\"")).unwrap();
    let (failures, _) = clean_up(&server);
    assert!(failures.len() == 1 && failures[0].contains("refused: it does not bear"), "{failures:?}");
    assert_eq!(server.read("volumes"), format!("{NAME}\n"));
    fs::write(&path, &text).unwrap();
    assert_eq!(clean_up(&server).0, Vec::<String>::new());
    assert_eq!(server.read("volumes"), "");
}

#[test]
fn a_resumed_run_begins_with_nothing_of_the_interrupted_one() {
    let server = Server::new();
    let plan = server.volume("a", "");
    {
        let run = server.run();
        create(&plan, &run).unwrap().keep();
    }
    fs::write(server.path("a").join(NAME).join("old"), "").unwrap();
    let run = server.journal().reopen(&RUN.parse().unwrap()).unwrap();
    let mut made = create(&plan, &run).unwrap();
    assert!(!server.path("a").join(NAME).join("old").exists());
    assert_eq!(made.remove(), Vec::<String>::new());
    assert_eq!(server.left(), Vec::<String>::new());
}
