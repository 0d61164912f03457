"""S3 against Ceph's object gateway: operations, sizes and counts as boto3 and the gateway see them, and what is refused."""

from __future__ import annotations

import signal
from contextlib import ExitStack

from .ceph import Cluster
from .file_checks import result, start
from .lab import Lab
from .manometer import Manometer
from .place import Place
from .process import wait_until
from .radosgw import Gateway
from .report import Report, Scenario
from .s3_operation_checks import observed

LOAD = "ops: {put: 30%, get: 40%, stat: 10%, list: 10%, delete: 10%}, object_size: 100KiB, objects: 40, queue_depth: 4, verify: true"
# Uploads in two parts of 5 MiB and a rest.
PARTS = "ops: {put: 50%, get: 50%}, object_size: 11MiB, objects: 4, queue_depth: 2, verify: true"


def gateway(lab: Lab, report: Report) -> None:
    """All of it on one cluster."""
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        served = Gateway(Cluster(directory / "ceph", stack), stack)
        keys = {"AWS_ACCESS_KEY_ID": served.access_key, "AWS_SECRET_ACCESS_KEY": served.secret_key}
        manometer = Manometer(lab.manometer, Place(directory), keys)
        url = f"s3://{served.bucket}?endpoint={served.endpoint}"
        for load, options in [(LOAD, ""), (LOAD, "&signing=signed"), (PARTS, "&part_size=5MiB")]:
            outcome = start(manometer, url + options, load).finish()
            report.equal(f"{load} {options}: code", outcome.code, 0) or print(outcome.stderr[-2000:])
            total = result(outcome)["total"]
            report.check(f"{load} {options}: no errors", total["ok"] > 0 and total["failed"] == 0, total)
            report.equal(f"{load} {options}: what is left", served.objects(), {})
        observed(served, manometer, report)
        killed(served, manometer, report, url)
        stranger = Manometer(manometer.program, manometer.place, {"AWS_ACCESS_KEY_ID": "NOBODY", "AWS_SECRET_ACCESS_KEY": "wrong"})
        for what, program, target, parts in [
            ("a wrong bucket", manometer, url.replace(served.bucket, "nothing"), ["NoSuchBucket", "create it or name one that exists"]),
            ("a wrong key", stranger, url, ["NOBODY"]),
        ]:
            outcome = start(program, target, LOAD).finish()
            report.check(f"{what}: fails", outcome.code != 0, outcome.code)
            report.contains(f"{what}: says so", outcome.stderr, parts)
            report.check(f"{what}: no secret", served.secret_key not in outcome.stderr)


def killed(served: Gateway, manometer: Manometer, report: Report, url: str) -> None:
    """A killed run's objects are what the gateway counts; cleanup removes them, and no others."""
    served.client.put_object(Bucket=served.bucket, Key="theirs", Body=b"value")
    going = start(manometer, url, "ops: get, object_size: 100KiB, objects: 60, queue_depth: 4", measure="60s")
    wait_until("the data set", lambda: len(served.objects()) == 61, 60, going.child)
    going.child.signal(signal.SIGKILL)
    going.finish()
    report.equal("objects and bytes that the gateway counts", served.counted(served.bucket), (61, 60 * 102_400 + 5))
    report.equal("cleanup", manometer.cleanup().code, 0)
    report.equal("what is left after it", served.objects(), {"theirs": 5})
    served.client.delete_object(Bucket=served.bucket, Key="theirs")


SCENARIOS: dict[str, Scenario] = {"radosgw": gateway}
