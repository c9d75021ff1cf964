from __future__ import annotations

import bz2
import gzip
import lzma
from functools import partial

import numpy as np
import pytest

from sssp.datasets import find
from sssp.errors import GraphFormatError
from sssp.loaders import read_gr, read_tntp_net, read_tntp_nodes, read_tntp_trips

NET = b"""<NUMBER OF ZONES> 2\t\t
<NUMBER OF NODES> 3
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 2
<ORIGINAL HEADER>~ \ttail
<END OF METADATA>

~ \ttail \thead \tcapacity \t;
\t1\t3\t9000.5\t5280\t1.09\t0.15\t4\t4842\t0\t1\t;
\t3\t2\t10\t0\t0\t1e-1\t4.0\t.5\t25\t3
"""
TRIPS = b"""<NUMBER OF ZONES> 3
<TOTAL OD FLOW>  107.5
<END OF METADATA>

~ made for a test
Origin \t1
    1 :      5.0;     2 :    100.0;   3 : 0.0; \n    3 : 2.5
Origin 3
"""
NODES = b"Node\tX\tY\t;\n2\t-96.5\t43.5\t;\n1 1e3 -7;\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_network_is_read_as_it_is(path, compress):
    path.write_bytes(compress(NET))
    links = read_tntp_net(path)
    assert (links.n, links.zones, links.closed_zones) == (3, 2, 2)
    assert (links.tails.tolist(), links.heads.tolist()) == ([0, 2], [2, 1])
    assert links.tails.dtype == np.int64
    assert links.capacity.tolist() == [9000.5, 10]
    assert links.length.tolist() == [5280, 0]
    assert links.free.tolist() == [1.09, 0]
    assert links.alpha.tolist() == [0.15, 0.1]
    assert links.beta.tolist() == [4, 4]
    assert links.speed.tolist() == [4842, 0.5]
    assert links.toll.tolist() == [0, 25]
    assert links.kind.tolist() == [1, 3]


@pytest.mark.parametrize(("first", "closed"), [(b"1", 0), (b"0", 0), (b"2", 1), (b"9", 2)])
def test_zones_below_the_first_through_node_are_closed(path, first, closed):
    path.write_bytes(NET.replace(b"THRU NODE> 3", b"THRU NODE> " + first))
    assert read_tntp_net(path).closed_zones == closed


def test_trips_are_read_without_those_of_nobody(path):
    path.write_bytes(TRIPS)
    trips = read_tntp_trips(path)
    assert trips.zones == 3
    assert trips.origins.tolist() == [0, 0, 0]
    assert trips.destinations.tolist() == [0, 1, 2]
    assert trips.volumes.tolist() == [5, 100, 2.5]
    path.write_bytes(b"<NUMBER OF ZONES> 3\n<END OF METADATA>\n")
    assert read_tntp_trips(path).volumes.size == 0


def test_nodes_are_read_in_order(path):
    path.write_bytes(NODES)
    assert read_tntp_nodes(path, 2).tolist() == [[1000, -7], [-96.5, 43.5]]


