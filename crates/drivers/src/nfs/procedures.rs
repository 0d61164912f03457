//! Names of procedures in results.

use metrics::RpcKind;
use wire::nfs3::Procedure;

/// The name under which a procedure's calls are counted.
#[inline]
pub(super) fn rpc_kind(procedure: Procedure) -> RpcKind {
    // Both are in the order of RFC 1813.
    RpcKind::ALL[procedure as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_procedure_has_its_own_name() {
        for number in 0..22 {
            let procedure = Procedure::from_wire(number).unwrap();
            assert_eq!(rpc_kind(procedure).name(), procedure.name());
        }
    }
}
