"""Reads results from a Query Results Service. The standard library suffices, except for data frames."""

from .client import QueryResults, RunStatus
from .errors import IncompleteResult, QueryResultsError, RunFailed, ServiceError
from .pages import Column, Page

__all__ = [
    "Column",
    "IncompleteResult",
    "Page",
    "QueryResults",
    "QueryResultsError",
    "RunFailed",
    "RunStatus",
    "ServiceError",
]
