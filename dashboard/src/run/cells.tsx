/** The cells of a run with their results. */
import { VerdictBadge } from "../parts";
import { byteRate, latency, rate } from "../format";
import type { Cell } from "../types";

interface CellsProps {
  cells: Cell[];
  shown: number | null;
  show: (cell: Cell) => void;
}

export function CellsTable({ cells, shown, show }: CellsProps) {
  return (
    <div class="scroll">
      <table class="runs cells">
        <thead>
          <tr>
            <th scope="col">cell</th>
            <th scope="col">verdict</th>
            <th scope="col" class="n">
              throughput
            </th>
            <th scope="col" class="n">
              IOPS
            </th>
            <th scope="col" class="n">
              p50
            </th>
            <th scope="col" class="n">
              p99
            </th>
            <th scope="col">limited by</th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell) => {
            const total = cell.result?.total;
            return (
              <tr key={cell.index} class={shown === cell.index ? "chosen" : ""}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    aria-pressed={shown === cell.index}
                    disabled={cell.stages.length === 0}
                    onClick={() => show(cell)}
                  >
                    {cell.index + 1} {cell.name}
                  </button>
                </th>
                <td data-label="verdict">
                  {cell.result ? (
                    <VerdictBadge verdict={cell.result.verdict.validity} />
                  ) : (
                    <span class="soft">{cell.state}</span>
                  )}
                </td>
                <td class="n" data-label="throughput">
                  {total ? byteRate(total.bytes_per_s.mean) : "–"}
                </td>
                <td class="n" data-label="IOPS">
                  {total ? rate(total.ops_per_s.mean) : "–"}
                </td>
                <td class="n" data-label="p50">
                  {total ? latency(total.response.p50_ns) : "–"}
                </td>
                <td class="n" data-label="p99">
                  {total ? latency(total.response.p99_ns) : "–"}
                </td>
                <td data-label="limited by" class="why">
                  {cell.failure ?? cell.result?.limit?.sentence ?? "–"}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
