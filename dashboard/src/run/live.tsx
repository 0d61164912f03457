/** What a run under way does now: its stage, its way to a steady state, what may limit it. */
import { Meter } from "../parts";
import { count, duration, inUnit, percent } from "../format";
import type { Criterion, Progress } from "../types";

/** How near a criterion is to being met, from 0 to 1. */
function nearness({ value, limit, at_most: atMost, met }: Criterion): number {
  if (met) return 1;
  const share = atMost ? limit / value : value / limit;
  return Number.isFinite(share) ? Math.min(0.99, Math.max(0, share)) : 0;
}

function Stage({ progress }: { progress: Progress }) {
  const { stage, cell } = progress;
  if (!stage) return <p class="soft">The run prepares its hosts and targets.</p>;
  const byBytes = stage.bytes_expected ? stage.bytes / stage.bytes_expected : null;
  const byTime = stage.at_most_s ? stage.elapsed_s / stage.at_most_s : null;
  const share = byBytes ?? byTime;
  const most = stage.at_most_s ? ` of at most ${duration(stage.at_most_s)}` : "";
  return (
    <>
      <p class="now">
        {cell && (
          <>
            cell {cell.index + 1} <strong>{cell.name}</strong> on <span class="url">{cell.target}</span>
            <br />
          </>
        )}
        <strong>{stage.name}</strong> {duration(stage.elapsed_s)}
        {most}
        {stage.simulated && " of simulated time"}
      </p>
      {share !== null && <Meter share={share} label={`Progress of ${stage.name}`} />}
    </>
  );
}

function Steadiness({ progress }: { progress: Progress }) {
  const { steady } = progress;
  if (!steady) return <p class="soft">The steady-state rule judges the measurement, which has not begun.</p>;
  return (
    <>
      <p>
        Rule <strong>{steady.rule}</strong>, decides next at {duration(steady.next_look_s)}.
      </p>
      <ul class="criteria">
        {steady.criteria.map((criterion) => (
          <li key={criterion.name} class={criterion.met ? "met" : ""}>
            <span>
              <span aria-hidden="true">{criterion.met ? "✓ " : "· "}</span>
              {criterion.name}
            </span>
            <span class="n">
              {inUnit(criterion.value, criterion.unit)} {criterion.at_most ? "≤" : "≥"}{" "}
              {inUnit(criterion.limit, criterion.unit)}
              <span class="hidden">{criterion.met ? " met" : " not met"}</span>
            </span>
            <Meter share={nearness(criterion)} label={criterion.name} tone={criterion.met ? "met" : ""} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Limits({ progress }: { progress: Progress }) {
  if (progress.limits.length === 0) {
    return <p class="soft">Nothing on this side is close to its limit so far.</p>;
  }
  return (
    <ul class="criteria">
      {progress.limits.map((limit) => (
        <li key={limit.name}>
          <span>{limit.name}</span>
          <span class="n">{percent(limit.share)}</span>
          <Meter share={limit.share} label={limit.name} tone={limit.share > 0.9 ? "hot" : ""} />
          <small>{limit.text}</small>
        </li>
      ))}
    </ul>
  );
}

export function LivePanel({ progress }: { progress: Progress }) {
  const { ended, cell_count: all, eta_s: eta } = progress;
  return (
    <div class="panels">
      <section class="card" aria-labelledby="now-title">
        <h2 id="now-title">Now</h2>
        <Stage progress={progress} />
        <p>
          {ended} of {count(all, "cell")} done{eta && `, about ${duration(eta.run)} left`}
          {progress.failed > 0 && (
            <strong class="bad-text">, {count(progress.failed, "failed operation")}</strong>
          )}
        </p>
        <Meter share={all > 0 ? ended / all : 0} label="Cells done" />
      </section>
      <section class="card" aria-labelledby="steady-title">
        <h2 id="steady-title">Progress to a steady state</h2>
        <Steadiness progress={progress} />
      </section>
      <section class="card" aria-labelledby="limits-title">
        <h2 id="limits-title">What may limit it now</h2>
        <Limits progress={progress} />
      </section>
    </div>
  );
}
