"""Tables on disk: their division into blocks, and files that are written completely or not at all.

A table is a Zarr 3 store or a folder of Parquet parts.

A store has an array a field, and every block writes chunks of its own. The library makes the store
and its metadata; chunks are written here, as its codecs would: bytes in C order, little-endian,
compressed by zstd or not at all. So a chunk appears whole or not at all, on any version of the
library, and nothing waits for a lock.

A folder has a part a block, for DuckDB, Polars and all that reads Parquet. A long table has a row
for every vertex that a source reaches, with columns source, target and distance; a wide one a row a
source and a column per target, empty where nothing is reached. Reduced rows are a number, or some,
beside their source in either.
"""

from __future__ import annotations

import io
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sssp.errors import import_extra, quote
from sssp.graph.parquet import write_parquet
from sssp.kernels.dtypes import unreached
from sssp.loaders._files import crc32

# -- blocks ---------------------------------------------------------------------------------------

#: bytes of a block, and of one that a GPU finds, which wants more rows side by side: two such, and
#: what writers hold, stay below 500 MB
BLOCK_BYTES, GPU_BLOCK_BYTES = 64 << 20, 128 << 20
#: blocks of a job, if they are not larger than that
FEWEST_BLOCKS = 64
#: most searches of a block: what a crash costs
MOST_SEARCHES = 8192
#: searches that keep a GPU busy: a few take it nearly as long as some hundreds
GPU_SEARCHES = 1024
#: labels of a chunk
PIECE = 1 << 20


@dataclass(frozen=True)
class Field:
    """An array of a job's table: name, dtype, and number of columns.

    Attributes
    ----------
    name : str
        In a Zarr store; in a row of Parquet it is `column`.
    column : str
    dtype : dtype
    width : int or None
        Numbers of a source; None: one, without an axis for it.
    """

    name: str
    column: str
    dtype: np.dtype[Any]
    width: int | None

    @property
    def missing(self) -> Any:
        """The value that marks unreached vertices in this field: the sentinel of its dtype."""
        return unreached(self.dtype)

    @property
    def columns(self) -> int:
        """Number of columns; 1 for a field without a column axis."""
        return 1 if self.width is None else self.width

    @property
    def row_bytes(self) -> int:
        """Bytes of this field in one row of a job's table."""
        return self.dtype.itemsize * self.columns


