//! A worker's operations in sequence: draws do not depend on time, so that a copy of the stream draws the same again.

use std::rc::Rc;

use experiment::Pattern;
use metrics::OpKind;

use super::ground::{FileRegion, Grain};
use super::place::{FileState, Rules, Spot};
use super::queue::FileQueue;
use super::sizes::Sizes;
use crate::access::spread;
use crate::{JobFile, JobLoad};

/// Read, write, trim.
pub(super) const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// The direction of a kind of operation.
#[inline]
pub(super) fn direction_of(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Read => Some(0),
        OpKind::Write => Some(1),
        OpKind::Trim => Some(2),
        _ => None,
    }
}

/// An operation that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    pub kind: OpKind,
    /// Number of the file within the worker.
    pub file: u32,
    pub object: u64,
    pub offset: u64,
    pub len: u64,
}

/// Whether a pass may overwrite its own writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overwriting {
    Never,
    /// Whole blocks of this many bytes.
    Whole(u64),
    /// Also parts of blocks, which start and end at multiples of this many bytes.
    InPart(u64),
}

/// Draws a worker's operations.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    plan: Rc<StreamPlan>,
    files: Vec<FileState>,
    queue: FileQueue,
    /// Generator for direction, place and size.
    mix: fastrand::Rng,
    places: fastrand::Rng,
    sizes: fastrand::Rng,
    /// Sequential operations left after the last random one.
    run_left: u32,
    /// The write that follows a trim.
    pending: Option<Drawn>,
    pass: u64,
}

/// The constant part.
#[derive(Debug)]
pub(super) struct StreamPlan {
    grounds: Vec<FileRegion>,
    pub rules: Rules,
    /// Directions with cumulative weights up to 1.
    mix: Vec<(f64, usize)>,
    random: bool,
    run: u32,
    run_identical: bool,
    percent_random: [f64; 3],
    trim_then_write: bool,
    /// What reaches its end starts again.
    endless: bool,
    /// Sequential positions start again, separately for each direction.
    rewinds: bool,
}

impl StreamPlan {
    pub(super) fn new(load: &JobLoad, files: &[JobFile], seed: u64) -> (Rc<Self>, Vec<FileState>) {
        let job = &*load.job;
        let pattern = &job.pattern;
        let grain = grain(load);
        let mut grounds: Vec<FileRegion> = Vec::new();
        let states = files.iter().map(|file| {
            let known = grounds.iter().position(|ground| ground.length == file.length);
            let ground = known.unwrap_or_else(|| {
                grounds.push(FileRegion::new(&grain, pattern, file.length, job.seed));
                grounds.len() - 1
            });
            FileState::new(file.object, file.start, ground)
        });
        let states = states.collect();
        let total: f64 = grain.shares.iter().sum();
        let mut sum = 0.0;
        let mix = (0..3).filter(|direction| grain.shares[*direction] > 0.0).map(|direction| {
            sum += grain.shares[direction] / total;
            (sum, direction)
        });
        let mix: Vec<(f64, usize)> = mix.collect();
        let mixed = mix.len() > 1;
        let percent = &pattern.percent_random;
        let plan = StreamPlan {
            mix,
            random: pattern.random,
            run: pattern.run.max(1),
            run_identical: pattern.run_identical,
            percent_random: [percent.read.0, percent.write.0, percent.trim.0],
            trim_then_write: pattern.trim_then_write,
            endless: job.ending.time_based,
            rewinds: mixed && job.region.io_bytes != experiment::Amount::default(),
            rules: Rules { skip: pattern.skip, zones: job.region.zones, seed, grain, tails: load.tails },
            grounds,
        };
        (Rc::new(plan), states)
    }

    /// The directions that are drawn.
    pub(super) fn directions(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.mix.iter().map(|(_, direction)| *direction)
    }

