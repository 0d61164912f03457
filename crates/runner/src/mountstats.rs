//! Counts of RPCs by procedure that the kernel's NFS client keeps for each mount, in /proc/self/mountstats.
//!
//! A mount begins with `device SERVER:PATH mounted on POINT with fstype nfs4 statvers=1.1`. After `per-op statistics`
//! follows a line for each procedure: its name, calls, transmissions, calls that timed out, bytes sent and received, then
//! the milliseconds spent queued, waiting for the reply, and in total; since Linux 5.3 the calls that ended with an
//! error (`rpc_print_iostats` in net/sunrpc/stats.c, mountstats(8)).

use std::collections::BTreeMap;

/// The cumulative counters of one mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountCounters {
    /// The server's name, as it was mounted.
    pub server: String,
    procedures: BTreeMap<String, Counters>,
}

/// Counters of a procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls.
    pub calls: u64,
    /// Transmissions of these calls.
    pub transmissions: u64,
    /// Waits for the replies, in milliseconds.
    pub waited_ms: u64,
    /// Calls that ended with an error, if the kernel counts them.
    pub errors: Option<u64>,
}

impl MountCounters {
    /// The counters of the NFS mount at this mount point, if there are any.
    pub fn of(text: &str, point: &str) -> Option<Self> {
        let point = escaped(point);
        let mut found = None;
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(server) = server_of(line, &point) else { continue };
            let mut procedures = BTreeMap::new();
            let mut by_procedure = false;
            while let Some(line) = lines.next_if(|line| !line.starts_with("device ")) {
                if by_procedure {
                    procedures.extend(procedure(line));
                }
                by_procedure |= line.trim() == "per-op statistics";
            }
            // Of mounts on top of each other the last is the visible one.
            found = Some(MountCounters { server, procedures });
        }
        found
    }

    /// What was counted since an earlier reading, procedures without calls left out. `None` if the counters began anew
    /// in between: the file system was mounted again.
    pub fn since(&self, before: &MountCounters) -> Option<Vec<(String, Counters)>> {
        let kept = before.procedures.keys().all(|name| self.procedures.contains_key(name));
        if !kept || self.server != before.server {
            return None;
        }
        let mut out = Vec::new();
        for (name, now) in &self.procedures {
            let before = before.procedures.get(name).copied().unwrap_or_default();
            let counted = Counters {
                calls: now.calls.checked_sub(before.calls)?,
                transmissions: now.transmissions.checked_sub(before.transmissions)?,
                waited_ms: now.waited_ms.checked_sub(before.waited_ms)?,
                errors: match now.errors {
                    Some(errors) => Some(errors.checked_sub(before.errors.unwrap_or(0))?),
                    None => None,
                },
            };
            if counted.transmissions > 0 || counted.calls > 0 {
                out.push((name.clone(), counted));
            }
        }
        Some(out)
    }
}

/// The server of the line that begins an NFS mount at this point.
fn server_of(line: &str, point: &str) -> Option<String> {
    let (device, mount) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
    let (at, kind) = mount.split_once(" with fstype ")?;
    let is_nfs = matches!(kind.split(' ').next(), Some("nfs" | "nfs4"));
    let server = device.split_once(":/").map_or(device, |(server, _)| server);
    (is_nfs && at == point).then(|| server.to_owned())
}

fn procedure(line: &str) -> Option<(String, Counters)> {
    let (name, counts) = line.trim().split_once(": ")?;
    let counts: Vec<u64> = counts.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [calls, transmissions, _timeouts, _sent, _received, _queued_ms, waited_ms, _total_ms, ..] =
        counts[..]
    else {
        return None;
    };
    Some((name.to_owned(), Counters { calls, transmissions, waited_ms, errors: counts.get(8).copied() }))
}

/// A mount point as the kernel writes it.
fn escaped(point: &str) -> String {
    point.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Written by hand in the format of Linux 6.1, other mounts around it.
    const TEXT: &str = "device proc mounted on /proc with fstype proc\n\
        device filer:/export/a mounted on /mnt/two\\040words with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.1,proto=tcp\n\
        \tevents:\t1 2 3\n\
        \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
        \txprt:\ttcp 0 1 2 0 0 10 10 0 10 0 2 0 0\n\
        \tper-op statistics\n\
        \t        NULL: 1 1 0 44 24 0 1 2 0\n\
        \t        OPEN: 10 12 0 3000 4000 5 40 60 3\n\
        \t FUTURE_CALL: 7 7 0 1 1 0 7 7 0\n\
        \n\
        device [fe80::1]:/b mounted on /mnt/b with fstype nfs statvers=1.0\n\
        \tper-op statistics\n\
        \t      LOOKUP: 4 4 0 1 1 0 8 9\n";

    fn counters(procedures: &[(&str, Counters)]) -> MountCounters {
        let procedures = procedures.iter().map(|(name, counters)| ((*name).to_owned(), *counters));
        MountCounters { server: "filer".to_owned(), procedures: procedures.collect() }
    }

    #[test]
    fn a_mount_has_its_own_counters_unknown_procedures_included() {
        let found = MountCounters::of(TEXT, "/mnt/two words").unwrap();
        let null = Counters { calls: 1, transmissions: 1, waited_ms: 1, errors: Some(0) };
        let open = Counters { calls: 10, transmissions: 12, waited_ms: 40, errors: Some(3) };
        let other = Counters { calls: 7, transmissions: 7, waited_ms: 7, errors: Some(0) };
        assert_eq!(found, counters(&[("NULL", null), ("OPEN", open), ("FUTURE_CALL", other)]));
        let old = MountCounters::of(TEXT, "/mnt/b").unwrap();
        let lookup = Counters { calls: 4, transmissions: 4, waited_ms: 8, errors: None };
        assert_eq!((old.server.as_str(), old.procedures["LOOKUP"]), ("[fe80::1]", lookup));
    }

    #[test]
    fn other_file_systems_and_broken_lines_have_no_counters() {
        assert_eq!(MountCounters::of(TEXT, "/proc"), None);
        assert_eq!(MountCounters::of(TEXT, "/mnt"), None);
        for line in ["", "OPEN: 1 2 3", "OPEN: 1 2 3 4 5 6 7 x", "OPEN"] {
            assert_eq!(procedure(line), None, "{line}");
        }
    }

    #[test]
    fn counters_that_began_anew_are_no_difference() {
        let many = counters(&[("OPEN", Counters { calls: 9, ..Counters::default() })]);
        let few = counters(&[("OPEN", Counters { calls: 2, ..Counters::default() })]);
        assert_eq!(few.since(&many), None);
        assert_eq!(counters(&[]).since(&few), None);
        assert_eq!(many.since(&many), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn the_difference_is_what_was_added(
            before in proptest::array::uniform4(0u64..1 << 40), added in proptest::array::uniform4(0u64..1 << 40),
        ) {
            let of = |n: [u64; 4]| Counters { calls: n[0], transmissions: n[1], waited_ms: n[2], errors: Some(n[3]) };
            let sum: Vec<u64> = before.iter().zip(added).map(|(a, b)| a + b).collect();
            let now = counters(&[("READ", of(sum.try_into().unwrap()))]);
            let seen = now.since(&counters(&[("READ", of(before))])).unwrap();
            if added[0] > 0 || added[1] > 0 {
                prop_assert_eq!(seen, vec![("READ".to_owned(), of(added))]);
            } else {
                prop_assert!(seen.is_empty());
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text: String, point: String) {
            let _ = MountCounters::of(&text, &point);
        }
    }
}
