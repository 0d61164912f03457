"""The client against a real `manometer serve`."""

from __future__ import annotations

import json
import pathlib
import socket
import ssl
import sys
import time
import typing
from collections.abc import Iterator
from typing import Any

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from manometer_client import Client, ProblemError, UnreachableError, WaitTimeoutError, types  # noqa: E402
from served import Served  # noqa: E402

DOCUMENT = HERE.parents[2] / "schemas" / "openapi-v3.json"

# Answers after exactly 1 ms on a virtual clock, and is finished at once.
EXACT = """
name: exact
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, block_size: 4KiB, file_size: 1MiB}}
matrix: {queue_depth: [4, 8, 16]}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
"""

# Lasts until it is stopped.
LONG = {
    "name": "long",
    "targets": {"t": "null:"},
    "workloads": {"w": {"ops": "read", "rate": "200/s", "block_size": "4KiB", "file_size": "1MiB"}},
    "stages": {"warm_up": "0s", "measure": {"at_least": "600s", "at_most": "600s"}},
    "steady": "none",
}


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as running:
        yield running


def test_connections_are_encrypted_and_the_certificate_is_checked() -> None:
    with Served("--tls") as served:
        assert served.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(served.directory / "state" / "certificate.pem"))
        service = Client(served.url, tls=trusted)
        run = service.wait(service.post(EXACT)["id"])
        assert run["state"] == "finished"
        assert [event.kind for event in service.events(run["id"])][-1] == "end"
        with pytest.raises(UnreachableError, match="certificate"):
            Client(served.url).run(run["id"])


def test_a_run_from_its_post_to_its_report(served: Served) -> None:
    service = Client(served.url)
    plan = service.validate(EXACT)
    assert plan["cell_count"] == 3 and plan["expected_seconds"] == {"min": 33.0, "max": 33.0}
    run = service.post(EXACT, idempotency_key="nightly-1")
    assert service.post(EXACT, idempotency_key="nightly-1")["id"] == run["id"]
    events = list(service.events(run["id"]))
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert (events[-1].kind, events[-1].data["state"]) == ("end", "finished")
    assert list(service.events(run["id"], after=events[3].id)) == events[4:]
    ended = service.wait(run["id"], timeout=60)
    assert ended["state"] == "finished" and ended["finished"] is not None
    cells = list(service.cells(run["id"], page_size=2))
    assert [cell["index"] for cell in cells] == [0, 1, 2]
    assert cells[0]["result"] is not None and cells[0]["result"]["total"]["failed"] == 0
    intervals = list(service.intervals(run["id"], cell=1, page_size=4))
    assert [interval["interval"] for interval in intervals] == list(range(len(intervals))) and len(intervals) >= 10
    assert abs(intervals[5]["ops"][0]["ops_per_s"] / 8000 - 1) < 0.01
    assert service.experiment(run["id"]) == EXACT
    assert "<html" in service.report(run["id"])
    again = service.post(EXACT)
    service.wait(again["id"], timeout=60)
    compared = service.compare(again["id"], run["id"], metric="rate")
    assert (compared["a"]["id"], compared["b"]["id"]) == (run["id"], again["id"])
    assert len(compared["cells"]) == 3 and compared["regressions"] == 0
    assert "<html" in service.compare_page(again["id"], run["id"])
    assert [each["id"] for each in service.runs(page_size=1)] == [again["id"], run["id"]]
    assert "manometer_queue_length 0" in service.metrics()


