"""The server behind the page: one process, on this machine alone unless told otherwise.

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

from sssp.apps.page.answers import Answers, MapAnswer, MapRequest, parse_fields, parse_request
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
    """A refused request, with the reason."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Desk:
    """Admits one request at a time, with a bounded queue: one solver uses all threads."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._places = threading.BoundedSemaphore(most_waiting + 1)
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the earlier requests; raise `Refusal` if too many are waiting."""
        if not self._places.acquire(blocking=False):
            raise Refusal(Status.SERVICE_UNAVAILABLE, "too many questions are waiting; ask again")
        try:
            with self._turn:
                yield
        finally:
            self._places.release()


class PageServer(ThreadingHTTPServer):
    """Serves the page and answers its questions.

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
        self.desk = Desk()
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
        """Bind without a lookup of this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def warm_up(self) -> None:
        """Answer a first question now, and one of each other kind in a background thread.

        Kernels are loaded, and a device that does not work is told of, before anyone clicks.
        """
        questions = self.answers.warm_up()
        for ask in islice(questions, 1):
            ask()
        with suppress(RuntimeError):  # without another thread the first clicks warm up
            threading.Thread(target=self._ask_all, args=(questions,), daemon=True).start()

    def _ask_all(self, questions: Iterator[Callable[[], object]]) -> None:
        for ask in questions:
            try:
                with self.desk.turn():
                    ask()
            except Exception:
                # (the next to ask gets the error)
                log.debug("a question has no answer here", exc_info=True)

    @property
    def address(self) -> str:
        """The address of the page."""
        # (no browser goes to "any address")
        host = "localhost" if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/"

    @property
    def is_open(self) -> bool:
        """Whether other machines can connect."""
        return not ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def knows_host(self, name: str | None) -> bool:
        """Return whether a request names this machine: by number, as localhost, or by its own name.

        Another name may have been made to point here by its owner.
        """
        if name in ("localhost", self.host):
            return True
        try:
            ipaddress.ip_address(name or "")
        except ValueError:
            return False
        return True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in its own thread; close the slowest one if there are too many."""
        with self._registering:
            if len(self._connections) >= MOST_CONNECTIONS and not self._close_slowest():
                self.shutdown_request(request)
                return
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
        """Record which side of a connection the other is waiting for."""
        with self._registering:
            if request in self._connections:
                self._connections[request] = self.clock() if waits_for_client else None

    def _forget(self, request: Any) -> None:
        with self._registering:
            self._connections.pop(request, None)

    def _close_slowest(self) -> bool:
        """Close the connection that is idle longest while it owes data; False if none."""
        waiting = {one: since for one, since in self._connections.items() if since is not None}
        if not waiting:
            return False
        slowest = min(waiting, key=waiting.__getitem__)
        del self._connections[slowest]
        # (its thread finds the end of the stream, and closes it)
        with suppress(OSError):
            slowest.shutdown(socket.SHUT_RDWR)
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error; most often the browser has closed the connection."""
        log.debug("a connection broke", exc_info=True)


