//! The data sets of a run: how they are created, what is known about their content, and how they are removed.
//!
//! A place (directory, prefix, device) holds one data set at a time. A cell reuses what an earlier cell of the run left
//! if it is exactly what it needs; otherwise every byte is written.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Left;
use experiment::{Cell, Launcher, Prepare, TargetKind};
use fleet::Act;
use host::load;
use provision::{Journal, forget, removed_elsewhere};
use reactor::clock;
use store::StageRecord;
use targets::Entered;

use super::context::{CellFailure, Context};
use super::data_set_log::{DATA_SET, Remembered, remember, remember_more, remembered};
use super::fill::{check_size, fill};
use super::site::Site;
use crate::progress::Stage;
use crate::stages::PREPARE;

/// Every place that the run has created or found so far.
#[derive(Default)]
pub struct DataSets {
    places: Vec<Place>,
    /// Something remains, on purpose or because it could not be removed.
    something_stays: bool,
}

/// One place.
struct Place {
    /// [`Cell::place`].
    name: String,
    /// A cell with enough detail to open the place again for removal.
    cell: Cell,
    /// It was created, or found to exist.
    entered: bool,
    /// What it holds, if known.
    held: Option<Held>,
    /// A load may have left files or objects there besides the data set, whose names the next such load needs.
    more: bool,
    /// Generation of the next content, which distinguishes it from earlier content.
    next_generation: u32,
}

/// A complete data set.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its files or objects, in words.
    pub layout: String,
    /// What they hold.
    pub content: StoredContent,
}

/// What a data set's bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredContent {
    /// All of one generation.
    Uniform(u32),
    /// Other content of the right size.
    Other,
}

/// A data set that is ready for a cell's measurement.
pub struct Ready {
    /// What its files or objects hold.
    pub content: StoredContent,
    /// A generation that, as far as known, none of its data has.
    unused_generation: u32,
}

impl Ready {
    /// First generation that a measurement writes: it must differ from the data already there.
    pub fn generation(&self) -> u32 {
        match self.content {
            StoredContent::Uniform(generation) => generation,
            StoredContent::Other => self.unused_generation,
        }
    }
}

/// Locks the places, for one of the cells that run at the same time.
pub fn lock(data_sets: &Mutex<DataSets>) -> MutexGuard<'_, DataSets> {
    data_sets.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number and size of files, and everything else that determines their bytes, in words.
fn layout(context: &Context, cell: &Cell, site: &Site) -> String {
    let workload = &cell.workload;
    let hosts = match site.hosts() {
        1 => String::new(),
        hosts => format!(" on {hosts} hosts"),
    };
    let bytes = match workload.sizes() {
        Some(sizes) => format!("{sizes} from seed {}", sizes.seed),
        None => format!("{} bytes", site.item_bytes()),
    };
    let names = match workload.user_files() {
        Some(files) => format!(" named {}", files.all()),
        None => String::new(),
    };
    let size = context.plan.size_of_data(cell).map_or_else(String::new, |size| format!(" at {size}"));
    format!(
        "{} {} of {bytes}{names}{hosts}{size}, compressible {}, dedupe {}",
        site.objects(),
        site.kind(),
        workload.compressible(),
        workload.dedupe()
    )
}

/// Removes a place and makes it again, empty.
fn remove_and_enter(context: &Context, site: &Site, place: &mut Place) -> Result<(), CellFailure> {
    site.act(context, &Act::RemoveAll)?;
    site.prepare(context)?;
    place.more = false;
    Ok(())
}

impl DataSets {
    /// Enters the place of a cell's target, creating it if this is the first cell there.
    ///
    /// # Errors
    /// The target refuses, or the journal cannot be written.
    pub fn enter(&mut self, context: &Context, cell: &Cell, site: &Site) -> Result<(), CellFailure> {
        let uses_what_is_there = match cell.stages.prepare {
            Prepare::Keep => true,
            Prepare::None => {
                let exists = |kind: &TargetKind| {
                    kind.device && !kind.creates_device(|option| cell.target.option(option).is_some())
                };
                targets::kind_of(&cell.target.url).is_some_and(exists) && !load::writes(cell)
            }
            Prepare::Fill | Prepare::FillAlways => false,
        };
        // Recorded before anything is created: what one host creates is removed even if another refuses.
        let at = self.record(cell);
        let entered = match uses_what_is_there {
            true => site.act(context, &Act::Adopt).map(|()| Entered::Existing),
            false => site.prepare(context),
        }?;
        let place = &mut self.places[at];
        match (place.entered, entered) {
            (true, Entered::New) => (place.held, place.more) = (None, false),
            (false, Entered::Existing) => {
                let Remembered { held, next_generation, more } = remembered(context, &place.name)?;
                place.next_generation = match (&held, next_generation) {
                    // An earlier run may have used the same seed: new data must differ from what is already there.
                    (None, 1) => site.held_generation(context).map_or(1, |held| (held + 1) & 0xFFFF),
                    (_, next) => next,
                };
                (place.held, place.more) = (held, more);
                if let Some(held) = &place.held {
                    context.remark(cell, "resume", &format!("the data set exists: {}", held.layout));
                }
            }
            (true, Entered::Existing) | (false, Entered::New) => {}
        }
        place.entered = true;
        Ok(())
    }

