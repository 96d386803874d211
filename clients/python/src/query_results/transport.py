"""Sends requests with a key, again where that may help: after broken connections, 429, 502, 503 and 504, with pauses that grow or that
``Retry-After`` asks for. What changes something is sent under an ``Idempotency-Key``, so that it is done once."""

from __future__ import annotations

import email.utils
import http.client
import json
import re
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, BinaryIO, Callable, Dict, Iterator, Mapping, Optional, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

from .errors import ServiceError

PASSING = frozenset({429, 502, 503, 504})
FIRST_PAUSE = 0.5
PAUSE_MAX = 20.0
RETRY_AFTER_MAX = 300.0
"""Seconds. If the service asks for a longer pause, no new attempt is made."""
CHUNK_BYTES = 1 << 20

SENT_IN_PATHS = "/%:@!$&'()*+,;=~"
"""Characters that a path may have as they are; a % begins what is encoded already."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})

T = TypeVar("T")


class _Passing(Exception):
    """A failure after which a new attempt may succeed."""

    def __init__(self, error: ServiceError, retry_after: Optional[float] = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


class _Unwritable(Exception):
    """The file cannot be written, so that fetching all of it again helps nothing."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def service_address(url: str) -> str:
    """The address as it is sent: a host of any script as DNS has it, and a prefix in ASCII. What may have a secret in it is not shown: a text that is
    no address may be the key."""
    address = url.strip()
    parts = _parts_of(address)
    if parts is None:
        shown = repr(url) if re.fullmatch("[^@?#]*[:.][^@?#]*", url) else "no address"
        raise ValueError(f"url is {shown}: expected the service's scheme and host, such as http://127.0.0.1:8080")
    if "@" in parts.netloc or re.search("[?#]", address):
        raise ValueError('url has a user, a "?" or a "#": expected scheme, host and prefix alone; the key is given as key')
    return f"{parts.scheme}://{_sent_host(parts)}{quote(parts.path, safe=SENT_IN_PATHS)}"


def _parts_of(address: str) -> Optional[SplitResult]:
    """None for what is no address of a service."""
    try:
        parts = urlsplit(address)
        is_host = parts.hostname is not None and not re.search(r"\s", parts.netloc) and _sent_host(parts) != ""
        return parts if parts.scheme in ("http", "https") and is_host and parts.port != 0 else None
    except ValueError:
        return None


def _sent_host(parts: SplitResult) -> str:
    """Host and port. Raises ValueError for a host that DNS cannot have."""
    if parts.netloc.isascii():
        return parts.netloc
    host = (parts.hostname or "").encode("idna").decode()
    return host if parts.port is None else f"{host}:{parts.port}"


def sent_key(key: str) -> str:
    """The key without the line end of the file that it was read from. Errors never show it."""
    if not isinstance(key, str):
        raise TypeError(f"key is a text, not {type(key).__name__}: is the variable set that it is read from?")
    if re.fullmatch("[ -~]*", key.strip()) is None:
        raise ValueError("the key has a character that no key has: was it copied whole, without quotes around it?")
    return key.strip()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The service never redirects; elsewhere the key is nobody's business. Where a redirect leads to is not even read, since it may be no address."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


@lru_cache(maxsize=None)
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirects)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _Unwritable(error) from error


