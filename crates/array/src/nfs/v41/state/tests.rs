//! Leases, sequences and opens, at times that the tests choose.

use wire::nfs4::{
    CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArgs, ExchangeIdArgs, Nfs4Status,
    OpenArgs, Protection, SequenceArgs, StateId,
};

use super::*;

const LEASE: Duration = Duration::from_secs(10);
const SECOND: u64 = 1_000_000_000;
const WIDE: ChannelAttributes = ChannelAttributes {
    header_pad: 0,
    request_max: u32::MAX,
    response_max: u32::MAX,
    cached_response_max: u32::MAX,
    operations_max: u32::MAX,
    requests_max: 4,
    rdma_reads: None,
};

fn state() -> State {
    State::new(0x1234_5678_9abc_def0, LEASE)
}

fn identity(owner: &[u8], verifier: u8) -> ExchangeIdArgs<'_> {
    ExchangeIdArgs {
        verifier: [verifier; 8],
        owner: ClientOwner(owner),
        flags: ExchangeIdArgs::NOT_PNFS,
        protection: Protection::None,
        implementation: None,
    }
}

fn creation(client: u64, sequence: u32, requests_max: u32) -> CreateSessionArgs<'static> {
    CreateSessionArgs {
        client,
        sequence,
        flags: 0,
        fore: ChannelAttributes { requests_max, ..WIDE },
        back: WIDE,
        callback_program: 0,
        security: CallbackSecurity::None,
    }
}

/// A client with a session.
fn joined(state: &State, owner: &[u8], now_ns: u64) -> (u64, SessionId) {
    let known = state.introduce(&identity(owner, 1), 0, now_ns).unwrap();
    let created =
        state.create_session(&creation(known.client, known.sequence, 4), (1 << 20, 1 << 20), now_ns);
    (known.client, created.unwrap().session)
}

fn args(session: SessionId, slot: u32, sequence: u32, cache: bool) -> SequenceArgs {
    SequenceArgs { session, sequence, slot, highest_slot: slot, cache }
}

fn run(state: &State, args: &SequenceArgs, now_ns: u64) -> Result<Sequenced, Nfs4Status> {
    state.sequence(args, (100, 2), false, now_ns)
}

#[test]
fn a_slot_executes_each_sequence_once_and_repeats_what_it_kept() {
    let state = state();
    let (_, session) = joined(&state, b"a", 0);
    let Ok(Sequenced::Execute(within, result)) = run(&state, &args(session, 1, 1, true), 0) else { panic!() };
    assert_eq!((result.highest_slot, result.slot, result.sequence), (3, 1, 1));
    assert_eq!(run(&state, &args(session, 1, 1, true), 0), Err(Nfs4Status::DELAY), "it is still running");
    state.finish(&within, b"result");
    assert_eq!(
        run(&state, &args(session, 1, 1, true), 0),
        Ok(Sequenced::Repeat(b"result".as_slice().into()))
    );
    let Ok(Sequenced::Execute(within, _)) = run(&state, &args(session, 1, 2, false), 0) else { panic!() };
    state.finish(&within, b"other");
    assert!(matches!(run(&state, &args(session, 1, 2, false), 0), Ok(Sequenced::NotKept(_))));
    for sequence in [0, 1, 4] {
        assert_eq!(run(&state, &args(session, 1, sequence, false), 0), Err(Nfs4Status::SEQ_MISORDERED));
    }
    assert_eq!(
        run(&state, &args(session, 2, 0, false), 0),
        Err(Nfs4Status::SEQ_MISORDERED),
        "an unused slot"
    );
    assert_eq!(run(&state, &args(session, 4, 1, false), 0), Err(Nfs4Status::BAD_HIGH_SLOT));
    let low = SequenceArgs { highest_slot: 0, ..args(session, 4, 1, false) };
    assert_eq!(run(&state, &low, 0), Err(Nfs4Status::BADSLOT));
    assert_eq!(run(&state, &args([9; 16], 0, 1, false), 0), Err(Nfs4Status::BADSESSION));
}

#[test]
fn a_request_that_is_not_heard_of_leaves_its_slot_alone() {
    let state = state();
    let (_, session) = joined(&state, b"a", 0);
    let args = args(session, 0, 1, true);
    let Ok(Sequenced::Execute(within, _)) = state.sequence(&args, (100, 2), true, 0) else { panic!() };
    state.finish(&within, b"lost");
    assert!(matches!(run(&state, &args, 0), Ok(Sequenced::Execute(..))));
}

