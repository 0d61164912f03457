/** The list of runs. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, textOf } from "../api";
import { byteRate, duration, latency, moment, rate } from "../format";
import { step, useKeys, useLoaded } from "../hooks";
import { ErrorLine, PageTitle, StateBadge, VerdictBadge } from "../parts";
import { go, to } from "../router";
import { summaryOf } from "../summaries";
import type { Run, RunPage, Summary } from "../types";

const REFRESH_MS = 2000;

export const tookSeconds = (run: Run): number | null =>
  run.started && run.finished ? (Date.parse(run.finished) - Date.parse(run.started)) / 1000 : null;

function useSummary(run: Run): Summary | null {
  const [summary, setSummary] = useState<Summary | null>(null);
  const { id, state, finished } = run;
  useEffect(() => {
    let current = true;
    if (state === "queued") return;
    summaryOf({ id, finished })
      .then((loaded) => current && setSummary(loaded))
      // The row stays without figures; the run's own page says why.
      .catch(() => undefined);
    return () => {
      current = false;
    };
  }, [id, state, finished]);
  return summary;
}

interface RowProps {
  run: Run;
  chosen: boolean;
  choose: () => void;
}

function Row({ run, chosen, choose }: RowProps) {
  const summary = useSummary(run);
  const took = tookSeconds(run);
  const counts = summary?.cells;
  // A clean-up, for example, has nothing to compare.
  const comparable = counts !== undefined && counts.ended > 0;
  return (
    <tr class={chosen ? "chosen" : ""}>
      <td class="tick">
        <input
          type="checkbox"
          checked={chosen}
          disabled={!chosen && !comparable}
          onChange={choose}
          aria-label={`Compare run ${run.id} of ${run.name}`}
        />
      </td>
      <th scope="row">
        <a href={to.run(run.id)} class="run-link">
          {run.name}
        </a>
        <small class="id">{run.id}</small>
      </th>
      <td data-label="state">
        <StateBadge state={run.state} />
      </td>
      <td data-label="verdict">
        <VerdictBadge verdict={summary?.verdict} />
        {counts && counts.all > 0 && (
          <small>
            {counts.ended} of {counts.all}
          </small>
        )}
      </td>
      <td class="n" data-label="best throughput">
        {summary?.bytes_per_s ? byteRate(summary.bytes_per_s.value) : "–"}
      </td>
      <td class="n" data-label="best IOPS">
        {summary?.ops_per_s ? rate(summary.ops_per_s.value) : "–"}
      </td>
      <td class="n" data-label="lowest p99">
        {summary?.p99_ns ? latency(summary.p99_ns.value) : "–"}
      </td>
      <td data-label="started">{moment(run.started ?? run.asked)}</td>
      <td class="n" data-label="took">
        {took === null ? "–" : duration(took)}
      </td>
      <td data-label="history">
        <a href={to.history(run.name)} aria-label={`History of ${run.name}`}>
          history
        </a>
      </td>
    </tr>
  );
}

export function RunsPage() {
  const first = useLoaded<RunPage>("runs", () => api.runs(), REFRESH_MS);
  const [older, setOlder] = useState<Run[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const link = next ?? (older.length === 0 ? first.value?.next : undefined);
  const newest = first.value?.runs ?? [];
  const seen = new Set(newest.map((run) => run.id));
  const runs = [...newest, ...older.filter((run) => !seen.has(run.id))];
  const table = useRef<HTMLTableElement>(null);

  const choose = (id: string): void =>
    setChosen((before) =>
      before.includes(id) ? before.filter((one) => one !== id) : [...before, id].slice(-2),
    );
  // The older run is the reference.
  const order = runs.map((run) => run.id);
  const [b, a] = [...chosen].sort((one, other) => order.indexOf(one) - order.indexOf(other));
  const compare = (): void => {
    if (a && b) go(to.compare(a, b));
  };
  const more = (): void => {
    if (!link) return;
    api
      .runs(link)
      .then((page) => {
        setOlder((before) => [...before, ...page.runs]);
        setNext(page.next ?? "");
      })
      .catch((problem: unknown) => setError(textOf(problem)));
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    x: () => {
      const row = document.activeElement?.closest("tr");
      row?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
    },
    c: compare,
  });

  return (
    <>
      <PageTitle title="Runs">
        <div class="actions">
          <button type="button" disabled={!a || !b} onClick={compare}>
            Compare {chosen.length} of 2
          </button>
          <a class="button primary" href={to.start}>
            Start an experiment
          </a>
        </div>
      </PageTitle>
      <ErrorLine text={error ?? first.error} />
      {first.value && runs.length === 0 && (
        <p class="empty">
          No runs yet. <a href={to.start}>Start an experiment</a>, from an example if you like.
        </p>
      )}
      {runs.length > 0 && (
        <div class="scroll">
          <table class="runs" ref={table}>
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden">Compare</span>
                </th>
                <th scope="col">experiment</th>
                <th scope="col">state</th>
                <th scope="col">verdict</th>
                <th scope="col" class="n">
                  best throughput
                </th>
                <th scope="col" class="n">
                  best IOPS
                </th>
                <th scope="col" class="n">
                  lowest p99
                </th>
                <th scope="col">started</th>
                <th scope="col" class="n">
                  took
                </th>
                <th scope="col">
                  <span class="hidden">history</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <Row key={run.id} run={run} chosen={chosen.includes(run.id)} choose={() => choose(run.id)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {link && (
        <button type="button" onClick={more}>
          Older runs
        </button>
      )}
    </>
  );
}
