"""Starts a simulated array and runs the given Go clients against it, one after another."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from simulated_array import SimulatedArray  # noqa: E402

BUCKET = "interop-bucket"


def main(programs):
    failed = []
    with SimulatedArray() as array:
        key, secret = array.provision_s3(BUCKET)
        environment = dict(
            os.environ,
            INTEROP_ENDPOINT=array.endpoint(),
            INTEROP_ACCESS_KEY=key,
            INTEROP_SECRET_KEY=secret,
            INTEROP_BUCKET=BUCKET,
        )
        for program in programs:
            if subprocess.run([program], env=environment).returncode != 0:
                failed.append(program)
        state = array.state()
        if state["used_bytes"] or any(bucket["open_uploads"] for bucket in state["buckets"]):
            print(f"left behind: {state}", file=sys.stderr)
            failed.append("clean-up")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
