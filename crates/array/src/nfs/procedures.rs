//! The 22 procedures of NFSv3: decodes arguments, operates on the tree, encodes results.

use std::sync::Arc;

use wire::nfs3::{
    AccessArgs, AccessOk, Attributes, CommitArgs, CommitOk, CreateArgs, CreateOk, DirArgs, FileHandle,
    FileType, FsinfoOk, FsstatOk, LinkArgs, LinkWcc, LookupOk, MkdirArgs, MknodArgs, MknodWhat, NfsFailure,
    Path, PathconfOk, Procedure, ProcedureResult, ReadArgs, ReadlinkOk, RenameArgs, RenameWcc, SetattrArgs,
    Status, SymlinkArgs, Time, WccData, WriteArgs, WriteOk,
};
use wire::xdr::{DecodeError, Encode};

use super::call::{Call, IO_MAX, LISTING_MAX};
use super::listing;
use super::out::Out;
use super::service::{Execution, arguments};
use crate::files::{FILE_SIZE_MAX, FileSystem, Files, LINK_MAX, Made, NAME_MAX, NodeId, Tree, What};

/// File slots reported by FSSTAT; there is no real limit.
const FILE_SLOTS: u64 = 1 << 32;

type PostOp = Option<Attributes>;

/// Executes a call of NFS.
pub(super) fn answer(
    files: &Files,
    call: &Call<'_>,
    procedure: Procedure,
    out: &mut Out,
    execution: Execution,
) -> Result<(), DecodeError> {
    let xid = call.xid;
    match procedure {
        Procedure::Null => out.reply(xid, |_| {}),
        Procedure::Getattr => {
            let file: FileHandle = arguments(call)?;
            let result = files.resolve(&file).and_then(|(system, node)| system.lock().attributes(node));
            out.outcome::<_, ()>(xid, result);
        }
        Procedure::Read => {
            let read: ReadArgs = arguments(call)?;
            out.read(xid, call.read_count(), |space| {
                let (system, node) = files.resolve(&read.file)?;
                execution.read(&mut system.lock(), node, &call.caller, read.offset, space)
            });
        }
        Procedure::Write => {
            out.outcome::<_, WccData>(xid, write(files, call, &arguments(call)?, execution));
        }
        Procedure::Commit => {
            let commit: CommitArgs = arguments(call)?;
            let result = files.resolve(&commit.file).and_then(|(system, node)| {
                let done = system.lock().commit(node)?;
                Ok(CommitOk { attributes: done.attributes, verifier: done.verifier })
            });
            out.outcome::<_, WccData>(xid, result);
        }
        Procedure::Lookup => out.outcome::<_, PostOp>(xid, lookup(files, call, &arguments(call)?)),
        Procedure::Access => {
            let asked: AccessArgs = arguments(call)?;
            let result = files.resolve(&asked.file).and_then(|(system, node)| {
                let (access, attributes) = system.lock().access(node, &call.caller, asked.access)?;
                Ok(AccessOk { attributes: Some(attributes), access })
            });
            out.outcome::<_, PostOp>(xid, result);
        }
        Procedure::Setattr => {
            let wanted: SetattrArgs = arguments(call)?;
            let result = files.resolve(&wanted.file).and_then(|(system, node)| {
                system.lock().set_attributes(node, &call.caller, &wanted.attributes, wanted.guard)
            });
            out.outcome::<_, WccData>(xid, result);
        }
        Procedure::Readlink => readlink(files, xid, &arguments(call)?, out),
        Procedure::Create | Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
            out.outcome::<_, WccData>(xid, make(files, call, procedure)?);
        }
        Procedure::Remove | Procedure::Rmdir => {
            let place: DirArgs<'_> = arguments(call)?;
            let result = files.resolve(&place.directory).and_then(|(system, node)| {
                system.lock().remove(node, &call.caller, place.name.0, procedure == Procedure::Rmdir)
            });
            out.outcome::<_, WccData>(xid, result);
        }
        Procedure::Rename => {
            let done = rename(files, call, &arguments(call)?, execution == Execution::Unfaithful);
            out.outcome::<_, RenameWcc>(xid, done);
        }
        Procedure::Link => out.outcome::<_, LinkWcc>(xid, link(files, call, &arguments(call)?)),
        Procedure::Readdir => listing::readdir(files, call, &arguments(call)?, out),
        Procedure::Readdirplus => listing::readdirplus(files, call, &arguments(call)?, out),
        Procedure::Fsstat => out.outcome::<_, PostOp>(xid, fsstat(files, &arguments(call)?)),
        Procedure::Fsinfo => out.outcome::<_, PostOp>(xid, fsinfo(files, &arguments(call)?)),
        Procedure::Pathconf => out.outcome::<_, PostOp>(xid, pathconf(files, &arguments(call)?)),
    }
    Ok(())
}

