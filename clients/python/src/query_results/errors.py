"""The errors that this client raises."""

from __future__ import annotations

from typing import Optional


class QueryResultsError(Exception):
    """The base class of the errors."""


class ServiceError(QueryResultsError):
    """The service refused, or could not be reached in any attempt. The message of a refusal is the service's own."""

    def __init__(self, message: str, status: Optional[int] = None, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; None if no answer came."""
        self.code = code
        """The stable code of the error (``X-Error-Code``), such as ``filter_column``."""


class IncompleteResult(QueryResultsError):
    """Fewer or more rows came than the service announced, or the pages do not follow each other."""


class RunFailed(QueryResultsError):
    """A run has no result to read: it failed, was cancelled or has expired, or it has not ended yet."""

    def __init__(self, message: str, execution_id: str, state: str) -> None:
        super().__init__(message)
        self.execution_id = execution_id
        self.state = state
        """Such as ``QUERY_STATE_FAILED``."""
