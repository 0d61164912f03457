"""S3 against versitygw."""

from __future__ import annotations

import hashlib
import signal
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from .lab import Lab
from .manometer import Manometer
from .nfs_checks import succeeded
from .place import Place, WithHosts
from .process import free_port, wait_until
from .report import Report
from .s3_bucket import REGION
from .versity import ACCESS_KEY, SECRET_KEY, Certificate, Versity

LANES = ("--skip-nfs", "--workers=1", "--lanes=4")
SMALL = (*LANES, "--object-size=1MiB")
# Objects above 64 MiB are uploaded in parts.
LARGE = (*LANES, "--object-size=72MiB")
KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": REGION}


@contextmanager
def gateway(
    lab: Lab, env: Mapping[str, str], address: str = "127.0.0.1", *, tls: bool = False, options: tuple[str, ...] = ()
) -> Iterator[tuple[Versity, Manometer]]:
    """A gateway and the program beside it."""
    with ExitStack() as stack:
        place = Place(stack.enter_context(lab.directory()))
        certificate = Certificate.make(place.directory, f"IP:{address}") if tls else None
        port = free_port(address)
        versity = Versity(lab.versitygw, place, port, address, certificate=certificate, options=options)
        stack.callback(versity.stop)
        yield versity, Manometer(lab.manometer, place, env)


def url(versity: Versity, bucket: str | None = None) -> str:
    """The bucket as `manometer check --s3` takes it."""
    return f"--s3=s3://{bucket or versity.bucket}?endpoint={versity.endpoint}"


def observed_run(lab: Lab, report: Report, *flags: str, load: tuple[str, ...] = SMALL) -> None:
    """Runs with verification, and looks with boto3 at what is there while it is there."""
    with gateway(lab, KEYS) as (versity, manometer):
        # The window goes on while the program is paused: it is long, and the pause is short.
        run = manometer.start_check(url(versity), *load, "--dataset=512MiB", "--verify", *flags, duration="5s")
        run.pause_after_write()
        seen = versity.objects()
        bodies = [
            versity.client.get_object(Bucket=versity.bucket, Key=key)["Body"].read(1 << 20) for key in list(seen)[:3]
        ]
        run.resume()
        outcome = run.finish()
        report.check("keys carry our name", all(key.startswith("manometer-") for key in seen), list(seen)[:3])
        report.equal("no two objects are equal", len({hashlib.sha256(body).digest() for body in bodies}), len(bodies))
        report.check("data is incompressible", all(len(zlib.compress(body, 1)) > 0.99 * len(body) for body in bodies))
        succeeded(report, outcome, "s3")
        written = outcome.rows[0]["written"]
        report.equal("objects counted by boto3", len(seen), written["objects"])
        report.equal("bytes counted by boto3", sum(seen.values()), written["bytes"])
        nothing_left(report, versity)


def nothing_left(report: Report, versity: Versity, *, besides: str = "") -> None:
    """Checks by boto3 and by the file system beneath that the bucket is empty."""
    report.equal("nothing left", versity.objects(), {})
    report.equal("no multipart upload left", versity.uploads(), [])
    files = [str(path) for path in (versity.data / versity.bucket).rglob("*") if path.is_file()]
    report.equal("no file left beneath", [path for path in files if not besides or besides not in path], [])


