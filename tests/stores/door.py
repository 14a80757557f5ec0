"""A server before a store: what happens while ``deploy/follow`` sends an update."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.stores.endpoint import Endpoint


@contextmanager
def door(store: Endpoint, meet: Callable[[int], int | None]) -> Iterator[Endpoint]:
    """The store behind a server that takes updates. ``meet`` is called with the number of the update, from 1 on, before
    the store gets it. It gives the status of an answer with which the update does not reach the store, or None.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            update = self._body()
            with lock:
                numbers.append(len(numbers) + 1)
                number = numbers[-1]
            status = meet(number)
            if status is None:
                store.change(update.decode())
            self.send_response(status or 200)
            if status and 300 <= status < 400:
                self.send_header("Location", "https://reader:word@store.example/update")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _body(self) -> bytes:
            if "Content-Length" in self.headers:
                return self.rfile.read(int(self.headers["Content-Length"]))
            whole = b""
            while size := int(self.rfile.readline(), 16):  # curl sends a stream in chunks
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole

        def log_message(self, *_: object) -> None:
            """Nothing."""

    numbers, lock = list[int](), threading.Lock()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield replace(store, update=f"http://127.0.0.1:{server.server_address[1]}/update")
        finally:
            server.shutdown()
