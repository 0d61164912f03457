"""A stand-in for rpcbind on a Unix socket.

nfs-ganesha refuses to serve NFSv3 unless some portmapper takes its registrations, and asks only
/run/rpcbind.sock. This one answers every call with success and TRUE (RFC 5531 section 9, a void
verifier, then one XDR boolean) and keeps nothing, so that no port 111 is needed.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from pathlib import Path

LAST_FRAGMENT = 0x8000_0000
REPLY, ACCEPTED, AUTH_NONE, NO_LENGTH, SUCCESS, TRUE = 1, 0, 0, 0, 0, 1


class _Caller(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while True:
            mark = self.rfile.read(4)
            if len(mark) < 4:
                return
            call = self.rfile.read(struct.unpack(">I", mark)[0] & ~LAST_FRAGMENT)
            if len(call) < 4:
                return
            xid = struct.unpack(">I", call[:4])[0]
            reply = struct.pack(">7I", xid, REPLY, ACCEPTED, AUTH_NONE, NO_LENGTH, SUCCESS, TRUE)
            self.wfile.write(struct.pack(">I", LAST_FRAGMENT | len(reply)) + reply)


class FakePortmapper(socketserver.ThreadingUnixStreamServer):
    """Serves from a thread of this process until `stop`."""

    daemon_threads = True

    def __init__(self, socket_path: Path) -> None:
        super().__init__(str(socket_path), _Caller)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Ends the thread and closes the socket."""
        self.shutdown()
        self.server_close()
