//! Jobs that remove their files between passes (`unlink_each_loop`).
#![allow(clippy::unwrap_used)]

mod support;

use metrics::OpKind::{Remove, Write};
use support::jobs::{KIB, asked, job, load};

#[test]
fn files_are_removed_between_passes_and_not_after_the_last() {
    let mut thrice = job();
    thrice.ending.loops = 3;
    thrice.files.layout.unlink_each_loop = true;
    thrice.files.count = 2;
    let asked = asked(load(thrice, &[(Write, 1.0)], &[4 * KIB, 4 * KIB]));
    let kinds: Vec<_> = asked.iter().map(|op| (op.kind, op.object)).collect();
    let pass = [(Write, 0), (Write, 1)];
    let between = [(Remove, 0), (Remove, 1)];
    assert_eq!(kinds, [pass, between, pass, between, pass].concat());
}
