"""StorPerf's requests, posted by curl to a service that reaches its host by a real sshd."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .fleet_net import PASSWORD, USER, FleetNet
from .lab import Lab
from .process import Child, run, wait_until
from .report import Report

SAMPLE_S = 2
FILES = JOBS = 10
FILE_BYTES = 64 << 10
SERVICE = "http://127.0.0.1:5000"
CELL = "readwritemix.queue-depth.8.block-size.4k"
METRICS = sorted(f"{CELL}.{way}.{metric}" for way in ("read", "write") for metric in ("bw", "iops", "lat_ns.mean"))


class Service:
    """A service at the head of a fleet's network, and curl beside it."""

    def __init__(self, net: FleetNet, child: Child) -> None:
        self.net = net
        self.child = child

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Sends a request with curl; gives the status and the answer."""
        command = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}", "--header", "Accept: application/json"]
        if body is not None:
            command += ["--header", "Content-Type: application/json", "-d", json.dumps(body)]
        text, _, status = run(self.net.hub.client([*command, SERVICE + path])).rpartition("\n")
        return int(status), json.loads(text)

    def ended(self, job: str) -> dict[str, Any]:
        """Polls a job's status until it has ended, as StorPerf's clients do."""
        last: dict[str, Any] = {}

        def over() -> bool:
            last.update(self.ask("GET", f"/api/v1.0/jobs?id={job}&type=status")[1])
            return last["Status"] not in ("Queued", "Running")

        wait_until(f"the end of {job}", over, 150, self.child)
        return last


@contextmanager
def service(lab: Lab, net: FleetNet, directory: Path) -> Iterator[Service]:
    """A service whose ssh knows the hosts' keys, but has none of its own to log in with."""
    command = [str(lab.manometer), "serve", "--directory", str(directory / "state")]
    command += [f"--storperf-sample={SAMPLE_S}s", f"--ssh-option=-F {net.directory}/ssh/strangers"]
    known = f"UserKnownHostsFile {net.directory}/ssh/known\n  GlobalKnownHostsFile /dev/null\n"
    text = f"Host *\n  IdentityAgent none\n  IdentityFile none\n  StrictHostKeyChecking yes\n  {known}"
    (net.directory / "ssh/strangers").write_text(text)
    child = Child(net.hub.client(command), directory / "service.log", env=os.environ | {"HOME": str(directory)})
    try:
        wait_until("the service", lambda: "listening on" in child.text(), 30, child)
        yield Service(net, child)
    finally:
        child.stop()


def guide(lab: Lab, report: Report) -> None:
    """The guide's requests: fill ten times ten files, then a mix at depth 8, with a password and with a key."""
    with lab.directory() as directory:
        net = FleetNet(directory, hosts=1)
        try:
            with service(lab, net, directory) as served:
                follow_guide(served, net, directory, report)
                no_secret_stays(served, net, directory, report)
        finally:
            net.stop()


