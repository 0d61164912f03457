"""What arranged situations stand on: a client and a server at the ends of cables, and one cell that is run between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .lab import Lab
from .manometer import SLACK_SECONDS, Manometer
from .place import Namespace, Place, veth
from .process import Child, run, wait_until

# A session is scheduled as one (autogroup), so it must go first as a whole.
FIRST = ["sh", "-c", '{ echo -20 > /proc/$$/autogroup; } 2> /dev/null; exec nice -n -20 "$@"', "first"]
READ = "ops: read, jobs: 1, queue_depth: 8, block_size: 128KiB, files: 4, file_size: 2MiB"
WRITE = "ops: write, jobs: 1, queue_depth: 8, block_size: 128KiB, files: 4, file_size: 2MiB"


@dataclass
class Ground:
    """A client's and a server's namespace at the ends of cables."""

    lab: Lab
    stack: ExitStack
    directory: Path
    near: Namespace
    far: Namespace
    addresses: list[str]
    # Wraps the client's and the server's command.
    client: Callable[[list[str]], list[str]] = field(default=lambda command: command)

    def array(self, *faults: str) -> str:
        """Starts a simulated array with one file system; the URL of its export on the first cable."""
        ready = self.directory / "ready.json"
        token = self.directory / "token"
        token.write_text("T-00000000-0000-4000-8000-000000000000")
        token.chmod(0o600)
        data = [f"--data={ip},nfs=2049,mount=20048,portmap=111,s3={8000 + n}" for n, ip in enumerate(self.addresses)]
        command = [str(self.lab.manometer), "array", "--plain-http", "--management=127.0.0.1:8080", f"--token-file={token}"]
        command += [f"--ready-file={ready}", *data, *(f"--fault={fault}" for fault in faults)]
        child = Child(self.far.server(FIRST + command), self.directory / "array.log")
        self.stack.callback(child.stop)
        wait_until("simulated array", ready.exists, 20, child)
        curl = ["curl", "-sS", "--fail", "--max-time", "20"]
        login = [*curl, "-D", "-", "-o", "/dev/null", "-X", "POST", "-H", f"api-token: {token.read_text()}"]
        answer = run(self.far.client([*login, "http://127.0.0.1:8080/api/login"]))
        session = next(line.split(":", 1)[1].strip() for line in answer.splitlines() if line.lower().startswith("x-auth-token"))
        body = ["-H", "Content-Type: application/json", "-H", f"x-auth-token: {session}", "-d", '{"nfs": {"v3_enabled": true}}']
        run(self.far.client([*curl, "-X", "POST", *body, "http://127.0.0.1:8080/api/2.0/file-systems?names=bench"]))
        return f"nfs://{self.addresses[0]}/bench"

    def shape(self, place: Namespace, device: str, *qdisc: str) -> None:
        """Puts a queueing discipline at the way out of an interface."""
        run(place.client(["tc", "qdisc", "add", "dev", device, "root", *qdisc]))


@contextmanager
def ground(lab: Lab, cables: int = 1, mtu: int = 1500) -> Iterator[Ground]:
    """Two namespaces with cables between them."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        near, far = (Namespace(directory / name) for name in ("near", "far"))
        stack.callback(near.stop)
        stack.callback(far.stop)
        addresses = [veth(near, far, number, mtu, mtu)[1] for number in range(1, cables + 1)]
        yield Ground(lab, stack, directory, near, far, addresses)


def limit(
    lab: Lab,
    place: Place,
    url: str,
    workload: str,
    *,
    options: str = "",
    wrap: Callable[[list[str]], list[str]] = lambda command: command,
    measure: str = "5s",
    probe: str = "0s",
    more: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Runs one cell; what is said of its limit, and the reasons of its verdict."""
    manometer = Manometer(lab.manometer, place)
    file = place.directory / "experiment.yaml"
    file.write_text(
        f"name: verdict\ntargets:\n  there: {{url: '{url}'{options}}}\nworkloads:\n  load: {{{workload}}}\n"
        f"stages: {{warm_up: 0s, measure: {measure}, probe: {probe}}}\nsteady: none\n"
    )
    arguments = ["run", str(file), f"--results={place.directory / 'results.sqlite'}", "--output=json", *more]
    stem = place.directory / "verdict"
    command = wrap(place.client([*FIRST, str(lab.manometer), *arguments]))
    child = Child(command, stem.with_suffix(".out"), env=manometer.env, separate_stderr=stem.with_suffix(".err"))
    try:
        code = child.wait(SLACK_SECONDS)
    finally:
        child.stop()
    if not child.text().startswith("{"):
        raise RuntimeError(f"ended with {code}: {child.error_text()[-2000:]}")
    cell = json.loads(child.text())["cells"][0]
    if not cell.get("result"):
        raise RuntimeError(f"nothing measured: {cell.get('failure')}")
    return dict(cell["result"]["limit"]) | {"reasons": cell["result"]["verdict"]["reasons"]}