    /// Whether a pass may overwrite its own writes.
    pub(super) fn overwriting(&self, pattern: &Pattern) -> Overwriting {
        let grain = &self.rules.grain;
        let sizes = if grain.by_order { &grain.sizes[..2] } else { &grain.sizes[1..2] };
        let alike = sizes.iter().all(|size| *size == sizes[0] && matches!(size, Sizes::Fixed(_)));
        let whole = alike && grain.units[1].is_multiple_of(sizes[0].least()) && pattern.skip == 0;
        let in_order = !pattern.random && pattern.skip == 0 && self.rules.zones.is_none() && !self.rewinds;
        let once = grain.once(pattern) && self.run == 1 && self.percent_random[1] >= 100.0;
        match (in_order || once, whole) {
            (true, _) => Overwriting::Never,
            (false, true) => Overwriting::Whole(sizes[0].least()),
            (false, false) => Overwriting::InPart(self.step_of_writes(sizes)),
        }
    }

    /// The unit that all boundaries of writes with these sizes are multiples of.
    fn step_of_writes(&self, sizes: &[Sizes]) -> u64 {
        let Rules { grain, skip, zones, .. } = &self.rules;
        let zones = zones.map_or([0, 0], |zones| [zones.range, zones.skip]);
        let own = sizes.iter().map(Sizes::step);
        own.chain([grain.units[1], skip.unsigned_abs()]).chain(zones).fold(0, common_divisor).max(1)
    }
}

/// The greatest common divisor; 0 is a multiple of everything.
pub(super) fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Sizes and units of a job.
fn grain(load: &JobLoad) -> Grain {
    let blocks = &load.job.block_sizes;
    let choices = [&blocks.sizes.read, &blocks.sizes.write, &blocks.sizes.trim];
    let sizes = choices.map(|choice| Sizes::new(choice, blocks.unaligned));
    let align = [blocks.align.read, blocks.align.write, blocks.align.trim];
    let by_order = load.job.pattern.sizes_by_order;
    let unit = |direction: usize| match align[direction] {
        0 => sizes[if by_order { 1 } else { direction }].least().max(1),
        align => align,
    };
    let units = [unit(0), unit(1), unit(2)];
    let mut shares = [0.0; 3];
    for op in &load.ops {
        if let Some(direction) = direction_of(op.op) {
            shares[direction] += op.weight;
        }
    }
    if load.job.pattern.trim_then_write {
        // The writes follow the trims and are not drawn.
        shares = [0.0, 0.0, 1.0];
    }
    Grain { shares, sizes, units, by_order, aligned: align.iter().any(|align| *align > 0) }
}

impl Stream {
    pub(super) fn new(load: &JobLoad, worker: u32, files: &[JobFile]) -> Self {
        let job = &*load.job;
        let seed = spread(job.seed, u64::from(job.first_number) + u64::from(worker));
        let (plan, files) = StreamPlan::new(load, files, seed);
        let random = |salt| fastrand::Rng::with_seed(spread(seed, salt));
        let queue = FileQueue::new(job.files.service, files.len() as u32, job.files.open, spread(seed, 4));
        Stream {
            plan,
            files,
            queue,
            mix: random(1),
            places: random(2),
            sizes: random(3),
            run_left: 0,
            pending: None,
            pass: 0,
        }
    }

    pub(super) fn plan(&self) -> &StreamPlan {
        &self.plan
    }

    /// The plan as a shared pointer, which can be held while drawing from the stream.
    pub(super) fn plan_rc(&self) -> Rc<StreamPlan> {
        Rc::clone(&self.plan)
    }

    /// A file's number in operations.
    pub(super) fn object(&self, file: usize) -> u64 {
        self.files[file].object
    }

    /// The direction that the next operation must have regardless of weights.
    pub(super) fn given_direction(&self) -> Option<usize> {
        self.pending.map(|_| 1)
    }

    /// Starts the next pass from the beginning.
    pub(super) fn next_pass(&mut self) {
        self.pass += 1;
        self.files.iter_mut().for_each(|file| file.begin(self.pass << 32));
        self.queue.begin();
        (self.run_left, self.pending) = (0, None);
    }

