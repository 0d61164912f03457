//! A scripted iSCSI target with one unit, LUN 1: correct, or wrong in one way.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use wire::iscsi::{
    AsyncMessage, ChapAlgorithm, ChapSecret, Crc32c, DataIn, DataOut, Header, IscsiRequest, LoginRequest,
    LoginResponse, LogoutResponse, Lun, NO_TAG, NopIn, ReadyToTransfer, Rejection, ScsiCommand, ScsiRequest,
    ScsiResponse, ScsiStatus, Sense, SenseKey, TaskRequest, TaskResponse, TextKeys, TextResponse,
    UnitCapacity, chap_response, data_bytes, padding, push_key,
};

pub const NAME: &str = "iqn.2026-01.lab:t1";
pub const BLOCK: usize = 512;
pub const UNIT_BYTES: usize = 4 << 20;
/// Bytes of a Data-In, and what the target receives in one PDU.
const SEGMENT: usize = 8192;
const BURST: usize = 32 << 10;
const FIRST_BURST: usize = 16 << 10;
const R2TS: u32 = 2;
pub const OWN: (&str, &str) = ("target", "target-secret");

/// What goes wrong, once, at the first READ or WRITE of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The header digest of an answer is wrong.
    HeaderDigest,
    /// Its data digest is.
    DataDigest,
    /// The first R2T has the second one's number.
    R2tNumber,
    /// It asks for data in the middle.
    R2tOffset,
    /// One R2T more than agreed on.
    R2tTooMany,
    /// Data with the tag of nothing.
    UnknownTag,
    /// Data behind a gap.
    DataGap,
    /// Nothing of this protocol.
    Opcode,
    /// The connection is closed.
    Drop,
    /// The target wants a logout.
    AsyncLogout,
    /// It rejects the command.
    Reject,
    /// It answers nothing any more, pings included.
    Silent,
    /// It does not answer this command until it is to be aborted, and then too late.
    Late,
    /// It answers neither this command nor the request to abort it.
    Stuck,
    /// Half of the data, and it says so.
    Short,
    /// It never accepts another command.
    CloseWindow,
}

/// How the target behaves.
#[derive(Clone)]
pub struct Script {
    pub fault: Fault,
    /// It happens on every connection, not only on the first.
    pub always: bool,
    /// What initiators must know.
    pub secret: Option<ChapSecret>,
    /// What every login is answered with.
    pub login_status: u16,
    pub initial_r2t: bool,
    pub immediate_data: bool,
    /// Commands that it accepts at a time.
    pub window: u32,
    /// The status of a read comes in a PDU of its own.
    pub separate_status: bool,
    /// How the first reads and writes end, before the others succeed.
    pub statuses: Vec<(ScsiStatus, Option<Sense>)>,
    /// It pings the initiator before it answers a read.
    pub pings: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            fault: Fault::None,
            always: false,
            secret: None,
            login_status: 0,
            initial_r2t: false,
            immediate_data: true,
            window: 8,
            separate_status: false,
            statuses: Vec::new(),
            pings: false,
        }
    }
}

/// What the target has seen.
#[derive(Default)]
pub struct Seen {
    pub connections: usize,
    pub requests: Vec<ScsiRequest>,
    /// The commands that were to be aborted, by tag and number.
    pub aborts: Vec<(u32, u32)>,
    /// Tag and number of the commands that were not answered.
    pub left: Vec<(u32, u32)>,
    pub pongs: u32,
    /// What the initiator did wrong.
    pub violations: Vec<String>,
}

pub struct Target {
    pub address: SocketAddr,
    pub script: Script,
    pub data: Mutex<Vec<u8>>,
    pub seen: Mutex<Seen>,
    statuses: Mutex<VecDeque<(ScsiStatus, Option<Sense>)>>,
}

impl Target {
    /// Starts to serve, each connection in a thread of its own.
    pub fn start(script: Script) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            statuses: Mutex::new(script.statuses.iter().copied().collect()),
            script,
            data: Mutex::new(vec![0; UNIT_BYTES]),
            seen: Mutex::default(),
        });
        let shared = Arc::clone(&target);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let target = Arc::clone(&shared);
                let number = {
                    let mut seen = target.seen.lock().unwrap();
                    seen.connections += 1;
                    seen.connections
                };
                thread::spawn(move || Peer::new(target, stream, number).serve());
            }
        });
        target
    }

    /// Fails when the initiator did something wrong.
    pub fn check(&self) {
        let seen = self.seen.lock().unwrap();
        assert!(seen.violations.is_empty(), "{:?}", seen.violations);
    }
}

