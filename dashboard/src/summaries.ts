/** Summaries of runs that have ended do not change: each is loaded once. */
import { api } from "./api";
import type { RunState, Summary } from "./types";

/** Requests at the same time; the browser's other connections stay free. */
const AT_ONCE = 3;
const MOST = 2000;

const known = new Map<string, Promise<Summary>>();
const waiting: (() => void)[] = [];
let busy = 0;

const isOver = (state: RunState): boolean => state !== "queued" && state !== "running";

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (busy >= AT_ONCE) await new Promise<void>((start) => waiting.push(start));
  busy += 1;
  try {
    return await work();
  } finally {
    busy -= 1;
    waiting.shift()?.();
  }
}

export function summaryOf(id: string, state: RunState): Promise<Summary> {
  const before = known.get(id);
  if (before) return before;
  const loaded = inTurn(() => api.summary(id));
  if (isOver(state)) {
    if (known.size >= MOST) known.clear();
    known.set(id, loaded);
    loaded.catch(() => known.delete(id));
  }
  return loaded;
}
