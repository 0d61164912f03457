"""Debian's libnfs tools against the NFS side of the simulated array, found through its portmapper.

Needs nfs-ls, nfs-cp and nfs-cat (package libnfs-utils) and port 111 of 127.0.1.1 and 127.0.2.1, which
interop/run.sh provides in a network of its own. Ends with a code other than 0 when anything differs.
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from simulated_array import SimulatedArray  # noqa: E402

PATIENCE_S = 60
# No round number, and several WRITEs of the maximum size.
SIZES = {"empty": 0, "small": 1, "odd": 4097, "large": 5 * 1024 * 1024 + 3}
# Lines of nfs-ls end with the size and the name.
LISTED = re.compile(r"^(\S)\S+\s+\d+\s+\d+\s+\d+\s+(\d+) (.+)$")


def run(*command, expect=0):
    """Runs a tool; returns its standard output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    if (done.returncode == 0) != (expect == 0):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def listing(url):
    """Output of nfs-ls: name to type and size."""
    lines = run("nfs-ls", url).decode().splitlines()
    found = [LISTED.match(line) for line in lines]
    if not all(found):
        raise SystemExit(f"nfs-ls {url} shows something unexpected: {lines}")
    return {match[3]: (match[1], int(match[2])) for match in found}


def same(what, got, wanted):
    """Prints whether two values are equal, and ends the program if not."""
    if got != wanted:
        raise SystemExit(f"{what}: {got!r} instead of {wanted!r}")
    print(f"ok  {what}", flush=True)


def main():
    random.seed(1)
    flags = ["--data", "127.0.1.1,portmap=111", "--data", "127.0.2.1,portmap=111,mount=635,nfs=2049"]
    with SimulatedArray(*flags) as array, tempfile.TemporaryDirectory() as directory:
        array.provision_nfs("libnfs")
        one, two = (f"nfs://{data['ip']}/libnfs" for data in array.data)
        with_ports = f"?nfsport={array.data[0]['nfs_port']}&mountport={array.data[0]['mount_port']}"
        place = pathlib.Path(directory)

        same("a new file system is empty", listing(one), {})
        for name, size in SIZES.items():
            (place / name).write_bytes(random.randbytes(size))
            run("nfs-cp", str(place / name), f"{one}/{name}")
        wanted = {name: ("-", size) for name, size in SIZES.items()}
        same("what was written is listed", listing(one), wanted)
        same("the other address shows the same", listing(two), wanted)
        same("so do ports that are given", listing(one + with_ports), wanted)
        for name in SIZES:
            data = (place / name).read_bytes()
            if data:
                same(f"nfs-cat reads {name} back", run("nfs-cat", f"{two}/{name}") == data, True)
            run("nfs-cp", f"{two}/{name}", str(place / f"{name}.back"))
            same(f"nfs-cp reads {name} back", (place / f"{name}.back").read_bytes() == data, True)
        files = {entry["name"]: entry for entry in array.state()["file_systems"]}["libnfs"]
        same("the array counts the same files", files["files"], len(SIZES))

        run("nfs-ls", f"nfs://{array.data[0]['ip']}/absent", expect=1)
        print("ok  an export that does not exist is refused", flush=True)
        many = 300
        for number in range(many):
            # One call for each: the tool takes one file at a time.
            run("nfs-cp", str(place / "small"), f"{one}/many-{number:04}")
        same("a directory of several pages is listed whole", len(listing(two)), len(SIZES) + many)


if __name__ == "__main__":
    main()
