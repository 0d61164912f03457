/** The service's API: requests with the token, and its problem details as errors. */
import type {
  AgentPage,
  ArrayDetail,
  Cells,
  Fault,
  History,
  Host,
  HostDetail,
  IntervalPage,
  Leftover,
  NewSchedule,
  Plan,
  Progress,
  Run,
  RunPage,
  Schedule,
  StorageArray,
  Summary,
} from "./types";

const TOKEN_KEY = "manometer-token";
const API = "/api/v3";

/** What the service answered instead of what was asked. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly faults: Fault[] = [],
  ) {
    super(detail);
  }

  get needsToken(): boolean {
    return this.status === 401;
  }
}

/** The text of any error. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** Called when the service wants a token, or another one. */
let askForToken: () => void = () => undefined;
export const onTokenWanted = (listener: () => void): void => {
  askForToken = listener;
};

/** The token stays in this tab until it is closed. */
export const token = {
  get: (): string | null => sessionStorage.getItem(TOKEN_KEY),
  set: (value: string): void => sessionStorage.setItem(TOKEN_KEY, value),
  forget: (): void => sessionStorage.removeItem(TOKEN_KEY),
};

async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as { code?: string; detail?: string; faults?: Fault[] };
    return new Problem(response.status, body.code ?? "", body.detail ?? response.statusText, body.faults);
  } catch {
    return new Problem(response.status, "", `${response.status} ${response.statusText}`);
  }
}

/** A request that must succeed. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const given = token.get();
  if (given) headers.set("Authorization", `Bearer ${given}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "unreachable", "the service does not answer; next: check that manometer serve runs");
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.needsToken) askForToken();
  throw problem;
}

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await request(path, init);
  return (await response.json()) as T;
}

const named = (list: string, name: string): string => `${API}/${list}/${encodeURIComponent(name)}`;

const jsonBody = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

const yaml = (text: string, signal?: AbortSignal): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/yaml" },
  body: text,
  ...(signal && { signal }),
});

const schedule = (id: string): string => named("schedules", id);

const run = (id: string): string => named("runs", id);

/** The items of a list of this name, over its pages, up to about `most`. */
async function all<Item>(path: string, name: string, most: number): Promise<Item[]> {
  const found: Item[] = [];
  let next: string | undefined = path;
  while (next && found.length < most) {
    const page: { next?: string } & Record<string, unknown> = await json(next);
    found.push(...(page[name] as Item[]));
    next = page.next;
  }
  return found;
}

export const api = {
  runs: (path = `${API}/runs?limit=50`): Promise<RunPage> => json(path),
  run: (id: string): Promise<Run> => json(run(id)),
  summary: (id: string): Promise<Summary> => json(`${run(id)}/summary`),
  progress: (id: string): Promise<Progress> => json(`${run(id)}/progress`),
  cells: (path: string): Promise<Cells> => json(path),
  firstCells: (id: string): string => `${run(id)}/cells?limit=200`,
  intervals: (path: string, signal: AbortSignal): Promise<IntervalPage> => json(path, { signal }),
  firstIntervals: (id: string, cell: number, stage: string, trial: number, more: string): string =>
    `${run(id)}/intervals?cell=${cell}&stage=${encodeURIComponent(stage)}&trial=${trial}&${more}`,
  history: (name: string, limit: number): Promise<History> =>
    json(`${API}/history?name=${encodeURIComponent(name)}&limit=${limit}`),
  report: async (id: string): Promise<string> => (await request(`${run(id)}/report`)).text(),
  comparison: async (a: string, b: string): Promise<string> =>
    (
      await request(`${run(b)}/compare?with=${encodeURIComponent(a)}`, { headers: { Accept: "text/html" } })
    ).text(),
  experiment: async (id: string): Promise<string> => (await request(`${run(id)}/experiment`)).text(),
  validate: (text: string, signal: AbortSignal): Promise<Plan> =>
    json(`${API}/experiments/validate`, yaml(text, signal)),
  start: (text: string): Promise<Run> => json(`${API}/runs`, yaml(text)),
  stop: (id: string): Promise<Run> => json(`${run(id)}/stop`, { method: "POST" }),
  resume: (id: string): Promise<Run> => json(`${run(id)}/resume`, { method: "POST" }),
  schedules: (): Promise<{ schedules: Schedule[] }> => json(`${API}/schedules`),
  addSchedule: (form: NewSchedule): Promise<Schedule> => json(`${API}/schedules`, jsonBody(form)),
  pauseSchedule: (id: string): Promise<unknown> => request(`${schedule(id)}/pause`, { method: "POST" }),
  continueSchedule: (id: string): Promise<unknown> => request(`${schedule(id)}/continue`, { method: "POST" }),
  startSchedule: (id: string): Promise<unknown> => request(`${schedule(id)}/start`, { method: "POST" }),
  removeSchedule: (id: string): Promise<unknown> => request(schedule(id), { method: "DELETE" }),
  agents: (): Promise<AgentPage> => json(`${API}/agents?limit=500`),
  agentsOf: (id: string): Promise<AgentPage> => json(`${run(id)}/agents?limit=500`),
  hosts: (most: number): Promise<Host[]> => all(`${API}/hosts?limit=500`, "hosts", most),
  host: (name: string): Promise<HostDetail> => json(named("hosts", name)),
  arrays: (most: number): Promise<StorageArray[]> => all(`${API}/arrays?limit=500`, "arrays", most),
  array: (address: string): Promise<ArrayDetail> => json(named("arrays", address)),
  leftovers: (most: number): Promise<Leftover[]> => all(`${API}/leftovers?limit=500`, "leftovers", most),
  cleanUp: (id: string, token: string): Promise<Run> =>
    json(`${API}/clean-ups`, jsonBody(token ? { run: id, token } : { run: id })),
  forget: (id: string): Promise<unknown> => request(named("leftovers", id), { method: "DELETE" }),
  eventsPath: (id: string): string => `${run(id)}/events?hosts=true`,
};

/** Whether an error only says that a request was given up. */
export const isGivenUp = isAbort;
