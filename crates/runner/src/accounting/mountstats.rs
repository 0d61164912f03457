//! Counts of RPCs by procedure that the kernel's NFS client keeps for each mount, in /proc/self/mountstats.
//!
//! A mount begins with `device SERVER:PATH mounted on POINT with fstype nfs4 statvers=1.1`. After `per-op statistics`
//! follows a line for each procedure: its name, calls, transmissions, calls that timed out, bytes sent and received, then
//! the milliseconds spent queued, waiting for the reply, and in total; since Linux 5.3 the calls that ended with an
//! error (`rpc_print_iostats` in net/sunrpc/stats.c, mountstats(8)).

use super::reading::{CallCounts, CounterReading, Time};

/// The counters of the NFS mount at this mount point, if there are any.
pub fn counters(text: &str, point: &str) -> Option<CounterReading> {
    let point = escaped(point);
    let mut found = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(server) = server_of(line, &point) else { continue };
        let mut reading = CounterReading::default();
        let mut by_procedure = false;
        while let Some(line) = lines.next_if(|line| !line.starts_with("device ")) {
            if by_procedure && let Some((name, counters)) = procedure(line) {
                reading.add(&server, name, counters);
            }
            by_procedure |= line.trim() == "per-op statistics";
        }
        // Of mounts on top of each other the last is the visible one.
        found = Some(reading);
    }
    found
}

/// The server of the line that begins an NFS mount at this point.
fn server_of(line: &str, point: &str) -> Option<String> {
    let (device, mount) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
    let (at, kind) = mount.split_once(" with fstype ")?;
    let is_nfs = matches!(kind.split(' ').next(), Some("nfs" | "nfs4"));
    let server = device.split_once(":/").map_or(device, |(server, _)| server);
    (is_nfs && at == point).then(|| server.to_owned())
}

fn procedure(line: &str) -> Option<(&str, CallCounts)> {
    let (name, counts) = line.trim().split_once(": ")?;
    let counts: Vec<u64> = counts.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [calls, transmissions, _timeouts, _sent, _received, _queued_ms, waited_ms, _total_ms, ..] =
        counts[..]
    else {
        return None;
    };
    let time = Some(Time { calls, ns: waited_ms as f64 * 1e6 });
    Some((name, CallCounts { calls: transmissions, time, errors: counts.get(8).copied() }))
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

    fn reading(server: &str, procedures: &[(&str, [u64; 3], Option<u64>)]) -> CounterReading {
        let mut reading = CounterReading::default();
        for (name, [calls, transmissions, waited_ms], errors) in procedures {
            let time = Some(Time { calls: *calls, ns: *waited_ms as f64 * 1e6 });
            reading.add(server, name, CallCounts { calls: *transmissions, time, errors: *errors });
        }
        reading
    }

    #[test]
    fn a_mount_has_its_own_counters_unknown_procedures_included() {
        let expected = reading(
            "filer",
            &[
                ("NULL", [1, 1, 1], Some(0)),
                ("OPEN", [10, 12, 40], Some(3)),
                ("FUTURE_CALL", [7, 7, 7], Some(0)),
            ],
        );
        assert_eq!(counters(TEXT, "/mnt/two words"), Some(expected));
        let old = reading("[fe80::1]", &[("LOOKUP", [4, 4, 8], None)]);
        assert_eq!(counters(TEXT, "/mnt/b"), Some(old));
    }

    #[test]
    fn other_file_systems_and_broken_lines_have_no_counters() {
        assert_eq!(counters(TEXT, "/proc"), None);
        assert_eq!(counters(TEXT, "/mnt"), None);
        for line in ["", "OPEN: 1 2 3", "OPEN: 1 2 3 4 5 6 7 x", "OPEN"] {
            assert_eq!(procedure(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text: String, point: String) {
            let _ = counters(&text, &point);
        }
    }
}
