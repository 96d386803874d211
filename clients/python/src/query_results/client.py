"""The client: reads results as rows, page by page, as files and data frames; runs queries and waits for them."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, Optional
from urllib.parse import quote

from . import frames
from .errors import RunFailed, ServiceError
from .pages import Page, run_failed, walk
from .target import Parameters, Read, parameter_text, query_id
from .transport import Transport, sent_key, service_address

FIRST_POLL = 0.25
POLL_MAX = 5.0


@dataclass(frozen=True)
class RunStatus:
    execution_id: str
    state: str
    """Such as ``QUERY_STATE_EXECUTING``."""
    is_finished: bool
    queue_position: Optional[int]
    """The place in the queue, while the run waits."""
    progress: Optional[Dict[str, int]]
    """While the run goes on, and where its engine says: ``percent``, ``completed_splits``, ``total_splits``, ``processed_rows``, ``processed_bytes``."""
    error: Optional[Dict[str, Any]]
    """Why the run failed."""


class QueryResults:
    """What to read: ``query=100``, ``execution="01…"`` or ``dataset="restaking/avs-stats"``. Which rows of it: ``columns``, ``filters``, ``search``,
    ``sort_by``, ``limit``, ``offset``, ``sample_count``, ``allow_partial_results``. With a query, ``parameters`` chooses the run;
    with a query or a dataset, ``as_of`` the run that was the latest at that time."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retries: int = 5,
        timeout: float = 300.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """:param url: scheme and host of the service, with the prefix of a proxy if it has one
        :param retries: how often a request is sent again that may pass then
        :param timeout: seconds for which a connection may be silent"""
        self._transport = Transport(service_address(url), sent_key(key), retries, timeout, sleep)

    def pages(self, **read: Any) -> Iterator[Page]:
        """Page by page, as the service cuts them. Raises ServiceError, IncompleteResult, RunFailed if there is no result."""
        return walk(self._transport, Read(**read))

    def rows(self, **read: Any) -> Iterator[Dict[str, Any]]:
        """Row by row; a page is in memory at a time."""
        for page in self.pages(**read):
            yield from page.rows

    def read(self, **read: Any) -> Page:
        """All rows at once, in memory."""
        pages = list(self.pages(**read))
        return replace(pages[0], rows=[row for page in pages for row in page.rows])

    def to_arrow(self, **read: Any) -> Any:
        """A ``pyarrow.Table``."""
        return frames.arrow(self._transport, Read(**read))

    def to_pandas(self, **read: Any) -> Any:
        """A ``pandas.DataFrame`` with columns of Arrow's types; needs pyarrow, too."""
        return frames.pandas(self._transport, Read(**read))

    def to_polars(self, **read: Any) -> Any:
        """A ``polars.DataFrame``."""
        return frames.polars(self._transport, Read(**read))

    def download(self, path: "str | os.PathLike[str]", format: str, **read: Any) -> None:
        """Writes a CSV, NDJSON or Parquet file. Until it is complete, it has another name."""
        # A name of its own, since others may download to the same place.
        part = f"{os.fspath(path)}.{uuid.uuid4().hex}.part"
        try:
            with open(part, "xb") as file:
                frames.download(self._transport, Read(**read), format, file)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise

    def run_query(self, query: int, parameters: Optional[Parameters] = None, **filter: Any) -> Page:
        """Runs a query, waits until it has ended, and reads its rows. Raises RunFailed."""
        status = self.finished(self.execute(query, parameters))
        if not status.state.startswith("QUERY_STATE_COMPLETED"):
            raise run_failed(status.execution_id, status.state, status.error)
        return self.read(execution=status.execution_id, **filter)

    def execute(self, query: int, parameters: Optional[Parameters] = None) -> str:
        """Starts a run and returns its execution id without waiting."""
        given = {name: parameter_text(value) for name, value in (parameters or {}).items()}
        body = {} if parameters is None else {"query_parameters": given}
        answer = self._transport.post(f"/v1/query/{query_id(query)}/execute", body)
        execution: str = _run_of(answer, "execution_id")["execution_id"]
        return execution

    def status(self, execution: str) -> RunStatus:
        body = _run_of(self._transport.get(f"/v1/execution/{quote(execution, safe='')}/status"), "execution_id", "state")
        if not all(isinstance(body.get(name, {}), dict) for name in ("progress", "error")):
            raise _not_of_service()
        return RunStatus(
            body["execution_id"],
            body["state"],
            body.get("is_execution_finished") is True,
            body.get("queue_position"),
            body.get("progress"),
            body.get("error"),
        )

    def finished(self, execution: str, timeout: Optional[float] = None) -> RunStatus:
        """Waits until a run has ended, in whatever state. Polls with growing pauses. Raises RunFailed after ``timeout`` seconds."""
        pause, waited = FIRST_POLL, 0.0
        while True:
            status = self.status(execution)
            if status.is_finished:
                return status
            if timeout is not None and waited >= timeout:
                raise RunFailed(f"the run {execution} has not ended within {timeout:g} s", execution, status.state)
            self._transport.sleep(pause)
            waited += pause
            pause = min(POLL_MAX, pause * 1.5)

    def cancel(self, execution: str) -> None:
        self._transport.post(f"/v1/execution/{quote(execution, safe='')}/cancel", {})


def _run_of(body: Dict[str, Any], *names: str) -> Dict[str, Any]:
    """The answer, if it has the texts that every answer about a run has; otherwise something else than the service has answered."""
    if all(isinstance(body.get(name), str) for name in names):
        return body
    raise _not_of_service()


def _not_of_service() -> ServiceError:
    return ServiceError("the answer is not one of this service: check the address")