    /// Records the place of a cell's target so that it is removed at the end; returns its index.
    fn record(&mut self, cell: &Cell) -> usize {
        let name = cell.place();
        let at = self.places.iter().position(|place| place.name == name).unwrap_or_else(|| {
            let cell = cell.clone();
            self.places.push(Place {
                name,
                cell,
                entered: false,
                held: None,
                more: false,
                next_generation: 0,
            });
            self.places.len() - 1
        });
        self.places[at].cell = cell.clone();
        at
    }

    /// Ensures that a cell's data set exists, is complete, and has known content if the cell verifies.
    ///
    /// # Errors
    /// It cannot be created, or is not as required; a signal arrived.
    pub fn make_ready(
        &mut self,
        context: &Context,
        cell: &Cell,
        site: &Site,
        stages: &mut Vec<StageRecord>,
    ) -> Result<Ready, CellFailure> {
        let layout = layout(context, cell, site);
        let place = self.place(&cell.place());
        if place.more && load::makes_or_removes(cell) && cell.stages.prepare == Prepare::Keep {
            return Err(CellFailure::Failed(
                "an earlier cell left files or objects that its load created beside the data set; next: measure this cell \
                 in a run of its own, or write prepare: fill"
                    .to_owned(),
            ));
        }
        match cell.stages.prepare {
            Prepare::None => {
                if place.more && load::makes_or_removes(cell) {
                    remove_and_enter(context, site, place)?;
                }
                if load::writes(cell) && place.held.as_ref().is_some_and(|held| held.layout != layout) {
                    // The data set about to be written overlies one of other sizes.
                    place.held = None;
                    remember(context, &cell.place(), &layout, None);
                }
                return Ok(Ready { content: StoredContent::Other, unused_generation: place.next_generation });
            }
            Prepare::Keep => {
                // Data that this run did not write is an earlier run's, and its headers tell the generation.
                let content = match &place.held {
                    Some(held) if held.layout == layout => held.content.clone(),
                    _ => StoredContent::Uniform(site.held_generation(context).unwrap_or(0)),
                };
                check_size(context, site)?;
                place.held = Some(Held { layout, content: content.clone() });
                return Ok(Ready { content, unused_generation: place.next_generation });
            }
            Prepare::Fill => {
                let usable = place.held.clone().filter(|held| {
                    held.layout == layout && (held.content != StoredContent::Other || !load::verifies(cell))
                });
                if let Some(held) = usable
                    && check_size(context, site).is_ok()
                {
                    let note = "the data set exists from an earlier cell".to_owned();
                    stages.push(StageRecord { note: Some(note), ..StageRecord::new(PREPARE, 0.0) });
                    let unused_generation = place.next_generation;
                    return Ok(Ready { content: held.content, unused_generation });
                }
            }
            Prepare::FillAlways => {}
        }
        let begun_ns = clock::now_ns();
        let generation = place.next_generation;
        place.next_generation = (generation + 1) & 0xFFFF;
        let differs = place.held.take().is_some_and(|held| held.layout != layout);
        remember(context, &cell.place(), &layout, None);
        if differs || place.more {
            // One data set at a time: the old one's space is needed, and none of it may remain.
            remove_and_enter(context, site, place)?;
        }
        let mut prepared = fill(context, cell, site, generation)?;
        check_size(context, site)?;
        prepared.seconds = clock::now_ns().saturating_sub(begun_ns) as f64 / 1e9;
        stages.push(prepared);
        remember(context, &cell.place(), &layout, Some(generation));
        let content = StoredContent::Uniform(generation);
        self.place(&cell.place()).held = Some(Held { layout, content: content.clone() });
        Ok(Ready { content, unused_generation: (generation + 1) & 0xFFFF })
    }

