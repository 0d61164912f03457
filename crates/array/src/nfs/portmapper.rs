//! The portmapper of a data address: it knows its own three programs, over TCP.

use wire::portmap::{self, Dump, Mapping, PROTOCOL_TCP};
use wire::xdr::{DecodeError, Encode};
use wire::{mount, nfs3, nfs4};

use super::call::Call;
use super::out::Out;
use super::service::{Ports, arguments};

/// Executes a call of the portmapper.
pub(super) fn answer(
    ports: &Ports,
    call: &Call<'_>,
    procedure: u32,
    out: &mut Out,
) -> Result<(), DecodeError> {
    match procedure {
        portmap::PROC_GETPORT => {
            let wanted: Mapping = arguments(call)?;
            let found = mappings(ports).into_iter().find(|mapping| {
                (mapping.program, mapping.version, mapping.protocol)
                    == (wanted.program, wanted.version, wanted.protocol)
            });
            out.reply(call.xid, |bytes| found.map_or(0, |mapping| mapping.port).encode(bytes));
        }
        portmap::PROC_DUMP => out.reply(call.xid, |bytes| Dump(mappings(ports).to_vec()).encode(bytes)),
        _ => out.reply(call.xid, |_| {}),
    }
    Ok(())
}

fn mappings(ports: &Ports) -> [Mapping; 4] {
    let tcp =
        |program, version, port| Mapping { program, version, protocol: PROTOCOL_TCP, port: u32::from(port) };
    [
        tcp(portmap::PROGRAM, portmap::VERSION, ports.portmap),
        tcp(mount::PROGRAM, mount::VERSION, ports.mount),
        tcp(nfs3::PROGRAM, nfs3::VERSION, ports.nfs),
        tcp(nfs4::PROGRAM, nfs4::VERSION, ports.nfs),
    ]
}
