//! A scripted iSCSI target with one unit, LUN 1: correct, or wrong in one way.

// Other tests use this file by its path, from where the modules would be looked for elsewhere.
#[path = "target/login.rs"]
mod login;
#[path = "target/writes.rs"]
mod writes;

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use wire::iscsi::{
    AsyncMessage, Crc32c, DataIn, Header, IscsiRequest, LogoutResponse, Lun, NO_TAG, NopIn, ReadyToTransfer,
    Rejection, ScsiCommand, ScsiRequest, ScsiResponse, ScsiStatus, Sense, SenseKey, TaskRequest,
    TaskResponse, TextResponse, UnitCapacity, data_bytes, padding, push_key,
};

use self::writes::Task;
use super::script::{Fault, Script, Seen};

pub const NAME: &str = "iqn.2026-01.lab:t1";
pub const BLOCK: usize = 512;
pub const UNIT_BYTES: usize = 4 << 20;
/// Bytes of a Data-In, and what the target receives in one PDU.
const SEGMENT: usize = 8192;
const BURST: usize = 32 << 10;
const FIRST_BURST: usize = 16 << 10;
const R2TS: u32 = 2;
pub const OWN: (&str, &str) = ("target", "target-secret");

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
        let script = &target.script;
        let faulty = script.fault != Fault::None && (number == 1 || script.always || script.at.is_some());
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
            _ if self.target.script.lacks.contains(&command.cdb[0]) => self.refuse(&command, 0x20),
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
                page[36..44].copy_from_slice(&self.target.script.write_same_blocks.to_be_bytes());
                self.give(&command, &page, None);
            }
            ScsiRequest::Inquiry { .. } => self.refuse(&command, 0x24),
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
            // Like tgt, it lists its units to whoever asks one that there is, or unit 0.
            ScsiRequest::ReportLuns { .. } if !there && command.lun != 0 => self.refuse(&command, 0x25),
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
                let moves = {
                    let mut seen = self.target.seen.lock().unwrap();
                    seen.moves += 1;
                    seen.moves
                };
                if self.target.script.at.is_none_or(|at| at == moves) && std::mem::take(&mut self.faulty) {
                    return self.fail(command, request, data);
                }
                self.io(command, request, data);
            }
            ScsiRequest::Unmap { .. } | ScsiRequest::WriteSame { .. } => self.take(command, request, data),
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

    /// Ends a command as an illegal request with this additional sense code.
    fn refuse(&mut self, command: &ScsiCommand, code: u8) {
        let sense = Sense { key: SenseKey::ILLEGAL_REQUEST, code, qualifier: 0, information: None };
        self.end(command, ScsiStatus::CHECK_CONDITION, Some(sense), 0);
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
