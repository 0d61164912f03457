//! `rw` and related options: directions, order, random distribution.

use metrics::OpKind;

use super::asked::Asked;
use super::lists::outside_brackets;
use super::numbers::{amount, float, percent, share};
use crate::language::section::Setting;
use crate::language::values::{self, ValueError};
use experiment::WeightedOp;
use experiment::{Amount, Directions, Distribution, Pattern, Percent, Zone};

/// Maximum zones of a zoned distribution.
const MAX_ZONES: usize = 256;

/// The meaning of `rw`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
    pub trims: bool,
    /// Random order.
    pub random: bool,
    /// The modifier after the colon.
    modifier: Option<i64>,
}

/// The values of `rw`: name, reads, writes, trims, random.
const FORMS: [(&str, bool, bool, bool, bool); 12] = [
    ("read", true, false, false, false),
    ("write", false, true, false, false),
    ("trim", false, false, true, false),
    ("randread", true, false, false, true),
    ("randwrite", false, true, false, true),
    ("randtrim", false, false, true, true),
    ("rw", true, true, false, false),
    ("readwrite", true, true, false, false),
    ("randrw", true, true, false, true),
    ("randreadwrite", true, true, false, true),
    ("trimwrite", false, true, true, false),
    ("randtrimwrite", false, true, true, true),
];

/// Parses `rw`; defaults to sequential reads.
pub(crate) fn order(asked: &Asked<'_>) -> Order {
    let usual = Order { reads: true, writes: false, trims: false, random: false, modifier: None };
    let Some(setting) = asked.setting("rw") else { return usual };
    let (word, modifier) = match setting.value.split_once(':') {
        Some((word, modifier)) => (word.trim(), Some(modifier.trim())),
        None => (setting.value.trim(), None),
    };
    let Some(&(_, reads, writes, trims, random)) = FORMS.iter().find(|form| form.0 == word) else {
        let hint = experiment::hint(word, FORMS.iter().map(|form| form.0));
        asked.fault("rw", format!("there is no pattern {word:?}"), hint);
        return usual;
    };
    let modifier = modifier.and_then(|text| {
        asked.read(setting, text, |text| {
            let number = values::integer(text, setting.kb_base)?;
            if random && !(1..=i64::from(u32::MAX)).contains(&number) {
                return Err(ValueError::Form("write how many operations follow each other, from 1 on"));
            }
            Ok(number)
        })
    });
    Order { reads, writes, trims, random, modifier }
}

/// The operations and their weights.
pub(crate) fn ops(asked: &Asked<'_>, order: &Order) -> Vec<WeightedOp> {
    let op = |op, weight| WeightedOp { op, weight };
    match (order.reads, order.writes, order.trims) {
        (true, true, _) => {
            let reads = read_percent(asked);
            let both = [op(OpKind::Read, reads / 100.0), op(OpKind::Write, (100.0 - reads) / 100.0)];
            both.into_iter().filter(|op| op.weight > 0.0).collect()
        }
        (_, true, true) => vec![op(OpKind::Trim, 0.5), op(OpKind::Write, 0.5)],
        (true, ..) => vec![op(OpKind::Read, 1.0)],
        (_, true, _) => vec![op(OpKind::Write, 1.0)],
        (_, _, _) => vec![op(OpKind::Trim, 1.0)],
    }
}

/// The percentage of reads: the last setting for reads or writes applies.
fn read_percent(asked: &Asked<'_>) -> f64 {
    let is = |setting: &Setting, name| setting.option.name == name;
    let mixes = asked.section.settings.iter();
    let last = mixes.rev().find(|setting| is(setting, "rwmixread") || is(setting, "rwmixwrite"));
    let Some(last) = last else { return 50.0 };
    let percent = asked.read(last, &last.value, share);
    match percent {
        Some(percent) if is(last, "rwmixwrite") => 100.0 - percent,
        Some(percent) => percent,
        None => 50.0,
    }
}

