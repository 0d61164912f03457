"""Copies, tags, batch deletes and common prefixes against versitygw and MinIO, looked at by boto3 while they happen."""

from __future__ import annotations

import hashlib
import signal
from collections import defaultdict
from typing import Any

from .file_checks import result, start
from .lab import Lab
from .manometer import Manometer
from .process import wait_until
from .report import Report
from .s3_bucket import S3Bucket
from .s3_checks import KEYS, gateway
from .s3_policy_checks import FEW, server

BATCH = 25
LOAD = (
    "ops: {put: 10%, copy: 30%, put-tagging: 20%, get-tagging: 15%, batch-delete: 20%, list-prefixes: 5%}, "
    f"batch_size: {BATCH}, object_size: 4KiB, objects: 5, queue_depth: 4"
)
# Set in the numbers of what the load itself puts and copies; below it are the lane, and a count from 0 in 37 bits.
OWN = 1 << 63
COUNT = (1 << 37) - 1


def number(key: str) -> int:
    """The number of the object with this key."""
    return int(key.rsplit("/", 1)[1], 16)


def own(storage: S3Bucket) -> list[str]:
    """The keys of what the load put and copied."""
    return [key for key in storage.objects() if number(key) & OWN]


def deleted(storage: S3Bucket) -> dict[int, int]:
    """How many objects of each lane are gone: the number of its oldest one."""
    oldest: dict[int, int] = defaultdict(lambda: COUNT)
    for key in own(storage):
        lane, count = number(key) & ~COUNT, number(key) & COUNT
        oldest[lane] = min(oldest[lane], count)
    return oldest


def settled(storage: S3Bucket) -> bool:
    """Nothing changes any more: what the paused program had asked for is done."""
    before = storage.objects()
    return before == storage.objects()


def looked_at(storage: S3Bucket, report: Report) -> None:
    """What is there while the program is paused."""
    client: Any = storage.client
    tags = 0
    for key in storage.objects():
        if number(key) & OWN:
            continue
        found = client.get_object_tagging(Bucket=storage.bucket, Key=key)["TagSet"]
        by_key = {tag["Key"]: tag["Value"] for tag in found}
        report.equal(f"tags of {key}", by_key.get("object"), key.rsplit("/", 1)[1])
        tags += len(by_key)
    report.equal("two tags for each of five objects", tags, 10)
    keys = own(storage)
    bodies = [client.get_object(Bucket=storage.bucket, Key=key)["Body"].read() for key in keys]
    report.check("objects have the load's size", all(len(body) == 4096 for body in bodies), len(bodies))
    kinds = len({hashlib.sha256(body).digest() for body in bodies})
    report.check("some objects have the data of others", 1 <= kinds < len(bodies), (kinds, len(bodies)))
    digits = {key.split("/")[1] for key in storage.objects()}
    report.check("keys are under their last digit", all(key.split("/")[1] == key[-1] for key in storage.objects()))
    run = next(iter(storage.objects())).split("/")[0]
    page = client.list_objects_v2(Bucket=storage.bucket, Prefix=f"{run}/", Delimiter="/")
    prefixes = {prefix["Prefix"] for prefix in page.get("CommonPrefixes", [])}
    report.equal("common prefixes", prefixes, {f"{run}/{digit}/" for digit in digits})
    gone = deleted(storage)
    report.check("batches are whole", all(count % BATCH == 0 for count in gone.values()), dict(gone))
    report.check("batches were deleted", any(gone.values()), dict(gone))


def observed(storage: S3Bucket, manometer: Manometer, report: Report) -> None:
    """One run: paused in the middle, looked at, and ended by a signal, so that it takes as long as the machine needs."""
    url = f"s3://{storage.bucket}?endpoint={storage.endpoint}&fan_out=16"
    run = start(manometer, url, LOAD, measure="90s", stages=", prepare: fill")
    wait_until("deleted batches", lambda: any(deleted(storage).values()), 30, run.child)

    def tagged() -> bool:
        data = [key for key in storage.objects() if not number(key) & OWN]
        sets = (storage.client.get_object_tagging(Bucket=storage.bucket, Key=key)["TagSet"] for key in data)
        return len(data) == 5 and all(sets)

    wait_until("tags of every object", tagged, 30, run.child)
    run.child.signal(signal.SIGSTOP)
    wait_until("the end of what was asked for", lambda: settled(storage) and bool(own(storage)), 30, run.child)
    looked_at(storage, report)
    run.resume()
    run.child.signal(signal.SIGINT)
    outcome = run.finish()
    report.equal("exit code of an interrupted run", outcome.code, 130) or print(outcome.stderr)
    ops = {op["op"]: op for op in result(outcome)["ops"]}
    for name in ("put", "copy", "put-tagging", "get-tagging", "batch-delete", "list-prefixes"):
        done = ops.get(name, {"ok": 0, "failed": 0, "rpcs": 0, "retries": 0})
        report.check(f"{name} was done, and never failed", done["ok"] > 0 and done["failed"] == 0, done)
        report.equal(f"{name} is one request", done["rpcs"] - done["retries"], done["ok"])
    report.equal("nothing left", storage.objects(), {})


def on_versitygw(lab: Lab, report: Report) -> None:
    with gateway(lab, KEYS) as (versity, manometer):
        observed(versity, manometer, report)


def on_minio(lab: Lab, report: Report) -> None:
    with server(lab, *FEW, "s3:PutObjectTagging", "s3:GetObjectTagging") as (minio, manometer):
        observed(minio, manometer, report)


SCENARIOS = {"s3 operations, versitygw": on_versitygw, "s3 operations, MinIO": on_minio}
