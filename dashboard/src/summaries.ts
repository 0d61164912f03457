/** Summaries of runs that have ended do not change until they are resumed: each is loaded once. */
import { api } from "./api";
import type { Run, Summary } from "./types";

/** Requests at the same time; the browser's other connections stay free. */
const AT_ONCE = 3;
const MOST = 2000;

const known = new Map<string, Promise<Summary>>();
const waiting: (() => void)[] = [];
let busy = 0;

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

export function summaryOf({ id, finished }: Pick<Run, "id" | "finished">): Promise<Summary> {
  // A run that is resumed ends at another time.
  const key = `${id} ${finished}`;
  const before = known.get(key);
  if (before) return before;
  const loaded = inTurn(() => api.summary(id));
  if (finished !== null) {
    if (known.size >= MOST) known.clear();
    known.set(key, loaded);
    loaded.catch(() => known.delete(key));
  }
  return loaded;
}
