//! `provision` of a target: what is created for it, and where its URL says so.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::fleet::{arguments, texts};
use super::hosts::Hosts;
use super::via::{is_plain, names, only_key, timeout_ms, via, words};
use crate::kind::TargetKind;
use crate::known::{PROVISION, provision_keys};
use crate::provision::{
    Brick, CephPool, GatewayUser, GlusterVolume, MAX_PLACEMENT_GROUPS, PROVISION_TIMEOUT_MS, PROVISIONED,
    Provision, ProvisionKind, TgtTarget, provisioned_name,
};
use crate::reader::{Fields, Reader, one_of};
use crate::tree::Node;

/// A name such as a run has, to check URLs with.
const SAMPLE: &str = "manometer-aaaaaaaa";
/// The smallest unit of a target.
const LEAST_UNIT_BYTES: u64 = 1 << 20;
/// Most copies of an object (the range of Ceph's `size`).
const MOST_COPIES: u32 = 10;
/// Most bricks of a volume.
const MOST_BRICKS: usize = 1000;

/// The provision of a target; the inner `None` without one, the outer if something is wrong.
pub(super) fn provision(target: &Fields<'_>) -> Option<Option<Provision>> {
    if !target.has("provision") {
        return Some(None);
    }
    let reader = target.reader;
    let before = reader.log.count();
    let fields = target.below("provision", "provision", None);
    fields.check_keys(PROVISION);
    let word = only_key(&fields, before, "provision", "tool", &names(PROVISION))?;
    let below = fields.below(word, format!("provision: {{{word}: …}}"), None);
    let keys = provision_keys(word);
    below.check_keys(keys);
    for key in keys.iter().filter(|key| key.default.is_empty() && !below.has(key.name)) {
        let text = format!("provision: {{{word}: …}} needs {}", key.name);
        reader.log.fault(below.place, text, format!("add {}: {}", key.name, key.about));
    }
    if reader.log.count() != before {
        return None;
    }
    let wanted = match word {
        "gluster" => ProvisionKind::Gluster(volume(&below)?),
        "tgt" => ProvisionKind::Tgt(tgt(&below)?),
        "ceph" => ProvisionKind::Ceph(pool(&below)?),
        "radosgw" => ProvisionKind::Radosgw(GatewayUser { placement: plain(&below, "placement")? }),
        other => unreachable!("{other} is no key of provision"),
    };
    let provision = Provision {
        wanted,
        options: arguments(&below, "options")?,
        via: via(&below, "via")?,
        timeout_ms: timeout_ms(&below, PROVISION_TIMEOUT_MS),
    };
    (reader.log.count() == before).then_some(Some(provision))
}

/// The URL of a provisioned target, which still has `{provisioned}` in it, and its kind.
pub(super) fn url(
    reader: &Reader<'_>,
    hosts: &Hosts<'_>,
    node: &Node,
    text: &str,
    provision: &Provision,
) -> Option<(String, &'static TargetKind)> {
    let (schemes, example) = provision.use_for();
    let word = provision.word();
    if text.matches(PROVISIONED).count() != 1 {
        let fault = format!("{text:?} does not say once where what {word} provisions goes");
        reader.fault(node, fault, format!("write {example}"));
        return None;
    }
    let sample = provision.in_url(&provisioned_name(SAMPLE, 0));
    let (whole, kind) = hosts.url(reader, node, &text.replace(PROVISIONED, &sample))?;
    if !schemes.contains(&kind.scheme) {
        let fault = format!("{} targets cannot use what {word} provisions", kind.scheme);
        reader.fault(node, fault, format!("write {example}"));
        return None;
    }
    Some((whole.replace(&sample, PROVISIONED), kind))
}

/// Whether a URL without a provision has the place for one; that is reported.
pub(super) fn is_unprovided(reader: &Reader<'_>, node: &Node, text: &str) -> bool {
    let missing = text.contains(PROVISIONED);
    if missing {
        let hint = format!("add provision: {{…}} with one of {}", one_of(&names(PROVISION)));
        reader.fault(node, format!("nothing is provisioned for {PROVISIONED}"), hint);
    }
    missing
}

/// A path that no program takes for an option, and in which nothing leads elsewhere.
fn is_directory(path: &str) -> bool {
    path.starts_with('/')
        && path.len() < 1000
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| part != "..")
}

fn volume(fields: &Fields<'_>) -> Option<GlusterVolume> {
    let mut bricks = Vec::new();
    for text in words(fields, "bricks")? {
        let brick = text.split_once(":/").map(|(host, path)| (host, format!("/{}", path.trim_matches('/'))));
        match brick {
            Some((host, directory)) if is_plain(host) && is_directory(&directory) => {
                bricks.push(Brick { host: host.to_owned(), directory });
            }
            _ => {
                let hint = "write an existing directory as server1:/bricks/a";
                fields.fault("bricks", format!("{text:?} is no place for a brick"), hint);
                return None;
            }
        }
    }
    if bricks.len() > MOST_BRICKS {
        let text = format!("{} bricks are more than {MOST_BRICKS}", bricks.len());
        fields.fault("bricks", text, "write fewer");
    }
    if let Some(twice) = bricks.iter().enumerate().find(|(at, brick)| bricks[..*at].contains(brick)) {
        let text = format!("{}:{} is there twice", twice.1.host, twice.1.directory);
        fields.fault("bricks", text, "write each directory once");
    }
    for (inner, outer) in [("arbiter", "replica"), ("redundancy", "disperse")] {
        if fields.has(inner) && !fields.has(outer) {
            fields.fault(inner, format!("{inner} goes with {outer}"), format!("add {outer}, or remove it"));
        }
    }
    let mut layout = Vec::new();
    for (word, least) in [("replica", 2), ("arbiter", 1), ("disperse", 3), ("redundancy", 1)] {
        if fields.has(word) {
            layout.push((word.to_owned(), fields.count(word, least, MOST_BRICKS as u32, least)));
        }
    }
    for (word, number) in &layout {
        let sets = matches!(&**word, "replica" | "disperse");
        if sets && !bricks.len().is_multiple_of(*number as usize) {
            let text = format!("{} bricks cannot be divided into sets of {number}", bricks.len());
            fields.fault(word, text, format!("write a multiple of {number} bricks"));
        }
    }
    let hint = "write options as gluster volume set has them, such as performance.io-cache: \"off\"";
    let settings = settings(fields, "an option of a volume", hint);
    Some(GlusterVolume {
        bricks,
        layout,
        settings,
        force: fields.flag("force", false),
        bricks_via: via(fields, "bricks_via")?,
    })
}

