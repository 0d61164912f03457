/** Starts an experiment: an editor that is checked while typing. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, isGivenUp, Problem, textOf } from "../api";
import { Editor, select } from "../editor/editor";
import { EXAMPLES } from "../editor/examples";
import { ScheduleForm } from "../editor/schedule";
import { count, duration } from "../format";
import { ErrorLine, PageTitle } from "../parts";
import { go, to } from "../router";
import type { Fault, Plan } from "../types";

/** Time without a key before the text is checked, in milliseconds. */
const PAUSE_MS = 250;
const DRAFT_KEY = "manometer-draft";
const LISTED_CELLS = 12;

const FIRST = `# Ctrl+Enter starts this experiment on a simulated target.
name: first
targets:
  data: "sim:?latency=exponential 1ms&bandwidth=400MB/s"
workloads:
  read: {target: data, ops: read, block_size: 64KiB}
stages: {warm_up: 5s, measure: {at_least: 30s, at_most: 2m}}
`;

type Check =
  | { kind: "checking" }
  | { kind: "valid"; plan: Plan }
  | { kind: "faults"; faults: Fault[] }
  | { kind: "failed"; text: string };

/** The result of checking a text, a moment after its last change. */
function useCheck(text: string): Check {
  const [check, setCheck] = useState<Check>({ kind: "checking" });
  useEffect(() => {
    const given = new AbortController();
    const timer = setTimeout(() => {
      api
        .validate(text, given.signal)
        .then((plan) => setCheck({ kind: "valid", plan }))
        .catch((error: unknown) => {
          if (isGivenUp(error)) return;
          if (error instanceof Problem && error.faults.length > 0)
            setCheck({ kind: "faults", faults: error.faults });
          else setCheck({ kind: "failed", text: textOf(error) });
        });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      given.abort();
    };
  }, [text]);
  return check;
}

function Valid({ plan }: { plan: Plan }) {
  const { min, max } = plan.expected_seconds;
  const span = min === max ? duration(min) : `${duration(min)} to ${duration(max)}`;
  return (
    <>
      <p class="ok">
        <strong>Valid.</strong> {count(plan.cell_count, "cell")} in {span}, on {plan.hosts.join(", ")}.
      </p>
      {plan.remarks.map((remark) => (
        <p key={remark} class="remark">
          {remark}
        </p>
      ))}
      <ol class="planned">
        {plan.cells.slice(0, LISTED_CELLS).map((cell) => (
          <li key={cell.index}>
            {cell.name} <span class="url soft">{cell.target}</span>
          </li>
        ))}
      </ol>
      {plan.cell_count > LISTED_CELLS && <p class="soft">and {plan.cell_count - LISTED_CELLS} more</p>}
    </>
  );
}

function Faults({ faults }: { faults: Fault[] }) {
  const show = (fault: Fault): void => {
    const field = document.querySelector<HTMLTextAreaElement>("#experiment");
    if (field) select(field, fault);
  };
  return (
    <ol class="faults">
      {faults.map((fault, at) => (
        <li key={at}>
          <button type="button" class="link" onClick={() => show(fault)}>
            line {fault.line}, column {fault.column}
          </button>
          : {fault.text}
          {fault.hint && <span class="hint">{fault.hint}</span>}
          {fault.note && <span class="hint">{fault.note}</span>}
        </li>
      ))}
    </ol>
  );
}

export function StartPage({ from }: { from: string | null }) {
  const [text, setText] = useState(() => sessionStorage.getItem(DRAFT_KEY) ?? FIRST);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const check = useCheck(text);
  const change = (now: string): void => {
    setText(now);
    sessionStorage.setItem(DRAFT_KEY, now);
  };
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (!from) return;
    api
      .experiment(from)
      .then((loaded) => latest.current(loaded))
      .catch((problem: unknown) => setError(textOf(problem)));
  }, [from]);
  const choose = (name: string): void => {
    EXAMPLES.find((example) => example.name === name)
      ?.load()
      .then(change)
      .catch((problem: unknown) => setError(textOf(problem)));
  };
  const start = (): void => {
    if (busy) return;
    setBusy(true);
    setError(null);
    api
      .start(text)
      .then((run) => go(to.run(run.id)))
      .catch((problem: unknown) => setError(textOf(problem)))
      .finally(() => setBusy(false));
  };
  const faults = check.kind === "faults" ? check.faults : [];
  return (
    <>
      <PageTitle title="Start an experiment">
        <div class="actions">
          <label class="inline">
            Example{" "}
            <select value="" onChange={(event) => choose(event.currentTarget.value)}>
              <option value="">choose…</option>
              {EXAMPLES.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="button" class="primary" disabled={busy || check.kind === "faults"} onClick={start}>
            Start
          </button>
        </div>
      </PageTitle>
      <ErrorLine text={error} />
      <div class="start">
        <Editor text={text} faults={faults} change={change} submit={start} describedBy="check" />
        <div id="check" class="check" role="status">
          {check.kind === "checking" && <p class="soft">Checking…</p>}
          {check.kind === "valid" && <Valid plan={check.plan} />}
          {check.kind === "failed" && <p class="error">{check.text}</p>}
          {check.kind === "faults" && (
            <>
              <p>
                <strong class="bad-text">{count(check.faults.length, "fault")}</strong>
              </p>
              <Faults faults={check.faults} />
            </>
          )}
        </div>
      </div>
      <ScheduleForm text={text} disabled={check.kind === "faults"} />
    </>
  );
}
