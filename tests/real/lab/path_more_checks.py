"""Two cards at once: connections really leave by both, and a slow one shows in the figures of the paths."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from .lab import Lab
from .manometer import Manometer, Outcome
from .place import Namespace, veth
from .report import Report

SECONDS = 4
# What the shaped cable lets through.
SLOW_MBIT = 40
FIGURE = re.compile(r"^\s*path\.(\d+)\.([a-z.-]+): ([\d.]+)$", re.MULTILINE)
WAY = re.compile(r"^\s*path\.(\d+): (\S+) \((\S+)\) to (\S+):\d+$", re.MULTILINE)


@dataclass(frozen=True)
class TwoCables:
    """A client and a peer, each in a namespace of its own, with two cables between them."""

    near: Namespace
    far: Namespace
    sender: Manometer
    receiver: Manometer
    directory: Path

    def sent(self, interface: str) -> int:
        """Bytes that the client's interface has sent."""
        command = self.near.client(["ip", "-json", "-stats", "link", "show", "dev", interface])
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return int(told[0]["stats64"]["tx"]["bytes"])

    def move(self, options: str, reactor: str, number: int) -> tuple[Outcome, Outcome, str]:
        """The client sends to the peer for a while; both ends, and the client's results in words."""
        receive = self.directory / f"receive-{number}.yaml"
        receive.write_text(
            'name: receive\ntargets: {peer: {url: "tcp://0.0.0.0:9000", listen: true, connections: 2}}\n'
            f"workloads: {{load: {{target: peer, ops: read, block_size: 64KiB, jobs: 2, queue_depth: 2}}}}\n"
            f"stages: {{prepare: none, warm_up: 0s, measure: {SECONDS + 20}s}}\nsteady: none\n"
        )
        send = self.directory / f"send-{number}.yaml"
        send.write_text(
            f'name: send\ntargets: {{peer: {{url: "tcp://10.99.1.2:9000", connections: 2, {options}}}}}\n'
            f"workloads: {{load: {{target: peer, ops: write, block_size: 64KiB, jobs: 2, queue_depth: 2}}}}\n"
            f"stages: {{prepare: none, warm_up: 1s, measure: {SECONDS}s}}\nsteady: none\n"
        )
        results = self.directory / f"results-{number}.sqlite"
        flags = ("--output=json", f"--reactor={reactor}")
        receiver = self.receiver.start("run", str(receive), f"--results={results}.received", *flags)
        sender = self.sender.start("run", str(send), f"--results={results}", *flags)
        outcomes = sender.finish(), receiver.finish()
        shown = self.sender.start("show", "last", f"--results={results}", "--cell=1").finish()
        return *outcomes, shown.stdout or shown.stderr


@contextmanager
def two_cables(lab: Lab) -> Iterator[TwoCables]:
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        near, far = (Namespace(directory / name) for name in ("near", "far"))
        stack.callback(near.stop)
        stack.callback(far.stop)
        for number in (1, 2):
            veth(near, far, number, 1500, 1500)
        yield TwoCables(near, far, Manometer(lab.manometer, near), Manometer(lab.manometer, far), directory)


def figures(shown: str) -> dict[str, dict[str, float]]:
    """The figures of each path by the client's interface."""
    ways = {number: interface for number, _, interface, _ in WAY.findall(shown)}
    found: dict[str, dict[str, float]] = {interface: {} for interface in ways.values()}
    for number, name, value in FIGURE.findall(shown):
        found[ways[number]][name] = float(value)
    return found


def both_cards(lab: Lab, report: Report) -> None:
    """Sources and addresses in turn: each cable carries two of the four connections, on both reactors."""
    with two_cables(lab) as cables:
        for number, reactor in enumerate(("uring", "epoll")):
            before = [cables.sent(name) for name in ("mmn1", "mmn2")]
            options = 'source: "mmn1,mmn2", addresses: "10.99.1.2,10.99.2.2", pairing: in-turn'
            sent, received, shown = cables.move(options, reactor, number)
            report.equal(f"{reactor}: exit codes 0", (sent.code, received.code), (0, 0)) or print(sent, received)
            paths = figures(shown)
            report.equal(f"{reactor}: both cards", sorted(paths), ["mmn1", "mmn2"]) or print(shown)
            for at, name in enumerate(("mmn1", "mmn2")):
                figure = paths.get(name, {})
                report.equal(f"{reactor}: {name}: connections", figure.get("connections"), 2.0)
                carried = cables.sent(name) - before[at]
                told = figure.get("sent.bytes-per-s", 0) * SECONDS
                # The card also carries headers, and the second of warming up.
                report.check(f"{reactor}: {name}: the card carried it", 0 < told < carried, (told, carried))


def slow_card(lab: Lab, report: Report) -> None:
    """One cable is shaped: its path is the slow one, with the longer round trips."""
    with two_cables(lab) as cables:
        shape = ["tc", "qdisc", "add", "dev", "mmn2", "root", "tbf", "rate", f"{SLOW_MBIT}mbit"]
        subprocess.run(cables.near.client([*shape, "burst", "64kb", "latency", "50ms"]), check=True)
        options = 'source: "10.99.1.1,10.99.2.1", addresses: "10.99.1.2,10.99.2.2", pairing: in-turn'
        sent, received, shown = cables.move(options, "auto", 0)
        report.equal("exit codes 0", (sent.code, received.code), (0, 0)) or print(sent, received)
        paths = figures(shown)
        report.equal("both cards", sorted(paths), ["mmn1", "mmn2"]) or print(shown)
        slow, fast = (paths.get(name, {}).get("sent.bytes-per-s", 0) for name in ("mmn2", "mmn1"))
        limit = SLOW_MBIT * 1e6 / 8
        report.check("the shaped path is at its limit", 0.5 * limit < slow < 1.1 * limit, slow)
        report.check("the other is faster", fast > 2 * slow, (fast, slow))
        trips = [paths.get(name, {}).get("rtt.us", 0) for name in ("mmn2", "mmn1")]
        report.check("round trips show it", trips[0] > trips[1], trips)


def wrong_sources(lab: Lab, report: Report) -> None:
    """What is not of this host is told in one line, before anything is contacted."""
    with two_cables(lab) as cables:
        for number, (source, said) in enumerate(
            (("10.99.1.7", "is no address of this machine"), ("mmn7", "neither an address nor a network interface"))
        ):
            file = cables.directory / f"wrong-{number}.yaml"
            file.write_text(
                f'name: send\ntargets: {{peer: {{url: "tcp://10.99.1.2:9000", source: "{source}"}}}}\n'
                "workloads: {load: {target: peer, ops: write}}\nstages: {prepare: none}\n"
            )
            outcome = cables.sender.start("run", str(file), f"--results={cables.directory / 'w.sqlite'}").finish()
            report.check(f"{source}: refused", outcome.code != 0, outcome)
            report.contains(f"{source}: says why", outcome.stderr, ["source", source, said])


SCENARIOS = {"paths both cards": both_cards, "paths slow card": slow_card, "paths wrong sources": wrong_sources}
