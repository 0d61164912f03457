/** The arrays and what was provisioned on them: what runs created, what is left, and its removal. */
import { useState } from "preact/hooks";
import { api, textOf } from "../api";
import { count } from "../format";
import { step, useKeys, useLoaded } from "../hooks";
import { Ending, ErrorLine, LastRun, PageTitle, RunRows, StateBadge, Table } from "../parts";
import { go, to } from "../router";
import type { ArrayDetail, CreatedItem, Leftover, StorageArray } from "../types";

const REFRESH_MS = 2000;
/** Arrays, and leftovers, that are listed. */
const MOST = 1000;

function ArrayRow({ array }: { array: StorageArray }) {
  return (
    <tr>
      <th scope="row">
        <a href={to.array(array.address)} class="run-link">
          {array.address}
        </a>
      </th>
      <td data-label="left behind">
        {array.left_count > 0 ? (
          <span class="badge warn">! {count(array.left_count, "thing")}</span>
        ) : (
          <span class="badge good">✓ nothing</span>
        )}
      </td>
      <td data-label="last run">
        <LastRun run={array.last_run} />
      </td>
      <td data-label="its last runs">
        <Ending ended={array.ended} />
      </td>
    </tr>
  );
}

const ITEM_WORDS: Record<CreatedItem["state"], string> = {
  created: "",
  intended: "may exist",
  removed: "removed",
  foreign: "does not bear the run's name, is never touched",
};

const Items = ({ items }: { items: CreatedItem[] }) => (
  <ul class="items">
    {items.map((item, at) => (
      <li key={at}>
        {item.what} {ITEM_WORDS[item.state] && <small>({ITEM_WORDS[item.state]})</small>}
      </li>
    ))}
  </ul>
);

/** Removes or forgets what a run left. */
function Removal({ left, reload }: { left: Leftover; reload: () => void }) {
  const [open, setOpen] = useState(false);
  const [token, setToken] = useState("");
  const [forgetting, setForgetting] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const failed = (problem: unknown): void => setError(textOf(problem));
  const remove = (event: Event): void => {
    event.preventDefault();
    api
      .cleanUp(left.run, token)
      .then((run) => go(to.run(run.id)))
      .catch(failed);
  };
  const forget = (): void => {
    if (forgetting) api.forget(left.run).then(reload).catch(failed);
    setForgetting(!forgetting);
  };
  return (
    <>
      <div class="actions">
        {!open && (
          <button type="button" onClick={() => setOpen(true)} aria-label={`Clean up after ${left.run}`}>
            Clean up…
          </button>
        )}
        <button
          type="button"
          class="danger"
          onClick={forget}
          onBlur={() => setForgetting(false)}
          aria-label={`${forgetting ? "Forget it, remove nothing" : "Forget"}: ${left.run}`}
        >
          {forgetting ? "Forget it, remove nothing" : "Forget"}
        </button>
      </div>
      {open && (
        <form class="actions" onSubmit={remove}>
          {left.array && (
            <label class="inline">
              token of the array{" "}
              <input
                type="password"
                autocomplete="off"
                value={token}
                onInput={(event) => setToken(event.currentTarget.value)}
              />
            </label>
          )}
          <button type="submit" class="primary">
            Remove what it left
          </button>
        </form>
      )}
      <ErrorLine text={error} />
    </>
  );
}

function LeftoverRow({ left, reload }: { left: Leftover; reload: () => void }) {
  return (
    <tr>
      <th scope="row">
        {left.name ? (
          <a href={to.run(left.run)} class="apart">
            {left.name}
          </a>
        ) : (
          <span class="apart">not a run of this service</span>
        )}{" "}
        <small class="id">{left.run}</small> {left.state && <StateBadge state={left.state} />}
      </th>
      <td data-label="on">{left.array ?? left.host}</td>
      <td class="why" data-label="what is left">
        {left.unreadable ? <span class="bad-text">{left.unreadable}</span> : <Items items={left.items} />}
      </td>
      <td class="wide">
        <Removal left={left} reload={reload} />
      </td>
    </tr>
  );
}

export function ArraysPage() {
  const arrays = useLoaded("arrays", () => api.arrays(MOST), REFRESH_MS);
  const leftovers = useLoaded("leftovers", () => api.leftovers(MOST), REFRESH_MS);
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <>
      <PageTitle title="Arrays" />
      <ErrorLine text={arrays.error ?? leftovers.error} />
      {arrays.value &&
        (arrays.value.length === 0 ? (
          <p class="empty">
            No array yet. A check with an array&apos;s management address creates accounts, file systems and
            buckets on it and removes them; it is listed here.
          </p>
        ) : (
          <Table label="Arrays" columns={["array", "left behind", "last run", "its last runs"]}>
            {arrays.value.map((array) => (
              <ArrayRow key={array.address} array={array} />
            ))}
          </Table>
        ))}
      {leftovers.value && (
        <section aria-labelledby="left-title">
          <h2 id="left-title">Left behind</h2>
          {leftovers.value.length === 0 ? (
            <p class="soft">Every run that has ended removed what it created.</p>
          ) : (
            <Table label="Left behind" columns={["run", "on", "what is left", "what to do"]}>
              {leftovers.value.map((left) => (
                <LeftoverRow key={left.run} left={left} reload={leftovers.reload} />
              ))}
            </Table>
          )}
        </section>
      )}
    </>
  );
}

function Left({ array }: { array: ArrayDetail }) {
  return (
    <section aria-labelledby="left-title">
      <h2 id="left-title">Left behind</h2>
      {array.left.length === 0 ? (
        <p class="soft">Nothing.</p>
      ) : (
        <p class="soft">The page of all arrays removes it. Left by run</p>
      )}
      {array.left.map((left) => (
        <div key={left.run}>
          <p>
            <a href={to.run(left.run)} class="id apart">
              {left.run}
            </a>
          </p>
          <Items items={left.items} />
        </div>
      ))}
    </section>
  );
}

export function ArrayPage({ address }: { address: string }) {
  const { value: array, error } = useLoaded(`array ${address}`, () => api.array(address), REFRESH_MS);
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <>
      <PageTitle title={address}>
        <a class="button" href={to.arrays}>
          All arrays
        </a>
      </PageTitle>
      <ErrorLine text={error} />
      {array && (
        <>
          {array.api_version && <p class="meta">management API {array.api_version}</p>}
          <Left array={array} />
          <section aria-labelledby="runs-title">
            <h2 id="runs-title">What its last runs created</h2>
            <RunRows
              runs={array.runs}
              label="What its last runs created"
              last={["created", ({ created }) => (created.length > 0 ? created.join(", ") : null)]}
            />
          </section>
        </>
      )}
    </>
  );
}