    /// Draws the next direction by weight. Each call draws again.
    #[inline]
    pub(super) fn draw_direction(&mut self) -> usize {
        if self.pending.is_some() {
            return 1;
        }
        let mix = &self.plan.mix;
        if mix.len() == 1 {
            return mix[0].1;
        }
        let drawn = self.mix.f64();
        mix.iter().find(|(below, _)| drawn < *below).unwrap_or(&mix[mix.len() - 1]).1
    }

    /// The next operation in this direction; `None` if nothing is left. (Where pieces of the region belong to
    /// directions, it may have a different one.)
    #[inline]
    pub(super) fn next(&mut self, direction: usize) -> Option<Drawn> {
        if let Some(write) = self.pending.take() {
            return Some(write);
        }
        loop {
            let number = self.queue.current()?;
            let Some(spot) = self.spot(number, direction) else {
                self.queue.done();
                continue;
            };
            self.queue.used();
            let file = &self.files[number as usize];
            let Spot { offset, len, direction } = spot;
            let offset = file.start + offset;
            let drawn = Drawn { kind: KINDS[direction], file: number, object: file.object, offset, len };
            if self.plan.trim_then_write {
                self.pending = Some(Drawn { kind: OpKind::Write, ..drawn });
            }
            return Some(drawn);
        }
    }

    #[inline]
    fn spot(&mut self, number: u32, direction: usize) -> Option<Spot> {
        let plan = &*self.plan;
        let file = &mut self.files[number as usize];
        let ground = &plan.grounds[file.ground];
        file.leave_full_zone(&plan.rules, ground.length);
        if plan.random && self.run_left == 0 && plan.run == 1 && plan.percent_random[direction] >= 100.0 {
            let spot = file.by_chance(&plan.rules, ground, direction, &mut self.places);
            return if spot.is_some() { spot } else { self.again(number, direction, true) };
        }
        if !plan.random {
            let sizes = plan.rules.grain.in_order(direction);
            let spot = file.in_order(&plan.rules, ground, direction, sizes, &mut self.sizes);
            return if spot.is_some() { spot } else { self.again(number, direction, false) };
        }
        self.by_turns(number, direction)
    }

    /// Random now and then, sequential in between.
    fn by_turns(&mut self, number: u32, direction: usize) -> Option<Spot> {
        let plan = &*self.plan;
        let file = &mut self.files[number as usize];
        let ground = &plan.grounds[file.ground];
        let by_chance = if self.run_left > 0 {
            self.run_left -= 1;
            false
        } else {
            self.run_left = plan.run - 1;
            plan.percent_random[direction] >= 100.0
                || self.places.f64() * 100.0 < plan.percent_random[direction]
        };
        if !by_chance {
            let spot = if plan.run_identical {
                file.the_same(direction)
            } else {
                let sizes = plan.rules.grain.in_order(direction);
                file.in_order(&plan.rules, ground, direction, sizes, &mut self.sizes)
            };
            if spot.is_some() {
                return spot;
            }
        }
        let spot = file.by_chance(&plan.rules, ground, direction, &mut self.places);
        if spot.is_some() { spot } else { self.again(number, direction, true) }
    }

    /// Continues what has reached its end, if the load is to go on: in the next zone, or from its beginning.
    #[cold]
    fn again(&mut self, number: u32, direction: usize, by_chance: bool) -> Option<Spot> {
        let plan = &*self.plan;
        let file = &mut self.files[number as usize];
        let ground = &plan.grounds[file.ground];
        if let Some(zones) = &plan.rules.zones {
            file.leave_zone(zones, ground.length);
        } else if !(plan.endless || plan.rewinds && !by_chance) {
            return None;
        } else if by_chance {
            file.shuffle_again();
        } else {
            file.rewind(direction);
        }
        if by_chance {
            file.by_chance(&plan.rules, ground, direction, &mut self.places)
        } else {
            let sizes = plan.rules.grain.in_order(direction);
            file.in_order(&plan.rules, ground, direction, sizes, &mut self.sizes)
        }
    }
}