fn write(
    files: &Files,
    call: &Call<'_>,
    write: &WriteArgs<'_>,
    execution: Execution,
) -> Result<WriteOk, Status> {
    if write.count as usize != write.data.len() {
        return Err(Status::INVAL);
    }
    let (system, node) = files.resolve(&write.file)?;
    let mut tree = system.lock();
    let (done, committed) =
        execution.write(&mut tree, node, &call.caller, write.offset, write.data, write.stable)?;
    Ok(WriteOk { attributes: done.attributes, count: write.count, committed, verifier: done.verifier })
}

fn lookup(files: &Files, call: &Call<'_>, place: &DirArgs<'_>) -> Result<LookupOk, Status> {
    let (system, directory) = files.resolve(&place.directory)?;
    let tree = system.lock();
    let node = tree.lookup(directory, &call.caller, place.name.0)?;
    Ok(LookupOk {
        file: system.handle(node),
        attributes: tree.attributes(node).ok(),
        directory: tree.attributes(directory).ok(),
    })
}

fn readlink(files: &Files, xid: u32, link: &FileHandle, out: &mut Out) {
    let (system, node) = match files.resolve(link) {
        Ok(found) => found,
        Err(status) => return out.outcome::<(), PostOp>(xid, Err(status)),
    };
    let tree = system.lock();
    let result = tree
        .readlink(node)
        .map(|(target, attributes)| ReadlinkOk { attributes: Some(attributes), target: Path(target) });
    let outcome: ProcedureResult<ReadlinkOk<'_>, PostOp> =
        result.map_err(|status| NfsFailure { status, detail: None });
    out.reply(xid, |bytes| outcome.encode(bytes));
}

/// CREATE, MKDIR, SYMLINK and MKNOD.
fn make(
    files: &Files,
    call: &Call<'_>,
    procedure: Procedure,
) -> Result<Result<CreateOk, Status>, DecodeError> {
    let caller = &call.caller;
    let of_kind = |place: &DirArgs<'_>, what, attributes: &_| -> Result<CreateOk, Status> {
        let (system, directory) = files.resolve(&place.directory)?;
        let made = system.lock().make(directory, caller, place.name.0, what, attributes)?;
        Ok(created(&system, &made))
    };
    Ok(match procedure {
        Procedure::Mkdir => {
            let args: MkdirArgs<'_> = arguments(call)?;
            of_kind(&args.place, What::Directory, &args.attributes)
        }
        Procedure::Symlink => {
            let args: SymlinkArgs<'_> = arguments(call)?;
            of_kind(&args.place, What::Symlink(args.target.0), &args.attributes)
        }
        Procedure::Mknod => {
            let args: MknodArgs<'_> = arguments(call)?;
            match args.what {
                MknodWhat::Character(attributes, device) => {
                    of_kind(&args.place, What::Special(FileType::Character, device), &attributes)
                }
                MknodWhat::Block(attributes, device) => {
                    of_kind(&args.place, What::Special(FileType::Block, device), &attributes)
                }
                MknodWhat::Socket(attributes) => {
                    of_kind(&args.place, What::Special(FileType::Socket, Default::default()), &attributes)
                }
                MknodWhat::Fifo(attributes) => {
                    of_kind(&args.place, What::Special(FileType::Fifo, Default::default()), &attributes)
                }
                MknodWhat::Other(_) => Err(Status::BADTYPE),
            }
        }
        _ => {
            let args: CreateArgs<'_> = arguments(call)?;
            files.resolve(&args.place.directory).and_then(|(system, directory)| {
                let made = system.lock().create(directory, caller, args.place.name.0, &args.how)?;
                Ok(created(&system, &made))
            })
        }
    })
}

