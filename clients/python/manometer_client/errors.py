"""What can go wrong."""

from __future__ import annotations

import json
from typing import cast

from .types import Fault, Problem


class ManometerError(Exception):
    """Every error of this package."""


class UnreachableError(ManometerError):
    """The service does not answer."""


class WaitTimeoutError(ManometerError, TimeoutError):
    """A run has not ended within the time that `wait` was given."""


class ProblemError(ManometerError):
    """The service refused a request (problem details, RFC 9457)."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem['status']} {problem['title']}: {problem['detail']}")
        self.status: int = problem["status"]
        # Never changes for a kind of problem, unlike the text.
        self.code: str = problem["code"]
        self.detail: str = problem["detail"]
        # The field that is wrong, of a request that consists of fields.
        self.field: str | None = problem.get("field")
        self.faults: list[Fault] = problem.get("faults", [])

    @classmethod
    def of(cls, status: int, reason: str, body: bytes) -> ProblemError:
        """The problem in a response, or what is known if something between client and service responded."""
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if isinstance(found, dict) and {"status", "title", "detail", "code"} <= found.keys():
            return cls(cast(Problem, found))
        detail = body[:200].decode(errors="replace").strip()
        return cls({"type": "about:blank", "title": reason, "status": status, "code": "unknown", "detail": detail})
