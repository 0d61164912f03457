//! What the operations of a measurement cost on the server, by the counters of others: of the kernel's mount, of a
//! cluster's own statistics, of any command.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

/// What servers were asked to do during the measurement of a cell: by all their users, not only by the cell's operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerCalls {
    /// Who counted.
    pub counter: CallCounter,
    /// The mount point, the volume, the metadata servers or the command.
    pub name: String,
    /// The operations of the cell meanwhile, of all kinds, failed ones and the warm-up's included.
    pub operations: u64,
    /// The calls by procedure, most first.
    pub procedures: Vec<ProcedureCalls>,
}

/// Who counts calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallCounter {
    /// The kernel's NFS client, for each mount.
    Mount,
    /// The bricks of a Gluster volume.
    Gluster,
    /// Ceph's metadata servers.
    Ceph,
    /// A command.
    Command,
}

/// The calls of one procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcedureCalls {
    /// The procedure, as its counter names it.
    pub procedure: String,
    /// To all servers together.
    #[serde(flatten)]
    pub all: CallFigures,
    /// To each server that was called, most first.
    pub servers: Vec<ServerFigures>,
}

/// The calls of one procedure to one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerFigures {
    /// The server, as its counter names it: a host, a brick.
    pub server: String,
    /// Its calls.
    #[serde(flatten)]
    pub figures: CallFigures,
}

/// Calls, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFigures {
    /// Calls; those of a mount include retransmits.
    pub calls: u64,
    /// The same per operation of the cell.
    pub calls_per_op: f64,
    /// Calls that ended with an error; `None` if nobody counts them.
    pub errors: Option<u64>,
    /// Mean time of a call, as its counter defines it, in nanoseconds; `None` if nobody measures it.
    pub mean_ns: Option<f64>,
}

impl ServerCalls {
    /// What was counted, in words: `RPCs of the mount /mnt/data`.
    pub fn title(&self) -> String {
        let what = match self.counter {
            CallCounter::Mount => "RPCs of the mount",
            CallCounter::Gluster => "calls to the bricks of the volume",
            CallCounter::Ceph => "requests to the metadata servers",
            CallCounter::Command => "calls counted by",
        };
        format!("{what} {}", self.name)
    }
}

/// The form in which results before `server_calls` have the RPCs of a mount.
#[derive(Deserialize)]
struct MountRpcs {
    mount: String,
    operations: u64,
    procedures: Vec<RpcCount>,
}

#[derive(Deserialize)]
struct RpcCount {
    server: String,
    procedure: String,
    #[serde(flatten)]
    figures: CallFigures,
}

impl From<MountRpcs> for ServerCalls {
    fn from(old: MountRpcs) -> Self {
        let MountRpcs { mount, operations, procedures } = old;
        let mut by_name: BTreeMap<String, Vec<ServerFigures>> = BTreeMap::new();
        for RpcCount { server, procedure, figures } in procedures {
            by_name.entry(procedure).or_default().push(ServerFigures { server, figures });
        }
        // A mount has one server.
        let procedure = |(procedure, servers): (String, Vec<ServerFigures>)| {
            let all = servers.first()?.figures;
            Some(ProcedureCalls { procedure, all, servers })
        };
        let mut procedures: Vec<_> = by_name.into_iter().filter_map(procedure).collect();
        procedures.sort_by_key(|one| std::cmp::Reverse(one.all.calls));
        Self { counter: CallCounter::Mount, name: mount, operations, procedures }
    }
}

/// Reads a list, or the one mount of older results.
pub(crate) fn list<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<ServerCalls>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        List(Vec<ServerCalls>),
        Mount(MountRpcs),
    }
    Ok(match Stored::deserialize(input)? {
        Stored::List(list) => list,
        Stored::Mount(old) => vec![old.into()],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_mount_of_older_results_is_read() {
        let count = |procedure: &str, calls: u64| {
            json!({"server": "filer", "procedure": procedure, "calls": calls, "calls_per_op": 0.5,
                   "errors": null, "mean_ns": 1.5e6})
        };
        let old = json!({"mount": "/mnt/data", "operations": 40, "procedures": [count("OPEN", 20), count("CLOSE", 30)]});
        let read = list(old).unwrap();
        assert_eq!(
            (read.len(), &*read[0].title(), read[0].operations),
            (1, "RPCs of the mount /mnt/data", 40)
        );
        let names: Vec<_> = read[0].procedures.iter().map(|one| (&*one.procedure, one.all.calls)).collect();
        assert_eq!(names, [("CLOSE", 30), ("OPEN", 20)]);
        assert_eq!(read[0].procedures[0].servers[0].server, "filer");
        let again = serde_json::to_value(&read).unwrap();
        assert_eq!(list(again).unwrap(), read);
    }
}
