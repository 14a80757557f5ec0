"""The server: opens the graph's store, starts the processes that answer, and serves the pages until it is stopped."""

from __future__ import annotations

import logging
import resource
import socket
from contextlib import ExitStack
from threading import Thread
from typing import TYPE_CHECKING, Final

from waitress.server import create_server

from exporter.errors import UsageError
from exporter.graph.ask import disk
from exporter.graph.ask.pool import Pool
from exporter.serve.app import OWN_QUESTIONS, make
from exporter.serve.pages import warm
from exporter.serve.protocol import LARGEST
from exporter.serve.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGES_SECONDS: Final = 20.0
"""The most seconds for a question of a page."""
SPARQL_SECONDS: Final = 60.0
"""The most seconds for a user's own query."""
_PROCESSES: Final = 2
"""How many processes each of the three groups has: for pages, for long questions of pages, and for /sparql. Many
queries in one group do not slow down the others."""
_NICE: Final = 10
"""By how much (nice(2)) long questions give way to pages."""
_WAITING: Final = 4
"""How many queries of /sparql may wait for one of its processes; more are answered 503."""
_PAGE_THREADS: Final = 8
_THREADS: Final = _PAGE_THREADS + _PROCESSES + _WAITING
"""One for each query of /sparql that is answered or waits, and others for pages and /health."""
_SILENT: Final = 10
"""Seconds after which a connection is closed on which nothing is sent and nothing is being answered."""
_CONNECTIONS: Final = 2_000
_READ: Final = 8 * LARGEST
"""The most bytes of a request that are read: a client that still sends would not see the answer that it is too large.
"""


def serve(graph: Path, host: str, port: int, tell: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Serves ``graph`` until the process is interrupted. ``tell``: called with the address once it can be used;
    ``say``: called with other messages. Raises UsageError where the graph or the address cannot be used.
    """
    logging.getLogger("waitress").setLevel(logging.ERROR)
    with ExitStack() as stack:
        store = stack.enter_context(disk.kept(graph, say))
        pages = Pool(store, OWN_QUESTIONS, _PROCESSES, PAGES_SECONDS)
        beside = Pool(store, OWN_QUESTIONS, _PROCESSES, SPARQL_SECONDS, nice=_NICE)
        sparql = Pool(store, OWN_QUESTIONS, _PROCESSES, SPARQL_SECONDS, nice=_NICE, waiting=_WAITING)
        health = Pool(store, OWN_QUESTIONS, 1, PAGES_SECONDS)
        for pool in (pages, beside, sparql, health):
            stack.callback(pool.close)
        site = Site(graph, pages, sparql, beside, health)
        stack.callback(site.close)
        listening = stack.enter_context(_listening(host, port))
        server = create_server(
            make(site, host),
            sockets=[listening],
            threads=_THREADS,
            ident=None,
            max_request_body_size=_READ,
            channel_timeout=_SILENT,
            cleanup_interval=1,
            connection_limit=min(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2),
            asyncore_use_poll=True,  # select() takes no more than 1,024 connections
        )
        stack.callback(server.close)
        tell(f"http://{_shown(host)}:{listening.getsockname()[1]}/")
        Thread(target=warm, args=(site,), daemon=True).start()
        server.run()  # until KeyboardInterrupt, which it takes as the request to stop


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(f"{host}:{port}: {error.strerror or error}; give another --host or --port.") from error


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
