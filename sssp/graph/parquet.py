"""Write tables to Parquet files, by pyarrow, which is an optional dependency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sssp.errors import import_extra


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