/// The order of operations.
pub(crate) fn pattern(asked: &Asked<'_>, order: &Order, one_size: bool) -> Pattern {
    let identical = match asked.text("rw_sequencer") {
        None | Some("sequential") => false,
        Some("identical") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["sequential", "identical"]);
            asked.fault("rw_sequencer", format!("there is no rw_sequencer {other:?}"), hint);
            false
        }
    };
    let distribution = distributions(asked);
    let even = |distribution: &Distribution| *distribution == Distribution::Even;
    let all_even = even(&distribution.read) && even(&distribution.write) && even(&distribution.trim);
    let shifted = asked.has("ba") && blocks_are_shifted(asked);
    let cycle = asked.text("random_generator").is_some_and(|text| text == "lfsr") && one_size;
    let modifier = order.modifier.unwrap_or(0);
    Pattern {
        random: order.random,
        run: if order.random { modifier.clamp(0, i64::from(u32::MAX)) as u32 } else { 0 },
        skip: if order.random { 0 } else { modifier },
        run_identical: identical && order.random && modifier > 1,
        trim_then_write: order.writes && order.trims,
        percent_random: percent_random(asked),
        with_repeats: order.random && (asked.flag("norandommap") && !cycle || shifted || !all_even),
        distribution: if order.random { distribution } else { Directions::default() },
        sizes_by_order: asked.flag("bs_is_seq_rand"),
        no_overlap: asked.flag("serialize_overlap"),
    }
}

/// An alignment that differs from the size disables the block map.
fn blocks_are_shifted(asked: &Asked<'_>) -> bool {
    let (align, sizes) = (asked.numbers("ba"), asked.numbers("bs"));
    let differs = |align: Option<u64>, size: Option<u64>| align.is_some_and(|a| a != size.unwrap_or(4096));
    let plain = !asked.has("bsrange") && !asked.has("bssplit");
    !plain
        || differs(align.read, sizes.read)
        || differs(align.write, sizes.write)
        || differs(align.trim, sizes.trim)
}

fn percent_random(asked: &Asked<'_>) -> Directions<Percent> {
    let given = asked.directions("percentage_random", |_, text| share(text).map(Percent));
    Directions {
        read: given.read.unwrap_or_default(),
        write: given.write.unwrap_or_default(),
        trim: given.trim.unwrap_or_default(),
    }
}

/// The kinds of distribution.
const KINDS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];

fn distributions(asked: &Asked<'_>) -> Directions<Distribution> {
    let Some(setting) = asked.setting("random_distribution") else { return Directions::default() };
    // The kind is given once, before the parameters per direction.
    let at = setting.value.find([':', '=']).unwrap_or(setting.value.len());
    let (kind, rest) = setting.value.split_at(at);
    let (kind, rest) = (kind.trim(), rest.get(1..).unwrap_or(""));
    if !KINDS.contains(&kind) {
        asked.fault(
            "random_distribution",
            format!("there is no distribution {kind:?}"),
            experiment::hint(kind, KINDS),
        );
        return Directions::default();
    }
    let parts = outside_brackets(rest, &[',']);
    let one = |index: usize| -> Distribution {
        let text = parts.get(index).or(parts.last()).map_or("", |part| part.trim());
        // `zipf:1.2,zipf:1.3` is accepted too.
        let text = text.strip_prefix(kind).and_then(|text| text.strip_prefix([':', '='])).unwrap_or(text);
        asked.read(setting, text, |text| distribution(kind, text, setting.kb_base)).unwrap_or_default()
    };
    if kind == "random" {
        return Directions::default();
    }
    if parts.len() > 3 {
        asked.fault("random_distribution", "there are more than three directions", "write at most three");
    }
    match parts.len() {
        1 => Directions::all(one(0)),
        2 => {
            let write = one(1);
            Directions { read: one(0), write: write.clone(), trim: write }
        }
        _ => Directions { read: one(0), write: one(1), trim: one(2) },
    }
}

/// Why a text describes no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum DistributionError {
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error(transparent)]
    Zones(#[from] ZonesError),
}

