/** The frame of all pages: navigation, the token, the keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { onTokenWanted, token } from "./api";
import { shortcuts, useKeys } from "./hooks";
import { ArrayPage, ArraysPage } from "./pages/arrays";
import { ComparePage, ReportPage } from "./pages/frame";
import { HistoryPage } from "./pages/history";
import { HostPage, HostsPage } from "./pages/hosts";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { SchedulesPage } from "./pages/schedules";
import { StartPage } from "./pages/start";
import { go, to, usePlace, type Place } from "./router";

const KEYS: [string, string][] = [
  ["r", "the list of runs"],
  ["n", "start an experiment"],
  ["s", "schedules"],
  ["m", "hosts and agents"],
  ["a", "arrays, and what was created on them"],
  ["j, k", "next and previous row of a list; Enter opens it"],
  ["x", "choose the run for a comparison"],
  ["c", "compare the two chosen runs; on a run's page, with the previous one"],
  ["o", "on a run's page: open its report"],
  ["h", "on a run's page: history of its experiment"],
  ["u", "on the page of a run that was interrupted or failed: resume it"],
  ["Ctrl+Enter", "in the editor: start the experiment"],
  ["?", "these keys"],
];

function Page({ place }: { place: Place }) {
  const [kind, one = "", other = ""] = place.parts;
  if (kind === undefined) return <RunsPage />;
  if (kind === "runs" && one && other === "report") return <ReportPage key={one} id={one} />;
  if (kind === "runs" && one) return <RunPage key={one} id={one} />;
  if (kind === "compare" && one && other) return <ComparePage key={`${one} ${other}`} a={one} b={other} />;
  if (kind === "start") return <StartPage from={place.query.get("from")} />;
  if (kind === "schedules") return <SchedulesPage />;
  if (kind === "hosts") return one ? <HostPage key={one} name={one} /> : <HostsPage />;
  if (kind === "arrays") return one ? <ArrayPage key={one} address={one} /> : <ArraysPage />;
  if (kind === "history" && one) return <HistoryPage key={one} name={one} />;
  return (
    <p class="error">
      There is no such page. <a href={to.runs}>All runs</a>
    </p>
  );
}

function TokenForm({ done }: { done: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const had = token.get() !== null;
  useEffect(() => field.current?.focus(), []);
  const given = (event: Event): void => {
    event.preventDefault();
    const value = field.current?.value.trim();
    if (!value) return;
    token.set(value);
    done();
  };
  return (
    <form class="token card" onSubmit={given}>
      <h1>Token</h1>
      {had && (
        <p class="error" role="alert">
          This is not the token of this service.
        </p>
      )}
      <label for="token">The token that the service was started with</label>
      <input id="token" type="password" autocomplete="off" required ref={field} />
      <p class="soft">It stays in this tab until you close it.</p>
      <button type="submit" class="primary">
        Continue
      </button>
    </form>
  );
}

function KeysDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useState(shortcuts.on());
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <table>
        <tbody>
          {KEYS.map(([key, what]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="inline">
        <input
          type="checkbox"
          checked={on}
          onChange={() => {
            shortcuts.set(!on);
            setOn(!on);
          }}
        />{" "}
        Single keys do this
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

export function App() {
  const place = usePlace();
  const [wanted, setWanted] = useState(false);
  const [keys, setKeys] = useState(false);
  /** Counts tokens: a new one loads the page's data again. */
  const [round, setRound] = useState(0);
  useEffect(() => onTokenWanted(() => setWanted(true)), []);
  useKeys({
    r: () => go(to.runs),
    n: () => go(to.start),
    s: () => go(to.schedules),
    m: () => go(to.hosts),
    a: () => go(to.arrays),
    "?": () => setKeys(true),
  });
  const current = (kind: string | undefined): "page" | undefined =>
    place.parts[0] === kind ? "page" : undefined;
  const skip = (event: Event): void => {
    event.preventDefault();
    document.querySelector("main")?.focus();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={to.runs}>
          <img src="/favicon.svg" alt="" width="22" height="22" />
          manometer
        </a>
        <nav aria-label="Pages">
          <a href={to.runs} aria-current={current(undefined)}>
            Runs
          </a>
          <a href={to.start} aria-current={current("start")}>
            Start
          </a>
          <a href={to.schedules} aria-current={current("schedules")}>
            Schedules
          </a>
          <a href={to.hosts} aria-current={current("hosts")}>
            Hosts
          </a>
          <a href={to.arrays} aria-current={current("arrays")}>
            Arrays
          </a>
        </nav>
        <button type="button" class="plain" onClick={() => setKeys(true)}>
          Keys <kbd>?</kbd>
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {wanted ? (
          <TokenForm
            done={() => {
              setWanted(false);
              setRound(round + 1);
            }}
          />
        ) : (
          <Page key={round} place={place} />
        )}
      </main>
      {keys && <KeysDialog close={() => setKeys(false)} />}
    </>
  );
}
