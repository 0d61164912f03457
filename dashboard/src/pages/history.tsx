/** An experiment over its runs: each cell's figure, where it and its level changed, and its trend. */
import { useState } from "preact/hooks";
import { api } from "../api";
import { change, count, metric, moment } from "../format";
import { useLoaded } from "../hooks";
import { ErrorLine, PageTitle } from "../parts";
import { go, to } from "../router";
import type { CellSeries, History } from "../types";

const RUNS = 50;
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 150, 78, 14, 12, 22];

interface FigurePoint {
  at: number;
  mean: number;
  low: number;
  high: number;
  call: string | null;
  relative: number;
}

function pointsOf(series: CellSeries): FigurePoint[] {
  return series.figures.flatMap((figure, at) => {
    if (!figure || figure.repetitions.length === 0) return [];
    const { repetitions } = figure;
    const mean = repetitions.reduce((sum, one) => sum + one.mean, 0) / repetitions.length;
    return {
      at,
      mean,
      low: Math.min(...repetitions.map((one) => one.low)),
      high: Math.max(...repetitions.map((one) => one.high)),
      call: figure.against_previous?.call ?? null,
      relative: figure.against_previous?.relative ?? 0,
    };
  });
}

const isChange = (call: string | null): boolean => call !== null && /better|worse/.test(call);
const toneOf = (call: string | null): string =>
  !isChange(call) ? "" : call?.includes("worse") ? "worse" : "better";
const words = (call: string): string => call.replace("unconfirmed-", "unconfirmed ");

/** The mean of each stretch of runs on one level, if the level changed. */
function levelsOf(series: CellSeries, points: FigurePoint[]): { from: number; to: number; mean: number }[] {
  const starts = (series.changes ?? []).map((found) => found.run);
  if (starts.length === 0) return [];
  return [0, ...starts].flatMap((from, level) => {
    const on = points.filter((point) => point.at >= from && point.at < (starts[level] ?? Infinity));
    const [first, last] = [on[0], on.at(-1)];
    if (!first || !last) return [];
    return { from: first.at, to: last.at, mean: on.reduce((sum, point) => sum + point.mean, 0) / on.length };
  });
}

