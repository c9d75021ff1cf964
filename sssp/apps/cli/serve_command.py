r"""Serve a page with a map that answers clicks.

A click on a crossing colours the whole network by the distance from there, two clicks show a
route, others close streets or set pins; sliders set a limit and traffic. Prepared maps (files of
Hierarchy.save, or --prepare) answer fastest. The page is for browsers on this machine, and nothing
is loaded from elsewhere; all users of this machine may open it. Ctrl-C and SIGTERM end it.

The graph needs coordinates.

Examples
--------
  # distances, in kilometres
  %(prog)s USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz --unit km=10000
  # minutes and kilometres, prepared; then at http://127.0.0.1:8765/
  %(prog)s USA-road-t.NY.gr.gz --coordinates USA-road-d.NY.co.gz --prepare --unit min=16667 \
      --distances USA-road-d.NY.gr.gz --distance-unit km=10000 --open
"""

from __future__ import annotations

import argparse

import sssp
from sssp.apps.terminal import arguments
from sssp.apps.terminal.interrupt import end_on_sigterm
from sssp.apps.terminal.outcome import name_in_errors, tell
from sssp.apps.terminal.vertices import network_of

PORT, MOST_PORT = 8765, (1 << 16) - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command-line arguments of ``sssp serve``."""
    arguments.add_graph(parser)
    text = "prepare the map first, for quicker answers"
    parser.add_argument("--prepare", action="store_true", help=text)
    arguments.add_unit(parser)
    text = (
        "a graph of the same arcs whose weights are their lengths: routes tell them, and "
        "traffic goes by speed"
    )
    parser.add_argument("--distances", type=arguments.find_graph, metavar="FILE", help=text)
    text = "of --distances, N of its weights each, such as km=1000"
    parser.add_argument("--distance-unit", type=arguments.unit, metavar="NAME=N", help=text)
    text = "whose data is shown, if the file does not say it"
    parser.add_argument("--credit", default="", metavar="TEXT", help=text)
    text = f"where to listen; 0: any that is free (default {PORT})"
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=text)
    text = "listen at another address of this machine, for others to open (default 127.0.0.1)"
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=text)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N (default auto)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(options: argparse.Namespace) -> int:
    """Serve the map page of a network over HTTP until Ctrl-C or SIGTERM."""
    end_on_sigterm()
    import numpy as np

    from sssp.apps.page.explore import PLAIN, make_server

    if options.distance_unit is not None and options.distances is None:
        raise ValueError("--distance-unit needs --distances FILE")
    network = network_of(options)
    if options.prepare and isinstance(network, sssp.Graph):
        network = sssp.prepare(network)
    arguments.require_coordinates(network._tree_graph)
    lengths = None
    if options.distances is not None:
        graph, other = network._tree_graph, options.distances.load()
        same = other.n == graph.n and np.array_equal(other.indptr, graph.indptr)
        if not (same and np.array_equal(other.indices, graph.indices)):
            name = options.distances.name
            raise ValueError(f"--distances {name}: its arcs are not those of the graph")
        lengths = other.weights
    with name_in_errors(f"{options.host}:{options.port}"):
        server = make_server(
            network, name=options.graph.name, unit=options.unit or PLAIN, lengths=lengths,
            length_unit=options.distance_unit or PLAIN, device=options.device,
            host=options.host, port=options.port, credit=options.credit,
        )  # fmt: skip
    with server:
        if server.is_open:
            tell(f"warning: all who reach {options.host} may ask: there is no password")
        server.warm_up()
        print(f"{options.graph.name}: {server.address}  (Ctrl-C ends)", flush=True)
        if options.open:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
    return 0


def _port(text: str) -> int:
    port = arguments.whole_number(0)(text)
    if port > MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port: they end at {MOST_PORT}")
    return port
