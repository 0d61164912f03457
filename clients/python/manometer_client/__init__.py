"""A client of `manometer serve`: posts experiments, watches them, reads their figures."""

from .client import Client
from .errors import ManometerError, ProblemError, UnreachableError, WaitTimeoutError
from .events import Event

__all__ = ["Client", "Event", "ManometerError", "ProblemError", "UnreachableError", "WaitTimeoutError"]
