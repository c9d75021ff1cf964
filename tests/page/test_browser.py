"""The page in a real browser: what people see and do, against what the package says.

A Chromium of the machine draws with its software renderer, without a window.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import sssp
from sssp.apps.page.answers import Answers
from sssp.apps.page.explore import make_server
from sssp.apps.page.server import PageServer
from tests.page.conftest import serving
from tests.patience import PATIENCE
from tests.site import site

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")

GRAPH = sssp.road_like(2000, seed=3)
PREPARED = sssp.prepare(GRAPH)
WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
#: a name that somebody else's name server would make point here
FOREIGN = "evil.example"
RENDERER = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, as pages for people have it."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if found is None:
        pytest.skip("no Chromium on this machine: install it, or name it in CHROMIUM")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=found,
            args=[*RENDERER, "--no-sandbox", f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with serving(PREPARED, name="town") as server:
        yield server


class Window:
    """A page in the browser, and what a test does with it."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.wrong: list[str] = []
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))

    def open(self, address: str) -> None:
        self.tab.goto(address)
        self.tab.wait_for_selector("body[data-state=ready]", timeout=1000 * PATIENCE)

    def settle(self) -> None:
        """Wait until what was asked is answered."""
        self.tab.wait_for_timeout(30)
        self.js("page.asking")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression holds."""
        # (a loop of the browser's own is against the page's policy for scripts)
        for _ in range(100 * PATIENCE):
            if self.js(f"Boolean({condition})"):
                return
            self.tab.wait_for_timeout(10)
        raise AssertionError(f"not yet: {condition}")

    def js(self, expression: str, argument: Any = None) -> Any:
        return self.tab.evaluate(expression, argument)

    def text(self, selector: str) -> str:
        return str(self.tab.inner_text(selector))

    def place(self, vertex: int) -> tuple[float, float]:
        """Return where a vertex is on the screen."""
        x, y = self.js(
            "v => page.toScreen(...page.places.at(v)).map(c => c / devicePixelRatio)", vertex
        )
        return x, y

    def show(self, vertex: int) -> None:
        """Look at a vertex from close by, in the middle of what the panel leaves free."""
        self.js(
            "v => { const [x, y] = page.places.at(v); const zoom = page.fitZoom * 12;"
            "page.view = { x: x - 100 / zoom, y, zoom }; page.redraw(); }",
            vertex,
        )

    def click(self, vertex: int, *keys: str) -> None:
        """Click where a vertex is drawn."""
        self.show(vertex)
        self.press_at(self.place(vertex), *keys)

    def press_at(self, at: tuple[float, float], *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.down(key)
        self.tab.mouse.click(*at)
        for key in keys:
            self.tab.keyboard.up(key)
        self.settle()

    @property
    def distances(self) -> np.ndarray[Any, Any]:
        """What the colours stand for."""
        values = np.array(self.js("Array.from(page.drawing.values)"))
        facts = self.js("({ least: page.facts.least, step: page.facts.step })")
        return np.where(values == 65_535, np.inf, facts["least"] + facts["step"] * values)

    def pixels(self) -> np.ndarray[Any, Any]:
        """Return what is drawn right of the panel: rows of red, green, blue from 0 to 1."""
        image = pytest.importorskip("matplotlib.image")
        self.js("page.drawing.finished()")
        self.tab.wait_for_timeout(300)
        picture: np.ndarray[Any, Any] = image.imread(io.BytesIO(self.tab.screenshot()))[:, 360:, :3]
        return picture


@contextmanager
def window(chromium: Any, **options: Any) -> Iterator[Window]:
    context = chromium.new_context(**{"viewport": WIDE, "color_scheme": "dark"} | options)
    try:
        shown = Window(context.new_page())
        yield shown
        assert shown.wrong == []
    finally:
        context.close()


@pytest.fixture
def page(chromium: Any, server: PageServer) -> Iterator[Window]:
    with window(chromium) as shown:
        shown.open(server.address)
        yield shown


def assert_shows(page: Window, expected: Any) -> None:
    found, distances = page.distances, expected.to_float()
    reached = np.isfinite(distances)
    assert (np.isfinite(found) == reached).all()
    assert np.abs(found[reached] - distances[reached]).max() <= page.js("page.facts.step")


def test_a_click_recolours_the_town(page):
    before = page.pixels()
    # what is drawn has many colours at once, of streets that are there
    assert np.unique((before * 15).astype(int).reshape(-1, 3), axis=0).shape[0] > 30
    page.click(7)
    assert_shows(page, sssp.shortest_paths(GRAPH, 7))
    page.tab.keyboard.press("0")
    assert (np.abs(page.pixels() - before).max(axis=2) > 0.1).mean() > 0.02
    assert page.tab.url.endswith("#from=7")


def test_two_clicks_show_the_route(page):
    page.tab.click("[data-mode=route]")
    page.click(7)
    assert "ends" in page.text("#answer")
    page.click(1500)
    tree = sssp.shortest_paths(GRAPH, 7, predecessors=True)
    assert page.js("page.path.vertices") == tree.path(1500).tolist()
    assert f"{tree.distance(1500):,}" in page.text("#answer")
    assert "km" in page.text("#answer")
    # and the end may be dragged
    x, y = page.place(1500)
    page.tab.mouse.move(x, y - 10)
    page.tab.mouse.down()
    page.tab.mouse.move(x + 260, y - 210, steps=4)
    page.tab.mouse.up()
    page.settle()
    target = page.js("page.target")
    assert target != 1500
    assert page.js("page.path.vertices") == tree.path(target).tolist()
    assert page.js("page.sources") == [7]


def test_shift_click_is_a_route_from_where_one_is(page):
    page.click(7)
    page.click(300, "Shift")
    assert page.js("page.path.vertices") == (
        sssp.shortest_paths(GRAPH, 7, predecessors=True).path(300).tolist()
    )


def test_alt_click_closes_a_street_and_opens_it_again(page, server):
    page.click(7)
    page.click(1500, "Shift")
    first, second = page.js("page.path.vertices.slice(4, 6)")
    page.show(first)
    (ax, ay), (bx, by) = page.place(first), page.place(second)
    middle = (ax + bx) / 2, (ay + by) / 2
    page.press_at(middle, "Alt")
    closed = GRAPH.without_arcs(GRAPH.arcs([first, second], [second, first]))
    assert_shows(page, sssp.shortest_paths(closed, 7))
    path = sssp.shortest_paths(closed, 7, predecessors=True).path(1500)
    assert page.js("page.path.vertices") == path.tolist()
    assert page.text("#closures").startswith("1 closed street")
    page.press_at(middle, "Alt")
    assert_shows(page, sssp.shortest_paths(GRAPH, 7))
    assert not page.tab.is_visible("#closures")


def test_pins_and_the_nearest_of_them(page):
    page.click(7)
    page.tab.keyboard.press("3")
    page.click(900)
    page.click(1500)
    expected = sssp.shortest_paths(GRAPH, [7, 900, 1500], nearest=True)
    assert_shows(page, expected)
    page.tab.click("[data-by=source]")
    page.settle()
    origin = np.array([7, 900, 1500])[page.js("Array.from(page.drawing.values)")]
    assert np.array_equal(origin, expected.origin)
    shares = [float(text) for text in page.text("#answer").replace("%", " ").split()[:3]]
    counts = [100 * np.mean(expected.origin == pin) for pin in (7, 900, 1500)]
    assert shares == pytest.approx(counts, abs=1)
    # a click on a pin takes it away
    page.show(900)
    x, y = page.place(900)
    page.press_at((x, y - 14))
    assert page.js("page.sources") == [7, 1500]
    page.tab.keyboard.press("Escape")
    page.settle()
    assert page.js("page.sources") == [7]


def test_the_limit_cuts_the_colours(page):
    page.click(7)
    distances = sssp.shortest_paths(GRAPH, 7).distances
    page.tab.focus("#limit")
    steps = int(page.tab.get_attribute("#limit", "max"))
    assert 100 <= steps <= 200
    for _ in range(60):
        page.tab.keyboard.press("ArrowLeft")
    limit = page.js("page.limit")
    assert limit == pytest.approx((1 - 60 / steps) * distances.max(), rel=0.02)
    assert f"within {limit:,}" in page.text("#limit-text")
    count = int(page.text("#within").replace(",", ""))
    assert abs(count - (distances <= limit).sum()) <= 2
    colourful = np.ptp(page.pixels(), axis=2) > 0.25
    page.tab.keyboard.press("[")
    before = page.js("page.limit")
    for _ in range(4):
        page.tab.keyboard.press("[")
    assert page.js("page.limit") == pytest.approx(before - 0.2 * distances.max(), rel=0.1)
    fewer = np.ptp(page.pixels(), axis=2) > 0.25
    assert 0 < fewer.sum() < colourful.sum()


def test_other_ways_beside_the_route(page):
    page.click(7)
    page.click(1500, "Shift")
    page.tab.click("#others")
    page.settle()
    ways = sssp.alternatives(PREPARED, 7, 1500)
    assert len(ways) > 1
    assert page.js("page.path.others.map((way) => way.vertices)") == [
        ways.path(i).tolist() for i in range(1, len(ways))
    ]
    assert f"or {ways.distances[1]:,}" in page.text("#answer")
    page.tab.click("#others")
    page.settle()
    assert page.js("page.path.others") == []


def test_areas_are_shown_and_saved(page):
    pytest.importorskip("geopandas")
    page.click(7)
    page.tab.keyboard.press("0")
    for _ in range(10):
        page.tab.keyboard.press("[")
    before = page.pixels()
    page.tab.click("#areas")
    page.tab.wait_for_selector("#download:not([hidden])", timeout=1000 * PATIENCE)
    assert (np.abs(page.pixels() - before).max(axis=2) > 0.05).mean() > 0.02
    with page.tab.expect_download() as saved:
        page.tab.click("#download")
    features = json.loads(saved.value.path().read_text())["features"]
    limit = page.js("page.limit")
    assert [one["properties"]["limit"] for one in features] == pytest.approx([limit])
    # they are of that answer, not of the next
    page.click(9)
    assert not page.tab.is_visible("#download")


def test_an_address_carries_pins_closures_and_traffic(page, chromium, server):
    page.click(7)
    page.click(900, "Control")
    page.show(7)
    page.js("page.closed.add(12).add(40); page.traffic[1] = 2; page.ask()")
    page.settle()
    with window(chromium) as other:
        other.open(page.tab.url)
        state = "[page.sources, [...page.closed], page.traffic]"
        assert other.js(state) == page.js(state) == [[7, 900], [12, 40], [1, 2, 1, 1]]
        assert np.array_equal(other.distances, page.distances)
        assert "2.00" in other.text("#traffic")


def test_places_are_found_by_coordinates(page):
    assert GRAPH.coordinates is not None
    lon, lat = GRAPH.coordinates[321]
    for text in (f"{lon:.7f}, {lat:.7f}", f"{lon:.7f} {lat:.7f}"):
        page.tab.fill("#label", text)
        page.tab.keyboard.press("Enter")
        page.settle()
        assert page.js("page.sources") == [321]
    page.tab.fill("#label", "170, 10")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector("#note:not([hidden])")
    assert "not on the map" in page.text("#note")


def test_flows_make_streets_wide(chromium):
    flows = np.zeros(GRAPH.input_arcs)
    flows[::2] = 5
    ink = []
    for options in ({}, {"flows": flows, "credit": "Our survey"}):
        with serving(PREPARED, **options) as busy, window(chromium) as shown:
            shown.open(f"{busy.address}#from=7")
            ink.append((np.ptp(shown.pixels(), axis=2) > 0.25).mean())
            assert ("Our survey" in shown.text("#facts")) == bool(options)
    assert ink[1] > 1.5 * ink[0]


def test_bands_are_of_few_colours(page):
    page.click(7)
    page.tab.keyboard.press("0")

    def share_of_the_commonest() -> float:
        seen = np.round(page.pixels() * 255).astype(int).reshape(-1, 3)
        _, counts = np.unique(seen[np.ptp(seen, axis=1) > 60], axis=0, return_counts=True)
        return float(np.sort(counts)[-8:].sum() / counts.sum())

    continuous = share_of_the_commonest()
    page.tab.click("[data-bands=yes]")
    assert share_of_the_commonest() > 3 * continuous
    assert page.tab.get_attribute("[data-bands=yes]", "aria-checked") == "true"


def test_traffic_makes_streets_slower(page, server):
    page.click(7)
    page.tab.focus("#traffic input")
    page.tab.keyboard.press("End")
    page.settle()
    kind = page.js("+document.querySelector('#traffic input').dataset.class")
    slow = server.answers.map.arc_class == kind
    assert "5.00" in page.text("#traffic output")
    assert_shows(
        page, sssp.shortest_paths(GRAPH.with_weights(GRAPH.weights * np.where(slow, 5, 1)), 7)
    )


def test_a_certificate_on_request(page):
    page.click(7)
    page.tab.click("#certify")
    page.tab.wait_for_selector("#proof.right", timeout=1000 * PATIENCE)
    assert f"{GRAPH.n:,} distances hold on all {GRAPH.m:,} arcs" in page.text("#certificate")
    # it is of that tree, not of the next
    page.click(9)
    assert "hold" not in page.text("#certificate")


def test_everything_goes_by_keys(page):
    for _ in range(30):
        page.tab.keyboard.press("Tab")
        if page.js("document.activeElement.id") == "map":
            break
    assert page.js("document.activeElement.id") == "map"
    before = page.js("page.view")
    for key in ("ArrowRight", "ArrowDown", "+"):
        page.tab.keyboard.press(key)
    after = page.js("page.view")
    assert after["x"] > before["x"]
    assert after["y"] < before["y"]
    assert after["zoom"] > before["zoom"]
    page.tab.keyboard.press("Enter")
    page.settle()
    middle = page.js("page.places.nearestVertex(page.view.x, page.view.y)")
    assert page.js("page.sources") == [middle]
    page.tab.keyboard.press("2")
    assert page.tab.get_attribute("[data-mode=route]", "aria-checked") == "true"
    for key, state in (
        ("b", "page.bands === true"),
        ("c", "page.palette === 'cividis'"),
        ("d", "document.documentElement.dataset.theme === 'light'"),
        ("0", "page.view.zoom === page.fitZoom"),
        (" ", "page.spread !== null"),
    ):
        page.tab.keyboard.press(key)
        assert page.js(state), key
    page.tab.keyboard.press("v")
    page.tab.wait_for_selector("#proof.right", timeout=1000 * PATIENCE)


def test_what_is_no_vertex_is_told(chromium, server):
    with window(chromium) as page:
        page.open(f"{server.address}#from=99999")
        assert "99999" in page.tab.text_content("#note")
        # and the page works all the same
        page.settle()
        assert np.isfinite(page.distances).any()
        page.tab.fill("#label", "nowhere")
        page.tab.press("#label", "Enter")
        page.wait_for("document.querySelector('#note').textContent.includes('nowhere')")
        page.tab.fill("#label", "12")
        page.tab.press("#label", "Enter")
        page.wait_for("page.sources.length === 1 && page.sources[0] === 12")


def test_an_address_shows_a_route(chromium, server):
    with window(chromium) as page:
        page.open(f"{server.address}#from=7&to=300")
        page.settle()
        path = sssp.shortest_paths(GRAPH, 7, predecessors=True).path(300)
        assert page.js("page.path.vertices") == path.tolist()
        assert page.tab.url.endswith("#from=7&to=300")


FOREIGN_PAGE = b"""<!doctype html><title>elsewhere</title><script>
async function tried(path, options) {
  try {
    const reply = await fetch(path, options);
    return reply.type === "opaque" ? "sent" : reply.status;
  } catch { return "failed"; }
}
</script>"""


def test_a_foreign_page_gets_nothing(chromium, server, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(Answers, "distances", lambda self, question: asked.append(question))
    question = '{"sources": [7]}'
    with site() as elsewhere, window(chromium) as page:
        elsewhere.files = {"/": FOREIGN_PAGE}
        elsewhere.headers = {"Content-Type": "text/html"}
        page.tab.goto(f"{elsewhere.address}/")
        to = f"{server.address}distances"
        for options in (
            {"method": "POST", "body": question, "headers": {"Content-Type": "application/json"}},
            {"method": "POST", "body": question},
        ):
            assert page.js("([to, options]) => tried(to, options)", [to, options]) == "failed"
        # (what it sends without reading the answer arrives, and is refused)
        blind = {"method": "POST", "body": question, "mode": "no-cors"}
        assert page.js("([to, options]) => tried(to, options)", [to, blind]) in ("sent", "failed")
        assert page.js("to => tried(to)", f"{server.address}map") == "failed"
    assert asked == []


def test_a_foreign_name_for_this_machine_gets_nothing(chromium, server):
    with window(chromium) as page:
        reply = page.tab.goto(f"http://{FOREIGN}:{server.server_port}/")
        assert reply.status == 421
        assert "canvas" not in page.tab.content()


def test_a_phone_has_everything_in_reach(chromium, server):
    with window(chromium, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        page.open(server.address)
        assert page.js("document.documentElement.scrollWidth") <= PHONE["width"]
        panel = page.tab.query_selector("#panel").bounding_box()
        assert panel["width"] == PHONE["width"]
        # most of the screen is the map's
        assert panel["y"] > 0.55 * PHONE["height"]
        page.tab.tap("[data-mode=route]")
        for vertex in (7, 300):
            page.js(
                "v => { const [x, y] = page.places.at(v);"
                "page.view = { x, y: y - 150 / page.view.zoom, zoom: page.fitZoom * 8 };"
                "page.view.y = y - 150 / page.view.zoom; page.redraw(); }",
                vertex,
            )
            page.tab.touchscreen.tap(*page.place(vertex))
            page.settle()
        path = sssp.shortest_paths(GRAPH, 7, predecessors=True).path(300)
        assert page.js("page.path.vertices") == path.tolist()
        page.tab.tap("#more")
        for control in ("#certify", "#traffic", "#label", "[data-bands=yes]"):
            page.tab.locator(control).scroll_into_view_if_needed()
            box = page.tab.query_selector(control).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize("turns", [False, True], ids=["plain", "turns"])
def test_a_file_needs_no_server(chromium, tmp_path, turns):
    path = tmp_path / "town.html"
    g = GRAPH.with_turns(u_turns=np.inf) if turns else GRAPH
    r = sssp.shortest_paths(g, 7, predecessors=True)
    r.explore(path=path, unit="m", name="A town")
    with window(chromium) as page:
        asked: list[str] = []
        page.tab.on("request", lambda request: asked.append(request.url))
        page.open(path.as_uri())
        assert_shows(page, r)
        assert page.text("#name") == "A town"
        page.click(300)
        assert page.js("page.path.vertices") == r.path(300).tolist()
        distance = page.js("page.path.distance")
        assert distance == pytest.approx(r.distance(300), abs=page.js("page.facts.step"))
        assert [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == []
        assert not page.tab.is_visible("#certify")


def test_a_result_is_shown_first_and_then_asked_on(chromium):
    r = sssp.shortest_paths(GRAPH, [7, 300], nearest=True, limit=20_000)
    with window(chromium) as page, r.explore(network=PREPARED, open_browser=False) as shown:
        page.open(shown.address)
        assert_shows(page, r)
        page.click(900)
        assert_shows(page, sssp.shortest_paths(GRAPH, 900))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_maps_of_next_to_nothing_are_shown(chromium, n):
    places = np.array([[5.0, 50.0], [5.0, 50.0]])[:n]
    arcs = ([0], [1], [0]) if n == 2 else ([], [], [])
    with (
        window(chromium) as page,
        serving(sssp.Graph.from_arcs(*arcs, n=n, coordinates=places)) as s,
    ):
        page.open(s.address)
        page.press_at((900, 450))
        page.tab.keyboard.press("b")
        page.tab.keyboard.press("[")
        page.tab.keyboard.press(" ")
        page.js("page.drawing.finished()")
        assert len(page.js("page.sources")) == min(n, 1)
        assert page.text("#facts").startswith(f"{n} crossings")


def test_a_server_that_has_gone_is_told(chromium):
    server = make_server(PREPARED)
    server.server_close()
    with window(chromium) as page, serving(PREPARED) as living:
        page.open(living.address)
        page.js(
            "gone => { page.server.ask = Server.prototype.ask; window.fetch = ((own) =>"
            " (what, how) => own(`http://127.0.0.1:1/${what}`, how))(fetch); }"
        )
        page.click(7)
        assert "start it again" in page.text("#note")


def test_nothing_is_written_beside_the_page(chromium, server):
    """The page keeps nothing in the browser."""
    with window(chromium) as page:
        page.open(server.address)
        page.click(7)
        assert page.js("localStorage.length + sessionStorage.length") == 0
        assert page.tab.context.cookies() == []
