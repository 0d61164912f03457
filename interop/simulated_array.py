"""Starts and stops a simulated array for the tests of foreign clients."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request
import ssl

PATIENCE_S = 60


class SimulatedArray:
    """`manometer array` on free ports of loopback addresses; a context manager."""

    def __init__(self, *flags):
        self._flags = flags

    def __enter__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="manometer-interop-")
        directory = pathlib.Path(self._directory.name)
        ready = directory / "ready.json"
        command = [
            os.environ["MANOMETER"], "array", "--management", "127.0.0.1:0", "--state", "--until-eof",
            "--ready-file", str(ready), *self._flags,
        ]
        # The array stops when its standard input ends: it cannot outlive this program.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while not ready.exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the simulated array ended with {self._process.returncode}")
            if time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError("the simulated array did not start")
            time.sleep(0.02)
        facts = json.loads(ready.read_text())
        self.management = facts["management"]
        self.token = facts["token"]
        self.data = facts["data"]
        self.certificate = directory / "certificate.pem"
        self.certificate.write_text(facts["certificate_pem"])
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._directory.cleanup()
        if code != 0:
            raise RuntimeError(f"the simulated array ended with {code}")

    def endpoint(self, number=0):
        """URL of S3 at a data address."""
        data = self.data[number]
        return f"http://{data['ip']}:{data['s3_port']}"

    def tls_endpoint(self, number=0):
        """URL of S3 over TLS at a data address."""
        data = self.data[number]
        return f"https://{data['ip']}:{data['s3_tls_port']}"

    def _call(self, method, path, token=None, body=None, api_token=None):
        request = urllib.request.Request(f"https://{self.management}{path}", method=method)
        if token:
            request.add_header("x-auth-token", token)
        if api_token:
            request.add_header("api-token", api_token)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        context = ssl.create_default_context(cafile=str(self.certificate))
        with urllib.request.urlopen(request, data, timeout=PATIENCE_S, context=context) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None

    def state(self):
        """Everything that exists on the array."""
        return self._call("GET", "/state")[1]

    def provision_s3(self, bucket):
        """Creates an account, a user with all permissions, a key and a bucket; returns the key."""
        headers, _ = self._call("POST", "/api/login", api_token=self.token)
        token = headers["x-auth-token"]
        call = lambda path, body=None: self._call("POST", f"/api/2.0/{path}", token, body)[1]["items"][0]
        call("object-store-accounts?names=interop")
        call("object-store-users?names=interop/user&full_access=true")
        key = call("object-store-access-keys", {"user": {"name": "interop/user"}})
        call(f"buckets?names={bucket}", {"account": {"name": "interop"}})
        self._call("POST", "/api/logout", token)
        return key["name"], key["secret_access_key"]

    def provision_nfs(self, name):
        """Creates a file system exported over NFSv3."""
        headers, _ = self._call("POST", "/api/login", api_token=self.token)
        token = headers["x-auth-token"]
        self._call("POST", f"/api/2.0/file-systems?names={name}", token, {"nfs": {"v3_enabled": True}})
        self._call("POST", "/api/logout", token)
