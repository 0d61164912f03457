//! The iSCSI codec: properties of headers and commands, logins against a target of a few lines, and mutation of both
//! for a limited time (`MANOMETER_FUZZ_SECONDS`, default 1).
#![allow(clippy::unwrap_used)]

#[path = "support/random.rs"]
mod random;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use wire::iscsi::{
    BlockLimits, Cdb, ChapAlgorithm, ChapSecret, CommandWindow, Header, IscsiAnswer, IscsiRequest,
    LoginDialog, LoginFailure, LoginIdentity, LoginResponse, LoginStep, Lun, Offer, Operational, ScsiRequest,
    Sense, StandardInquiry, TextKeys, UnitCapacity, additional_bytes, chap_response, data_bytes, luns,
    padding, push_key, unit_serial,
};

use random::Random;

fn header() -> impl Strategy<Value = Header> {
    proptest::collection::vec(any::<u8>(), 48).prop_map(|bytes| bytes.try_into().unwrap())
}

proptest! {
    /// Whatever arrives either has an unknown opcode, or is read to a value that is written and read as itself.
    #[test]
    fn headers_there_and_back(header in header()) {
        if let Ok(value) = IscsiRequest::decode(&header) {
            prop_assert_eq!(IscsiRequest::decode(&value.encode()), Ok(value));
            prop_assert_eq!(value.encode()[16..20].to_vec(), header[16..20].to_vec());
        }
        if let Ok(value) = IscsiAnswer::decode(&header) {
            prop_assert_eq!(IscsiAnswer::decode(&value.encode()), Ok(value));
        }
    }

    #[test]
    fn commands_there_and_back(block in any::<u64>(), blocks in any::<u32>(), kind in 0..6, flag in any::<bool>()) {
        let request = match kind {
            0 => ScsiRequest::Read { block, blocks },
            1 => ScsiRequest::Write { block, blocks, durable: flag },
            2 => ScsiRequest::WriteSame { block, blocks, unmap: flag, ten: false },
            3 => ScsiRequest::SynchronizeCache { block, blocks },
            4 => {
                let (block, blocks) = (block & u64::from(u32::MAX), blocks & ScsiRequest::TEN_BLOCKS);
                ScsiRequest::WriteSame { block, blocks, unmap: flag, ten: true }
            }
            _ => ScsiRequest::Unmap { bytes: blocks as u16 },
        };
        prop_assert_eq!(ScsiRequest::decode(&request.encode()), Some(request));
        let data = ScsiRequest::unmap_range(block, blocks);
        prop_assert_eq!(ScsiRequest::unmap_ranges(&data).collect::<Vec<_>>(), vec![(block, blocks)]);
    }

    /// The window never lets more commands out than the target allows, and never closes by what is old.
    #[test]
    fn a_window_obeys_the_target(start in any::<u32>(), steps in proptest::collection::vec((0_u32..40, any::<bool>()), 1..60)) {
        let mut window = CommandWindow::new(start);
        let (mut sent, mut allowed) = (0_u32, 1_u32);
        for (more, old) in steps {
            if old {
                window.update(start.wrapping_sub(more), start.wrapping_sub(1).wrapping_add(allowed.saturating_sub(more)));
            } else {
                allowed = allowed.max(sent + more);
                window.update(start.wrapping_add(sent), start.wrapping_add(sent + more).wrapping_sub(1));
            }
            while window.is_open() {
                prop_assert_eq!(window.take(), start.wrapping_add(sent));
                sent += 1;
            }
            prop_assert_eq!(sent, allowed);
        }
    }

    #[test]
    fn text_there_and_back(pairs in proptest::collection::vec(("[A-Za-z]{1,20}", "[ -~]{0,40}"), 0..20)) {
        let mut text = Vec::new();
        pairs.iter().for_each(|(key, value)| push_key(&mut text, key, value));
        let read: Vec<_> = TextKeys::new(&text).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        prop_assert_eq!(read, pairs);
    }
}

