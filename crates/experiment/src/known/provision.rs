//! Keys of `provision`: what a run creates on a storage server and removes again.

use super::Form::{Count, Flag, Named, Size, Span, Text};
use super::{Key, key};

const VIA_KEY: Key =
    key("via", Named("via"), "this host", "host on which the tool runs: its name for ssh, or a map");
const TIMEOUT: Key = key("timeout", Span, "2m", "timeout of each command");

pub(crate) const PROVISION: &[Key] = &[
    key("gluster", Named("provision_gluster"), "", "a Gluster volume, by gluster"),
    key("tgt", Named("provision_tgt"), "", "an iSCSI target with one unit, by tgtadm"),
    key("ceph", Named("provision_ceph"), "", "a pool of a Ceph cluster and a user for it, by ceph"),
    key(
        "radosgw",
        Named("provision_radosgw"),
        "",
        "a user of Ceph's object gateway with a bucket, by radosgw-admin",
    ),
];

/// The keys of what each of [`PROVISION`] creates.
pub(crate) fn provision_keys(word: &str) -> &'static [Key] {
    match word {
        "gluster" => PROVISION_GLUSTER,
        "tgt" => PROVISION_TGT,
        "ceph" => PROVISION_CEPH,
        "radosgw" => PROVISION_RADOSGW,
        other => unreachable!("{other} is no key of provision"),
    }
}

pub(crate) const PROVISION_CEPH: &[Key] = &[
    key("pg_num", Count(1), "the cluster's", "number of placement groups"),
    key("size", Count(1), "the cluster's", "copies of each object"),
    key(
        "erasure_code_profile",
        Text,
        "none",
        "an existing profile, for an erasure-coded pool in place of copies",
    ),
    key("crush_rule", Text, "the cluster's", "an existing rule, which selects the OSDs"),
    key(
        "application",
        Text,
        "manometer",
        "who uses the pool, such as rbd, as for ceph osd pool application enable",
    ),
    key("settings", Named("texts"), "none", "settings of the pool, as for ceph osd pool set"),
    key("options", Named("arguments"), "none", "options added to ceph's command line, such as --conf=FILE"),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const PROVISION_RADOSGW: &[Key] = &[
    key("placement", Text, "the zone group's", "placement target of the bucket"),
    key(
        "options",
        Named("arguments"),
        "none",
        "options added to radosgw-admin's command line, such as --conf=FILE",
    ),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const PROVISION_GLUSTER: &[Key] = &[
    key(
        "bricks",
        Named("arguments"),
        "",
        "existing directories, as HOST:/PATH, in each of which a brick gets a directory of its own",
    ),
    key("replica", Count(2), "none", "copies of each file"),
    key("arbiter", Count(1), "none", "how many of the copies are without data (with replica)"),
    key("disperse", Count(3), "none", "bricks over which each file is erasure-coded"),
    key("redundancy", Count(1), "none", "how many of them may fail (with disperse)"),
    key("settings", Named("texts"), "none", "options of the volume, as for gluster volume set"),
    key("force", Flag, "false", "bricks may lie where gluster warns, as on the root file system"),
    key(
        "bricks_via",
        Named("via"),
        "as via",
        "how the hosts of bricks are reached to look at their directories and to remove them; {host} stands for the host",
    ),
    key("options", Named("arguments"), "none", "options added to gluster's command line"),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const PROVISION_TGT: &[Key] = &[
    key("directory", Text, "none", "existing directory of the server, in which the unit gets a file"),
    key("size", Size, "none", "size of the file, which is sparse (with directory)"),
    key("device", Text, "none", "block device of the server, in place of a file; its content is overwritten"),
    key("direct", Flag, "false", "tgtd opens the file or device with O_DIRECT, past the server's page cache"),
    key("chap", Flag, "false", "whoever logs in must know a secret, which the run makes up"),
    key("initiators", Text, "ALL", "who may log in: ALL, an address or a network"),
    key("options", Named("arguments"), "none", "options added to tgtadm's command line"),
    VIA_KEY,
    TIMEOUT,
];