@dataclass(frozen=True)
class Transport:
    url: str
    key: str = field(repr=False)
    """In no representation, since tracebacks and debuggers show those."""
    retries: int = 5
    timeout: float = 300.0
    """Seconds for which a connection may be silent."""
    sleep: Callable[[float], None] = time.sleep

    def get(self, address: str) -> Dict[str, Any]:
        """:param address: absolute, or a path of the service"""
        return self._send(address, None, {}, _json_of)

    def post(self, path: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{uuid.uuid4()}"'}
        return self._send(path, json.dumps(body).encode(), headers, _json_of)

    def download(self, path: str, file: BinaryIO, type_name: Optional[str] = None) -> Optional[int]:
        """Writes the whole answer into the file, from its beginning, and returns how many rows the service says it has.

        :param type_name: what the answer must be: the page of a proxy where people log in is none"""

        def read(response: http.client.HTTPResponse) -> Optional[int]:
            if type_name not in (None, (response.headers["Content-Type"] or "").split(";")[0].strip().lower()):
                raise _not_of_service(response, f"not {type_name}")
            with _writing():
                file.seek(0)
                file.truncate()
            length, rows = _number_in(response, "Content-Length"), _number_in(response, "X-Service-Row-Count")
            received = 0
            while chunk := response.read(CHUNK_BYTES):
                with _writing():
                    file.write(chunk)
                received += len(chunk)
            # Python mistakes a connection that ends early for the end of the answer.
            if length is not None and received != length:
                raise http.client.IncompleteRead(b"", length - received)
            return rows

        try:
            return self._send(path, None, {}, read)
        except _Unwritable as failed:
            raise failed.error from None

    def _send(
        self,
        address: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        read: Callable[[http.client.HTTPResponse], T],
    ) -> T:
        attempt = 0
        while True:
            try:
                return self._attempt(address, body, headers, read)
            except _Passing as outcome:
                pause = min(PAUSE_MAX, FIRST_PAUSE * 2**attempt) if outcome.retry_after is None else outcome.retry_after
                if attempt >= self.retries or pause > RETRY_AFTER_MAX:
                    raise outcome.error from outcome.__cause__
                self.sleep(pause)
                attempt += 1

    def _attempt(
        self,
        address: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        read: Callable[[http.client.HTTPResponse], T],
    ) -> T:
        given = {**headers, "X-Service-Api-Key": self.key}
        request = urllib.request.Request(self._url_of(address), data=body, headers=given)
        try:
            with _opener().open(request, timeout=self.timeout) as response:
                return read(response)
        except urllib.error.HTTPError as refusal:
            error = _redirected(address, refusal) if refusal.code in REDIRECTS else _error_of(refusal)
            if error.status in PASSING or error.code == "idempotency_in_progress":
                raise _Passing(error, _retry_after(refusal.headers["Retry-After"])) from refusal
            raise error from None
        except (OSError, http.client.HTTPException) as broken:
            reason = getattr(broken, "reason", broken)
            path = urlsplit(address).path
            raise _Passing(ServiceError(f"{path}: no whole answer came: {reason}")) from broken

    def _url_of(self, address: str) -> str:
        if not address.startswith(("http:", "https:")):
            return self.url.rstrip("/") + address
        # The service may name any address for its pages, but a key that was sent under TLS is not sent without.
        if self.url.startswith("https:") and not address.startswith("https:"):
            raise ServiceError(f"the next page is at {urlsplit(address).netloc}, without TLS: set QRS_PUBLIC_URL there")
        return address


def _number_in(response: http.client.HTTPResponse, name: str) -> Optional[int]:
    """Said twice, as by a proxy that joins two headers of a name, it is still one number."""
    headers = response.headers.get_all(name, [])
    said = {text.strip(" \t") for header in headers for text in header.split(",")}
    if not said:
        return None
    number = said.pop()
    if said or re.fullmatch("[0-9]+", number) is None:
        raise http.client.HTTPException(f"its {name} is {', '.join(headers)!r}")
    return int(number)


def _json_of(response: http.client.HTTPResponse) -> Dict[str, Any]:
    # Read whole, so that an answer that breaks off is noticed. Python's integers have every digit.
    text = response.read()
    fields = None
    try:
        fields = json.loads(text)
    except ValueError as broken:
        # As where a proxy ends an answer early as if it were whole: to ask again may help.
        if text.lstrip().startswith(b"{"):
            raise http.client.HTTPException(f"the JSON breaks off: {broken}") from None
    if not isinstance(fields, dict):
        raise _not_of_service(response, "no JSON")
    return fields


def _not_of_service(response: http.client.HTTPResponse, what: str) -> ServiceError:
    return ServiceError(f"{urlsplit(response.url).path}: the answer is {what}: is this the address of a service?")


def _redirected(address: str, redirect: urllib.error.HTTPError) -> ServiceError:
    redirect.close()
    to = redirect.headers["Location"]
    where = "" if to is None else f" to {to.split('?')[0]}"
    path = address.split("?")[0]
    said = f"{path}: redirected{where}, which is not followed: url is where the service itself answers"
    return ServiceError(said, redirect.code)


def _error_of(refusal: urllib.error.HTTPError) -> ServiceError:
    try:
        said = json.loads(refusal.read())["error"]
        message = said if isinstance(said, str) else str(said["message"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        message = f"the service answered {refusal.code}"
    return ServiceError(message, refusal.code, refusal.headers["X-Error-Code"])


def _retry_after(header: Optional[str]) -> Optional[float]:
    """Seconds, or a date."""
    if header is None:
        return None
    header = header.strip(" \t")
    if re.fullmatch("[0-9]+", header):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
