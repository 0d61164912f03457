"""Experiments over pods: what is measured, and what is left when they end well or badly."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from lab.process import Child, wait_until
from lab.report import Report

from .cluster import NODES, Cluster

ROOT = Path(__file__).resolve().parents[3]
# The user and group of pods that name none.
NOBODY = 65532
# Namespaces: one that lets only the most restricted pods in, and one that lets pods see their node's directories.
STRICT, OPEN = "strict", "open"
# The longest that a run may take beyond its measurement, on a busy machine.
SLACK = 150

EXPERIMENT = """name: pods
targets:
  it: {{url: "{url}"{options}}}
workloads:
  load: {{target: it, ops: {op}, block_size: 4KiB, queue_depth: 2, files: 1, file_size: 16MiB}}
stages:
  warm_up: 0s
  measure: {{at_least: {seconds}s, at_most: {seconds}s}}
"""


class Bench:
    """A user of the cluster, with the rights of our Role and no others."""

    def __init__(self, cluster: Cluster, program: Path) -> None:
        self.cluster = cluster
        self.program = program
        self.runs = 0
        self.data = cluster.work / "data"
        self.data.mkdir()
        os.chown(self.data, NOBODY, NOBODY)
        self.data.chmod(0o700)
        rights = (ROOT / "examples/kubernetes/fleet-rbac.yaml").read_text()
        self.users = {}
        for namespace in [STRICT, OPEN]:
            cluster.kubectl("create", "namespace", namespace)
            cluster.kubectl("apply", "-n", namespace, "-f", "-", text=rights)
            self.users[namespace] = cluster.kubeconfig("user", "usertoken", namespace).rename(
                cluster.work / f"user-{namespace}.kubeconfig"
            )
        # Refused, not only warned about: the launcher's pods must satisfy the strictest standard.
        level = "pod-security.kubernetes.io/enforce=restricted"
        cluster.kubectl("label", "namespace", STRICT, level)

    def start(self, namespace: str, experiment: str, pods: str, *flags: str) -> Child:
        """Starts a run as that user."""
        self.runs += 1
        stem = self.cluster.work / f"run-{self.runs}"
        file = stem.with_suffix(".yaml")
        file.write_text(experiment)
        state = stem.with_suffix(".state")
        command = [
            str(self.program), "run", str(file), "--output=json", f"--results={stem}.sqlite",
            f"--kubernetes=image=localhost/manometer:test,pull_policy=Never,{pods}", *flags,
        ]  # fmt: skip
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "FB_", "XDG_"))}
        env = kept | {"KUBECONFIG": str(self.users[namespace]), "XDG_STATE_HOME": str(state), "HOME": str(state)}
        return Child(command, stem.with_suffix(".out"), env=env, separate_stderr=stem.with_suffix(".err"))

    def running(self, namespace: str) -> dict[str, str]:
        """The pods that run, each with its node."""
        pods = self.cluster.items("pods", namespace)
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in pods
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }

    def left(self, namespace: str) -> list[str]:
        """What a run left: jobs, pods, data."""
        objects = self.cluster.items("jobs", namespace) + self.cluster.items("pods", namespace)
        return [item["metadata"]["name"] for item in objects] + sorted(os.listdir(self.data))

    def wait_for_load(self, run: Child, namespace: str) -> dict[str, str]:
        """Waits until agents work in both pods; the pods with their nodes."""
        found: dict[str, str] = {}

        def both() -> bool:
            found.clear()
            found.update(self.running(namespace))
            return len(found) == len(NODES) and any(self.data.rglob("*"))

        wait_until("both pods run and there is data", both, SLACK, run)
        return found


def null(seconds: int) -> str:
    return EXPERIMENT.format(url="null:", options="", op="read", seconds=seconds)


def files(bench: Bench, seconds: int) -> str:
    return EXPERIMENT.format(url=f"file://{bench.data}", options=", direct: false", op="write", seconds=seconds)


def cell_of(run: Child) -> dict[str, Any]:
    """The only cell of a run's document."""
    return dict(json.loads(run.text())["cells"][0])


def both_nodes_were_measured(report: Report, run: Child) -> None:
    result = cell_of(run)["result"]
    hosts = {host["name"]: host["total"] for host in result["hosts"]}
    report.equal("each node has a result of its own", sorted(hosts), NODES)
    report.check("each node did something", all(total["ok"] > 0 for total in hosts.values()), hosts)
    for what in ["ok", "bytes"]:
        parts = sum(total[what] for total in hosts.values())
        report.equal(f"the whole is the sum of the nodes: {what}", result["total"][what], parts)


