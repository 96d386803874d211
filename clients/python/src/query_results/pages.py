"""Walks from page to page along ``next_uri`` and counts: the pages must follow each other without a gap, be of one run, and together have
as many rows as the service announced. Anything else is an error, never a short answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional

from .errors import IncompleteResult, RunFailed
from .target import Read
from .transport import Transport
from .values import reader_of


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    """As the service has it: ``uint256``, ``timestamp(3)``."""


@dataclass(frozen=True)
class Page:
    execution_id: str
    columns: List[Column]
    rows: List[Dict[str, Any]]
    row_count: int
    """Of all pages together."""
    is_partial: bool
    """Whether the result was cut when it was stored."""


def walk(transport: Transport, read: Read) -> Iterator[Page]:
    is_narrowed = read.filters is not None or read.search is not None
    more = {"format": "json", **({"count": "exact"} if is_narrowed else {})}
    address: Optional[str] = read.address(**more)
    execution, wanted, seen = "", 0, 0
    while address is not None:
        body = transport.get(address)
        page = _page_of(body, read)
        if execution == "":
            # The service's limit is for one page; the caller's is for all pages together.
            execution = page.execution_id
            wanted = page.row_count if read.limit is None else min(read.limit, page.row_count)
        if page.execution_id != execution:
            raise IncompleteResult("the pages are of several runs")
        rows = page.rows[: max(0, wanted - seen)]
        seen += len(page.rows)
        address = _next_of(body, seen, page, read)
        if address is None and seen < wanted:
            raise _incomplete(seen, page)
        if seen >= wanted:
            address = None
        yield replace(page, rows=rows, row_count=wanted)


def _next_of(body: Mapping[str, Any], seen: int, page: Page, read: Read) -> Optional[str]:
    """The address of the next page; None on the last."""
    address, offset = body.get("next_uri"), body.get("next_offset")
    goes_on = isinstance(address, str) and len(page.rows) > 0 and seen < page.row_count and offset == (read.offset or 0) + seen
    if seen > page.row_count or not (address is None or goes_on):
        raise _incomplete(seen, page, offset)
    return address if isinstance(address, str) else None


def _incomplete(seen: int, page: Page, next_offset: Optional[int] = None) -> IncompleteResult:
    said = f"{seen} rows have come of {page.execution_id}, of {page.row_count} that the service said there are"
    return IncompleteResult(said if next_offset is None else f"{said}, and the next begin at {next_offset}")


def run_failed(execution_id: str, state: str, error: Any) -> RunFailed:
    said = error.get("message") if isinstance(error, dict) else None
    message = said if isinstance(said, str) and said else f"the run {execution_id} has no result: {state}"
    return RunFailed(message, execution_id, state)


def _page_of(body: Mapping[str, Any], read: Read) -> Page:
    execution_id, state = body.get("execution_id"), body.get("state")
    if not isinstance(execution_id, str) or not isinstance(state, str):
        raise IncompleteResult("the answer is not one of this service: check the address")
    if "result" not in body:
        raise run_failed(execution_id, state, body.get("error"))
    if not _is_result(body["result"]):
        raise IncompleteResult(f"the result of {execution_id} is not as this service gives one: check the address")
    metadata, rows = body["result"]["metadata"], body["result"]["rows"]
    if metadata["row_count"] != len(rows):
        raise IncompleteResult(f"a page has {len(rows)} rows, of {metadata['row_count']} that it says it has")
    columns = [Column(*pair) for pair in zip(metadata["column_names"], metadata["column_types"])]
    for column in columns:
        value_of = reader_of(column.type)
        try:
            for row in rows:
                row[column.name] = row[column.name] if value_of is None else value_of(row[column.name])
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise IncompleteResult(f'a row of {execution_id} has no {column.type} in "{column.name}"') from None
    return Page(execution_id, columns, rows, _available(metadata, read), state == "QUERY_STATE_COMPLETED_PARTIAL")


def _is_result(given: Any) -> bool:
    """Whether it has all that is read of it: another program, or a proxy that changes answers, may have written it."""
    metadata = given.get("metadata") if isinstance(given, dict) else None
    if not isinstance(metadata, dict) or not isinstance(given.get("rows"), list):
        return False
    names, types = metadata.get("column_names"), metadata.get("column_types")
    counts = (metadata.get("row_count"), metadata.get("total_row_count"), metadata.get("filtered_row_count", 0))
    return (
        isinstance(names, list)
        and isinstance(types, list)
        and len(names) == len(types)
        and all(isinstance(text, str) for text in (*names, *types))
        and all(isinstance(count, int) for count in counts)
        and all(isinstance(row, dict) for row in given["rows"])
    )


def _available(metadata: Mapping[str, Any], read: Read) -> int:
    """How many rows the service announces from the offset on."""
    total: int = metadata["total_row_count"]
    if read.sample_count is not None:
        return min(read.sample_count, total)
    filtered: int = metadata.get("filtered_row_count", total)
    return max(0, filtered - (read.offset or 0))
