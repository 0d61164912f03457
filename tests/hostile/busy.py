"""Work that has nothing to do with the service, at the priority of the hostile clients: what keeps a processor busy costs a load
beside it something, because processors share caches, memory and often the core itself."""

from __future__ import annotations

import asyncio
import os
import sys

SENDERS = 4
BODY = b"x" * 120


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each line with it."""
    while line := await reader.readline():
        writer.write(line)


async def send(port: int) -> None:
    """Lines, as fast as they are answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(BODY + b"\n")
        await reader.readline()


async def main() -> None:
    os.nice(19)
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    senders = [asyncio.ensure_future(send(port)) for _ in range(SENDERS)]
    # Told to stop by the end of its input.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    failed = [task for task in senders if task.done()]
    os._exit(1 if failed else 0)


asyncio.run(main())