@dataclass(frozen=True)
class Layout:
    """Layout of a job's result table: fields, number of rows, and division into blocks.

    Attributes
    ----------
    fields : tuple of Field
    rows : int
        Sources that differ.
    searches : int
        Of all blocks: the rows; or the columns, where a block searches from targets.
    block_size : int
        Searches of a block; the last may have fewer.
    by_columns : bool
        Whether a block is some columns of all rows instead of some rows.
    """

    fields: tuple[Field, ...]
    rows: int
    searches: int
    block_size: int
    by_columns: bool = False

    @property
    def blocks(self) -> int:
        """Number of blocks that the table is divided into."""
        return -(-self.searches // self.block_size)

    @property
    def nbytes(self) -> int:
        """Size of the job's result table in bytes, before compression."""
        return self.rows * sum(field.row_bytes for field in self.fields)

    def searches_of(self, block: int) -> range:
        """Return the range of the job's searches that belong to a block."""
        first = block * self.block_size
        return range(first, min(first + self.block_size, self.searches))


def block_size_of(searches: int, search_bytes: int, *, on_gpu: bool) -> int:
    """Return the number of searches in a block of a job, from memory and the size of the job.

    Parameters
    ----------
    searches : int
        Of the job.
    search_bytes : int
        What one keeps until its block is written.
    on_gpu : bool
    """
    room = (GPU_BLOCK_BYTES if on_gpu else BLOCK_BYTES) // max(1, search_bytes)
    return max(1, min(room, MOST_SEARCHES, -(-searches // FEWEST_BLOCKS)))


def blocks_together(block_size: int, search_bytes: int) -> int:
    """Return how many blocks a GPU searches in one call: enough to fill it, if memory allows.

    Together they hold no more than one large block may.

    Parameters
    ----------
    block_size : int
    search_bytes : int
        What a search keeps until its block is written.
    """
    room = GPU_BLOCK_BYTES // max(1, block_size * search_bytes)
    return max(1, min(room, GPU_SEARCHES // block_size))


def distinct_rows(vertices: NDArray[np.int64]) -> tuple[NDArray[np.int64], Any]:
    """Return the distinct vertices by first appearance, and each input vertex's row among them.

    The rows are None if all differ: then they are 0, 1, 2...
    """
    _, firsts, groups = np.unique(vertices, return_index=True, return_inverse=True)
    rows = None if firsts.size == vertices.size else firsts.argsort().argsort()[groups]
    return vertices[np.sort(firsts)], rows


#: bytes that are read at a time
PIECE_BYTES = 1 << 20
#: mode of a file, less what the umask takes away
MODE = 0o666
#: ending of the name of a store
SUFFIX = ".zarr"
#: most bytes of a chunk: each writer holds one and its compressed copy
CHUNK_BYTES = 16 << 20
#: the fastest level
ZSTD_LEVEL = 1
#: name of the file that describes a store, or an array
METADATA = "zarr.json"
#: rows that are put together, and written, at a time
ROW_GROUP = 1 << 20
#: most columns of a wide table
MOST_COLUMNS = 10_000
SOURCE, TARGET = "source", "target"
#: the field of a table that holds distances
DISTANCES = "distances"

Array = NDArray[Any]


# -- files ----------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Record of one file of a job's table: name, size and checksum.

    Attributes
    ----------
    name : str
        Relative to the table.
    size, checksum : int
        Bytes, and their CRC-32.
    """

    name: str
    size: int
    checksum: int


class TalliedFile(io.BufferedWriter):
    """A new file that counts the bytes written to it and computes their checksum."""

    def __init__(self, path: Path, mode: int = MODE) -> None:
        super().__init__(io.FileIO(path, "x", opener=partial(os.open, mode=mode)))
        self.size = self.checksum = 0

    def write(self, data: Any) -> int:
        """Write a buffer, update the file's size and checksum; return the number of bytes."""
        view = memoryview(data).cast("B")
        self.checksum = crc32(view, self.checksum)
        self.size += view.nbytes
        return super().write(view)

    def close(self) -> None:
        """Write all bytes to disk and close the file, unless it is closed already."""
        try:
            if not self.closed:
                self.flush()
                os.fsync(self.fileno())
        finally:
            super().close()


@contextmanager
def whole_file(path: Path, temporary: Path, mode: int = MODE) -> Iterator[TalliedFile]:
    """Open a file for writing that gets its final name once it is complete and on disk.

    Unlike `sssp.loaders._files.replaced_file` it is made in a folder of its own: no search for
    unfinished files among a million parts.

    Parameters
    ----------
    path : Path
        Its folder is made.
    temporary : Path
        A folder on the same file system.
    mode : int
        Of the file, less what the umask takes away.
    """
    unfinished = temporary / secrets.token_hex(8)
    stream = TalliedFile(unfinished, mode)
    try:
        yield stream
        stream.close()
        move_into_place(unfinished, path)
    except BaseException:
        with suppress(OSError):
            stream.close()
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise


def move_into_place(made: Path, path: Path) -> None:
    """Rename a complete file to its final name; create the folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.replace(made, path)


def checksum_of(path: Path) -> int:
    """Return the CRC-32 of a file."""
    checksum = 0
    with path.open("rb") as stream:
        while piece := stream.read(PIECE_BYTES):
            checksum = crc32(piece, checksum)
    return checksum


# -- Zarr -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ZarrStore:
    """A table as a Zarr store, written block by block.

    Attributes
    ----------
    path : Path
    layout : Layout
    zstd : bool
        Whether chunks are compressed.
    chunk_bytes : int
        Most bytes of a chunk, where a block may be cut.
    """

    path: Path
    layout: Layout
    zstd: bool
    chunk_bytes: int = CHUNK_BYTES

    def prepare(
        self, labels: Mapping[str, Array], attributes: Mapping[str, Any], temporary: Path
    ) -> dict[Path, Piece]:
        """Write metadata and labels to temporary files; return their names, sizes and checksums.

        Parameters
        ----------
        labels : mapping of str to ndarray
            What the rows and the columns are called, by dimension: integers.
        attributes : mapping
            Of the store.
        temporary : Path
            A folder on the same file system.

        Returns
        -------
        dict of Path to Piece
            The files, and what they are to be in the store.

        Raises
        ------
        MissingExtraError
            The library is not installed.
        """
        zarr = import_extra("zarr", "jobs")
        # (made elsewhere, for the library removes the chunks of an array that it makes again)
        made = temporary / secrets.token_hex(8)
        group = zarr.open_group(str(made), mode="w", zarr_format=3)
        group.update_attributes(dict(attributes))
        codecs = import_extra("zarr.codecs", "jobs")
        codec = codecs.ZstdCodec(level=ZSTD_LEVEL) if self.zstd else None
        create = partial(group.create_array, compressors=codec)
        for name, values in labels.items():
            array = create(
                name, shape=values.shape, chunks=(max(1, min(PIECE, values.size)),),
                dtype=values.dtype.newbyteorder("<"), fill_value=0, dimension_names=(name,),
            )  # fmt: skip
            array[:] = values
        for field in self.layout.fields:
            axes: tuple[str, ...] = ("source", "target" if "target" in labels else "column")
            axes = axes if field.width is not None else axes[:1]
            chunk = self._chunk_shape(field)[:: -1 if self.layout.by_columns else 1]
            array = create(
                field.name, shape=(self.layout.rows, field.width)[: len(axes)],
                chunks=chunk[: len(axes)],
                dtype=field.dtype.newbyteorder("<"), fill_value=field.missing,
                dimension_names=axes,
            )  # fmt: skip
            missing = "Infinity" if field.missing == np.inf else int(field.missing)
            array.update_attributes({"unreached": missing})
        pieces = {}
        for path in sorted(made.rglob("*")):
            if path.is_file():
                with path.open("r+b") as stream:
                    os.fsync(stream.fileno())
                name = path.relative_to(made).as_posix()
                pieces[path] = Piece(name, path.stat().st_size, checksum_of(path))
        return pieces

    def _chunk_shape(self, field: Field) -> tuple[int, int]:
        """Return the shape of a chunk: number of searches, and number of entries of each search.

        An array has them as rows and columns, or by columns the other way round.
        """
        layout = self.layout
        across = layout.rows if layout.by_columns else field.columns
        block = max(1, min(layout.block_size, layout.searches))
        pieces = -(-block * across * field.dtype.itemsize // self.chunk_bytes)
        return block, max(1, -(-across // max(1, pieces)))

    def write(self, block: int, values: Mapping[str, Array], temporary: Path) -> list[Piece]:
        """Write the chunks of a block; return their files.

        Parameters
        ----------
        block : int
        values : mapping of str to ndarray
            Of every field a row for each search of the block.
        temporary : Path
            A folder on the same file system.
        """
        pieces, encode, by_columns = [], None, self.layout.by_columns
        if self.zstd:
            encode = import_extra("numcodecs", "jobs").Zstd(level=ZSTD_LEVEL).encode
        for field in self.layout.fields:
            table, shape = values[field.name], self._chunk_shape(field)
            table = table if table.ndim == 2 else table[:, np.newaxis]
            for number, first in enumerate(range(0, table.shape[1], shape[1])):
                part = table[:, first : first + shape[1]]
                if part.shape != shape:  # at an edge of the table, for all chunks have one shape
                    widths = (0, shape[0] - part.shape[0]), (0, shape[1] - part.shape[1])
                    part = np.pad(part, widths, constant_values=field.missing)
                dtype = field.dtype.newbyteorder("<")
                chunk = np.ascontiguousarray(part.T if by_columns else part, dtype)
                place = (number, block) if by_columns else (block, number)
                keys = place if field.width is not None else place[:1]
                name = f"{field.name}/c/{'/'.join(map(str, keys))}"
                with whole_file(self.path / name, temporary) as stream:
                    stream.write(chunk if encode is None else encode(chunk))
                pieces.append(Piece(name, stream.size, stream.checksum))
        return pieces


def names_of_files(table: Path, job: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return path patterns of a table's files: tuples with one regex per path component.

    Parameters
    ----------
    table : Path
    job : mapping
        What the manifest says of it.
    """
    if table.suffix != SUFFIX:
        return [(r"part-([0-9]{6}|[1-9][0-9]{6,})\.parquet",)]
    what = job["reduce"]
    arrays = [DISTANCES, *job["skim"]] if what is None else [what]
    one_axis, two_axes = f"{SOURCE}|{re.escape(what or TARGET)}", "|".join(map(re.escape, arrays))
    metadata, number = re.escape(METADATA), "0|[1-9][0-9]*"
    return [
        (metadata,),
        (f"{one_axis}|{two_axes}", metadata),
        (one_axis, "c", number),
        (two_axes, "c", number, number),
    ]


# -- Parquet --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetParts:
    """A table as a folder of Parquet files, written block by block.

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

    def check(self) -> None:
        """Refuse a table with too many columns, or with two columns of the same name."""
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
        """Create the table's folder, and in it an empty Parquet file if the table has no blocks.

        Parts need no other file to be read. Arguments, and what is returned, as those of
        `ZarrStore.prepare`.

        Raises
        ------
        MissingExtraError
            The library is not installed.
        """
        import_extra("pyarrow.parquet", "jobs")
        self.path.mkdir(parents=True, exist_ok=True)
        if self.layout.blocks:
            return {}
        rows = self.layout.rows
        nothing = {
            f.name: np.empty((rows,) if f.width is None else (rows, f.width), f.dtype)
            for f in self.layout.fields
        }
        made = temporary / secrets.token_hex(8)
        return {made: self._write(made, 0, nothing, temporary)}

    def write(self, block: int, values: Mapping[str, Array], temporary: Path) -> list[Piece]:
        """Write a block as a Parquet file; return a list with its name, size and checksum."""
        return [self._write(self.path / _name_part(block), block, values, temporary)]

    def _write(self, path: Path, block: int, values: Mapping[str, Array], temporary: Path) -> Piece:
        options: dict[str, Any] = {"compression": "none"}
        if self.zstd:
            options = {"compression": "zstd", "compression_level": 1}
        searches, targets = self.layout.searches_of(block), self.targets
        own = slice(searches.start, searches.stop)
        if targets is None or self.wide:
            tables = self._wide(self.sources[own], values)
        elif self.layout.by_columns:
            values = {name: table.T for name, table in values.items()}
            tables = self._long(self.sources, targets[own], values)
        else:
            tables = self._long(self.sources[own], targets, values)
        with whole_file(path, temporary) as stream:
            # (an empty block makes a table as well)
            write_parquet(stream, tables, "jobs", **options)
        return Piece(_name_part(block), stream.size, stream.checksum)

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
            table = values[field.name]
            table = table if table.ndim == 2 else table[:, np.newaxis]
            for name, numbers in zip(self._names(field), table.T, strict=True):
                column = np.ascontiguousarray(numbers)
                # (what is reduced is a number, even where nothing is reached)
                masked = self.targets is not None
                columns[name] = np.ma.masked_equal(column, field.missing) if masked else column
        yield columns

    def _names(self, field: Field) -> list[str]:
        """Return a field's column names in a wide file: one per target or value of a reduction."""
        if self.targets is None:
            if field.width is None:
                return [field.column]
            return [f"{field.column}_{i}" for i in range(field.width)]
        before = "" if field is self.layout.fields[0] else f"{field.column} "
        return [f"{before}{target}" for target in self.targets.tolist()]


def _name_part(block: int) -> str:
    return f"part-{block:06d}.parquet"
