//! Members behind pipes.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Answers, HostGroupSettings, Member, keeper};
use crate::agent::{Leaving, serve};
use crate::check;
use crate::clock::ClockFacts;
use crate::host_executor::HostExecutor;
use crate::link::{Answer, Ends, Events, Wire, greet};
use crate::message::{Hello, ToAgent, Welcome, encode};
use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId};
use crate::seen::{FleetEvent, Trouble};

/// An agent in this process says hello within this time.
const GREETING: Duration = Duration::from_secs(10);

/// All members, and the thread that services their pipes.
pub(super) struct Many {
    pub(super) wires: Vec<Arc<Wire>>,
    pub(super) settings: HostGroupSettings,
    next_id: AtomicU64,
    sites: Mutex<HashMap<(usize, SiteId), Site>>,
    keeper: keeper::Keeper,
    ended: AtomicBool,
}

/// What is known of a target opened by a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Site {
    pub(super) virtual_clock: bool,
    /// Timeouts of opening sessions and of an operation, added.
    pub(super) patience: Duration,
}

impl Many {
    pub(super) fn new(members: Vec<Member>, settings: HostGroupSettings, events: Events) -> Self {
        give_histograms_back();
        let wires: Vec<Arc<Wire>> = members
            .into_iter()
            .enumerate()
            .map(|(number, member)| {
                let link = match member {
                    Member::Link(link) => Ok(link),
                    Member::Here(hand) => here(hand),
                };
                link.map_or_else(
                    |(name, why)| {
                        let (event_name, at_ns) = (name.clone(), reactor::clock::now_ns());
                        events(FleetEvent::Lost {
                            member: number,
                            name: event_name,
                            why: why.clone(),
                            at_ns,
                        });
                        Wire::gone(name, &why)
                    },
                    |link| {
                        // It is new, and nothing else numbers it.
                        let _ = link.wire.member.set(number);
                        Arc::clone(&link.wire)
                    },
                )
            })
            .collect();
        for (number, wire) in wires.iter().enumerate() {
            let welcome = Welcome {
                name: wire.name.clone(),
                index: u32::try_from(number).unwrap_or(u32::MAX),
                heartbeat_ms: milliseconds(settings.heartbeat),
                silence_ms: milliseconds(settings.silence),
            };
            wire.welcome(number, &welcome, &events);
        }
        let keeper = keeper::start(wires.clone(), settings);
        Many {
            wires,
            settings,
            next_id: AtomicU64::new(1),
            sites: Mutex::default(),
            keeper,
            ended: AtomicBool::new(false),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.wires.iter().map(|wire| wire.name.clone()).collect()
    }

    pub(super) fn host_facts(&self, member: usize) -> BTreeMap<String, String> {
        let hello = self.wires.get(member).and_then(|wire| wire.hello.get());
        hello.map(|hello| hello.facts.clone()).unwrap_or_default()
    }

    pub(super) fn machine(&self, member: usize) -> &str {
        self.wires.get(member).and_then(|wire| wire.hello.get()).map_or("", |hello| &hello.machine)
    }

    pub(super) fn shares_machine(&self, member: usize) -> bool {
        let own = self.machine(member);
        !own.is_empty() && (0..self.wires.len()).any(|at| at != member && self.machine(at) == own)
    }

    pub(super) fn alive(&self) -> Vec<usize> {
        (0..self.wires.len()).filter(|at| self.wires[*at].lost().is_none()).collect()
    }

    pub(super) fn clocks(&self) -> Vec<Option<ClockFacts>> {
        let now = reactor::clock::now_ns();
        self.wires.iter().map(|wire| wire.clock(now)).collect()
    }

    /// A number for a request or a stage.
    pub(super) fn id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn site(&self, member: usize, site: SiteId) -> Site {
        let sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.get(&(member, site)).copied().unwrap_or_default()
    }

    pub(super) fn open(&self, openings: Vec<(usize, OpenOrder)>) -> Answers<SiteFacts> {
        let mut waits = HashMap::new();
        let questions = openings.into_iter().map(|(at, opening)| {
            waits.insert(
                at,
                (opening.site, Duration::from_secs_f64(opening.cell.workload.op_timeout_s.clamp(0.0, 1e6))),
            );
            (at, ToAgent::Open { id: self.id(), opening: Box::new(opening) })
        });
        let answers = self.ask(questions.collect());
        let checked = answers.into_iter().map(|(at, answer)| {
            let facts = answer.and_then(|reply| match reply {
                Reply::Opened(mut facts) => {
                    check::site(&mut facts).map(|()| facts).map_err(|fault| self.lose(at, &fault.to_string()))
                }
                _ => Err(self.lose(at, "it answers the opening of a target with something else")),
            });
            if let (Ok(facts), Some((site, op_timeout))) = (&facts, waits.get(&at)) {
                let patience = Duration::from_nanos(facts.connect_timeout_ns) + *op_timeout;
                let known = Site { virtual_clock: facts.virtual_clock, patience };
                self.sites.lock().unwrap_or_else(PoisonError::into_inner).insert((at, *site), known);
            }
            (at, facts)
        });
        checked.collect()
    }

    pub(super) fn act(&self, members: &[usize], site: SiteId, act: &Act) -> Answers<Reply> {
        let question = |at: &usize| (*at, ToAgent::Act { id: self.id(), site, act: act.clone() });
        let mut answers = self.ask(members.iter().map(question).collect());
        for (_, answer) in &mut answers {
            match answer {
                Ok(Reply::Looked(look)) => check::look(look),
                Ok(Reply::Sampled(sample)) => check::sample(sample),
                _ => {}
            }
        }
        if *act == Act::Close {
            let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
            sites.retain(|(at, known), _| *known != site || !members.contains(at));
        }
        answers
    }

    /// Sends all requests at once, and waits for the last reply.
    fn ask(&self, questions: Vec<(usize, ToAgent)>) -> Answers<Reply> {
        let (sender, answers) = std::sync::mpsc::channel();
        let asked: Vec<usize> = questions.iter().map(|(at, _)| *at).collect();
        let mut came: HashMap<usize, Result<Reply, Trouble>> = HashMap::new();
        for (at, message) in questions {
            match (self.wires.get(at), &message) {
                (Some(wire), ToAgent::Open { id, .. } | ToAgent::Act { id, .. }) => {
                    let answer: Answer = sender.clone();
                    wire.ask(*id, &encode(&message), answer);
                }
                _ => {
                    came.insert(
                        at,
                        Err(Trouble::Refused(HostRefusal::failed(format!("there is no member {at}")))),
                    );
                }
            }
        }
        drop(sender);
        let began = reactor::clock::now_ns();
        while came.len() < asked.len() {
            let passed = Duration::from_nanos(reactor::clock::now_ns() - began);
            let Ok((at, outcome)) = answers.recv_timeout(self.settings.act_limit.saturating_sub(passed))
            else {
                break;
            };
            let outcome = match outcome {
                Some(outcome) => outcome.map_err(|mut refusal| {
                    check::shorten(&mut refusal.text);
                    Trouble::Refused(refusal)
                }),
                None => Err(Trouble::Lost(self.wires[at].lost().unwrap_or("it is gone").to_owned())),
            };
            came.insert(at, outcome);
        }
        let late = format!("it has not answered within {} s", self.settings.act_limit.as_secs_f64());
        asked
            .into_iter()
            .map(|at| (at, came.remove(&at).unwrap_or_else(|| Err(self.lose(at, &late)))))
            .collect()
    }

    /// Marks a member as lost.
    pub(super) fn lose(&self, at: usize, why: &str) -> Trouble {
        self.wires[at].lose(why);
        Trouble::Lost(self.wires[at].lost().unwrap_or(why).to_owned())
    }

    pub(super) fn end(&self) {
        if self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        self.wires.iter().for_each(|wire| wire.dismiss());
        let began = reactor::clock::now_ns();
        for wire in &self.wires {
            let passed = Duration::from_nanos(reactor::clock::now_ns() - began);
            wire.wait_for_end(self.settings.farewell.saturating_sub(passed));
        }
        self.keeper.end();
        // All were told; those that stay are waited for in parallel.
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.wires.len().min(16) {
                scope.spawn(|| {
                    while let Some(wire) = self.wires.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                        wire.end_process(self.settings.farewell);
                    }
                });
            }
        });
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        self.end();
    }
}

/// Histograms are large (about 300 KiB) and short-lived: they come and go with each agent's intervals. After the first
/// few, glibc would allocate them from its heap, which fragments and never shrinks; mapped directly, they are returned
/// at once.
fn give_histograms_back() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 128 << 10;
        // SAFETY: it changes how memory is allocated from now on, and touches none.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        }
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// An agent in this very process, behind a pipe like the others.
fn here(hand: Arc<dyn HostExecutor>) -> crate::link::Greeting {
    let name = super::host_name();
    let failed = |error: std::io::Error| (name.clone(), format!("no pipe can be made: {error}"));
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let (input, output): (OwnedFd, OwnedFd) = (theirs.try_clone().map_err(failed)?.into(), theirs.into());
    // It ends with its pipe, and lives on only to remove what was created.
    let run = move || serve(input, output, hand, Hello::own(Vec::new()), &Leaving::default());
    std::thread::Builder::new().name("agent".to_owned()).spawn(run).map_err(failed)?;
    let ends = Ends {
        name: name.clone(),
        input: ours.try_clone().map_err(failed)?.into(),
        output: ours.into(),
        process: None,
    };
    greet(vec![ends], GREETING, &|| false).pop().unwrap_or_else(|| Err((name, "it did not come".to_owned())))
}
