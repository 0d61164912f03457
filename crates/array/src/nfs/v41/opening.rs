//! OPEN and CLOSE, and what is asked about opens.

use std::sync::Arc;

use wire::nfs3::{CreateHow, SetAttributes, Status};
use wire::nfs4::{
    Bitmap, ChangeInfo, Claim, CloseArgs, Delegation, Fattr, Nfs4Status, OpenArgs, OpenCreate, OpenHow,
    OpenOk, STATES_MAX, StateId, StateIds,
};
use wire::xdr::Encode;

use super::attributes::wanted;
use super::compound::Run;
use super::names::{changed, unchanged};
use super::place::{Place, kind};
use super::state::{FileKey, Opening};
use super::{directory, regular, status};
use crate::files::{NodeId, Tree};

/// Flag of OPEN's result: the server would support locks of the POSIX kind; none is set here.
const NO_FLAGS: u32 = 0;
/// The bits that say which delegation is wanted.
const WISHES: u32 = 0xff00;
/// Why there is no delegation (`why_no_delegation4`): the client does not want one, or the server has none to give.
const NOT_WANTED: u32 = 0;
const NONE_LEFT: u32 = 2;

impl Run<'_> {
    /// OPEN; the file becomes the current one, and its open the current state.
    pub(super) fn open(&mut self, args: &OpenArgs<'_>) -> Result<OpenOk<'static>, Nfs4Status> {
        let within = self.within.as_ref().ok_or(Nfs4Status::OP_NOT_IN_SESSION)?;
        let access = args.access & OpenArgs::SHARES;
        if access == 0 || args.deny & !OpenArgs::SHARES != 0 {
            return Err(Nfs4Status::INVAL);
        }
        // Before RECLAIM_COMPLETE a client may only reclaim, and there is nothing to reclaim (section 18.51.3).
        if !within.reclaimed {
            return Err(Nfs4Status::GRACE);
        }
        let opening = Opening { client: within.client, owner: args.owner.0, access, deny: args.deny };
        let opened = match args.claim {
            Claim::Name(name) => {
                let (system, parent, name) = self.change(name)?;
                let system = Arc::clone(system);
                let mut tree = system.lock();
                directory(kind(&tree, parent)?)?;
                let key = |node| FileKey { system: system.id(), node };
                let file = self.named(&mut tree, (parent, name), &args.how, &opening, key)?;
                let state = self.service.clients.open(key(file.node), &opening)?;
                drop(tree);
                (Place::Node(system, file.node), state, file.directory, file.set)
            }
            Claim::Current => {
                let (system, node, file) = self.data()?;
                let system = Arc::clone(system);
                let tree = system.lock();
                if args.how != OpenHow::Existing {
                    return Err(Nfs4Status::INVAL);
                }
                may_open(&tree, node, self.caller, access)?;
                let state = self.service.clients.open(file, &opening)?;
                let info = unchanged(&tree, node)?;
                drop(tree);
                (Place::Node(system, node), state, info, Bitmap::EMPTY)
            }
        };
        let (place, state, directory, set) = opened;
        (self.current, self.state) = (Some(place), Some(state));
        let delegation = match args.access & WISHES {
            0 => Delegation::None,
            OpenArgs::NO_DELEGATION => Delegation::Refused(NOT_WANTED, false),
            _ => Delegation::Refused(NONE_LEFT, false),
        };
        Ok(OpenOk { state, directory, flags: NO_FLAGS, set, delegation })
    }

    /// Finds or creates the file of an OPEN by name.
    fn named(
        &self,
        tree: &mut Tree,
        (parent, name): (NodeId, &[u8]),
        how: &OpenHow<'_>,
        opening: &Opening<'_>,
        key: impl Fn(NodeId) -> FileKey,
    ) -> Result<Opened, Nfs4Status> {
        let found = match tree.lookup(parent, self.caller, name) {
            Ok(found) => Some(found),
            Err(Status::NOENT) => None,
            Err(other) => return Err(status(other)),
        };
        let allowed = |tree: &Tree, node| {
            may_open(tree, node, self.caller, opening.access)?;
            self.service.clients.may_share(key(node), opening)
        };
        let OpenHow::Create(create) = how else {
            let node = found.ok_or(Nfs4Status::NOENT)?;
            allowed(tree, node)?;
            return Ok(Opened { node, directory: unchanged(tree, parent)?, set: Bitmap::EMPTY });
        };
        let (how, after, given) = creation(create)?;
        if let (Some(node), false) = (found, matches!(how, CreateHow::Guarded(_))) {
            regular(kind(tree, node)?)?;
            // An exclusive one that is repeated finds what it created, which may be opened whatever its mode.
            if matches!(how, CreateHow::Unchecked(_)) {
                allowed(tree, node)?;
            }
        }
        let made = tree.create(parent, self.caller, name, &how).map_err(status)?;
        if after != SetAttributes::default() {
            tree.set_attributes(made.node, self.caller, &after, None).map_err(status)?;
        }
        // Of a file that exists only the size is set.
        let set = match (found, &how) {
            (Some(_), CreateHow::Unchecked(wanted)) if wanted.size.is_none() => Bitmap::EMPTY,
            (Some(_), CreateHow::Unchecked(_)) => given.and(Bitmap::of(&[wire::nfs4::Attribute::SIZE])),
            _ => given,
        };
        Ok(Opened { node: made.node, directory: changed(&made.directory), set })
    }

    pub(super) fn close(&mut self, args: &CloseArgs) -> Result<StateId, Nfs4Status> {
        let (_, _, file) = self.data()?;
        let closed = self.service.clients.close(self.client()?, file, self.stated(args.state)?)?;
        self.state = None;
        Ok(closed)
    }

    /// FREE_STATEID: an open is ended by CLOSE.
    pub(super) fn free_state(&self, state: StateId) -> Result<(), Nfs4Status> {
        match self.service.clients.test(self.client()?, self.stated(state)?) {
            Nfs4Status::OK | Nfs4Status::OLD_STATEID => Err(Nfs4Status::LOCKS_HELD),
            other => Err(other),
        }
    }

    /// TEST_STATEID: the encoded statuses.
    pub(super) fn test_states(&self, states: StateIds<'_>) -> Result<Vec<u8>, Nfs4Status> {
        let client = self.client()?;
        let mut statuses = Vec::with_capacity(4 * STATES_MAX);
        states.iter().for_each(|state| self.service.clients.test(client, state).encode(&mut statuses));
        Ok(statuses)
    }
}

