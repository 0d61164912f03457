//! Keeps an idle session alive: any SEQUENCE renews the lease (RFC 8881 section 8.3).

use std::rc::Rc;
use std::time::Duration;

use reactor::{Reactor, Task};
use wire::nfs3::{FileHandle, Procedure};

use super::super::calls::{Call, Expect, Reply};
use super::super::connection::Connection;
use super::compound::CompoundWriter;

/// SEQUENCE alone.
#[derive(Clone, Copy)]
struct Renew;

impl Call for Renew {
    type Arguments<'a> = ();
    type Reply = ();
    const PROCEDURE: Procedure = Procedure::Null;

    fn expect(self) -> Expect {
        Expect::Renew
    }

    fn reply(any: Reply, _: &FileHandle) -> Option<()> {
        if let Reply::Renew(reply) = any { Some(reply) } else { None }
    }

    fn compound((): &(), _: &mut CompoundWriter<'_>) {}
}

/// The task that renews the lease; ends when this is dropped.
pub(in super::super) struct Renewal(Option<Task>);

impl Drop for Renewal {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Renewal {
    /// Renews the lease of `lease_s` seconds whenever a third of it passed without a call.
    pub(in super::super) fn start(reactor: &Reactor, connection: &Rc<Connection>, lease_s: u32) -> Self {
        let third = Duration::from_secs(u64::from(lease_s.clamp(3, 3600))) / 3;
        Self(Some(reactor.spawn(run(reactor.clone(), Rc::clone(connection), third))))
    }
}

async fn run(reactor: Reactor, connection: Rc<Connection>, third: Duration) {
    let Some(session) = connection.settings.session.clone() else { return };
    let third_ns = third.as_nanos() as u64;
    loop {
        let due_ns = session.last_sent_ns.get().saturating_add(third_ns);
        if reactor.now() < due_ns {
            reactor.sleep_until(due_ns).await;
            continue;
        }
        let slot = connection.table.borrow_mut().take_spare();
        let Some(slot) = slot else {
            // All are in use: the session is not idle.
            reactor.sleep(third).await;
            continue;
        };
        let deadline_ns = reactor.now() + third_ns;
        let ticket = connection.call(slot, Renew, deadline_ns, &());
        // Its failures are those of the session, which are handled where replies arrive.
        let _ = reactor.timeout_at(deadline_ns, ticket.ended()).await;
        drop(ticket);
        reactor.sleep(third).await;
    }
}