class _Incoming(io.RawIOBase):
    """The bytes that a client sends.

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
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive the next bytes; TimeoutError if none come in time."""
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
    """Reads requests line by line, up to a limit on the bytes of their heads."""

    def __init__(self, incoming: _Incoming) -> None:
        super().__init__(incoming)
        self.incoming = incoming
        self._room = 0

    def begin_request(self) -> None:
        """Reset the limits on time and bytes for the next request."""
        self.incoming.deadline, self._room = None, MOST_HEAD

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line of the head of a request; `Refusal` if the head is too long."""
        line = super().readline(self._room + 1)
        self._room -= len(line)
        if self._room < 0:
            raise Refusal(
                Status.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"a request and its headers may have {MOST_HEAD:,} bytes",
            )
        return line


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: PageServer
    rfile: _Requests
    protocol_version = "HTTP/1.1"
    # (what is no request gets a reply with headers, too)
    default_request_version = "HTTP/1.0"
    timeout = PATIENCE
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Set up the handler with the clock of the server."""
        super().setup()
        self.rfile.close()
        self.rfile = _Requests(_Incoming(self.connection, self.server.clock))

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._is_read, self._left = False, 0
        self.requestline = self.request_version = self.command = ""
        self.rfile.begin_request()
        try:
            super().handle_one_request()
        except Refusal as refusal:  # while its head was read
            self.send_error(refusal.status, str(refusal))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a malformed request with an error, and close the connection."""
        self.close_connection, self._is_read, self._left = True, True, MOST_SKIPPED
        status = Status(code)
        self._refuse(status, message or status.phrase)

    def do_GET(self) -> None:
        """Send a file, or the map."""
        # (a body that belongs to no question would be taken for the next request)
        if {"Content-Length", "Transfer-Encoding"} & {*self.headers}:
            self.close_connection = True
        self._answer(self._file)

    def do_POST(self) -> None:
        """Answer a question."""
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
            self._check_form()
            self._check_origin()
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

    def _check_form(self) -> None:
        """Refuse requests that a proxy might parse in another way than this server."""
        twice = [n for n in ("Host", "Content-Length") if len(self.headers.get_all(n, [])) > 1]
        if twice or not self.path.startswith("/"):
            self.close_connection = True
            message = f"more than one {twice[0]}" if twice else "the path must start with /"
            raise Refusal(Status.BAD_REQUEST, message)

    def _check_origin(self) -> None:
        """Refuse requests for a foreign host name or from a foreign page."""
        host = self.headers.get("Host", "")
        if not self.server.knows_host(_parse_host(host)):
            raise Refusal(Status.MISDIRECTED_REQUEST, "no such host here")
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            raise Refusal(Status.FORBIDDEN, "only the page itself may ask")

    def _file(self) -> None:
        found = self.server.files.get(urlsplit(self.path).path)
        if found is None:
            raise Refusal(Status.NOT_FOUND, "nothing is here")
        self._send(*found)

    def _reply(self) -> None:
        question = QUESTIONS.get(self.path)
        if question is None:
            raise Refusal(Status.NOT_FOUND, "nothing is here")
        if self.headers.get_content_type() != "application/json":
            raise Refusal(Status.UNSUPPORTED_MEDIA_TYPE, "questions are application/json")
        fields = parse_fields(self._body())
        self.server.note(self.connection, waits_for_client=False)
        with self.server.desk.turn():
            reply = question(self.server.answers, fields)
        if isinstance(reply, MapAnswer):
            facts = json.dumps(reply.facts)
            self._send(reply.values.astype("<u2", copy=False).tobytes(), BINARY, facts)
        else:
            self._send(json.dumps(reply).encode(), "application/json")

    def _body(self) -> bytes:
        """Return the body of a request, read by its declared length."""
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
        return body

    def _length(self) -> int | None:
        """Return the length of the body; None if it is unknown."""
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return None
        # (what has more digits is too long in any case)
        return int(length.lstrip("0")[:DIGITS] or 0)

    def _skip_body(self) -> None:
        """Read and discard a body, so that the next request can be read.

        A connection that closes on what was not read may even take back what was answered.
        """
        length = 0 if self.command == "GET" else self._length()
        if length is None or length > MOST_BYTES:
            self.close_connection = True
        self._left = MOST_SKIPPED if length is None else min(length, MOST_SKIPPED)
        if not self.close_connection:
            self.rfile.read(self._left)
            self._left = 0

    def _linger(self) -> None:
        """Read for a short time after a refusal, so that the client receives the answer."""
        self.rfile.incoming.silence = LINGERING
        with suppress(OSError):
            while self._left > 0 and (some := self.rfile.read1(self._left)):
                self._left -= len(some)

    # -- replies -------------------------------------------------------------------------------

    def _refuse(self, status: Status, message: str) -> None:
        if not self._is_read:
            self._skip_body()
        self._send(json.dumps({"error": message}).encode(), "application/json", status=status)
        if self.close_connection:
            self._linger()

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


def _parse_host(host: str) -> str | None:
    """Return the name in a ``Host`` header, without the port; None if it is none."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname if parts.netloc == host and "@" not in host else None
    except ValueError:
        return None


def _question(answers: Answers, fields: dict[str, Any]) -> MapRequest:
    return parse_request(fields, answers.network.n, len(answers.map.streets))


def _route(answers: Answers, fields: dict[str, Any]) -> dict[str, Any]:
    question = _question(answers, fields)
    if question.target is None:
        raise ValueError("target must be a vertex")
    return answers.route(question)


def _vertex(answers: Answers, fields: dict[str, Any]) -> dict[str, Any]:
    label = fields.get("label")
    if set(fields) != {"label"} or not isinstance(label, str):
        raise ValueError("label must be a text")
    return {"vertex": answers.vertex(label)}


#: what may be asked, by path
QUESTIONS: dict[str, Callable[[Answers, dict[str, Any]], Any]] = {
    "/distances": lambda answers, fields: answers.distances(_question(answers, fields)),
    "/route": _route,
    "/areas": lambda answers, fields: answers.areas(_question(answers, fields)),
    "/certificate": lambda answers, fields: answers.certificate(_question(answers, fields)),
    "/vertex": _vertex,
}
