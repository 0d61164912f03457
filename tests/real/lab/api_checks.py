"""The service's API held against its OpenAPI document by schemathesis, and the types of its Python client by mypy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .lab import Lab
from .process import Child, wait_until
from .report import Report

TOOLS = Path(sys.executable).parent
CLIENT = Path(__file__).resolve().parents[3] / "clients" / "python"
# Examples for each operation, in each of the phases that draw them.
EXAMPLES = 30
# No response that the document does not describe, and nothing that it forbids is accepted.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


@contextmanager
def service(lab: Lab, directory: Path, *flags: str) -> Iterator[str]:
    """`manometer serve` on a free port; its URL."""
    command = [str(lab.manometer), "serve", "--listen=127.0.0.1:0", f"--directory={directory / 'state'}", *flags]
    child = Child(command, directory / "serve.log", env={"HOME": str(directory)})
    try:
        wait_until("the service", lambda: "listening on" in child.text(), 30, child)
        found = re.search(r"listening on (http://\S+)", child.text())
        assert found
        yield found[1]
    finally:
        child.stop()


def ask(url: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    """Gets a document, or posts a body; status and answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def held_against(lab: Lab, report: Report, directory: Path, document: str) -> None:
    """Requests drawn from a document, valid and invalid, alone and in sequences: no 5xx and no undocumented response."""
    options = [f"--checks={','.join(CHECKS)}", f"--max-examples={EXAMPLES}", "--seed=1", "--generation-database=none"]
    done = subprocess.run(
        [TOOLS / "schemathesis", "run", document, *options, "--request-timeout=30", "--no-color"],
        cwd=directory,
        text=True,
        capture_output=True,
        timeout=170,
    )
    report.equal("schemathesis ends with 0", done.returncode, 0) or print(done.stdout[-6000:], done.stderr[-2000:])
    # Otherwise it might have found nothing because it did nothing.
    operations = sum(len(methods) for methods in ask(document)[1]["paths"].values())
    report.contains("it tested every operation", done.stdout, [f"Tested: {operations}"])


@contextmanager
def stopping_checks(url: str) -> Iterator[None]:
    """Meanwhile, ends each check a few seconds after its post: drawn ones may last a day, and whatever waits for the same host would
    wait for them."""
    over = threading.Event()

    def stop() -> None:
        while not over.wait(1):
            for run in ask(f"{url}/api/v3/runs?limit=500")[1]["runs"]:
                age = datetime.now(UTC) - datetime.fromisoformat(run["asked"])
                if run["kind"] == "check" and run["state"] in ("queued", "running") and age.total_seconds() > 3:
                    urllib.request.urlopen(urllib.request.Request(f"{url}/api/v3/runs/{run['id']}/stop", method="POST"))

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def schemathesis(lab: Lab, report: Report) -> None:
    """The API of experiments, other work and runs. Network tests are accepted and fail, as ssh reaches no host; calibrations,
    which would occupy this one, are refused."""
    with lab.directory() as directory, service(lab, directory, "--ssh-option=ProxyCommand=false") as url:
        with stopping_checks(url):
            held_against(lab, report, directory, f"{url}/api/v3/openapi.json")
        runs = ask(f"{url}/api/v3/runs")[1]["runs"]
        report.check("runs were posted and ended", "finished" in {run["state"] for run in runs}, runs)


def schemathesis_storperf(lab: Lab, report: Report) -> None:
    """StorPerf's requests. Jobs are accepted and fail, as ssh reaches no host."""
    with lab.directory() as directory, service(lab, directory, "--ssh-option=ProxyCommand=false") as url:
        held_against(lab, report, directory, f"{url}/api/v1.0/openapi.json")
        states = {job["Status"] for job in ask(f"{url}/api/v1.0/jobs?type=status")[1].values()}
        report.check("jobs were posted and none could log in", "Failed" in states and "Completed" not in states, states)


def client_types(lab: Lab, report: Report) -> None:
    """The client and its tests are typed throughout."""
    with lab.directory() as directory:
        command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={directory}", "manometer_client"]
        files = sorted(str(path) for path in (CLIENT / "tests").glob("*.py") if not path.name.startswith("test_"))
        env = os.environ | {"MYPYPATH": "tests"}
        done = subprocess.run([*command, *files], cwd=CLIENT, env=env, text=True, capture_output=True, timeout=170)
        report.equal("mypy --strict finds nothing", done.returncode, 0) or print(done.stdout[-4000:], done.stderr[-2000:])


SCENARIOS = {
    "api schemathesis": schemathesis,
    "api schemathesis storperf": schemathesis_storperf,
    "api client types": client_types,
}