def to_nowhere(bench: Bench, report: Report) -> None:
    run = bench.start(STRICT, null(3), "count=2")
    wait_until("both pods run", lambda: len(bench.running(STRICT)) == 2, SLACK, run)
    report.equal("the pods are on different nodes", sorted(bench.running(STRICT).values()), NODES)
    report.equal("it ends well", run.wait(SLACK), 0) or print(run.error_text()[-3000:])
    both_nodes_were_measured(report, run)
    report.equal("nothing is left", bench.left(STRICT), [])


def to_files_of_the_nodes(bench: Bench, report: Report) -> None:
    run = bench.start(OPEN, files(bench, 3), f"count=2,host_path={bench.data}")
    bench.wait_for_load(run, OPEN)
    report.equal("it ends well", run.wait(SLACK), 0) or print(run.error_text()[-3000:])
    both_nodes_were_measured(report, run)
    report.equal("nothing is left", bench.left(OPEN), [])


def interrupted(bench: Bench, report: Report) -> None:
    run = bench.start(OPEN, files(bench, 600), f"count=2,host_path={bench.data}")
    bench.wait_for_load(run, OPEN)
    time.sleep(2)
    run.signal(signal.SIGINT)
    report.equal("it says what ended it", run.wait(SLACK), 130) or print(run.error_text()[-3000:])
    report.equal("nothing is left", bench.left(OPEN), [])


def a_pod_deleted(bench: Bench, report: Report) -> None:
    run = bench.start(OPEN, files(bench, 20), f"count=2,host_path={bench.data}")
    pods = bench.wait_for_load(run, OPEN)
    time.sleep(2)
    gone = min(pods)
    bench.cluster.kubectl("delete", "pod", "-n", OPEN, gone, "--wait=false")
    code = run.wait(SLACK)
    report.check("it ends by itself", code in (0, 1), code) or print(run.error_text()[-3000:])
    report.contains("the node that was lost is named", run.error_text(), [pods[gone]])
    result = cell_of(run)["result"]
    counts = {host["name"]: host["total"]["ok"] for host in result["hosts"]}
    report.equal("the measurement went on to its end", result["measured_s"] >= 19, True)
    report.equal("with the other node", [node for node in NODES if counts.get(node, 0) > 0 and node != pods[gone]],
                 [node for node in NODES if node != pods[gone]])
    report.equal("nothing is left", bench.left(OPEN), [])


def too_many(bench: Bench, report: Report) -> None:
    run = bench.start(STRICT, null(3), "count=3", "--set=fleet.start_timeout=15s")
    report.check("it ends badly", run.wait(SLACK) not in (0, None), run.text())
    report.contains("why is said", run.error_text(), ["of job manometer-", "nodes are available"])
    report.equal("nothing is left", bench.left(STRICT), [])


def no_directory(bench: Bench, report: Report) -> None:
    missing = bench.data.parent / "missing"
    flags = "--set=fleet.start_timeout=20s"
    run = bench.start(OPEN, files(bench, 3), f"count=2,host_path={missing}", flags)
    report.check("it ends badly", run.wait(SLACK) not in (0, None), run.text())
    report.contains("why is said", run.error_text(), ["FailedMount", "is not a directory"])
    report.equal("nothing is left", bench.left(OPEN), [])


def not_allowed(bench: Bench, report: Report) -> None:
    run = bench.start(STRICT, null(3), "count=2,namespace=default")
    report.check("it ends badly", run.wait(SLACK) not in (0, None), run.text())
    report.contains("why is said", run.error_text(), ["forbidden", "default"])
    run = bench.start(STRICT, null(3), f"count=2,host_path={bench.data}", "--set=fleet.start_timeout=20s")
    report.check("a directory of the node is refused", run.wait(SLACK) not in (0, None), run.text())
    report.contains("by the namespace's standard", run.error_text(), ["PodSecurity", "hostPath"])
    report.equal("nothing is left", bench.left(STRICT), [])


SCENARIOS = {
    "null": to_nowhere,
    "files": to_files_of_the_nodes,
    "interrupted": interrupted,
    "pod deleted": a_pod_deleted,
    "unschedulable": too_many,
    "no directory": no_directory,
    "forbidden": not_allowed,
}