/// The file of an OPEN.
struct Opened {
    node: NodeId,
    directory: ChangeInfo,
    /// Attributes that were set.
    set: Bitmap,
}

/// How a file is created, what is set after an exclusive creation, and all attributes that are given.
fn creation(create: &OpenCreate<'_>) -> Result<(CreateHow, SetAttributes, Bitmap), Nfs4Status> {
    let none = SetAttributes::default();
    let of = |given: &Fattr<'_>| Ok::<_, Nfs4Status>((wanted(given)?, given.mask));
    Ok(match create {
        OpenCreate::Unchecked(given) => {
            let (wanted, mask) = of(given)?;
            (CreateHow::Unchecked(wanted), none, mask)
        }
        OpenCreate::Guarded(given) => {
            let (wanted, mask) = of(given)?;
            (CreateHow::Guarded(wanted), none, mask)
        }
        OpenCreate::Exclusive(verifier) => (CreateHow::Exclusive(*verifier), none, Bitmap::EMPTY),
        OpenCreate::ExclusiveWith(verifier, given) => {
            let (wanted, mask) = of(given)?;
            (CreateHow::Exclusive(*verifier), wanted, mask)
        }
    })
}

fn may_open(tree: &Tree, node: NodeId, caller: &crate::files::Caller, access: u32) -> Result<(), Nfs4Status> {
    regular(kind(tree, node)?)?;
    let (read, write) = (access & OpenArgs::READ != 0, access & OpenArgs::WRITE != 0);
    tree.may_open(node, caller, read, write).map_err(status)
}
