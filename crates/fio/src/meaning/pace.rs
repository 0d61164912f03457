//! Queue, rates, pauses and commits.

use super::asked::{Asked, whole};
use super::order::Order;
use crate::values::ValueError;
use experiment::{Commits, Directions, Pace, Queue, Rate, Think};

const MICROSECOND_S: f64 = 1e-6;

/// How the queue is kept full. `depth`: maximum operations in flight.
pub(crate) fn queue(asked: &Asked<'_>, depth: u32) -> Queue {
    let within = |number: u32| number.min(depth);
    let batch = match asked.count("iodepth_batch") {
        None => 1,
        Some(0) => depth,
        Some(batch) => within(batch),
    };
    let least = within(asked.count("iodepth_batch_complete_min").unwrap_or(1));
    let most = match asked.count("iodepth_batch_complete_max") {
        None | Some(0) => least,
        Some(most) => within(most),
    };
    let given_most = asked.has("iodepth_batch_complete_max");
    let offload = match asked.text("io_submit_mode") {
        None | Some("inline") => false,
        Some("offload") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["inline", "offload"]);
            asked.fault("io_submit_mode", format!("there is no io_submit_mode {other:?}"), hint);
            false
        }
    };
    let low = asked.count("iodepth_low").unwrap_or(0);
    Queue {
        batch: if batch <= 1 { 0 } else { batch },
        complete_least: if least <= 1 { 0 } else { least },
        complete_most: if given_most || least > 1 { most.max(least) } else { 0 },
        low: if low >= depth { 0 } else { low },
        offload,
    }
}

/// When written data is made durable.
pub(crate) fn commits(asked: &Asked<'_>) -> Commits {
    let (range_every, range_flags) = range_commits(asked).unwrap_or((0, 0));
    Commits {
        fsync_every: asked.count("fsync").unwrap_or(0),
        fdatasync_every: asked.count("fdatasync").unwrap_or(0),
        range_every,
        range_flags,
        at_end: asked.flag("end_fsync"),
        on_close: asked.flag("fsync_on_close"),
    }
}

/// `wait_before,write:8`: flags of sync_file_range(2), and the number of writes between calls.
fn range_commits(asked: &Asked<'_>) -> Option<(u32, u32)> {
    const WORDS: [(&str, u32); 3] = [("wait_before", 1), ("write", 2), ("wait_after", 4)];
    let setting = asked.setting("sync_file_range")?;
    asked.read(setting, &setting.value, |text| {
        let how = ValueError::Form(
            "write wait_before, write, wait_after with commas between them, then :WRITES, as in write:8",
        );
        let (words, every) = text.rsplit_once(':').unwrap_or((text, "1"));
        let mut flags = 0;
        for word in words.split(',').map(str::trim) {
            flags |= WORDS.iter().find(|known| known.0 == word).ok_or_else(|| how.clone())?.1;
        }
        let every = u32::try_from(whole(every, setting.kb_base)?).map_err(|_| how)?;
        Ok::<_, ValueError>((every, flags))
    })
}

/// Rates and pauses.
pub(crate) fn pace(asked: &Asked<'_>, order: &Order) -> Pace {
    let rates = rates(asked, "rate", "rate_iops");
    let least = rates_least(asked, order);
    let both = |least: Option<Rate>, rate: Option<Rate>| match (least, rate) {
        (Some(Rate::BytesPerS(least)), Some(Rate::BytesPerS(rate)))
        | (Some(Rate::OpsPerS(least)), Some(Rate::OpsPerS(rate))) => least > rate,
        _ => false,
    };
    if both(least.read, rates.read) || both(least.write, rates.write) || both(least.trim, rates.trim) {
        let name = if asked.has("rate_min") { "rate_min" } else { "rate_iops_min" };
        asked.fault(
            name,
            format!("{name} is above the rate itself"),
            "use a smaller minimum or a higher rate",
        );
    }
    let poisson = match asked.text("rate_process") {
        None | Some("linear") => false,
        Some("poisson") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["linear", "poisson"]);
            asked.fault("rate_process", format!("there is no rate_process {other:?}"), hint);
            false
        }
    };
    Pace {
        rates,
        poisson,
        least,
        cycle_s: asked.number("rate_cycle").map_or(0.0, |milliseconds| milliseconds as f64 / 1e3),
        think: think(asked),
        pauses_stop_schedule: asked.flag("rate_ignore_thinktime"),
    }
}

fn rates(asked: &Asked<'_>, bytes: &'static str, ops: &'static str) -> Directions<Option<Rate>> {
    let above_0 = |number: Option<u64>| number.filter(|number| *number > 0).map(|number| number as f64);
    let (in_bytes, in_ops) = (asked.numbers(bytes), asked.numbers(ops));
    let some = |d: &Directions<Option<u64>>| d.read.or(d.write).or(d.trim).is_some_and(|number| number > 0);
    if some(&in_bytes) && some(&in_ops) {
        let text = format!("{bytes} and {ops} cannot both be given");
        asked.fault(ops, text, "take one of them out");
    }
    let rate = |bytes: Option<u64>, ops: Option<u64>| {
        above_0(bytes).map(Rate::BytesPerS).or(above_0(ops).map(Rate::OpsPerS))
    };
    Directions {
        read: rate(in_bytes.read, in_ops.read),
        write: rate(in_bytes.write, in_ops.write),
        trim: rate(in_bytes.trim, in_ops.trim),
    }
}

/// Minimum rates of the directions in use.
fn rates_least(asked: &Asked<'_>, order: &Order) -> Directions<Option<Rate>> {
    if !asked.has("rate_min") && !asked.has("rate_iops_min") {
        return Directions::default();
    }
    let least = rates(asked, "rate_min", "rate_iops_min");
    Directions {
        read: least.read.filter(|_| order.reads),
        write: least.write.filter(|_| order.writes),
        trim: least.trim.filter(|_| order.trims),
    }
}

fn think(asked: &Asked<'_>) -> Option<Think> {
    let pause_s = asked.seconds("thinktime", MICROSECOND_S)?;
    if pause_s == 0.0 {
        return None;
    }
    let count_begun = match asked.text("thinktime_blocks_type") {
        None | Some("complete") => false,
        Some("issue") => true,
        Some(other) => {
            let hint = experiment::hint(other, ["complete", "issue"]);
            asked.fault(
                "thinktime_blocks_type",
                format!("there is no thinktime_blocks_type {other:?}"),
                hint,
            );
            false
        }
    };
    let spin_s = asked.seconds("thinktime_spin", MICROSECOND_S).unwrap_or(0.0);
    Some(Think {
        pause_s,
        spin_s: spin_s.min(pause_s),
        after: asked.count("thinktime_blocks").unwrap_or(0),
        count_begun,
        after_s: asked.seconds("thinktime_iotime", 1.0).unwrap_or(0.0),
    })
}