def follow_guide(served: Service, net: FleetNet, directory: Path, report: Report) -> None:
    host = net.hosts[0]
    target = net.home / "data"
    target.mkdir()
    os.chown(target, net.home.stat().st_uid, net.home.stat().st_gid)
    login = {"slave_addresses": [host.address], "username": USER, "target": str(target)}
    key = (net.directory / "ssh/id").read_text()

    status, refused = served.ask("POST", "/api/v1.0/configurations", {"agent_count": 2, "stack_name": "x"})
    report.equal("a stack of OpenStack is refused", (status, "slave_addresses" in refused["message"]), (501, True))

    filling = {"filesize": str(FILE_BYTES), "nrfiles": FILES, "numjobs": JOBS, "password": PASSWORD}
    status, made = served.ask("POST", "/api/v1.0/initializations", login | filling)
    report.equal("an initialization is taken", status, 200) or print(made)
    report.equal("it completes", served.ended(made["job_id"])["Status"], "Completed") or print(served.child.text())
    files = sorted(target.iterdir())
    names = sorted(f"storperf.{job}.{file}" for job in range(JOBS) for file in range(FILES))
    report.equal("it made the files", [file.name for file in files], names)
    filled = [file.stat().st_size == FILE_BYTES and b"\0" * 512 not in file.read_bytes() for file in files]
    report.check("it wrote every byte of them", len(filled) == FILES * JOBS and all(filled))

    mix = {"rw": "randrw", "rwmixread": "60", "filesize": str(FILE_BYTES), "nrfiles": FILES, "numjobs": JOBS}
    job = {
        "block_sizes": "4k",
        "queue_depths": "8",
        "deadline": 1,
        "steady_state_samples": 3,
        "workloads": {"readwritemix": mix | {"rate_iops": "20"}},
        "metadata": {"pod_name": "lab", "test_case": "guide"},
        "ssh_private_key": key,
    }
    status, made = served.ask("POST", "/api/v2.0/jobs", login | job)
    report.equal("a job is taken", status, 200) or print(made)
    running = f"{made['job_id']}.{CELL}"
    seen: dict[str, Any] = {}

    def measuring() -> bool:
        seen.update(served.ask("GET", f"/api/v1.0/jobs?id={made['job_id']}&type=status")[1])
        live = served.ask("GET", f"/api/v1.0/jobs?id={made['job_id']}")[1]
        return seen.get("Workloads") == {running: "Running"} and sorted(live) == METRICS

    wait_until("live metrics", measuring, 60, served.child)
    report.equal("its cell runs, with live metrics", seen["Status"], "Running")
    report.equal("it completes", served.ended(made["job_id"])["Status"], "Completed") or print(served.child.text())

    _, metrics = served.ask("GET", f"/api/v1.0/jobs?id={made['job_id']}&type=metrics")
    report.equal("it has StorPerf's metrics", sorted(metrics), METRICS)
    report.check("each is a figure", all(value > 0 for value in metrics.values()), metrics)
    rate = metrics[f"{CELL}.read.iops"] + metrics[f"{CELL}.write.iops"]
    report.check("the rate of ten workers is kept", 0.5 < rate / (2 * 20 * JOBS) < 1.1, rate)
    read = metrics[f"{CELL}.read.iops"]
    report.check("bandwidth is in KiB/s", abs(metrics[f"{CELL}.read.bw"] / (4 * read) - 1) < 0.01, metrics)
    _, metadata = served.ask("GET", f"/api/v1.0/jobs?id={made['job_id']}&type=metadata")
    told = metadata["report"]
    report.equal("the client's metadata is in the report", (told["pod_name"], told["case_name"]), ("lab", "guide"))
    report.equal("the job's parameters are kept", (metadata["block_sizes"], metadata["queue_depths"]), ("4k", "8"))
    report.check("it passes or fails", told["criteria"] in ("PASS", "FAIL"), told["criteria"])
    series = told["details"]["report_data"][CELL]["iops"]["read"]
    report.equal("the series are StorPerf's", sorted(series), SERIES)
    report.equal("its metrics are the series' averages", metrics[f"{CELL}.read.iops"], series["average"])
    _, listed = served.ask("GET", "/api/v1.0/jobs")
    report.equal("both jobs are listed, the newest first", (len(listed["job_ids"]), listed["job_ids"][0]), (2, made["job_id"]))

    endless = {"workload": "rr", "block_sizes": 4096, "queue_depths": [1], "password": PASSWORD}
    status, made = served.ask("POST", "/api/v2.0/jobs", login | endless | {"target": str(target / "more")})
    (target / "more").mkdir(exist_ok=True)
    report.equal("a second job is taken", status, 200) or print(made)
    stopped = served.ask("DELETE", "/api/v1.0/jobs")
    report.equal("the running job is stopped", stopped, (200, {"Slaves": [host.address]}))
    ended = served.ended(made["job_id"])["Status"]
    report.check("and says so", ended in ("Interrupted", "Cancelled", "Failed"), ended)
    report.equal("nothing runs on the host", host.processes("manometer agent"), [])
    status, unknown = served.ask("GET", "/api/v1.0/jobs?id=no-such-job&type=status")
    report.equal("an unknown job is not found", (status, list(unknown)), (404, ["message"]))


SERIES = ["average", "range", "series", "series_max", "series_min", "series_slope", "slope", "steady_state"]


def no_secret_stays(served: Service, net: FleetNet, directory: Path, report: Report) -> None:
    """Neither the password nor the key is in a file, a message or an answer."""
    _, logs = served.ask("GET", "/api/v1.0/logs?lines=all")
    report.check("the log tells of the jobs", any("storperf" in line for line in logs["logs"]), logs)
    _, everything = served.ask("GET", "/api/v1.0/jobs?type=metadata")
    key = (net.directory / "ssh/id").read_text().splitlines()[1]
    texts = {"logs": json.dumps(logs), "metadata": json.dumps(everything), "messages": served.child.text()}
    for path in (directory / "state").rglob("*"):
        if path.is_file():
            texts[path.name] = path.read_bytes().decode(errors="replace")
    holding = [name for name, text in texts.items() if PASSWORD in text or key in text]
    report.check("the state is there to be looked at", "service.sqlite" in texts, sorted(texts))
    report.equal("no secret is in it", holding, [])


SCENARIOS = {"storperf guide": guide}
