"""How scenarios take turns and are repeated, with small programs that stand in for them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

from lab.turns import SLOT, Entry, Tally, Turn, Turns

PRELUDE = """
import json, os, pathlib, sys, time
name, tally, place = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
times = place / name.replace(" ", "-")
with times.open("a") as file:
    file.write("x")
run = times.stat().st_size
def count(passed, failed):
    tally.write_text(json.dumps({"passed": passed, "failed": failed}))
"""
GOOD = "print('ok', name); count(2, 0)"
BAD = "print('FAIL', name); count(1, 1)"
BAD_ONCE = "count(1, 1) if run == 1 else count(2, 0)"
NOTHING = "count(0, 0)"
DIES = "print('last words'); os._exit(7)"
HANGS = "print('hanging', flush=True); time.sleep(600)"


class TurnsTest(unittest.TestCase):
    """Each test runs a few stand-ins and looks at the exit code, the output, and how often each ran."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name)

    def run_all(self, texts: dict[Entry, str], at_once: int = 3, seconds: float = 60) -> tuple[int, str]:
        """Runs the stand-ins; exit code and output."""

        def command(entry: Entry, tally: Path) -> list[str]:
            return [sys.executable, "-c", PRELUDE + texts[entry], entry.name, str(tally), str(self.place)]

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = Turns(command, at_once, seconds).all(texts)
        return code, out.getvalue()

    def times(self, name: str) -> int:
        """How often a stand-in ran."""
        path = self.place / name.replace(" ", "-")
        return path.stat().st_size if path.exists() else 0

    def test_repeated(self) -> None:
        texts = {Entry("a"): GOOD, Entry("b"): BAD_ONCE}

        def command(entry: Entry, tally: Path) -> list[str]:
            return [sys.executable, "-c", PRELUDE + texts[entry], entry.name, str(tally), str(self.place)]

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = Turns(command, 3, 60).repeated(texts, 3)
        self.assertEqual((code, out.getvalue().splitlines()[-2:]), (1, ["3 of 3: a", "2 of 3: b"]))
        self.assertEqual((self.times("a"), self.times("b")), (3, 3))

    def test_all_good(self) -> None:
        code, out = self.run_all({Entry("a"): GOOD, Entry("b", turn=Turn.ALONE): GOOD})
        self.assertEqual((code, out.splitlines()[-1]), (0, "4 passed, 0 failed"))
        self.assertNotIn("repeated:", out)

    def test_a_failure_is_repeated_once_and_said(self) -> None:
        code, out = self.run_all({Entry("a"): GOOD, Entry("b c"): BAD_ONCE})
        self.assertEqual(code, 0)
        self.assertEqual((self.times("a"), self.times("b c")), (1, 2))
        self.assertEqual([line for line in out.splitlines() if line.startswith("repeated")], ["repeated: b c"])
        # Only the second time counts.
        self.assertEqual(out.splitlines()[-1], "4 passed, 0 failed")

    def test_two_failures_are_forgiven_and_three_are_not(self) -> None:
        for count, wanted in ((2, 0), (3, 1)):
            names = [f"{count}-{number}" for number in range(count)]
            code, out = self.run_all({Entry(name): BAD_ONCE for name in names})
            self.assertEqual(code, wanted, out)
            self.assertEqual([self.times(name) for name in names], [2] * count)
            self.assertEqual(out.count("repeated: "), count)

    def test_no_more_than_three_are_repeated(self) -> None:
        names = [str(number) for number in range(5)]
        code, out = self.run_all({Entry(name): BAD_ONCE for name in names})
        self.assertEqual((code, sum(map(self.times, names))), (1, 8))
        self.assertIn("failed: 5 scenarios failed at first", out)

    def test_what_fails_again_has_failed(self) -> None:
        code, out = self.run_all({Entry("a"): GOOD, Entry("b"): BAD})
        self.assertEqual((code, self.times("b")), (1, 2))
        self.assertIn("failed: b\n3 passed, 1 failed\n", out)

    def test_what_is_free_of_timing_is_never_repeated(self) -> None:
        code, out = self.run_all({Entry("a"): GOOD, Entry("b", timing_free=True): BAD_ONCE})
        self.assertEqual((code, self.times("b")), (1, 1))
        self.assertNotIn("repeated:", out)

    def test_nothing_checked_is_a_failure(self) -> None:
        self.assertEqual(self.run_all({Entry("a"): NOTHING})[0], 1)
        self.assertEqual(self.run_all({})[0], 1)

    def test_one_that_dies_or_hangs_is_a_failure_with_its_output(self) -> None:
        code, out = self.run_all({Entry("a"): DIES, Entry("b"): GOOD})
        self.assertEqual((code, self.times("a")), (1, 2))
        self.assertIn("last words\nFAIL a: ended with 7 before", out)
        began = time.monotonic()
        code, out = self.run_all({Entry("c", timing_free=True): HANGS}, seconds=1)
        self.assertLess(time.monotonic() - began, 300)
        self.assertEqual(code, 1)
        self.assertIn("hanging\nFAIL c: ended with -15 before", out)

    def test_outputs_are_kept_apart(self) -> None:
        text = "print(name); time.sleep(0.2); print(name, flush=True); count(1, 0)"
        _, out = self.run_all({Entry(name): text for name in "abc"})
        lines = out.splitlines()[:6]
        self.assertEqual(lines[0::2], lines[1::2])
        self.assertEqual(sorted(lines), list("aabbcc"))

    def test_side_by_side_until_one_wants_to_be_alone(self) -> None:
        # Each says who else is there while it waits, and which of those side by side it is.
        text = f"""
mark = place / f"running-{{name}}-{{os.environ['{SLOT}']}}"
mark.touch()
seen = set()
for _ in range(1500):
    seen |= {{path.name for path in place.glob("running-*")}}
    if len(seen) >= wanted:
        break
    time.sleep(0.02)
print(name, "sees", sorted(seen))
count(1, 0)
# None leaves before the others have seen it, however late they start.
(place / f"saw-{{name}}").touch()
for _ in range(1500):
    if len(list(place.glob("saw-*"))) >= wanted:
        break
    time.sleep(0.02)
mark.unlink()
"""
        texts = {Entry(name): "wanted = 2" + text for name in "ab"}
        texts[Entry("c", turn=Turn.ALONE)] = "wanted = 1" + text
        code, out = self.run_all(texts, at_once=2)
        self.assertEqual(code, 0)
        together = [line for line in out.splitlines() if line[:1] in "ab" and "sees" in line]
        for line in together:
            slots = {word.rsplit("-", 1)[1].rstrip("',]") for word in line.split("sees")[1].split()}
            self.assertEqual(slots, {"0", "1"}, line)
        self.assertEqual(len(together), 2)
        self.assertIn("c sees ['running-c-0']", out)

    def test_those_that_measure_run_beside_their_like_only(self) -> None:
        # Each waits until the other of its kind is there, and looks a little longer for others.
        text = """
mark = place / f"running-{name}"
mark.touch()
seen = set()
for _ in range(1500):
    seen |= {path.name[-1] for path in place.glob("running-*")}
    if len(seen) >= 2:
        break
    time.sleep(0.02)
for _ in range(15):
    seen |= {path.name[-1] for path in place.glob("running-*")}
    time.sleep(0.02)
print(name, "saw", "".join(sorted(seen)))
count(1, 0)
# Neither leaves before the other has seen it, however late that starts.
(place / f"saw-{name}").touch()
other = {"a": "b", "b": "a", "c": "d", "d": "c"}[name]
for _ in range(1500):
    if (place / f"saw-{other}").exists():
        break
    time.sleep(0.02)
mark.unlink()
"""
        turns = {"a": Turn.BESIDE_MEASURING, "c": Turn.BESIDE_OTHERS, "b": Turn.BESIDE_MEASURING, "d": Turn.BESIDE_OTHERS}
        code, out = self.run_all({Entry(name, turn=turn): text for name, turn in turns.items()}, at_once=4)
        self.assertEqual(code, 0)
        saw = sorted(line for line in out.splitlines() if " saw " in line)
        self.assertEqual(saw, ["a saw ab", "b saw ab", "c saw cd", "d saw cd"])

    def test_no_tally_and_a_broken_one(self) -> None:
        path = self.place / "tally"
        self.assertEqual(Tally.read(path), Tally(0, 1))
        path.write_text("{")
        self.assertEqual(Tally.read(path), Tally(0, 1))
        Tally(3, 1).write(path)
        self.assertEqual(Tally.read(path), Tally(3, 1))
        self.assertNotIn(SLOT, os.environ)


if __name__ == "__main__":
    unittest.main()