/// Why a text describes no zones.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
enum ZonesError {
    /// How to write them.
    #[error("{0}")]
    Form(&'static str),
    #[error("write at most {MAX_ZONES} zones")]
    TooMany,
    #[error("the accesses add up to {0} %; make it 100")]
    Accesses(f64),
    #[error("the zones add up to {0} % of the space; make it 100")]
    Space(f64),
}

fn distribution(kind: &str, text: &str, kb_base: u32) -> Result<Distribution, DistributionError> {
    if kind == "zoned" || kind == "zoned_abs" {
        return Ok(Distribution::Zoned { zones: zones(text, kind == "zoned_abs", kb_base)? });
    }
    let (parameter, centre) = match text.split_once(':') {
        Some((parameter, centre)) => (parameter, Some(float(centre)?)),
        None => (text, None),
    };
    if centre.is_some_and(|centre| !(0.0..=1.0).contains(&centre)) {
        return Err(ValueError::Form("write a centre from 0 to 1").into());
    }
    let parameter = if parameter.trim().is_empty() { None } else { Some(float(parameter)?) };
    match kind {
        "zipf" => match parameter.unwrap_or(1.1) {
            theta if theta > 0.0 && theta != 1.0 => Ok(Distribution::Zipf { theta, centre }),
            _ => Err(ValueError::Form("write a theta above 0 other than 1, as in zipf:1.2").into()),
        },
        "pareto" => match parameter.unwrap_or(0.2) {
            h if h > 0.0 && h < 1.0 => Ok(Distribution::Pareto { h, centre }),
            _ => Err(ValueError::Form("write a power above 0 and below 1, as in pareto:0.2").into()),
        },
        _ => match parameter {
            Some(deviation) if (0.0..100.0).contains(&deviation) => {
                Ok(Distribution::Normal { deviation, centre })
            }
            _ => {
                Err(ValueError::Form("write a deviation in percent from 0 to below 100, as in normal:20")
                    .into())
            }
        },
    }
}

fn zones(text: &str, absolute: bool, kb_base: u32) -> Result<Vec<Zone>, ZonesError> {
    let form = ZonesError::Form(if absolute {
        "write ACCESSES/SIZE:…, as in zoned_abs:60/20g:40/100g"
    } else {
        "write ACCESSES/SPACE:… in percent, as in zoned:60/10:40/90"
    });
    // Empty values share what the others leave of the accesses, or of the space.
    let mut zones: Vec<(Option<f64>, Option<Amount>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (accesses, space) = part.split_once('/').ok_or(form)?;
        let given =
            |text: &str| Some(text.trim().trim_end_matches('%').to_owned()).filter(|text| !text.is_empty());
        let accesses = given(accesses).map(|text| percent(&text)).transpose().map_err(|_| form)?;
        let space = match given(space) {
            None if absolute => return Err(form),
            None => None,
            Some(_) if absolute => Some(amount(space.trim(), kb_base).map_err(|_| form)?),
            Some(text) => Some(Amount::Percent(float(&text).map_err(|_| form)?)),
        };
        zones.push((accesses, space));
    }
    let percent_of = |space: &Option<Amount>| match space {
        Some(Amount::Percent(percent)) => *percent,
        _ => 0.0,
    };
    let rest_of = |given: f64, blanks: usize| (100.0 - given).max(0.0) / blanks.max(1) as f64;
    let accesses: f64 = zones.iter().filter_map(|zone| zone.0).sum();
    let space: f64 = zones.iter().map(|zone| percent_of(&zone.1)).sum();
    let accesses_left = rest_of(accesses, zones.iter().filter(|zone| zone.0.is_none()).count());
    let space_left = rest_of(space, zones.iter().filter(|zone| zone.1.is_none()).count());
    let zones: Vec<Zone> = zones
        .into_iter()
        .map(|(accesses, space)| Zone {
            percent: accesses.unwrap_or(accesses_left),
            length: space.unwrap_or(Amount::Percent(space_left)),
        })
        .collect();
    let accesses: f64 = zones.iter().map(|zone| zone.percent).sum();
    if zones.is_empty() {
        Err(form)
    } else if zones.len() > MAX_ZONES {
        Err(ZonesError::TooMany)
    } else if (accesses - 100.0).abs() > 0.001 {
        Err(ZonesError::Accesses(accesses))
    } else if space > 100.001 {
        Err(ZonesError::Space(space))
    } else {
        Ok(zones)
    }
}
