"""Everything that this client raises of its own."""

from __future__ import annotations

from typing import Optional


class QueryResultsError(Exception):
    """The base of all."""


class ServiceError(QueryResultsError):
    """The service refused, or could not be reached, also after it was asked again. The message is the service's own."""

    def __init__(self, message: str, status: Optional[int] = None, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP; None when no answer came."""
        self.code = code
        """The stable code of the error (``X-Error-Code``), such as ``filter_column``."""


class IncompleteResult(QueryResultsError):
    """What came is not as many rows as the service said, or does not follow from page to page."""


class RunFailed(QueryResultsError):
    """A run has no result to read: it failed, was cancelled or has expired, or it has not ended yet."""

    def __init__(self, message: str, execution_id: str, state: str) -> None:
        super().__init__(message)
        self.execution_id = execution_id
        self.state = state
        """Such as ``QUERY_STATE_FAILED``."""
