"""Traffic assignment: `assign` computes flows at user equilibrium, as an `Assignment`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sssp.calls.load_demand import Loader, as_rows, load, skim
from sssp.cpu.frank_wolfe import LEAST_SHARE, Column, conjugate_shares, find_step
from sssp.cpu.tree_sums import flow_on_input
from sssp.engine.check_arguments import as_count, as_network, as_vertices
from sssp.engine.demand import Demand, as_demand
from sssp.engine.exact_sums import sum_products
from sssp.engine.progress import check_progress, progress_bar
from sssp.errors import import_extra
from sssp.graph.check_arrays import as_choice, is_real, number_array
from sssp.graph.graph import Graph
from sssp.graph.weights import closed_weight
from sssp.kernels.dtypes import FLOAT64
from sssp.prepared.hierarchy import Hierarchy
from sssp.prepared.prepare import prepare
from sssp.results.row_access import onto_arcs

METHODS = ("bfw", "fw", "msa")
#: columns of `Assignment.history`
HISTORY = ("gap", "objective", "seconds")
#: the class of a call that names none
EVERYBODY = ""
#: a start's balance at a vertex may differ by this part of all trips from that of the demand
UNBALANCED = 1e-6


@dataclass(eq=False, repr=False)
class Assignment:
    """Result of a traffic assignment: flows near user equilibrium, travel times, gap reached.

    Not made by hand: `sssp.assign` returns it. It owns its memory and pickles.

    Attributes
    ----------
    graph : Graph
        The graph of the call; a row is a row of its input.
    flow : ndarray, shape (rows,), float64
        What every row carries, all classes together.
    times : ndarray, shape (rows,), float64
        What every row costs at that flow, before what it costs a class besides; infinite if it is
        closed.
    by_class : dict of str to ndarray, shape (rows,), float64
        The flow of every class; empty where the call named none.
    selected : ndarray or csr_array, shape of the volumes, or dict of str to such, or None
        With `select`: how much of every pair of origin and destination uses one of these rows.
    selected_flow : ndarray, shape (rows,), float64, or None
        With `select`: what every row carries of that.
    gap : float
        The relative gap: how much less all trips together would pay on the shortest paths at these
        costs, as a part of what they pay.
    total : float
        What all trips pay together: flow times costs, those of classes too.
    objective : float
        The sum over the rows of the integral of the cost from 0 to the flow (Beckmann's), and what
        classes pay besides: the least at equilibrium.
    iterations : int
        Number of iterations.
    unreached : float
        Volume that was left out, because no path leads there.
    interrupted : bool
        Whether Ctrl-C ended the call; everything above is then of the last flow whose gap is known.
    """

    graph: Graph
    flow: Column
    times: Column
    _: KW_ONLY
    by_class: dict[str, Column]
    gap: float
    total: float
    unreached: float
    interrupted: bool
    _history: NDArray[np.float64]
    _network: Graph | Hierarchy
    _weights: dict[str, Column]
    selected: Any = None
    selected_flow: Any = None

    @property
    def iterations(self) -> int:
        """Number of iterations: all-or-nothing loadings, each at new costs."""
        return len(self._history)

    @property
    def objective(self) -> float:
        """Value of Beckmann's objective function at the flow."""
        return float(self._history[-1, 1])

    @property
    def history(self) -> Any:
        """Gap, objective and elapsed seconds of every iteration, as a `pandas.DataFrame`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return import_extra("pandas", "geo").DataFrame(self._history, columns=list(HISTORY))

    def load(self, demand: Any, *, name: str | None = None, **options: Any) -> Any:
        """Load any demand onto the shortest paths at equilibrium costs (all-or-nothing).

        Parameters
        ----------
        demand : tuple or DataFrame
            As for `sssp.load`.
        name : str, optional
            The class that travels, where there are classes.
        **options
            As for `sssp.load`: ``select=rows`` tells what would use a row.

        Returns
        -------
        Flows
            As of `sssp.load`; with closed zones its `graph` has them as forbidden turns.

        Raises
        ------
        ValueError
            No such class.
        UnreachableError, ValueError, TypeError, VertexError
            As `sssp.load` does.
        """
        return load(self._version(name), demand, **options)

    def skim(
        self, demand: Any, values: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Any:
        """Sum link attributes along every trip's shortest path at equilibrium costs.

        Parameters
        ----------
        demand : tuple or DataFrame
            As for `sssp.skim`: ``(origins, destinations)`` asks for the whole table.
        values : array_like, shape (rows,) or (rows, c)
            A number, or c of them, for every row of the input: `times`, a length, a toll.
        name : str, optional
            The class that travels, where there are classes.
        **options
            As for `sssp.skim`.

        Returns
        -------
        ndarray
            As of `sssp.skim`.

        Raises
        ------
        ValueError
            No such class; not one value per row.
        TypeError, VertexError
            As `sssp.skim` does.
        """
        columns = number_array(values, "values")
        if columns.ndim not in (1, 2) or len(columns) != self.graph.input_arcs:
            rows = self.graph.input_arcs
            raise ValueError(f"values must have shape ({rows},) or ({rows}, c): one a row")
        version = self._version(name)
        return skim(version, demand, columns[version._tree_graph.arc_origin], **options)

    def _version(self, name: str | None) -> Graph | Hierarchy:
        """Return the network with the arc weights of one user class after the assignment."""
        if name is None and len(self._weights) == 1:
            (name,) = self._weights
        elif name not in self.by_class:
            names = _listed(self.by_class)
            raise ValueError(f"name must be that of a class, not {name!r}; there are {names}")
        return self._network.with_weights(rows=self._weights[name])

    def __repr__(self) -> str:
        ended = ", interrupted" if self.interrupted else ""
        return (
            f"<Assignment of {self.flow.size} rows: gap {self.gap:.2e} after {self.iterations} "
            f"iterations{ended}>"
        )


def assign(
    g: Graph | Hierarchy,
    demand: Any,
    cost: Any,
    *,
    method: str = "bfw",
    gap: float = 1e-4,
    iterations: int = 1000,
    classes: Mapping[str, ArrayLike] | None = None,
    closed_zones: ArrayLike | None = None,
    start: Any = None,
    select: ArrayLike | None = None,
    unreached: Literal["raise", "skip"] = "raise",
    device: str = "auto",
    threads: int | None = None,
    memory_limit: float | None = None,
    progress: bool | None = None,
) -> Assignment:
    """Find the user equilibrium: flows at which no other path is cheaper for a trip (Wardrop 1952).

    Parameters
    ----------
    g : Graph or Hierarchy
        The network; its weights do not matter, but what is closed stays closed, turns that are
        forbidden (`Graph.with_turns`) stay so, and others cost what they do, in units of the cost
        and whatever the flow. A graph is prepared first, if it is a road network, and so is one
        with closed zones.
    demand : tuple or DataFrame, or mapping of names to such
        Trips, as for `sssp.load`: ``(origins, destinations, volumes)``. With `classes` one for each
        of them, by name, all in the same unit (of cars, say).
    cost : object with methods ``cost``, ``slope`` and ``integral``
        `sssp.BPR`, `sssp.Conical`, or one of your own. Each method takes the flow of every row of
        the input, an ndarray of float64 and shape (rows,), and returns as much: the cost, which is
        0 or more and does not fall as flow grows, its derivative, and its integral from 0 on. Rows
        whose cost is infinite without flow are closed. Both directions of an undirected row share
        its flow.
    method : {"bfw", "fw", "msa"}
        Bi-conjugate Frank-Wolfe, Frank-Wolfe, or the method of successive averages.
    gap : float
        End at a relative gap of at most this: ``(c x - c y) / c x`` of costs c at flow x, and flow
        y of everybody on shortest paths at these costs.
    iterations : int
        Most iterations; a call that needs more ends with a warning.
    classes : mapping of names to array_like, shape (rows,), or numbers, optional
        What a row costs a class of users besides, 0 or more, whatever its flow, in units of the
        cost: a toll divided by their value of time. All classes share the rows, and their costs.
    closed_zones : array_like of int, optional
        Vertices where trips may begin and end, but that none may pass.
    start : array_like, shape (rows,), mapping of names to such, or Assignment, optional
        Flows of the same demand to start from, of the classes by name.
    select : array_like of int, optional
        Rows of the input: also find which trips use one of them (select link analysis). Needs a
        second load an iteration, and no `start`.
    unreached, device, threads, memory_limit, progress
        As for `sssp.load`.

    Returns
    -------
    Assignment
        The last flow whose gap is known, and so after Ctrl-C, once there is one.

    Raises
    ------
    UnreachableError
        Something is to travel where no path leads.
    ValueError
        Another method; a cost that is negative, NaN, or infinite on a row that carries something; a
        start that does not carry the demand, or where turns cost something or rows go both ways;
        classes that are not those of the demand; an undirected row closed in one direction.
    TypeError
        A cost without one of its methods; another argument is not what it should be.
    VertexError, DeviceError
        As `sssp.load` does.

    Notes
    -----
    An iteration customizes the prepared map to the costs, loads all trips onto shortest paths, and
    goes from the flow so far to a mix of that load and of the last two targets (Mitradjieva and
    Lindberg 2013), as far as the objective falls. Costs are float64: of integers, those of the
    first, overloaded flows would not fit. A gap of 1e-4 is usual, 1e-6 is what comparisons of
    scenarios need; near 1e-7 the steps of Frank and Wolfe become too short to go on.

    Examples
    --------
    >>> import numpy as np, sssp
    >>> g = sssp.Graph.from_arcs([0, 0, 1], [2, 1, 2], [1, 1, 1])
    >>> cost = sssp.BPR(free=[10.0, 4.0, 4.0], capacity=[100.0, 50.0, 50.0], beta=1.0)
    >>> a = sssp.assign(g, ([0], [2], [[400.0]]), cost, gap=1e-9)
    >>> a.flow.round(1).tolist(), a.times.round(2).tolist()
    ([194.9, 205.1, 205.1], [12.92, 6.46, 6.46])
    """
    started = perf_counter()
    network = as_network(g)
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    if not is_real(gap) or not gap >= 0:
        raise ValueError(f"gap must be a number of 0 or more, not {gap!r}")
    most, wanted = as_count(iterations, "iterations"), check_progress(progress)
    options: dict[str, Any] = {"device": device, "threads": threads, "memory_limit": memory_limit}
    options["skips"] = as_choice(unreached, "unreached", "raise", "skip") == "skip"
    costs = _Costs(network._tree_graph, cost)
    zones, _ = as_vertices(() if closed_zones is None else closed_zones, network, "zone")
    users = _Users(costs, network, zones, demand, classes, select, options)
    x = None if start is None else users.take(start)
    history: list[tuple[float, float, float]] = []
    state: Any = None
    interrupted = False
    try:
        with progress_bar(most, wanted, "iteration") as advance:
            for state in _approach(users, x, method):
                history.append((state.gap, state.objective, perf_counter() - started))
                advance(1, f"gap {state.gap:.1e}")
                if state.gap <= gap or len(history) == most:
                    break
    except KeyboardInterrupt:
        if state is None:
            raise
        interrupted = True
    if state.gap > gap and not interrupted:
        text = f"the gap is {state.gap:.2e} after {most} iterations, and {gap:.2e} was asked for"
        warnings.warn(text, stacklevel=2)
    point, picked, named = state.point, state.point.picked, classes is not None
    volumes = map(Demand.as_given, users.demands, picked[1:])
    selected: Any = dict(zip(users.names, volumes, strict=False))
    return Assignment(
        costs.graph,
        point.total.copy(),
        np.where(costs.closed, np.inf, state.times),
        by_class=dict(zip(users.names, point.flows, strict=True)) if named else {},
        gap=state.gap,
        total=state.paid,
        interrupted=interrupted,
        unreached=float(users.unreached.sum()),
        selected=None if not picked else selected if named else selected[EVERYBODY],
        selected_flow=picked[0] if picked else None,
        _history=np.array(history),
        _network=users.network,
        _weights=dict(zip(users.names, users.weights(state.times), strict=True)),
    )


class _Point(NamedTuple):
    """A feasible solution of an assignment: the flow of each user class on each input arc."""

    flows: NDArray[np.float64]  # (classes, rows)
    #: what all trips pay for turns
    turning: float = 0.0
    #: the flow that uses selected rows, and of every class its volumes; () without `select`
    picked: tuple[Any, ...] = ()

    @property
    def total(self) -> Column:
        """Flow on every row of the user's arc table, summed over all user classes."""
        total: Column = self.flows[0] if len(self.flows) == 1 else self.flows.sum(axis=0)
        return total


class _State(NamedTuple):
    """A flow with its travel times, total cost, gap to equilibrium, and objective."""

    point: _Point
    times: Column
    paid: float
    gap: float
    objective: float


def _approach(users: _Users, x: _Point | None, method: str) -> Iterator[_State]:
    """Yield the states of Frank-Wolfe steps: flows that approach equilibrium, with their gap."""
    costs, given = users.costs, x
    x = x or users.load(costs.column("cost", np.zeros(costs.rows)))
    targets: list[_Point] = []
    step = 0.0
    for number in count(1):
        total = x.total
        times = costs.column("cost", total)
        fresh = users.load(times)
        if x is given:
            users.check_balance(x, fresh)
        paid = users.paid(times, x)
        excess = paid - users.paid(times, fresh)
        # (at equilibrium rounding may make it negative)
        gap = max(0.0, excess / paid) if paid > 0 else 0.0
        objective = float(costs.column("integral", total).sum()) + users.besides(x)
        yield _State(x, times, paid, gap, objective)
        to = fresh
        if method == "bfw" and targets:
            slopes, before = costs.column("slope", total), [target.total for target in targets]
            shares = conjugate_shares(slopes, total, fresh.total, before, step)
            to = _mix((fresh, targets[0], targets[-1]), shares)
            if users.paid(times, to) >= paid:  # the objective would not fall: start anew
                to, targets = fresh, []
        step = 1 / (number + 1)
        if method != "msa":
            fixed = users.besides(to) - users.besides(x)
            step = find_step(costs.cost, total, to.total - total, fixed)
        x = _mix((x, to, to), (1 - step, step, 0.0))
        # (once the step reaches its target, directions from there tell nothing of those before)
        targets = [to, *targets][:2] if step < 1 - LEAST_SHARE else []


def _mix(points: tuple[_Point, _Point, _Point], shares: tuple[float, float, float]) -> _Point:
    """Return the sum of three feasible flows, each multiplied by its number in `shares`."""
    a, b, c = shares
    parts = zip(*((point.flows, point.turning, *point.picked) for point in points), strict=True)
    flows, turning, *picked = (a * x + b * y + c * z for x, y, z in parts)
    return _Point(flows, turning, tuple(picked))


class _Costs:
    """The link cost function of an assignment; checks the values that it returns at each flow.

    Attributes
    ----------
    graph, cost : Graph and object
        The caller's.
    rows : int
        Rows of the input.
    closed : ndarray of bool, shape (rows,)
        Which of them no path may use: closed in the graph, or by an infinite cost, or no arcs.
    """

    def __init__(self, graph: Graph, cost: Any) -> None:
        for name in ("cost", "slope", "integral"):
            if not callable(getattr(cost, name, None)):
                raise TypeError(
                    f"cost has no method {name}: sssp.BPR(free, capacity) is one, and so is any "
                    "object with the methods cost, slope and integral of the flow"
                )
        self.graph, self.cost, self.rows = graph, cost, graph.input_arcs
        arcs, is_closed = graph.row_arc, graph.weights == closed_weight(graph.weights.dtype)
        if graph._rows_go_both_ways and graph.closed_arcs:
            twins = graph._twins
            odd = np.flatnonzero((is_closed != is_closed[twins]) & (twins >= 0))
            if odd.size:
                raise ValueError(
                    f"row {graph.arc_origin[odd[0]]} is closed in one direction, and its cost "
                    "would open it: give both directions as rows of their own"
                )
        self.closed = arcs < 0
        self.closed[~self.closed] = is_closed[arcs[~self.closed]]
        empty = np.asarray(cost.cost(np.zeros(self.rows)))
        if empty.shape == self.closed.shape:  # (`column` refuses any other)
            self.closed |= np.isposinf(empty)

    def column(self, name: str, flow: Column) -> Column:
        """Call the cost function's method `name`; return its value for each link at its flow."""
        column = np.asarray(getattr(self.cost, name)(flow))
        if column.shape != (self.rows,) or column.dtype.kind not in "iuf":
            raise ValueError(
                f"{name} of the cost must return a number for each of the {self.rows} rows of the "
                f"network, not {column.dtype} of shape {column.shape}"
            )
        column = np.where(self.closed, 0.0, column)
        if not (column.min(initial=0.0) >= 0 and column.max(initial=0.0) < np.inf):
            odd = np.flatnonzero(~((column >= 0) & (column < np.inf)))
            raise ValueError(
                f"{name} of row {odd[0]} is {column[odd[0]]} at a flow of {flow[odd[0]]}: it must "
                "be 0 or more, and finite"
            )
        return column


class _Users:
    """The user classes of a traffic assignment, with their demand and extra costs."""

    def __init__(
        self,
        costs: _Costs,
        network: Graph | Hierarchy,
        zones: NDArray[np.int64],
        demand: Any,
        classes: Any,
        select: Any,
        options: dict[str, Any],
    ) -> None:
        if zones.size:
            network = costs.graph._close_vertices(zones)
        if isinstance(network, Graph):
            empty = np.where(costs.closed, np.inf, costs.column("cost", np.zeros(costs.rows)))
            network = network.with_weights(rows=empty)
            limits = {name: options[name] for name in ("threads", "memory_limit")}
            with suppress(ValueError):  # (no road network: it goes by trees)
                network = prepare(network, progress=False, **limits)
        self.costs, self.network, self.zones = costs, network, zones
        if classes is None:
            if isinstance(demand, Mapping):
                raise ValueError(
                    "a demand by class needs classes=, the extra costs of rows by class"
                )
            demand, classes = {EVERYBODY: demand}, {EVERYBODY: 0.0}
        if not isinstance(classes, Mapping) or not isinstance(demand, Mapping):
            raise TypeError("classes and demand must then both be mappings of names, as dicts")
        if set(classes) != set(demand) or not classes:
            names = _listed(classes), _listed(demand)
            raise ValueError(f"classes are {names[0]}, but the demand is of {names[1]}")
        self.names = list(classes)
        self.selected = None if select is None else as_rows(select, costs.graph)
        self.fixed = [_fixed_column(classes[name], costs.rows, name) for name in self.names]
        self.demands = [as_demand(demand[name], costs.graph) for name in self.names]
        self.make_loader: Any = partial(Loader, network, progress=False, **options)
        self.loaders = list(map(self.make_loader, self.demands))

    def weights(self, times: Column) -> list[Column]:
        """Return the costs of all links for each user class: travel times plus the extra costs."""
        return [np.where(self.costs.closed, np.inf, times + fixed) for fixed in self.fixed]

    def load(self, times: Column) -> _Point:
        """Load every class's demand onto shortest paths at given travel times; return the flows."""
        versions = [self.network.with_weights(rows=own) for own in self.weights(times)]
        loaded = map(_load, self.loaders, versions)
        flows, self.unreached, turning = map(np.array, zip(*loaded, strict=True))
        point = _Point(flows, float(turning.sum()))
        if self.selected is None:
            return point
        flow, volumes = np.zeros(self.costs.rows), []
        for version, loader, demand in zip(versions, self.loaders, self.demands, strict=True):
            volumes.append(loader.select(version, self.selected)[0])
            flow += _load(self.make_loader(demand.with_entries(volumes[-1])), version)[0]
        return point._replace(picked=(flow, *volumes))

    def besides(self, point: _Point) -> float:
        """Return the extra costs of classes and the costs of turns, summed over all trips."""
        pairs = zip(self.fixed, point.flows, strict=True)
        return sum((sum_products(fixed, flow) for fixed, flow in pairs), point.turning)

    def paid(self, times: Column, point: _Point) -> float:
        """Return the total cost of all trips: travel times, extra costs, and costs of turns."""
        return sum_products(times, point.total) + self.besides(point)

    def take(self, start: Any) -> _Point:
        """Check the start flows that the user passed; return them as one flow per user class.

        Raises
        ------
        ValueError, TypeError
            They are not the flows of these classes, or something travels on a closed row.
        """
        if self.selected is not None:
            raise ValueError("which trips of a start use a row is unknown: omit start or select")
        turns = self.costs.graph.turns
        if turns is not None and turns.cost_something:
            raise ValueError("for a start it is unknown what its turns cost: omit start")
        if self.costs.graph._rows_go_both_ways:
            raise ValueError(
                "a start needs rows with one direction: make the graph of them with directed=True"
            )
        if isinstance(start, Assignment):
            start = start.by_class or start.flow
        given = start if isinstance(start, Mapping) else {EVERYBODY: start}
        if set(given) != set(self.names):
            raise ValueError(
                f"start must hold flows of {_listed(self.names)}, not of {_listed(given)}"
            )
        flows = [number_array(given[name], "start").astype(FLOAT64) for name in self.names]
        for flow in flows:
            if flow.shape != (self.costs.rows,):
                raise ValueError(f"start must have shape ({self.costs.rows},), not {flow.shape}")
            odd = np.flatnonzero(
                ~((flow >= 0) & (flow < np.inf)) | (self.costs.closed & (flow > 0))
            )
            if odd.size:
                raise ValueError(
                    f"start has a flow of {flow[odd[0]]} on row {odd[0]}, which must be 0 or more, "
                    "finite, and 0 on a closed row"
                )
        return _Point(np.stack(flows))

    def check_balance(self, start: _Point, fresh: _Point) -> None:
        """Refuse start flows whose inflow minus outflow at a vertex is not that of the demand.

        Raises
        ------
        ValueError
            The start belongs to another demand.
        """
        graph = self.costs.graph
        arcs = graph.row_arc
        kept = arcs >= 0
        more_by_class = (start.flows - fresh.flows)[:, kept]
        for name, demand, more in zip(self.names, self.demands, more_by_class, strict=True):
            ends = graph.indices[arcs[kept]], graph.tails[arcs[kept]]
            into, out_of = (np.bincount(end, more, graph.n) for end in ends)
            apart = np.abs(into - out_of)
            apart[self.zones] += np.abs(into[self.zones])  # (where nothing may pass)
            if apart.max(initial=0) > UNBALANCED * demand.total:
                who = f" of {name!r}" if name else ""
                raise ValueError(
                    f"the start{who} does not carry this demand: other amounts begin or end at "
                    "some vertices; start with flows of the same demand, or with none"
                )


def _load(loader: Loader, version: Any) -> tuple[Column, float, float]:
    """Load a demand onto shortest paths; return link flows, unreached volume and turn costs."""
    (loads, unreached), graph = loader.load(version), version._tree_graph
    turning = 0.0 if graph.turns is None else graph.turns.paid(loads)
    return flow_on_input(graph, [onto_arcs(graph, loads)]), unreached, turning


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names)) or "none"


def _fixed_column(fixed: Any, rows: int, name: str) -> Column:
    """Check the flow-independent extra costs of a user class; return one cost per link."""
    numbers = number_array(fixed, "classes").astype(FLOAT64)
    if numbers.shape not in ((), (rows,)):
        raise ValueError(f"class {name!r} must have a number or shape ({rows},): one a row")
    odd = np.flatnonzero(~((numbers >= 0) & (numbers < np.inf)))
    if odd.size:
        raise ValueError(
            f"row {odd[0]} costs class {name!r} {numbers.ravel()[odd[0]]} besides: it must be 0 or "
            "more, and finite; a row is closed to all classes, by an infinite cost"
        )
    return np.broadcast_to(numbers, rows)
