"""What leaves a run while it lasts: Graphite renders the two graph targets of StorPerf's guide, Prometheus answers for p99, and a
collector understands what is pushed by OTLP."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import threading
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from .file_checks import started
from .lab import Lab
from .manometer import Manometer
from .process import Child, answers, free_port, run, wait_until
from .report import Report, Scenario

LOCAL = "127.0.0.1"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SECONDS = 8

EXPERIMENT = """
name: metrics
targets: {{t: 'null:'}}
workloads: {{readwritemix: {{ops: {{read: 70%, write: 30%}}, rate: 400/s, block_size: 4KiB, queue_depth: 8, file_size: 1MiB}}}}
stages: {{warm_up: 0s, measure: {seconds}s}}
steady: none
fleet: {{local: 2}}
"""

CARBON = """
[cache]
STORAGE_DIR = {0}/
CONF_DIR = {0}/
LOG_DIR = {0}/log/
PID_DIR = {0}/
LOCAL_DATA_DIR = {0}/whisper/
WHITELISTS_DIR = {0}/lists/
USER =
ENABLE_LOGROTATION = False
MAX_CACHE_SIZE = inf
MAX_UPDATES_PER_SECOND = 5000
MAX_CREATES_PER_MINUTE = inf
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {1}
ENABLE_UDP_LISTENER = False
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = {2}
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {3}
CARBON_METRIC_INTERVAL = 0
"""

# What graphite-web's settings are changed to.
WEB = """
from graphite.settings import *
SECRET_KEY = "lab"
ALLOWED_HOSTS = ["*"]
STORAGE_DIR = CONF_DIR = "{0}"
WHISPER_DIR = "{0}/whisper"
STANDARD_DIRS = DATA_DIRS = [WHISPER_DIR]
LOG_DIR = "{0}/log"
INDEX_FILE = "{0}/index"
CARBONLINK_HOSTS = ["127.0.0.1:{1}:a"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{0}/graphite.db"}}}}
"""

# Debian's packages are for Debian's Python.
PYTHON = "/usr/bin/python3"


def get(url: str, **query: str) -> Any:
    """The JSON at a URL."""
    with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
        return json.load(answer)


class Graphite:
    """carbon-cache and graphite-web, with values kept for each second."""

    def __init__(self, directory: Path) -> None:
        home = directory / "graphite"
        for name in ("log", "whisper", "lists"):
            (home / name).mkdir(parents=True)
        self.port, pickle, query, self.web_port = (free_port() for _ in range(4))
        (home / "carbon.conf").write_text(CARBON.format(home, self.port, pickle, query))
        (home / "storage-schemas.conf").write_text("[all]\npattern = .*\nretentions = 1s:10m\n")
        (home / "labsettings.py").write_text(WEB.format(home, query))
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(home), "DJANGO_SETTINGS_MODULE": "labsettings"}
        carbon = ["carbon-cache", f"--config={home / 'carbon.conf'}", "--nodaemon", "start"]
        self.children = [Child(carbon, home / "carbon.log", env=env)]
        run([PYTHON, "-m", "django", "migrate", "--run-syncdb"], env=env)
        web = [PYTHON, "-m", "django", "runserver", "--noreload", f"{LOCAL}:{self.web_port}"]
        self.children.append(Child(web, home / "web.log", env=env))
        for port, child in zip((self.port, self.web_port), self.children, strict=True):
            wait_until(f"port {port}", lambda: answers(LOCAL, port), 30, child)

    def render(self, target: str) -> list[float]:
        """The values of a target in the last minutes, in order."""
        found = get(f"http://{LOCAL}:{self.web_port}/render", target=target, format="json", **{"from": "-5min"})
        return [value for series in found for value, _ in series["datapoints"] if value is not None]

    def stop(self) -> None:
        """Ends both."""
        for child in self.children:
            child.stop()


def seconds(manometer: Manometer, results: Path) -> dict[str, list[tuple[float, float]]]:
    """The run's own intervals: for each host, operations per second and mean latency of reads in each second."""
    flags = ("--intervals", "--hosts", "--output", "csv", "--results", str(results))
    outcome = manometer.start("export", "last", *flags).finish()
    sums: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    for row in csv.DictReader(io.StringIO(outcome.stdout)):
        if row["stage"] != "measure" or row["op"] != "read" or not row["host"]:
            continue
        # An interval may end some microseconds late.
        second = sums[row["host"]][int(float(row["start_s"]) + 0.01)]
        second[0] += float(row["ok"])
        second[1] += float(row["ok"]) * float(row["response_mean_ns"])
    return {host: [(ok, total / ok) for _, (ok, total) in sorted(found.items())] for host, found in sums.items()}


def close(found: list[float], wanted: list[float]) -> bool:
    """Whether these are the same values, but for rounding in exports."""
    return len(found) == len(wanted) and all(abs(a - b) <= 1e-3 * b for a, b in zip(found, wanted, strict=True))


def graphite(lab: Lab, report: Report) -> None:
    """Both graph targets of StorPerf's guide return what the run's own intervals say."""
    with started(lab) as (directory, manometer):
        server = Graphite(directory)
        try:
            file = directory / "metrics.yaml"
            file.write_text(EXPERIMENT.format(seconds=SECONDS))
            results = directory / "results.sqlite"
            flags = (f"--graphite={LOCAL}:{server.port}", "--graphite-every=1s", "--output=json")
            outcome = manometer.start("run", str(file), f"--results={results}", *flags).finish()
            report.equal("code", outcome.code, 0)
            report.check("everything was delivered", "not delivered" not in outcome.stderr, outcome.stderr)
            hosts = list(seconds(manometer, results).values())
            report.equal("hosts", len(hosts), 2)
            cell = f"{outcome.document['run']['id']}.readwritemix.queue-depth.8.block-size.4096.*.jobs.*.read"
            iops = [sum(part[0] for part in parts) for parts in zip(*hosts, strict=True)]
            latencies = [sum(part[1] for part in parts) / len(parts) for parts in zip(*hosts, strict=True)]
            for target, wanted in (
                (f"sumSeries({cell}.iops)", iops),
                (f"averageSeries({cell}.lat_ns.mean)", latencies),
            ):
                wait_until(target, lambda: len(server.render(target)) >= len(wanted), 30)
                found = server.render(target)
                report.check(target, len(found) >= SECONDS - 1 and close(found, wanted), (found, wanted))
        finally:
            server.stop()


@contextmanager
def prometheus(directory: Path, scraped: str) -> Iterator[str]:
    """A server that scrapes one address, configured as in examples/prometheus but faster; its URL."""
    example = (EXAMPLES / "prometheus" / "prometheus.yml").read_text()
    text = example.replace("scrape_interval: 5s", "scrape_interval: 1s").replace("127.0.0.1:9464", scraped)
    file = directory / "prometheus.yml"
    file.write_text(text)
    port = free_port()
    command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={directory / 'tsdb'}"]
    child = Child([*command, f"--web.listen-address={LOCAL}:{port}"], directory / "prometheus.log")
    try:
        wait_until("Prometheus", lambda: "Server is ready to receive web requests" in child.error_text(), 30, child)
        yield f"http://{LOCAL}:{port}"
    finally:
        child.stop()


def scraped(lab: Lab, report: Report) -> None:
    """Prometheus scrapes a run, with the example configuration, and answers for p99."""
    with started(lab) as (directory, manometer):
        file = directory / "metrics.yaml"
        file.write_text(EXPERIMENT.format(seconds=120))
        flags = (f"--results={directory / 'results.sqlite'}", "--metrics-listen=0")
        going = manometer.start("run", str(file), *flags)
        listening = re.compile(r"metrics at http://(\S+)/metrics")
        wait_until("an address", lambda: bool(listening.search(going.child.error_text())), 30, going.child)
        match = listening.search(going.child.error_text())
        assert match
        with prometheus(directory, match[1]) as url:
            buckets = 'manometer_response_time_seconds_bucket{stage="measure",operation="read"}'
            query = f"histogram_quantile(0.99, sum by (le) (rate({buckets}[10s])))"

            def ask(text: str) -> list[float]:
                return [float(one["value"][1]) for one in get(f"{url}/api/v1/query", query=text)["data"]["result"]]

            wait_until("p99", lambda: any(value > 0 for value in ask(query)), 60, going.child)
            report.check("p99 is a response time", 0 < ask(query)[0] < 10, ask(query))
            operations = ask('manometer_operations_per_second{stage="measure"}')
            report.check("operations of both kinds", len(operations) == 2 and sum(operations) > 0, operations)
            hosts = ask('count(count by (host) (manometer_host_operations_per_second{stage="measure"}))')
            report.equal("hosts", hosts, [2.0])
            up = ask('up{job="manometer-run"}')
            report.equal("every scrape is understood", up, [1.0])
        going.child.signal(signal.SIGINT)
        report.equal("code", going.finish().code, 130)


class Collector:
    """A collector that reads pushes with the classes that OpenTelemetry generates for Python."""

    def __init__(self) -> None:
        self.pushes: list[ExportMetricsServiceRequest] = []
        self.tokens: set[str | None] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802, the name that http.server looks for.
                body = self.rfile.read(int(self.headers["content-length"]))
                known = self.path == "/v1/metrics" and self.headers["content-type"] == "application/x-protobuf"
                collector.tokens.add(self.headers["authorization"])
                collector.pushes.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(200 if known else 404)
                self.send_header("content-type", "application/x-protobuf")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer((LOCAL, 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The endpoint without a path."""
        return f"http://{LOCAL}:{self.server.server_port}"

    def points(self, name: str, **labels: str) -> list[list[Any]]:
        """The data points of a metric with these labels, for each push that has any."""
        found = []
        for push in self.pushes:
            metrics = push.resource_metrics[0].scope_metrics[0].metrics
            kept = []
            for metric in (metric for metric in metrics if metric.name == f"manometer_{name}"):
                for point in getattr(metric, str(metric.WhichOneof("data"))).data_points:
                    have = {one.key: one.value.string_value for one in point.attributes}
                    if all(have.get(key) == value for key, value in labels.items()):
                        kept.append(point)
            found += [kept] if kept else []
        return found


def pushed(lab: Lab, report: Report) -> None:
    """OpenTelemetry's own classes read what is pushed, and it is what the run measured."""
    with started(lab) as (directory, manometer):
        collector = Collector()
        try:
            file = directory / "metrics.yaml"
            file.write_text(EXPERIMENT.format(seconds=SECONDS))
            manometer.env["OTEL_EXPORTER_OTLP_HEADERS"] = "authorization=Bearer%20canary"
            flags = (f"--results={directory / 'results.sqlite'}", f"--otlp={collector.url}", "--otlp-every=1s")
            outcome = manometer.start("run", str(file), *flags, "--output=json").finish()
            report.equal("code", outcome.code, 0) or print(outcome.stderr)
            report.check("the token is not shown", "canary" not in outcome.stdout + outcome.stderr, outcome.stderr)
            report.equal("each push has it", collector.tokens, {"Bearer canary"})
            report.check("a push a second", len(collector.pushes) >= SECONDS - 1, len(collector.pushes))
            (cell,) = outcome.document["cells"]
            wanted = {op["op"]: op for op in cell["result"]["ops"]}
            for op in ("read", "write"):
                moved = [one[0].as_int for one in collector.points("payload_bytes", stage="measure", operation=op)]
                most = wanted[op]["ok"] * 4096
                report.check(f"{op}: bytes only grow, to those of the result", moved == sorted(moved), moved)
                report.check(f"{op}: to nearly all of them", most / 2 < moved[-1] <= most, (moved[-1], most))
                times = collector.points("response_time_seconds", stage="measure", operation=op)[-1][0]
                report.equal(f"{op}: as many response times", times.count * 4096, moved[-1])
                report.equal(f"{op}: in buckets", sum(times.bucket_counts), times.count)
            hosts = collector.points("host_operations_per_second", stage="measure", operation="read")
            report.equal("hosts", len(hosts[-1]), 2)
            verdicts = collector.points("cell_verdict")
            report.check("the last push has the verdict", len(verdicts) >= 1 and verdicts[-1][0].as_double >= 0, verdicts)
            resource = {one.key: one.value.string_value for one in collector.pushes[0].resource_metrics[0].resource.attributes}
            report.equal("service", resource["service.name"], "manometer")
        finally:
            collector.server.shutdown()


SCENARIOS: dict[str, Scenario] = {
    "metrics graphite": graphite,
    "metrics prometheus": scraped,
    "metrics otlp": pushed,
}
