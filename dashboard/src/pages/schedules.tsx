/** The schedules: when each runs next, and how its last run compares with the earlier ones. */
import { useState } from "preact/hooks";
import { api, textOf } from "../api";
import { count, moment } from "../format";
import { step, useKeys, useLoaded } from "../hooks";
import { ErrorLine, GateBadge, PageTitle, StateBadge } from "../parts";
import { to } from "../router";
import type { Schedule } from "../types";

const REFRESH_MS = 2000;

interface RowProps {
  schedule: Schedule;
  /** Carries out a request and shows what came of it. */
  act: (request: Promise<unknown>) => void;
}

/** Times without a run, if there were any. */
function Lost({ schedule: { skipped, missed, problem } }: { schedule: Schedule }) {
  const lost = [
    skipped > 0 && `${count(skipped, "time")} skipped`,
    missed > 0 && `${count(missed, "time")} missed`,
    problem,
  ].filter(Boolean);
  return lost.length > 0 ? <small class="bad-text">{lost.join("; ")}</small> : null;
}

function Row({ schedule, act }: RowProps) {
  const { id, name, every, paused } = schedule;
  const [removing, setRemoving] = useState(false);
  const last = schedule.runs[0];
  const remove = (): void => {
    if (removing) act(api.removeSchedule(id));
    setRemoving(!removing);
  };
  return (
    <tr>
      <th scope="row">
        <a href={to.history(name)} class="run-link">
          {name}
        </a>
        <div>
          <small>{id}</small>
        </div>
      </th>
      <td data-label="every">
        {every} <small>{schedule.time_zone}</small>
      </td>
      <td data-label="next">
        {paused ? <span class="badge none">paused</span> : moment(schedule.next[0] ?? null)}
        <Lost schedule={schedule} />
      </td>
      <td data-label="last run">
        {last ? (
          <>
            <a href={to.run(last.id)}>{moment(last.started ?? last.asked)}</a>{" "}
            <StateBadge state={last.state} />
          </>
        ) : (
          "–"
        )}
      </td>
      <td class="why" data-label="against earlier runs">
        {last?.gate ? (
          <>
            <GateBadge gate={last.gate} /> {last.gate.summary}
          </>
        ) : (
          "–"
        )}
      </td>
      <td class="wide">
        <div class="actions">
          <button type="button" onClick={() => act(api.startSchedule(id))} aria-label={`Start now: ${name}`}>
            Start now
          </button>
          <button
            type="button"
            onClick={() => act(paused ? api.continueSchedule(id) : api.pauseSchedule(id))}
            aria-label={`${paused ? "Continue" : "Pause"}: ${name}`}
          >
            {paused ? "Continue" : "Pause"}
          </button>
          <button type="button" class="danger" onClick={remove} onBlur={() => setRemoving(false)}>
            {removing ? "Remove it, keep its runs" : "Remove"}
          </button>
        </div>
      </td>
    </tr>
  );
}

export function SchedulesPage() {
  const { value, error, reload } = useLoaded("schedules", () => api.schedules(), REFRESH_MS);
  const [failed, setFailed] = useState<string | null>(null);
  const act = (request: Promise<unknown>): void => {
    setFailed(null);
    request.then(reload).catch((problem: unknown) => setFailed(textOf(problem)));
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  const schedules = value?.schedules ?? [];
  return (
    <>
      <PageTitle title="Schedules">
        <a class="button primary" href={to.start}>
          Write an experiment
        </a>
      </PageTitle>
      <ErrorLine text={failed ?? error} />
      {value && schedules.length === 0 && (
        <p class="empty">
          No schedules yet. <a href={to.start}>Write an experiment</a> and choose “Run it at given times”
          below it.
        </p>
      )}
      {schedules.length > 0 && (
        <div class="scroll">
          <table class="runs">
            <thead>
              <tr>
                <th scope="col">experiment</th>
                <th scope="col">every</th>
                <th scope="col">next</th>
                <th scope="col">last run</th>
                <th scope="col">against earlier runs</th>
                <th scope="col">
                  <span class="hidden">What to do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {schedules.map((schedule) => (
                <Row key={schedule.id} schedule={schedule} act={act} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
