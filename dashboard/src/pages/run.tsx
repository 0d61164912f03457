/** One run: live while it is under way, its figures afterwards. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, textOf } from "../api";
import { byteRate, count, duration, latency, moment, rate } from "../format";
import { useKeys, useLoaded } from "../hooks";
import { ErrorLine, PageTitle, StateBadge, VerdictBadge } from "../parts";
import { go, to } from "../router";
import { CellsTable } from "../run/cells";
import { Charts } from "../run/charts";
import { useEvents, type IntervalEvent, type Watched } from "../run/events";
import { HostCharts } from "../run/hosts";
import { LivePanel } from "../run/live";
import { sameChoice, useSeries, type Choice, type View } from "../run/series";
import { isOver, type Cell, type Run, type Summary } from "../types";
import { tookSeconds } from "./runs";

const REFRESH_MS = 2000;
const PROGRESS_MS = 1000;
const MEASURE = "measure";
/** Cells listed; the report has all of them. */
const MOST_CELLS = 1000;

async function allCells(id: string): Promise<Cell[]> {
  const cells: Cell[] = [];
  let path: string | undefined = api.firstCells(id);
  while (path && cells.length < MOST_CELLS) {
    const page = await api.cells(path);
    cells.push(...page.cells);
    path = page.next;
  }
  return cells;
}

function Stop({ run, reload }: { run: Run; reload: () => void }) {
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const stop = (): void => {
    api
      .stop(run.id)
      .then(() => {
        setAsked(true);
        reload();
      })
      .catch((problem: unknown) => setError(textOf(problem)));
  };
  const again = asked && run.state === "running";
  const label = run.state === "queued" ? "Take from the queue" : again ? "Stop at once" : "Stop";
  return (
    <>
      <button type="button" class="danger" onClick={stop}>
        {label}
      </button>
      {again && (
        <span class="soft" role="status">
          It ends with its current interval.
        </span>
      )}
      <ErrorLine text={error} />
    </>
  );
}

/** Continues a run: finished cells are kept, the others run. */
function Resume({ run, reload }: { run: Run; reload: () => void }) {
  const [error, setError] = useState<string | null>(null);
  const resume = (): void => {
    api
      .resume(run.id)
      .then(reload)
      .catch((problem: unknown) => setError(textOf(problem)));
  };
  useKeys({ u: resume });
  return (
    <>
      <button type="button" class="primary" onClick={resume}>
        Resume
      </button>
      <ErrorLine text={error} />
    </>
  );
}

