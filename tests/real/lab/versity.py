"""versitygw, an S3 gateway over a directory, and boto3 as the other client that looks at it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .place import Place
from .process import Child, answers, run, wait_until
from .s3_bucket import S3Bucket, boto3_client

ACCESS_KEY = "labaccesskey"
SECRET_KEY = "labsecretkey123"


@dataclass(frozen=True)
class Certificate:
    """PEM files of a certificate that signs itself."""

    chain: Path
    key: Path

    @staticmethod
    def make(directory: Path, names: str) -> Certificate:
        """A new one, valid for the names given as in `IP:127.0.0.1,DNS:lab.test`."""
        made = Certificate(directory / "server.pem", directory / "server.key")
        subject = ["-subj", "/CN=manometer test", "-addext", f"subjectAltName={names}", "-days", "2"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(made.key)]
        run(["openssl", "req", "-x509", *key, "-out", str(made.chain), *subject])
        return made


class Versity(S3Bucket):
    """A running gateway with one bucket, `plumbing`; with TLS when it is given a certificate."""

    def __init__(
        self,
        program: Path,
        place: Place,
        port: int,
        address: str = "127.0.0.1",
        *,
        certificate: Certificate | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        host = f"[{address}]" if ":" in address else address
        self.port = port
        self.endpoint = f"{'https' if certificate else 'http'}://{host}:{port}"
        self.data = place.directory / "versity"
        self.data.mkdir()
        env = os.environ | {"ROOT_ACCESS_KEY_ID": ACCESS_KEY, "ROOT_SECRET_ACCESS_KEY": SECRET_KEY}
        tls = [f"--cert={certificate.chain}", f"--key={certificate.key}"] if certificate else []
        command = [str(program), f"--port={host}:{port}", "--quiet", *tls, *options, "posix", str(self.data)]
        self.child = Child(place.server(command), place.directory / "versity.log", env=env)
        wait_until("versitygw", lambda: answers(address, port), 30, self.child)
        verify = str(certificate.chain) if certificate else None
        self.client = boto3_client(self.endpoint, ACCESS_KEY, SECRET_KEY, verify=verify)
        self.client.create_bucket(Bucket=self.bucket)

    def uploads(self) -> list[str]:
        """Keys of the multipart uploads that were begun and neither completed nor aborted."""
        answer = self.client.list_multipart_uploads(Bucket=self.bucket)
        return [upload["Key"] for upload in answer.get("Uploads", [])]

    def stop(self) -> None:
        """Stops the gateway."""
        self.client.close()
        self.child.stop()
