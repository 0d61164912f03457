"""Clients that mean no good, in a process of the lowest priority: in earnest they have CPUs of their own."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Coroutine
from contextlib import suppress

READERS = 200
SLOW = 100
MUTANTS = 4
BODY = b"name: exact\ntargets: {t: 'sim:?latency=1ms'}\nworkloads: {w: {ops: read, file_size: 1MiB}}\nsteady: none\n"
PIECES = (b"{", b"}", b"[[[[", b": ", b"- ", b"\n", b"'", b"\\u0000", b"&a ", b"*a ", b"<<: ", b"1e999", b"-1", b"\0")


class Target:
    """The service, and what it answered by status."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: dict[str, int] = {}

    def count(self, status: bytes) -> None:
        self.answers[status.decode()] = self.answers.get(status.decode(), 0) + 1

    def head(self, method: str, path: str, *lines: str) -> bytes:
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self.port}", *lines, "", ""]).encode()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


def mutated(body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(changed) + 1)
        changed[at : at + random.randrange(20)] = random.choice(PIECES)
    return bytes(changed)


async def answered(reader: asyncio.StreamReader) -> bytes:
    """The status of an answer, which is read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))
    return head.split(b" ", 2)[1]


async def send_mutants(target: Target) -> None:
    """Mutated bodies, as fast as they are answered."""
    while True:
        reader, writer = await target.connect()
        # The service may close a connection that waits while all its connections are in use.
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                body = mutated(BODY)
                kind, length = "content-type: application/yaml", f"content-length: {len(body)}"
                writer.write(target.head("POST", "/api/v3/experiments/validate", kind, length) + body)
                target.count(await answered(reader))
        target.count(b"mutant, closed")
        writer.close()


async def send_huge(target: Target) -> None:
    """Bodies without an end, until the service closes the connection."""
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    kind, form = "content-type: application/yaml", "transfer-encoding: chunked"
    while True:
        reader, writer = await target.connect()
        writer.write(target.head("POST", "/api/v3/experiments/validate", kind, form))
        try:
            while not reader.at_eof():
                writer.write(chunk)
                await writer.drain()
        except ConnectionError:
            pass
        target.count(b"huge, refused")
        writer.close()


async def send_slowly(target: Target) -> None:
    """A head that grows by a byte every 100 ms, until the service gives up."""
    while True:
        reader, writer = await target.connect()
        writer.write(target.head("GET", "/api/v3/runs")[:-2] + b"x-slow: ")
        end = asyncio.ensure_future(reader.read(1000))
        try:
            while not end.done():
                writer.write(b"x")
                await asyncio.sleep(0.1)
        except ConnectionError:
            pass
        target.count(b"slow, ended")
        end.cancel()
        writer.close()


async def read_events(target: Target, run: str) -> None:
    """A reader of the run's events, who comes back when they end."""
    while True:
        reader, writer = await target.connect()
        with suppress(ConnectionError):
            writer.write(target.head("GET", f"/api/v3/runs/{run}/events"))
            while line := await reader.readline():
                if line.startswith(b"event:"):
                    target.count(b"events")
                elif line.startswith(b"0\r\n"):
                    break
        writer.close()
        await asyncio.sleep(0.2)


async def failures(*work: Coroutine[None, None, None]) -> list[str]:
    """Does all of this at the lowest priority until the end of the input; what failed until then."""
    os.nice(19)
    running = [asyncio.ensure_future(one) for one in work]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    return [str(task.exception()) for task in running if task.done() and task.exception()]


async def main(port: int, run: str) -> None:
    target = Target(port)
    tasks = [read_events(target, run) for _ in range(READERS)]
    tasks += [send_slowly(target) for _ in range(SLOW)]
    tasks += [send_mutants(target) for _ in range(MUTANTS)]
    tasks.append(send_huge(target))
    failed = await failures(*tasks)
    print("; ".join(f"{count} {what}" for what, count in sorted(target.answers.items())), *failed[:3], sep="\n")
    sys.stdout.flush()
    os._exit(1 if failed else 0)


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
