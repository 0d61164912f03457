"""Server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """An event of a run."""

    # Its number; a reader that continues later gives it as `after`.
    id: int
    # `state`, `message`, `interval`, `cell`, `missed` or `end`.
    kind: str
    # Its data: `StateEvent`, `MessageEvent` and so on in the API's document.
    data: dict[str, Any]


def parse(lines: Iterable[bytes]) -> Iterator[Event]:
    """The complete events in the lines of a stream (WHATWG HTML, 9.2.6, as far as the service uses it)."""
    number, kind, data = 0, "", ""
    for line in lines:
        text = line.decode().rstrip("\r\n")
        if not text:
            if kind and data:
                yield Event(number, kind, json.loads(data))
            kind, data = "", ""
            continue
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            number = int(value)
        elif field == "event":
            kind = value
        elif field == "data":
            data = f"{data}\n{value}" if data else value