function Levels({ series, history }: { series: CellSeries; history: History }) {
  const changes = series.changes ?? [];
  if (changes.length === 0) return null;
  return (
    <ul class="changes" aria-label="Changes of level">
      {changes.map((found) => {
        const run = history.runs[found.run];
        const before = history.runs[found.run - 1];
        return (
          <li key={found.run} class={found.call}>
            Level since {run && <a href={to.run(run.id)}>{moment(run.started)}</a>}: {change(found.relative)}{" "}
            [{change(found.low)} to {change(found.high)}], {found.call}
            {run && before && (
              <>
                {" "}
                (<a href={to.compare(before.id, run.id)}>compare</a>)
              </>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Cell({ series, history }: { series: CellSeries; history: History }) {
  const points = pointsOf(series);
  const format = metric(series.metric);
  const most = Math.max(...points.map((point) => point.high)) * 1.05 || 1;
  const runs = history.runs.length;
  const x = (at: number): number =>
    runs < 2 ? (WIDTH + LEFT) / 2 : LEFT + ((WIDTH - LEFT - RIGHT) * at) / (runs - 1);
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const changes = points.filter((point) => isChange(point.call));
  const { trend } = series;
  const name = `${series.metric} of ${series.cell} on ${series.target}`;
  return (
    <section class="card" aria-label={name}>
      <h3>
        {series.cell} <small>{series.metric}</small>
      </h3>
      <p class="soft">
        on {series.target}
        {trend &&
          ` · trend ${change(trend.per_run)} per run [${change(trend.low)} to ${change(trend.high)}], p = ${trend.p_value.toFixed(3)}`}
      </p>
      <svg
        class="history"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${name} in ${count(points.length, "run")}`}
      >
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(most * share)} y2={y(most * share)} class="grid" />
            <text x={LEFT - 8} y={y(most * share) + 4} text-anchor="end">
              {format(most * share)}
            </text>
          </g>
        ))}
        <polyline class="line" points={points.map((point) => `${x(point.at)},${y(point.mean)}`).join(" ")} />
        {levelsOf(series, points).map((level) => (
          <line
            key={level.from}
            class="level"
            x1={x(level.from) - 6}
            x2={x(level.to) + 6}
            y1={y(level.mean)}
            y2={y(level.mean)}
          />
        ))}
        {points.map((point) => {
          const run = history.runs[point.at];
          const open = (): void => {
            if (run) go(to.run(run.id));
          };
          return (
            <g key={point.at} class={`point ${toneOf(point.call)}`} onClick={open}>
              <title>
                {`${moment(run?.started ?? null)}, run ${run?.id ?? ""}: ${format(point.mean)}`}
                {point.call ? `, ${change(point.relative)} (${words(point.call)})` : ""}
              </title>
              <line x1={x(point.at)} x2={x(point.at)} y1={y(point.low)} y2={y(point.high)} />
              <circle cx={x(point.at)} cy={y(point.mean)} r="4.5" />
            </g>
          );
        })}
        <text x={LEFT} y={HEIGHT - 4}>
          {moment(history.runs[0]?.started ?? null)}
        </text>
        {runs > 1 && (
          <text x={WIDTH - RIGHT} y={HEIGHT - 4} text-anchor="end">
            {moment(history.runs.at(-1)?.started ?? null)}
          </text>
        )}
      </svg>
      <Levels series={series} history={history} />
      {changes.length > 0 && (
        <ul class="changes" aria-label="Changes from run to run">
          {changes.map((point) => {
            const run = history.runs[point.at];
            const before = history.runs[point.at - 1];
            return (
              <li key={point.at} class={toneOf(point.call)}>
                {run && <a href={to.run(run.id)}>{moment(run.started)}</a>}: {change(point.relative)},{" "}
                {words(point.call ?? "")}
                {run && before && (
                  <>
                    {" "}
                    (<a href={to.compare(before.id, run.id)}>compare</a>)
                  </>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

export function HistoryPage({ name }: { name: string }) {
  const { value: history, error } = useLoaded(`history ${name}`, () => api.history(name, RUNS));
  const [only, setOnly] = useState(false);
  const cells = history?.cells ?? [];
  const changed = cells.filter(
    (series) => series.changes || pointsOf(series).some((point) => isChange(point.call)),
  );
  const shown = only ? changed : cells;
  return (
    <>
      <PageTitle title={`History of ${name}`}>
        {cells.length > 0 && (
          <label class="inline">
            <input type="checkbox" checked={only} onChange={() => setOnly(!only)} /> only cells that changed (
            {changed.length} of {cells.length})
          </label>
        )}
      </PageTitle>
      <ErrorLine text={error} />
      {history && history.runs.length < 2 && (
        <p class="empty">
          A history needs two runs of this experiment with results; there{" "}
          {history.runs.length === 1 ? "is one" : "are none"} so far.
        </p>
      )}
      {history && history.runs.length >= 2 && (
        <p>
          {count(history.runs.length, "run")};{" "}
          {changed.length === 0 ? "no cell" : count(changed.length, "cell")} of {cells.length} changed
          significantly from one run to the next.
        </p>
      )}
      <div class="cards">
        {history &&
          shown.map((series) => (
            <Cell
              key={`${series.cell} ${series.target} ${series.metric}`}
              series={series}
              history={history}
            />
          ))}
      </div>
      {history && history.changed.length > 0 && (
        <section aria-labelledby="changed-title">
          <h2 id="changed-title">Settings that changed between the runs</h2>
          <ul>
            {history.changed.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      )}
      {history && history.warnings.length > 0 && (
        <section aria-labelledby="mind-title">
          <h2 id="mind-title">Mind</h2>
          <ul>
            {history.warnings.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