#[test]
fn requests_beyond_the_limits_of_a_session_are_refused_by_name() {
    let state = state();
    let known = state.introduce(&identity(b"a", 1), 0, 0).unwrap();
    let narrow = ChannelAttributes { request_max: 1000, operations_max: 3, ..WIDE };
    let create = CreateSessionArgs { fore: narrow, ..creation(known.client, known.sequence, 4) };
    let create = CreateSessionArgs { fore: ChannelAttributes { requests_max: 4, ..narrow }, ..create };
    let session = state.create_session(&create, (1 << 20, 1 << 20), 0).unwrap().session;
    let of = |bytes, count| state.sequence(&args(session, 0, 1, false), (bytes, count), false, 0);
    assert_eq!(of(1001, 2), Err(Nfs4Status::REQ_TOO_BIG));
    assert_eq!(of(1000, 4), Err(Nfs4Status::TOO_MANY_OPS));
    assert!(of(1000, 3).is_ok());
}

#[test]
fn a_silent_client_is_forgotten_and_one_that_calls_is_not() {
    let state = state();
    let (silent, lost) = joined(&state, b"silent", 0);
    let (_, alive) = joined(&state, b"alive", 0);
    let key = FileKey { system: 1, node: crate::files::NodeId { index: 1, generation: 1 } };
    let opening = |client| Opening { client, owner: b"o", access: OpenArgs::READ, deny: OpenArgs::WRITE };
    state.open(key, &opening(silent)).unwrap();
    for (sequence, second) in (1..).zip((8..40).step_by(8)) {
        let Ok(Sequenced::Execute(within, _)) =
            run(&state, &args(alive, 0, sequence, false), second * SECOND)
        else {
            panic!("{second} s")
        };
        state.finish(&within, b"");
    }
    assert_eq!(run(&state, &args(lost, 0, 1, false), 11 * SECOND), Err(Nfs4Status::BADSESSION));
    let again = state.create_session(&creation(silent, 2, 4), (1 << 20, 1 << 20), 11 * SECOND);
    assert_eq!(again, Err(Nfs4Status::STALE_CLIENTID));
    assert_eq!(state.may_use(0, key, StateId::ANONYMOUS, OpenArgs::WRITE), Ok(()), "its denial has ended");
    state.expire(1000 * SECOND);
    assert!(state.known().clients.is_empty() && state.known().slots == 0);
}

#[test]
fn a_client_that_restarts_loses_what_it_had_when_it_creates_a_session() {
    let state = state();
    let (first, session) = joined(&state, b"a", 0);
    let same = state.introduce(&identity(b"a", 1), 0, 0).unwrap();
    assert_eq!((same.client, same.sequence, same.confirmed), (first, 2, true));
    let restarted = state.introduce(&identity(b"a", 2), 0, 0).unwrap();
    assert!(restarted.client != first && !restarted.confirmed);
    assert!(run(&state, &args(session, 0, 1, false), 0).is_ok(), "the old one is still there");
    state.create_session(&creation(restarted.client, 1, 4), (1 << 20, 1 << 20), 0).unwrap();
    assert_eq!(run(&state, &args(session, 0, 2, false), 0), Err(Nfs4Status::BADSESSION));
    assert_eq!(state.destroy_client(first), Err(Nfs4Status::STALE_CLIENTID));
}

#[test]
fn names_of_clients_belong_to_users() {
    let state = state();
    joined(&state, b"a", 0);
    assert_eq!(state.introduce(&identity(b"a", 1), 7, 0), Err(Nfs4Status::CLID_INUSE));
    let update = |verifier| ExchangeIdArgs { flags: ExchangeIdArgs::UPDATE, ..identity(b"a", verifier) };
    assert_eq!(state.introduce(&update(1), 7, 0), Err(Nfs4Status::PERM));
    assert_eq!(state.introduce(&update(2), 0, 0), Err(Nfs4Status::NOT_SAME));
    assert!(state.introduce(&update(1), 0, 0).unwrap().confirmed);
    let unknown = ExchangeIdArgs { flags: ExchangeIdArgs::UPDATE, ..identity(b"b", 1) };
    assert_eq!(state.introduce(&unknown, 0, 0), Err(Nfs4Status::NOENT));
    let wrong = ExchangeIdArgs { flags: ExchangeIdArgs::CONFIRMED, ..identity(b"b", 1) };
    assert_eq!(state.introduce(&wrong, 0, 0), Err(Nfs4Status::INVAL));
}

