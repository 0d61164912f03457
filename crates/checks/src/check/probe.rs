//! The probe of a phase: tries half and twice as much in flight after both phases of a row, outside their figures.

use experiment::Cell;
use fleet::{StageRequest, StageUpdate};
use host::load;
use metrics::{Interval, SeriesPoint};
use runner::RunEvent;
use runner::probe::{NoProbe, ProbePlan, carry_out, point};
use stats::limit::{decide, is_undecided};

use super::row::{CheckPhase, PhaseFigures};
use super::stage::PhaseRunner;
use crate::site::OpenSite;

impl PhaseRunner<'_> {
    /// Tries half and twice as much in flight in a phase, if its cell asks for it and its limit is in doubt, and judges
    /// it again.
    pub fn probe(&mut self, site: &OpenSite<'_>, cell: &Cell, phase: CheckPhase, figures: &mut PhaseFigures) {
        let seconds = cell.stages.probe_s;
        let open = figures.limit.as_ref().filter(|limit| is_undecided(limit)).cloned();
        let Some(limit) = open.filter(|_| seconds > 0.0 && figures.failed() == 0) else { return };
        let label = format!("{} {} probe", self.label, phase.name());
        let workload = &cell.workload;
        let lanes = f64::from(workload.jobs) * f64::from(workload.queue_depth);
        let rates: Vec<f64> = figures.seconds.iter().map(SeriesPoint::ops_per_s).collect();
        let half_width = stats::estimate(&rates).relative_half_width();
        let before = point((&figures.total, figures.window_ns), lanes, &workload.arrivals, half_width);
        let queue_depth = Some(workload.queue_depth);
        let request = StageRequest { queue_depth, ..StageRequest::to_the_end(site.id, phase.task()) };
        let (events, stop) = (self.events, self.stop);
        let mut run = |_, request: StageRequest, each: &mut dyn FnMut(&Interval)| {
            events.event(RunEvent::PhaseBegan { label: &label, window: load::duration(request.limit_s) });
            let ran = site.run(request, stop, &mut |seen: StageUpdate<'_>| {
                if let StageUpdate::Whole(interval) = seen {
                    each(interval);
                }
            });
            events.event(RunEvent::PhaseEnded { label: &label });
            ran.map_err(|refusal| NoProbe::Trial(refusal.to_string()))
        };
        let probed = ProbePlan::of_load(workload.queue_depth, &workload.arrivals)
            .and_then(|plan| carry_out(&plan, seconds, before, &request, &mut run));
        match probed {
            Ok(probe) => {
                self.events.note(&format!("{label}: {}", probe.sentence()));
                let limit = super::limit::in_flags(workload.queue_depth, decide(limit, probe));
                self.stored.limit(phase, &limit);
                figures.limit = Some(limit);
            }
            Err(why) => self.events.note(&format!("{label}: none: {why}")),
        }
    }
}
