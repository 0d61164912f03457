"""versitygw, an S3 gateway over a directory, and boto3 as the other client that looks at it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .place import Place
from .process import Child, answers, run, wait_until

ACCESS_KEY = "labaccesskey"
SECRET_KEY = "labsecretkey123"
REGION = "us-east-1"


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


class Versity:
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
        # Half a second of a processor, which only those scenarios spend that need it.
        import boto3
        from botocore.config import Config

        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            region_name=REGION,
            verify=str(certificate.chain) if certificate else None,
            config=Config(s3={"addressing_style": "path"}, connect_timeout=10, read_timeout=30),
        )
        self.bucket = "plumbing"
        self.client.create_bucket(Bucket=self.bucket)

    def objects(self) -> dict[str, int]:
        """Keys and sizes of every object in the bucket, as boto3 sees them."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}

    def uploads(self) -> list[str]:
        """Keys of the multipart uploads that were begun and neither completed nor aborted."""
        answer = self.client.list_multipart_uploads(Bucket=self.bucket)
        return [upload["Key"] for upload in answer.get("Uploads", [])]

    def stop(self) -> None:
        """Stops the gateway."""
        self.client.close()
        self.child.stop()
