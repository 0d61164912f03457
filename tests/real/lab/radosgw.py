"""Ceph's object gateway on a cluster of the lab, and boto3 as the other client that looks at it."""

from __future__ import annotations

import json
from contextlib import ExitStack

from .ceph import ADDRESS, Cluster
from .process import Child, answers, free_port, run, wait_until
from .s3_bucket import S3Bucket, boto3_client

USER = "lab"

CONFIGURATION = """[client.rgw.a]
keyring = {directory}/rgw/keyring
rgw data = {directory}/rgw
rgw frontends = beast endpoint={address}:{port} tcp_nodelay=1
rgw thread pool size = 64
rgw enable usage log = false
rgw enable ops log = false
rgw gc processor period = 5
rgw gc obj min wait = 5
log file = {directory}/log/rgw.log
"""


class Gateway(S3Bucket):
    """A running gateway with one user and this user's bucket."""

    def __init__(self, cluster: Cluster, stack: ExitStack) -> None:
        self.cluster = cluster
        self.port = free_port()
        self.endpoint = f"http://{ADDRESS}:{self.port}"
        (cluster.directory / "rgw").mkdir()
        caps = ["mon", "allow rw", "osd", "allow rwx", "mgr", "allow rw"]
        cluster.ask("auth", "get-or-create", "client.rgw.a", *caps, "-o", str(cluster.directory / "rgw" / "keyring"))
        with cluster.conf.open("a") as conf:
            conf.write(CONFIGURATION.format(directory=cluster.directory, address=ADDRESS, port=self.port))
        command = ["radosgw", "-f", "-n", "client.rgw.a", f"--conf={cluster.conf}"]
        self.child = Child(command, cluster.directory / "radosgw.out")
        stack.callback(self.child.stop)
        # The first start makes its pools.
        wait_until("radosgw", lambda: answers(ADDRESS, self.port), 60, self.child)
        user = json.loads(self.admin("user", "create", f"--uid={USER}", f"--display-name={USER}"))
        self.access_key, self.secret_key = user["keys"][0]["access_key"], user["keys"][0]["secret_key"]
        # The gateway of this version does not know the checksums that boto3 sends otherwise.
        options = {"read_timeout": 60, "request_checksum_calculation": "when_required"}
        self.client = boto3_client(self.endpoint, self.access_key, self.secret_key, **options)
        stack.callback(self.client.close)
        self.client.create_bucket(Bucket=self.bucket)

    def admin(self, *words: str) -> str:
        """What `radosgw-admin` answers."""
        return run(["radosgw-admin", f"--conf={self.cluster.conf}", *words])

    def users(self) -> list[str]:
        """All users, as radosgw-admin lists them."""
        return sorted(json.loads(self.admin("metadata", "list", "user")))

    def buckets(self) -> list[str]:
        """All buckets, as radosgw-admin lists them."""
        return sorted(json.loads(self.admin("metadata", "list", "bucket")))

    def counted(self, bucket: str) -> tuple[int, int]:
        """Number and bytes of a bucket's objects, as the gateway counts them."""
        usage = json.loads(self.admin("bucket", "stats", f"--bucket={bucket}"))["usage"].get("rgw.main", {})
        return int(usage.get("num_objects", 0)), int(usage.get("size", 0))