#[test]
fn lengths_and_padding() {
    let mut header = [0; 48];
    header[4] = 3;
    header[5..8].copy_from_slice(&[1, 2, 3]);
    assert_eq!((additional_bytes(&header), data_bytes(&header)), (12, 0x01_0203));
    assert_eq!([0, 1, 2, 3, 4, 5].map(padding), [0, 3, 2, 1, 0, 3]);
}

fn chap(name: &str, secret: &str) -> ChapSecret {
    ChapSecret { name: name.to_owned(), secret: secret.to_owned() }
}

fn identity(secret: Option<ChapSecret>, target_secret: Option<ChapSecret>) -> LoginIdentity {
    LoginIdentity {
        initiator: "iqn.2026-01.lab:host".to_owned(),
        target: Some("iqn.2026-01.lab:t1".to_owned()),
        isid: [0x80, 1, 2, 3, 0, 1],
        secret,
        target_secret,
        challenge: *b"0123456789abcdef",
    }
}

/// A target: the secrets it knows, and how it misbehaves.
struct Scripted {
    secret: Option<ChapSecret>,
    own: ChapSecret,
    algorithm: &'static str,
    /// Splits every text in two responses.
    splits: bool,
}

impl Scripted {
    fn new(secret: Option<ChapSecret>) -> Self {
        Self { secret, own: chap("target", "target-secret"), algorithm: "5", splits: false }
    }

    /// The responses to a request, given all its text.
    fn answer(&self, request: &wire::iscsi::LoginRequest, text: &[u8]) -> (LoginResponse, Vec<u8>) {
        let mut out = Vec::new();
        let mut response = LoginResponse {
            transit: request.transit,
            stage: request.stage,
            next_stage: request.next_stage,
            tag: request.tag,
            isid: request.isid,
            tsih: 1,
            ..LoginResponse::default()
        };
        let get = |key| TextKeys::get(text, key);
        if let Some(method) = get("AuthMethod") {
            match (&self.secret, method) {
                (Some(_), "None") => response.status = 0x0201,
                (Some(_), _) => {
                    push_key(&mut out, "AuthMethod", "CHAP");
                    response.transit = false;
                }
                (None, _) => push_key(&mut out, "AuthMethod", "None"),
            }
        } else if get("CHAP_A").is_some() {
            push_key(&mut out, "CHAP_A", self.algorithm);
            push_key(&mut out, "CHAP_I", "7");
            push_key(&mut out, "CHAP_C", "0x00112233");
        } else if let (Some(name), Some(proof), Some(known)) = (get("CHAP_N"), get("CHAP_R"), &self.secret) {
            let algorithm = if self.algorithm == "5" { ChapAlgorithm::Md5 } else { ChapAlgorithm::Sha256 };
            let hex =
                |bytes: Vec<u8>| bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"));
            let expected = hex(chap_response(algorithm, 7, &known.secret, &[0, 0x11, 0x22, 0x33]));
            if name != known.name || proof != expected {
                response.status = 0x0201;
            }
            if let (Some(id), Some(challenge)) = (get("CHAP_I"), get("CHAP_C")) {
                let challenge: Vec<u8> = challenge.as_bytes()[2..]
                    .chunks(2)
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                    .collect();
                push_key(&mut out, "CHAP_N", &self.own.name);
                let own = chap_response(algorithm, id.parse().unwrap(), &self.own.secret, &challenge);
                push_key(&mut out, "CHAP_R", &hex(own));
            }
        } else if get("MaxBurstLength").is_some() {
            push_key(&mut out, "MaxRecvDataSegmentLength", "8192");
            push_key(&mut out, "MaxBurstLength", "262144");
            push_key(&mut out, "InitialR2T", "Yes");
        }
        (response, out)
    }