fn created(system: &Arc<FileSystem>, made: &Made) -> CreateOk {
    CreateOk {
        file: Some(system.handle(made.node)),
        attributes: Some(made.attributes),
        directory: made.directory,
    }
}

/// Resolves two handles of one file system.
fn resolve_both(
    files: &Files,
    one: &FileHandle,
    other: &FileHandle,
) -> Result<(Arc<FileSystem>, NodeId, NodeId), Status> {
    let (system, first) = files.resolve(one)?;
    let (same, second) = files.resolve(other)?;
    if Arc::ptr_eq(&system, &same) { Ok((system, first, second)) } else { Err(Status::XDEV) }
}

fn rename(files: &Files, call: &Call<'_>, args: &RenameArgs<'_>, lose: bool) -> Result<RenameWcc, Status> {
    let (system, from, to) = resolve_both(files, &args.from.directory, &args.to.directory)?;
    if lose {
        let tree = system.lock();
        tree.lookup(from, &call.caller, args.from.name.0)?;
        let as_before = |id| tree.attributes(id).map(|after| WccData { before: None, after: Some(after) });
        return Ok(RenameWcc { from: as_before(from)?, to: as_before(to)? });
    }
    let (from, to) = system.lock().rename(&call.caller, (from, args.from.name.0), (to, args.to.name.0))?;
    Ok(RenameWcc { from, to })
}

fn link(files: &Files, call: &Call<'_>, args: &LinkArgs<'_>) -> Result<LinkWcc, Status> {
    let (system, file, directory) = resolve_both(files, &args.file, &args.link.directory)?;
    let made = system.lock().link(file, &call.caller, directory, args.link.name.0)?;
    Ok(LinkWcc { attributes: Some(made.attributes), directory: made.directory })
}

/// The file slots of a file system, and how many are free.
pub(super) fn file_slots(tree: &Tree) -> (u64, u64) {
    let counts = tree.counts();
    (FILE_SLOTS, FILE_SLOTS.saturating_sub(counts.files + counts.directories + counts.others))
}

fn fsstat(files: &Files, root: &FileHandle) -> Result<FsstatOk, Status> {
    let (system, node) = files.resolve(root)?;
    let tree = system.lock();
    let (total_bytes, free_bytes) = tree.total_and_free_bytes();
    let (total_files, free_files) = file_slots(&tree);
    Ok(FsstatOk {
        attributes: Some(tree.attributes(node)?),
        total_bytes,
        free_bytes,
        available_bytes: free_bytes,
        total_files,
        free_files,
        available_files: free_files,
        invariant_seconds: 0,
    })
}

fn fsinfo(files: &Files, root: &FileHandle) -> Result<FsinfoOk, Status> {
    let (system, node) = files.resolve(root)?;
    let attributes = system.lock().attributes(node)?;
    let io_max = IO_MAX as u32;
    Ok(FsinfoOk {
        attributes: Some(attributes),
        read_max: io_max,
        read_preferred: io_max,
        read_multiple: 4096,
        write_max: io_max,
        write_preferred: io_max,
        write_multiple: 4096,
        readdir_preferred: LISTING_MAX as u32,
        file_size_max: FILE_SIZE_MAX,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: FsinfoOk::LINK | FsinfoOk::SYMLINK | FsinfoOk::HOMOGENEOUS | FsinfoOk::CAN_SET_TIME,
    })
}

fn pathconf(files: &Files, file: &FileHandle) -> Result<PathconfOk, Status> {
    let (system, node) = files.resolve(file)?;
    let attributes = system.lock().attributes(node)?;
    Ok(PathconfOk {
        attributes: Some(attributes),
        link_max: LINK_MAX,
        name_max: NAME_MAX as u32,
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    })
}
