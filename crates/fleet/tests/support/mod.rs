//! Fake executors, agents in threads, and settings for a coordinator.
#![allow(dead_code, clippy::unwrap_used, reason = "a test helper of which each file uses a part")]

pub mod hands;
pub mod process;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::StageContext;
use fleet::frame::{FrameReader, Tally};
use fleet::{
    AgentEnd, Ends, FleetEvent, Hello, HostExecutor, HostGroup, HostGroupSettings, HostShare, Leaving, Link,
    Member, OpenOrder, SiteFacts, StageRequest, StageTask, Trouble, greet, serve,
};

pub const SITE: u32 = 7;

/// Settings with short timeouts.
pub fn settings() -> HostGroupSettings {
    HostGroupSettings {
        heartbeat: Duration::from_millis(100),
        farewell: Duration::from_secs(5),
        ..HostGroupSettings::with_silence(Duration::from_secs(20))
    }
}

/// One side of a pipe between a coordinator and an agent: `(to the other side, from the other side)`.
pub type Side = (OwnedFd, OwnedFd);

pub fn pipe() -> (Side, Side) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let side = |end: UnixStream| (OwnedFd::from(end.try_clone().unwrap()), OwnedFd::from(end));
    (side(ours), side(theirs))
}

pub fn ends(name: &str, side: Side) -> Ends {
    Ends { name: name.to_owned(), input: side.0, output: side.1, process: None }
}

/// An agent in a thread of this process.
pub fn agent(name: &str, hand: Arc<dyn HostExecutor>) -> (Ends, JoinHandle<AgentEnd>, Leaving) {
    let (ours, theirs) = pipe();
    let leaving = Leaving::default();
    let leave = leaving.clone();
    let run = move || serve(theirs.1, theirs.0, hand, Hello::own(vec!["test".to_owned()]), &leave).unwrap();
    (ends(name, ours), std::thread::spawn(run), leaving)
}

/// All events, in order.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<FleetEvent>>>);

impl Events {
    pub fn lost(&self) -> Vec<(usize, String)> {
        let events = self.0.lock().unwrap();
        let lost = events.iter().filter_map(|event| match event {
            FleetEvent::Lost { member, why, .. } => Some((*member, why.clone())),
            FleetEvent::Said { .. } => None,
        });
        lost.collect()
    }

    pub fn said(&self) -> Vec<String> {
        let events = self.0.lock().unwrap();
        let said = events.iter().filter_map(|event| match event {
            FleetEvent::Said { text, .. } => Some(text.clone()),
            FleetEvent::Lost { .. } => None,
        });
        said.collect()
    }

    pub fn hear(&self) -> Arc<dyn Fn(FleetEvent) + Send + Sync> {
        let events = Arc::clone(&self.0);
        Arc::new(move |event| events.lock().unwrap().push(event))
    }
}

pub fn links(ends: Vec<Ends>) -> Vec<Link> {
    let greeted = greet(ends, Duration::from_secs(20), &|| false);
    greeted.into_iter().map(|link| link.unwrap_or_else(|fault| panic!("{fault:?}"))).collect()
}

pub fn host_group(ends: Vec<Ends>, settings: HostGroupSettings, events: &Events) -> HostGroup {
    let members = links(ends).into_iter().map(Member::Link).collect();
    HostGroup::new(members, settings, events.hear())
}

/// A host group of agents in threads, one per executor.
pub fn host_group_of(
    hands: &[Arc<dyn HostExecutor>],
    events: &Events,
) -> (HostGroup, Vec<JoinHandle<AgentEnd>>) {
    let (ends, threads): (Vec<_>, Vec<_>) = hands
        .iter()
        .enumerate()
        .map(|(number, hand)| {
            let (ends, thread, _) = agent(&format!("host-{number}"), Arc::clone(hand));
            (ends, thread)
        })
        .unzip();
    (host_group(ends, settings(), events), threads)
}

