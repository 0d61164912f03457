//! What clients have open (RFC 8881 sections 8.2, 9.7 and 18.16).

use std::collections::HashMap;

use wire::nfs4::{Nfs4Status, OpenArgs, StateId};

use super::{OPENS_MAX, State};
use crate::files::NodeId;

/// A file: its file system's number, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct FileKey {
    pub(in super::super) system: u64,
    pub(in super::super) node: NodeId,
}

/// Who opens a file, and for what.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Opening<'a> {
    pub(in super::super) client: u64,
    pub(in super::super) owner: &'a [u8],
    /// [`OpenArgs::READ`] and [`OpenArgs::WRITE`].
    pub(in super::super) access: u32,
    /// The same, denied to others.
    pub(in super::super) deny: u32,
}

/// An open: there is one for each owner and file.
#[derive(Debug)]
struct Open {
    number: u64,
    client: u64,
    owner: Box<[u8]>,
    sequence: u32,
    access: u32,
    deny: u32,
}

impl Open {
    fn is_of(&self, opening: &Opening<'_>) -> bool {
        self.client == opening.client && *self.owner == *opening.owner
    }
}

/// All opens.
#[derive(Debug, Default)]
pub(super) struct Opens {
    by_file: HashMap<FileKey, Vec<Open>>,
    files: HashMap<u64, FileKey>,
    /// How many deny something to others.
    denying: usize,
}

impl Opens {
    pub(super) fn any_of(&self, client: u64) -> bool {
        self.by_file.values().flatten().any(|open| open.client == client)
    }

    pub(super) fn forget(&mut self, client: u64) {
        let (files, denying) = (&mut self.files, &mut self.denying);
        self.by_file.retain(|_, opens| {
            opens.retain(|open| {
                let stays = open.client != client;
                if !stays {
                    files.remove(&open.number);
                    *denying -= usize::from(open.deny != 0);
                }
                stays
            });
            !opens.is_empty()
        });
    }

    fn conflicts(&self, file: FileKey, opening: &Opening<'_>) -> bool {
        let Some(opens) = self.by_file.get(&file) else { return false };
        (self.denying > 0 || opening.deny != 0)
            && opens.iter().any(|open| {
                !open.is_of(opening) && (open.deny & opening.access != 0 || opening.deny & open.access != 0)
            })
    }

    /// The open of a state that a client presents for a file.
    fn find(
        &mut self,
        client: u64,
        file: FileKey,
        number: u64,
        sequence: u32,
    ) -> Result<&mut Open, Nfs4Status> {
        let opens = self.by_file.get_mut(&file).ok_or(Nfs4Status::BAD_STATEID)?;
        let open = opens.iter_mut().find(|open| open.number == number && open.client == client);
        let open = open.ok_or(Nfs4Status::BAD_STATEID)?;
        match sequence {
            // "The current one."
            0 => Ok(open),
            _ if sequence == open.sequence => Ok(open),
            _ if sequence < open.sequence => Err(Nfs4Status::OLD_STATEID),
            _ => Err(Nfs4Status::BAD_STATEID),
        }
    }
}

impl State {
    /// Whether what others have open stands in the way.
    pub(in super::super) fn may_share(&self, file: FileKey, opening: &Opening<'_>) -> Result<(), Nfs4Status> {
        match self.known().opens.conflicts(file, opening) {
            true => Err(Nfs4Status::SHARE_DENIED),
            false => Ok(()),
        }
    }

    /// OPEN of a file that exists. A second one of the same owner extends the first.
    pub(in super::super) fn open(&self, file: FileKey, opening: &Opening<'_>) -> Result<StateId, Nfs4Status> {
        let known = &mut *self.known();
        if !known.clients.contains_key(&opening.client) {
            return Err(Nfs4Status::EXPIRED);
        }
        if known.opens.conflicts(file, opening) {
            return Err(Nfs4Status::SHARE_DENIED);
        }
        let Opening { client, owner, access, deny } = *opening;
        let opens = &mut known.opens;
        let same =
            opens.by_file.get_mut(&file).and_then(|all| all.iter_mut().find(|open| open.is_of(opening)));
        if let Some(open) = same {
            opens.denying += usize::from(open.deny == 0 && deny != 0);
            (open.access, open.deny) = (open.access | access, open.deny | deny);
            open.sequence += 1;
            return Ok(StateId { sequence: open.sequence, other: self.state_other(open.number) });
        }
        if opens.files.len() >= OPENS_MAX {
            return Err(Nfs4Status::DELAY);
        }
        known.last_number += 1;
        let number = known.last_number;
        opens.files.insert(number, file);
        opens.denying += usize::from(deny != 0);
        let open = Open { number, client, owner: owner.into(), sequence: 1, access, deny };
        opens.by_file.entry(file).or_default().push(open);
        Ok(StateId { sequence: 1, other: self.state_other(number) })
    }

    /// CLOSE; the returned state is not valid any more.
    pub(in super::super) fn close(
        &self,
        client: u64,
        file: FileKey,
        state: StateId,
    ) -> Result<StateId, Nfs4Status> {
        let number = self.state_number(&state.other).ok_or(Nfs4Status::BAD_STATEID)?;
        let opens = &mut self.known().opens;
        let open = opens.find(client, file, number, state.sequence)?;
        let (sequence, denies) = (open.sequence + 1, open.deny != 0);
        opens.denying -= usize::from(denies);
        opens.files.remove(&number);
        if let Some(all) = opens.by_file.get_mut(&file) {
            all.retain(|open| open.number != number);
            if all.is_empty() {
                opens.by_file.remove(&file);
            }
        }
        Ok(StateId { sequence, ..state })
    }

    /// Whether I/O (`wanted`: [`OpenArgs::READ`] or [`OpenArgs::WRITE`]) with this state is allowed.
    pub(in super::super) fn may_use(
        &self,
        client: u64,
        file: FileKey,
        state: StateId,
        wanted: u32,
    ) -> Result<(), Nfs4Status> {
        if matches!(state, StateId::ANONYMOUS | StateId::READ_BYPASS) {
            // Reads past denials are allowed, writes past them are not.
            let wanted = if state == StateId::READ_BYPASS { wanted & OpenArgs::WRITE } else { wanted };
            let nobody = Opening { client: 0, owner: &[], access: wanted, deny: 0 };
            return match self.known().opens.conflicts(file, &nobody) {
                true => Err(Nfs4Status::LOCKED),
                false => Ok(()),
            };
        }
        let number = self.state_number(&state.other).ok_or(Nfs4Status::BAD_STATEID)?;
        let open = self.known().opens.find(client, file, number, state.sequence).map(|open| open.access)?;
        // Who may write may read, for caches that fill their pages (section 18.22.3).
        match wanted == OpenArgs::READ || open & wanted == wanted {
            true => Ok(()),
            false => Err(Nfs4Status::OPENMODE),
        }
    }

    /// TEST_STATEID for one state.
    pub(in super::super) fn test(&self, client: u64, state: StateId) -> Nfs4Status {
        let Some(number) = self.state_number(&state.other) else { return Nfs4Status::BAD_STATEID };
        let opens = &mut self.known().opens;
        let Some(file) = opens.files.get(&number).copied() else { return Nfs4Status::BAD_STATEID };
        match opens.find(client, file, number, state.sequence) {
            Ok(_) => Nfs4Status::OK,
            Err(status) => status,
        }
    }
}
