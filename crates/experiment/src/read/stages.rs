//! The stages around a measurement.

use metrics::{OpKind, OpSubject};

use super::rules::shortest;
use crate::known::{MEASURE, PREPARE, STAGES};
use crate::plan::{Prepare, Stages, SteadyRule, WeightedOp};
use crate::reader::Fields;

/// Default maximum length of a measurement, in seconds.
const AT_MOST_S: f64 = 1800.0;

/// Minimum useful length of a probe trial, in seconds.
pub const SHORTEST_PROBE_S: f64 = 1.0;

/// The stages of a cell; `names` says that the user named its files, `on_own` that it works only on what it creates.
pub(super) fn stages(
    fields: &Fields<'_>,
    ops: &[WeightedOp],
    (verify, names, on_own): (bool, bool, bool),
    rule: &SteadyRule,
) -> Option<Stages> {
    let reader = fields.reader;
    let before = reader.log.count();
    let stages = fields.below("stages", "stages", None);
    stages.check_keys(STAGES);
    let verify_stage = stages.flag("verify", verify && !on_own);
    // Such loads create what they use; but data that was never written cannot be verified.
    let own = |op: OpKind| matches!(op.traits().subject, OpSubject::OwnMaking | OpSubject::Either);
    let made_by_itself =
        on_own || !verify && !verify_stage && !ops.is_empty() && ops.iter().all(|weighted| own(weighted.op));
    let usual = match (names, made_by_itself) {
        (true, _) => "keep",
        (false, true) => "none",
        (false, false) => "fill",
    };
    let prepare = match stages.choice("prepare", PREPARE, usual) {
        "fill" => Prepare::Fill,
        "fill_always" => Prepare::FillAlways,
        "keep" => Prepare::Keep,
        _ => Prepare::None,
    };
    let measure = stages.below("measure", "measure", Some("at_least"));
    measure.check_keys(MEASURE);
    let at_least = measure.seconds("at_least", 60.0);
    if at_least < 1.0 {
        measure.fault("at_least", "a measurement takes at least one second", "write a duration such as 60s");
    }
    let default_most = match rule {
        SteadyRule::None => at_least,
        _ => AT_MOST_S.max(at_least),
    };
    let at_most = measure.seconds("at_most", default_most);
    if at_most < at_least {
        let (least, most) = (span(at_least), span(at_most));
        measure.fault(
            if measure.has("at_most") { "at_most" } else { "at_least" },
            format!("at_most ({most}) is less than at_least ({least})"),
            format!("write at_most: {least} or more, or a shorter at_least"),
        );
    } else if shortest(rule) > at_most {
        let needed = span(shortest(rule));
        measure.fault(
            "at_most",
            format!(
                "the steady-state rule looks at {needed}, and the measurement ends after {}",
                span(at_most)
            ),
            format!("write at_most: {needed} or more, or choose another rule"),
        );
    }
    let probe_s = stages.seconds("probe", 0.0);
    if probe_s > 0.0 && probe_s < SHORTEST_PROBE_S {
        let what = "a trial of a probe takes at least one second";
        stages.fault("probe", what, "write a duration such as 5s, or 0s for none");
    }
    let read = Stages {
        prepare,
        warm_up_s: stages.seconds("warm_up", 10.0),
        measure_at_least_s: at_least,
        measure_at_least_bytes: measure.size("at_least_bytes", 0),
        measure_at_most_s: at_most,
        probe_s,
        verify: verify_stage,
        clean_up: stages.flag("clean_up", prepare != Prepare::Keep),
    };
    (reader.log.count() == before).then_some(read)
}

/// Formats seconds the way people write them.
pub(super) fn span(seconds: f64) -> String {
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(duration) => units::Span(duration).to_string(),
        Err(_) => format!("{seconds} s"),
    }
}
