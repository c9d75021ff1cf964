from sssp.calls.all_pairs import all_pairs as all_pairs
from sssp.calls.all_pairs import transitive_closure as transitive_closure
from sssp.calls.many_sources import iter_blocks as iter_blocks
from sssp.calls.many_sources import reduce as reduce
from sssp.calls.shortest_paths import shortest_paths as shortest_paths
from sssp.certificate import verify as verify
from sssp.engine.threads import set_threads as set_threads
from sssp.errors import DeviceError as DeviceError
from sssp.errors import DistanceOverflowError as DistanceOverflowError
from sssp.errors import GraphFormatError as GraphFormatError
from sssp.errors import MissingExtraError as MissingExtraError
from sssp.errors import NegativeCycleError as NegativeCycleError
from sssp.errors import NegativeWeightError as NegativeWeightError
from sssp.errors import SSSPError as SSSPError
from sssp.errors import UnreachableError as UnreachableError
from sssp.errors import VerificationError as VerificationError
from sssp.errors import VertexError as VertexError
from sssp.generate import road_like as road_like
from sssp.graph.graph import Graph as Graph
from sssp.graph.graph import read_graph as read_graph
from sssp.methods import BellmanFord as BellmanFord
from sssp.methods import BreadthFirst as BreadthFirst
from sssp.methods import ClosureBySquaring as ClosureBySquaring
from sssp.methods import ClosureByWarshall as ClosureByWarshall
from sssp.methods import DeltaStepping as DeltaStepping
from sssp.methods import Dijkstra as Dijkstra
from sssp.methods import FloydWarshall as FloydWarshall
from sssp.methods import Johnson as Johnson
from sssp.methods import RepeatedSquaring as RepeatedSquaring
from sssp.methods import ThresholdDijkstra as ThresholdDijkstra
from sssp.results.shortest_paths import ShortestPaths as ShortestPaths

__version__: str
__all__: list[str]
