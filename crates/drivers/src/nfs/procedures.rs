//! Names of procedures in results.

use metrics::CallKind;
use wire::nfs3::Procedure;

use super::config::NfsVersion;

/// The name under which a procedure's calls are counted: in version 4.1 that of the operation which takes its place in the
/// COMPOUND.
#[inline]
pub(super) fn rpc_kind(version: NfsVersion, procedure: Procedure) -> CallKind {
    match (version, procedure) {
        (NfsVersion::V4_1, Procedure::Create) => CallKind::Open,
        (NfsVersion::V4_1, Procedure::Mkdir | Procedure::Symlink) => CallKind::Create,
        (NfsVersion::V4_1, Procedure::Rmdir) => CallKind::Remove,
        (NfsVersion::V4_1, Procedure::Readdirplus) => CallKind::Readdir,
        // Both are in the order of RFC 1813.
        _ => CallKind::ALL[procedure as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_procedure_has_its_own_name() {
        for number in 0..22 {
            let procedure = Procedure::from_wire(number).unwrap();
            assert_eq!(rpc_kind(NfsVersion::V3, procedure).name(), procedure.name());
        }
    }

    /// Each name is one of version 4.1's operations.
    #[test]
    fn compounds_have_names_of_operations() {
        for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 21] {
            let name = rpc_kind(NfsVersion::V4_1, Procedure::from_wire(number).unwrap()).name();
            let known = (1..60).filter_map(|number| wire::nfs4::Operation::from_wire(number).ok());
            assert!(known.map(wire::nfs4::Operation::name).any(|known| known == name), "{name}");
        }
    }
}