function Figures({ summary }: { summary: Summary }) {
  const figures = [
    ["best throughput", summary.bytes_per_s, byteRate],
    ["best IOPS", summary.ops_per_s, rate],
    ["lowest p99", summary.p99_ns, latency],
  ] as const;
  if (!summary.verdict) return null;
  return (
    <section aria-labelledby="figures-title">
      <h2 id="figures-title">Result</h2>
      <dl class="headline">
        <div>
          <dt>verdict</dt>
          <dd>
            <VerdictBadge verdict={summary.verdict} />
            <small>
              {summary.cells.ended} of {count(summary.cells.all, "cell")} ended
            </small>
          </dd>
        </div>
        {figures.map(
          ([name, best, format]) =>
            best && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {format(best.value)}
                  <small>
                    cell {best.cell + 1} {best.name}
                    {best.limit && <span class="soft"> · {best.limit}</span>}
                  </small>
                </dd>
              </div>
            ),
        )}
      </dl>
      {summary.doubts.length > 0 && (
        <ul class="doubts">
          {summary.doubts.map((doubt) => (
            <li key={doubt.reason}>
              <VerdictBadge verdict={doubt.validity} /> {doubt.reason}{" "}
              <span class="soft">
                (cell{doubt.cells.length > 1 ? "s" : ""} {doubt.cells.slice(0, 12).join(", ")}
                {doubt.cells.length > 12 ? ", …" : ""})
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Events({ watched }: { watched: Watched }) {
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      <ErrorLine text={watched.error} />
      {watched.connection === "reconnecting" && !watched.error && <p class="soft">Connecting…</p>}
      <ol class="events" tabIndex={0} aria-label="Events, newest first">
        {[...watched.lines].reverse().map((line) => (
          <li key={line.number} class={line.severity}>
            {line.severity !== "note" && <strong>{line.severity}: </strong>}
            {line.text}
          </li>
        ))}
      </ol>
    </section>
  );
}

interface ViewChoiceProps {
  agents: string[];
  view: View;
  choose: (view: View) => void;
}

/** Chooses whose intervals are drawn. Hosts' values have a prefix, so that their names can be any. */
function ViewChoice({ agents, view, choose }: ViewChoiceProps) {
  const chosen = (value: string): void => {
    if (value === "together" || value === "side by side") choose({ kind: value });
    else choose({ kind: "host", name: value.slice(1) });
  };
  return (
    <label class="inline">
      hosts{" "}
      <select
        value={view.kind === "host" ? `:${view.name}` : view.kind}
        onChange={(event) => chosen(event.currentTarget.value)}
      >
        <option value="together">all together</option>
        <option value="side by side">side by side</option>
        {agents.map((name) => (
          <option key={name} value={`:${name}`}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The stage to show of a cell: its measurement if there is one, else its last stage. */
function choiceOf(cell: Cell | undefined): Choice | null {
  const stage = cell?.stages.findLast((key) => key.stage === MEASURE) ?? cell?.stages.at(-1);
  return cell && stage ? { cell: cell.index, stage: stage.stage, trial: stage.trial } : null;
}

/** A run; a resumed one has new events and other intervals, so its page starts again. */
export function RunPage({ id }: { id: string }) {
  const [attempt, setAttempt] = useState(0);
  return <Attempt key={attempt} id={id} resumed={() => setAttempt(attempt + 1)} />;
}

function Attempt({ id, resumed }: { id: string; resumed: () => void }) {
  const loaded = useLoaded(`run ${id}`, () => api.run(id), REFRESH_MS);
  const run = loaded.value;
  const over = run !== null && isOver(run);
  const wasOver = useRef(false);
  useEffect(() => {
    if (wasOver.current && run && !over) resumed();
    wasOver.current = over;
  });
  const [chosen, setChosen] = useState<Choice | null>(null);
  /** The stage that the latest event belongs to. */
  const [latest, setLatest] = useState<Choice | null>(null);
  const receive = (intervals: IntervalEvent[]): void => {
    series.arrived(intervals);
    const last = intervals.at(-1);
    if (last) setLatest({ cell: last.cell, stage: last.stage, trial: last.trial });
  };
  const watched = useEvents(id, receive);
  const cells = useLoaded(
    `cells ${id} ${watched.changes} ${over ? "over" : ""}${run?.state === "running" ? (latest?.cell ?? "") : ""}`,
    () => allCells(id),
  );
  // What was loaded last stays on show while it is loaded again.
  const [lastCells, setLastCells] = useState<Cell[]>([]);
  useEffect(() => {
    if (cells.value) setLastCells(cells.value);
  }, [cells.value]);
  const summary = useLoaded(`summary ${id} ${watched.changes} ${over ? "over" : ""}`, () => api.summary(id));
  const [lastSummary, setLastSummary] = useState<Summary | null>(null);
  useEffect(() => {
    if (summary.value) setLastSummary(summary.value);
  }, [summary.value]);
  const live = run?.state === "running";
  const progress = useLoaded(`progress ${id}`, () => api.progress(id), live ? PROGRESS_MS : undefined);

  const initial = useMemo(
    () => choiceOf(lastCells.find((cell) => cell.result) ?? lastCells.find((cell) => cell.stages.length > 0)),
    [lastCells],
  );
  const choice = chosen ?? (over ? initial : (latest ?? initial));
  const shownCell = lastCells.find((cell) => cell.index === choice?.cell);
  const storedStage = shownCell?.stages.find(
    ({ stage, trial }) => stage === choice?.stage && trial === choice.trial,
  );
  // Its agents are known once it measures.
  const agents = useLoaded(`agents ${id} ${watched.changes} ${latest !== null}`, () => api.agentsOf(id));
  const [lastAgents, setLastAgents] = useState<string[]>([]);
  useEffect(() => {
    if (agents.value) setLastAgents(agents.value.agents.map(({ name }) => name));
  }, [agents.value]);
  const [view, setView] = useState<View>({ kind: "together" });
  const series = useSeries(id, choice, view, storedStage?.intervals ?? 0);
  // The stage under way may not be among the stored ones yet.
  const stored: Choice[] = (shownCell?.stages ?? []).map(({ stage, trial }) => ({
    cell: shownCell?.index ?? 0,
    stage,
    trial,
  }));
  const stages = choice && !stored.some((one) => sameChoice(one, choice)) ? [...stored, choice] : stored;
  const result = shownCell?.result;
  const [from, until] = [result?.window_start_s, result?.window_end_s];
  const window = useMemo(
    () =>
      from !== undefined && until !== undefined && choice?.stage === MEASURE
        ? ([from, until] as const)
        : undefined,
    [from, until, choice?.stage],
  );

  const withPrevious = async (): Promise<void> => {
    if (!run) return;
    const { runs } = await api.runs("/api/v3/runs?limit=500");
    const before = runs.slice(runs.findIndex((one) => one.id === id) + 1);
    const other = before.find(
      (one) => one.name === run.name && (one.state === "finished" || one.state === "interrupted"),
    );
    if (other) go(to.compare(other.id, id));
    else setNote("There is no earlier run of this experiment.");
  };
  const [note, setNote] = useState<string | null>(null);
  const compare = (): void => {
    withPrevious().catch((error: unknown) => setNote(textOf(error)));
  };
  const hasReport = lastSummary !== null && lastSummary.cells.all > 0;
  useKeys({
    o: () => hasReport && go(to.report(id)),
    h: () => run && go(to.history(run.name)),
    c: compare,
  });

  if (!run) return loaded.error ? <ErrorLine text={loaded.error} /> : <p class="soft">Loading…</p>;
  const took = tookSeconds(run);
  return (
    <>
      <PageTitle title={run.name}>
        <div class="actions">
          {hasReport && (
            <a class="button primary" href={to.report(id)}>
              Report
            </a>
          )}
          {over && hasReport && (
            <button type="button" onClick={compare}>
              Compare with the previous run
            </button>
          )}
          <a class="button" href={to.history(run.name)}>
            History
          </a>
          {run.kind === "experiment" && (
            <a class="button" href={to.startFrom(id)}>
              Edit and start again
            </a>
          )}
          {!over && <Stop run={run} reload={loaded.reload} />}
          {run.kind === "experiment" && (run.state === "interrupted" || run.state === "failed") && (
            <Resume run={run} reload={loaded.reload} />
          )}
        </div>
      </PageTitle>
      <p class="meta">
        <StateBadge state={run.state} /> run <span class="id">{run.id}</span> on {run.hosts.join(", ")} ·{" "}
        {run.started ? `started ${moment(run.started)}` : `posted ${moment(run.asked)}`}
        {took !== null && ` · took ${duration(took)}`}
      </p>
      {run.reason && <p class="reason">{run.reason}</p>}
      <ErrorLine text={loaded.error ?? note} />
      {run.state === "queued" && <p>It waits for its hosts.</p>}
      {live && progress.value && <LivePanel progress={progress.value} />}
      {lastSummary && <Figures summary={lastSummary} />}
      {choice && (
        <section aria-labelledby="time-title">
          <div class="heading">
            <h2 id="time-title">Over time</h2>
            <div class="actions">
              {live && (
                <label class="inline">
                  <input
                    type="checkbox"
                    checked={chosen === null}
                    onChange={() => setChosen(chosen === null ? choice : null)}
                  />{" "}
                  follow the run
                </label>
              )}
              {lastAgents.length > 0 && <ViewChoice agents={lastAgents} view={view} choose={setView} />}
              {stages.length > 1 && (
                <label class="inline">
                  stage{" "}
                  <select
                    value={`${choice.stage} ${choice.trial}`}
                    onChange={(event) => {
                      const [stage = MEASURE, trial = "0"] = event.currentTarget.value.split(" ");
                      setChosen({ cell: choice.cell, stage, trial: Number(trial) });
                    }}
                  >
                    {stages.map((key) => (
                      <option key={`${key.stage} ${key.trial}`} value={`${key.stage} ${key.trial}`}>
                        {key.stage}
                        {key.trial > 0 ? ` ${key.trial + 1}` : ""}
                      </option>
                    ))}
                  </select>
                </label>
              )}
            </div>
          </div>
          <p class="soft">
            Cell {choice.cell + 1} {shownCell?.name}, {choice.stage}
            {choice.trial > 0 && ` ${choice.trial + 1}`}
            {shownCell && (
              <>
                {" "}
                on <span class="url">{shownCell.target}</span>
              </>
            )}
          </p>
          <ErrorLine text={series.error} />
          {view.kind === "side by side" ? (
            <HostCharts
              columns={series.columns}
              revision={series.revision}
              window={window}
              hosts={lastAgents.length}
            />
          ) : (
            <Charts columns={series.columns} revision={series.revision} window={window} />
          )}
        </section>
      )}
      {lastCells.length > 0 && (
        <section aria-labelledby="cells-title">
          <h2 id="cells-title">Cells</h2>
          <CellsTable
            cells={lastCells}
            shown={choice?.cell ?? null}
            show={(cell) => setChosen(choiceOf(cell))}
          />
        </section>
      )}
      <Events watched={watched} />
    </>
  );
}