/// Names and values that no program takes for options.
fn settings(fields: &Fields<'_>, what: &str, hint: &str) -> BTreeMap<String, String> {
    let settings = texts(fields, "settings");
    let mut odd = settings.iter().filter(|(name, value)| !is_plain(name) || value.starts_with('-'));
    if let Some((name, value)) = odd.next() {
        fields.fault("settings", format!("{name}: {value} is not {what}"), hint);
    }
    settings
}

/// A word that no program takes for an option; the inner `None` if it is not written.
fn plain(fields: &Fields<'_>, key: &str) -> Option<Option<String>> {
    let Some(node) = fields.get(key) else { return Some(None) };
    let text = fields.reader.text(&node, "write a name")?;
    if !is_plain(&text) {
        fields.reader.fault(
            &node,
            format!("{text:?} is no name"),
            "write letters, digits, and . _ - after the first",
        );
        return None;
    }
    Some(Some(text))
}

fn pool(fields: &Fields<'_>) -> Option<CephPool> {
    let number = |key, most| fields.has(key).then(|| fields.count(key, 1, most, 1));
    let (pg_num, size) = (number("pg_num", MAX_PLACEMENT_GROUPS), number("size", MOST_COPIES));
    let erasure_code_profile = plain(fields, "erasure_code_profile")?;
    if erasure_code_profile.is_some() && size.is_some() {
        let text = "an erasure-coded pool has the size of its profile";
        fields.fault("size", text, "remove size or erasure_code_profile");
    }
    Some(CephPool {
        pg_num,
        size,
        erasure_code_profile,
        crush_rule: plain(fields, "crush_rule")?,
        application: plain(fields, "application")?.unwrap_or_else(|| CephPool::default().application),
        settings: settings(
            fields,
            "a setting of a pool",
            "write settings as ceph osd pool set has them, such as compression_mode: none",
        ),
    })
}

/// `ALL`, an address, or a network.
fn is_initiators(text: &str) -> bool {
    let (address, bits) = text.split_once('/').unwrap_or((text, "0"));
    let address = address.parse::<IpAddr>().ok();
    let longest = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
    text == "ALL"
        || address.is_some_and(|address| bits.parse().is_ok_and(|bits: u8| bits <= longest(address)))
}

fn tgt(fields: &Fields<'_>) -> Option<TgtTarget> {
    let path = |key: &str, hint: &str| {
        let node = fields.get(key)?;
        let path = fields.reader.text(&node, hint)?;
        if !is_directory(&path) {
            fields.reader.fault(&node, format!("{path:?} is no path from /"), hint);
        }
        Some(path)
    };
    let (mut directory, mut size_bytes, mut device) = (String::new(), 0, None);
    if fields.has("device") {
        device = Some(path("device", "write a block device of the server, such as /dev/nvme1n1")?);
        if let Some(other) = ["directory", "size"].into_iter().find(|key| fields.has(key)) {
            let text = format!("{other} is for a file, and the unit is a device");
            fields.fault(other, text, format!("remove {other}, or device"));
        }
    } else if let Some(missing) = ["directory", "size"].into_iter().find(|key| !fields.has(key)) {
        let text = format!("provision: {{tgt: …}} needs {missing}");
        let hint = "write directory and size for a file, or device";
        fields.reader.log.fault(fields.place, text, hint);
    } else {
        directory = path("directory", "write an existing directory of the server, such as /srv/luns")?;
        size_bytes = fields.size("size", 0);
        if size_bytes < LEAST_UNIT_BYTES || !size_bytes.is_multiple_of(512) {
            fields.fault(
                "size",
                "the unit cannot have this size",
                "write 1MiB or more, in whole blocks of 512 bytes",
            );
        }
    }
    let initiators = match fields.get("initiators") {
        Some(node) => fields.reader.text(&node, "write ALL, an address or a network")?,
        None => "ALL".to_owned(),
    };
    if !is_initiators(&initiators) {
        let text = format!("{initiators:?} is no address");
        fields.fault("initiators", text, "write ALL, an address or a network such as 10.0.0.0/24");
    }
    if directory.len() > 1 {
        directory.truncate(directory.trim_end_matches('/').len().max(1));
    }
    Some(TgtTarget {
        directory,
        size_bytes,
        device,
        direct: fields.flag("direct", false),
        chap: fields.flag("chap", false),
        initiators,
    })
}