def test_runs_are_stopped_and_errors_say_what_to_do(served: Served) -> None:
    service = Client(served.url)
    run = service.post(LONG)
    with pytest.raises(WaitTimeoutError, match="running after 0.3 s"):
        for event in service.events(run["id"]):
            if event.kind == "interval":
                break
        service.wait(run["id"], timeout=0.3)
    assert service.stop(run["id"])["state"] in ("running", "interrupted")
    assert service.wait(run["id"], timeout=60)["state"] == "interrupted"
    with pytest.raises(ProblemError) as refused:
        service.post("targets: {t: 'null:'}\nworkloads: {w: {ops: reed}}\n")
    assert (refused.value.status, refused.value.code) == (422, "experiment")
    assert refused.value.faults[0]["line"] == 2 and "reed" in refused.value.faults[0]["source_line"]
    finished = service.post(EXACT)
    service.wait(finished["id"], timeout=60)
    with pytest.raises(ProblemError, match="nothing to resume") as complete:
        service.resume(finished["id"])
    assert (complete.value.status, complete.value.code) == (409, "finished")
    with pytest.raises(ProblemError, match="there is no run") as missing:
        service.run("aaaaaaaa/../x")
    assert (missing.value.status, missing.value.code) == (404, "no-such-run")


def test_a_job_file_runs_and_is_converted(served: Served) -> None:
    service = Client(served.url)
    jobs = "[one]\nioengine=null\nrw=read\nsize=1m\nio_size=2m\nbs=4k\n"
    run = service.post_fio(jobs, name="nightly")
    assert (run["name"], service.wait(run["id"], timeout=60)["state"]) == ("nightly", "finished")
    converted = service.convert_fio(jobs, hosts=["203.0.113.7"])
    assert converted["hosts"] == ["203.0.113.7"]
    assert service.validate(converted["experiment"])["cell_count"] == converted["cell_count"] == 1
    with pytest.raises(ProblemError) as refused:
        service.convert_fio("[one]\nrw=sideways\n")
    assert (refused.value.code, refused.value.faults[0]["line"]) == ("jobs", 2)


def test_a_check_from_its_post_to_its_result(served: Served) -> None:
    service = Client(served.url)
    check = {"demo": True, "duration": "1s", "workers": 1, "lanes": 2, "dataset": "8MiB", "no_probe": True}
    run = service.post_check(check, idempotency_key="check-1")
    assert service.post_check(check, idempotency_key="check-1")["id"] == run["id"]
    assert run["kind"] == "check" and "experiment" not in run["links"]
    ended = service.wait(run["id"], timeout=120)
    assert ended["state"] == "finished", ended
    result = service.result(run["id"])
    assert (result["schema"], result["run_id"], len(result["rows"])) == ("manometer.check", run["id"], 4)
    assert len(list(service.cells(run["id"]))) == 8 and "<html" in service.report(run["id"])
    assert json.loads(service.request(run["id"])) == check
    with pytest.raises(ProblemError) as refused:
        service.post_check({"nfs": ["nfs://filer/export"], "lanes": 0})
    assert (refused.value.code, refused.value.field) == ("field", "lanes")
    with pytest.raises(ProblemError, match="only experiments are resumed"):
        service.resume(run["id"])


def test_a_calibration_needs_permission() -> None:
    with Served() as plain, pytest.raises(ProblemError, match="--allow-local") as refused:
        Client(plain.url).post_calibration()
    assert refused.value.code == "not-allowed"
    with Served("--allow-local") as served:
        service = Client(served.url)
        run = service.post_calibration(seconds=0.05, repetitions=1)
        assert run["kind"] == "calibration" and service.wait(run["id"], timeout=120)["state"] == "finished"
        assert service.result(run["id"])["schema"] == "manometer.calibration"


def test_a_network_test_between_agents() -> None:
    with Served("--allow-local") as served:
        service = Client(served.url)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = min(free.getsockname()[1], 59_000)
        test = {"fleet": {"local": 2}, "streams": [1], "duration": "300ms", "ramp": "100ms", "port": port}
        run = service.wait(service.post_network_test(test)["id"], timeout=120)
        assert (run["kind"], run["state"]) == ("network-test", "finished"), run
        assert len(service.result(run["id"])["links"]) == 1


