//! Operations by name: each executed, and its result appended.

use wire::nfs4::{Nfs4Status, OpArgument, StateStatuses};

use super::compound::{Run, put, refuse};
use crate::nfs::parts::Parts;

impl Run<'_> {
    /// Executes an operation and appends its result.
    pub(super) fn perform(
        &mut self,
        operation: &OpArgument<'_>,
        is_last: bool,
        to: &mut Parts<'_>,
    ) -> Nfs4Status {
        use OpArgument as O;
        let number = operation.operation();
        // Those that append their own results.
        let appended = match operation {
            O::Read(args) => self.read(args, to),
            O::ReadLink(()) => self.read_link(to),
            O::GetAttr(asked) => self.attributes(asked, to),
            O::ReadDir(args) => {
                let room = self.limit().saturating_sub(to.len());
                self.read_directory(args, room, to)
            }
            O::SetAttr(args) => match self.set_attributes(args) {
                Ok(set) => return put(to, number, &Ok(set)),
                Err(status) => Err(status),
            },
            O::TestStateId(states) => match self.test_states(*states) {
                Ok(statuses) => {
                    let statuses = StateStatuses::new(&statuses).ok_or(Nfs4Status::INVAL);
                    return put(to, number, &statuses);
                }
                Err(status) => Err(status),
            },
            O::ExchangeId(args) => return self.introduce(args, to),
            O::CreateSession(args) => return put(to, number, &self.create_session(args)),
            O::BindConnToSession(args) => return put(to, number, &self.bind(args)),
            O::GetFh(()) => return put(to, number, &self.handle()),
            O::Write(args) => return put(to, number, &self.write(args)),
            O::Commit(args) => return put(to, number, &self.commit(args)),
            O::Access(asked) => return put(to, number, &self.access(*asked)),
            O::Open(args) => return put(to, number, &self.open(args)),
            O::Close(args) => return put(to, number, &self.close(args)),
            O::Create(args) => return put(to, number, &self.create(args)),
            O::Remove(name) => return put(to, number, &self.remove(*name)),
            O::Rename(args) => return put(to, number, &self.rename(args)),
            O::Link(name) => return put(to, number, &self.link(*name)),
            O::SecInfo(name) => return put(to, number, &self.security(*name)),
            O::SecInfoNoName(of) => return put(to, number, &self.security_without_name(*of)),
            O::PutRootFh(()) | O::PutPublicFh(()) => return put(to, number, &self.put_root()),
            O::PutFh(file) => return put(to, number, &self.put(file)),
            O::Lookup(name) => return put(to, number, &self.look_up(*name)),
            O::LookupParent(()) => return put(to, number, &self.look_up_parent()),
            O::SaveFh(()) => return put(to, number, &self.save()),
            O::RestoreFh(()) => return put(to, number, &self.restore()),
            O::FreeStateId(state) => return put(to, number, &self.free_state(*state)),
            O::ReclaimComplete(one) => return put(to, number, &self.complete_reclaim(*one)),
            O::DestroySession(session) => {
                return put(to, number, &self.destroy_session(session, is_last));
            }
            O::DestroyClientId(client) => {
                return put(to, number, &self.service.clients.destroy_client(*client));
            }
            // Both are handled before.
            O::Sequence(_) | O::Illegal(()) => Err(Nfs4Status::SERVERFAULT),
        };
        match appended {
            Ok(()) => Nfs4Status::OK,
            Err(status) => refuse(to, number as u32, status),
        }
    }
}
