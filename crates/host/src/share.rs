//! Which files or objects of a cell one host of a fleet fills, verifies and loads.

use engine::DataSet;
use experiment::{Cell, Sharing, Workload};
use fleet::{HostRefusal, HostShare};
use targets::{FilesByName, OpenTarget};

/// What a host fills and verifies of numbered files or objects, and what it loads.
pub fn numbered(
    opened: &(dyn OpenTarget + 'static),
    workload: &Workload,
    HostShare { index, of, sharing }: HostShare,
    writes: bool,
) -> (DataSet, DataSet) {
    let own = match sharing {
        Sharing::Own => opened.data_set(workload),
        Sharing::Disjoint | Sharing::Common | Sharing::Neighbour => opened.data_set_of(workload, index, 1),
    };
    let loaded = match sharing {
        Sharing::Own | Sharing::Disjoint => own.clone(),
        Sharing::Common => opened.data_set_of(workload, 0, of),
        Sharing::Neighbour if writes => own.clone(),
        Sharing::Neighbour => opened.data_set_of(workload, (index + 1) % of.max(1), 1),
    };
    (own, loaded)
}

/// The same for files that the user named: all, or with `disjoint` this host's part of the list.
///
/// # Errors
/// There are fewer files than hosts, or hosts would read what others wrote.
pub fn by_name(
    files: &FilesByName,
    HostShare { index, of, sharing }: HostShare,
    cell: &Cell,
) -> Result<(DataSet, DataSet), HostRefusal> {
    let all = files.numbers();
    let refused = |text: &str| {
        let text = format!("workload {}: {text}", cell.workload_name);
        Err(HostRefusal { input: true, ..HostRefusal::failed(text) })
    };
    let numbers = match sharing {
        Sharing::Own | Sharing::Common => all,
        Sharing::Disjoint if all.end < u64::from(of) => {
            let text = format!(
                "sharing: disjoint divides {} files among {of} hosts: some have none; name at least one for each host",
                all.end
            );
            return refused(&text);
        }
        Sharing::Disjoint => {
            let from = |index: u32| all.end * u64::from(index) / u64::from(of.max(1));
            from(index)..from(index + 1)
        }
        Sharing::Neighbour => {
            return refused(
                "files with names do not go with sharing: neighbour; write own, disjoint or common",
            );
        }
    };
    let part = files.data_set(numbers);
    Ok((part.clone(), part))
}
