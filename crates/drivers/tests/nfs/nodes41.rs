//! The files of the scripted server of NFSv4.1.

use std::collections::BTreeMap;

use wire::nfs3::{Name, Path};
use wire::nfs4::*;
use wire::xdr::Encode;

use crate::server41::{State, attributes, handle};

/// Executes an operation on the current file, and writes its outcome unless it fails.
pub fn run(
    state: &mut State,
    current: &mut u64,
    operation: &OpArgument<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Nfs4Status> {
    let outcome = match operation {
        OpArgument::ReclaimComplete(_) => {
            state.reclaims += 1;
            OpOutcome::ReclaimComplete(Ok(()))
        }
        OpArgument::PutRootFh(()) => {
            *current = 1;
            OpOutcome::PutRootFh(Ok(()))
        }
        OpArgument::PutFh(Handle(file)) => {
            let bytes = file.as_bytes();
            let id = u64::from_be_bytes(bytes[bytes.len() - 8..].try_into().unwrap());
            if !state.nodes.contains_key(&id) {
                return Err(Nfs4Status::STALE);
            }
            *current = id;
            OpOutcome::PutFh(Ok(()))
        }
        OpArgument::GetFh(()) => OpOutcome::GetFh(Ok(handle(*current))),
        OpArgument::Lookup(name) => {
            *current = find(state, *current, name).ok_or(Nfs4Status::NOENT)?;
            OpOutcome::Lookup(Ok(()))
        }
        OpArgument::GetAttr(wanted) => {
            let (mask, values) = attributes(*current, &state.nodes[current], wanted);
            OpOutcome::GetAttr(Ok(Fattr { mask, values: &values })).encode(out);
            return Ok(());
        }
        OpArgument::Access(access) => {
            OpOutcome::Access(Ok(Access4Ok { supported: *access, access: *access }))
        }
        OpArgument::Open(open) => {
            assert!(open.access & OpenArgs::NO_DELEGATION != 0, "delegations are declined");
            let Claim::Name(name) = open.claim else { return Err(Nfs4Status::NOTSUPP) };
            let found = find(state, *current, &name);
            *current = match (found, open.how) {
                (Some(_), OpenHow::Create(OpenCreate::Guarded(_))) => return Err(Nfs4Status::EXIST),
                (None, OpenHow::Existing) => return Err(Nfs4Status::NOENT),
                (found, _) => found.unwrap_or_else(|| add(state, *current, &name, false)),
            };
            OpOutcome::Open(Ok(OpenOk {
                state: state.opens.open(open.owner.0, *current),
                directory: ChangeInfo::default(),
                flags: 0,
                set: Bitmap::EMPTY,
                delegation: Delegation::Refused(3, false),
            }))
        }
        OpArgument::Close(close) => OpOutcome::Close(Ok(state.opens.close(close.state, *current)?)),
        OpArgument::Create(wanted) => {
            if find(state, *current, &wanted.name).is_some() {
                return Err(Nfs4Status::EXIST);
            }
            *current = match wanted.what {
                CreateWhat::Directory => add(state, *current, &wanted.name, true),
                CreateWhat::Symlink(target) => {
                    let id = add(state, *current, &wanted.name, false);
                    state.nodes.get_mut(&id).unwrap().3 = target.0.to_vec();
                    id
                }
                _ => return Err(Nfs4Status::BADTYPE),
            };
            OpOutcome::Create(Ok(Create4Ok { directory: ChangeInfo::default(), set: Bitmap::EMPTY }))
        }
        OpArgument::Remove(name) => {
            let id = find(state, *current, name).ok_or(Nfs4Status::NOENT)?;
            if state.nodes.values().any(|node| node.0 == id) {
                return Err(Nfs4Status::NOTEMPTY);
            }
            state.nodes.remove(&id);
            OpOutcome::Remove(Ok(ChangeInfo::default()))
        }
        OpArgument::Read(read) => {
            assert_eq!(read.state, StateId::ANONYMOUS);
            let data = &state.nodes[current].3;
            let start = (read.offset as usize).min(data.len());
            let end = (start + read.count as usize).min(data.len());
            let (eof, data) = (end == data.len(), &data[start..end]);
            OpOutcome::Read(Ok(Read4Ok { eof, data })).encode(out);
            return Ok(());
        }
        OpArgument::Write(write) => {
            let data = &mut state.nodes.get_mut(current).unwrap().3;
            let end = write.offset as usize + write.data.len();
            data.resize(data.len().max(end), 0);
            data[write.offset as usize..end].copy_from_slice(write.data);
            let count = write.data.len() as u32;
            OpOutcome::Write(Ok(Write4Ok { count, committed: write.stable, verifier: [3; 8] }))
        }
        OpArgument::SaveFh(()) => {
            state.saved = *current;
            OpOutcome::SaveFh(Ok(()))
        }
        OpArgument::Rename(names) => {
            let id = find(state, state.saved, &names.from).ok_or(Nfs4Status::NOENT)?;
            if let Some(replaced) = find(state, *current, &names.to) {
                state.nodes.remove(&replaced);
            }
            let node = state.nodes.get_mut(&id).unwrap();
            (node.0, node.1) = (*current, String::from_utf8(names.to.0.to_vec()).unwrap());
            OpOutcome::Rename(Ok(RenameOk { from: ChangeInfo::default(), to: ChangeInfo::default() }))
        }
        // A link is a copy here.
        OpArgument::Link(name) => {
            if find(state, *current, name).is_some() {
                return Err(Nfs4Status::EXIST);
            }
            let id = add(state, *current, name, false);
            let data = state.nodes[&state.saved].3.clone();
            state.nodes.get_mut(&id).unwrap().3 = data;
            OpOutcome::Link(Ok(ChangeInfo::default()))
        }
        OpArgument::ReadLink(()) => {
            let target = &state.nodes[current].3;
            OpOutcome::ReadLink(Ok(Path(target))).encode(out);
            return Ok(());
        }
        OpArgument::SetAttr(wanted) => {
            let values = Attributes4::of(&wanted.attributes).unwrap();
            assert!(values.mode.is_none_or(|mode| mode == 0o644), "the mode of new files");
            if let Some(size) = values.size {
                assert_eq!(wanted.state, StateId::ANONYMOUS);
                state.nodes.get_mut(current).unwrap().3.resize(size as usize, 0);
            }
            let set = wanted.attributes.mask;
            OpOutcome::SetAttr(SetAttrResult { status: Nfs4Status::OK, set })
        }
        OpArgument::Commit(_) => OpOutcome::Commit(Ok([3; 8])),
        OpArgument::ReadDir(wanted) => {
            let here = state.nodes.range(wanted.cookie.max(2) + 1..).filter(|(_, node)| node.0 == *current);
            let page: Vec<_> =
                here.map(|(id, node)| (*id, node, attributes(*id, node, &wanted.attributes))).collect();
            let entries = page.iter().map(|(cookie, node, (mask, values))| Entry {
                cookie: *cookie,
                name: Name(node.1.as_bytes()),
                attributes: Fattr { mask: *mask, values },
            });
            let page = ReadDirOk { verifier: [0; 8], entries: entries.collect(), eof: true };
            OpOutcome::ReadDir(Ok(page)).encode(out);
            return Ok(());
        }
        _ => return Err(Nfs4Status::NOTSUPP),
    };
    outcome.encode(out);
    Ok(())
}

/// What clients have open: owner, file and number of each.
#[derive(Default)]
pub struct Opens {
    all: BTreeMap<[u8; 12], (Vec<u8>, u64, u32)>,
    last: u64,
    /// That of the last OPEN.
    current: Option<StateId>,
}

impl Opens {
    /// A second open of a file by the same owner is merged with the first (RFC 8881 section 18.16.3).
    fn open(&mut self, owner: &[u8], file: u64) -> StateId {
        let same = self.all.iter_mut().find(|(_, open)| open.0 == owner && open.1 == file);
        let state = match same {
            Some((other, open)) => {
                open.2 += 1;
                StateId { sequence: open.2, other: *other }
            }
            None => {
                self.last += 1;
                let mut other = [7; 12];
                other[4..].copy_from_slice(&self.last.to_be_bytes());
                self.all.insert(other, (owner.to_vec(), file, 1));
                StateId { sequence: 1, other }
            }
        };
        self.current = Some(state);
        state
    }

    fn close(&mut self, state: StateId, file: u64) -> Result<StateId, Nfs4Status> {
        let state = if state == StateId::CURRENT { self.current.take().unwrap() } else { state };
        match self.all.remove(&state.other) {
            Some((_, of, sequence)) => {
                assert_eq!((of, sequence), (file, state.sequence));
                Ok(StateId { sequence: sequence + 1, other: state.other })
            }
            None => Err(Nfs4Status::BAD_STATEID),
        }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn forget(&mut self) {
        self.all.clear();
    }
}

fn find(state: &State, parent: u64, name: &Name<'_>) -> Option<u64> {
    let here = |node: &(u64, String, bool, Vec<u8>)| node.0 == parent && node.1.as_bytes() == name.0;
    state.nodes.iter().find(|(_, node)| here(node)).map(|(id, _)| *id)
}

fn add(state: &mut State, parent: u64, name: &Name<'_>, directory: bool) -> u64 {
    let id = state.nodes.keys().max().unwrap() + 1;
    let name = String::from_utf8(name.0.to_vec()).unwrap();
    state.nodes.insert(id, (parent, name, directory, Vec::new()));
    id
}
