"""A server that accepts events, or misbehaves in many ways; and folders of events to send to it."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request. ``number``: of the requests so far, from 1; ``tries``: of this event so far, from 1."""

    number: int
    tries: int
    event: Json
    headers: dict[str, str]
    path: str

    @property
    def run(self) -> str | None:
        return self.event["run"]["runId"] if "run" in self.event else None


@dataclass(frozen=True)
class Reply:
    """``hang``: seconds before it comes. ``resets``: the connection ends without a word. ``trickles``: the body comes a
    byte at a time, without end. ``cuts``: the connection ends before the last byte of the body.
    """

    status: int = 201
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    hang: float = 0.0
    resets: bool = False
    trickles: bool = False
    cuts: bool = False


class Hostile:
    """``with Hostile(reply) as server``: ``server.taken`` are the events that were answered with 2xx, as they came in.
    A taken one is in the list before its sender knows. ``told``: the bodies of answers to GET, by path; ``away``: how
    many GETs are answered with the status ``away_as`` before (or each with one of these), and ``away_for``: their
    Retry-After. ``got``: when each GET came.
    """

    def __init__(
        self,
        reply: Callable[[Asked], Reply] = lambda _: Reply(),
        *,
        told: dict[str, str] | None = None,
        away: int = 0,
        away_as: int | tuple[int, ...] = 503,
        away_for: str = "",
    ) -> None:
        self.got: list[float] = []
        self.asked: list[Asked] = []
        self.taken: list[Json] = []
        self.connections, self._closed = 0, 0
        self._told = told or {}
        codes = away_as if isinstance(away_as, tuple) else (away_as,) * away
        self._not_yet = [Reply(code, headers={"Retry-After": away_for} if away_for else {}) for code in codes]
        self._reply, self._lock, self._tries = reply, threading.Lock(), dict[str, int]()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                hostile.connections += 1

            def finish(self) -> None:
                try:
                    super().finish()
                finally:
                    hostile._closed += 1

            def do_POST(self) -> None:
                hostile._answer(self)

            def do_GET(self) -> None:
                hostile.got.append(time.monotonic())
                body = hostile._told.get(self.path)
                reply = Reply(404) if body is None else Reply(200, body)
                if hostile._not_yet:
                    reply = hostile._not_yet.pop(0)
                hostile._write(self, reply)

            def log_message(self, *_: object) -> None:
                """Nothing: a test's output is its result."""

        class Server(ThreadingHTTPServer):
            request_queue_size = 64

            def handle_error(self, *_: object) -> None:
                """A sender that is killed leaves broken connections."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settle(self) -> None:
        """Waits until every connection is closed, after the sender has ended: what it had sent has then been read."""
        until = time.monotonic() + 60
        while self._closed < self.connections:
            assert time.monotonic() < until, "a connection is still open"
            time.sleep(0.01)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = self._note(handler)
        reply = self._reply(asked)
        if reply.hang and self._ended.wait(reply.hang):
            return
        if reply.resets:
            # Without linger, closing resets. The handler's files keep the connection open until it waits for no more.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        if 200 <= reply.status < 300:
            with self._lock:
                self.taken.append(asked.event)
        self._write(handler, reply)

    def _note(self, handler: BaseHTTPRequestHandler) -> Asked:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        text = gzip.decompress(body) if handler.headers.get("Content-Encoding") == "gzip" else body
        with self._lock:
            key = text.decode()
            self._tries[key] = self._tries.get(key, 0) + 1
            asked = Asked(
                len(self.asked) + 1, self._tries[key], json.loads(text), dict(handler.headers.items()), handler.path
            )
            self.asked.append(asked)
        return asked

    def _write(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        body = reply.body.encode()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(10**6 if reply.trickles else len(body) + reply.cuts))
        handler.end_headers()
        handler.close_connection = handler.close_connection or reply.cuts
        handler.wfile.write(body)
        while reply.trickles and not self._ended.wait(0.05):
            handler.wfile.write(b".")


# --- events -----------------------------------------------------------------------------------------------------------

SPACE = "snowflake://ORG-ACC"
PRODUCER = "https://example.com/exporter"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"


def at(second: float) -> str:
    return time.strftime("2024-01-%dT%H:%M:", time.gmtime(second)) + f"{second % 60:09.6f}Z"


def run_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def dataset(name: str, columns: Iterable[str] = ("A",), second: float = 0.0) -> Json:
    """The event of a dataset."""
    fields = [{"name": column, "type": "UNKNOWN"} for column in columns]
    facets = {"schema": {"_producer": PRODUCER, "_schemaURL": f"{SCHEMA}/S", "fields": fields}}
    told = {"namespace": SPACE, "name": name, "facets": facets}
    return {
        "eventTime": at(second),
        "producer": PRODUCER,
        "schemaURL": f"{SCHEMA}/DatasetEvent",
        "dataset": told,
    }


def run(
    query: str,
    second: float,
    *,
    reads: Iterable[str] = (),
    writes: Iterable[str] = (),
    parent: str | None = None,
    job: str | None = None,
    column: str = "A",
    lasts: float = 0.0,
) -> list[Json]:
    """START and COMPLETE of a query whose outputs' column A comes from ``column`` of every input."""
    reads, writes = list(reads), list(writes)
    facets: Json = {"externalQuery": {"_producer": PRODUCER, "_schemaURL": f"{SCHEMA}/Q", "externalQueryId": query}}
    if parent:
        of = {"run": {"runId": run_id(parent)}, "job": {"namespace": SPACE, "name": f"job of {parent}"}}
        facets["parent"] = {"_producer": PRODUCER, "_schemaURL": f"{SCHEMA}/P", **of}
    name = job or f"write {', '.join(writes)} from {', '.join(reads)}"
    base = {
        "producer": PRODUCER,
        "schemaURL": f"{SCHEMA}/RunEvent",
        "run": {"runId": run_id(query), "facets": facets},
        "job": {"namespace": SPACE, "name": name, "facets": {}},
    }
    sources = [{"namespace": SPACE, "name": one, "field": column} for one in reads]
    lineage = {"_producer": PRODUCER, "_schemaURL": f"{SCHEMA}/C", "fields": {"A": {"inputFields": sources}}}
    own = {"columnLineage": lineage} if reads else {}
    outputs = [{"namespace": SPACE, "name": one, "facets": own} for one in writes]
    inputs = [{"namespace": SPACE, "name": one, "facets": {}} for one in reads]
    return [
        {"eventTime": at(second), "eventType": "START", **base, "inputs": [], "outputs": []},
        {"eventTime": at(second + lasts), "eventType": "COMPLETE", **base, "inputs": inputs, "outputs": outputs},
    ]


def folder(path: Path, events: Iterable[Json], files: int = 1) -> Path:
    """What an export leaves, as far as a push reads it; the events over several files."""
    lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in events]
    (path / "events").mkdir(parents=True)
    for number in range(files):
        text = "".join(lines[number::files])
        (path / "events" / f"part-{number:05d}.ndjson").write_text(text, encoding="utf-8")
    return path


def history(runs: int, jobs: int = 10) -> list[Json]:
    """Datasets, and runs of so many jobs after each other, newest first as a backend must not get them."""
    made = (run(f"q{n:06d}", n, reads=[f"S{n % jobs}"], writes=[f"T{n % jobs}"]) for n in range(runs))
    events = [event for pair in made for event in pair]
    return [*reversed(events), *(dataset(f"{side}{n}") for n in range(jobs) for side in "ST")]
