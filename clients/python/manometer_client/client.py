"""The client."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Literal, cast

from .errors import ProblemError, UnreachableError, WaitTimeoutError
from .events import Event, parse
from .types import (
    AccessKey,
    Agent,
    Array,
    ArrayDetail,
    Baseline,
    BaselineDetail,
    ConvertedFioJobs,
    Host,
    HostDetail,
    Leftover,
    PlanSummary,
    Run,
    Schedule,
    StoredCell,
    StoredInterval,
)

# The text of an experiment file, or its content.
Experiment = str | Mapping[str, Any]

# States in which a run stays as it is.
ENDED = frozenset({"finished", "interrupted", "failed", "cancelled"})
# The service sends a comment after 15 s of silence: without one for so long, the connection is lost.
SILENCE_S = 45.0
# Connections in a row that bring no event, before a stream is given up.
RECONNECTS = 5
# Time between two looks at a run that is waited for.
LOOK_S = (0.05, 2.0)


class Client:
    """A service. Each call uses a connection of its own, so that threads can share a client."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:5000",
        *,
        token: str | None = None,
        timeout: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """A service at this URL.

        `tls` is for a certificate that this host does not trust, such as the one that `serve --tls` creates:
        `ssl.create_default_context(cafile="certificate.pem")`.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ValueError(f"{url!r} is no URL of a service; next: write http://HOST:PORT")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._timeout, self._tls = timeout, tls
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def validate(self, experiment: Experiment, keys: Mapping[str, AccessKey] | None = None) -> PlanSummary:
        """Checks an experiment without running it; faults raise `ProblemError`."""
        return cast(PlanSummary, self._json("POST", "/api/v3/experiments/validate", body=_body(experiment, keys)))

    def post(
        self,
        experiment: Experiment,
        keys: Mapping[str, AccessKey] | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Adds an experiment to the queue. With an idempotency key, a repeated call returns the same run."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return cast(Run, self._json("POST", "/api/v3/runs", body=_body(experiment, keys), headers=headers))

    def post_fio(
        self,
        jobs: str,
        hosts: Sequence[str] = (),
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Adds the jobs of a fio job file to the queue, on these hosts or on the service's own."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return cast(Run, self._json("POST", "/api/v3/fio-jobs", body=_jobs(jobs, hosts, name), headers=headers))

    def convert_fio(self, jobs: str, hosts: Sequence[str] = ()) -> ConvertedFioJobs:
        """A fio job file as an experiment; faults raise `ProblemError`."""
        body = _jobs(jobs, hosts, None)
        return cast(ConvertedFioJobs, self._json("POST", "/api/v3/fio-jobs/convert", body=body))

    def post_check(self, check: Mapping[str, Any], idempotency_key: str | None = None) -> Run:
        """Adds a check of storage to the queue: the options of `manometer check`, such as `{"nfs": ["nfs://filer/export"]}`.

        `NewCheck` in schemas/openapi-v3.json describes the fields.
        """
        return self._post_work("/api/v3/checks", check, idempotency_key)

    def post_network_test(self, test: Mapping[str, Any], idempotency_key: str | None = None) -> Run:
        """Adds a test of the network between hosts to the queue: `{"fleet": {"hosts": ["a", "b"]}}` and more.

        `NewNetworkTest` in schemas/openapi-v3.json describes the fields.
        """
        return self._post_work("/api/v3/network-tests", test, idempotency_key)

    def post_calibration(
        self,
        seconds: float | None = None,
        repetitions: int | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Adds a calibration of the service's host to the queue, where the operator allows it."""
        given = {"seconds": seconds, "repetitions": repetitions}
        fields = {name: value for name, value in given.items() if value is not None}
        return self._post_work("/api/v3/calibrations", fields, idempotency_key)

    def result(self, run: str) -> dict[str, Any]:
        """What a check, a network test or a calibration found, or a clean-up removed.

        schemas/check.schema.json, network.schema.json and calibration.schema.json describe it; CleanUpResult in openapi-v3.json the last.
        """
        return cast(dict[str, Any], self._json("GET", f"{_path(run)}/result"))

    def request(self, run: str) -> str:
        """What was posted, without secrets: an experiment file, or JSON."""
        return self._request("GET", f"{_path(run)}/request").decode()

    def run(self, run: str) -> Run:
        """One run."""
        return cast(Run, self._json("GET", _path(run)))

    def runs(self, page_size: int = 50) -> Iterator[Run]:
        """All runs, newest first."""
        return self._pages(f"/api/v3/runs?limit={page_size}", "runs")

    def wait(self, run: str, timeout: float | None = None) -> Run:
        """Waits until a run has ended, at most `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause, longest = LOOK_S
        while True:
            found = self.run(run)
            if found["state"] in ENDED:
                return found
            if deadline is not None and time.monotonic() + pause > deadline:
                raise WaitTimeoutError(f"run {run} is {found['state']} after {timeout} s")
            time.sleep(pause)
            pause = min(longest, pause * 1.5)

    def stop(self, run: str) -> Run:
        """Ends a run with its current interval, or takes it from the queue; called again, stops it at once."""
        return cast(Run, self._json("POST", f"{_path(run)}/stop"))

    def resume(self, run: str, keys: Mapping[str, AccessKey] | None = None) -> Run:
        """Puts an interrupted or failed run back into the queue; its finished cells are kept.

        Keys that it was posted with are sent again: the service keeps them in memory only.
        """
        body = json.dumps({"keys": keys}).encode() if keys else None
        return cast(Run, self._json("POST", f"{_path(run)}/resume", body=body))

    def events(self, run: str, after: int = 0, hosts: bool = False) -> Iterator[Event]:
        """The events of a run as they happen, to its end. Reconnects, and continues where it was.

        With `hosts`, intervals of a run by agents have the parts of up to 16 single hosts.
        """
        last, failures = after, 0
        while True:
            try:
                for event in self._stream(run, last, hosts):
                    last, failures = event.id, 0
                    yield event
                    if event.kind == "end":
                        return
                reason = "the stream ended early"
            except (OSError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
            failures += 1
            if failures > RECONNECTS:
                raise UnreachableError(f"{self._name()}: events of run {run}: {reason}")
            time.sleep(0.1 * 2**failures)

    def cells(self, run: str, page_size: int = 100) -> Iterator[StoredCell]:
        """The cells of a run with their results."""
        return self._pages(f"{_path(run)}/cells?limit={page_size}", "cells")

    def intervals(
        self,
        run: str,
        cell: int = 0,
        stage: str = "measure",
        trial: int = 0,
        page_size: int = 1000,
        host: str | None = None,
        hosts: bool = False,
    ) -> Iterator[StoredInterval]:
        """The stored intervals of a stage of a cell.

        Those of one agent if `host` names it. With `hosts`, the combined ones have the parts of up to 16 single hosts; `page_size` is at
        most 1000 then.
        """
        given: dict[str, Any] = {"cell": cell, "stage": stage, "trial": trial, "limit": page_size, "host": host}
        given["hosts"] = "true" if hosts else None
        query = urllib.parse.urlencode({name: value for name, value in given.items() if value is not None})
        return self._pages(f"{_path(run)}/intervals?{query}", "intervals")

    def report(self, run: str) -> str:
        """The HTML report."""
        return self._request("GET", f"{_path(run)}/report").decode()

    def experiment(self, run: str) -> str:
        """The experiment as it was posted."""
        return self._request("GET", f"{_path(run)}/experiment").decode()

    def compare(
        self, run: str, reference: str, metric: str | None = None, threshold: float | None = None
    ) -> dict[str, Any]:
        """What changed since the reference run; schemas/comparison.schema.json describes it."""
        given = {"with": reference, "metric": metric, "threshold": threshold}
        query = urllib.parse.urlencode({name: value for name, value in given.items() if value is not None})
        return cast(dict[str, Any], self._json("GET", f"{_path(run)}/compare?{query}"))

    def compare_page(self, run: str, reference: str) -> str:
        """The comparison as an HTML page with the charts of both runs."""
        query = urllib.parse.urlencode({"with": reference})
        return self._request("GET", f"{_path(run)}/compare?{query}", headers={"Accept": "text/html"}).decode()

    def hosts(self, page_size: int = 100) -> Iterator[Host]:
        """The service's own host (`this host`) and those of its recent runs, by name."""
        return self._pages(f"/api/v3/hosts?limit={page_size}", "hosts")

    def host(self, name: str) -> HostDetail:
        """One host with its last runs, and what they recorded about it."""
        return cast(HostDetail, self._json("GET", f"/api/v3/hosts/{urllib.parse.quote(name, safe='')}"))

    def agents(self, run: str | None = None, page_size: int = 100) -> Iterator[Agent]:
        """The agents of the runs under way; of a run, its own by name, also after its end."""
        path = "/api/v3/agents" if run is None else f"{_path(run)}/agents"
        return self._pages(f"{path}?limit={page_size}", "agents")

    def arrays(self, page_size: int = 100) -> Iterator[Array]:
        """The arrays of recent checks, and those on which a run left something, by address."""
        return self._pages(f"/api/v3/arrays?limit={page_size}", "arrays")

    def array(self, address: str) -> ArrayDetail:
        """One array: the last runs on it, what they created, and what is left."""
        return cast(ArrayDetail, self._json("GET", f"/api/v3/arrays/{urllib.parse.quote(address, safe='')}"))

    def leftovers(self, page_size: int = 100) -> Iterator[Leftover]:
        """What runs created and did not remove."""
        return self._pages(f"/api/v3/leftovers?limit={page_size}", "leftovers")

    def post_clean_up(
        self,
        run: str,
        token: str | None = None,
        keys: Mapping[str, AccessKey] | None = None,
        idempotency_key: str | None = None,
    ) -> Run:
        """Removes what a run left, as a run of its own. `token` is the array's, and `keys` has the key for buckets as `s3`."""
        given: dict[str, Any] = {"run": run, "token": token, "keys": keys}
        fields = {name: value for name, value in given.items() if value is not None}
        return self._post_work("/api/v3/clean-ups", fields, idempotency_key)

    def forget_leftover(self, run: str) -> list[str]:
        """Forgets what a run left, and removes nothing; returns what may still exist."""
        path = f"/api/v3/leftovers/{urllib.parse.quote(run, safe='')}"
        return cast(list[str], self._json("DELETE", path)["not_removed"])

    def baselines(self, page_size: int = 100) -> Iterator[Baseline]:
        """The baselines by name."""
        return self._pages(f"/api/v3/baselines?limit={page_size}", "baselines")

    def baseline(self, name: str) -> BaselineDetail:
        """One baseline with its figures."""
        return cast(BaselineDetail, self._json("GET", _baseline_path(name)))

    def save_baseline(self, name: str, run: str) -> BaselineDetail:
        """Keeps a finished run, or the links of a network test, as a baseline; replaces an earlier one of this name."""
        body = json.dumps({"run": run}).encode()
        return cast(BaselineDetail, self._json("PUT", _baseline_path(name), body=body))

    def remove_baseline(self, name: str) -> None:
        """Removes a baseline; its run stays."""
        self._request("DELETE", _baseline_path(name))

    def compare_with_baseline(self, run: str, baseline: str) -> dict[str, Any]:
        """What changed since the run that is kept as a baseline; schemas/comparison.schema.json describes it."""
        query = urllib.parse.urlencode({"baseline": baseline})
        return cast(dict[str, Any], self._json("GET", f"{_path(run)}/compare?{query}"))

    def add_schedule(
        self,
        experiment: Experiment,
        every: str,
        *,
        time_zone: str = "UTC",
        missed_rule: Literal["run", "skip"] = "run",
        threshold: float | None = None,
        webhook: str | None = None,
        idempotency_key: str | None = None,
    ) -> Schedule:
        """Runs an experiment at given times: `6h`, `1d at 02:00`, `1w on mon,thu at 02:00`.

        Each run is compared with the earlier ones. `webhook` is a URL that receives a POST when one is slower, by more than
        the share `threshold`, or fails. With an idempotency key, a repeated call returns the same schedule.
        """
        form: dict[str, Any] = {
            "experiment": _text(experiment),
            "every": every,
            "time_zone": time_zone,
            "missed_rule": missed_rule,
            "threshold": threshold,
            "webhook": webhook,
        }
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return cast(Schedule, self._json("POST", "/api/v3/schedules", body=json.dumps(form).encode(), headers=headers))

    def schedule(self, schedule: str) -> Schedule:
        """One schedule, with its last runs and their gates."""
        return cast(Schedule, self._json("GET", _schedule_path(schedule)))

    def schedules(self) -> list[Schedule]:
        """All schedules, oldest first, each with its newest run."""
        return cast(list[Schedule], self._json("GET", "/api/v3/schedules")["schedules"])

    def schedule_experiment(self, schedule: str) -> str:
        """The experiment of a schedule, as it was posted."""
        return self._request("GET", f"{_schedule_path(schedule)}/experiment").decode()

    def start_schedule(self, schedule: str) -> Run:
        """Starts a run of a schedule now, besides its times."""
        return cast(Run, self._json("POST", f"{_schedule_path(schedule)}/start"))

    def pause_schedule(self, schedule: str) -> Schedule:
        """Lets a schedule start nothing until it continues."""
        return cast(Schedule, self._json("POST", f"{_schedule_path(schedule)}/pause"))

    def continue_schedule(self, schedule: str) -> Schedule:
        """Continues a paused schedule with its next time from now."""
        return cast(Schedule, self._json("POST", f"{_schedule_path(schedule)}/continue"))

    def remove_schedule(self, schedule: str) -> None:
        """Removes a schedule; its runs stay."""
        self._request("DELETE", _schedule_path(schedule))

    def metrics(self) -> str:
        """Figures of the queue and of the runs under way, as OpenMetrics text."""
        return self._request("GET", "/metrics").decode()

    def _post_work(self, path: str, fields: Mapping[str, Any], idempotency_key: str | None) -> Run:
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return cast(Run, self._json("POST", path, body=json.dumps(fields).encode(), headers=headers))

    def _pages(self, path: str, items: str) -> Iterator[Any]:
        following: str | None = path
        while following is not None:
            page = self._json("GET", following)
            yield from page[items]
            following = page.get("next")

    def _json(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        return json.loads(self._request(method, path, body, headers))

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        try:
            with closing(self._connection(self._timeout)) as connection:
                response = self._send(connection, method, path, body, headers or {})
                return response.read()
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"{self._name()}: {error or type(error).__name__}") from error

    def _stream(self, run: str, last: int, hosts: bool) -> Iterator[Event]:
        with closing(self._connection(SILENCE_S)) as connection:
            headers = {"Last-Event-ID": str(last)} if last else {}
            path = f"{_path(run)}/events{'?hosts=true' if hosts else ''}"
            yield from parse(self._send(connection, "GET", path, None, headers))

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        """Sends a request; the response, whose body is not read yet. Errors of the service raise `ProblemError`."""
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, self._prefix + path, body, {**self._headers, **kind, **headers})
        response = connection.getresponse()
        if response.status >= 300:
            raise ProblemError.of(response.status, response.reason, response.read())
        return response

    def _name(self) -> str:
        return f"{self._host}:{self._port}" if self._port else self._host


def _path(run: str) -> str:
    return f"/api/v3/runs/{urllib.parse.quote(run, safe='')}"


def _baseline_path(name: str) -> str:
    return f"/api/v3/baselines/{urllib.parse.quote(name, safe='')}"


def _schedule_path(schedule: str) -> str:
    return f"/api/v3/schedules/{urllib.parse.quote(schedule, safe='')}"


def _text(experiment: Experiment) -> str:
    """JSON is YAML: an experiment given as its content is sent as such a text."""
    return experiment if isinstance(experiment, str) else json.dumps(experiment)


def _body(experiment: Experiment, keys: Mapping[str, AccessKey] | None) -> bytes:
    form: dict[str, Any] = {"experiment": _text(experiment)}
    if keys:
        form["keys"] = keys
    return json.dumps(form).encode()


def _jobs(jobs: str, hosts: Sequence[str], name: str | None) -> bytes:
    form: dict[str, Any] = {"jobs": jobs, "hosts": list(hosts)}
    if name is not None:
        form["name"] = name
    return json.dumps(form).encode()
