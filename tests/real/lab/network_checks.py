"""`manometer network` between four hosts in namespaces, with a cable for each pair, one of them degraded; beside iperf3."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from .lab import Lab
from .place import Namespace
from .process import Child, run, wait_until
from .report import Report

HOSTS = ["h1", "h2", "h3", "h4"]
PAIRS = list(combinations(range(4), 2))
# The same pairs, two at a time that share no host and so no cable.
APART = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
# Every cable carries so much, so that the processors are not what limits.
MBIT = 200
# The degraded one.
LESS_MBIT = 120
# Runs of each program in turn.
ROUNDS = 3


@dataclass
class Mesh:
    """Four namespaces; host N is 10.99.0.N, whichever cable leads to it."""

    lab: Lab
    directory: Path
    hosts: list[Namespace]

    def inside(self, host: int, *command: str) -> None:
        """Runs a command on a host."""
        run(self.hosts[host].client(list(command)))

    def shape(self, a: int, b: int, mbit: int) -> None:
        """Both ends of a cable send no more than that."""
        for host, card in ((a, f"c{b}"), (b, f"c{a}")):
            rate = ["rate", f"{mbit}mbit", "burst", "64kb", "latency", "20ms"]
            self.inside(host, "tc", "qdisc", "replace", "dev", card, "root", "tbf", *rate)

    def lose(self, a: int, b: int, share: float) -> None:
        """That share of the packets from `a` does not arrive at `b`."""
        statistic = ["-m", "statistic", "--mode", "random", "--probability", str(share)]
        self.inside(b, "iptables", "-A", "INPUT", "-i", f"c{a}", "-p", "tcp", *statistic, "-j", "DROP")

    def network(self, *flags: str) -> tuple[int, dict[str, Any], str]:
        """Measures the network; exit code, document, and messages."""
        launch = f"{self.directory}/start {{host}}"
        addresses = [f"--address={name}=10.99.0.{number}" for number, name in enumerate(HOSTS, start=1)]
        results = f"--results={self.directory}/results.sqlite"
        command = [str(self.lab.manometer), "network", "--hosts", ",".join(HOSTS), "--launcher-command", launch]
        command += [*addresses, results, "--output=json", "--ramp=500ms", "--duration=2s", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr

    def iperf3(self, pair: tuple[int, int]) -> float:
        """Bytes per second that iperf3 receives at the second host from the first."""
        a, b = pair
        listen = ["iperf3", "--server", "--one-off", "--bind", f"10.99.0.{b + 1}", "--forceflush"]
        server = Child(self.hosts[b].client(listen), self.directory / f"iperf3-{a}-{b}.log")
        try:
            wait_until("iperf3", lambda: "listening" in server.text(), 20, server)
            client = ["iperf3", "--client", f"10.99.0.{b + 1}", "--time", "2", "--omit", "1", "--json"]
            said = json.loads(run(self.hosts[a].client(client), 60))
        finally:
            server.stop()
        return float(said["end"]["sum_received"]["bits_per_second"]) / 8


@contextmanager
def mesh(lab: Lab) -> Iterator[Mesh]:
    """Four hosts, six cables, all alike."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        hosts = []
        for name in HOSTS:
            host = Namespace(directory / name)
            stack.callback(host.stop)
            hosts.append(host)
        made = Mesh(lab, directory, hosts)
        for number, host in enumerate(hosts):
            run(host.client(["ip", "address", "add", f"10.99.0.{number + 1}/32", "dev", "lo"]))
        for a, b in PAIRS:
            cable(made, a, b)
            made.shape(a, b, MBIT)
        start = directory / "start"
        cases = " ".join(f'{name}) pid={host.pid};;' for name, host in zip(HOSTS, hosts, strict=True))
        start.write_text(
            f'#!/bin/sh\ncase "$1" in {cases} esac\nexec nsenter --target "$pid" --net "{lab.manometer}" agent\n'
        )
        start.chmod(0o755)
        yield made


def cable(made: Mesh, a: int, b: int) -> None:
    """A cable between two hosts, over which each reaches the other's one address."""
    ends = ["ip", "link", "add", f"c{b}", "type", "veth", "peer", "name", f"c{a}", "netns", str(made.hosts[b].pid)]
    made.inside(a, *ends)
    for host, other in ((a, b), (b, a)):
        card = f"c{other}"
        made.inside(host, "ip", "address", "add", f"10.{80 + a}.{b}.{host + 1}/24", "dev", card)
        made.inside(host, "ip", "link", "set", card, "up")
    for host, other in ((a, b), (b, a)):
        there = ["via", f"10.{80 + a}.{b}.{other + 1}", "src", f"10.99.0.{host + 1}"]
        made.inside(host, "ip", "route", "add", f"10.99.0.{other + 1}/32", *there)


