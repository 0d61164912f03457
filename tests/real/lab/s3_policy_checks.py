"""S3 with keys that may do just what their policy says, against MinIO."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from .lab import Lab
from .manometer import Manometer
from .minio import Minio
from .nfs_checks import succeeded
from .place import Place
from .process import free_port, wait_until
from .report import Report
from .s3_checks import LARGE, SMALL

# What docs/check.md says is needed while no object is larger than 64 MiB, and what larger ones need besides.
FEW = ("s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject")
FOR_PARTS = ("s3:ListBucketMultipartUploads", "s3:AbortMultipartUpload")


@contextmanager
def server(lab: Lab, *actions: str) -> Iterator[tuple[Minio, Manometer]]:
    """A server, and the program with a user's keys beside it."""
    with ExitStack() as stack:
        place = Place(stack.enter_context(lab.directory()))
        minio = Minio(lab.minio, place, free_port("127.0.0.1"))
        stack.callback(minio.stop)
        yield minio, Manometer(lab.manometer, place, minio.user(*actions))


def url(minio: Minio) -> str:
    """The bucket as `manometer check --s3` takes it."""
    return f"--s3=s3://{minio.bucket}?endpoint={minio.endpoint}"


def few_permissions(lab: Lab, report: Report) -> None:
    """List, get, put and delete are enough, also for `cleanup` after kill -9."""
    with server(lab, *FEW) as (minio, manometer):
        succeeded(report, manometer.check(url(minio), *SMALL, "--dataset=32MiB", "--verify"), "s3")
        report.equal("nothing left", minio.objects(), {})
        run = manometer.start_check(url(minio), *SMALL, "--dataset=32MiB", duration="20s")
        wait_until("objects", lambda: len(minio.objects()) > 1, 30, run.child)
        run.child.signal(signal.SIGKILL)
        run.finish()
        report.check("something is left behind", bool(minio.objects()))
        cleanup = manometer.cleanup()
        report.equal("cleanup ends with 0", cleanup.code, 0) or print(cleanup.stderr)
        report.equal("nothing left after cleanup", minio.objects(), {})
        report.equal("no journal left", [path for path in manometer.state.rglob("*.jsonl")], [])


def parts_need_more(lab: Lab, report: Report) -> None:
    """Uploads in parts that cannot be listed are named with the permission; the objects are removed all the same."""
    with server(lab, *FEW) as (minio, manometer):
        outcome = manometer.check(url(minio), *LARGE, "--dataset=288MiB")
        report.equal("exit code 1", outcome.code, 1)
        words = ["ListMultipartUploads needs s3:ListBucketMultipartUploads", "left behind"]
        report.contains("the request and the permission are named", outcome.stderr, words)
        report.equal("no object left", minio.objects(), {})
        manometer.env |= minio.user(*FEW, *FOR_PARTS)
        cleanup = manometer.cleanup()
        report.equal("cleanup with the permission ends with 0", cleanup.code, 0) or print(cleanup.stderr)
        # Long enough for objects of this size on a busy machine.
        succeeded(report, manometer.check(url(minio), *LARGE, "--dataset=288MiB", duration="6s"), "s3")


def read_only(lab: Lab, report: Report) -> None:
    """Keys that may not put fail in the write phase, and leave nothing that must be cleaned up."""
    with server(lab, "s3:ListBucket", "s3:GetObject") as (minio, manometer):
        outcome = manometer.check(url(minio), *SMALL)
        report.equal("exit code 1", outcome.code, 1)
        report.contains("the cause and the next step", outcome.stderr, ["AccessDenied", "may put, get, list and delete"])
        report.equal("nothing left", minio.objects(), {})
        report.equal("cleanup ends with 0", manometer.cleanup().code, 0)


SCENARIOS = {
    "s3 policy: list, get, put, delete": few_permissions,
    "s3 policy: uploads in parts": parts_need_more,
    "s3 policy: read only": read_only,
}