def keys_by_environment_uring(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--reactor=uring")


def keys_by_environment_epoll(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--reactor=epoll")


def multipart(lab: Lab, report: Report) -> None:
    observed_run(lab, report, load=LARGE)


def signed_payload(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--s3-payload=signed")


def crc64_trailer(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--s3-payload=crc64nvme")


def crc32c_trailer(lab: Lab, report: Report) -> None:
    observed_run(lab, report, "--s3-payload=crc32c")


def discarding(lab: Lab, report: Report) -> None:
    with gateway(lab, KEYS) as (versity, manometer):
        succeeded(report, manometer.check(url(versity), *SMALL, "--sink=discard"), "s3")
        nothing_left(report, versity)


def ipv6(lab: Lab, report: Report) -> None:
    with gateway(lab, KEYS, "::1") as (versity, manometer):
        succeeded(report, manometer.check(url(versity), *SMALL, "--verify"), "s3")
        nothing_left(report, versity)


def over_tls(lab: Lab, report: Report) -> None:
    """A certificate is trusted only when the user says so."""
    with gateway(lab, KEYS, tls=True) as (versity, manometer):
        outcome = manometer.check(url(versity), *SMALL)
        report.equal("unknown authority: exit code 1", outcome.code, 1)
        report.contains("unknown authority: the next step", outcome.stderr, ["certificate", "--s3-tls-ca"])
        authority = f"--s3-tls-ca={manometer.place.directory / 'server.pem'}"
        succeeded(report, manometer.check(url(versity), *SMALL, authority, "--verify"), "s3")
        succeeded(report, manometer.check(url(versity), *SMALL, "--s3-tls-insecure"), "s3")
        nothing_left(report, versity)


def virtual_host(lab: Lab, report: Report) -> None:
    """The bucket in the host name, which only the client's own hosts file can resolve here."""
    with gateway(lab, KEYS, options=("--virtual-domain=lab.test",)) as (versity, manometer):
        hosts = manometer.place.directory / "hosts"
        hosts.write_text(f"127.0.0.1 localhost lab.test {versity.bucket}.lab.test\n")
        manometer.place = WithHosts(manometer.place.directory, hosts)
        target = f"--s3=s3://{versity.bucket}?endpoint=http://lab.test:{versity.port}"
        succeeded(report, manometer.check(target, *SMALL, "--s3-virtual-host", "--verify"), "s3")
        nothing_left(report, versity)


def shared_credentials(lab: Lab, report: Report) -> None:
    """Keys from ~/.aws/credentials, and from a named profile in a named file."""
    with gateway(lab, {}) as (versity, manometer):
        home = manometer.place.directory
        (home / ".aws").mkdir()
        keys = f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
        (home / ".aws" / "credentials").write_text(f"[default]\n{keys}")
        succeeded(report, manometer.check(url(versity), *SMALL), "s3")
        (home / ".aws" / "credentials").unlink()
        elsewhere = home / "elsewhere"
        elsewhere.write_text(f"[default]\naws_access_key_id = no\naws_secret_access_key = no\n\n[lab]\n{keys}")
        manometer.env |= {"AWS_SHARED_CREDENTIALS_FILE": str(elsewhere), "AWS_PROFILE": "lab"}
        succeeded(report, manometer.check(url(versity), *SMALL), "s3")
        nothing_left(report, versity)


def refusals(lab: Lab, report: Report) -> None:
    """A wrong secret, no keys, a bucket that is not there: one clear line each."""
    wrong = KEYS | {"AWS_SECRET_ACCESS_KEY": "not-the-secret-of-this-lab"}
    with gateway(lab, wrong) as (versity, manometer):
        outcome = manometer.check(url(versity), *SMALL)
        report.equal("wrong secret: exit code 1", outcome.code, 1)
        report.contains("wrong secret: the cause", outcome.stderr, ["secret key"])
        report.check("wrong secret: not shown", "not-the-secret" not in outcome.stderr + outcome.stdout)
        manometer.env |= KEYS
        outcome = manometer.check(url(versity, "no-such-bucket"), *SMALL)
        report.equal("missing bucket: exit code 1", outcome.code, 1)
        report.contains("missing bucket: the cause", outcome.stderr, ["no-such-bucket"])
        for name in KEYS:
            manometer.env.pop(name)
        outcome = manometer.check(url(versity), *SMALL)
        report.check("no keys: fails", outcome.code in (1, 2), outcome.code)
        report.contains("no keys: the next step", outcome.stderr, ["AWS_ACCESS_KEY_ID"])
        nothing_left(report, versity)


def killed(lab: Lab, report: Report) -> None:
    """After kill -9 in a multipart write the journal is enough to remove everything."""
    with gateway(lab, KEYS) as (versity, manometer):
        run = manometer.start_check(url(versity), *LARGE, duration="20s")
        wait_until("an upload", lambda: bool(versity.uploads()), 30, run.child)
        run.child.signal(signal.SIGKILL)
        run.finish()
        report.check("something is left behind", bool(versity.objects() or versity.uploads()))
        cleanup = manometer.cleanup()
        report.equal("cleanup ends with 0", cleanup.code, 0) or print(cleanup.stderr)
        # A part that was under way when its upload was aborted stays in the gateway's own scratch folder:
        # S3 promises no more, and no client can see it.
        nothing_left(report, versity, besides="/.sgwtmp/")


def interrupted(lab: Lab, report: Report) -> None:
    """Ctrl-C ends the run soon and removes what it made; a foreign object stays."""
    with gateway(lab, KEYS) as (versity, manometer):
        versity.client.put_object(Bucket=versity.bucket, Key="manometer-of-somebody-else", Body=b"stay")
        run = manometer.start_check(url(versity), *SMALL, duration="50s")
        wait_until("objects", lambda: len(versity.objects()) > 1, 30, run.child)
        run.child.signal(signal.SIGINT)
        outcome = run.finish(20)
        report.check("does not end with 0", outcome.code != 0, outcome.code)
        report.equal("only the foreign object is left", list(versity.objects()), ["manometer-of-somebody-else"])


SCENARIOS = {
    "s3 keys by environment, io_uring": keys_by_environment_uring,
    "s3 keys by environment, epoll": keys_by_environment_epoll,
    "s3 multipart": multipart,
    "s3 signed payload": signed_payload,
    "s3 CRC-64/NVME trailer": crc64_trailer,
    "s3 CRC-32C trailer": crc32c_trailer,
    "s3 discard": discarding,
    "s3 IPv6": ipv6,
    "s3 TLS": over_tls,
    "s3 virtual host": virtual_host,
    "s3 shared credentials": shared_credentials,
    "s3 refusals": refusals,
    "s3 kill -9": killed,
    "s3 interrupted": interrupted,
}
