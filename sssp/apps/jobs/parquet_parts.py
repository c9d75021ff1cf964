"""A table as a folder of Parquet parts, one a block: for DuckDB, Polars and whatever reads Parquet.

A long one has a row for every vertex that a source reaches, with columns source, target and
distance; a wide one a row a source and a column a target, empty where nothing is reached. Reduced
rows are a number, or some, beside their source in either.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sssp.apps.jobs.files import Piece, whole_file
from sssp.apps.jobs.layout import Field, Layout
from sssp.errors import quote
from sssp.graph.extras import imported, write_parquet

#: rows that are put together, and written, at a time
ROW_GROUP = 1 << 20
#: most columns of a wide table
MOST_COLUMNS = 10_000
SOURCE, TARGET = "source", "target"
#: of the parts, as `names_in_store` gives those of a store
NAMES: list[tuple[str, ...]] = [(r"part-([0-9]{6}|[1-9][0-9]{6,})\.parquet",)]

Array = NDArray[Any]


@dataclass(frozen=True)
class ParquetParts:
    """Where the blocks of a table go.

    Attributes
    ----------
    path : Path
    layout : Layout
    zstd : bool
    wide : bool
    sources, targets : ndarray
        What rows and columns are called; targets None: those of reduced rows.
    """

    path: Path
    layout: Layout
    zstd: bool
    wide: bool
    sources: Array
    targets: Array | None

    @property
    def form(self) -> str:
        """What the manifest calls it."""
        return "wide" if self.wide else "long"

    def check(self) -> None:
        """Refuse a table that is too wide, or whose columns would have one name.

        Raises
        ------
        ValueError
            It is.
        """
        if not self.wide or self.targets is None:
            return
        if self.targets.size > MOST_COLUMNS:
            raise ValueError(
                f"a wide table of {self.targets.size:,} columns is more than readers of Parquet "
                f"bear ({MOST_COLUMNS:,}): name fewer targets, or write a long one or a .zarr store"
            )
        names, counts = np.unique(self.targets, return_counts=True)
        if (counts > 1).any():
            raise ValueError(
                f"a wide table has a column a target, and {names[counts > 1][0]} is named twice"
            )
        columns = [SOURCE, *(name for field in self.layout.fields for name in self._names(field))]
        twins = [name for name, count in Counter(columns).items() if count > 1]
        if twins:
            raise ValueError(
                f"two columns of a wide table would be called {quote(twins[0])}, for that is the "
                "label of a target: write a long one or a .zarr store"
            )

    def prepare(
        self, labels: Mapping[str, Array], attributes: Mapping[str, Any], temporary: Path
    ) -> dict[Path, Piece]:
        """Make the folder, and for a table without a block a part without a row.

        Parts need no other file to be read. Arguments, and what is returned, as those of
        `ZarrStore.prepare`.

        Raises
        ------
        MissingExtraError
            The library is not installed.
        """
        imported("pyarrow.parquet", "jobs")
        self.path.mkdir(parents=True, exist_ok=True)
        if self.layout.blocks:
            return {}
        rows = self.layout.rows
        nothing = {
            field.name: np.empty(
                (rows,) if field.width is None else (rows, field.width), field.dtype
            )
            for field in self.layout.fields
        }
        made = temporary / secrets.token_hex(8)
        return {made: self._write(made, 0, nothing, temporary)}

    def write(self, block: int, values: Mapping[str, Array], temporary: Path) -> list[Piece]:
        """Write a block; return its file. Arguments as those of `ZarrStore.write`."""
        return [self._write(self.path / _name_of(block), block, values, temporary)]

    def _write(self, path: Path, block: int, values: Mapping[str, Array], temporary: Path) -> Piece:
        compression = ("zstd", 1) if self.zstd else ("none", None)
        with whole_file(path, temporary) as stream:
            # (an empty block makes a table as well)
            write_parquet(
                stream,
                self._tables(block, values),
                "jobs",
                compression=compression[0],
                compression_level=compression[1],
            )
        return Piece(_name_of(block), stream.size, stream.checksum)

    def _tables(self, block: int, values: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        searches, by_columns = self.layout.searches_of(block), self.layout.by_columns
        own = slice(searches.start, searches.stop)
        sources = self.sources if by_columns else self.sources[own]
        if self.targets is None:
            return self._reduced(sources, values)
        targets = self.targets[own] if by_columns else self.targets
        return self._wide(sources, values) if self.wide else self._long(sources, targets, values)

    def _long(
        self, sources: Array, targets: Array, values: Mapping[str, Array]
    ) -> Iterator[dict[str, Any]]:
        step = max(1, ROW_GROUP // max(1, targets.size))
        for first in range(0, max(1, sources.size), step):
            tables = {f: values[f.name][first : first + step] for f in self.layout.fields}
            distances, field = next(iter(tables.values())), self.layout.fields[0]
            rows, columns = np.nonzero(distances != field.missing)
            yield {
                SOURCE: sources[first : first + step][rows],
                TARGET: targets[columns],
                **{f.column: table[rows, columns] for f, table in tables.items()},
            }

    def _wide(self, sources: Array, values: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        columns: dict[str, Any] = {SOURCE: sources}
        for field in self.layout.fields:
            for name, column in zip(self._names(field), values[field.name].T, strict=True):
                columns[name] = np.ma.masked_equal(np.ascontiguousarray(column), field.missing)
        yield columns

    def _names(self, field: Field) -> list[str]:
        """Return the columns of a field in a wide table, one a target."""
        assert self.targets is not None
        before = "" if field is self.layout.fields[0] else f"{field.column} "
        return [f"{before}{target}" for target in self.targets.tolist()]

    def _reduced(self, sources: Array, values: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        columns = {SOURCE: sources}
        for field in self.layout.fields:
            numbers = values[field.name]
            if field.width is None:
                columns[field.column] = numbers
            else:
                columns |= {
                    f"{field.column}_{i}": np.ascontiguousarray(column)
                    for i, column in enumerate(numbers.T)
                }
        yield columns


def _name_of(block: int) -> str:
    return f"part-{block:06d}.parquet"