/// A command whose data arrive.
struct Task {
    command: ScsiCommand,
    request: ScsiRequest,
    data: Vec<u8>,
    received: usize,
    asked: usize,
    /// R2Ts without their data.
    open: u32,
    r2t_sn: u32,
    data_sn: u32,
}

struct Peer {
    target: Arc<Target>,
    stream: BufReader<TcpStream>,
    faulty: bool,
    silent: bool,
    closed: bool,
    stat_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    running: u32,
    header_digest: bool,
    data_digest: bool,
    spoil_header: bool,
    spoil_data: bool,
    tasks: BTreeMap<u32, Task>,
    left: Option<ScsiCommand>,
    /// PDUs are collected instead of sent.
    holds: bool,
    held: Vec<u8>,
}

impl Peer {
    fn new(target: Arc<Target>, stream: TcpStream, number: usize) -> Self {
        let faulty = target.script.fault != Fault::None && (number == 1 || target.script.always);
        Self {
            stream: BufReader::new(stream),
            faulty,
            silent: false,
            closed: false,
            stat_sn: 100,
            exp_cmd_sn: 0,
            max_cmd_sn: 0,
            running: 0,
            header_digest: false,
            data_digest: false,
            spoil_header: false,
            spoil_data: false,
            tasks: BTreeMap::new(),
            left: None,
            holds: false,
            held: Vec::new(),
            target,
        }
    }

    fn violation(&self, text: impl Into<String>) {
        self.target.seen.lock().unwrap().violations.push(text.into());
    }

