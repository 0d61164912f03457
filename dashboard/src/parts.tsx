/** Small parts that several pages use. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { moment } from "./format";
import { to } from "./router";
import type { Agent, Gate, Host, RunState, ShortRun, Validity } from "./types";

const STATE_CLASSES: Record<RunState, string> = {
  queued: "none",
  running: "busy",
  finished: "good",
  interrupted: "warn",
  failed: "bad",
  cancelled: "none",
};

/** What tells verdicts apart without colours, as in reports. */
const VERDICT_SIGNS: Record<Validity, string> = { VALID: "✓", WARN: "!", INVALID: "✕" };

const VERDICT_CLASSES: Record<Validity, string> = { VALID: "good", WARN: "warn", INVALID: "bad" };

export const StateBadge = ({ state }: { state: RunState }) => (
  <span class={`badge ${STATE_CLASSES[state]}`}>{state}</span>
);

export const VerdictBadge = ({ verdict }: { verdict: Validity | null | undefined }) =>
  verdict ? (
    <span class={`badge ${VERDICT_CLASSES[verdict]}`}>
      {VERDICT_SIGNS[verdict]} {verdict}
    </span>
  ) : (
    <span class="soft">–</span>
  );

const GATE_LOOKS: Record<Gate["verdict"], [string, string]> = {
  first: ["none", ""],
  passed: ["good", "✓ "],
  slower: ["bad", "✕ "],
  "not-comparable": ["warn", "! "],
  failed: ["bad", "✕ "],
};

/** How a run of a schedule compares with the earlier ones. */
export const GateBadge = ({ gate }: { gate: Gate | null | undefined }) => {
  if (!gate) return null;
  const [tone, sign] = GATE_LOOKS[gate.verdict];
  return <span class={`badge ${tone}`}>{`${sign}${gate.verdict.replace("-", " ")}`}</span>;
};

const AGENT_LOOKS: Record<Agent["state"], [string, string]> = {
  active: ["busy", ""],
  idle: ["none", ""],
  lost: ["bad", "✕ "],
  ended: ["none", ""],
};

export const AgentBadge = ({ state }: { state: Agent["state"] }) => {
  const [tone, sign] = AGENT_LOOKS[state];
  return <span class={`badge ${tone}`}>{sign + state}</span>;
};

/** The newest run of a host or an array. */
export const LastRun = ({ run }: { run: ShortRun | null }) =>
  run ? (
    <>
      <a href={to.run(run.id)} class="apart">
        {run.name}
      </a>{" "}
      <StateBadge state={run.state} /> <small>{moment(run.started ?? run.asked)}</small>
    </>
  ) : (
    <span class="soft">–</span>
  );

/** How the last runs of a host or an array ended. */
export const Ending = ({ ended: { finished, interrupted, failed } }: Pick<Host, "ended">) => (
  <>
    {finished} finished
    {interrupted > 0 && `, ${interrupted} interrupted`}
    {failed > 0 && <span class="bad-text">, {failed} failed</span>}
  </>
);

/** A table that scrolls sideways where it does not fit. */
interface TableProps {
  label?: string | undefined;
  columns: string[];
  numbers?: string[];
  children: ComponentChildren;
}

export const Table = ({ label, columns, numbers = [], children }: TableProps) => (
  <div class="scroll">
    <table class="runs" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col" class={numbers.includes(column) ? "n" : ""}>
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

interface RunRowsProps<Run extends ShortRun> {
  runs: Run[];
  label?: string | undefined;
  /** The heading of the last column, and what it says of a run. */
  last?: readonly [string, (run: Run) => string | null];
}

/** Runs in short, newest first. */
export function RunRows<Run extends ShortRun>({
  runs,
  label,
  last: [heading, text] = ["why it ended early", (run) => run.reason],
}: RunRowsProps<Run>) {
  if (runs.length === 0) return <p class="soft">None.</p>;
  return (
    <Table label={label} columns={["run", "state", "started", heading]}>
      {runs.map((run) => (
        <tr key={run.id}>
          <th scope="row">
            <a href={to.run(run.id)} class="run-link">
              {run.name}
            </a>
            <small class="id">{run.id}</small>
          </th>
          <td data-label="state">
            <StateBadge state={run.state} />
          </td>
          <td data-label="started">{moment(run.started ?? run.asked)}</td>
          <td class="why" data-label={heading}>
            {text(run) ?? "–"}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What a run recorded about a host. */
export const Facts = ({ facts }: { facts: Record<string, string> }) => (
  <dl class="facts">
    {Object.entries(facts).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** What went wrong, told to screen readers as it appears. */
export const ErrorLine = ({ text }: { text: string | null | undefined }) =>
  text ? (
    <p class="error" role="alert">
      {text}
    </p>
  ) : null;

let visited = false;

/** The heading of a page: its title is the tab's, and it takes the focus when the page opens. */
export function PageTitle({ title, children }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · manometer`;
  }, [title]);
  useEffect(() => {
    // The first page keeps the focus where browsers put it.
    if (visited) heading.current?.focus({ preventScroll: true });
    visited = true;
  }, []);
  return (
    <div class="heading">
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {children}
    </div>
  );
}

/** A bar that shows a share from 0 to 1. */
export const Meter = ({ share, label, tone = "" }: { share: number; label: string; tone?: string }) => (
  <div
    class={`meter ${tone}`}
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={Math.round(Math.min(1, Math.max(0, share)) * 100)}
  >
    <span style={{ width: `${Math.min(100, Math.max(0, share * 100))}%` }} />
  </div>
);
