//! Calls one at a time over version 4.1: for handshakes, and for work before and after the load.
//!
//! That work speaks in the procedures of version 3 ([`Caller::ask`]). Each is carried by one COMPOUND here, and its results
//! are given back in version 3's form, so that there is one implementation of it.

use metrics::ErrorKind;
use wire::nfs3::{self, FileHandle, Procedure, ProcedureResult, WccData};
use wire::nfs4::{
    Access4Ok, Attribute, Attributes4, Bitmap, CallHead, ChangeInfo, Create4Ok, Fattr, Handle, MINOR_VERSION,
    Nfs4Status, OpArgument, OpenOk, Operation, PROC_COMPOUND, PROGRAM, Read4Ok, ReadDirOk, SequenceArgs,
    SequenceOk, StateId, Tag, Time4, VERSION,
};
use wire::xdr::{Decode, DecodeError, Encode, Reader};

use super::super::caller::{Caller, Failed, Target};
use super::super::errors::{advice, kind_of};
use super::super::later::asks_for_later;
use super::client::{join, version};
use super::compound::{CompoundWriter, FILE_ATTRIBUTES, create, getattr, lookup, read, readdirplus, remove};
use super::names::mkdir;
use super::reply::{Outcomes, Stop};
use crate::later::Later;

/// How often a lost session is replaced for one call.
const RENEWALS_MAX: u32 = 3;

/// Statuses of SEQUENCE after which the session or the connection must be replaced.
pub(in super::super) fn is_session_loss(status: Nfs4Status) -> bool {
    matches!(
        status,
        Nfs4Status::BADSESSION
            | Nfs4Status::DEADSESSION
            | Nfs4Status::BADSLOT
            | Nfs4Status::BAD_HIGH_SLOT
            | Nfs4Status::SEQ_MISORDERED
            | Nfs4Status::SEQ_FALSE_RETRY
            | Nfs4Status::CONN_NOT_BOUND_TO_SESSION
            | Nfs4Status::BAD_SESSION_DIGEST
            | Nfs4Status::STALE_CLIENTID
            | Nfs4Status::EXPIRED
    )
}

/// A COMPOUND's arguments.
struct Compound<'a> {
    /// SEQUENCE, within a session.
    sequence: Option<SequenceArgs>,
    /// The encoded operations after it, and their number.
    operations: &'a [u8],
    count: u32,
}

impl Encode for Compound<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let count = self.count + u32::from(self.sequence.is_some());
        CallHead { tag: Tag(b""), minor_version: MINOR_VERSION, count }.encode(out);
        if let Some(sequence) = self.sequence {
            OpArgument::Sequence(sequence).encode(out);
        }
        out.extend_from_slice(self.operations);
    }
}

fn encoded(operations: &[OpArgument<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    operations.iter().for_each(|operation| operation.encode(&mut bytes));
    bytes
}

fn target(name: &'static str) -> Target {
    Target { program: PROGRAM, version: VERSION, procedure: PROC_COMPOUND, name }
}

/// Makes a call and reads its outcomes, once.
async fn compound<T>(
    caller: &mut Caller,
    name: &'static str,
    arguments: &Compound<'_>,
    mut read: impl FnMut(&mut Outcomes<'_, '_>) -> Result<T, Stop>,
) -> Result<Result<T, Nfs4Status>, Failed> {
    let whole = |from: &mut Reader<'_>| {
        let mut outcomes = Outcomes::begin(from)?;
        let result = match read(&mut outcomes) {
            Ok(value) => Ok(value),
            Err(Stop::Status(status)) => Err(status),
            Err(Stop::Malformed(error)) => return Err(error),
        };
        outcomes.finish()?;
        Ok(result)
    };
    caller.call(target(name), arguments, whole).await
}

/// Makes a call of one operation outside of any session, and repeats it while the server asks for that.
pub(super) async fn bare<T>(
    caller: &mut Caller,
    name: &'static str,
    operation: OpArgument<'_>,
    mut read: impl FnMut(&mut Outcomes<'_, '_>) -> Result<T, Stop>,
) -> Result<Result<T, Nfs4Status>, Failed> {
    let operations = encoded(&[operation]);
    let mut later = Later::new();
    loop {
        let arguments = Compound { sequence: None, operations: &operations, count: 1 };
        let result = compound(caller, name, &arguments, &mut read).await?;
        match result {
            Err(Nfs4Status::DELAY) if caller.wait(&mut later).await => {}
            result => return Ok(result),
        }
    }
}

