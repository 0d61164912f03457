//! A worker's position in one of its files.

use experiment::Zones;

use super::ground::{FileRegion, Grain, Once};
use super::sizes::Sizes;
use crate::access::permutation::Permutation;
use crate::access::spread;

/// A range within the used part of a file, relative to that part's start, and its direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    pub offset: u64,
    pub len: u64,
    pub direction: usize,
}

/// A file of a worker.
#[derive(Clone, Debug)]
pub(super) struct FileState {
    pub object: u64,
    /// Start of the used part, in bytes.
    pub start: u64,
    /// Index of its ground.
    pub ground: usize,
    /// End of the last operation in each direction; `None` if there was none.
    ends: [Option<u64>; 3],
    /// The last operation in each direction.
    lasts: [Option<(u64, u64)>; 3],
    /// The order that visits each block once, and how many have been visited.
    turn: Option<Permutation>,
    position: u64,
    /// Number of completed passes.
    pass: u64,
    /// Start of the current zone, and bytes moved in it.
    zone: u64,
    moved: u64,
}

/// The parameters for the places in all files.
#[derive(Debug)]
pub(super) struct Rules {
    pub grain: Grain,
    pub skip: i64,
    pub zones: Option<Zones>,
    pub seed: u64,
    /// The last sequential block may be shorter.
    pub tails: bool,
}

impl FileState {
    pub(super) fn new(object: u64, start: u64, ground: usize) -> Self {
        FileState {
            object,
            start,
            ground,
            ends: [None; 3],
            lasts: [None; 3],
            turn: None,
            position: 0,
            pass: 0,
            zone: 0,
            moved: 0,
        }
    }

    /// Starts again from the beginning.
    pub(super) fn begin(&mut self, pass: u64) {
        let FileState { object, start, ground, .. } = *self;
        *self = FileState { pass, ..FileState::new(object, start, ground) };
    }

    /// Restarts only what has reached its end: the sequential position of a direction.
    pub(super) fn rewind(&mut self, direction: usize) {
        self.ends[direction] = None;
    }

    /// All blocks were visited: visit them again in a different order.
    pub(super) fn shuffle_again(&mut self) {
        self.turn = None;
        self.position = 0;
        self.pass += 1;
    }

    /// The part that may be used now: its start and length.
    fn window(&self, rules: &Rules, length: u64) -> (u64, u64) {
        match &rules.zones {
            None => (0, length),
            Some(zones) => (self.zone, zones.range.min(length - self.zone)),
        }
    }

    /// The operation after the last one in this direction; `None` at the end.
    pub(super) fn in_order(
        &mut self,
        rules: &Rules,
        ground: &FileRegion,
        direction: usize,
        sizes: &Sizes,
        random: &mut fastrand::Rng,
    ) -> Option<Spot> {
        let (base, room) = self.window(rules, ground.length);
        let offset = match self.ends[direction] {
            None => 0,
            Some(end) if rules.skip == 0 || end == base => end - base,
            // As in fio, an operation that ends with the region ends the pass; one that would start beyond it wraps
            // around.
            Some(end) if rules.skip > 0 && end - base >= room => return None,
            Some(end) => {
                let next = (end - base).wrapping_add_signed(rules.skip);
                match (next < room, rules.skip > 0) {
                    (true, _) => next,
                    (false, true) => 0,
                    (false, false) => room.saturating_add_signed(rules.skip),
                }
            }
        };
        let left = room.checked_sub(offset)?;
        let tail = (rules.tails && left > 0).then_some(left);
        let len = sizes.draw(random, left).or(tail)?;
        Some(self.used(Spot { offset: base + offset, len, direction }))
    }

    /// Repeats the last operation in this direction.
    pub(super) fn the_same(&mut self, direction: usize) -> Option<Spot> {
        let (offset, len) = self.lasts[direction]?;
        Some(Spot { offset, len, direction })
    }

    /// A random operation; `None` once each block has been visited.
    #[inline]
    pub(super) fn by_chance(
        &mut self,
        rules: &Rules,
        ground: &FileRegion,
        direction: usize,
        random: &mut fastrand::Rng,
    ) -> Option<Spot> {
        let (base, room) = self.window(rules, ground.length);
        let Some(once) = &ground.once else {
            return self.with_repeats(rules, ground, direction, random);
        };
        let total = match once {
            Once::Pieces(_) if rules.zones.is_some() => {
                return self.with_repeats(rules, ground, direction, random);
            }
            once => once.total(room),
        };
        if self.position >= total {
            return None;
        }
        let turn = match &self.turn {
            Some(turn) => turn,
            None => {
                let key = spread(spread(rules.seed, self.object), self.pass << 24 ^ self.zone);
                self.turn.insert(Permutation::new(total, key))
            }
        };
        let number = turn.at(self.position);
        self.position += 1;
        let spot = match once {
            Once::Blocks(len) => Spot { offset: base + number * len, len: *len, direction },
            Once::Pieces(pieces) => {
                let piece = pieces.at(number);
                let direction = piece.direction.unwrap_or(direction);
                Spot { offset: piece.offset, len: piece.len, direction }
            }
        };
        Some(self.used(spot))
    }

    fn with_repeats(
        &mut self,
        rules: &Rules,
        ground: &FileRegion,
        direction: usize,
        random: &mut fastrand::Rng,
    ) -> Option<Spot> {
        let (base, room) = self.window(rules, ground.length);
        let unit = rules.grain.units[direction];
        let sizes = rules.grain.by_chance(direction);
        let places = room.checked_sub(sizes.least())? / unit + 1;
        let offset = ground.chances[direction].draw(random, places) * unit;
        let len = sizes.draw(random, room - offset)?;
        Some(self.used(Spot { offset: base + offset, len, direction }))
    }

    #[inline]
    fn used(&mut self, spot: Spot) -> Spot {
        self.ends[spot.direction] = Some(spot.offset + spot.len);
        self.lasts[spot.direction] = Some((spot.offset, spot.len));
        self.moved += spot.len;
        spot
    }

    /// Moves to the next zone if enough was moved in this one.
    #[inline]
    pub(super) fn leave_full_zone(&mut self, rules: &Rules, length: u64) {
        if let Some(zones) = &rules.zones
            && self.moved >= zones.bytes
        {
            self.leave_zone(zones, length);
        }
    }

    /// Moves to the next zone; after the last, to the first.
    pub(super) fn leave_zone(&mut self, zones: &Zones, length: u64) {
        self.moved = 0;
        self.zone += zones.range + zones.skip;
        if self.zone >= length {
            self.zone = 0;
            self.pass += 1;
        }
        self.ends = [None; 3];
        (self.turn, self.position) = (None, 0);
    }
}