    fn exactly(&mut self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    fn read(&mut self) -> Option<(IscsiRequest, Vec<u8>)> {
        let header: Header = self.exactly(48)?.try_into().unwrap();
        if self.header_digest && self.exactly(4)? != Crc32c::of(&header) {
            self.violation("a header digest is wrong");
        }
        let len = data_bytes(&header);
        let mut data = self.exactly(len + padding(len))?;
        if self.data_digest && len > 0 && self.exactly(4)? != Crc32c::of(&data) {
            self.violation("a data digest is wrong");
        }
        if len > SEGMENT {
            self.violation(format!("{len} bytes in one PDU"));
        }
        data.truncate(len);
        match IscsiRequest::decode(&header) {
            Ok(request) => Some((request, data)),
            Err(error) => {
                self.violation(error.to_string());
                None
            }
        }
    }

    fn send(&mut self, mut header: Header, data: &[u8]) {
        header[5..8].copy_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        let mut pdu = header.to_vec();
        if self.header_digest {
            pdu.extend(Crc32c::of(&header));
            pdu[50] ^= u8::from(std::mem::take(&mut self.spoil_header));
        }
        if !data.is_empty() {
            let mut segment = data.to_vec();
            segment.resize(data.len() + padding(data.len()), 0);
            let digest = Crc32c::of(&segment);
            pdu.extend(segment);
            if self.data_digest {
                pdu.extend(digest);
                let last = pdu.len() - 1;
                pdu[last] ^= u8::from(std::mem::take(&mut self.spoil_data));
            }
        }
        if self.holds {
            self.held.extend(pdu);
            return;
        }
        // The initiator may have left.
        let _ = self.stream.get_mut().write_all(&pdu);
    }

    /// `ExpCmdSN` and `MaxCmdSN`.
    fn window(&mut self) -> (u32, u32) {
        let free = if self.closed { 0 } else { self.target.script.window.saturating_sub(self.running) };
        let max = self.exp_cmd_sn.wrapping_add(free).wrapping_sub(1);
        if (max.wrapping_sub(self.max_cmd_sn) as i32) > 0 {
            self.max_cmd_sn = max;
        }
        (self.exp_cmd_sn, self.max_cmd_sn)
    }

    fn next_stat_sn(&mut self) -> u32 {
        self.stat_sn += 1;
        self.stat_sn - 1
    }

    fn serve(&mut self) {
        while let Some((request, data)) = self.read() {
            match request {
                IscsiRequest::Login(login) => {
                    if !self.login(&login, &data) {
                        return;
                    }
                }
                _ if self.silent => {}
                IscsiRequest::Command(command) => {
                    if !self.command(command, &data) {
                        return;
                    }
                }
                IscsiRequest::DataOut(out) => self.data_out(&out, &data),
                IscsiRequest::Nop(nop) if nop.tag == NO_TAG => self.target.seen.lock().unwrap().pongs += 1,
                IscsiRequest::Nop(nop) => {
                    let (exp_cmd_sn, max_cmd_sn) = self.window();
                    let stat_sn = self.next_stat_sn();
                    let pong = NopIn {
                        tag: nop.tag,
                        target_tag: NO_TAG,
                        stat_sn,
                        exp_cmd_sn,
                        max_cmd_sn,
                        ..NopIn::default()
                    };
                    self.send(pong.encode(), &data);
                }
                IscsiRequest::Task(task) => self.abort(&task),
                IscsiRequest::Text(text) => {
                    let mut list = Vec::new();
                    for name in [NAME, "iqn.2026-01.lab:t2"] {
                        push_key(&mut list, "TargetName", name);
                        push_key(&mut list, "TargetAddress", &format!("{},1", self.target.address));
                    }
                    self.exp_cmd_sn = text.cmd_sn.wrapping_add(1);
                    let (exp_cmd_sn, max_cmd_sn) = self.window();
                    let stat_sn = self.next_stat_sn();
                    let answer = TextResponse {
                        is_final: true,
                        tag: text.tag,
                        target_tag: NO_TAG,
                        stat_sn,
                        exp_cmd_sn,
                        max_cmd_sn,
                        ..TextResponse::default()
                    };
                    self.send(answer.encode(), &list);
                }
                IscsiRequest::Logout(logout) => {
                    let answer = LogoutResponse { tag: logout.tag, ..LogoutResponse::default() };
                    self.send(answer.encode(), &[]);
                    return;
                }
            }
        }
    }

    fn login(&mut self, request: &LoginRequest, text: &[u8]) -> bool {
        let script = self.target.script.clone();
        let mut out = Vec::new();
        let mut response = LoginResponse {
            transit: request.transit,
            stage: request.stage,
            next_stage: request.next_stage,
            tag: request.tag,
            isid: request.isid,
            tsih: 1,
            status: script.login_status,
            ..LoginResponse::default()
        };
        let get = |key| TextKeys::get(text, key);
        if get("TargetName").is_some_and(|name| name != NAME) {
            response.status = 0x0203;
        }
        let (mut digests, mut answers) = ((false, false), Vec::new());
        if let Some(method) = get("AuthMethod") {
            match (&script.secret, method) {
                (Some(_), "None") => response.status = 0x0201,
                (Some(_), _) => {
                    answers.push(("AuthMethod", "CHAP".to_owned()));
                    response.transit = false;
                }
                (None, _) => answers.push(("AuthMethod", "None".to_owned())),
            }
        } else if get("CHAP_A").is_some() {
            answers.extend([("CHAP_A", "5".to_owned()), ("CHAP_I", "7".to_owned())]);
            answers.push(("CHAP_C", "0x00112233".to_owned()));
        } else if let (Some(name), Some(proof), Some(known)) = (get("CHAP_N"), get("CHAP_R"), &script.secret)
        {
            let expected = hex(&chap_response(ChapAlgorithm::Md5, 7, &known.secret, &[0, 0x11, 0x22, 0x33]));
            if name != known.name || proof != expected {
                response.status = 0x0201;
            }
            if let (Some(id), Some(challenge)) = (get("CHAP_I"), get("CHAP_C")) {
                let own = chap_response(ChapAlgorithm::Md5, id.parse().unwrap(), OWN.1, &unhex(challenge));
                answers.extend([("CHAP_N", OWN.0.to_owned()), ("CHAP_R", hex(&own))]);
            }
        } else if get("MaxRecvDataSegmentLength").is_some() {
            let yes = |value: bool| (if value { "Yes" } else { "No" }).to_owned();
            let asked = |key| get(key).is_some_and(|value: &str| value.starts_with("CRC32C"));
            digests = (asked("HeaderDigest"), asked("DataDigest"));
            let digest = |on: bool| (if on { "CRC32C" } else { "None" }).to_owned();
            answers.extend([("HeaderDigest", digest(digests.0)), ("DataDigest", digest(digests.1))]);
            answers.push(("MaxRecvDataSegmentLength", SEGMENT.to_string()));
            answers.push(("MaxBurstLength", BURST.to_string()));
            answers.push(("FirstBurstLength", FIRST_BURST.to_string()));
            answers.push(("MaxOutstandingR2T", R2TS.to_string()));
            answers.push(("InitialR2T", yes(script.initial_r2t)));
            answers.push(("ImmediateData", yes(script.immediate_data)));
        }
        answers.iter().for_each(|(key, value)| push_key(&mut out, key, value));
        self.exp_cmd_sn = request.cmd_sn;
        self.max_cmd_sn = request.cmd_sn.wrapping_sub(1);
        (response.exp_cmd_sn, response.max_cmd_sn) = self.window();
        response.stat_sn = self.next_stat_sn();
        self.send(response.encode(), &out);
        if response.transit && response.next_stage == 3 {
            (self.header_digest, self.data_digest) = digests;
        }
        response.status == 0
    }

    /// Handles a command; false closes the connection.
    fn command(&mut self, command: ScsiCommand, data: &[u8]) -> bool {
        if command.cmd_sn != self.exp_cmd_sn || (self.max_cmd_sn.wrapping_sub(command.cmd_sn) as i32) < 0 {
            self.violation(format!(
                "command {} while {} is expected and {} allowed",
                command.cmd_sn, self.exp_cmd_sn, self.max_cmd_sn
            ));
        }
        self.exp_cmd_sn = command.cmd_sn.wrapping_add(1);
        self.running += 1;
        let Some(request) = ScsiRequest::decode(&command.cdb) else {
            self.violation(format!("command {:?}", command.cdb));
            return false;
        };
        self.target.seen.lock().unwrap().requests.push(request);
        let there = command.lun == Lun::of(1).unwrap().0;
        match request {
            ScsiRequest::Inquiry { page: None, .. } => {
                let mut inquiry = vec![0; 36];
                inquiry[0] = if there { 0 } else { 0x7f };
                inquiry[8..36].copy_from_slice(b"LAB     SCRIPTED UNIT   0001");
                self.give(&command, &inquiry, None);
            }
            ScsiRequest::Inquiry { page: Some(0xb0), .. } => {
                let mut page = vec![0; 64];
                page[1] = 0xb0;
                page[8..12].copy_from_slice(&256_u32.to_be_bytes());
                page[20..24].copy_from_slice(&64_u32.to_be_bytes());
                self.give(&command, &page, None);
            }
            ScsiRequest::Inquiry { .. } => {
                let sense =
                    Sense { key: SenseKey::ILLEGAL_REQUEST, code: 0x24, qualifier: 0, information: None };
                self.end(&command, ScsiStatus::CHECK_CONDITION, Some(sense), 0);
            }
            ScsiRequest::ReadCapacity16 { .. } => {
                let blocks = (UNIT_BYTES / BLOCK) as u64;
                let capacity = UnitCapacity {
                    blocks,
                    block_bytes: BLOCK as u32,
                    physical_exponent: 3,
                    unmaps: true,
                    unmapped_zero: true,
                };
                self.give(&command, &capacity.encode(), None);
            }
            ScsiRequest::ReportLuns { .. } => {
                let mut list = 16_u32.to_be_bytes().to_vec();
                list.extend([0; 4]);
                for number in [1, 300] {
                    list.extend(Lun::of(number).unwrap().0.to_be_bytes());
                }
                self.give(&command, &list, None);
            }
            ScsiRequest::Read { .. } | ScsiRequest::Write { .. } => {
                let status = self.target.statuses.lock().unwrap().pop_front();
                if let Some((status, sense)) = status {
                    self.end(&command, status, sense, 0);
                    return true;
                }
                if std::mem::take(&mut self.faulty) {
                    return self.fail(command, request, data);
                }
                self.io(command, request, data);
            }
            ScsiRequest::Unmap { .. } => self.take(command, request, data),
            _ => self.end(&command, ScsiStatus::GOOD, None, 0),
        }
        true
    }

    fn io(&mut self, command: ScsiCommand, request: ScsiRequest, data: &[u8]) {
        let ScsiRequest::Read { block, blocks } = request else { return self.take(command, request, data) };
        if self.target.script.pings {
            let (exp_cmd_sn, max_cmd_sn) = self.window();
            let ping = NopIn {
                tag: NO_TAG,
                target_tag: 77,
                stat_sn: self.stat_sn,
                exp_cmd_sn,
                max_cmd_sn,
                ..NopIn::default()
            };
            self.send(ping.encode(), &[]);
        }
        let from = block as usize * BLOCK;
        let content = self.target.data.lock().unwrap()[from..from + blocks as usize * BLOCK].to_vec();
        self.give(&command, &content, None);
    }

    /// Does something wrong with a READ or WRITE; false closes the connection.
    fn fail(&mut self, command: ScsiCommand, request: ScsiRequest, data: &[u8]) -> bool {
        match self.target.script.fault {
            Fault::Drop => return false,
            Fault::HeaderDigest => self.spoil_header = true,
            Fault::DataDigest => self.spoil_data = true,
            Fault::UnknownTag => {
                let wrong = DataIn { tag: command.tag ^ 0x4000_0000, ..DataIn::default() };
                self.send(wrong.encode(), &[1; 512]);
            }
            Fault::DataGap => {
                let wrong = DataIn { tag: command.tag, offset: 512, ..DataIn::default() };
                self.send(wrong.encode(), &[1; 512]);
            }
            Fault::Opcode => self.send([0x3e; 48], &[]),
            Fault::AsyncLogout => {
                let (exp_cmd_sn, max_cmd_sn) = self.window();
                let stat_sn = self.next_stat_sn();
                let message =
                    AsyncMessage { event: 1, stat_sn, exp_cmd_sn, max_cmd_sn, ..AsyncMessage::default() };
                self.send(message.encode(), &[]);
            }
            Fault::Reject => {
                let rejection = Rejection { reason: 0x0a, ..Rejection::default() };
                self.send(rejection.encode(), &[0; 48]);
            }
            Fault::R2tNumber => self.r2t(&command, 1, data.len() as u32, 512),
            Fault::R2tOffset => self.r2t(&command, 0, data.len() as u32 + 512, 512),
            Fault::R2tTooMany => {
                let from = FIRST_BURST as u32;
                // In one piece: those that come one by one may be replied to in between.
                self.holds = true;
                (0..=R2TS).for_each(|number| self.r2t(&command, number, from + 512 * number, 512));
                let held = std::mem::take(&mut self.held);
                let _ = self.stream.get_mut().write_all(&held);
            }
            Fault::Silent => self.silent = true,
            Fault::Late | Fault::Stuck => {
                self.target.seen.lock().unwrap().left.push((command.tag, command.cmd_sn));
                self.left = Some(command);
                return true;
            }
            Fault::Short => {
                let half = command.transfer_bytes / 2;
                match request {
                    ScsiRequest::Read { .. } => self.give(&command, &vec![1; half as usize], Some(half)),
                    _ => self.end(&command, ScsiStatus::GOOD, None, half),
                }
                return true;
            }
            Fault::CloseWindow => self.closed = true,
            Fault::None => {}
        }
        let goes_on = matches!(
            self.target.script.fault,
            Fault::HeaderDigest | Fault::DataDigest | Fault::CloseWindow | Fault::None
        );
        if goes_on {
            self.io(command, request, data);
        }
        true
    }

    /// Sends a read's data and its end.
    fn give(&mut self, command: &ScsiCommand, data: &[u8], residual: Option<u32>) {
        let data = &data[..data.len().min(command.transfer_bytes as usize)];
        let count = data.chunks(SEGMENT).count();
        let separate = self.target.script.separate_status;
        let short = command.transfer_bytes - data.len() as u32;
        for (number, part) in data.chunks(SEGMENT).enumerate() {
            let last = number + 1 == count;
            let has_status = last && !separate;
            if has_status {
                self.running -= 1;
            }
            let (exp_cmd_sn, max_cmd_sn) = self.window();
            let header = DataIn {
                is_final: last,
                has_status,
                underflow: has_status && short > 0,
                residual: if has_status { residual.unwrap_or(short) } else { 0 },
                tag: command.tag,
                target_tag: NO_TAG,
                stat_sn: if has_status { self.next_stat_sn() } else { 0 },
                exp_cmd_sn,
                max_cmd_sn,
                data_sn: number as u32,
                offset: (number * SEGMENT) as u32,
                ..DataIn::default()
            };
            self.send(header.encode(), part);
        }
        if separate {
            self.end(command, ScsiStatus::GOOD, None, short);
        }
    }

    /// Ends a command.
    fn end(&mut self, command: &ScsiCommand, status: ScsiStatus, sense: Option<Sense>, residual: u32) {
        self.running -= 1;
        let (exp_cmd_sn, max_cmd_sn) = self.window();
        let stat_sn = self.next_stat_sn();
        let response = ScsiResponse {
            status: status.0,
            underflow: residual > 0,
            residual,
            tag: command.tag,
            stat_sn,
            exp_cmd_sn,
            max_cmd_sn,
            ..ScsiResponse::default()
        };
        let data = sense.map(|sense| sense.encode().to_vec()).unwrap_or_default();
        self.send(response.encode(), &data);
    }

    fn r2t(&mut self, command: &ScsiCommand, r2t_sn: u32, offset: u32, wanted_bytes: u32) {
        let (exp_cmd_sn, max_cmd_sn) = self.window();
        let wanted = ReadyToTransfer {
            lun: command.lun,
            tag: command.tag,
            target_tag: 1000 + r2t_sn,
            stat_sn: self.stat_sn,
            exp_cmd_sn,
            max_cmd_sn,
            r2t_sn,
            offset,
            wanted_bytes,
        };
        self.send(wanted.encode(), &[]);
    }

    /// Begins to take a command's data.
    fn take(&mut self, command: ScsiCommand, request: ScsiRequest, data: &[u8]) {
        let script = &self.target.script;
        let unsolicited = !command.is_final;
        if (!script.immediate_data && !data.is_empty()) || (script.initial_r2t && unsolicited) {
            self.violation(format!("{} bytes came unasked", data.len()));
        }
        let mut task = Task {
            data: vec![0; command.transfer_bytes as usize],
            received: data.len(),
            asked: 0,
            open: 0,
            r2t_sn: 0,
            data_sn: 0,
            command,
            request,
        };
        task.data[..data.len()].copy_from_slice(data);
        if unsolicited {
            self.tasks.insert(command.tag, task);
        } else {
            task.asked = task.received;
            self.go_on(task);
        }
    }

    /// Asks for more, or ends the command.
    fn go_on(&mut self, mut task: Task) {
        if task.received == task.data.len() {
            self.store(&task);
            self.end(&task.command, ScsiStatus::GOOD, None, 0);
            return;
        }
        while task.open < R2TS && task.asked < task.data.len() {
            let bytes = (task.data.len() - task.asked).min(BURST);
            self.r2t(&task.command, task.r2t_sn, task.asked as u32, bytes as u32);
            task.asked += bytes;
            task.open += 1;
            task.r2t_sn += 1;
        }
        self.tasks.insert(task.command.tag, task);
    }

    fn data_out(&mut self, out: &DataOut, data: &[u8]) {
        // What is left of a command that went wrong.
        let Some(mut task) = self.tasks.remove(&out.tag) else { return };
        if out.offset as usize != task.received || out.data_sn != task.data_sn {
            self.violation(format!("data {} at {} instead of {}", out.data_sn, out.offset, task.received));
        }
        let unsolicited = out.target_tag == NO_TAG;
        task.data[task.received..task.received + data.len()].copy_from_slice(data);
        task.received += data.len();
        task.data_sn += 1;
        if unsolicited && task.received > FIRST_BURST {
            self.violation(format!("{} bytes unasked", task.received));
        }
        if !out.is_final {
            self.tasks.insert(out.tag, task);
            return;
        }
        task.data_sn = 0;
        match unsolicited {
            true => task.asked = task.received,
            false => task.open -= 1,
        }
        self.go_on(task);
    }

    fn store(&self, task: &Task) {
        let mut unit = self.target.data.lock().unwrap();
        match task.request {
            ScsiRequest::Write { block, .. } => {
                let from = block as usize * BLOCK;
                unit[from..from + task.data.len()].copy_from_slice(&task.data);
            }
            _ => ScsiRequest::unmap_ranges(&task.data).for_each(|(block, blocks)| {
                let from = block as usize * BLOCK;
                unit[from..from + blocks as usize * BLOCK].fill(0);
            }),
        }
    }

    fn abort(&mut self, task: &TaskRequest) {
        self.target.seen.lock().unwrap().aborts.push((task.referenced_tag, task.referenced_cmd_sn));
        if self.target.script.fault == Fault::Stuck {
            return;
        }
        if let Some(command) = self.left.take() {
            self.give(&command, &vec![1; command.transfer_bytes as usize], None);
        }
        let (exp_cmd_sn, max_cmd_sn) = self.window();
        let stat_sn = self.next_stat_sn();
        let done = TaskResponse { response: 1, tag: task.tag, stat_sn, exp_cmd_sn, max_cmd_sn };
        self.send(done.encode(), &[]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes()[2..].chunks(2).map(digit).collect()
}
