"""What both programs beside a load do: yield to it, and work until they are told to stop."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine


async def failures(*work: Coroutine[None, None, None]) -> list[str]:
    """Does all of this at the lowest priority until the end of the input; what failed until then."""
    os.nice(19)
    running = [asyncio.ensure_future(one) for one in work]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    return [str(task.exception()) for task in running if task.done() and task.exception()]
