//! Keys of `accounting`: whose counters tell what operations cost on the server.

use super::Form::{Named, Span, Text};
use super::{Key, key};

const VIA_KEY: Key =
    key("via", Named("via"), "this host", "host on which the command runs: its name for ssh, or a map");
const TIMEOUT: Key = key("timeout", Span, "30s", "timeout of each command");

pub(crate) const ACCOUNTING: &[Key] = &[
    key("gluster", Named("accounting_gluster"), "", "a Gluster volume; its name alone is short for volume"),
    key("ceph", Named("accounting_ceph"), "", "Ceph's metadata servers; their names alone are short for mds"),
    key("command", Named("accounting_command"), "", "any command; its words alone are short for run"),
];

pub(crate) const ACCOUNTING_GLUSTER: &[Key] = &[
    key("volume", Text, "", "the volume"),
    key("options", Named("arguments"), "none", "options added to gluster's command line"),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const ACCOUNTING_CEPH: &[Key] = &[
    key("mds", Named("arguments"), "", "names of the metadata servers, without mds."),
    key("options", Named("arguments"), "none", "options added to ceph's command line: --conf=FILE --id=NAME"),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const ACCOUNTING_COMMAND: &[Key] = &[
    key("run", Named("arguments"), "", "the program and its arguments; a text is split at blanks"),
    VIA_KEY,
    TIMEOUT,
];

pub(crate) const VIA: &[Key] = &[
    key("host", Text, "", "host, reached by ssh"),
    key("ssh_options", Named("arguments"), "none", "options added to ssh's command line (with host)"),
    key("command", Named("arguments"), "", "instead of ssh: a program that runs the words after its own"),
];
