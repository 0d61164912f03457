//! NFS version 4.1 (RFC 8881) beside version 3: the same operations, connections, payloads and deadlines; each call is a
//! COMPOUND in a slot of a session.
//!
//! * Every worker is a client of its own with one session, to which all its connections are bound. Both are destroyed at
//!   the end.
//! * There is no back channel, so no server can grant a delegation, and OPEN declines them too.
//! * A file is created by OPEN and CLOSE in one COMPOUND. READ and WRITE use the anonymous stateid (section 8.2.3), so they
//!   need no open, and none has to be reclaimed after a restart of the server.
//! * A file stays open only between the operations `open` and `close`: one per lane, under an owner of its own. What is
//!   still open at the end is closed before the client is destroyed.
//! * A call has a session slot from when it is sent until its reply arrives. A retransmission uses the same slot and
//!   sequence number, so the server executes it once. A call that ended without a reply keeps its slot: its late reply
//!   frees it, or the session is replaced when the connection is lost.
//! * `NFS4ERR_DELAY` and `NFS4ERR_GRACE` lead to a new call later, as `NFS3ERR_JUKEBOX` does. A session that the server no
//!   longer knows, or whose slots differ from ours, leads to a new connection with a new session (and a new client id, if
//!   that is unknown too), on which the calls are repeated. These repetitions are counted like those after other losses.
//! * An idle session is kept alive by SEQUENCE alone, three times per lease.

mod client;
mod compound;
mod dial;
mod gateway;
mod names;
mod opens;
mod renew;
mod reply;
mod slots;

pub(super) use client::Joined;
pub(super) use compound::{CompoundWriter, template};
pub(super) use compound::{commit, create, getattr, lookup, read, readdir, readdirplus, remove, write};
pub(super) use dial::{open, open_session};
pub(super) use gateway::{ask, is_session_loss};
pub(super) use names::{access, link, mkdir, readlink, rename, setattr, symlink};
pub(super) use opens::{OpenFile, OpenRequest, close_file, open_file};
pub(super) use renew::Renewal;
pub(super) use reply::{Late, read_head, sequenced};
pub(super) use slots::{Assigned, SessionSlots};