    /// Marks the content as unknown, because a load that may change it, or create more, is about to start.
    pub fn about_to_change(&mut self, context: &Context, cell: &Cell) {
        let name = cell.place();
        let place = self.place(&name);
        if let Some(held) = place.held.as_mut().filter(|_| load::writes(cell)) {
            held.content = StoredContent::Other;
            let layout = held.layout.clone();
            remember(context, &name, &layout, None);
        }
        if load::makes_or_removes(cell) && !cell.workload.lays_out_files() {
            place.more = true;
            remember_more(context, &name);
        }
    }

    /// Records what the data set holds after a load.
    pub fn changed(&mut self, context: &Context, cell: &Cell, before: &StoredContent, left: Left) {
        let name = cell.place();
        let place = self.place(&name);
        if load::makes_or_removes(cell) {
            place.held = None;
            return;
        }
        let Some(held) = &mut place.held else { return };
        let StoredContent::Uniform(generation) = *before else { return };
        if left == Left::Uniform(generation) {
            if held.content != *before {
                held.content = before.clone();
                let layout = held.layout.clone();
                remember(context, &name, &layout, Some(generation));
            }
        } else if left != Left::Unknown {
            // Passes of this load have used several generations.
            place.next_generation = (generation + 0x100) & 0xFFFF;
        }
    }

    /// Removes a place that no later cell needs; anything that could not be removed stays in the journal.
    pub fn leave(&mut self, context: &Context, name: &str) {
        let Some(at) = self.places.iter().position(|place| place.name == name) else { return };
        let place = self.places.swap_remove(at);
        if place.cell.workload.user_files().is_some() {
            // They stay, and nothing else was created.
            return;
        }
        let stage = Stage { name: "clean-up".into(), began_ns: clock::now_ns(), ..Stage::default() };
        context.progress.lock().begin_stage(None, stage);
        let removed = match Site::open(context, &place.cell) {
            Ok(site) => {
                let removed = site.remove(context);
                site.close(context);
                removed.and_then(|()| Site::remove_of_lost(context, &place.cell))
            }
            Err(fault) => Err(fault),
        };
        let removed = match removed {
            Err(CellFailure::Failed(error) | CellFailure::Lost(error)) => Err(error),
            Err(CellFailure::Interrupted) | Ok(()) => Ok(()),
        };
        match removed {
            Ok(()) if !place.entered => {}
            Ok(()) => context.recorder().event(None, DATA_SET, format!("{name}: removed")),
            Err(error) => {
                self.something_stays = true;
                context.events.warn(&error);
                context.recorder().event(None, "warning", format!("{name}: not removed: {error}"));
            }
        }
    }

    /// Leaves a place as it is.
    pub fn forget(&mut self, name: &str) {
        self.something_stays |= self.places.iter().any(|place| place.name == name);
        self.places.retain(|place| place.name != name);
    }

    /// Removes every remaining place.
    pub fn leave_all(&mut self, context: &Context) {
        while let Some(name) = self.places.last().map(|place| place.name.clone()) {
            self.leave(context, &name);
        }
        if !self.something_stays {
            self.settle_lost(context);
        }
    }

    /// Where another host removed what a lost host's journal lists, says so and records it for the next run there.
    fn settle_lost(&self, context: &Context) {
        let alive = context.host_group.alive();
        let here =
            context.plan.fleet.as_ref().is_none_or(|fleet| matches!(fleet.launcher, Launcher::Local { .. }));
        let lost: Vec<usize> = (0..context.hosts.len()).filter(|member| !alive.contains(member)).collect();
        if lost.is_empty() || alive.is_empty() {
            return;
        }
        let id = |member: &usize| context.run.id().of_agent(*member as u32);
        if here {
            // Agents on this host keep their journals in the default directory.
            let journals = Journal::default_directory().and_then(|directory| Journal::open(&directory));
            if let Ok(journals) = journals {
                lost.iter().for_each(|member| drop(forget(&journals, &id(member))));
            }
            return;
        }
        let journals = context.run.path().parent().unwrap_or(Path::new("."));
        for member in &lost {
            if let Err(error) = removed_elsewhere(journals, &context.hosts[*member], &id(member)) {
                context.events.warn(&format!("{}: {error}", journals.display()));
            }
        }
        let names: Vec<&str> = lost.iter().map(|member| &*context.hosts[*member]).collect();
        let text = format!(
            "{}: what it made is removed; its journal may still list it there, until the next run on that host or \
             `manometer cleanup` there",
            names.join(", ")
        );
        context.recorder().event(None, "host-lost", text.clone());
        context.events.note(&text);
    }

    fn place(&mut self, name: &str) -> &mut Place {
        self.places.iter_mut().find(|place| place.name == name).expect("a cell enters its place first")
    }
}
