"""A presigned request, for the peer that only sends it: SigV4 in the query string."""

from __future__ import annotations

import hashlib
import hmac
import time
import urllib.parse
import urllib.request

from .servers import S3

REGION, SERVICE = "us-east-1", "s3"
VALID_SECONDS = 3600


def url_path(s3: S3, method: str, key: str) -> str:
    """Path and query of a request whose signature is valid for an hour."""
    now = time.gmtime()
    stamp, day = time.strftime("%Y%m%dT%H%M%SZ", now), time.strftime("%Y%m%d", now)
    scope = f"{day}/{REGION}/{SERVICE}/aws4_request"
    query = urllib.parse.urlencode(
        {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{s3.access_key}/{scope}",
            "X-Amz-Date": stamp,
            "X-Amz-Expires": VALID_SECONDS,
            "X-Amz-SignedHeaders": "host",
        }
    )
    path = f"/{s3.bucket}/{key}"
    canonical = "\n".join([method, path, query, f"host:127.0.0.1:{s3.port}", "", "host", "UNSIGNED-PAYLOAD"])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    signing_key = f"AWS4{s3.secret_key}".encode()
    for part in (day, REGION, SERVICE, "aws4_request"):
        signing_key = hmac.digest(signing_key, part.encode(), "sha256")
    to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
    return f"{path}?{query}&X-Amz-Signature={hmac.digest(signing_key, to_sign.encode(), 'sha256').hex()}"


def object_of(s3: S3, method: str, size: int) -> str:
    """Puts an object of a size; returns path and query of a presigned request for it."""
    key = f"bare-{size}"
    put = urllib.request.Request(
        f"http://127.0.0.1:{s3.port}{url_path(s3, 'PUT', key)}", data=bytes(size), method="PUT"
    )
    with urllib.request.urlopen(put, timeout=30):
        return url_path(s3, method, key)
