"""A web site on this machine, for tests of downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: bytes that a slow site sends at once
DRIP = 1 << 10


@dataclass
class Site:
    """What it serves, and what was asked of it.

    Attributes
    ----------
    files : dict of str to bytes
        By their paths.
    headers : dict of str to str
        That go with every file.
    cut : int or None
        Bytes after which the connection breaks off.
    pace : float
        Seconds between two drips; 0 sends a file in one piece.
    asked : list of str
        The paths of all requests.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    pace: float = 0
    asked: list[str] = field(default_factory=list)


@contextmanager
def site() -> Iterator[Site]:
    """Serve files on the loopback interface until the block ends."""
    served, closing = Site(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            content = served.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            for name, value in served.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            sent = content[: served.cut]
            size = DRIP if served.pace else max(1, len(sent))
            for start in range(0, len(sent), size):
                try:
                    self.wfile.write(sent[start : start + size])
                except ConnectionError:
                    return
                if closing.wait(served.pace):
                    return

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    served.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
