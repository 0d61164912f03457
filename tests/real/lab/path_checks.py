"""A whole check through real network interfaces: two paths, one of which does not carry jumbo frames."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from .lab import Lab
from .manometer import Manometer
from .place import Namespace, veth
from .process import Child, wait_until
from .report import Report


@contextmanager
def array_behind(lab: Lab, mtus: list[tuple[int, int]]) -> Iterator[tuple[Manometer, list[str], Namespace]]:
    """A simulated array in a namespace of its own, at the end of a cable for each pair of MTUs (client's, array's).

    The program with its two inputs, the array's data addresses, and the client's namespace.
    """
    with ExitStack() as stack:
        directory = stack.enter_context(lab.directory())
        near, far = (Namespace(directory / name) for name in ("near", "far"))
        stack.callback(near.stop)
        stack.callback(far.stop)
        ips = [veth(near, far, number, *mtu)[1] for number, mtu in enumerate(mtus, start=1)]
        ready = directory / "ready.json"
        data = [f"--data={ip},subnet=s{ip},mtu=9000,nfs=2049,mount=20048,portmap=111,s3=80" for ip in ips]
        command = [str(lab.manometer), "array", f"--management={ips[-1]}:443", f"--ready-file={ready}", *data]
        array = Child(far.server(command), directory / "array.log")
        stack.callback(array.stop)
        wait_until("simulated array", ready.exists, 20, array)
        facts = json.loads(ready.read_text())
        manometer = Manometer(lab.manometer, near, {"FB_MGMT_VIP": ips[-1], "FB_TOKEN": facts["token"]})
        manometer.flags = [f"--tls-fingerprint={facts['fingerprint']}", "--workers=1", "--dataset=256MiB"]
        yield manometer, ips, near


def jumbo_frames(lab: Lab, report: Report) -> None:
    """The array says 9000 on both paths; the client's side of one cable carries 1500."""
    with array_behind(lab, [(1500, 9000), (9000, 9000)]) as (manometer, ips, _):
        outcome = manometer.check("--object-size=1MiB")
        report.equal("exit code 0", outcome.code, 0) or print(outcome.stderr)
        report.equal("two addresses, two protocols", len(outcome.rows), 4)
        for row in outcome.rows:
            name = f"{row['protocol']} {row['data_vip']}"
            warned = any("1500" in warning for warning in row["warnings"])
            report.equal(f"{name}: warned of 1500", warned, row["data_vip"] == ips[0])
            report.check(f"{name}: segments", 1300 < row["write"]["tcp"]["mss_bytes"] < 9000, row["write"]["tcp"])


def link_cut(lab: Lab, report: Report) -> None:
    """A cable that is unplugged for a second in the middle of a run: it goes on, and says what was sent again."""
    with array_behind(lab, [(9000, 9000), (9000, 9000)]) as (manometer, ips, near):
        run = manometer.start_check("--skip-s3", f"--data-vip={ips[0]}", duration="5s")
        run.wait_after_write()
        time.sleep(1)
        route = ["ip", "link", "set", "mmn1"]
        subprocess.run(near.client([*route, "down"]), check=True)
        time.sleep(1)
        subprocess.run(near.client([*route, "up"]), check=True)
        outcome = run.finish()
        report.equal("exit code 0", outcome.code, 0) or print(outcome.stderr)
        row = outcome.rows[0]
        report.check("read on after the cut", row["read"]["bytes"] > 0, row["read"])
        worst = row["read"]["ops"]["read"]["latency_ns"]["max"]
        report.check("the longest read shows the cut", worst > 800_000_000, worst)


SCENARIOS = {"path jumbo frames": jumbo_frames, "path link cut": link_cut}