/// Makes a call within the caller's session, in its slot 0.
pub(super) async fn in_session<T>(
    caller: &mut Caller,
    name: &'static str,
    operations: &[OpArgument<'_>],
    cache: bool,
    read: impl FnMut(&mut Outcomes<'_, '_>) -> Result<T, Stop>,
) -> Result<Result<T, Nfs4Status>, Failed> {
    let bytes = encoded(operations);
    in_session_encoded(caller, name, (&bytes, operations.len() as u32), cache, read).await
}

/// The same with encoded operations. Repeated while the server asks for that, and on a new session if that one is lost.
async fn in_session_encoded<T>(
    caller: &mut Caller,
    name: &'static str,
    (operations, count): (&[u8], u32),
    cache: bool,
    mut read: impl FnMut(&mut Outcomes<'_, '_>) -> Result<T, Stop>,
) -> Result<Result<T, Nfs4Status>, Failed> {
    let mut later = Later::new();
    let mut renewals = 0;
    loop {
        let Some((session, sequence)) = caller.session().map(|joined| (joined.session, joined.sequence))
        else {
            return Err(caller.failed(name, ErrorKind::Local, "there is no session"));
        };
        let arguments = SequenceArgs { session, sequence, slot: 0, highest_slot: 0, cache };
        let arguments = Compound { sequence: Some(arguments), operations, count };
        let mut executed = false;
        let result = compound(caller, name, &arguments, |from| {
            let answered: SequenceOk = from.next(Operation::Sequence)?;
            if (answered.session, answered.slot, answered.sequence) != (session, 0, sequence) {
                return Err(Stop::Malformed(DecodeError::BadDiscriminant {
                    what: "reply to another call: sequence",
                    value: answered.sequence,
                }));
            }
            executed = true;
            read(from)
        })
        .await?;
        if executed && let Some(joined) = caller.session_mut() {
            joined.sequence = sequence.wrapping_add(1);
        }
        match result {
            Err(status) if !executed && is_session_loss(status) && renewals < RENEWALS_MAX => {
                renewals += 1;
                let Some(old) = caller.take_session() else { continue };
                let (identity, wanted) = (std::rc::Rc::clone(old.identity()), old.wanted());
                let mut old = old;
                old.disarm();
                let way = caller.way();
                Box::pin(join(caller, &way, &identity, wanted)).await?;
                caller.count_retry();
            }
            Err(status) if asks_for_later(nfs3::Status(status.0)) && caller.wait(&mut later).await => {}
            result => return Ok(result),
        }
    }
}

/// Carries a procedure of version 3, and gives its results to `read`.
pub(in super::super) async fn ask<T, F>(
    caller: &mut Caller,
    procedure: Procedure,
    arguments: &impl Encode,
    read: &mut impl FnMut(&mut Reader<'_>) -> Result<ProcedureResult<T, F>, DecodeError>,
) -> Result<ProcedureResult<T, F>, Failed> {
    let name = procedure.name();
    let unreadable = |caller: &Caller, error: DecodeError| {
        caller.failed(name, ErrorKind::Protocol, &format!("the answer cannot be understood: {error}"))
    };
    let mut given = Vec::new();
    arguments.encode(&mut given);
    let mut operations = Vec::new();
    let request = request(procedure, &given, &mut operations).map_err(|error| unreadable(caller, error))?;
    let Some((count, cache)) = request else {
        let text = format!("{} has no counterpart of it here", version());
        return Err(caller.failed(name, ErrorKind::Rejected, &text));
    };
    let carried =
        in_session_encoded(caller, name, (&operations, count), cache, |from| results(procedure, from))
            .await?;
    let mut bytes = Vec::new();
    match carried {
        Ok(body) => {
            nfs3::Status::OK.0.encode(&mut bytes);
            bytes.extend(body);
        }
        Err(status) => {
            status.0.encode(&mut bytes);
            match procedure {
                Procedure::Getattr => {}
                Procedure::Lookup
                | Procedure::Access
                | Procedure::Read
                | Procedure::Readdir
                | Procedure::Readdirplus
                | Procedure::Fsinfo
                | Procedure::Fsstat => None::<nfs3::Attributes>.encode(&mut bytes),
                _ => WccData::default().encode(&mut bytes),
            }
        }
    }
    let mut reader = Reader::new(&bytes).with_long_file_handles();
    let result = read(&mut reader).map_err(|error| unreadable(caller, error))?;
    reader.finish().map_err(|error| unreadable(caller, error))?;
    Ok(result)
}

/// Limits of a file system.
const LIMITS: Bitmap = Bitmap::of(&[Attribute::MAX_READ, Attribute::MAX_WRITE]);
const SPACE: Bitmap = Bitmap::of(&[Attribute::SPACE_AVAILABLE]);

/// A procedure's arguments, with handles of version 4.
fn decode_given<'a, T: Decode<'a>>(given: &'a [u8]) -> Result<T, DecodeError> {
    let mut from = Reader::new(given).with_long_file_handles();
    let arguments = T::decode(&mut from)?;
    from.finish()?;
    Ok(arguments)
}

/// Appends a procedure's operations after SEQUENCE; returns their number, and whether they must not be executed twice.
fn request(
    procedure: Procedure,
    given: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<(u32, bool)>, DecodeError> {
    let mut to = CompoundWriter::plain(out);
    match procedure {
        Procedure::Getattr => getattr(&decode_given(given)?, &mut to),
        Procedure::Lookup => lookup(&decode_given(given)?, &mut to),
        Procedure::Read => read(&decode_given(given)?, &mut to),
        Procedure::Create => create(&decode_given(given)?, &mut to),
        Procedure::Remove | Procedure::Rmdir => remove(&decode_given(given)?, &mut to),
        Procedure::Readdirplus => readdirplus(&decode_given(given)?, &mut to),
        Procedure::Readdir => {
            let nfs3::ReaddirArgs { directory, cookie, verifier, count } = decode_given(given)?;
            let (dir_count, max_count) = (count / 4, count);
            let arguments = nfs3::ReaddirplusArgs { directory, cookie, verifier, dir_count, max_count };
            readdirplus(&arguments, &mut to);
        }
        Procedure::Access => {
            let nfs3::AccessArgs { file, access } = decode_given(given)?;
            to.at(file, &OpArgument::Access(access));
        }
        Procedure::Fsinfo => to.at(decode_given::<FileHandle>(given)?, &OpArgument::GetAttr(LIMITS)),
        Procedure::Fsstat => to.at(decode_given::<FileHandle>(given)?, &OpArgument::GetAttr(SPACE)),
        Procedure::Mkdir => {
            mkdir(&decode_given(given)?, &mut to);
            to.put(&OpArgument::GetFh(()));
        }
        _ => return Ok(None),
    }
    Ok(Some(to.plain_end()))
}

/// The results of a procedure that succeeded, in version 3's form.
fn results(procedure: Procedure, from: &mut Outcomes<'_, '_>) -> Result<Vec<u8>, Stop> {
    let mut out = Vec::new();
    from.next::<()>(Operation::PutFh)?;
    let none = None::<nfs3::Attributes>;
    match procedure {
        Procedure::Getattr => attributes(&from.next(Operation::GetAttr)?)?.encode(&mut out),
        Procedure::Lookup => {
            from.next::<()>(Operation::Lookup)?;
            let Handle(file) = from.next(Operation::GetFh)?;
            let found = attributes(&from.next(Operation::GetAttr)?)?;
            nfs3::LookupOk { file, attributes: Some(found), directory: None }.encode(&mut out);
        }
        Procedure::Access => {
            let Access4Ok { access, .. } = from.next(Operation::Access)?;
            nfs3::AccessOk { attributes: None, access }.encode(&mut out);
        }
        Procedure::Read => {
            let Read4Ok { eof, data } = from.next(Operation::Read)?;
            nfs3::ReadOk { attributes: None, count: data.len() as u32, eof, data }.encode(&mut out);
        }
        Procedure::Mkdir => {
            from.next::<Create4Ok>(Operation::Create)?;
            let Handle(file) = from.next(Operation::GetFh)?;
            created(file).encode(&mut out);
        }
        Procedure::Create => {
            from.next::<OpenOk<'_>>(Operation::Open)?;
            let Handle(file) = from.next(Operation::GetFh)?;
            from.next::<StateId>(Operation::Close)?;
            created(file).encode(&mut out);
        }
        Procedure::Readdir | Procedure::Readdirplus => {
            let page: ReadDirOk<'_> = from.next(Operation::ReadDir)?;
            none.encode(&mut out);
            page.verifier.encode(&mut out);
            for entry in &page.entries {
                let found = attributes(&entry.attributes)?;
                let (file_id, name, cookie) = (found.file_id, entry.name, entry.cookie);
                if procedure == Procedure::Readdir {
                    nfs3::put_dir_entry(&mut out, &nfs3::ReaddirEntry { file_id, name, cookie });
                } else {
                    let attributes = Some(found);
                    let entry = nfs3::ReaddirplusEntry { file_id, name, cookie, attributes, file: None };
                    nfs3::put_dir_entry(&mut out, &entry);
                }
            }
            nfs3::put_dir_end(&mut out, page.eof);
        }
        Procedure::Fsinfo => {
            let sent: Fattr<'_> = from.next(Operation::GetAttr)?;
            let limits = Attributes4::of(&sent)?;
            let bytes = |limit: Option<u64>| u32::try_from(limit.unwrap_or(0)).unwrap_or(u32::MAX);
            let (read_max, write_max) = (bytes(limits.read_max), bytes(limits.write_max));
            nfs3::FsinfoOk {
                attributes: None,
                read_max,
                read_preferred: read_max,
                read_multiple: 1,
                write_max,
                write_preferred: write_max,
                write_multiple: 1,
                readdir_preferred: 0,
                file_size_max: u64::MAX,
                time_delta: nfs3::Time::default(),
                properties: 0,
            }
            .encode(&mut out);
        }
        Procedure::Fsstat => {
            let sent: Fattr<'_> = from.next(Operation::GetAttr)?;
            let Some(available_bytes) = Attributes4::of(&sent)?.available_bytes else {
                return Err(Stop::Status(Nfs4Status::ATTRNOTSUPP));
            };
            nfs3::FsstatOk {
                attributes: None,
                total_bytes: 0,
                free_bytes: 0,
                available_bytes,
                total_files: 0,
                free_files: 0,
                available_files: 0,
                invariant_seconds: 0,
            }
            .encode(&mut out);
        }
        _ => {
            from.next::<ChangeInfo>(Operation::Remove)?;
            WccData::default().encode(&mut out);
        }
    }
    Ok(out)
}

fn created(file: FileHandle) -> nfs3::CreateOk {
    nfs3::CreateOk { file: Some(file), attributes: None, directory: WccData::default() }
}

/// Attributes in version 3's form; what the server does not support is zero, and a user without number is `nobody`.
fn attributes(sent: &Fattr<'_>) -> Result<nfs3::Attributes, DecodeError> {
    debug_assert!(sent.mask.numbers().all(|number| FILE_ATTRIBUTES.has(number)), "only these are asked for");
    let found = Attributes4::of(sent)?;
    let time = |time: Option<Time4>| {
        let Time4 { seconds, nanoseconds } = time.unwrap_or_default();
        nfs3::Time { seconds: u32::try_from(seconds).unwrap_or(0), nanoseconds }
    };
    let number = |name: Option<wire::nfs4::Owner<'_>>| {
        let text = name.and_then(|name| std::str::from_utf8(name.0).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(65_534)
    };
    let (major, minor) = found.file_system.unwrap_or_default();
    Ok(nfs3::Attributes {
        kind: found.kind.unwrap_or(nfs3::FileType::Regular),
        mode: found.mode.unwrap_or(0),
        links: found.links.unwrap_or(1),
        uid: number(found.owner),
        gid: number(found.group),
        size: found.size.unwrap_or(0),
        used: found.used.unwrap_or(0),
        device: nfs3::Device::default(),
        fsid: major ^ minor.rotate_left(32),
        file_id: found.file_id.unwrap_or(0),
        accessed: time(found.accessed),
        modified: time(found.modified),
        changed: time(found.changed),
    })
}

impl Caller {
    /// The error when the server refuses a step of the handshake.
    pub(super) fn refused(&self, name: &'static str, status: Nfs4Status) -> Failed {
        let kind = kind_of(nfs3::Status(status.0));
        let next = match status {
            Nfs4Status::MINOR_VERS_MISMATCH => {
                format!("; the server has no {}: enable it there, or choose version 3", version())
            }
            _ => advice(nfs3::Status(status.0)).to_owned(),
        };
        self.failed(name, kind, &format!("the server answers {status}{next}"))
    }

    /// An error in a call by this name.
    pub(super) fn failed(&self, name: &'static str, kind: ErrorKind, text: &str) -> Failed {
        self.error(kind, target(name), text)
    }
}