two_nodes = partial(read_tntp_nodes, n=2)
BAD_FILES = [
    (read_tntp_net, NET.replace(b"\t10\t", b"\tten\t"), 10, "capacity must be a finite number"),
    (read_tntp_net, NET.replace(b"\t10\t", b"\t1_0\t"), 10, "not '1_0'"),
    (read_tntp_net, NET.replace(b"\t10\t", b"\tnan\t"), 10, "not 'nan'"),
    (read_tntp_net, NET.replace(b"\t10\t", b"\t"), 10, "9 fields instead of 10"),
    (
        read_tntp_net,
        NET.replace(b"\t3\t2\t", b"\t4\t2\t"),
        10,
        "tail must be a whole number from 1",
    ),
    (
        read_tntp_net,
        NET.replace(b"\t3\t2\t", b"\t3\t0\t"),
        10,
        "head must be a whole number from 1",
    ),
    (read_tntp_net, NET.replace(b"\t3\t2\t", b"\t3\t2.0\t"), 10, "head must be a whole number"),
    (read_tntp_net, NET.replace(b"LINKS> 2", b"LINKS> 3"), 10, "has 2 links, but announces 3"),
    (read_tntp_net, NET.replace(b"LINKS> 2", b"LINKS> two"), 4, "<NUMBER OF LINKS> must be"),
    (read_tntp_net, NET.replace(b"NODES> 3", b"NODES>"), 2, "<NUMBER OF NODES> must be"),
    (read_tntp_net, NET.replace(b"NODES> 3", b"NODES> 9999999999"), 2, "up to 2147483647"),
    (read_tntp_net, NET.replace(b"ZONES> 2", b"ZONES> 4"), 10, "4 zones, but 3 nodes"),
    (read_tntp_net, TRIPS, 3, "no <NUMBER OF NODES>: is this a TNTP network"),
    (read_tntp_net, NET[:40], 2, "ends before <END OF METADATA>"),
    (read_tntp_net, NODES, 1, "no line of metadata"),
    (read_tntp_net, b"", 1, "empty"),
    (read_tntp_net, b"{}", 1, "this is a JSON file, not a TNTP network"),
    (read_tntp_trips, TRIPS.replace(b"107.5", b"207.5"), 9, "add up to 107.5, but .* 207.5"),
    (read_tntp_trips, TRIPS.replace(b"Origin 3", b"Origin 4"), 9, "origin must be .* 1 to 3"),
    (read_tntp_trips, TRIPS.replace(b"Origin 3", b"Origin"), 9, "must be 'Origin zone'"),
    (read_tntp_trips, TRIPS.replace(b"Origin \t1\n", b""), 6, "before the first line"),
    (read_tntp_trips, TRIPS.replace(b"3 : 2.5", b"4 : 2.5"), 8, "destination must be .* 1 to 3"),
    (read_tntp_trips, TRIPS.replace(b"3 : 2.5", b"3 : -2.5"), 8, "negative"),
    (read_tntp_trips, TRIPS.replace(b"3 : 2.5", b"3 : inf"), 8, "volume must be a finite number"),
    (read_tntp_trips, TRIPS.replace(b"3 : 2.5", b"3 2.5"), 8, "'destination : volume;'"),
    (read_tntp_trips, TRIPS.replace(b"5.0;", b"5.0"), 7, "'destination : volume;'"),
    (read_tntp_trips, NET, 9, "before the first line 'Origin zone'"),
    (two_nodes, NODES.replace(b"1 1e3", b"2 1e3"), 3, "node 2 for the second time"),
    (two_nodes, NODES.replace(b"1 1e3", b"3 1e3"), 3, "node must be .* 1 to 2"),
    (two_nodes, NODES.replace(b"1 1e3 -7", b"1 1e3"), 3, "a node with 2 fields"),
    (two_nodes, NODES.replace(b"1 1e3 -7;\n", b""), 2, "1 of 2 nodes are missing, the first is 1"),
    (read_gr, NET, 1, "a TNTP file .*read_tntp"),
]


@pytest.mark.parametrize(("read", "content", "line", "match"), BAD_FILES)
def test_what_is_wrong_is_told_with_its_line(path, read, content, line, match):
    path.write_bytes(content)
    with pytest.raises(GraphFormatError, match=match) as caught:
        read(path)
    assert (caught.value.path, caught.value.line_number) == (str(path), line)


def test_a_stream_that_is_cut_short_is_told(path):
    path.write_bytes(gzip.compress(TRIPS * 50)[:-20])
    with pytest.raises(GraphFormatError, match="cut short"):
        read_tntp_trips(path)


@pytest.mark.parametrize(
    ("name", "n", "zones", "links", "closed", "trips"),
    [
        ("SiouxFalls", 24, 24, 76, 0, 360_600.0),
        ("Anaheim", 416, 38, 914, 38, 104_694.4),
        ("ChicagoSketch", 933, 387, 2950, 0, 1_260_907.44),
    ],
)
def test_real_files_are_read_whole(name, n, zones, links, closed, trips):
    net, demand = find(f"{name}_net.tntp"), find(f"{name}_trips.tntp")
    if net is None or demand is None:
        pytest.skip(f"{name} is not on this machine (see data/README.md)")
    network, table = read_tntp_net(net), read_tntp_trips(demand)
    assert (network.n, network.zones, network.tails.size) == (n, zones, links)
    assert (network.closed_zones, table.zones) == (closed, zones)
    assert table.volumes.sum() == pytest.approx(trips)