    /// Plays a login to its end.
    fn play(&self, identity: LoginIdentity) -> Result<Operational, LoginFailure> {
        let mut dialog = LoginDialog::new(identity, Offer::default(), 5, 1);
        let mut step = dialog.start();
        let mut pending: Option<(LoginResponse, Vec<u8>)> = None;
        loop {
            let (request, text) = match step {
                LoginStep::Send(request, text) => (request, text),
                LoginStep::Done(agreed) => return Ok(agreed),
                LoginStep::Redirected(to) => panic!("redirected to {to}"),
            };
            assert_eq!(request.data_bytes as usize, text.len());
            let (response, text) = match pending.take() {
                Some(rest) => {
                    assert!(text.is_empty() && !request.transit, "the rest is asked for");
                    rest
                }
                None => self.answer(&request, &text),
            };
            if self.splits && text.len() > 1 && !response.more {
                let (first, rest) = text.split_at(text.len() / 2);
                step = dialog.answer(&LoginResponse { more: true, transit: false, ..response }, first)?;
                let LoginStep::Send(request, nothing) = &step else { panic!("{step:?}") };
                assert!(nothing.is_empty() && !request.transit);
                step = dialog.answer(&response, rest)?;
                continue;
            }
            step = dialog.answer(&response, &text)?;
        }
    }
}

#[test]
fn logins_of_every_kind_succeed() {
    let user = || Some(chap("u1", "passw0rd1234"));
    for algorithm in ["5", "7"] {
        for splits in [false, true] {
            let open = Scripted { splits, ..Scripted::new(None) };
            let closed = Scripted { splits, algorithm, ..Scripted::new(user()) };
            let agreed = open.play(identity(None, None)).unwrap();
            assert_eq!((agreed.send_bytes, agreed.burst_bytes, agreed.initial_r2t), (8192, 262_144, true));
            // A target that asks for nothing is fine, too.
            open.play(identity(user(), None)).unwrap();
            closed.play(identity(user(), None)).unwrap();
            closed.play(identity(user(), Some(chap("target", "target-secret")))).unwrap();
        }
    }
}

#[test]
fn logins_fail_with_their_reason() {
    let user = || Some(chap("u1", "passw0rd1234"));
    let closed = Scripted::new(user());
    assert_eq!(closed.play(identity(None, None)), Err(LoginFailure::NoSecret));
    let wrong = closed.play(identity(Some(chap("u1", "wrong")), None)).unwrap_err();
    assert!(wrong.to_string().contains("authentication failure (status 0x0201)"), "{wrong}");
    let another = |name, secret| closed.play(identity(user(), Some(chap(name, secret)))).unwrap_err();
    assert_eq!(another("target", "x"), LoginFailure::Target("it does not know the secret"));
    assert_eq!(another("other", "target-secret"), LoginFailure::Target("it has another name"));
    let open = Scripted::new(None).play(identity(user(), Some(chap("target", "target-secret"))));
    assert_eq!(open, Err(LoginFailure::Target("it does not take part in CHAP")));
    let odd = Scripted { algorithm: "6", ..Scripted::new(user()) };
    assert_eq!(odd.play(identity(user(), None)), Err(LoginFailure::Algorithm("6".to_owned())));
}

