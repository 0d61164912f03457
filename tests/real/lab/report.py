"""One line a check, and the closing line that counts them."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .turns import Tally


class TooSlow(Exception):
    """A scenario was still running when its time was up."""


class Report:
    """Counts checks. A failed check is printed and the scenario goes on."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self._scenario = ""

    def check(self, what: str, holds: bool, detail: object = "") -> bool:
        """Records one check; `detail` is printed only when it fails."""
        if holds:
            self.passed += 1
            print(f"ok   {self._scenario}: {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {self._scenario}: {what}: {detail}", flush=True)
        return holds

    def equal(self, what: str, got: object, wanted: object) -> bool:
        """Records whether two values are equal."""
        return self.check(what, got == wanted, f"got {got!r}, wanted {wanted!r}")

    def contains(self, what: str, text: str, parts: list[str]) -> bool:
        """Records whether every part is in the text, in any case."""
        missing = [part for part in parts if part.lower() not in text.lower()]
        return self.check(what, not missing, f"{missing} not in {text.strip()!r}")

    @contextmanager
    def scenario(self, name: str, seconds: int) -> Iterator[None]:
        """Runs the block as one scenario: whatever it raises, or a hang, is one failed check."""
        self._scenario = name
        began = time.monotonic()

        def too_slow(_signal: int, _frame: FrameType | None) -> None:
            raise TooSlow(f"still running after {seconds} s")

        before = signal.signal(signal.SIGALRM, too_slow)
        signal.alarm(seconds)
        try:
            yield
        except Exception as error:  # noqa: BLE001  the next scenario must still run
            traceback.print_exc()
            self.check("ran to its end", False, f"{type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            print(f"     {name}: {time.monotonic() - began:.1f} s", flush=True)

    @property
    def tally(self) -> Tally:
        """How many checks held, and how many did not."""
        return Tally(self.passed, self.failed)

    def close(self) -> int:
        """Prints the closing line; the exit code of the whole run."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.tally.good else 1


Scenario = Callable[..., None]
