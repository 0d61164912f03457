//! The client's environment during a run: system facts that may explain a number later.
//!
//! All facts come from /proc, /sys and cgroups, which any user may read (proc(5), sysfs(5), cgroups(7)). Missing facts
//! are skipped. User names are removed from addresses.

use std::collections::BTreeMap;
use std::path::Path;

use store::Environment;

/// Collects the facts; `reactor` is the chosen reactor, with the refusal of io_uring if any; `command` is the command
/// line of the run, without secrets ([`command_line`]).
pub fn capture(reactor: &[(&str, String)], command: &str) -> Environment {
    let root = Path::new("/");
    let mut facts = BTreeMap::new();
    system(root, &mut facts);
    processors(root, &mut facts);
    memory(root, &mut facts);
    cards(root, &mut facts);
    limits(root, &mut facts);
    facts.insert("manometer.version".into(), env!("CARGO_PKG_VERSION").into());
    if !command.is_empty() {
        facts.insert("manometer.command".into(), command.to_owned());
    }
    for (name, value) in reactor {
        facts.insert((*name).to_owned(), value.clone());
    }
    Environment { facts }
}

type Facts = BTreeMap<String, String>;

fn read(root: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn keep(facts: &mut Facts, name: &str, value: Option<String>) {
    if let Some(value) = value {
        facts.insert(name.to_owned(), value);
    }
}

fn system(root: &Path, facts: &mut Facts) {
    let uname = rustix::system::uname();
    facts.insert("kernel".into(), uname.release().to_string_lossy().into_owned());
    facts.insert("kernel.build".into(), uname.version().to_string_lossy().into_owned());
    facts.insert("machine".into(), uname.machine().to_string_lossy().into_owned());
    facts.insert("host".into(), uname.nodename().to_string_lossy().into_owned());
    let os = read(root, "etc/os-release").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.to_owned();
        Some(line.trim_matches('"').to_owned())
    });
    keep(facts, "os", os);
    keep(facts, "io_uring.disabled", read(root, "proc/sys/kernel/io_uring_disabled"));
    keep(facts, "clocksource", read(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"));
    keep(facts, "load.average", read(root, "proc/loadavg"));
}

fn processors(root: &Path, facts: &mut Facts) {
    if let Some(info) = read(root, "proc/cpuinfo") {
        let field = |name: &str| {
            let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        keep(facts, "cpu.model", field("model name").or_else(|| field("CPU part")));
        keep(facts, "cpu.microcode", field("microcode"));
    }
    keep(facts, "cpu.online", read(root, "sys/devices/system/cpu/online"));
    let usable = std::thread::available_parallelism().ok().map(|count| count.to_string());
    keep(facts, "cpu.usable", usable);
    keep(facts, "cpu.governor", read(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    keep(facts, "cpu.smt", read(root, "sys/devices/system/cpu/smt/active"));
    keep(facts, "numa.nodes", read(root, "sys/devices/system/node/online"));
}

fn memory(root: &Path, facts: &mut Facts) {
    if let Some(bytes) = memory_bytes(root) {
        facts.insert("memory.bytes".into(), bytes.to_string());
    }
    let pages = read(root, "sys/kernel/mm/transparent_hugepage/enabled");
    keep(facts, "memory.hugepages", pages);
    keep(facts, "memory.dirty-ratio", read(root, "proc/sys/vm/dirty_ratio"));
}

/// Memory of the machine, in bytes.
fn memory_bytes(root: &Path) -> Option<u64> {
    let info = read(root, "proc/meminfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.to_owned();
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Memory available for caching files, in bytes: the machine's, or the container's limit.
pub fn cache_bytes() -> Option<u64> {
    let machine = memory_bytes(Path::new("/"))?;
    let limit = read(Path::new("/"), "sys/fs/cgroup/memory.max").and_then(|text| text.parse().ok());
    Some(limit.map_or(machine, |limit: u64| limit.min(machine)))
}

/// Every NIC that is up, except loopback.
fn cards(root: &Path, facts: &mut Facts) {
    let Ok(list) = std::fs::read_dir(root.join("sys/class/net")) else { return };
    for card in list.filter_map(Result::ok) {
        let name = card.file_name().to_string_lossy().into_owned();
        let file = |file: &str| read(root, &format!("sys/class/net/{name}/{file}"));
        if name == "lo" || file("operstate").as_deref() == Some("down") {
            continue;
        }
        // The kernel reports -1 or an error where there is no physical link.
        let speed = file("speed").filter(|speed| speed.parse().is_ok_and(|mbit: i64| mbit > 0));
        keep(facts, &format!("nic.{name}.speed"), speed.map(|mbit| format!("{mbit} Mbit/s")));
        keep(facts, &format!("nic.{name}.mtu"), file("mtu"));
    }
}

/// Limits that a container or a service manager imposes on this process.
fn limits(root: &Path, facts: &mut Facts) {
    keep(facts, "cgroup.path", read(root, "proc/self/cgroup").map(|text| text.replace('\n', " ")));
    let bounded = |text: &String| !text.starts_with("max");
    keep(facts, "cgroup.cpu.max", read(root, "sys/fs/cgroup/cpu.max").filter(bounded));
    keep(facts, "cgroup.memory.max", read(root, "sys/fs/cgroup/memory.max").filter(bounded));
    keep(facts, "cgroup.cpuset", read(root, "sys/fs/cgroup/cpuset.cpus.effective"));
    let files = read(root, "proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?.to_owned();
        line.split_whitespace().next().map(str::to_owned)
    });
    keep(facts, "limit.files", files);
    let container = ["run/.containerenv", ".dockerenv"].iter().any(|path| root.join(path).exists());
    facts.insert("container".into(), if container { "yes" } else { "no" }.into());
}

/// Words in names of options with secret values (`--http_s3_key=…`).
const SECRET: [&str; 4] = ["key", "pass", "secret", "token"];

/// The command line without secrets, and without user names in addresses.
pub fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let mut secret_follows = false;
    let shown = arguments.map(|argument| {
        let hidden = std::mem::take(&mut secret_follows) && !argument.starts_with('-');
        let name = argument.split('=').next().unwrap_or(&argument);
        let secret = SECRET.iter().any(|word| name.to_ascii_lowercase().contains(word));
        let is_option = argument.starts_with('-');
        match argument.contains('=') {
            _ if hidden => "…".to_owned(),
            true if secret => format!("{name}=…"),
            with_value => {
                secret_follows = secret && is_option && !with_value;
                without_user(&argument)
            }
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// `scheme://user:password@host` becomes `scheme://…@host`.
pub fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match authority.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://…{}", &rest[user.len()..]),
        None => text.to_owned(),
    }
}

/// How the file system of a path is mounted: `ext4 rw,relatime on /dev/sda1 at /mnt`; the longest matching mount point
/// in /proc/self/mountinfo (proc(5)).
pub fn mount_of(path: &Path) -> Option<(String, String)> {
    let info = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mount_in(&info, &path.canonicalize().ok()?)
}

fn mount_in(info: &str, path: &Path) -> Option<(String, String)> {
    let mut best: Option<(String, String)> = None;
    for line in info.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let mut before = before.split(' ').skip(4);
        let (Some(point), Some(options)) = (before.next(), before.next()) else { continue };
        let mut after = after.split(' ');
        let (Some(kind), Some(device)) = (after.next(), after.next()) else { continue };
        let point = point.replace("\\040", " ");
        // Of two mounts on the same point, the later hides the earlier.
        let longer = best.as_ref().is_none_or(|(known, _)| known.len() <= point.len());
        if path.starts_with(&point) && longer {
            let more = after.next().unwrap_or_default();
            best = Some((point, format!("{kind} on {device}, {options}; {more}")));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_in_an_address_is_left_out() {
        assert_eq!(without_user("s3://key:secret@host/bucket?a=b@c"), "s3://…@host/bucket?a=b@c");
        assert_eq!(without_user("nfs://host/export@1"), "nfs://host/export@1");
        assert_eq!(without_user("--set=x"), "--set=x");
        let line =
            command_line(["manometer", "run", "--set", "url=s3://a:b@c/d"].map(String::from).into_iter());
        assert!(!line.contains("a:b"), "{line}");
    }

    #[test]
    fn the_longest_mount_point_is_the_one() {
        let info = "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro\n\
            30 21 8:2 / /mnt rw - xfs /dev/sdb1 rw,noquota\n\
            31 21 8:3 / /mnt/my\\040data ro - ext4 /dev/sdc1 ro\n";
        let of = |path: &str| mount_in(info, Path::new(path)).unwrap();
        assert_eq!(of("/mnt/x"), ("/mnt".into(), "xfs on /dev/sdb1, rw; rw,noquota".into()));
        assert_eq!(of("/mnt/my data/y").0, "/mnt/my data");
        assert_eq!(of("/mntx").0, "/");
    }

    #[test]
    fn this_machine_is_described() {
        let facts = capture(&[("reactor", "io_uring".into())], "manometer run x.yaml").facts;
        for name in
            ["kernel", "memory.bytes", "cpu.usable", "manometer.version", "manometer.command", "reactor"]
        {
            assert!(facts.get(name).is_some_and(|value| !value.is_empty()), "{name} is missing");
        }
        assert!(cache_bytes().unwrap() > 0);
        assert!(mount_of(Path::new("/")).is_some());
    }

    #[test]
    fn secrets_of_the_command_line_are_not_kept() {
        let line = |text: &str| command_line(text.split(' ').map(str::to_owned));
        assert_eq!(
            line("fio --http_s3_key=abc --http_s3_keyid def --bs=4k --name a"),
            "fio --http_s3_key=… --http_s3_keyid … --bs=4k --name a"
        );
        assert_eq!(line("run --set token=abc f.yaml"), "run --set token=… f.yaml");
        assert_eq!(line("fio /mnt/keys/job.fio"), "fio /mnt/keys/job.fio");
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let empty = tempfile::tempdir().unwrap();
        let mut facts = Facts::new();
        processors(empty.path(), &mut facts);
        memory(empty.path(), &mut facts);
        cards(empty.path(), &mut facts);
        let known: Vec<&String> = facts.keys().collect();
        assert_eq!(known, ["cpu.usable"]);
    }
}
