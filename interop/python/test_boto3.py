"""boto3 against the S3 of the simulated array."""

import hashlib
import os
import urllib.error
import urllib.request

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.client import Config
from botocore.exceptions import ClientError

BUCKET = "interop-bucket"
MIB = 1 << 20


@pytest.fixture(scope="module")
def key(array):
    return array.provision_s3(BUCKET)


def connect(array, key, endpoint=None, **options):
    config = Config(
        signature_version="s3v4", s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, **options
    )
    return boto3.client(
        "s3", endpoint_url=endpoint or array.endpoint(), aws_access_key_id=key[0], aws_secret_access_key=key[1],
        region_name="us-east-1", config=config, verify=str(array.certificate),
    )


@pytest.fixture
def s3(array, key):
    client = connect(array, key)
    yield client
    keys = [item["Key"] for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
            for item in page.get("Contents", [])]
    for start in range(0, len(keys), 1000):
        objects = [{"Key": name} for name in keys[start:start + 1000]]
        client.delete_objects(Bucket=BUCKET, Delete={"Objects": objects})


def code(refused):
    return refused.value.response["Error"]["Code"]


def test_put_get_range_head_delete(array, s3):
    body = os.urandom(3 * MIB + 17)
    put = s3.put_object(Bucket=BUCKET, Key="a/b c+d%ü", Body=body, Metadata={"who": "me"}, ContentType="x/y")
    got = s3.get_object(Bucket=BUCKET, Key="a/b c+d%ü")
    assert got["Body"].read() == body
    assert got["ETag"] == put["ETag"] and got["Metadata"] == {"who": "me"} and got["ContentType"] == "x/y"
    assert "ContentEncoding" not in got, "aws-chunked is not a property of the object"
    part = s3.get_object(Bucket=BUCKET, Key="a/b c+d%ü", Range="bytes=1048570-2097169")
    assert part["Body"].read() == body[1048570:2097170]
    assert part["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert part["ContentRange"] == f"bytes 1048570-2097169/{len(body)}"
    tail = s3.get_object(Bucket=BUCKET, Key="a/b c+d%ü", Range="bytes=-5")
    assert tail["Body"].read() == body[-5:]
    head = s3.head_object(Bucket=BUCKET, Key="a/b c+d%ü")
    assert head["ContentLength"] == len(body)
    [bucket] = [one for one in array.state()["buckets"] if one["name"] == BUCKET]
    assert (bucket["objects"], bucket["bytes"]) == (1, len(body))
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=BUCKET, Key="a/b c+d%ü", Range=f"bytes={len(body)}-")
    assert code(refused) == "InvalidRange"
    s3.delete_object(Bucket=BUCKET, Key="a/b c+d%ü")
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=BUCKET, Key="a/b c+d%ü")
    assert code(refused) == "NoSuchKey"
    with pytest.raises(ClientError) as refused:
        s3.head_object(Bucket=BUCKET, Key="a/b c+d%ü")
    assert code(refused) == "404"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_are_verified_and_kept(s3, algorithm):
    put = s3.put_object(Bucket=BUCKET, Key="sum", Body=b"hello", ChecksumAlgorithm=algorithm)
    got = s3.get_object(Bucket=BUCKET, Key="sum", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"hello"
    field = f"Checksum{algorithm}"
    assert got[field] == put[field]
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=BUCKET, Key="sum", Body=b"hello", **{field: put[field][::-1].lstrip("=") + "="})
    assert code(refused) in ("BadDigest", "InvalidRequest")


def test_content_md5_is_verified_and_becomes_the_etag(s3):
    import base64

    digest = hashlib.md5(b"hello")
    sum_text = base64.b64encode(digest.digest()).decode()
    put = s3.put_object(Bucket=BUCKET, Key="md5", Body=b"hello", ContentMD5=sum_text)
    assert put["ETag"] == f'"{digest.hexdigest()}"'
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=BUCKET, Key="md5", Body=b"hallo", ContentMD5=sum_text)
    assert code(refused) == "BadDigest"


def test_lists_have_pages_prefixes_and_delimiters(s3):
    names = [f"d{d}/k{k:02}" for d in range(3) for k in range(10)] + ["top", "zz ü&<"]
    for name in names:
        s3.put_object(Bucket=BUCKET, Key=name, Body=b"")
    for operation in ("list_objects_v2", "list_objects"):
        pages = list(s3.get_paginator(operation).paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 7}))
        assert [item["Key"] for page in pages for item in page["Contents"]] == sorted(names)
        assert len(pages) == 5
        pages = list(s3.get_paginator(operation).paginate(
            Bucket=BUCKET, Delimiter="/", PaginationConfig={"PageSize": 2}))
        assert [one["Prefix"] for page in pages for one in page.get("CommonPrefixes", [])] == ["d0/", "d1/", "d2/"]
        assert [item["Key"] for page in pages for item in page.get("Contents", [])] == ["top", "zz ü&<"]
        page = getattr(s3, operation)(Bucket=BUCKET, Prefix="d1/", Delimiter="/")
        assert len(page["Contents"]) == 10 and not page["IsTruncated"]
    after = s3.list_objects_v2(Bucket=BUCKET, StartAfter="d2/k08")
    assert [item["Key"] for item in after["Contents"]] == ["d2/k09", "top", "zz ü&<"]
    assert s3.list_objects_v2(Bucket=BUCKET, Prefix="none")["KeyCount"] == 0


def test_batch_delete(array, s3):
    names = [f"k{k}" for k in range(25)]
    for name in names:
        s3.put_object(Bucket=BUCKET, Key=name, Body=b"x")
    answer = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": name} for name in names + ["not there"]]})
    assert len(answer["Deleted"]) == 26 and not answer.get("Errors")
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0
    assert array.state()["used_bytes"] == 0


