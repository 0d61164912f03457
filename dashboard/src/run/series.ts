/** The intervals of the stage on show: what is stored, continued by what arrives. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, isGivenUp, textOf } from "../api";
import { Columns } from "../chart/columns";
import type { Interval } from "../types";
import type { IntervalEvent } from "./events";

/** A stage of a cell. */
export interface Choice {
  cell: number;
  stage: string;
  trial: number;
}

/** Whose intervals: those of all hosts together, of single hosts side by side, or of one. */
export type View = { kind: "together" } | { kind: "side by side" } | { kind: "host"; name: string };

/** Intervals of single hosts that are loaded and kept: each has up to 16 of them. */
const MOST_WITH_HOSTS = 5000;

/** A host and an operation as one key of columns. */
export const hostKey = (host: string, op: string): string => `${op}\n${host}`;
export const hostOf = (key: string): { op: string; host: string } => {
  const [op = "", host = ""] = key.split("\n");
  return { op, host };
};

/** What a view takes from an interval; `null` if the interval does not have it. */
function partOf(view: View, interval: Interval): Interval | null {
  switch (view.kind) {
    case "together":
      return interval;
    case "side by side": {
      if (!interval.hosts) return null;
      const ops = interval.hosts.flatMap(({ host, ops }) =>
        ops.map((point) => ({ ...point, op: hostKey(host, point.op) })),
      );
      return { ...interval, ops };
    }
    case "host": {
      const own = interval.hosts?.find(({ host }) => host === view.name);
      return own ? { ...interval, ops: own.ops } : null;
    }
  }
}

/** Time between two drawings while intervals arrive, in milliseconds. */
const DRAW_MS = 250;
/** Intervals that wait while stored ones are loaded. */
const MOST_WAITING = 4096;

export const sameChoice = (a: Choice | null, b: Choice | null): boolean =>
  a?.cell === b?.cell && a?.stage === b?.stage && a?.trial === b?.trial;

/** What a page of intervals of a view is asked for. */
function queryOf(view: View): string {
  switch (view.kind) {
    case "together":
      return "limit=10000";
    case "side by side":
      return "limit=1000&hosts=true";
    case "host":
      return `limit=10000&host=${encodeURIComponent(view.name)}`;
  }
}

const sameView = (a: View | undefined, b: View): boolean =>
  a?.kind === b.kind && (a.kind !== "host" || b.kind !== "host" || a.name === b.name);

class Series {
  readonly columns: Columns;
  private waiting: Interval[] = [];
  private loading = false;
  /** Number of the first interval that is loaded. */
  private readonly first: number;
  private readonly given = new AbortController();

  constructor(
    private readonly run: string,
    readonly choice: Choice,
    readonly view: View,
    /** Number of intervals that are stored already, if known. */
    stored: number,
    private readonly changed: () => void,
    private readonly failed: (text: string) => void,
  ) {
    const sideBySide = view.kind === "side by side";
    this.columns = sideBySide ? new Columns(2 * MOST_WITH_HOSTS) : new Columns();
    this.first = sideBySide ? Math.max(0, stored - MOST_WITH_HOSTS) : 0;
    void this.load();
  }

  close(): void {
    this.given.abort();
  }

  /** Adds an interval that just arrived; loads what is missing before it. */
  arrived(event: IntervalEvent): void {
    const interval = partOf(this.view, event);
    if (!interval) {
      // It is stored, but not in the event: one of many hosts, or an event that is too old.
      if (!this.loading) void this.load();
      return;
    }
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
    const from = Math.max(this.first, this.columns.next);
    const more = `from=${from}&${queryOf(this.view)}`;
    let path: string | undefined = api.firstIntervals(this.run, cell, stage, trial, more);
    try {
      while (path) {
        const page = await api.intervals(path, this.given.signal);
        for (const interval of page.intervals) {
          // A page of one host has its points in place of the combined ones.
          const own = this.view.kind === "host" ? interval : partOf(this.view, interval);
          if (own) this.columns.add(own);
        }
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
export function useSeries(run: string, choice: Choice | null, view: View, stored: number): ShownSeries {
  const series = useRef<Series | null>(null);
  const [revision, setRevision] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const { cell, stage, trial } = choice ?? {};
  const host = view.kind === "host" ? view.name : view.kind;
  const given = useRef({ view, stored });
  given.current = { view, stored };
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
    const { view, stored } = given.current;
    const opened = new Series(run, { cell, stage, trial }, view, stored, changed, setError);
    series.current = opened;
    return () => {
      opened.close();
      clearTimeout(timer);
      series.current = null;
    };
  }, [run, cell, stage, trial, view.kind, host]);
  const arrived = (intervals: IntervalEvent[]): void => {
    const shown = series.current;
    if (!shown) return;
    for (const interval of intervals) if (sameChoice(interval, shown.choice)) shown.arrived(interval);
  };
  const own = sameChoice(series.current?.choice ?? null, choice) && sameView(series.current?.view, view);
  return { columns: (own && series.current?.columns) || NOTHING, revision, error, arrived };
}
