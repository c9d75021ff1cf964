"""The server behind the page: what it answers, and what it refuses."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import sssp
from sssp.apps.page import server as module
from sssp.apps.page.answers import Answers
from sssp.apps.page.server import DEADLINE, MOST_BYTES, MOST_HEAD, STATIC, PageServer
from tests.page.conftest import serving
from tests.patience import PATIENCE, wait_until

JSON = {"Content-Type": "application/json"}


class Reply(NamedTuple):
    status: int
    headers: Any
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


class Browser:
    """One connection, as a browser holds it."""

    def __init__(self, server: PageServer) -> None:
        self.host = f"127.0.0.1:{server.server_port}"
        self.connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)

    def get(self, path: str, **headers: str) -> Reply:
        return self._sent("GET", path, None, headers)

    def ask(self, what: str, question: Any, headers: dict[str, str] | None = None) -> Reply:
        return self._sent("POST", what, json.dumps(question).encode(), JSON | (headers or {}))

    def post(self, path: str, body: Any, headers: dict[str, str]) -> Reply:
        return self._sent("POST", path, body, headers)

    def _sent(self, verb: str, path: str, body: Any, headers: dict[str, str]) -> Reply:
        self.connection.request(verb, path, body, headers)
        reply = self.connection.getresponse()
        return Reply(reply.status, reply.headers, reply.read())


def connected(server: PageServer) -> socket.socket:
    """Return a connection that says nothing yet."""
    return socket.create_connection(("127.0.0.1", server.server_port), PATIENCE)


def status_of(connection: socket.socket) -> int:
    """Take the reply to a request, whole, and return its status."""
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    reply.read()
    return reply.status


@pytest.fixture
def browser(server: PageServer) -> Iterator[Browser]:
    one = Browser(server)
    yield one
    one.connection.close()


def test_the_page_and_its_files_are_served_and_nothing_else(browser):
    for path in STATIC:
        reply = browser.get(path)
        assert reply.status == 200
        assert len(reply.body) > 100
        # no script, style or picture from elsewhere, and nothing of ours for other sites
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert b"http://" not in reply.body.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in reply.body
    for path in (
        "/../server.py",
        "/static/page.js",
        "/%2e%2e/server.py",
        "//page.js/..",
        "/distances",
    ):
        assert browser.get(path).status == 404


def test_the_files_of_the_page_are_small(browser):
    assert sum(len(browser.get(path).body) for path in STATIC) < 100_000


def test_the_map_is_sent_as_it_is_packed(browser, server):
    body = browser.get("/map").body
    length = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + length])
    assert head["name"] == "town"
    assert head["vertices"] == 300
    assert [entry["name"] for entry in head["arrays"]] == ["positions", "streets", "classes"]


def test_a_click_is_answered_by_sixteen_bits_a_vertex(browser, server):
    reply = browser.ask("/distances", {"sources": [7]})
    facts = json.loads(reply.headers["Answer"])
    values = np.frombuffer(reply.body, "<u2")
    expected = sssp.shortest_paths(server.answers.graph, 7).distances
    assert values.shape == (300,)
    assert (
        np.abs(facts["least"] + facts["step"] * values - expected).max() <= facts["step"] / 2 + 1e-6
    )
    assert facts["labels"] == ["7"]


def test_routes_certificates_and_labels_are_json(browser, server):
    route = json.loads(browser.ask("/route", {"sources": [7], "target": 40}).body)
    tree = sssp.shortest_paths(server.answers.graph, 7, predecessors=True)
    assert route["vertices"] == tree.path(40).tolist()
    proof = json.loads(browser.ask("/certificate", {"sources": [7]}).body)
    assert proof["vertices"] == 300
    assert json.loads(browser.ask("/vertex", {"label": "40"}).body) == {"vertex": 40}


@pytest.mark.parametrize(
    ("what", "question", "status", "message"),
    [
        ("/distances", {"sources": [300]}, 404, "300 is not a vertex"),
        ("/vertex", {"label": "300"}, 404, "300"),
        ("/vertex", {"label": "4_0"}, 404, "'4_0' is not a vertex"),
        ("/vertex", {"label": "\u0664\u0660"}, 404, "is not a vertex"),
        ("/vertex", {"label": 7}, 400, "must be a text"),
        ("/route", {"sources": [7]}, 400, "target must be a vertex"),
        ("/distances", [7], 400, "not an object"),
        ("/distances", {"sources": [7], "closed": [10**9]}, 400, "is not a street"),
        ("/elsewhere", {}, 404, "nothing is here"),
    ],
)
def test_what_makes_no_question_is_refused_and_the_connection_goes_on(
    browser, what, question, status, message
):
    reply = browser.ask(what, question)
    assert reply.status == status
    assert message in reply.error
    held = browser.connection.sock
    assert browser.ask("/distances", {"sources": [7]}).status == 200
    assert browser.connection.sock is held


def test_a_length_with_zeros_before_it_is_that_length(browser):
    headers = JSON | {"Content-Length": "0" * 20 + "15"}
    for _ in range(2):
        reply = browser.post("/vertex", b'{"label": "40"}', headers)
        assert json.loads(reply.body) == {"vertex": 40}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"\xff\xfe", JSON, 400),
        (b"[" * 60_000, JSON, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b" " * (MOST_BYTES + 1), JSON, 413),
        (b" " * (MOST_BYTES * 9), JSON, 413),
        (iter([b"{}"]), JSON | {"Transfer-Encoding": "chunked"}, 411),
        (b"", JSON | {"Content-Length": "-5"}, 411),
        (b"", JSON | {"Content-Length": "9" * 5000}, 413),
    ],
)
def test_bodies_that_are_none_or_too_long_are_refused(browser, body, headers, status):
    assert browser.post("/distances", body, headers).status == status
    browser.connection.close()
    assert browser.ask("/distances", {"sources": [7]}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "", "a@127.0.0.1"]
)
def test_a_foreign_name_of_this_machine_is_refused(browser, server, host):
    name = host.format(port=server.server_port)
    for reply in (
        browser.get("/map", Host=name),
        browser.ask("/distances", {"sources": [7]}, {"Host": name}),
    ):
        assert reply.status == 421
        assert len(reply.body) < 100


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "127.0.0.1", "[::1]:{port}", "localhost:9000"]
)
def test_names_of_this_machine_are_known_through_a_tunnel_too(browser, server, host):
    name = host.format(port=server.server_port)
    own = {"Host": name, "Origin": f"http://{name}"}
    assert browser.ask("/distances", {"sources": [7]}, own).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "", "x"])
def test_a_question_from_another_site_is_refused(browser, origin):
    for reply in (
        browser.ask("/distances", {"sources": [7]}, {"Origin": origin}),
        browser.get("/map", Origin=origin),
    ):
        assert reply.status == 403
        assert "only the page itself" in reply.error


def test_a_request_without_a_host_is_refused(server):
    with connected(server) as plain:
        plain.sendall(b"GET /map HTTP/1.0\r\n\r\n")
        assert status_of(plain) == 421


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        ("GET /map HTTP/1.1", "Host: 127.0.0.1\r\nHost: evil.example", 400),
        (
            "POST /vertex HTTP/1.1",
            "Host: localhost\r\nContent-Length: 2\r\nContent-Length: 15",
            400,
        ),
        ("GET http://127.0.0.1/map HTTP/1.1", "Host: 127.0.0.1", 400),
        ("GET http://evil.example/map HTTP/1.1", "Host: 127.0.0.1", 400),
        ("GET map HTTP/1.1", "Host: 127.0.0.1", 400),
        ("BREW /map HTTP/1.1", "Host: 127.0.0.1", 501),
        ("HEAD /map HTTP/1.1", "Host: 127.0.0.1", 501),
        ("GET /map HTTP/7", "Host: 127.0.0.1", 400),
        ("GET /map HTTP/2.0", "Host: 127.0.0.1", 505),
        ("nonsense", "Host: 127.0.0.1", 400),
        ("GET /" + "x" * MOST_HEAD, "Host: 127.0.0.1", 431),
        ("GET /map HTTP/1.1", "Host: 127.0.0.1\r\n" + "X: y\r\n" * 200, 431),
        ("GET /map HTTP/1.1", "\r\n".join(["X: " + "y" * 4000] * 9), 431),
    ],
)
def test_requests_that_can_be_read_in_two_ways_or_in_none_are_refused(
    server, line, headers, status
):
    with connected(server) as plain:
        plain.sendall(f"{line}\r\n{headers}\r\n\r\n{{}}".encode())
        reply = http.client.HTTPResponse(plain, method=line.split()[0])
        reply.begin()
        assert reply.status == status
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["Connection"] == "close"
        assert bool(reply.read()) == (not line.startswith("HEAD"))
        assert plain.recv(1) == b""


def test_headers_up_to_their_bound_are_taken(browser):
    some = {f"X{i}": "y" * 4000 for i in range(7)}
    for _ in range(2):
        assert browser.get("/page.css", **some).status == 200
    assert browser.get("/page.css", **some, X7="y" * 4000, X8="y" * 4000).status == 431


def test_a_request_that_does_not_arrive_in_time_is_given_up(server, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 100 * PATIENCE)
    # (so late is it whenever the server looks at the clock)
    monkeypatch.setattr(server, "clock", itertools.count(0, DEADLINE + 1).__next__)
    whole = b"POST /vertex HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for part in (b"P", whole, whole + b"Content-Length: 15\r\n\r\n{"):
        with connected(server) as slow:
            slow.sendall(part)
            assert slow.recv(1) == b""
    # time goes by between requests, too, and is not theirs
    with connected(server) as quick:
        for _ in range(3):
            quick.sendall(b"GET /page.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert status_of(quick) == 200


def test_connections_for_which_there_was_no_thread_do_not_count(server, monkeypatch):
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "MOST_CONNECTIONS", 1)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", fail)
        with connected(server) as refused:
            assert refused.recv(1) == b""
    browser = Browser(server)
    assert browser.get("/map").status == 200
    browser.connection.close()


def test_when_there_is_no_room_the_slowest_connection_is_closed(server, monkeypatch):
    now = [float(server.clock())]
    monkeypatch.setattr(server, "clock", lambda: now[0])
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 3)
    request = b"GET /page.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wait_until(lambda: not server._connections)
    with connected(server) as idle, connected(server) as slow, connected(server) as quick:
        slow.sendall(b"GE")
        wait_until(lambda: len(server._connections) == 3)
        for later, one in enumerate((idle, quick), 1):
            now[0] += later
            one.sendall(request)
            assert status_of(one) == 200
        with connected(server) as newcomer:
            newcomer.sendall(request)
            assert status_of(newcomer) == 200
            assert slow.recv(1) == b""
            with connected(server) as another:
                another.sendall(request)
                assert status_of(another) == 200
            assert idle.recv(1) == b""
            quick.sendall(request)
            assert status_of(quick) == 200


def test_a_connection_that_waits_for_its_answer_is_not_slow(server, monkeypatch):
    asked, going = threading.Event(), threading.Event()
    usual = Answers.distances

    def slow(self: Answers, question: Any) -> Any:
        asked.set()
        assert going.wait(PATIENCE)
        return usual(self, question)

    monkeypatch.setattr(Answers, "distances", slow)
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 1)
    wait_until(lambda: not server._connections)
    browser = Browser(server)
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(browser.ask, "/distances", {"sources": [7]})
        assert asked.wait(PATIENCE)
        with connected(server) as newcomer:
            assert newcomer.recv(1) == b""
        going.set()
        assert reply.result().status == 200
    browser.connection.close()


def test_other_verbs_are_refused(browser):
    for verb in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        browser.connection.request(verb, "/map", None, {"Origin": "http://evil.example"})
        reply = browser.connection.getresponse()
        reply.read()
        assert reply.status == 501


def test_clicks_of_many_are_all_answered(server):
    g = server.answers.graph
    expected = sssp.shortest_paths(g, range(300)).distances

    def clicks(client: int) -> int:
        browser = Browser(server)
        right = 0
        for i in range(10):
            source = (31 * client + 7 * i) % 300
            reply = browser.ask("/distances", {"sources": [source]})
            facts = json.loads(reply.headers["Answer"])
            found = facts["least"] + facts["step"] * np.frombuffer(reply.body, "<u2")
            right += np.abs(found - expected[source]).max() <= facts["step"]
        browser.connection.close()
        return right

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(clicks, range(10))) == [10] * 10


def test_who_comes_when_too_many_wait_is_told_so(monkeypatch):
    asked, going = threading.Event(), threading.Event()
    usual = Answers.distances

    def slow(self: Answers, question: Any) -> Any:
        asked.set()
        assert going.wait(PATIENCE)
        return usual(self, question)

    monkeypatch.setattr(Answers, "distances", slow)
    with serving(sssp.road_like(300, seed=4)) as server:
        server.places = threading.BoundedSemaphore(1)
        first, second = Browser(server), Browser(server)
        with ThreadPoolExecutor(1) as pool:
            reply = pool.submit(first.ask, "/distances", {"sources": [7]})
            assert asked.wait(PATIENCE)
            refused = second.ask("/distances", {"sources": [9]})
            # files are served all the while
            assert second.get("/map").status == 200
            going.set()
            assert reply.result().status == 200
        assert refused.status == 503
        assert "ask again" in refused.error
        assert second.ask("/distances", {"sources": [9]}).status == 200
        first.connection.close()
        second.connection.close()


def test_what_goes_wrong_inside_is_told_without_its_details(browser, monkeypatch, caplog):
    def broken(self: Answers, question: Any) -> Any:
        raise KeyError("a secret")

    monkeypatch.setattr(Answers, "distances", broken)
    reply = browser.ask("/distances", {"sources": [7]})
    assert reply.status == 500
    assert b"secret" not in reply.body
    assert "a secret" in caplog.text


def test_a_port_is_free_again_when_the_server_ends():
    g = sssp.road_like(300, seed=4)
    with serving(g) as server:
        port = server.server_port
        with pytest.raises(OSError, match="in use"), serving(g, port=port):
            pass
    with serving(g, port=port) as again:
        assert again.address == f"http://127.0.0.1:{port}/"


def test_the_first_questions_are_asked_before_anyone_does(server):
    kinds = list(server.answers.warm_up())
    assert len(kinds) >= 5
    for ask in kinds:
        ask()
