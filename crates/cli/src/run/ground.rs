//! The data sets of a run: how they come to be, what is known of their content, and how they go.
//!
//! A place (directory, prefix, device) holds one data set at a time. A cell finds it as an earlier cell of the run
//! left it, if that is exactly what it needs; otherwise every byte is written.

use engine::{DataSet, Shape, Workload, Written};
use experiment::{Cell, Prepare, Target};
use metrics::OpKind;
use reactor::clock;
use store::StageRecord;
use units::Size;

use super::context::{Context, Fault, Order};
use super::load;
use crate::live::model::Stage;
use crate::target::{self, Entered, OpenOptions, Opened};

/// How long the first contact with a target may take.
pub const CONTACT: std::time::Duration = std::time::Duration::from_secs(10);
/// The kind of the events from which a resumed run learns what a place holds.
const DATA_SET: &str = "data-set";

/// Every place that the run has made or found so far.
#[derive(Default)]
pub struct Ground {
    places: Vec<Place>,
}

/// One place.
struct Place {
    url: String,
    /// Enough to open it again when it is to be removed.
    target: Target,
    workload: experiment::Workload,
    /// What it holds, as far as that is known.
    held: Option<Held>,
    /// Generation of the next content, so that what was there before is told from it.
    next_generation: u32,
}

/// A complete data set.
#[derive(Clone, Debug)]
struct Held {
    layout: String,
    content: Content,
}

/// What a data set's bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// All of one generation.
    Uniform(u32),
    /// Something else of the right size.
    Other,
}

/// A data set that a cell can be measured on.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Its files or objects.
    pub data_set: DataSet,
    /// What they hold.
    pub content: Content,
}

impl Ready {
    /// The generation that a measurement begins with.
    pub fn generation(&self) -> u32 {
        match self.content {
            Content::Uniform(generation) => generation,
            Content::Other => 0,
        }
    }
}

/// Opens a target for a cell.
///
/// # Errors
/// One line: what is wrong and what to do next.
pub fn open(
    context: &Context,
    target: &Target,
    workload: &experiment::Workload,
    seed: u64,
) -> Result<Opened, Fault> {
    let options = OpenOptions {
        run: context.run.clone(),
        destroy: context.destroy.clone(),
        seed,
        connect_timeout: CONTACT,
    };
    target::open(target, workload, &options).map_err(|error| Fault::Failed(error.to_string()))
}

/// The size and number of files, and all else that decides which bytes they hold, in words.
fn layout(cell: &Cell, data_set: &DataSet) -> String {
    let kind = match data_set.shape() {
        Shape::Files { .. } => "files",
        Shape::Objects { .. } => "objects",
        Shape::Device { .. } => "device",
    };
    let workload = &cell.workload;
    format!(
        "{} {kind} of {} bytes, compressible {}, dedupe {}",
        data_set.objects(),
        data_set.shape().item_bytes(),
        workload.compressible,
        workload.dedupe
    )
}

impl Ground {
    /// Enters the place of a cell's target, and makes it when this is the first cell there.
    ///
    /// # Errors
    /// The target refuses, or the journal cannot be written.
    pub fn enter(&mut self, context: &mut Context, cell: &Cell, opened: &Opened) -> Result<(), Fault> {
        let uses_what_is_there = match cell.stages.prepare {
            Prepare::Keep => true,
            Prepare::None => cell.target.url.starts_with("block:") && !load::writes(cell),
            Prepare::Fill | Prepare::FillAlways => false,
        };
        let entered = match uses_what_is_there {
            true => opened.adopt().map(|()| Entered::Existing),
            false => opened.prepare(),
        };
        let entered = entered.map_err(|error| Fault::Failed(error.to_string()))?;
        let url = &cell.target.url;
        let at = self.places.iter().position(|place| place.url == *url);
        match at {
            Some(at) => {
                self.places[at].target = cell.target.clone();
                self.places[at].workload = cell.workload.clone();
                if entered == Entered::New {
                    self.places[at].held = None;
                }
            }
            None => {
                let (held, next_generation) = match entered {
                    Entered::New => (None, 0),
                    Entered::Existing => match remembered(context, url)? {
                        // An earlier run, perhaps of the same seed: what is written must differ from what lies there.
                        (None, 1) => (
                            None,
                            held_generation(context, cell, opened).map_or(1, |held| (held + 1) & 0xFFFF),
                        ),
                        known => known,
                    },
                };
                if let Some(held) = &held {
                    context.remark(cell, "resume", &format!("the data set is there: {}", held.layout));
                }
                self.places.push(Place {
                    url: url.clone(),
                    target: cell.target.clone(),
                    workload: cell.workload.clone(),
                    held,
                    next_generation,
                });
            }
        }
        Ok(())
    }

