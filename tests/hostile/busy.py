"""Work that has nothing to do with the service, at the priority of the hostile clients: what keeps a processor busy costs a load
beside it something, because processors share caches, memory and often the core itself."""

from __future__ import annotations

import asyncio
import os

from told import failures

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
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    failed = await failures(*(send(port) for _ in range(SENDERS)))
    os._exit(1 if failed else 0)


asyncio.run(main())
