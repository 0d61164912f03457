"""What the checks of fleets share: experiments, runs, what they counted, and what must not stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .fleet_net import SERVERS, FleetNet
from .ganesha import Ganesha
from .lab import Lab
from .manometer import Manometer, Outcome
from .process import Child, run, wait_until
from .report import Report
from .versity import ACCESS_KEY, SECRET_KEY

FILES, FILE_BYTES, BLOCK = 2, 4 << 20, 64 << 10
OBJECTS, OBJECT_BYTES = 16, 256 << 10
SKEW_NS = 1_000_000
WAIT = 150
REPETITIONS = 2

NFS = f"""
name: fleet
targets:
  filer: {{{{url: "nfs://{SERVERS}/export", directory: "{{directory}}-{{{{index}}}}"}}}}
workloads:
  read:
    ops: read
    access: sequential
    block_size: 64KiB
    queue_depth: 4
    files: {FILES}
    file_size: 4MiB
    verify: true
stages: {{{{warm_up: 0s, measure: {{measure}}}}}}
steady: none
matrix: {{{{repetitions: {{repetitions}}}}}}
"""

S3 = f"""
name: fleet
targets:
  store: "s3://plumbing?endpoint=http://{SERVERS}:7070"
workloads:
  get:
    ops: get
    queue_depth: 4
    objects: {OBJECTS}
    object_size: 256KiB
    verify: true
stages: {{{{warm_up: 0s, measure: {{measure}}}}}}
steady: none
matrix: {{{{repetitions: {{repetitions}}}}}}
"""


def experiment_file(net: FleetNet, text: str, measure: str = "1s", repetitions: int = 1, directory: str = "lab") -> str:
    path = net.directory / f"{directory}.yaml"
    path.write_text(text.format(measure=measure, repetitions=repetitions, directory=directory))
    return str(path)


def program(lab: Lab, net: FleetNet, env: dict[str, str] | None = None) -> Manometer:
    return Manometer(lab.manometer, net.hub, env)


def arguments_of(net: FleetNet, experiment: str, *flags: str) -> list[str]:
    return ["run", experiment, "--output=json", f"--results={net.directory}/results.sqlite", *flags]


def results(outcome: Outcome) -> list[dict[str, Any]]:
    return [cell["result"] for cell in outcome.document["cells"]]


def stages_of(outcome: Outcome) -> dict[str, tuple[int, int]]:
    """Operations and bytes of each stage, over all cells."""
    counts: dict[str, tuple[int, int]] = {}
    for stage in (stage for result in results(outcome) for stage in result["stages"]):
        ok, moved = counts.get(stage["name"], (0, 0))
        counts[stage["name"]] = (ok + stage["ok"], moved + stage["bytes"])
    return counts


def total_of(outcome: Outcome) -> tuple[int, int]:
    """Operations and bytes of the measurements."""
    totals = [result["total"] for result in results(outcome)]
    return sum(total["ok"] for total in totals), sum(total["bytes"] for total in totals)


def unexplained_of(outcome: Outcome) -> list[float]:
    """What is left of each cell's start skew without what a worker waited for a core, in nanoseconds."""
    clients = [result["client"] for result in results(outcome)]
    return [client["start-skew.ns"] - client["start-skew.core-wait.ns"] for client in clients]


def skews_of(report: Report, outcome: Outcome) -> list[float]:
    """The start skew of each cell, in nanoseconds."""
    skews = [result["client"].get("start-skew.ns") for result in results(outcome)]
    report.check("every cell states its start skew", None not in skews, skews)
    return [skew for skew in skews if skew is not None]


def layout_of(directory: Path) -> dict[str, int]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.stat().st_size for path in files}


def gone(net: FleetNet) -> bool:
    return not any(host.processes("manometer agent") for host in net.hosts)


def nothing_left(net: FleetNet, report: Report, killed: int = 0) -> None:
    """No process and no journal, but for those of agents that were killed."""
    try:
        wait_until("the end of the agents", lambda: gone(net), 40)
        left = False
    except RuntimeError:
        left = True
    report.check("no agent stays on a host", not left)
    copies = [path.parent.name for path in net.home.rglob("manometer") if path.is_file()]
    report.check("one copy of the program at most, and no half one", len(copies) <= 1, copies)
    report.equal("half copies", [str(path) for path in net.home.rglob("new.*")], [])
    journals = [str(path) for path in net.home.rglob("journal/*") if path.is_file()]
    report.check("journals of agents", len(journals) <= killed, journals)


@contextmanager
def network(
    lab: Lab,
    first: list[str] | None = None,
    environments: Callable[[Path], Mapping[str, Mapping[str, str]]] | None = None,
) -> Iterator[FleetNet]:
    """A network; what `environments` makes of its directory is in the environment of what ssh starts on a host."""
    with lab.directory() as directory:
        net = FleetNet(directory, first=first, environments=environments(directory) if environments else None)
        try:
            yield net
        finally:
            net.stop()


@contextmanager
def filer(net: FleetNet) -> Iterator[Ganesha]:
    server = Ganesha(net.servers.place, 2049, 20048, address=SERVERS, portmapper=True)
    try:
        yield server
    finally:
        server.stop()


class Gateway:
    """versitygw in the namespace of the servers, which writes a line for each request."""

    def __init__(self, lab: Lab, net: FleetNet, log: Path) -> None:
        data = net.servers.place.directory / "versity"
        (data / "plumbing").mkdir(parents=True)
        env = os.environ | {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY}
        command = [str(lab.versitygw), f"--port={SERVERS}:7070", "--quiet", f"--access-log={log}", "posix", str(data)]
        self._child = Child(net.servers.place.server(command), net.directory / "versity.log", env=env)
        listening = net.servers.place.client(["cat", "/proc/net/tcp"])
        wait_until("versitygw", lambda: ":1B9E 00000000:0000 0A" in run(listening), 30, self._child)

    def stop(self) -> None:
        self._child.stop()


def secret_nowhere(report: Report, net: FleetNet, outcome: Outcome, secret: str) -> None:
    report.check("the secret is not in what was printed", secret not in outcome.stdout + outcome.stderr)
    holders = []
    for path in net.directory.rglob("*"):
        kept = path.is_file() and path.stat().st_size < 64 << 20 and "shadow" not in path.name
        if kept and path.name != "password" and secret.encode() in path.read_bytes():
            holders.append(str(path))
    report.equal("files that hold the secret", holders, [])


def processes_with(secret: str) -> set[str]:
    """Command lines and environments that hold the secret."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        for name in ("cmdline", "environ"):
            try:
                if secret.encode() in (entry / name).read_bytes():
                    found.add(f"{name} of {(entry / 'comm').read_text().strip()}")
            except OSError:
                continue
    return found
