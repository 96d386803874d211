"""Data frames, read from Parquet, which keeps the types of the columns. The packages they need are imported only when one is asked for."""

from __future__ import annotations

import importlib
import tempfile
from contextlib import contextmanager
from typing import Any, BinaryIO, Iterator, Optional

from .errors import IncompleteResult, QueryResultsError
from .target import Read
from .transport import Transport

MEMORY_BYTES = 64 << 20
"""A larger download goes to a temporary file."""
FILE_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


def needed(name: str, call: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        package = name.split(".")[0]
        raise QueryResultsError(f"{call} needs {package}, which is not installed: pip install {package}") from missing


def arrow(transport: Transport, read: Read, call: str = "to_arrow") -> Any:
    parquet = needed("pyarrow.parquet", call)
    with _downloaded(transport, read) as (file, row_count):
        table = parquet.read_table(file)
        return _counted(table, table.num_rows, row_count)


def pandas(transport: Transport, read: Read) -> Any:
    """Columns have Arrow's types: pandas' own would turn integers into doubles if there is a null among them."""
    frames = needed("pandas", "to_pandas")
    return shown_by(frames.ArrowDtype, arrow(transport, read, "to_pandas")).to_pandas(types_mapper=frames.ArrowDtype)


def shown_by(dtype: Any, table: Any) -> Any:
    """The table with text in place of UUIDs and JSON where pandas cannot even print columns of these types: before version 3."""
    for at, field in enumerate(table.schema):
        try:
            dtype(field.type).type
        except NotImplementedError:
            text = [None if value is None else str(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, [needed("pyarrow", "to_pandas").array(text, "string")])
    return table


def polars(transport: Transport, read: Read) -> Any:
    frames = needed("polars", "to_polars")
    with _downloaded(transport, read) as (file, row_count):
        frame = frames.read_parquet(file)
        return _counted(frame, frame.height, row_count)


@contextmanager
def _downloaded(transport: Transport, read: Read) -> "Iterator[tuple[BinaryIO, Optional[int]]]":
    with tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES) as file:
        row_count = transport.download(file_address(read, "parquet"), file, FILE_TYPES["parquet"])  # type: ignore[arg-type]
        file.seek(0)
        yield file, row_count  # type: ignore[misc]


def file_address(read: Read, format: str) -> str:
    # A file is wanted whole, so the limit of datapoints is lifted.
    return read.address(format=format, ignore_max_datapoints_per_request="true")


def _counted(frame: Any, rows: int, row_count: Optional[int]) -> Any:
    if row_count is not None and rows != row_count:
        raise IncompleteResult(f"{max(rows, 0)} rows have come, of {row_count} that the service said there are")
    return frame


class _Lines:
    """A file that counts the lines that are written to it, not those within double quotes if it is CSV."""

    def __init__(self, file: BinaryIO, is_csv: bool) -> None:
        self._file, self._is_csv = file, is_csv
        self.count, self._quoted = 0, 0

    def seek(self, at: int) -> int:
        return self._file.seek(at)

    def truncate(self) -> int:
        self.count, self._quoted = 0, 0
        return self._file.truncate()

    def write(self, chunk: bytes) -> int:
        parts = chunk.split(b'"') if self._is_csv else [chunk]
        self.count += sum(part.count(b"\n") for part in parts[self._quoted :: 2])
        self._quoted = (self._quoted + len(parts) - 1) % 2
        return self._file.write(chunk)


def download(transport: Transport, read: Read, format: str, file: BinaryIO) -> None:
    """Writes all of the answer into the file. Raises ValueError for a format that the service does not have. A proxy may end an answer early as if it were whole, so the rows are counted; of a Parquet file
    that is cut nothing can be read."""
    if format not in FILE_TYPES:
        raise ValueError(f"format is {format!r}: expected one of {', '.join(FILE_TYPES)}")
    lines = _Lines(file, format == "csv")
    row_count = transport.download(file_address(read, format), lines, FILE_TYPES[format])  # type: ignore[arg-type]
    if format in ("csv", "ndjson"):
        _counted(file, lines.count - (format == "csv"), row_count)