def names(document: dict[str, Any]) -> list[str]:
    """What is called degraded."""
    found = document["judgement"]["findings"]
    hosts = document["hosts"]
    link = [finding["of"].get("link") for finding in found]
    return [f"{hosts[pair[0]]} → {hosts[pair[1]]}" if pair else "a host" for pair in link]


def rates(document: dict[str, Any]) -> dict[tuple[int, int], float]:
    """Bytes a second of each link."""
    return {(link["from"], link["to"]): link["throughput"]["mean"] for link in document["links"]}


def slow_link(lab: Lab, report: Report) -> None:
    """One cable of six carries less: it is named, and what is measured is what iperf3 measures."""
    with mesh(lab) as made:
        code, document, said = made.network("--streams=1")
        report.equal("all alike: exit code 0", code, 0) or print(said)
        report.equal("all alike: nothing is degraded", names(document), [])
        report.equal("six links", len(document["links"]), 6)
        made.shape(1, 3, LESS_MBIT)
        ours: dict[tuple[int, int], list[float]] = {pair: [] for pair in PAIRS}
        theirs: dict[tuple[int, int], list[float]] = {pair: [] for pair in PAIRS}
        for _ in range(ROUNDS):
            code, document, said = made.network("--streams=1")
            report.equal("one slow: exit code 1", code, 1) or print(said)
            report.equal("one slow: it is named", names(document), ["h2 → h4"])
            for pair, rate in rates(document).items():
                ours[pair].append(rate)
            for pairs in APART:
                with ThreadPoolExecutor() as pool:
                    for pair, rate in zip(pairs, pool.map(made.iperf3, pairs), strict=True):
                        theirs[pair].append(rate)
        for pair in PAIRS:
            ratio = median(ours[pair]) / median(theirs[pair])
            name = f"{HOSTS[pair[0]]} → {HOSTS[pair[1]]}"
            report.check(f"{name}: within 5 % of iperf3", abs(ratio - 1) < 0.05, f"{ratio:.4f}")


def lossy_link(lab: Lab, report: Report) -> None:
    """One cable loses packets: it is named, with what was sent again."""
    with mesh(lab) as made:
        made.lose(0, 2, 0.2)
        code, document, said = made.network("--streams=1")
        report.equal("exit code 1", code, 1) or print(said)
        report.equal("it is named", names(document), ["h1 → h3"])
        resent = {(link["from"], link["to"]): link["tcp"]["retransmits"] for link in document["links"]}
        report.check("segments were sent again there", resent[0, 2] > 10, resent)
        report.check("the sentence says so", any("sent again" in line for line in document["verdict"]), document["verdict"])


def baseline(lab: Lab, report: Report) -> None:
    """A result is kept under a name, and later loads are held against it; a missing route is said of its link alone."""
    with mesh(lab) as made:
        made.inside(2, "ip", "link", "set", "c3", "down")
        code, document, said = made.network("--streams=2", "--both-directions", "--save-baseline=cables")
        report.equal("exit code 1", code, 1) or print(said)
        report.equal("both directions fail", sorted(map(tuple, document["judgement"]["failed"])), [(2, 3), (3, 2)])
        report.equal("the others do not", sum(link["throughput"] is not None for link in document["links"]), 10)
        report.check("it is kept", "kept as baseline cables" in said, said)
        limit, shown = load(made)
        row = evidence(limit)
        report.equal("a later load reaches it", row.get("says"), "reached") or print(limit)
        report.check("what it sent is looked at", " sent, just now" in row.get("value", ""), row)
        report.check("its share is shown", "Against baseline cables (the network" in shown and " % of " in shown, shown)
        made.shape(0, 3, 2 * MBIT)
        limit, _ = load(made)
        row = evidence(limit)
        report.check("a faster cable makes it out of date", row.get("says", "").startswith("out of date"), row)
        report.check("and then it is not used", limit["cause"] != "baseline", limit["sentence"])


