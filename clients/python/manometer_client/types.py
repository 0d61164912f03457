"""The JSON of the API. schemas/openapi-v3.json describes each field."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

RunKind = Literal["experiment", "check", "network-test", "calibration", "clean-up"]
RunState = Literal["queued", "running", "finished", "interrupted", "failed", "cancelled"]


class AccessKey(TypedDict):
    """An access key for a target."""

    id: str
    secret: str
    token: NotRequired[str | None]


class Fault(TypedDict):
    """A fault of an experiment."""

    line: int
    column: int
    length: int
    text: str
    hint: str
    source_line: str
    note: NotRequired[str | None]


class Problem(TypedDict):
    """An error."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    field: NotRequired[str | None]
    faults: NotRequired[list[Fault]]
    more_faults: NotRequired[int]


class Links(TypedDict):
    """Paths of the service."""

    self: str
    events: str
    cells: str
    intervals: str
    report: str
    request: str
    experiment: NotRequired[str | None]
    result: NotRequired[str | None]


class SlowerCell(TypedDict):
    """A cell that got slower."""

    cell: str
    target: str
    metric: str
    before: float
    now: float
    relative: float
    low: float
    high: float


class Gate(TypedDict):
    """A run of a schedule compared with the earlier ones."""

    verdict: Literal["first", "passed", "slower", "not-comparable", "failed"]
    confirmed: bool
    threshold: float
    reference: list[str]
    summary: str
    slower: list[SlowerCell]
    more: int


class WebhookCall(TypedDict):
    """A call of a webhook."""

    state: Literal["pending", "delivered", "failed"]
    attempts: int
    error: str | None


class Run(TypedDict):
    """A run that the service was asked for. Times are in RFC 3339."""

    id: str
    kind: RunKind
    name: str
    hosts: list[str]
    state: RunState
    asked: str
    started: str | None
    finished: str | None
    reason: str | None
    schedule: NotRequired[str | None]
    gate: NotRequired[Gate | None]
    webhook: NotRequired[WebhookCall | None]
    links: Links


class HostRun(TypedDict):
    """A run on a host. Times are in RFC 3339."""

    id: str
    kind: RunKind
    name: str
    state: RunState
    asked: str
    started: str | None
    finished: str | None
    reason: str | None


class EndedRuns(TypedDict):
    """Number of runs by how they ended."""

    finished: int
    interrupted: int
    failed: int


class Host(TypedDict):
    """A host that runs occupy."""

    name: str
    occupied_by: str | None
    waiting: int
    last_run: HostRun | None
    ended: EndedRuns


class RecordedHost(TypedDict):
    """What a run recorded about a host."""

    run: str
    version: str
    facts: dict[str, str]


class HostDetail(Host):
    """A host with its last runs, newest first."""

    runs: list[HostRun]
    recorded: RecordedHost | None


class CreatedItem(TypedDict):
    """Something that a run created: on an array, or a place on a target."""

    what: str
    kind: str
    on_array: bool
    state: Literal["intended", "created", "removed", "foreign"]
    since: str | None


class Leftover(TypedDict):
    """What a run created and did not remove."""

    run: str
    name: str | None
    state: RunState | None
    host: str
    array: str | None
    items: list[CreatedItem]
    unreadable: str | None


class Array(TypedDict):
    """An array on which runs created something."""

    address: str
    last_run: HostRun | None
    ended: EndedRuns
    left_count: int


class ArrayRun(HostRun):
    """A run on an array, with what it created there."""

    created: list[str]


class ArrayLeftover(TypedDict):
    """What a run left on an array."""

    run: str
    items: list[CreatedItem]


class ArrayDetail(Array):
    """An array with its last runs, newest first, and what they left."""

    api_version: str | None
    runs: list[ArrayRun]
    left: list[ArrayLeftover]


class Baseline(TypedDict):
    """Named results, with which later runs are compared."""

    name: str
    kept: str
    kind: Literal["run", "network"]
    run: str | None
    cell_count: int
    link_count: int
    hosts: list[str]
    bytes_per_s: float | None


class BaselineCell(TypedDict):
    """A cell of a baseline."""

    name: str
    target: str
    bytes_per_s: float
    ops_per_s: float
    p50_ns: int
    p99_ns: int


# `from` is no name of Python's, so the fields are written as a dictionary.
BaselineLink = TypedDict(
    "BaselineLink",
    {
        "from": str,
        "to": str,
        "streams": int,
        "both_ways": bool,
        "bytes_per_s": float | None,
        "round_trip_ns": int | None,
    },
)


class BaselineDetail(Baseline):
    """A baseline with the cells of its run, or the links of its network."""

    cells: list[BaselineCell]
    links: list[BaselineLink]


class Schedule(TypedDict):
    """An experiment that runs at given times."""

    id: str
    name: str
    every: str
    time_zone: str
    missed_rule: Literal["run", "skip"]
    threshold: float
    webhook: str | None
    paused: bool
    created: str
    next: list[str]
    skipped: int
    missed: int
    problem: str | None
    runs: list[Run]


class ExpectedSeconds(TypedDict):
    """Duration of all warm-ups and measurements."""

    min: float
    max: float


class PlannedCell(TypedDict):
    """A cell of a plan."""

    index: int
    name: str
    target: str


class PlanSummary(TypedDict):
    """A valid experiment in short."""

    name: str
    description: str | None
    hosts: list[str]
    expected_seconds: ExpectedSeconds
    cell_count: int
    cells: list[PlannedCell]
    remarks: list[str]


class ConvertedFioJobs(TypedDict):
    """The jobs of a fio job file as an experiment."""

    experiment: str
    hosts: list[str]
    cell_count: int
    warnings: list[str]


class StageIntervals(TypedDict):
    """A series of intervals."""

    stage: str
    trial: int
    intervals: int


class StoredCell(TypedDict):
    """A cell with its result: the fields of `CellResult` in the API's document."""

    index: int
    name: str
    target: str
    state: str
    steady: NotRequired[str]
    started: str | None
    finished: str | None
    result: dict[str, Any] | None
    failure: str | None
    stages: list[StageIntervals]


class Point(TypedDict):
    """One operation in an interval; latencies are response times, in nanoseconds."""

    op: str
    ops_per_s: float
    bytes_per_s: float
    ok: int
    failed: int
    bytes: int
    retries: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


class HostPoints(TypedDict):
    """One host's part of an interval."""

    host: str
    ops: list[Point]


class StoredInterval(TypedDict):
    """An interval with one point per operation."""

    interval: int
    start_s: float
    length_s: float
    ops: list[Point]
    hosts: NotRequired[list[HostPoints]]


class AgentInterval(TypedDict):
    """An interval of an agent."""

    cell: int
    stage: str
    trial: int
    interval: int
    start_s: float
    length_s: float
    ops: list[Point]


class HostClock(TypedDict):
    """A host's clock relative to the service's."""

    offset_ns: int
    uncertainty_ns: int
    drift_ppm: float
    round_trip_ns: int


class LostHost(TypedDict):
    """A host that failed during a cell."""

    at_s: float
    why: str


class AgentCell(TypedDict):
    """What an ended cell recorded about an agent, apart from its figures."""

    cell: int
    started_ns: int | None
    clock: HostClock | None
    lost: LostHost | None


class Agent(TypedDict):
    """The process that loads one host of a run's fleet."""

    id: str
    run: str
    name: str
    state: Literal["active", "idle", "lost", "ended"]
    version: str
    last_seen: str | None
    last_interval: AgentInterval | None
    last_cell: AgentCell | None
    facts: dict[str, str]
