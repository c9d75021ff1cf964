"""Optional dependencies: imported where they are needed, or named with the pip line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from sssp.errors import MissingExtraError


def import_extra(module: str, extra: str) -> Any:
    """Import a module that an extra of the package brings.

    Raises
    ------
    MissingExtraError
        It cannot be imported; the message holds the pip line.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f'{module} is not installed; install it with: pip install "sssp[{extra}]"'
        ) from error


def write_parquet(
    stream: Any, blocks: Iterable[Mapping[str, Any]], extra: str, **options: Any
) -> int:
    """Write blocks of columns, at least one block, as a Parquet file; return the number of rows.

    Parameters
    ----------
    stream : binary stream
    blocks : iterable of mapping of str to ndarray or list
        Arrays are masked where a value is missing.
    extra : str
        The extra of the package that brings pyarrow.
    **options
        Of `pyarrow.parquet.ParquetWriter`.
    """
    import numpy as np

    arrow, parquet = import_extra("pyarrow", extra), import_extra("pyarrow.parquet", extra)

    def convert(column: Any) -> Any:
        if isinstance(column, list):
            return arrow.array(column)
        missing = np.ma.getmask(column)
        mask = None if missing is np.ma.nomask else missing
        return arrow.array(np.ma.getdata(column), mask=mask)

    count, writer = 0, None
    for columns in blocks:
        table = arrow.table({name: convert(column) for name, column in columns.items()})
        if writer is None:
            writer = parquet.ParquetWriter(stream, table.schema, **options)
        writer.write_table(table)
        count += table.num_rows
    assert writer is not None
    writer.close()
    return count