/// The stage of each request, the outcome of odd responses to it.
#[test]
fn responses_out_of_turn_end_a_login() {
    let answer = |change: &dyn Fn(&mut LoginResponse), text: &[u8]| {
        let mut dialog = LoginDialog::new(identity(None, None), Offer::default(), 5, 1);
        let mut response = LoginResponse { transit: true, next_stage: 1, tag: 5, ..LoginResponse::default() };
        change(&mut response);
        dialog.answer(&response, text)
    };
    assert!(matches!(answer(&|_| {}, b""), Ok(LoginStep::Send(request, _)) if request.stage == 1));
    let malformed = |change: &dyn Fn(&mut LoginResponse)| {
        let failure = answer(change, b"").unwrap_err();
        assert!(matches!(failure, LoginFailure::Malformed(_)), "{failure}");
    };
    malformed(&|response| response.tag = 6);
    malformed(&|response| response.stage = 1);
    malformed(&|response| response.transit = false);
    malformed(&|response| response.next_stage = 3);
    malformed(&|response| response.status = 0x0101);
    let moved = answer(&|response| response.status = 0x0101, b"TargetAddress=10.0.0.2:3260,1\0");
    assert_eq!(moved, Ok(LoginStep::Redirected("10.0.0.2:3260,1".to_owned())));
    let gone = answer(&|response| response.status = 0x0203, b"").unwrap_err();
    assert!(gone.to_string().contains("target not found"), "{gone}");
    let kerberos = answer(&|_| {}, b"AuthMethod=KRB5\0").unwrap_err();
    assert!(kerberos.to_string().contains("by KRB5"), "{kerberos}");
    // A target that always has more to say.
    let mut dialog = LoginDialog::new(identity(None, None), Offer::default(), 5, 1);
    let more = LoginResponse { more: true, tag: 5, ..LoginResponse::default() };
    let ended = (0..1000).find_map(|_| dialog.answer(&more, &[b'x'; 4096]).err());
    assert_eq!(ended, Some(LoginFailure::Malformed("it does not end")));
}

impl Random {
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 if !bytes.is_empty() => bytes[at] = self.next() as u8,
                1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at),
                _ => bytes.extend(self.next().to_be_bytes()),
            }
        }
    }
}

/// Nothing that a target can send makes a decoder panic, and a login always ends.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test's budget, not a measurement")]
fn mutated_answers_are_survived() {
    let seconds = std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let sense = Sense { key: wire::iscsi::SenseKey(3), code: 0x11, qualifier: 0, information: Some(7) };
    let mut descriptors = vec![0x72, 0x05, 0x21, 0x00, 0, 0, 0, 16, 1, 2, 0, 0, 0, 10, 0x80, 0];
    descriptors.extend(9_u64.to_be_bytes());
    let capacity = UnitCapacity {
        blocks: 99,
        block_bytes: 512,
        physical_exponent: 3,
        unmaps: true,
        unmapped_zero: true,
    };
    let seeds = [sense.encode().to_vec(), descriptors, capacity.encode().to_vec(), vec![0; 64]];
    let mut seed = 0x6973_6373_0000_0000;
    while Instant::now() < end {
        for _ in 0..64 {
            seed += 1;
            let mut random = Random(seed);
            let mut data = seeds[random.below(seeds.len())].clone();
            random.mutate(&mut data);
            let read = Sense::decode(&data).or(Sense::in_response(&data));
            assert!(read.is_none_or(|sense| !sense.to_string().is_empty()));
            let _ = (UnitCapacity::decode(&data), BlockLimits::decode(&data), StandardInquiry::decode(&data));
            let _ = (unit_serial(&data), luns(&data).iter().map(Lun::to_string).count());
            if let Ok(cdb) = <Cdb>::try_from(data.get(..16).unwrap_or_default()) {
                let request = ScsiRequest::decode(&cdb);
                assert!(request.is_none_or(|request| ScsiRequest::decode(&request.encode()).is_some()));
            }
            let secret = (random.below(2) == 0).then(|| chap("u1", "passw0rd1234"));
            let own = (random.below(2) == 0).then(|| chap("target", "target-secret"));
            let target = Scripted::new(secret.clone());
            let mut dialog = LoginDialog::new(identity(secret, own), Offer::default(), 5, 1);
            let mut step = Ok(dialog.start());
            let mut rounds = 0;
            while let Ok(LoginStep::Send(request, text)) = step {
                let (response, mut text) = target.answer(&request, &text);
                let mut header = response.encode().to_vec();
                match random.below(6) {
                    0 => random.mutate(&mut header),
                    1 => random.mutate(&mut text),
                    _ => {}
                }
                header.resize(48, 0);
                step = dialog.answer(&LoginResponse::decode(&header.try_into().unwrap()), &text);
                rounds += 1;
                assert!(rounds < 100, "seed {seed:#x}: the login does not end");
            }
        }
    }
}
