/** The intervals of one stage as columns of numbers, bounded in size. */
import type { Interval, Point } from "../types";

/** Intervals kept; beyond that, neighbours are merged. */
const MOST = 400_000;

export const FIGURES = [
  "bytes_per_s",
  "ops_per_s",
  "p50_ns",
  "p99_ns",
  "p999_ns",
  "max_ns",
  "failed",
] as const;
export type Figure = (typeof FIGURES)[number];

/** An interval in which nothing was answered has no latency. */
function valueOf(point: Point | undefined, figure: Figure): number {
  const value = point?.[figure] ?? Number.NaN;
  return value === 0 && figure.endsWith("_ns") ? Number.NaN : value;
}

/** Of two neighbours, rates keep their mean; latencies and failures keep the larger one. */
const merged = (figure: Figure, a: number, b: number): number =>
  Number.isNaN(a) ? b : Number.isNaN(b) ? a : figure.endsWith("_per_s") ? (a + b) / 2 : Math.max(a, b);

export class Columns {
  constructor(private readonly most = MOST) {}

  /** Middle of each interval, in seconds since the stage began. */
  x: number[] = [];
  /** Figures by operation; `NaN` where an interval has none. */
  readonly ops = new Map<string, Record<Figure, number[]>>();
  private last = -1;

  get length(): number {
    return this.x.length;
  }

  /** The number of the next interval to come. */
  get next(): number {
    return this.last + 1;
  }

  /** Adds an interval; one that is already there is ignored. */
  add(interval: Interval): void {
    if (interval.interval <= this.last || interval.length_s <= 0) return;
    this.last = interval.interval;
    this.x.push(interval.start_s + interval.length_s / 2);
    for (const point of interval.ops) if (!this.ops.has(point.op)) this.ops.set(point.op, this.empty());
    for (const [op, columns] of this.ops) {
      const point: Point | undefined = interval.ops.find((one) => one.op === op);
      for (const figure of FIGURES) columns[figure].push(valueOf(point, figure));
    }
    if (this.length > this.most) this.halve();
  }

  private empty(): Record<Figure, number[]> {
    const column = (): number[] => Array<number>(this.length - 1).fill(Number.NaN);
    return Object.fromEntries(FIGURES.map((figure) => [figure, column()])) as Record<Figure, number[]>;
  }

  private halve(): void {
    const pairs = Math.floor(this.length / 2);
    const half = (column: number[], merge: (a: number, b: number) => number): number[] =>
      Array.from({ length: pairs }, (_, at) =>
        merge(column[2 * at] ?? Number.NaN, column[2 * at + 1] ?? Number.NaN),
      );
    this.x = half(this.x, (a, b) => (a + b) / 2);
    for (const columns of this.ops.values()) {
      for (const figure of FIGURES) columns[figure] = half(columns[figure], (a, b) => merged(figure, a, b));
    }
  }
}
