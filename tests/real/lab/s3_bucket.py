"""A bucket of a real S3 server as boto3 sees it: the other client that looks at what the program does."""

from __future__ import annotations

from typing import Any

REGION = "us-east-1"


def boto3_client(
    endpoint: str, access_key: str, secret_key: str, service: str = "s3", verify: str | None = None, **options: Any
) -> Any:
    """A client with these keys; `options` are those of botocore's `Config`."""
    # Half a second of a processor, which only those scenarios spend that need it.
    import boto3
    from botocore.config import Config

    config: dict[str, Any] = {"s3": {"addressing_style": "path"}, "connect_timeout": 10, "read_timeout": 30, **options}
    return boto3.client(
        service,
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        region_name=REGION,
        verify=verify,
        config=Config(**config),
    )


class S3Bucket:
    """A bucket, and a client that owns it."""

    endpoint: str
    client: Any
    bucket = "plumbing"

    def objects(self) -> dict[str, int]:
        """Keys and sizes of every object in the bucket, as its owner sees them."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}
