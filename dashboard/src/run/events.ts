/** The events of a run as the page needs them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, textOf } from "../api";
import { follow, type Connection, type SentEvent } from "../sse";
import type { Interval } from "../types";

/** Lines kept for the list of events. */
const MOST_LINES = 500;

export interface EventLine {
  number: number;
  severity: "note" | "warning" | "error";
  text: string;
}

/** An interval of a stage of a cell. */
export interface IntervalEvent extends Interval {
  cell: number;
  stage: string;
  trial: number;
}

interface CellEvent {
  cell: number;
  state: string;
  validity: string | null;
  failure: string | null;
}

export interface Watched {
  lines: EventLine[];
  connection: Connection;
  error: string | null;
  /** Changes when a cell has ended or the run changed its state. */
  changes: number;
}

function lineOf(event: SentEvent): EventLine | null {
  const number = Number(event.id);
  switch (event.kind) {
    case "message":
      return { number, ...(event.data as Omit<EventLine, "number">) };
    case "cell": {
      const { cell, state, validity, failure } = event.data as CellEvent;
      const severity = failure ? "error" : "note";
      const outcome = failure ?? validity ?? "";
      return { number, severity, text: `cell ${cell + 1}: ${state}${outcome ? `, ${outcome}` : ""}` };
    }
    case "missed":
      return {
        number,
        severity: "note",
        text: `${(event.data as { events: number }).events} earlier events are no longer kept`,
      };
    case "state":
    case "end": {
      const { state, reason } = event.data as { state: string; reason?: string | null };
      return { number, severity: "note", text: `the run is ${state}${reason ? `: ${reason}` : ""}` };
    }
    default:
      return null;
  }
}

/** Follows a run; intervals go to `onIntervals` as they arrive. */
export function useEvents(id: string, onIntervals: (intervals: IntervalEvent[]) => void): Watched {
  const [watched, setWatched] = useState<Watched>({
    lines: [],
    connection: "reconnecting",
    error: null,
    changes: 0,
  });
  const receiver = useRef(onIntervals);
  receiver.current = onIntervals;
  useEffect(() => {
    const given = new AbortController();
    const arrived = (events: SentEvent[]): void => {
      const intervals = events.filter((event) => event.kind === "interval");
      if (intervals.length > 0) receiver.current(intervals.map((event) => event.data as IntervalEvent));
      const lines = events.map(lineOf).filter((line) => line !== null);
      if (lines.length === 0) return;
      const changed = events.some((event) => ["cell", "state", "end"].includes(event.kind));
      setWatched((before) => ({
        ...before,
        lines: [...before.lines, ...lines].slice(-MOST_LINES),
        changes: before.changes + (changed ? 1 : 0),
      }));
    };
    const connected = (connection: Connection): void => setWatched((before) => ({ ...before, connection }));
    follow(api.eventsPath(id), given.signal, arrived, connected).catch((error: unknown) =>
      setWatched((before) => ({ ...before, error: textOf(error) })),
    );
    return () => given.abort();
  }, [id]);
  return watched;
}
