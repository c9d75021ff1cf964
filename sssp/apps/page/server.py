"""The HTTP server behind the map page: one process, by default for this machine only.

======================= ============================================= =====================
path                    body                                          answer
======================= ============================================= =====================
GET ``/`` and its files                                               the page itself
GET ``/map``                                                          `packed` arrays, once
POST ``/distances``     ``sources``, ``closed``, ``traffic``          uint16, a vertex each
POST ``/route``         the same and ``target``, ``others``           JSON
POST ``/areas``         the same as ``/distances`` and ``limits``     GeoJSON
POST ``/certificate``   as ``/distances``                             JSON
POST ``/vertex``        ``label``                                     JSON
======================= ============================================= =====================

What people do elsewhere on the web must not reach it: a request has to name this machine as its
host, or a page of a foreign name that was made to point here would be read like its own; and one
that comes from another site is refused. Heads, bodies, connections, questions that wait, and the
time that a request takes to arrive are bounded; when there is no room for another connection, the
one that has kept the server waiting longest is closed.
"""

from __future__ import annotations

import io
import ipaddress
import json
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus as Status
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from sssp.apps.page.answers import Answers, MapAnswer, parse_fields, parse_request
from sssp.errors import SSSPError, VertexError

LOOPBACK = "127.0.0.1"
#: bytes of a body; questions that wait while one is answered; connections at a time
MOST_BYTES, MOST_WAITING, MOST_CONNECTIONS = 1 << 16, 64, 256
#: bytes of the first line of a request and its headers
MOST_HEAD = 1 << 15
#: bytes of a body too long that are read nevertheless; digits of a length that are looked at
MOST_SKIPPED, DIGITS = 1 << 20, 9
#: seconds that a connection may be silent; from the first byte of a request to its last; that the
#: rest of a refused request is waited for
PATIENCE, DEADLINE, LINGERING = 60.0, 30.0, 0.2
#: files of the page, by path, and what they are
STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
    "/places.js": ("places.js", "text/javascript; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
#: what may be asked: methods of `Answers`, by path
QUESTIONS = ("distances", "route", "areas", "certificate", "vertex")
BINARY = "application/octet-stream"
#: nothing is loaded from elsewhere, and no other site may take anything from here
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

log = logging.getLogger(__name__)


class Refusal(Exception):
    """The error of a refused request: HTTP status and reason."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """The HTTP server that serves the page and answers the requests of the page.

    Parameters
    ----------
    answers : Answers
    content : bytes
        What ``/map`` is.
    host : str
        The address to listen on, or a name of it.
    port : int
        0: any that is free; `address` says which.

    Raises
    ------
    OSError
        Another program listens there, or the address is not of this machine.
    """

    daemon_threads = True
    request_queue_size = 128
    #: seconds of a clock that never goes back
    clock = staticmethod(time.monotonic)

    def __init__(
        self, answers: Answers, content: bytes, host: str = LOOPBACK, port: int = 0
    ) -> None:
        self.answers = answers
        self.host = host.lower()
        self.places = threading.BoundedSemaphore(MOST_WAITING + 1)
        self._answering = threading.Lock()
        folder = files("sssp.apps.page") / "static"
        self.files = {
            path: ((folder / name).read_bytes(), kind) for path, (name, kind) in STATIC.items()
        }
        self.files["/map"] = (content, BINARY)
        #: since when each has kept the server waiting; None while its question is answered
        self._connections: dict[Any, float | None] = {}
        self._registering = threading.Lock()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind the socket without a DNS lookup of this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Context manager: answer one request at a time; raise `Refusal` if too many wait."""
        if not self.places.acquire(blocking=False):
            raise Refusal(Status.SERVICE_UNAVAILABLE, "too many questions are waiting; ask again")
        try:
            with self._answering:
                yield
        finally:
            self.places.release()

    def warm_up(self) -> None:
        """Load kernels by answering one request of each kind: the first now, others in a thread.

        Kernels are loaded, and a device that does not work is told of, before anyone clicks.
        """
        questions = self.answers.warm_up()
        for ask in islice(questions, 1):
            ask()

        def ask_others() -> None:
            for ask in questions:
                try:
                    with self.turn():
                        ask()
                except Exception:
                    # (the next to ask gets the error)
                    log.debug("a question has no answer here", exc_info=True)

        with suppress(RuntimeError):  # without another thread the first clicks warm up
            threading.Thread(target=ask_others, daemon=True).start()

    @property
    def address(self) -> str:
        """The URL of the page."""
        # (no browser goes to "any address")
        host = "localhost" if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/"

    @property
    def is_open(self) -> bool:
        """Whether other machines can connect to the server."""
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def knows_host(self, name: str | None) -> bool:
        """Return True if a request's host is localhost, this server's host, or an IP address.

        Another name may have been made to point here by its owner.
        """
        with suppress(ValueError):
            return name in ("localhost", self.host) or bool(ipaddress.ip_address(name or ""))
        return False

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in its own thread; close the slowest one if there are too many."""
        with self._registering:
            if len(self._connections) >= MOST_CONNECTIONS:
                waiting = {one: at for one, at in self._connections.items() if at is not None}
                if not waiting:
                    self.shutdown_request(request)
                    return
                slowest = min(waiting, key=waiting.__getitem__)
                del self._connections[slowest]
                # (its thread finds the end of the stream, and closes it)
                with suppress(OSError):
                    slowest.shutdown(socket.SHUT_RDWR)
            self._connections[request] = self.clock()
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._forget(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a connection, and remove it from the list of connections."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._forget(request)

    def note(self, request: Any, *, waits_for_client: bool) -> None:
        """Record which side of a connection waits: the server for the client, or vice versa."""
        with self._registering:
            if request in self._connections:
                self._connections[request] = self.clock() if waits_for_client else None

    def _forget(self, request: Any) -> None:
        with self._registering:
            self._connections.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error that ended a connection; most often the browser has disconnected."""
        log.debug("a connection broke", exc_info=True)


class _Incoming(io.RawIOBase):
    """A raw stream of the bytes that a client sends, with time limits.

    Attributes
    ----------
    silence : float
        Seconds to wait for the next.
    deadline : float or None
        When the request must have arrived, by `clock`; None before its first byte.
    """

    def __init__(self, connection: socket.socket, clock: Callable[[], float]) -> None:
        self.silence = PATIENCE
        self.deadline: float | None = None
        self._connection, self._clock = connection, clock

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive the next bytes into `buffer`, return their number; TimeoutError if too late."""
        seconds = self.silence
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - self._clock())
        if seconds <= 0:
            raise TimeoutError(f"the request took more than {DEADLINE:g} s to arrive")
        self._connection.settimeout(seconds)
        received = self._connection.recv_into(buffer)
        if self.deadline is None:
            self.deadline = self._clock() + DEADLINE
        return received


class _Requests(io.BufferedReader):
    """A reader of the lines of HTTP requests, with a limit on the bytes of a request's head."""

    def __init__(self, incoming: _Incoming) -> None:
        super().__init__(incoming)
        self.incoming = incoming
        #: bytes that the head of the present request may still have
        self.room = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line of the head of a request; raise `Refusal` if the head is too long."""
        line = super().readline(self.room + 1)
        self.room -= len(line)
        if self.room < 0:
            reason = f"a request and its headers may have {MOST_HEAD:,} bytes"
            raise Refusal(Status.REQUEST_HEADER_FIELDS_TOO_LARGE, reason)
        return line


class _Handler(BaseHTTPRequestHandler):
    """The handler that answers the HTTP requests of one connection."""

    server: PageServer
    rfile: _Requests
    protocol_version = "HTTP/1.1"
    # (what is no request gets a reply with headers, too)
    default_request_version = "HTTP/1.0"
    timeout = PATIENCE
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Prepare a connection: read its requests through a stream that enforces time limits."""
        super().setup()
        self.rfile.close()
        self.rfile = _Requests(_Incoming(self.connection, self.server.clock))

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._is_read = False
        self.requestline = self.request_version = self.command = ""
        self.rfile.incoming.deadline, self.rfile.room = None, MOST_HEAD
        try:
            super().handle_one_request()
        except Refusal as refusal:  # while its head was read
            self.send_error(refusal.status, str(refusal))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a malformed request with an error, and close the connection."""
        self.close_connection = True
        status = Status(code)
        self._refuse(status, message or status.phrase)

    def do_GET(self) -> None:
        """Answer GET: send a file of the page, or the packed arrays of the map."""
        # (a body that belongs to no question would be taken for the next request)
        if {"Content-Length", "Transfer-Encoding"} & {*self.headers}:
            self.close_connection = True
        self._answer(self._send_file)

    def do_POST(self) -> None:
        """Answer POST: a request for distances, a route, areas, a certificate or a vertex."""
        self._answer(self._reply)

    def version_string(self) -> str:
        """Return the name of the server, without version numbers."""
        return "sssp"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log requests at the level of debugging."""
        log.debug(format, *arguments)

    # -- requests ------------------------------------------------------------------------------

    def _answer(self, answer: Callable[[], None]) -> None:
        try:
            self._check_head()
            answer()
        except Refusal as refusal:
            self._refuse(refusal.status, str(refusal))
        except VertexError as error:
            self._refuse(Status.NOT_FOUND, str(error))
        except (SSSPError, ValueError, TypeError) as error:
            self._refuse(Status.BAD_REQUEST, str(error))
        except OSError:
            raise
        except Exception:
            log.exception("a question without an answer")
            self._refuse(Status.INTERNAL_SERVER_ERROR, "the map has no answer; see its log")

    def _check_head(self) -> None:
        """Refuse a request head that is invalid, or names an unknown host or another website."""
        twice = [n for n in ("Host", "Content-Length") if len(self.headers.get_all(n, [])) > 1]
        if twice or not self.path.startswith("/"):
            self.close_connection = True
            message = f"more than one {twice[0]}" if twice else "the path must start with /"
            raise Refusal(Status.BAD_REQUEST, message)
        host, name = self.headers.get("Host", ""), None
        with suppress(ValueError):
            parts = urlsplit(f"//{host}")
            name = parts.hostname if parts.netloc == host and "@" not in host else None
        if not self.server.knows_host(name):
            raise Refusal(Status.MISDIRECTED_REQUEST, "no such host here")
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise Refusal(Status.FORBIDDEN, "only the page itself may ask")

    def _send_file(self) -> None:
        found = self.server.files.get(urlsplit(self.path).path)
        if found is None:
            raise Refusal(Status.NOT_FOUND, "nothing is here")
        self._send(*found)

    def _reply(self) -> None:
        name = self.path.removeprefix("/")
        if name not in QUESTIONS:
            raise Refusal(Status.NOT_FOUND, "nothing is here")
        if self.headers.get_content_type() != "application/json":
            raise Refusal(Status.UNSUPPORTED_MEDIA_TYPE, "questions are application/json")
        length = self._length()
        if length is None:
            raise Refusal(Status.LENGTH_REQUIRED, "the body must say how long it is")
        if length > MOST_BYTES:
            raise Refusal(Status.REQUEST_ENTITY_TOO_LARGE, f"a body may have {MOST_BYTES:,} bytes")
        body = self.rfile.read(length)
        self._is_read = True
        if len(body) < length:
            self.close_connection = True
            raise Refusal(Status.BAD_REQUEST, "the body breaks off")
        fields = parse_fields(body)
        self.server.note(self.connection, waits_for_client=False)
        with self.server.turn():
            reply = _ask(self.server.answers, name, fields)
        if isinstance(reply, MapAnswer):
            facts = json.dumps(reply.facts)
            self._send(reply.values.astype("<u2", copy=False).tobytes(), BINARY, facts)
        else:
            self._send(json.dumps(reply).encode(), "application/json")

    def _length(self) -> int | None:
        """Return the length of the request body in bytes; None if it is unknown."""
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return None
        # (what has more digits is too long in any case)
        return int(length.lstrip("0")[:DIGITS] or 0)

    # -- replies -------------------------------------------------------------------------------

    def _refuse(self, status: Status, message: str) -> None:
        """Answer a request with an error; read and discard the unread rest of that request.

        A connection that closes on what was not read may even take back what was answered: before
        it closes, what is left is read for a short time.
        """
        if not (self._is_read or self.close_connection):
            length = 0 if self.command == "GET" else self._length()
            if length is None or length > MOST_BYTES:
                self.close_connection = True
            else:
                self.rfile.read(length)
        self._send(json.dumps({"error": message}).encode(), "application/json", status=status)
        if self.close_connection:
            self.rfile.incoming.silence, left = LINGERING, MOST_SKIPPED
            with suppress(OSError):
                while left > 0 and (some := self.rfile.read1(left)):
                    left -= len(some)

    def _send(
        self, content: bytes, kind: str, answer: str = "", status: Status = Status.OK
    ) -> None:
        self.server.note(self.connection, waits_for_client=True)
        # (what is left of the time to read is not that to write)
        self.connection.settimeout(PATIENCE)
        self.send_response(status)
        own = {"Content-Type": kind, "Content-Length": str(len(content))}
        if self.close_connection:
            own["Connection"] = "close"
        if answer:
            own["Answer"] = answer
        for name, value in {**HEADERS, **own}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _ask(answers: Answers, name: str, fields: dict[str, Any]) -> Any:
    """Return the answer to a POST request, given its name (one of `QUESTIONS`) and fields."""
    if name != "vertex":
        question = parse_request(fields, answers.network.n, len(answers.map.streets))
        return getattr(answers, name)(question)
    label = fields.get("label")
    if set(fields) != {"label"} or not isinstance(label, str):
        raise ValueError("label must be a text")
    return {"vertex": answers.vertex(label)}
