//! READ, WRITE, COMMIT, SETATTR, ACCESS and READLINK.

use wire::nfs3::{AccessArgs, Path, Verifier};
use wire::nfs4::{
    Access4Ok, Bitmap, Commit4Args, Fattr, Nfs4Status, OpenArgs, Operation, Read4Args, SetAttrArgs,
    Write4Args, Write4Ok,
};

use super::attributes::wanted;
use super::compound::{Run, put};
use super::place::{Place, kind};
use super::{regular, status};
use crate::nfs::call::IO_MAX;
use crate::nfs::parts::Parts;

/// All bits of ACCESS.
const ACCESS_BITS: u32 = AccessArgs::READ
    | AccessArgs::LOOKUP
    | AccessArgs::MODIFY
    | AccessArgs::EXTEND
    | AccessArgs::DELETE
    | AccessArgs::EXECUTE;

impl Run<'_> {
    /// Appends the result of a READ; nothing when it fails.
    pub(super) fn read(&self, args: &Read4Args, to: &mut Parts<'_>) -> Result<(), Nfs4Status> {
        let (system, node, file) = self.data()?;
        self.service.clients.may_use(self.client()?, file, self.stated(args.state)?, OpenArgs::READ)?;
        to.read((args.count as usize).min(IO_MAX), |space| {
            let mut tree = system.lock();
            regular(kind(&tree, node)?)?;
            self.execution.read(&mut tree, node, self.caller, args.offset, space).map_err(status)
        })
    }

    pub(super) fn write(&self, args: &Write4Args<'_>) -> Result<Write4Ok, Nfs4Status> {
        let (system, node, file) = self.data()?;
        self.service.clients.may_use(self.client()?, file, self.stated(args.state)?, OpenArgs::WRITE)?;
        let mut tree = system.lock();
        regular(kind(&tree, node)?)?;
        let done = self.execution.write(&mut tree, node, self.caller, args.offset, args.data, args.stable);
        let (done, committed) = done.map_err(status)?;
        Ok(Write4Ok { count: args.data.len() as u32, committed, verifier: done.verifier })
    }

    pub(super) fn commit(&self, _: &Commit4Args) -> Result<Verifier, Nfs4Status> {
        let (system, node, _) = self.data()?;
        let mut tree = system.lock();
        regular(kind(&tree, node)?)?;
        Ok(tree.commit(node).map_err(status)?.verifier)
    }

    /// SETATTR; returns what was set.
    pub(super) fn set_attributes(&self, args: &SetAttrArgs<'_>) -> Result<Bitmap, Nfs4Status> {
        let Fattr { mask, .. } = args.attributes;
        let (system, node) = self.node(Nfs4Status::ROFS)?;
        let wanted = wanted(&args.attributes)?;
        if wanted.size.is_some() {
            let (_, _, file) = self.data()?;
            self.service.clients.may_use(self.client()?, file, self.stated(args.state)?, OpenArgs::WRITE)?;
            regular(kind(&system.lock(), node)?)?;
        }
        system.lock().set_attributes(node, self.caller, &wanted, None).map_err(status)?;
        Ok(mask)
    }

    pub(super) fn access(&self, asked: u32) -> Result<Access4Ok, Nfs4Status> {
        let supported = asked & ACCESS_BITS;
        let access = match self.current()? {
            Place::Root => supported & (AccessArgs::READ | AccessArgs::LOOKUP),
            Place::Node(system, node) => system.lock().access(*node, self.caller, asked).map_err(status)?.0,
        };
        Ok(Access4Ok { supported, access })
    }

    /// Appends the result of a READLINK; nothing when it fails.
    pub(super) fn read_link(&self, to: &mut Parts<'_>) -> Result<(), Nfs4Status> {
        let (system, node) = self.node(Nfs4Status::WRONG_TYPE)?;
        let tree = system.lock();
        let target = tree.readlink(node).map_err(|old| match status(old) {
            Nfs4Status::INVAL => Nfs4Status::WRONG_TYPE,
            other => other,
        });
        put(to, Operation::ReadLink, &Ok(Path(target?.0)));
        Ok(())
    }
}
