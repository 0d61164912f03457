"""MinIO, an S3 server whose policies say what a user may do, and users of it who may do little."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .place import Place
from .process import Child, answers, wait_until
from .s3_bucket import REGION, S3Bucket, boto3_client

ACCESS_KEY = "labaccesskey"
SECRET_KEY = "labsecretkey123"


class Minio(S3Bucket):
    """A running server with one bucket, `plumbing`."""

    def __init__(self, program: Path, place: Place, port: int, address: str = "127.0.0.1") -> None:
        self.endpoint = f"http://{address}:{port}"
        data = place.directory / "minio"
        data.mkdir()
        own = {"MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY}
        env = os.environ | own | {"MINIO_BROWSER": "off", "MINIO_UPDATE": "off", "HOME": str(place.directory)}
        command = [str(program), "server", "--address", f"{address}:{port}", str(data)]
        self.child = Child(place.server(command), place.directory / "minio.log", env=env)
        wait_until("MinIO", lambda: answers(address, port), 60, self.child)
        self.client = self._client("s3")
        wait_until("MinIO's bucket", self._makes_bucket, 60, self.child)

    def user(self, *actions: str) -> dict[str, str]:
        """The environment of a new user who may do these things with the bucket and its objects, and nothing else.

        The keys are temporary ones from AssumeRole, with a policy of their own and a session token.
        """
        own = [f"arn:aws:s3:::{self.bucket}", f"arn:aws:s3:::{self.bucket}/*"]
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": own}
        keys = self._client("sts").assume_role(
            RoleArn="arn:aws:iam::123456789012:role/manometer",
            RoleSessionName="manometer",
            Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
            DurationSeconds=3600,
        )["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": keys["SessionToken"],
            "AWS_REGION": REGION,
        }

    def stop(self) -> None:
        """Stops the server."""
        self.client.close()
        self.child.stop()

    def _client(self, service: str) -> Any:
        return boto3_client(self.endpoint, ACCESS_KEY, SECRET_KEY, service)

    def _makes_bucket(self) -> bool:
        """The port is open before the server can do anything."""
        try:
            self.client.create_bucket(Bucket=self.bucket)
        except self.client.exceptions.ClientError:
            return False
        return True