def test_schedules_are_added_started_and_removed(served: Served) -> None:
    service = Client(served.url)
    assert service.schedules() == []
    made = service.add_schedule(EXACT, "1d at 02:00", time_zone="Europe/Berlin", idempotency_key="nightly-1")
    assert (made["name"], made["missed_rule"], made["runs"]) == ("exact", "run", [])
    assert len(made["next"]) == 3 and "T02:00:00+0" in made["next"][0]
    again = service.add_schedule(EXACT, "1d at 02:00", time_zone="Europe/Berlin", idempotency_key="nightly-1")
    assert again["id"] == made["id"] and service.schedule_experiment(made["id"]) == EXACT
    verdicts = []
    for _ in range(2):
        run = service.start_schedule(made["id"])
        service.wait(run["id"], timeout=60)
        deadline = time.monotonic() + 60
        # The gate follows the end of the run.
        while not (gate := service.run(run["id"]).get("gate")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        verdicts.append(gate["verdict"])
    assert verdicts == ["first", "passed"]
    assert [run["schedule"] for run in service.schedule(made["id"])["runs"]] == [made["id"]] * 2
    paused = service.pause_schedule(made["id"])
    assert paused["paused"] and paused["next"] == []
    assert len(service.continue_schedule(made["id"])["next"]) == 3
    with pytest.raises(ProblemError, match="write") as refused:
        service.add_schedule(EXACT, "now and then")
    assert (refused.value.status, refused.value.code) == (422, "schedule")
    assert [schedule["id"] for schedule in service.schedules()] == [made["id"]]
    service.remove_schedule(made["id"])
    with pytest.raises(ProblemError) as missing:
        service.schedule(made["id"])
    assert missing.value.code == "no-such-schedule"


def test_hosts_say_what_occupies_them_and_what_runs_recorded(served: Served) -> None:
    service = Client(served.url)
    (own,) = service.hosts()
    assert own["name"] == "this host" and own["occupied_by"] is None and own["last_run"] is None
    measured = service.wait(service.post(EXACT)["id"], timeout=60)
    long = service.post(LONG)
    waiting = service.post(EXACT)
    while service.run(long["id"])["state"] == "queued":
        time.sleep(0.05)
    found = service.host("this host")
    assert found["occupied_by"] == long["id"] and found["waiting"] == 1
    assert [run["id"] for run in found["runs"]] == [waiting["id"], long["id"], measured["id"]]
    assert found["ended"] == {"finished": 1, "interrupted": 0, "failed": 0}
    assert found["recorded"] is not None and "kernel" in found["recorded"]["facts"]
    with pytest.raises(ProblemError) as missing:
        service.host("nowhere/else")
    assert missing.value.code == "no-such-host"
    service.stop(waiting["id"])
    service.stop(long["id"])


def test_agents_say_what_they_do_and_hosts_what_they_measure() -> None:
    with Served("--allow-local") as served:
        service = Client(served.url)
        assert list(service.agents()) == []
        run = service.post({**LONG, "fleet": {"local": 2}})["id"]
        for event in service.events(run, hosts=True):
            if event.kind == "interval" and event.data["stage"] == "measure" and event.data["interval"] > 0:
                break
        assert [part["host"] for part in event.data["hosts"]] == ["local-0", "local-1"]
        agents = list(service.agents(page_size=1))
        assert [(one["run"], one["name"], one["state"]) for one in agents] == [
            (run, "local-0", "active"),
            (run, "local-1", "active"),
        ]
        assert agents[0]["last_interval"] is not None and "kernel" in agents[0]["facts"]
        service.stop(run)
        service.wait(run, timeout=60)
        ended = list(service.agents(run))
        assert [one["state"] for one in ended] == ["ended", "ended"]
        assert ended[1]["last_cell"] is not None and ended[1]["last_cell"]["lost"] is None
        together = list(service.intervals(run, page_size=1, hosts=True))
        alone = list(service.intervals(run, host="local-1"))
        assert [one["hosts"][1]["ops"] for one in together] == [one["ops"] for one in alone]
        with pytest.raises(ProblemError) as missing:
            list(service.intervals(run, host="local-2"))
        assert missing.value.code == "no-such-agent"


def test_a_run_is_kept_as_a_baseline_and_compared_with(served: Served) -> None:
    service = Client(served.url)
    assert list(service.baselines()) == []
    run = service.wait(service.post(EXACT)["id"], timeout=60)
    kept = service.save_baseline("before / after", run["id"])
    assert kept["kind"] == "run" and kept["run"] == run["id"] and len(kept["cells"]) == kept["cell_count"]
    assert service.baseline("before / after") == kept
    assert [one["name"] for one in service.baselines(page_size=1)] == ["before / after"]
    assert service.compare_with_baseline(run["id"], "before / after")["a"]["baseline"] == "before / after"
    service.remove_baseline("before / after")
    with pytest.raises(ProblemError) as missing:
        service.baseline("before / after")
    assert missing.value.code == "no-such-baseline"


def test_nothing_is_left_of_runs_that_ended(served: Served) -> None:
    service = Client(served.url)
    run = service.wait(service.post(EXACT)["id"], timeout=60)
    assert list(service.leftovers()) == [] and list(service.arrays()) == []
    for removal in (service.post_clean_up, service.forget_leftover):
        with pytest.raises(ProblemError) as nothing:
            removal(run["id"])
        assert nothing.value.code == "no-leftovers"
    with pytest.raises(ProblemError) as missing:
        service.array("nowhere")
    assert missing.value.code == "no-such-array"


def test_events_continue_after_a_restart_and_end_with_the_service(served: Served) -> None:
    service = Client(served.url)
    run = service.post(LONG)
    events = service.events(run["id"])
    for event in events:
        if event.kind == "interval":
            break
    served.kill()
    served.start(served.address)
    rest = list(events)
    assert rest[-1].kind == "end" and rest[-1].data["state"] == "interrupted", rest
    resumed = service.resume(run["id"], keys={"t": {"id": "unused", "secret": "by this target"}})
    assert resumed["id"] == run["id"] and resumed["state"] in ("queued", "running")
    service.stop(run["id"])
    assert service.wait(run["id"], timeout=60)["state"] == "interrupted"
    served.kill()
    with pytest.raises(UnreachableError):
        service.run(run["id"])
    served.start()


def test_a_token_is_sent_with_every_request() -> None:
    with Served() as plain:
        token = plain.directory / "token"
        token.write_text("a-token-of-thirty-two-characters\n")
        with Served("--token-file", str(token)) as served:
            with pytest.raises(ProblemError) as refused:
                list(Client(served.url).runs())
            assert refused.value.code == "no-token"
            service = Client(served.url, token="a-token-of-thirty-two-characters")
            run = service.post(EXACT)
            assert list(service.events(run["id"]))[-1].kind == "end"


def test_types_are_those_of_the_document() -> None:
    schemas: dict[str, Any] = json.loads(DOCUMENT.read_text())["components"]["schemas"]

    def fields(schema: dict[str, Any]) -> tuple[set[str], set[str]]:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
        parts = [fields(part) for part in schema.get("allOf", [])]
        parts.append((set(schema.get("properties", {})), set(schema.get("required", []))))
        return set().union(*(names for names, _ in parts)), set().union(*(required for _, required in parts))

    checked = 0
    for name, kind in vars(types).items():
        if isinstance(kind, type) and hasattr(kind, "__required_keys__") and kind.__module__ == types.__name__:
            checked += 1
            names, required = fields(schemas[name])
            hints = typing.get_type_hints(kind, include_extras=True)
            assert set(hints) == names, name
            optional = {field for field, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
            assert set(hints) - optional == required, name
    assert checked >= 12
