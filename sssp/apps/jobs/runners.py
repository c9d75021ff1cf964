"""Run the blocks of a job in local threads, on an executor, or on a Dask cluster.

A runner is handed numbers of blocks and hands back what became of each, in the order in which they
are done, so that the manifest never waits for a slow one. Little more is handed out than can be
under way: memory and time lost by a crash do not grow with the job.
"""

from __future__ import annotations

import logging
import queue
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
from itertools import chain, islice
from typing import Any

from sssp.apps.jobs.blocks import Done, Inputs, Ticket, do_block
from sssp.engine.workers import POLL_SECONDS, Pool
from sssp.errors import DeviceError, JobError

#: blocks that an executor or a cluster holds for every worker, or calls a GPU of this process:
#: one under way, one to go on with
AHEAD = 2
#: calls that each of several GPUs gets at least, if there are blocks enough
CALLS = 4
#: threads of this process that write what a GPU finds; some of them certify meanwhile
WRITERS_A_GPU = 6

logger = logging.getLogger("sssp")


class Runner(ABC):
    """Base class of runners, which compute blocks in threads or processes.

    Parameters
    ----------
    on : Executor or Client
    device
        As of the call.
    threads : int or None
        None: 1.

    Attributes
    ----------
    slots : int
        How many are done side by side.
    in_process : bool
        Whether that is in this process.
    threads : int
        Of a block.
    together : int
        Blocks that are searched in one call.
    measured_on : str or list of str
        The device on which this process measures a block.
    """

    slots: int
    in_process = False
    together = 1

    def __init__(self, on: Any, device: Any, threads: int | None) -> None:
        self.on, self.measured_on, self.threads = on, device, threads or 1

    @abstractmethod
    def run(self, inputs: Inputs | Ticket, blocks: Iterable[int]) -> Iterator[list[Done]]:
        """Compute blocks of a job; yield lists of records of finished blocks, in any order."""


def runner_of(on: Any, device: Any, threads: int | None) -> Runner:
    """Return the runner for an executor or for a client of Dask.

    Raises
    ------
    TypeError
        It is neither.
    """
    if type(on).__module__.partition(".")[0] == "distributed" and hasattr(on, "scheduler_info"):
        return DaskRunner(on, device, threads)
    if isinstance(on, futures.Executor):
        return ExecutorRunner(on, device, threads)
    raise TypeError(
        "on must be None, a concurrent.futures.Executor or a dask.distributed.Client, not "
        f"{type(on).__name__}"
    )


