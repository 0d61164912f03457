//! No rule: the measurement lasts as long as its floors require, and makes no claim.

use super::{Look, floor_criteria};
use crate::Floors;
use crate::history::History;

pub(crate) fn look(floors: &Floors, history: &History) -> Look {
    let criteria = floor_criteria(floors, history);
    let reached = criteria.iter().all(|c| c.met);
    let reason = match reached {
        true => "not judged (rule none): the whole measurement is reported, including any warm-up effects"
            .to_owned(),
        false => format!("ended before its time: {}", super::misses(&criteria)),
    };
    Look { reached, reason, window: Some(history.everything()), criteria, ..Look::default() }
}
