/** What the API sends; docs/service.md describes the fields. */

export type RunState = "queued" | "running" | "finished" | "interrupted" | "failed" | "cancelled";
/** Whether a run has ended; it may be resumed unless it is finished. */
export const isOver = ({ state }: Pick<Run, "state">): boolean => state !== "queued" && state !== "running";

export type Validity = "VALID" | "WARN" | "INVALID";

export interface Run {
  id: string;
  /** What it does; only experiments are resumed and edited. */
  kind: "experiment" | "check" | "network-test" | "calibration" | "clean-up";
  name: string;
  hosts: string[];
  state: RunState;
  asked: string;
  started: string | null;
  finished: string | null;
  reason: string | null;
  /** The comparison with the earlier runs of its schedule, once it has ended. */
  gate?: Gate | null;
}

export interface Gate {
  verdict: "first" | "passed" | "slower" | "not-comparable" | "failed";
  summary: string;
}

/** An experiment that runs at given times. */
export interface Schedule {
  id: string;
  name: string;
  every: string;
  time_zone: string;
  paused: boolean;
  next: string[];
  skipped: number;
  missed: number;
  problem: string | null;
  runs: Run[];
}

export interface NewSchedule {
  experiment: string;
  every: string;
  time_zone: string;
  webhook: string | null;
}

export interface RunPage {
  runs: Run[];
  next?: string;
}

/** Best figure of a run, and the cell that has it. */
export interface Best {
  value: number;
  cell: number;
  name: string;
  limit?: string;
}

export interface Doubt {
  validity: Validity;
  reason: string;
  cells: number[];
}

export interface Summary {
  cells: { all: number; ended: number; valid: number; warn: number; invalid: number };
  verdict: Validity | null;
  bytes_per_s: Best | null;
  ops_per_s: Best | null;
  p99_ns: Best | null;
  doubts: Doubt[];
}

export interface Criterion {
  name: string;
  value: number;
  limit: number;
  at_most: boolean;
  met: boolean;
  unit: string;
}

/** The state of a run under way, as the terminal's live view shows it. */
export interface Progress {
  cell_count: number;
  ended: number;
  cell: { index: number; name: string; target: string } | null;
  stage: {
    name: string;
    elapsed_s: number;
    at_most_s: number | null;
    simulated: boolean;
    bytes: number;
    bytes_expected: number | null;
  } | null;
  eta_s: { cell: number; run: number } | null;
  steady: { rule: string; next_look_s: number; criteria: Criterion[] } | null;
  limits: { name: string; share: number; text: string }[];
  failed: number;
}

export interface Point {
  op: string;
  ops_per_s: number;
  bytes_per_s: number;
  failed: number;
  p50_ns: number;
  p99_ns: number;
  p999_ns: number;
  max_ns: number;
}

/** One host's part of an interval. */
export interface HostPoints {
  host: string;
  ops: Point[];
}

export interface Interval {
  interval: number;
  start_s: number;
  length_s: number;
  ops: Point[];
  /** Of up to 16 hosts, if they were asked for. */
  hosts?: HostPoints[];
}

export interface IntervalPage {
  intervals: Interval[];
  next?: string;
}

export interface StageKey {
  stage: string;
  trial: number;
  intervals: number;
}

interface Estimate {
  mean: number;
  low: number;
  high: number;
}

export interface CellResult {
  total: {
    bytes_per_s: Estimate;
    ops_per_s: Estimate;
    failed: number;
    response: { p50_ns: number; p99_ns: number };
  };
  window_start_s: number;
  window_end_s: number;
  steady: { reached: boolean; reason: string };
  verdict: { validity: Validity; reasons: string[] };
  limit?: { sentence: string; next: string };
}

export interface Cell {
  index: number;
  name: string;
  target: string;
  state: string;
  failure: string | null;
  result: CellResult | null;
  stages: StageKey[];
}

export interface Cells {
  cells: Cell[];
  next?: string;
}

export interface Fault {
  line: number;
  column: number;
  length: number;
  text: string;
  hint: string;
  note?: string;
}

export interface Plan {
  name: string;
  description: string | null;
  hosts: string[];
  expected_seconds: { min: number; max: number };
  cell_count: number;
  cells: { index: number; name: string; target: string }[];
  remarks: string[];
}

interface Difference {
  relative: number;
  low: number;
  high: number;
  call: string;
}

/** A change of a cell's level, since the run at this position. */
export interface LevelChange {
  run: number;
  relative: number;
  low: number;
  high: number;
  p_value: number;
  call: string;
}

/** A cell's figures in several runs. */
export interface CellSeries {
  cell: string;
  target: string;
  metric: string;
  figures: ({ repetitions: Estimate[]; settled: boolean; against_previous?: Difference } | null)[];
  trend?: { per_run: number; low: number; high: number; p_value: number };
  changes?: LevelChange[];
}

export interface History {
  runs: { id: string; name: string; started: string; version: string }[];
  cells: CellSeries[];
  changed: string[];
  warnings: string[];
}

/** The process that loads one host of a run's fleet. */
export interface Agent {
  id: string;
  run: string;
  name: string;
  state: "active" | "idle" | "lost" | "ended";
  version: string;
  last_seen: string | null;
  last_interval: (Interval & { cell: number; stage: string; trial: number }) | null;
  last_cell: {
    cell: number;
    started_ns: number | null;
    clock: { offset_ns: number; uncertainty_ns: number } | null;
    lost: { at_s: number; why: string } | null;
  } | null;
  facts: Record<string, string>;
}

export interface AgentPage {
  agents: Agent[];
  next?: string;
}

/** A run as lists of hosts and arrays show it. */
export type ShortRun = Pick<
  Run,
  "id" | "kind" | "name" | "state" | "asked" | "started" | "finished" | "reason"
>;

interface Ended {
  finished: number;
  interrupted: number;
  failed: number;
}

export interface Host {
  name: string;
  occupied_by: string | null;
  waiting: number;
  last_run: ShortRun | null;
  ended: Ended;
}

export interface HostDetail extends Host {
  runs: ShortRun[];
  recorded: { run: string; version: string; facts: Record<string, string> } | null;
}

export interface StorageArray {
  address: string;
  last_run: ShortRun | null;
  ended: Ended;
  left_count: number;
}

/** Something that a run created. */
export interface CreatedItem {
  what: string;
  kind: string;
  on_array: boolean;
  state: "intended" | "created" | "removed" | "foreign";
  since: string | null;
}

export interface ArrayDetail extends StorageArray {
  api_version: string | null;
  runs: (ShortRun & { created: string[] })[];
  left: { run: string; items: CreatedItem[] }[];
}

/** What a run created and did not remove. */
export interface Leftover {
  run: string;
  name: string | null;
  state: RunState | null;
  host: string;
  array: string | null;
  items: CreatedItem[];
  unreadable: string | null;
}
