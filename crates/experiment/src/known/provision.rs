//! Keys of `provision`: what a run creates on a storage server and removes again.

use super::Form::{Count, Flag, Named, Size, Span, Text};
use super::{Key, key};

const VIA_KEY: Key =
    key("via", Named("via"), "this host", "host on which the tool runs: its name for ssh, or a map");
const TIMEOUT: Key = key("timeout", Span, "2m", "timeout of each command");

pub(crate) const PROVISION: &[Key] = &[
    key("gluster", Named("provision_gluster"), "", "a Gluster volume, by gluster"),
    key("tgt", Named("provision_tgt"), "", "an iSCSI target with one unit, by tgtadm"),
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
    key("directory", Text, "", "existing directory of the server, in which the unit gets a file"),
    key("size", Size, "", "size of the unit; the file is sparse"),
    key("chap", Flag, "false", "whoever logs in must know a secret, which the run makes up"),
    key("initiators", Text, "ALL", "who may log in: ALL, an address or a network"),
    key("options", Named("arguments"), "none", "options added to tgtadm's command line"),
    VIA_KEY,
    TIMEOUT,
];
