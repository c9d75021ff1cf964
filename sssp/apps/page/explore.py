"""A page that shows a search result in a browser: from a local server, or as one file."""

from __future__ import annotations

import base64
import gzip
import html
import sys
import threading
import webbrowser
from contextlib import AbstractContextManager, suppress
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from sssp import Graph, Hierarchy, ShortestPaths
from sssp.apps.page.answers import Answers, encode
from sssp.apps.page.server import LOOPBACK, PageServer
from sssp.apps.page.street_map import StreetMap, pack
from sssp.graph.drawing import Unit, flows_on_arcs
from sssp.loaders._files import replaced_file
from sssp.results.row_access import dense_row, labels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: of the frame in a notebook, in pixels
FRAME_HEIGHT = 640
#: of the weights as they are
PLAIN = Unit("", 1.0)
METRES = Unit("km", 1000.0)
#: of gzip; more takes long and saves little
COMPRESSION = 6
SCRIPTS = ("drawing.js", "places.js", "page.js")


def make_server(
    network: Graph | Hierarchy,
    *,
    device: str = "auto",
    host: str = LOOPBACK,
    port: int = 0,
    result: tuple[dict[str, Any], NDArray[np.uint16]] | None = None,
    **shown: Any,
) -> PageServer:
    """Return a page server for a network; its socket listens, but no request is answered yet.

    Parameters
    ----------
    network : Graph or Hierarchy
        With coordinates.
    device : str
        As of `sssp.shortest_paths`.
    host, port
        As of `PageServer`.
    result : tuple of dict and ndarray, optional
        What the page shows first, as of `_encode_row`.
    **shown
        As of `_describe`.
    """
    streets, head, arrays = _describe(network, **shown)
    if result is not None:
        head["result"], arrays["values"] = result
    return PageServer(Answers(network, streets, device), pack(head, arrays), host, port)


def open_page(
    result: ShortestPaths,
    network: Hierarchy | None,
    *,
    row: SupportsIndex,
    unit: str,
    port: int,
    open_browser: bool | None,
    **shown: Any,
) -> OpenPage:
    """Serve a search result as a map page from this process; return the open page."""
    if network is not None and getattr(network, "_tree_graph", None) is not result.graph:
        raise ValueError(
            "network= must be the prepared map of this result's graph: sssp.prepare(r.graph)"
        )
    shown |= {"result": _encode_row(result, result._row(row)), "unit": Unit(unit, 1.0)}
    server = make_server(network or result.graph, port=port, **shown)
    in_notebook = "ipykernel" in sys.modules
    return OpenPage(server, open_browser=not in_notebook if open_browser is None else open_browser)


def write_page(
    result: ShortestPaths, path: str | PathLike[str], *, row: SupportsIndex, unit: str, **shown: Any
) -> Path:
    """Write a page with a map of one result row to a file; see `ShortestPaths.explore`."""
    index = result._row(row)
    _, head, arrays = _describe(result.graph, unit=Unit(unit, 1.0), **shown)
    head["result"], arrays["values"] = _encode_row(result, index)
    if result.has_paths:
        # (on a graph with turns it is a tree of the expansion)
        tree = getattr(result, "_inside", result).predecessors
        arrays["predecessors"] = dense_row(tree, index, result.rows, -1).astype(np.int32)
        if result.graph.turns is not None:
            expansion = result.graph.turns.expansion
            arrays["vertex_of"] = expansion.vertex_of.astype(np.int32)
            arrays["ends"] = expansion.end.astype(np.int32)
    head["standalone"] = True
    labels = result.graph.labels
    if labels is not None and labels.size:
        if labels.dtype.kind == "i" and (np.diff(labels) == 1).all():
            head["first_label"] = int(labels[0])
        else:
            head["labels"] = [str(label) for label in labels.tolist()]
    # the page as one text, with its style, scripts and map inside
    folder = files("sssp.apps.page") / "static"
    names = ("index.html", "icon.svg", "page.css", *SCRIPTS)
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    packed = gzip.compress(pack(head, arrays), COMPRESSION, mtime=0)
    icon, data = (base64.b64encode(b).decode() for b in (texts["icon.svg"].encode(), packed))
    inside = {
        'href="icon.svg"': f'href="data:image/svg+xml;base64,{icon}"',
        '<link rel="stylesheet" href="page.css">': f"<style>\n{texts['page.css']}</style>",
        "<!-- map -->": f'<script type="application/octet-stream" id="map-data">{data}</script>',
    }
    for name in SCRIPTS:
        inside[f'<script defer src="{name}"></script>'] = f"<script>\n{texts[name]}</script>"
    page = texts["index.html"]
    for tag, text in inside.items():
        page = page.replace(tag, text)
    with replaced_file(path) as stream:
        stream.write(page.encode())
    return Path(fspath(path))


def _encode_row(result: ShortestPaths, row: int) -> tuple[dict[str, Any], NDArray[np.uint16]]:
    """Return a row of a result for the page: its description, and its distances in 16 bits."""
    _, distances = result._distances_to_all(row)
    values, scale = encode(distances)
    sources = result._sources_of(row)
    facts = {
        **scale,
        "sources": sources.tolist(),
        "labels": [*map(str, labels_of(result.graph, sources))],
        "method": result.method,
        "device": result.device,
    }
    return facts, values


class OpenPage(AbstractContextManager["OpenPage"]):
    """A page that is served from this process until it is closed, or the process ends.

    Attributes
    ----------
    address : str
        Where a browser finds it.
    """

    def __init__(self, server: PageServer, *, open_browser: bool) -> None:
        self._server: PageServer | None = server
        self.address = server.address
        self._thread = threading.Thread(
            target=server.serve_forever, args=(0.1,), name="sssp page", daemon=True
        )
        self._thread.start()
        if open_browser:
            with suppress(webbrowser.Error):
                webbrowser.open(self.address)

    def wait(self) -> None:
        """Serve until Ctrl-C, for example at the end of a script."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving the page; end the server and its thread."""
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._server is None else self.address
        return f"<OpenPage {state}>"

    def _repr_html_(self) -> str:
        if self._server is None:
            return f"<code>{html.escape(repr(self))}</code>"
        return (
            f'<iframe src="{html.escape(self.address)}" title="sssp" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
        )


def _describe(
    network: Graph | Hierarchy,
    *,
    name: str = "",
    unit: Unit = PLAIN,
    lengths: NDArray[Any] | None = None,
    length_unit: Unit = PLAIN,
    credit: str = "",
    flows: NDArray[Any] | None = None,
) -> tuple[StreetMap, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the streets of a network, and the metadata and arrays that the page needs.

    Parameters
    ----------
    network : Graph or Hierarchy
    name : str
        Of the map, for people.
    unit : Unit
        Of the weights.
    lengths : ndarray, shape (m,), optional
        Of every arc, in `length_unit`; None: straight lines.
    length_unit : Unit
    credit : str
        Whose data is shown, if not what the graph's file says.
    flows : array_like, shape (input arcs,), optional
        On every row of the input: streets are as wide.
    """
    graph = network._tree_graph
    streets = StreetMap(graph, lengths)
    measured = METRES if lengths is None else length_unit
    head = {
        "name": name,
        "vertices": network.n,
        "arcs": network.m,
        "unit": unit._asdict(),
        "length": measured._asdict() | {"straight": streets.straight},
        "prepared": isinstance(network, Hierarchy),
        "classes": streets.classes,
        "middle": [*streets.middle],
        "attribution": graph._credit(credit or None),
    }
    return streets, head, streets.arrays(None if flows is None else flows_on_arcs(graph, flows))