    /// Makes sure that the data set of a cell is there, complete, and known in content if the cell verifies.
    ///
    /// # Errors
    /// It cannot be made, or is not what it should be; a signal came.
    pub fn make_ready(
        &mut self,
        context: &mut Context,
        cell: &Cell,
        opened: &Opened,
        stages: &mut Vec<StageRecord>,
    ) -> Result<Ready, Fault> {
        let data_set = opened.data_set(&cell.workload);
        let layout = layout(cell, &data_set);
        let place = self.place(&cell.target.url);
        match cell.stages.prepare {
            Prepare::None => return Ok(Ready { data_set, content: Content::Other }),
            Prepare::Keep => {
                // What is there is of an earlier run, unless this run changed it, and says itself of which generation.
                let content = match &place.held {
                    Some(held) if held.layout == layout => held.content.clone(),
                    _ => Content::Uniform(held_generation(context, cell, opened).unwrap_or(0)),
                };
                check_size(opened, &data_set)?;
                place.held = Some(Held { layout, content: content.clone() });
                return Ok(Ready { data_set, content });
            }
            Prepare::Fill => {
                let usable = place.held.clone().filter(|held| {
                    held.layout == layout && (held.content != Content::Other || !load::verifies(cell))
                });
                if let Some(held) = usable
                    && check_size(opened, &data_set).is_ok()
                {
                    let note = "the data set is there from an earlier cell".to_owned();
                    stages.push(StageRecord { note: Some(note), ..record("prepare", 0.0) });
                    return Ok(Ready { data_set, content: held.content });
                }
            }
            Prepare::FillAlways => {}
        }
        let begun_ns = clock::now_ns();
        let generation = place.next_generation;
        place.next_generation = (generation + 1) & 0xFFFF;
        let differs = place.held.take().is_some_and(|held| held.layout != layout);
        remember(context, &cell.target.url, &layout, None);
        if differs {
            // One data set at a time: the space of the old one is needed, and nothing of it must remain.
            opened.remove_all().map_err(|error| Fault::Failed(error.to_string()))?;
            opened.prepare().map_err(|error| Fault::Failed(error.to_string()))?;
        }
        let mut prepared = fill(context, cell, opened, &data_set, generation)?;
        check_size(opened, &data_set)?;
        prepared.seconds = clock::now_ns().saturating_sub(begun_ns) as f64 / 1e9;
        stages.push(prepared);
        remember(context, &cell.target.url, &layout, Some(generation));
        let content = Content::Uniform(generation);
        self.place(&cell.target.url).held = Some(Held { layout, content: content.clone() });
        Ok(Ready { data_set, content })
    }

    /// A load that may change the data set is about to begin: what it holds is not known until it ends well.
    pub fn about_to_change(&mut self, context: &mut Context, cell: &Cell) {
        if let Some(held) = &mut self.place(&cell.target.url).held {
            held.content = Content::Other;
            let layout = held.layout.clone();
            remember(context, &cell.target.url, &layout, None);
        }
    }

    /// A load has ended: what the data set holds now.
    pub fn changed(&mut self, context: &mut Context, cell: &Cell, before: &Content, written: &Written) {
        let url = cell.target.url.clone();
        let place = self.place(&url);
        if load::makes_or_removes(cell) {
            place.held = None;
            return;
        }
        let Some(held) = &mut place.held else { return };
        let Content::Uniform(generation) = *before else { return };
        if written.is_uniform(generation) {
            if held.content != *before {
                held.content = before.clone();
                let layout = held.layout.clone();
                remember(context, &url, &layout, Some(generation));
            }
        } else if written.is_known() {
            // Passes of this load have used up some generations.
            place.next_generation = (generation + 0x100) & 0xFFFF;
        }
    }

    /// Removes a place that no later cell needs; what could not be removed stays in the journal.
    pub fn leave(&mut self, context: &mut Context, url: &str) {
        let Some(at) = self.places.iter().position(|place| place.url == url) else { return };
        let place = self.places.swap_remove(at);
        context.screen.model().begin_stage(Stage {
            name: "clean-up".into(),
            began_ns: clock::now_ns(),
            ..Stage::default()
        });
        let removed = match open(context, &place.target, &place.workload, 0) {
            Ok(opened) => opened.remove_all().map_err(|error| error.to_string()),
            Err(Fault::Failed(error)) => Err(error),
            Err(Fault::Interrupted) => Ok(()),
        };
        match removed {
            Ok(()) => context.recorder.event(None, DATA_SET, format!("{url}: removed")),
            Err(error) => {
                context.messages.warn(&error);
                context.recorder.event(None, "warning", format!("{url}: not removed: {error}"));
            }
        }
    }

    /// A place stays as it is.
    pub fn forget(&mut self, url: &str) {
        self.places.retain(|place| place.url != url);
    }

    /// Removes every place that is left.
    pub fn leave_all(&mut self, context: &mut Context) {
        while let Some(url) = self.places.last().map(|place| place.url.clone()) {
            self.leave(context, &url);
        }
    }

    fn place(&mut self, url: &str) -> &mut Place {
        self.places.iter_mut().find(|place| place.url == url).expect("a cell enters its place first")
    }
}

/// Of which generation the data set is that lies there, if it is of this experiment's payload.
fn held_generation(context: &Context, cell: &Cell, opened: &Opened) -> Option<u32> {
    opened.held_generation(&load::payload(cell, context.seed))
}

