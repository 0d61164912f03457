/** The hosts and their health: the agents under way, what occupies each host, and how its last runs ended. */
import { api } from "../api";
import { ago, byteRate, count, moment, rate, span } from "../format";
import { step, useKeys, useLoaded } from "../hooks";
import { AgentBadge, Ending, ErrorLine, Facts, LastRun, PageTitle, RunRows, Table } from "../parts";
import { to } from "../router";
import type { Agent, Host, Point } from "../types";

const REFRESH_MS = 2000;
/** Hosts that are listed. */
const MOST_HOSTS = 2000;

const sum = (points: Point[], value: (point: Point) => number): number =>
  points.reduce((total, point) => total + value(point), 0);

/** What an agent measured last, in short. */
function Now({ agent: { last_interval: last } }: { agent: Agent }) {
  if (!last) return <span class="soft">–</span>;
  const bytes = sum(last.ops, (point) => point.bytes_per_s);
  const failed = sum(last.ops, (point) => point.failed);
  return (
    <>
      {last.stage} of cell {last.cell + 1}: {bytes > 0 && `${byteRate(bytes)}, `}
      {rate(sum(last.ops, (point) => point.ops_per_s))}/s
      {failed > 0 && <small class="bad-text"> {count(failed, "failure")}</small>}
    </>
  );
}

function Clock({ agent: { last_cell: cell } }: { agent: Agent }) {
  const clock = cell?.clock;
  if (!clock) return <span class="soft">–</span>;
  return (
    <>
      {span(clock.offset_ns)} <small>± {span(clock.uncertainty_ns).replace("+", "")}</small>
    </>
  );
}

/** What a host is, in one line. */
function system(facts: Record<string, string>): string {
  const { kernel, "cpu.model": model, "cpu.usable": usable } = facts;
  return [model, usable && `${usable} CPUs`, kernel && `Linux ${kernel}`].filter(Boolean).join(", ");
}

function AgentRow({ agent }: { agent: Agent }) {
  const lost = agent.last_cell?.lost;
  return (
    <tr>
      <th scope="row">
        {agent.name}
        <div>
          <small>{system(agent.facts)}</small>
        </div>
      </th>
      <td data-label="state">
        <AgentBadge state={agent.state} />
        {agent.state === "lost" && lost && <small class="bad-text"> {lost.why}</small>}
      </td>
      <td data-label="last seen">{ago(agent.last_seen)}</td>
      <td data-label="last interval">
        <Now agent={agent} />
      </td>
      <td class="n" data-label="clock">
        <Clock agent={agent} />
      </td>
      <td class="n" data-label="start">
        {agent.last_cell?.started_ns == null ? "–" : span(agent.last_cell.started_ns)}
      </td>
      <td data-label="run">
        <a href={to.run(agent.run)} class="id apart">
          {agent.run}
        </a>
      </td>
    </tr>
  );
}

function Agents({ agents, more }: { agents: Agent[]; more: boolean }) {
  return (
    <section aria-labelledby="agents-title">
      <h2 id="agents-title">Agents under way</h2>
      {agents.length === 0 ? (
        <p class="soft">No run with agents is under way.</p>
      ) : (
        <Table
          label="Agents under way"
          columns={["agent", "state", "last seen", "last interval", "clock offset", "start", "run"]}
          numbers={["clock offset", "start"]}
        >
          {agents.map((agent) => (
            <AgentRow key={agent.id} agent={agent} />
          ))}
        </Table>
      )}
      {more && <p class="soft">The first {agents.length}; the pages of their runs have the others.</p>}
    </section>
  );
}

function HostRow({ host }: { host: Host }) {
  return (
    <tr>
      <th scope="row">
        <a href={to.host(host.name)} class="run-link">
          {host.name}
        </a>
      </th>
      <td data-label="occupied by">
        {host.occupied_by ? (
          <a href={to.run(host.occupied_by)} class="id apart">
            {host.occupied_by}
          </a>
        ) : (
          <span class="badge none">free</span>
        )}
      </td>
      <td class="n" data-label="waiting runs">
        {host.waiting}
      </td>
      <td data-label="last run">
        <LastRun run={host.last_run} />
      </td>
      <td data-label="its last runs">
        <Ending ended={host.ended} />
      </td>
    </tr>
  );
}

export function HostsPage() {
  const agents = useLoaded("agents", () => api.agents(), REFRESH_MS);
  const hosts = useLoaded("hosts", () => api.hosts(MOST_HOSTS), REFRESH_MS);
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <>
      <PageTitle title="Hosts" />
      <ErrorLine text={agents.error ?? hosts.error} />
      {agents.value && <Agents agents={agents.value.agents} more={agents.value.next !== undefined} />}
      {hosts.value && (
        <section aria-labelledby="hosts-title">
          <h2 id="hosts-title">Hosts of recent runs</h2>
          <Table
            label="Hosts of recent runs"
            columns={["host", "occupied by", "waiting runs", "last run", "its last runs"]}
            numbers={["waiting runs"]}
          >
            {hosts.value.map((host) => (
              <HostRow key={host.name} host={host} />
            ))}
          </Table>
        </section>
      )}
    </>
  );
}

export function HostPage({ name }: { name: string }) {
  const { value: host, error } = useLoaded(`host ${name}`, () => api.host(name), REFRESH_MS);
  useKeys({ j: () => step(1), k: () => step(-1) });
  return (
    <>
      <PageTitle title={name}>
        <a class="button" href={to.hosts}>
          All hosts
        </a>
      </PageTitle>
      <ErrorLine text={error} />
      {host && (
        <>
          <p class="meta">
            {host.occupied_by ? (
              <>
                occupied by run{" "}
                <a href={to.run(host.occupied_by)} class="id apart">
                  {host.occupied_by}
                </a>
              </>
            ) : (
              "free"
            )}
            {host.waiting > 0 && `, ${count(host.waiting, "run")} waiting`}
          </p>
          <section aria-labelledby="runs-title">
            <h2 id="runs-title">Its last runs</h2>
            <RunRows runs={host.runs} />
          </section>
          {host.recorded && (
            <section aria-labelledby="facts-title">
              <h2 id="facts-title">Recorded about it</h2>
              <p class="soft">
                By run{" "}
                <a href={to.run(host.recorded.run)} class="id apart">
                  {host.recorded.run}
                </a>
                , manometer {host.recorded.version},{" "}
                {moment(host.runs.find(({ id }) => id === host.recorded?.run)?.started ?? null)}
              </p>
              <Facts facts={host.recorded.facts} />
            </section>
          )}
        </>
      )}
    </>
  );
}
