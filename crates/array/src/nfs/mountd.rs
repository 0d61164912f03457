//! The MOUNT program: each file system is an export, under `/` and its name.

use std::net::IpAddr;
use std::sync::Arc;

use wire::mount::{self, DirPath, Export, GroupName, MountResult, MountStatus, Mounted};
use wire::nfs3::FileType;
use wire::rpc::AUTH_SYS;
use wire::xdr::{DecodeError, Encode};

use super::call::{Call, LIST_REPLY_MAX};
use super::mounts::MountList;
use super::out::Out;
use super::service::arguments;
use crate::files::{Caller, ExportVersion, FileSystem, Files, NodeId};

/// Lists who mounted what: no arguments, returns a list of client and path.
const PROC_DUMP: u32 = 2;

/// Executes a call of MOUNT.
pub(super) fn answer(
    files: &Files,
    mounts: &mut MountList,
    call: &Call<'_>,
    procedure: u32,
    peer: IpAddr,
    out: &mut Out,
) -> Result<(), DecodeError> {
    match procedure {
        mount::PROC_MNT => {
            let path: DirPath<'_> = arguments(call)?;
            let result = mount_path(files, path.0, peer);
            if result.is_ok() {
                mounts.add(peer, path.0);
            }
            out.reply(call.xid, |bytes| result.encode(bytes));
        }
        mount::PROC_UMNT => {
            let path: DirPath<'_> = arguments(call)?;
            mounts.remove(peer, Some(path.0));
            out.reply(call.xid, |_| {});
        }
        mount::PROC_UMNTALL => {
            mounts.remove(peer, None);
            out.reply(call.xid, |_| {});
        }
        mount::PROC_EXPORT => {
            let exports = files.exports(ExportVersion::V3);
            let paths: Vec<String> = exports.iter().map(|export| format!("/{}", export.name)).collect();
            out.reply(call.xid, |bytes| {
                put_bounded(
                    bytes,
                    paths.iter().map(|path| Export { path: DirPath(path.as_bytes()), groups: Vec::new() }),
                );
            });
        }
        PROC_DUMP => {
            let names: Vec<_> = mounts.iter().map(|(client, path)| (client.to_string(), path)).collect();
            out.reply(call.xid, |bytes| {
                put_bounded(bytes, names.iter().map(|(client, path)| MountEntry { client, path }));
            });
        }
        _ => out.reply(call.xid, |_| {}),
    }
    Ok(())
}

/// A line of DUMP (`mountbody`).
struct MountEntry<'a> {
    client: &'a str,
    path: &'a [u8],
}

impl Encode for MountEntry<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        GroupName(self.client.as_bytes()).encode(out);
        DirPath(self.path).encode(out);
    }
}

/// Appends a list, truncated where the reply would exceed its space.
fn put_bounded<T: Encode>(out: &mut Vec<u8>, elements: impl Iterator<Item = T>) {
    for element in elements {
        let mark = out.len();
        true.encode(out);
        element.encode(out);
        if out.len() + 4 > LIST_REPLY_MAX {
            out.truncate(mark);
            break;
        }
    }
    false.encode(out);
}

/// Finds an export, or a directory below one.
fn mount_path(files: &Files, path: &[u8], peer: IpAddr) -> MountResult {
    let path = std::str::from_utf8(path).map_err(|_| MountStatus::NOENT)?;
    let mut parts =
        path.strip_prefix('/').ok_or(MountStatus::NOENT)?.split('/').filter(|part| !part.is_empty());
    let name = parts.next().ok_or(MountStatus::NOENT)?;
    let (system, options) = files.exported(name, ExportVersion::V3).ok_or(MountStatus::NOENT)?;
    if !options.admits(peer) {
        return Err(MountStatus::ACCES);
    }
    let directory = descend(&system, parts)?;
    Ok(Mounted { root: system.handle(directory), flavors: vec![AUTH_SYS] })
}

fn descend<'a>(
    system: &Arc<FileSystem>,
    parts: impl Iterator<Item = &'a str>,
) -> Result<NodeId, MountStatus> {
    let tree = system.lock();
    let mut at = tree.root();
    for part in parts {
        at = tree.lookup(at, &Caller::root(), part.as_bytes()).map_err(|status| MountStatus(status.0))?;
    }
    match tree.attributes(at).map(|attributes| attributes.kind) {
        Ok(FileType::Directory) => Ok(at),
        _ => Err(MountStatus::NOTDIR),
    }
}