#[test]
fn creating_a_session_twice_is_creating_it_once() {
    let state = state();
    let known = state.introduce(&identity(b"a", 1), 0, 0).unwrap();
    let create = |sequence, slots| {
        state.create_session(&creation(known.client, sequence, slots), (1 << 20, 1 << 20), 0)
    };
    let first = create(1, 4).unwrap();
    assert_eq!(create(1, 4), Ok(first));
    assert_eq!(state.known().sessions.len(), 1);
    assert_eq!(create(3, 4), Err(Nfs4Status::SEQ_MISORDERED));
    assert_eq!(create(2, 0), Err(Nfs4Status::INVAL));
    assert_ne!(create(2, 4).unwrap().session, first.session);
    assert_eq!(state.destroy_client(known.client), Err(Nfs4Status::CLIENTID_BUSY));
    state.destroy_session(&first.session).unwrap();
    assert_eq!(state.destroy_session(&first.session), Err(Nfs4Status::BADSESSION));
    assert_eq!(state.known().slots, 4);
}

#[test]
fn clients_sessions_and_slots_are_bounded() {
    let state = state();
    // Those that never create a session make room for others.
    for number in 0..CLIENTS_MAX + 10 {
        state.introduce(&identity(&number.to_be_bytes(), 1), 0, 0).unwrap();
    }
    assert_eq!(state.known().clients.len(), CLIENTS_MAX);
    let mut granted = 0;
    let known = state.introduce(&identity(b"greedy", 1), 0, 0).unwrap();
    let refused = (1..).find_map(|sequence| {
        match state.create_session(&creation(known.client, sequence, u32::MAX), (1 << 20, 1 << 20), 0) {
            Ok(created) => {
                assert!(created.fore.requests_max <= SESSION_SLOTS_MAX);
                assert!(created.fore.cached_response_max <= KEPT_REPLY_MAX);
                granted += created.fore.requests_max;
                None
            }
            Err(status) => Some(status),
        }
    });
    assert_eq!((granted, refused), (SLOTS_MAX, Some(Nfs4Status::NOSPC)));
    state.end_sessions();
    assert_eq!(state.known().slots, 0);
}

#[test]
fn opens_share_or_do_not() {
    let state = state();
    let (one, _) = joined(&state, b"one", 0);
    let (two, _) = joined(&state, b"two", 0);
    let key = FileKey { system: 1, node: crate::files::NodeId { index: 7, generation: 1 } };
    let (read, write) = (OpenArgs::READ, OpenArgs::WRITE);
    let opening = |client, owner, access, deny| Opening { client, owner, access, deny };
    let first = state.open(key, &opening(one, b"a", read, 0)).unwrap();
    assert_eq!(state.may_use(one, key, first, read), Ok(()));
    assert_eq!(state.may_use(one, key, first, write), Err(Nfs4Status::OPENMODE));
    assert_eq!(state.may_use(two, key, first, read), Err(Nfs4Status::BAD_STATEID), "it is another client's");
    // The same owner's second open extends the first.
    let wider = state.open(key, &opening(one, b"a", write, 0)).unwrap();
    assert_eq!((wider.other, wider.sequence), (first.other, 2));
    assert_eq!(state.may_use(one, key, wider, write), Ok(()));
    assert_eq!(state.may_use(one, key, first, read), Err(Nfs4Status::OLD_STATEID));
    assert_eq!(state.test(one, StateId { sequence: 0, ..first }), Nfs4Status::OK);
    assert_eq!(state.open(key, &opening(two, b"b", read, write)), Err(Nfs4Status::SHARE_DENIED));
    let closed = state.close(one, key, wider).unwrap();
    assert_eq!(state.test(one, closed), Nfs4Status::BAD_STATEID);
    assert_eq!(state.close(one, key, wider), Err(Nfs4Status::BAD_STATEID));

    let denying = state.open(key, &opening(two, b"b", read, write)).unwrap();
    assert_eq!(state.open(key, &opening(one, b"a", write, 0)), Err(Nfs4Status::SHARE_DENIED));
    assert_eq!(state.may_use(one, key, StateId::ANONYMOUS, write), Err(Nfs4Status::LOCKED));
    assert_eq!(state.may_use(one, key, StateId::ANONYMOUS, read), Ok(()));
    state.close(two, key, denying).unwrap();
    assert_eq!(state.may_use(one, key, StateId::ANONYMOUS, write), Ok(()));
    let foreign = StateId { sequence: 1, other: [5; 12] };
    assert_eq!(state.may_use(one, key, foreign, read), Err(Nfs4Status::BAD_STATEID));
}
