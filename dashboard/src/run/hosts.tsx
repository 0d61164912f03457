/** The charts of a stage with one line per host. */
import { useState } from "preact/hooks";
import { Chart, type Line } from "../chart/chart";
import type { Columns } from "../chart/columns";
import { byteRate, latency, rate } from "../format";
import { hostOf } from "./series";

/** What can be drawn per host. */
const FIGURES = {
  bytes_per_s: ["Throughput", byteRate],
  ops_per_s: ["IOPS", rate],
  p50_ns: ["p50 response time", latency],
  p99_ns: ["p99 response time", latency],
  p999_ns: ["p99.9 response time", latency],
  max_ns: ["max response time", latency],
} as const;
type HostFigure = keyof typeof FIGURES;
/** Colours of charts; further lines repeat them, dashed. */
const COLOURS = 6;

interface HostChartProps {
  columns: Columns;
  revision: number;
  window?: readonly [number, number] | undefined;
  op: string;
  initial: HostFigure;
}

function HostChart({ columns, revision, window, op, initial }: HostChartProps) {
  const [figure, setFigure] = useState(initial);
  const [name, format] = FIGURES[figure];
  const lines: Line[] = [...columns.ops]
    .filter(([key]) => hostOf(key).op === op)
    .map(([key, figures], at) => ({
      label: hostOf(key).host,
      colour: at,
      dashed: Math.floor(at / COLOURS) % 2 === 1,
      width: at >= 2 * COLOURS ? 2.5 : 1.5,
      values: figures[figure],
    }));
  return (
    <figure>
      <figcaption>
        <strong>
          {name} of {op} by host
        </strong>
        <span class="chart-tools">
          <label class="inline">
            <span class="hidden">Figure of {op}</span>
            <select value={figure} onChange={(event) => setFigure(event.currentTarget.value as HostFigure)}>
              {Object.entries(FIGURES).map(([key, [text]]) => (
                <option key={key} value={key}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        </span>
      </figcaption>
      <Chart
        label={`${name} of ${op} over time by host: ${lines.map((line) => line.label).join(", ")}`}
        x={columns.x}
        lines={lines}
        format={format}
        log={figure.endsWith("_ns")}
        revision={revision}
        window={window}
      />
    </figure>
  );
}

interface HostChartsProps extends Omit<HostChartProps, "op" | "initial"> {
  /** Number of hosts of the run. */
  hosts: number;
}

/** Throughput and a percentile of one operation, a line for each of up to 16 hosts. */
export function HostCharts({ hosts, ...shown }: HostChartsProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const { columns } = shown;
  const keys = [...columns.ops.keys()].map(hostOf);
  const ops = [...new Set(keys.map(({ op }) => op))];
  const op = ops.find((one) => one === chosen) ?? ops[0];
  if (columns.length === 0 || op === undefined) {
    return <p class="soft plot-empty">No interval of single hosts in this stage yet.</p>;
  }
  const drawn = new Set(keys.map(({ host }) => host)).size;
  const movesBytes = [...columns.ops.values()].some(({ bytes_per_s: rates }) =>
    rates.some((value) => value > 0),
  );
  return (
    <>
      {ops.length > 1 && (
        <label class="inline">
          operation{" "}
          <select value={op} onChange={(event) => setChosen(event.currentTarget.value)}>
            {ops.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
      <HostChart {...shown} op={op} initial={movesBytes ? "bytes_per_s" : "ops_per_s"} />
      <HostChart {...shown} op={op} initial="p99_ns" />
      {drawn < hosts && (
        <p class="soft">
          The first {drawn} of {hosts} hosts; choose one of the others to see it alone.
        </p>
      )}
    </>
  );
}
