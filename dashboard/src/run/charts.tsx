/** The charts of a stage: throughput and response times per operation. */
import { useState } from "preact/hooks";
import { Chart, type Line } from "../chart/chart";
import type { Columns, Figure } from "../chart/columns";
import { byteRate, latency, rate } from "../format";

interface ChartsProps {
  columns: Columns;
  revision: number;
  window?: readonly [number, number] | undefined;
}

const PERCENTILES: [Figure, string, boolean][] = [
  ["p50_ns", "p50", false],
  ["p99_ns", "p99", false],
  ["p999_ns", "p99.9", true],
  ["max_ns", "max", true],
];

export function Charts({ columns, revision, window }: ChartsProps) {
  const [unit, setUnit] = useState<"bytes_per_s" | "ops_per_s" | null>(null);
  const [tails, setTails] = useState(false);
  const ops = [...columns.ops];
  const movesBytes = ops.some(([, figures]) => figures.bytes_per_s.some((value) => value > 0));
  const shown = unit ?? (movesBytes ? "bytes_per_s" : "ops_per_s");
  const rates: Line[] = ops.map(([op, figures], colour) => ({ label: op, colour, values: figures[shown] }));
  const percentiles = PERCENTILES.filter(([, , tail]) => tails || !tail);
  const alone = ops.length === 1;
  const latencies: Line[] = ops.flatMap(([op, figures], colour) =>
    percentiles.map(([figure, name], at) => ({
      label: alone ? name : `${op} ${name}`,
      colour: alone ? at : colour,
      dashed: !alone && at > 0,
      width: figure === "max_ns" ? 1 : 1.5,
      values: figures[figure],
    })),
  );
  if (columns.length === 0) return <p class="soft plot-empty">No interval of this stage yet.</p>;
  const names = ops.map(([op]) => op).join(", ");
  return (
    <>
      <figure>
        <figcaption>
          <strong>{shown === "bytes_per_s" ? "Throughput" : "IOPS"}</strong>
          <span class="chart-tools">
            <label class="inline">
              <span class="hidden">Rate</span>
              <select
                value={shown}
                onChange={(event) =>
                  setUnit(event.currentTarget.value === "ops_per_s" ? "ops_per_s" : "bytes_per_s")
                }
              >
                <option value="bytes_per_s">throughput</option>
                <option value="ops_per_s">IOPS</option>
              </select>
            </label>
          </span>
        </figcaption>
        <Chart
          label={`${shown === "bytes_per_s" ? "Throughput" : "Operations per second"} over time: ${names}`}
          x={columns.x}
          lines={rates}
          format={shown === "bytes_per_s" ? byteRate : rate}
          revision={revision}
          window={window}
        />
      </figure>
      <figure>
        <figcaption>
          <strong>Response time</strong>
          <span class="chart-tools">
            <label class="inline">
              <input type="checkbox" checked={tails} onChange={() => setTails(!tails)} /> p99.9 and max
            </label>
          </span>
        </figcaption>
        <Chart
          label={`Response time percentiles over time: ${names}`}
          x={columns.x}
          lines={latencies}
          format={latency}
          log
          revision={revision}
          window={window}
        />
      </figure>
      <p class="soft">
        Drag across a chart to zoom in, double-click to see everything.
        {window && " The shaded stretch is the window that is reported."}
      </p>
    </>
  );
}
