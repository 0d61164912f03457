//! Where a worker stands in one of its files.

use experiment::Zones;

use super::ground::{FileRegion, Grain, Once};
use super::sizes::Sizes;
use crate::access::permutation::Permutation;
use crate::access::spread;

/// A range of the part of a file that is used, from that part's beginning on, and for which direction.
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
    /// Where the part begins that is used, in bytes.
    pub start: u64,
    /// Which of the grounds it is.
    pub ground: usize,
    /// End of the last operation of each direction; `None`: there was none.
    ends: [Option<u64>; 3],
    /// The last operation of each direction.
    lasts: [Option<(u64, u64)>; 3],
    /// The order in which each block comes once, and how many have come.
    turn: Option<Permutation>,
    position: u64,
    /// Times that all had come.
    pass: u64,
    /// The beginning of the zone in use, and what was moved in it.
    zone: u64,
    moved: u64,
}

/// What all files' places depend on.
#[derive(Debug)]
pub(super) struct Rules {
    pub grain: Grain,
    pub skip: i64,
    pub zones: Option<Zones>,
    pub seed: u64,
    /// The last block in order may be shorter.
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

    /// From the beginning again.
    pub(super) fn begin(&mut self, pass: u64) {
        let FileState { object, start, ground, .. } = *self;
        *self = FileState { pass, ..FileState::new(object, start, ground) };
    }

    /// Only what has come to its end begins again: the place in order of a direction.
    pub(super) fn rewind(&mut self, direction: usize) {
        self.ends[direction] = None;
    }

    /// All blocks have come: they come again, in another order.
    pub(super) fn shuffle_again(&mut self) {
        self.turn = None;
        self.position = 0;
        self.pass += 1;
    }

    /// The part that may be used now: its beginning and its length.
    fn window(&self, rules: &Rules, length: u64) -> (u64, u64) {
        match &rules.zones {
            None => (0, length),
            Some(zones) => (self.zone, zones.range.min(length - self.zone)),
        }
    }

    /// The operation behind the last one of the direction; `None` at the end.
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
            // As in fio: what ends with the region ends the pass, what would begin behind it begins again.
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

    /// The last operation of the direction once more.
    pub(super) fn the_same(&mut self, direction: usize) -> Option<Spot> {
        let (offset, len) = self.lasts[direction]?;
        Some(Spot { offset, len, direction })
    }

    /// An operation at random; `None` when each block has come once.
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

    /// Goes on to the next zone when enough was moved in this one.
    #[inline]
    pub(super) fn leave_full_zone(&mut self, rules: &Rules, length: u64) {
        if let Some(zones) = &rules.zones
            && self.moved >= zones.bytes
        {
            self.leave_zone(zones, length);
        }
    }

    /// Goes on to the next zone; behind the last, to the first.
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
