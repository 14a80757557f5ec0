"""A small fake Marquez: the events that it refuses, with their status, and the API for the events that it accepted.

``with standin.started() as server: server.url``. It implements the calls that the tests make.
"""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.marquez.kept import Json, Kept
from tests.marquez.shown import UnreadableError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

AnyServer = TypeVar("AnyServer", bound=ThreadingHTTPServer)
_NAMESPACE: Final = re.compile(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?")
_LONGEST_FIELD: Final = 255
_LARGEST: Final = 20 * 2**20
_INDEXED: Final = 2_600
"""Bytes of a dataset's name that PostgreSQL's index takes, after it has shortened what repeats itself."""


class Refused(Exception):  # noqa: N818 - what it does, not that it is a fault
    """``status``: the answer to an event that is not kept."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def checked(body: bytes) -> Json:
    """The event of a request. Raises Refused."""
    if len(body) > _LARGEST:
        raise Refused(500, "too large")
    try:
        event = json.loads(body)
    except ValueError:
        raise Refused(500, "no JSON") from None
    if not isinstance(event, dict):
        raise Refused(500, "no object")
    if not _TIME.fullmatch(event.get("eventTime") or "2000-01-01T00:00:00Z"):
        raise Refused(500, "no time")
    _complete(event)
    datasets = [
        *(event.get("inputs") or []),
        *(event.get("outputs") or []),
        *([event["dataset"]] if "dataset" in event else []),
    ]
    if not all(_NAMESPACE.fullmatch(one["namespace"]) for one in datasets):
        raise Refused(400, "namespace")
    fields = [field for one in datasets for field in one.get("facets", {}).get("schema", {}).get("fields", [])]
    if any(len(field["name"]) > _LONGEST_FIELD for field in fields):
        raise Refused(500, "a field's name is too long")
    if any(len(zlib.compress(one["name"].encode())) > _INDEXED for one in datasets):
        raise Refused(500, "a name is too long for the index")
    if rb"\u0000" in body.replace(rb"\\", b""):
        raise Refused(500, "NUL")
    return event


def _complete(event: Json) -> None:
    kind = str(event.get("schemaURL", "")).rpartition("/")[2]
    needed = {"DatasetEvent": ("dataset",), "JobEvent": ("job",)}.get(kind, ("run", "job"))
    missing = [name for name in ("eventTime", "producer", *needed) if event.get(name) is None]
    job_type = (event.get("job") or {}).get("facets", {}).get("jobType", {"jobType": ""})
    if missing or job_type.get("jobType") is None:
        raise Refused(422, f"missing: {missing or 'jobType'}")


class Server(ThreadingHTTPServer):
    """``posts``: how many events were posted; ``seconds``: how long the answer to each takes; ``away``: how many of the
    next questions are answered 503.
    """

    daemon_threads = True

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept, self.lock = Kept(), threading.Lock()
        self.posts, self.seconds, self.away = 0, seconds, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    """The server while it answers; gone at the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def started(seconds: float = 0.0) -> AbstractContextManager[Server]:
    """A running stand-in."""
    return running(Server(seconds))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.seconds)
        with self.server.lock:
            self.server.posts += 1
            try:
                self.server.kept.take(checked(body))
            except Refused as refusal:
                self.server.kept.is_broken |= refusal.status == 400
                self._answer(refusal.status, {"message": str(refusal)})
            else:
                self._answer(201, None)

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        with self.server.lock:
            self.server.away -= 1
            if self.server.away >= 0:
                self._answer(503, {"message": "away"})
                return
            try:
                self._answer(200, shown(self.server.kept, [unquote(one) for one in address.path.split("/")[3:]], asked))
            except (KeyError, ValueError):
                self._answer(404, {"message": "not found"})
            except UnreadableError as fault:
                self._answer(500, {"message": str(fault)})

    def _answer(self, status: int, told: Json | None) -> None:
        body = b"" if told is None else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests read what came."""