def load(made: Mesh) -> tuple[dict[str, Any], str]:
    """Sends from h1, as the host of a fleet, to a listener on h4; what held it back, and what people see."""
    example = Path(__file__).parents[3] / "examples/experiments/network-baseline.yaml"
    files = [f"--results={made.directory}/results.sqlite", f"--journal-dir={made.directory}/journal"]
    base = [str(made.lab.manometer), "run", str(example), "--set=address=10.99.0.4:9000"]
    listen = ["--set=ops=read", "--set=listen=true", "--set=sink=discard", "--set=time=60s"]
    there = [f"--results={made.directory}/there.sqlite", f"--journal-dir={made.directory}/there"]
    server = Child(made.hosts[3].client([*base, *listen, *there]), made.directory / "listener.log")
    try:
        document = made.directory / "run.json"
        launch = ["--hosts=h1", f"--launcher-command={made.directory}/start {{host}}"]
        more = ["--set=time=4s", "--baseline=cables", "--output=json", f"--output-file={document}"]
        done = subprocess.run([*base, *launch, *files, *more], capture_output=True, text=True, timeout=120, check=False)
    finally:
        server.stop(0)
    if not document.exists():
        raise AssertionError(f"{done.stderr}\n{server.text()}")
    return json.loads(document.read_text())["cells"][0]["result"]["limit"], done.stdout


def evidence(limit: dict[str, Any]) -> dict[str, str]:
    """The row of the baseline."""
    return next((row for row in limit["evidence"] if row["name"] == "baseline cables"), {})


def path_mtu(lab: Lab, report: Report) -> None:
    """A small cable between two routers: the probes find it, and name it a black hole when nobody says that it is small."""
    with mesh(lab) as made:
        # h1 reaches h4 by h2 and h3, whose cable carries less than those at both ends.
        for a, b in ((0, 3), (0, 2), (1, 3)):
            made.inside(a, "ip", "link", "set", f"c{b}", "down")
        for a, b in ((1, 2), (2, 1)):
            made.inside(a, "ip", "link", "set", f"c{b}", "mtu", "1400")
            made.inside(a, "sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1")
        for host, gate, to in ((0, 1, 3), (1, 2, 3), (3, 2, 0), (2, 1, 0)):
            between = (min(host, gate), max(host, gate))
            via = f"10.{80 + between[0]}.{between[1]}.{gate + 1}"
            route = [f"10.99.0.{to + 1}/32", "via", via, "src", f"10.99.0.{host + 1}"]
            made.inside(host, "ip", "route", "replace", *route)
        flags = ["--streams=1", "--pairs=h1:h2,h1:h4"]
        code, document, said = made.network(*flags)
        report.equal("told: both links are measured", [bool(link["throughput"]) for link in document["links"]], [True] * 2)
        report.equal("told: exit code 0", code, 0) or print(said)
        report.equal("told: what arrives, what is believed", mtus(document), {(0, 1): (1500, 1500), (0, 3): (1400, 1400)})
        report.equal("told: TCP knows it", {link["to"]: link["tcp"]["path_mtu_bytes"] for link in document["links"]}[3], 1400)
        report.check("told: no black hole", "black hole" not in " ".join(document["verdict"]), document["verdict"])
        for router in (1, 2):
            needed = ["-p", "icmp", "--icmp-type", "fragmentation-needed", "-j", "DROP"]
            made.inside(router, "iptables", "-A", "OUTPUT", *needed)
        for host in (0, 3):
            made.inside(host, "ip", "route", "flush", "cache")
        code, document, said = made.network(*flags)
        report.equal("not told: exit code 1", code, 1) or print(said)
        report.equal("not told: what arrives, what is believed", mtus(document)[0, 3], (1400, 1500))
        report.equal("not told: the link fails", document["judgement"]["failed"], [[0, 3]])
        named = [line for line in document["verdict"] if line.startswith("h1 → h4 is a black hole for packets larger than 1400")]
        report.equal("not told: it is named", len(named), 1) or print(document["verdict"])


def mtus(document: dict[str, Any]) -> dict[tuple[int, int], tuple[int, int]]:
    """The largest packet that arrives, and the largest that the sender believes in."""
    return {(path["from"], path["to"]): (path["bytes"], path["believed_bytes"]) for path in document["path_mtus"]}


SCENARIOS = {
    "network slow link": slow_link,
    "network lossy link": lossy_link,
    "network baseline": baseline,
    "network path MTU": path_mtu,
}
