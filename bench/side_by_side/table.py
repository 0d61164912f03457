"""The table: each case with its ratio, its spread and its goal."""

from __future__ import annotations

from dataclasses import dataclass

from .measure import Sample, Spread


@dataclass(frozen=True)
class Line:
    """One case after all its rounds."""

    name: str
    unit: str  # ops or bytes
    peer: str
    goal: float | None
    ours: list[Sample]
    theirs: list[Sample]
    per_clock: bool = False  # compare rates instead of rates per CPU-second

    def rate(self, sample: Sample) -> float:
        """The figure compared."""
        return sample.per_second if self.per_clock else sample.per_cpu_second

    @property
    def ratios(self) -> list[float]:
        """Ratios of ours to theirs, pair by pair."""
        return [self.rate(a) / self.rate(b) for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def reached(self) -> bool | None:
        """Whether the median reaches the goal; None without a goal."""
        return None if self.goal is None else Spread.of(self.ratios).median >= self.goal

    def document(self) -> dict[str, object]:
        """The line for the JSON file."""
        return {
            "case": self.name,
            "unit": self.unit,
            "per": "second" if self.per_clock else "client CPU-second",
            "peer": self.peer,
            "goal": self.goal,
            "reached": self.reached,
            "ratio": vars(Spread.of(self.ratios)),
            "ours": [vars(sample) for sample in self.ours],
            "theirs": [vars(sample) for sample in self.theirs],
        }


def figure(value: float, unit: str) -> str:
    """A rate in the usual unit: bytes in GB, ops in K or M."""
    if unit == "bytes":
        return f"{value / 1e9:.2f} GB"
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} K"


def cells(line: Line) -> list[str]:
    """One line of the table."""
    ratio = Spread.of(line.ratios)
    ours, theirs = (
        figure(Spread.of([line.rate(s) for s in side]).median, line.unit) for side in (line.ours, line.theirs)
    )
    errors = sum(sample.errors for sample in [*line.ours, *line.theirs])
    goal = "" if line.goal is None else f"{line.goal:g} ×"
    verdict = {True: "reached", False: "missed", None: ""}[line.reached]
    return [
        line.name,
        line.peer,
        ours,
        theirs,
        f"{ratio.median:.2f} × ({ratio.low:.2f}–{ratio.high:.2f})",
        goal,
        verdict if not errors else f"{verdict} {errors} ERRORS".strip(),
    ]


HEADINGS = ["case", "peer", "ours", "peer's", "ratio (min–max)", "goal", ""]


def render(lines: list[Line]) -> str:
    """All lines as a Markdown table, which also reads well in a terminal."""
    rows = [HEADINGS, *(cells(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(shown)
