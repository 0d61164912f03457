/** The intervals of the stage on show: what is stored, continued by what arrives. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, isGivenUp, textOf } from "../api";
import { Columns } from "../chart/columns";
import type { IntervalEvent } from "./events";

/** A stage of a cell. */
export interface Choice {
  cell: number;
  stage: string;
  trial: number;
}

/** Time between two drawings while intervals arrive, in milliseconds. */
const DRAW_MS = 250;
/** Intervals that wait while stored ones are loaded. */
const MOST_WAITING = 4096;

export const sameChoice = (a: Choice | null, b: Choice | null): boolean =>
  a?.cell === b?.cell && a?.stage === b?.stage && a?.trial === b?.trial;

class Series {
  columns = new Columns();
  private waiting: IntervalEvent[] = [];
  private loading = false;
  private readonly given = new AbortController();

  constructor(
    private readonly run: string,
    readonly choice: Choice,
    private readonly changed: () => void,
    private readonly failed: (text: string) => void,
  ) {
    void this.load();
  }

  close(): void {
    this.given.abort();
  }

  /** Adds an interval that just arrived; loads what is missing before it. */
  arrived(interval: IntervalEvent): void {
    if (!this.loading && interval.interval <= this.columns.next) {
      this.columns.add(interval);
      this.changed();
      return;
    }
    if (this.waiting.length < MOST_WAITING) this.waiting.push(interval);
    if (!this.loading) void this.load();
  }

  private async load(): Promise<void> {
    this.loading = true;
    const { cell, stage, trial } = this.choice;
    let path: string | undefined =
      `${api.firstIntervals(this.run, cell, stage, trial)}&from=${this.columns.next}`;
    try {
      while (path) {
        const page = await api.intervals(path, this.given.signal);
        for (const interval of page.intervals) this.columns.add(interval);
        this.changed();
        path = page.next;
      }
    } catch (error) {
      if (isGivenUp(error)) return;
      this.failed(textOf(error));
    }
    this.loading = false;
    // Whatever is neither stored nor here is lost: the gap stays.
    for (const interval of this.waiting.splice(0)) this.columns.add(interval);
    this.changed();
  }
}

export interface ShownSeries {
  columns: Columns;
  revision: number;
  error: string | null;
  arrived: (intervals: IntervalEvent[]) => void;
}

const NOTHING = new Columns();

/** The series of a choice. */
export function useSeries(run: string, choice: Choice | null): ShownSeries {
  const series = useRef<Series | null>(null);
  const [revision, setRevision] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const { cell, stage, trial } = choice ?? {};
  useEffect(() => {
    if (cell === undefined || stage === undefined || trial === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let drawn = false;
    const changed = (): void => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          drawn = true;
          setRevision((before) => before + 1);
        },
        drawn ? DRAW_MS : 0,
      );
    };
    setError(null);
    const opened = new Series(run, { cell, stage, trial }, changed, setError);
    series.current = opened;
    return () => {
      opened.close();
      clearTimeout(timer);
      series.current = null;
    };
  }, [run, cell, stage, trial]);
  const arrived = (intervals: IntervalEvent[]): void => {
    const shown = series.current;
    if (!shown) return;
    for (const interval of intervals) if (sameChoice(interval, shown.choice)) shown.arrived(interval);
  };
  const own = sameChoice(series.current?.choice ?? null, choice);
  return { columns: (own && series.current?.columns) || NOTHING, revision, error, arrived };
}