fn record(name: &str, seconds: f64) -> StageRecord {
    StageRecord { name: name.to_owned(), seconds, ok: 0, failed: 0, bytes: 0, note: None }
}

/// Writes every byte of a data set.
fn fill(
    context: &mut Context,
    cell: &Cell,
    opened: &Opened,
    data_set: &DataSet,
    generation: u32,
) -> Result<StageRecord, Fault> {
    let mut prepared = record("prepare", 0.0);
    let reactor = opened.reactor(context.reactor);
    let mut part = 0;
    let mut run = |workload: Workload, bytes_expected: u64| -> Result<(), Fault> {
        let plan = load::mass(cell, workload, reactor, context.seed);
        let bytes_expected = (bytes_expected > 0).then_some(bytes_expected);
        let order = Order { cell, opened, name: super::PREPARE, trial: part, plan: &plan, bytes_expected };
        part += 1;
        let result = context.stage(&order, &mut |_, _| false)?;
        prepared.ok += result.total.ok();
        // A file that a killed run had made already is no error.
        let there: u64 = result
            .total
            .op(OpKind::Create)
            .map_or(0, |stats| stats.errors[metrics::ErrorKind::AlreadyExists as usize]);
        prepared.failed += result.total.failed() - there;
        prepared.bytes += result.total.bytes();
        if result.stopped {
            return Err(Fault::Interrupted);
        }
        if let Some(error) = context.recorder.failure() {
            return Err(Fault::Failed(error.to_owned()));
        }
        if result.exhausted && result.total.bytes() >= bytes_expected.unwrap_or(0) {
            return Ok(());
        }
        let cause = result.error_samples.first().map_or_else(
            || "look at the target's health, then run again".to_owned(),
            |(kind, detail)| format!("{kind}: {detail}"),
        );
        Err(Fault::Failed(format!(
            "prepare wrote only {} of {}: {cause}",
            Size(result.total.bytes()).rounded(),
            Size(data_set.bytes()).rounded()
        )))
    };
    // Files that are there in full size are written over: what they held is of another generation.
    if matches!(data_set.shape(), Shape::Files { .. }) && opened.check_complete(data_set).is_err() {
        run(Workload::Visit { data_set: data_set.clone(), kind: OpKind::Create }, 0)?;
    }
    let block_bytes = load::large_block(data_set.shape().item_bytes());
    run(Workload::Fill { data_set: data_set.clone(), block_bytes, generation }, data_set.bytes())?;
    Ok(prepared)
}

/// Files must have their size, and every byte of them must have been written: a hole is an error.
fn check_size(opened: &Opened, data_set: &DataSet) -> Result<(), Fault> {
    opened.check_complete(data_set).map_err(|error| Fault::Failed(error.to_string()))?;
    super::allocated::check(opened, data_set).map_err(Fault::Failed)
}

/// Writes into the results what a place holds, for a run that is resumed.
fn remember(context: &mut Context, url: &str, layout: &str, generation: Option<u32>) {
    let text = match generation {
        Some(generation) => format!("{url}: {layout}; complete, generation {generation}"),
        None => format!("{url}: {layout}; being written"),
    };
    context.recorder.event(None, DATA_SET, text);
}

/// What the interrupted run knew of a place, and the next generation of content there.
fn remembered(context: &mut Context, url: &str) -> Result<(Option<Held>, u32), Fault> {
    let events = context.recorder.events()?;
    let texts: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == DATA_SET)
        .filter_map(|event| event.text.strip_prefix(url)?.strip_prefix(": "))
        .collect();
    Ok(recall(&texts))
}

fn recall(texts: &[&str]) -> (Option<Held>, u32) {
    let complete = |text: &str| {
        let (layout, rest) = text.split_once("; complete, generation ")?;
        Some((layout.to_owned(), rest.parse::<u32>().ok()?))
    };
    // Whatever was begun may have used the generation after the last that was completed, and those of its passes.
    let used = texts.iter().filter_map(|text| complete(text)).map(|(_, generation)| generation).max();
    let next = used.map_or(1, |generation| (generation + 0x101) & 0xFFFF);
    let last = texts.last().and_then(|text| complete(text));
    let held = last.map(|(layout, generation)| Held { layout, content: Content::Uniform(generation) });
    (held, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_set_is_used_again_only_when_it_was_complete_last() {
        let (a, b) = ("4 files of 1 bytes; complete, generation 3", "4 files of 1 bytes; being written");
        let (held, next) = recall(&[b, a]);
        assert_eq!(held.as_ref().map(|held| held.layout.as_str()), Some("4 files of 1 bytes"));
        assert_eq!(held.unwrap().content, Content::Uniform(3));
        assert!(next > 3);
        let (held, next) = recall(&[b, a, b]);
        assert!(held.is_none() && next > 4);
        assert!(recall(&[a, "removed"]).0.is_none());
        assert!(recall(&[]).0.is_none());
    }
}
