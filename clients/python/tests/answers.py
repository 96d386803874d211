"""A service that answers what a test tells it to, one answer after the other."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, NamedTuple, Optional


class Refusal(NamedTuple):
    status: int
    headers: Dict[str, str] = {}
    error: Any = None


class Broken(NamedTuple):
    """Says that it is longer than it is."""

    text: str


class Whole(NamedTuple):
    """As it is."""

    text: str
    type_name: Optional[str] = None
    row_count: Any = None
    lengths: Optional[List[str]] = None
    """Of ``Content-Length``, where not the text's."""


class Asked(NamedTuple):
    path: str
    headers: Dict[str, str]


class Service:
    def __init__(self, answers: List[Any]) -> None:
        self.left = list(answers)
        self.asked: List[Asked] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                service.asked.append(Asked(self.path, dict(self.headers)))
                answer = service.left.pop(0)
                if isinstance(answer, Broken):
                    headers = {"Content-Type": "text/csv; charset=utf-8"}
                    return self.reply(200, answer.text.encode(), headers, [str(len(answer.text) + 10)])
                if isinstance(answer, Whole):
                    headers = {} if answer.type_name is None else {"Content-Type": answer.type_name}
                    if answer.row_count is not None:
                        headers["X-Service-Row-Count"] = str(answer.row_count)
                    return self.reply(200, answer.text.encode(), headers=headers, lengths=answer.lengths)
                if isinstance(answer, Refusal):
                    text = json.dumps({"error": answer.error or f"status {answer.status}"})
                    return self.reply(answer.status, text.encode(), headers=answer.headers)
                text = answer if isinstance(answer, str) else json.dumps(answer)
                self.reply(200, text.replace("BASE", service.url).encode())

            def reply(
                self, status: int, body: bytes, headers: Optional[Dict[str, str]] = None, lengths: Optional[List[str]] = None
            ) -> None:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                for length in [str(len(body))] if lengths is None else lengths:
                    self.send_header("Content-Length", length)
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True

            do_GET = do_POST = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "Service":
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()
