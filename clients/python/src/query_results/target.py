"""What to read, and which rows of it: becomes an address with parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode


Parameters = Mapping[str, Union[str, int, float, bool]]


def parameter_text(value: Any) -> str:
    """A parameter's value as a run keeps it. As text, every digit of a number arrives, and the run is found by the same value again."""
    if isinstance(value, str):
        return value
    if value is None:
        raise TypeError("a parameter has a value: leave it out, and its default holds")
    return str(value).lower() if isinstance(value, bool) else str(value)


def query_id(query: Any) -> int:
    """What data frames make of an id, such as 7.0, is one, and so is a text of digits."""
    number: Optional[int]
    try:
        number = int(query)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or (isinstance(query, float) and number != query):
        raise ValueError(f"query is {query!r}: expected the id of a query")
    return number


def _column_text(name: str) -> str:
    """Within quotes a backslash escapes a quote and itself."""
    is_plain = re.fullmatch(r'[^\s\ufeff",]([^",]*[^\s\ufeff",])?', name) is not None
    return name if is_plain else '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"'


@dataclass(frozen=True)
class Read:
    """One of ``query`` (its latest result; with ``parameters``, that of the latest run that had them), ``execution`` and ``dataset``; and
    which rows and columns, in which order. What is left out: all of them, as stored. ``as_of`` chooses the run of a query or a dataset that was
    the latest at this time, of those whose results are still stored: ``2024-03-05T20:50:59Z``, or a date."""

    query: Optional[int] = None
    execution: Optional[str] = None
    dataset: Optional[str] = None
    parameters: Optional[Parameters] = None
    as_of: Optional[str] = None
    columns: Optional[Sequence[str]] = None
    filters: Optional[str] = None
    search: Optional[str] = None
    sort_by: Optional[str] = None
    limit: Optional[int] = None
    offset: Optional[int] = None
    sample_count: Optional[int] = None
    allow_partial_results: bool = False

    def __post_init__(self) -> None:
        if sum(target is not None for target in (self.query, self.execution, self.dataset)) != 1:
            raise TypeError("name one of query, execution and dataset")
        if self.parameters and self.query is None:
            raise TypeError("parameters are for a query: they say which of its runs")
        if self.as_of is not None and self.execution is not None:
            raise TypeError("as_of is for a query or a dataset: it says which of its runs")
        if isinstance(self.columns, str):
            raise TypeError("columns is a list of names, not one text")
        # Others' integers, such as NumPy's, are ones, too.
        if self.limit is not None and not hasattr(self.limit, "__index__"):
            raise TypeError(f"limit is a whole number, not {self.limit!r}")
        if self.query is not None:
            query_id(self.query)

    def address(self, **more: str) -> str:
        columns = ",".join(_column_text(name) for name in self.columns or ()) or None
        given: Dict[str, object] = {
            "columns": columns,
            "filters": self.filters,
            "search": self.search,
            "sort_by": self.sort_by,
            "limit": self.limit,
            "offset": self.offset,
            "sample_count": self.sample_count,
            "allow_partial_results": "true" if self.allow_partial_results else None,
            "as_of": self.as_of,
            **more,
            **{f"params.{name}": parameter_text(value) for name, value in (self.parameters or {}).items()},
        }
        return f"{self._path()}?{urlencode({name: value for name, value in given.items() if value is not None})}"

    def _path(self) -> str:
        if self.query is not None:
            return f"/v1/query/{query_id(self.query)}/results"
        if self.execution is not None:
            return f"/v1/execution/{quote(self.execution, safe='')}/results"
        path = (self.dataset or "").lstrip("/")
        return f"/v1/{quote(path[3:] if path.startswith('v1/') else path)}"