class ExecutorRunner(Runner):
    """A runner that submits blocks to an executor of the caller.

    Attributes
    ----------
    calls : int
        Calls whose blocks are held at the same time.
    """

    def __init__(self, on: futures.Executor, device: Any, threads: int | None) -> None:
        super().__init__(on, device, threads)
        self.in_process = isinstance(on, futures.ThreadPoolExecutor)
        # (as far as it tells)
        self.slots = int(getattr(on, "_max_workers", None) or 1)
        self.calls = AHEAD * self.slots

    def run(self, inputs: Inputs | Ticket, blocks: Iterable[int]) -> Iterator[list[Done]]:
        """Compute blocks of a job; yield lists of records of finished blocks, in any order.

        Raises
        ------
        JobError
            A worker has died, which ends an executor of processes.
        """
        left = iter(self._groups(list(blocks)))
        #: what is under way of every call: one future, or several that it has brought
        calls: list[set[futures.Future[Any]]] = []
        try:
            while True:
                for group in islice(left, self.calls - len(calls)):
                    calls.append({self._submit(inputs, group)})
                if not calls:
                    return
                # with a timeout, for else Ctrl-C is not heard on every system
                under_way = set[futures.Future[Any]]().union(*calls)
                ended = futures.wait(under_way, POLL_SECONDS, futures.FIRST_COMPLETED).done
                failed = {future for future in ended if future.exception() is not None}
                outcomes = {future: future.result() for future in ended - failed}
                if done := [one for one in outcomes.values() if isinstance(one, Done)]:
                    yield done
                # (now that they are on record: a crash costs a worker one block, not two)
                for future in failed:
                    future.result()
                for call in calls:
                    for future in call & ended:
                        call.remove(future)
                        if not isinstance(outcomes[future], Done):
                            call |= outcomes[future]
                calls = [call for call in calls if call]
        except futures.BrokenExecutor as error:
            raise JobError(
                f"a worker of the executor has died ({error}); what is done is kept: run the job "
                "again, with a new executor"
            ) from error
        finally:
            for future in chain.from_iterable(calls):
                future.cancel()

    def _groups(self, blocks: list[int]) -> list[list[int]]:
        """Divide a job's blocks of sources into groups, each of which is searched in one call.

        The first calls find no more than a block a writer: until they are back nothing is written.
        """
        size = max(1, min(self.together, len(blocks) // (CALLS * self.slots)))
        few = min(size, WRITERS_A_GPU)
        starts = range(0, min(len(blocks), few * self.slots), few)
        return [blocks[first : first + few] for first in starts] + [
            blocks[first : first + size] for first in range(few * self.slots, len(blocks), size)
        ]

    def _submit(self, inputs: Inputs | Ticket, group: list[int]) -> Any:
        """Submit several blocks of a job to the executor as one call; return the call's future."""
        return self.on.submit(do_block, inputs, *group, self.measured_on, self.threads)


class LocalRunner(ExecutorRunner):
    """A runner that computes a job's blocks in threads of this process, on the CPU or on GPUs.

    A thread a device searches, and others write what it has found: while the blocks of a GPU are
    written, the next ones are searched.

    Parameters
    ----------
    devices : sequence of str
    threads : int
        Of a search.
    together : int
        Blocks that are searched in one call, at most; each of them is on record once it is written.
    by_rule : bool
        Whether ``device="auto"`` has chosen GPUs, so that the CPU may take over.
    """

    def __init__(
        self, devices: Sequence[str], threads: int, together: int, *, by_rule: bool = False
    ) -> None:
        super().__init__(Pool(len(devices), "sssp-search"), devices[0], threads)
        self.together, self.by_rule = together, by_rule
        self.calls = sum(1 if device == "cpu" else AHEAD for device in devices)
        writers = sum(1 if device == "cpu" else WRITERS_A_GPU for device in devices)
        self._writers = Pool(writers, "sssp-write")
        self._idle: queue.SimpleQueue[str] = queue.SimpleQueue()
        for device in devices:
            self._idle.put(device)

    def run(self, inputs: Inputs | Ticket, blocks: Iterable[int]) -> Iterator[list[Done]]:
        """Compute blocks of a job; yield lists with a record (`Done`) of each finished block."""
        try:
            yield from super().run(inputs, blocks)
        finally:
            for executor in (self.on, self._writers):
                executor.shutdown(wait=False, cancel_futures=True)

    def _submit(self, inputs: Inputs | Ticket, group: list[int]) -> Any:
        return self.on.submit(self._search, inputs, group)

    def _search(self, inputs: Inputs, group: list[int]) -> set[futures.Future[Done]]:
        """Search a job's blocks on an idle device; return futures that verify and write results."""
        device = self._idle.get()
        try:
            found = inputs.solve(group, device, self.threads)
        except DeviceError as error:
            if not self.by_rule:
                raise
            logger.warning("device='auto' falls back to the CPU: %s", error)
            found = inputs.solve(group, "cpu", self.threads)
        finally:
            self._idle.put(device)
        return {self._writers.submit(inputs.finish, solved) for solved in found}


def do_block_on_dask(
    inputs: Inputs | Ticket, block: int, device: Any, threads: int | None
) -> Done | tuple[str, str]:
    """Compute a block on a Dask worker; return its record, or the worker's address and an error."""
    try:
        return do_block(inputs, block, device, threads)
    except DeviceError as error:
        return sys.modules["distributed"].get_worker().address, str(error)


class DaskRunner(Runner):
    """A runner on a Dask cluster; blocks of lost workers are computed again."""

    def __init__(self, on: Any, device: Any, threads: int | None) -> None:
        super().__init__(on, device, threads)
        #: workers that have refused, and the last reason
        self._without: dict[str, str] = {}

    @property
    def slots(self) -> int:  # type: ignore[override]  # workers come and go
        """Number of blocks that the present workers compute at the same time."""
        return max(1, sum(self._able().values()))

    def _able(self) -> dict[str, int]:
        """Return thread counts of Dask workers by address, without workers that lack the device."""
        threads: dict[str, int] = self.on.nthreads()
        return {name: count for name, count in threads.items() if name not in self._without}

    def run(self, inputs: Inputs | Ticket, blocks: Iterable[int]) -> Iterator[list[Done]]:
        """Compute blocks of a job; yield lists with a record (`Done`) of each finished block.

        Raises
        ------
        JobError
            Workers have died over one block again and again.
        DeviceError
            No worker has the device.
        """
        distributed = sys.modules["distributed"]
        left = iter(blocks)
        completed = distributed.as_completed()
        under_way: dict[Any, int] = {}

        def hand_out(block: int) -> None:
            workers = list(self._able()) if self._without else None
            asked = do_block_on_dask, inputs, block, self.measured_on, self.threads
            future = self.on.submit(*asked, pure=False, retries=0, workers=workers)
            under_way[future] = block
            completed.add(future)

        try:
            while True:
                # (those that have joined meanwhile are in the count)
                for block in islice(left, max(0, AHEAD * self.slots - len(under_way))):
                    hand_out(block)
                if not under_way:
                    return
                future = next(completed)
                block = under_way.pop(future)
                try:
                    outcome = future.result()
                except distributed.KilledWorker as error:
                    raise JobError(
                        f"workers died one after the other ({error}), for want of memory perhaps; "
                        "what is done is kept: run the job again, with a smaller block_size"
                    ) from error
                if isinstance(outcome, Done):
                    yield [outcome]
                    continue
                address, reason = outcome
                if address not in self._without:
                    logger.warning("the worker %s does no blocks: %s", address, reason)
                self._without[address] = reason
                if not self._able():
                    raise DeviceError(f"no worker of the cluster can do a block: {reason}")
                hand_out(block)
        finally:
            if under_way:
                self.on.cancel(list(under_way))