pub fn opening() -> OpenOrder {
    let text = "targets: {nothing: \"null:\"}\nworkloads:\n  w: {ops: read}\n";
    let source = experiment::SourceText { file: "test.yaml", text };
    let settings = experiment::Settings::of(targets::kinds());
    let plan = experiment::parse(&source, &settings).unwrap_or_else(|faults| panic!("{faults}"));
    let cell = Box::new(plan.cells[0].clone());
    OpenOrder {
        site: SITE,
        cell,
        part: HostShare::WHOLE,
        run: "test".to_owned(),
        place: "test".to_owned(),
        key: None,
        seed: 1,
        draws: 2,
        own_cores: false,
        reactor: "auto".to_owned(),
        patience: targets::Patience::default(),
        destroy: Vec::new(),
        settled: Vec::new(),
    }
}

pub fn open_all(host_group: &HostGroup) -> Vec<(usize, Result<SiteFacts, Trouble>)> {
    host_group.open(host_group.alive().into_iter().map(|at| (at, opening())).collect())
}

pub fn measure(limit_s: f64) -> StageRequest {
    StageRequest { limit_s, ..StageRequest::to_the_end(SITE, StageTask::Measure { generation: 1 }) }
}

pub fn orders(host_group: &HostGroup, request: &StageRequest) -> Vec<(usize, StageRequest)> {
    host_group.alive().into_iter().map(|at| (at, request.clone())).collect()
}

pub fn nothing_beside() -> StageContext {
    StageContext::default()
}

/// An agent that sends anything, frame by frame.
pub struct Liar {
    output: std::fs::File,
    input: FrameReader<std::fs::File>,
    tally: Tally,
    /// Its clock as a function of this process's.
    pub clock: fn(u64) -> u64,
}

impl Liar {
    pub fn new(side: Side) -> Self {
        Liar {
            output: side.0.into(),
            input: FrameReader::new(side.1.into()),
            tally: Tally::default(),
            clock: |ours| ours,
        }
    }

    /// One that has said hello.
    pub fn welcome(side: Side) -> Self {
        let mut liar = Liar::new(side);
        liar.say(&serde_json::json!({ "Hello": Hello::own(Vec::new()) }));
        liar
    }

    /// False when nobody reads any more.
    pub fn say(&mut self, message: &serde_json::Value) -> bool {
        let body = serde_json::to_vec(message).unwrap();
        self.say_body(&body)
    }

    /// The next frame, not yet sent.
    pub fn frame(&mut self, body: &[u8]) -> Vec<u8> {
        self.tally.frame(body)
    }

    /// For callers that wait for its end.
    pub fn input(&self) -> &std::fs::File {
        &self.output
    }

    /// Sends nothing more.
    pub fn shut(&mut self) {
        rustix::net::shutdown(&self.output, rustix::net::Shutdown::Write).unwrap();
    }

    pub fn say_body(&mut self, body: &[u8]) -> bool {
        let frame = self.tally.frame(body);
        self.say_bytes(&frame)
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) -> bool {
        self.output.write_all(bytes).is_ok()
    }

    /// The next message it receives; `None` when the pipe is closed.
    pub fn hear(&mut self) -> Option<serde_json::Value> {
        let body = self.input.read_frame().ok()?;
        Some(serde_json::from_slice(body).unwrap())
    }

    /// Answers pings and the opening of a target until a message with this name arrives.
    pub fn until(&mut self, name: &str) -> Option<serde_json::Value> {
        loop {
            let heard = self.hear()?;
            if let Some(told) = heard.get(name) {
                return Some(told.clone());
            }
            self.behave(&heard);
        }
    }

    pub fn behave(&mut self, heard: &serde_json::Value) {
        if let Some(ping) = heard.get("Ping") {
            let now = (self.clock)(reactor::clock::now_ns());
            self.say(&serde_json::json!({ "Pong": {
                "number": ping["number"], "received_ns": now, "answered_ns": now
            } }));
        }
        if let Some(open) = heard.get("Open") {
            let facts = SiteFacts::default();
            self.say(&serde_json::json!({ "Answer": {
                "id": open["id"], "outcome": { "Ok": { "Opened": facts } }
            } }));
        }
    }
}