def test_multipart(array, s3, tmp_path):
    body = os.urandom(17 * MIB)
    source = tmp_path / "source"
    source.write_bytes(body)
    parts = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=4)
    s3.upload_file(str(source), BUCKET, "large", Config=parts)
    head = s3.head_object(Bucket=BUCKET, Key="large")
    assert head["ContentLength"] == len(body) and head["ETag"].endswith('-4"')
    target = tmp_path / "target"
    s3.download_file(BUCKET, "large", str(target), Config=parts)
    assert target.read_bytes() == body

    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="left")["UploadId"]
    part = s3.upload_part(Bucket=BUCKET, Key="left", UploadId=upload, PartNumber=1, Body=b"x" * (5 * MIB))
    s3.upload_part(Bucket=BUCKET, Key="left", UploadId=upload, PartNumber=3, Body=b"y")
    assert [one["PartNumber"] for one in s3.list_parts(Bucket=BUCKET, Key="left", UploadId=upload)["Parts"]] == [1, 3]
    [listed] = s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]
    assert listed["Key"] == "left" and listed["UploadId"] == upload
    [bucket] = array.state()["buckets"]
    assert (bucket["open_uploads"], bucket["open_upload_bytes"]) == (1, 5 * MIB + 1)
    with pytest.raises(ClientError) as refused:
        s3.complete_multipart_upload(Bucket=BUCKET, Key="left", UploadId=upload, MultipartUpload={
            "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}, {"PartNumber": 2, "ETag": part["ETag"]}]})
    assert code(refused) == "InvalidPart"
    s3.abort_multipart_upload(Bucket=BUCKET, Key="left", UploadId=upload)
    with pytest.raises(ClientError) as refused:
        s3.list_parts(Bucket=BUCKET, Key="left", UploadId=upload)
    assert code(refused) == "NoSuchUpload"
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=BUCKET)


def test_copies(s3):
    s3.put_object(Bucket=BUCKET, Key="from", Body=b"content", Metadata={"a": "b"})
    s3.copy_object(Bucket=BUCKET, Key="to", CopySource={"Bucket": BUCKET, "Key": "from"})
    got = s3.get_object(Bucket=BUCKET, Key="to")
    assert got["Body"].read() == b"content" and got["Metadata"] == {"a": "b"}


def test_buckets(array, s3):
    assert BUCKET in [one["Name"] for one in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=BUCKET)
    assert s3.get_bucket_location(Bucket=BUCKET)["LocationConstraint"] is None
    s3.create_bucket(Bucket="another")
    s3.put_object(Bucket="another", Key="k", Body=b"")
    with pytest.raises(ClientError) as refused:
        s3.delete_bucket(Bucket="another")
    assert code(refused) == "BucketNotEmpty"
    s3.delete_object(Bucket="another", Key="k")
    s3.delete_bucket(Bucket="another")
    assert "another" not in [one["name"] for one in array.state()["buckets"]]
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket="another", Key="k", Body=b"")
    assert code(refused) == "NoSuchBucket"
    with pytest.raises(ClientError) as refused:
        s3.head_bucket(Bucket="another")
    assert code(refused) == "404"


def test_presigned_urls(s3):
    url = s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": "signed"}, ExpiresIn=60)
    with urllib.request.urlopen(urllib.request.Request(url, b"by url", method="PUT"), timeout=60) as answer:
        assert answer.status == 200
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "signed"}, ExpiresIn=60)
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.read() == b"by url"
    other = url[:-1] + ("0" if url[-1] != "0" else "1")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(other, timeout=60)
    assert refused.value.code == 403


def test_wrong_keys_are_refused(array, key):
    with pytest.raises(ClientError) as refused:
        connect(array, (key[0], "wrong")).list_objects_v2(Bucket=BUCKET)
    assert code(refused) == "SignatureDoesNotMatch"
    with pytest.raises(ClientError) as refused:
        connect(array, ("PSFBNOBODY", key[1])).list_objects_v2(Bucket=BUCKET)
    assert code(refused) == "InvalidAccessKeyId"


def test_tls_virtual_hosts_and_signed_payloads(array, key):
    body = os.urandom(MIB)
    over_tls = connect(array, key, array.tls_endpoint())
    over_tls.put_object(Bucket=BUCKET, Key="tls", Body=body)
    assert over_tls.get_object(Bucket=BUCKET, Key="tls")["Body"].read() == body
    signed = connect(array, key, request_checksum_calculation="when_required")
    signed.meta.config.s3["payload_signing_enabled"] = True
    signed.put_object(Bucket=BUCKET, Key="signed", Body=body)
    assert signed.get_object(Bucket=BUCKET, Key="signed")["Body"].read() == body

    # The bucket in the host name; the connection goes to the data address nevertheless.
    data = array.data[0]
    virtual = boto3.client(
        "s3", endpoint_url=f"http://s3.example.test:{data['s3_port']}", aws_access_key_id=key[0],
        aws_secret_access_key=key[1], region_name="us-east-1",
        config=Config(s3={"addressing_style": "virtual"}, proxies={"http": array.endpoint()}),
    )
    assert virtual.get_object(Bucket=BUCKET, Key="tls")["Body"].read() == body
    for name in ("tls", "signed"):
        over_tls.delete_object(Bucket=BUCKET, Key=name)


def test_both_addresses_show_the_same(array, key, s3):
    s3.put_object(Bucket=BUCKET, Key="same", Body=b"1")
    assert connect(array, key, array.endpoint(1)).get_object(Bucket=BUCKET, Key="same")["Body"].read() == b"1"
