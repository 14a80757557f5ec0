"""The server: it opens the graph's store, starts the processes that answer, and serves the pages until it is stopped.

Whose requests it answers: :mod:`exporter.serve.listening`, and :mod:`exporter.serve.login` for those of other machines.
No answer allows other sites to read it. Names in rows may hold anything: templates escape them. If one should get
through, the browser runs only what the policy allows.
"""

from __future__ import annotations

import logging
import re
import resource
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Final

from flask import Flask, Response, g, render_template, request
from markupsafe import Markup
from waitress.server import create_server
from werkzeug.exceptions import NotFound

from exporter.ask import stores
from exporter.ask.pool import Pool
from exporter.errors import ExporterError
from exporter.serve import tables
from exporter.serve.forms import forms
from exporter.serve.lineage.address import start
from exporter.serve.lineage.page import lineage_page
from exporter.serve.listening import address, listening, names_of, refusal
from exporter.serve.login import Check, check_of
from exporter.serve.objects import objects
from exporter.serve.overview import ask_ahead, browse, overview
from exporter.serve.protocol import HEALTH, LARGEST, endpoint, status_and_headers
from exporter.serve.queries import queries
from exporter.serve.site import PAGE_QUESTIONS, Site
from exporter.system.terminal import visible_text

CONTENT_SECURITY_POLICY: Final[Mapping[str, str]] = {
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
"""The Content-Security-Policy of a page: no scripts, and nothing from other sites."""
_HEADERS: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


_SHOWN_TYPES: Final = ("text/html", "image/svg+xml")
"""What a person reads in a browser."""


def protect(app: Flask, host: str, check: Check | None = None) -> None:
    """Checks all requests, and sets the headers of all answers, of a server that listens at ``host``. ``check``: who
    asks. With it, any name of the server is right: a browser sends a login only to the name that it was given at.
    :data:`HEALTH` needs no login: what asks for it, a load balancer, has none, and learns nothing about the graph.
    """
    names = names_of(host)

    @app.before_request
    def refuse_others() -> Response | None:
        refused = refusal(None if check is not None else names, request.method, request.headers.get)
        if refused is not None:
            return Response(f"{refused[1]}\n", refused[0], mimetype="text/plain")
        return check() if check is not None and request.path != HEALTH else None

    @app.after_request
    def add_headers(answer: Response) -> Response:
        policy = {**CONTENT_SECURITY_POLICY, **g.get("policy", {})}
        answer.headers["Content-Security-Policy"] = "; ".join(
            f"{directive} {sources}" for directive, sources in policy.items()
        )
        answer.headers.update(_HEADERS)
        if tables.is_incomplete():
            answer.headers["Refresh"] = _REFRESH_SECONDS
        answer.headers.setdefault("Cache-Control", "no-cache, private")
        if answer.mimetype in _SHOWN_TYPES and not answer.is_streamed and not answer.direct_passthrough:
            # A name with marks of direction would be read as another one.
            answer.set_data(visible_text(answer.get_data(as_text=True).replace("\r\n", "\n")))
        return answer


_REFRESH_SECONDS: Final = "2"
"""Seconds after which a browser loads a page again that lacks an answer. It has it, or says why not, after at most
:data:`PAGES_SECONDS`.
"""
_after_marks: Final = re.compile(r"[^._/]*[._/]?").findall


def make(site: Site, host: str, check: Check | None = None) -> Flask:
    """The application with the pages and the endpoint, for a server that listens at ``host``. ``check``: the login."""
    app = Flask(__name__)
    app.config.update(MAX_CONTENT_LENGTH=LARGEST, MAX_FORM_MEMORY_SIZE=LARGEST)
    protect(app, host, check)
    for part in (endpoint, overview, browse, objects, queries, forms, lineage_page):
        app.register_blueprint(part(site))
    app.jinja_env.globals.update(site=site, lineage_href=partial(start, site), ask_href=tables.ask_href)
    app.jinja_env.filters.update(
        words=tables.words,
        heading=tables.heading,
        time=tables.time,
        note=tables.note,
        thousands=_thousands,
        breakable=_breakable,
        next_day=_next_day,
    )

    @app.errorhandler(NotFound)
    def no_page(_: NotFound) -> tuple[str, int]:
        return render_template("error.html", title="No such page", why="There is no page at this address."), 404

    @app.errorhandler(ExporterError)
    def no_answer(error: ExporterError) -> tuple[str, int, dict[str, str]]:
        return render_template("error.html", title="There is no answer", why=error), *status_and_headers(error)

    return app


def _breakable(text: str) -> Markup:
    """Text in which lines may break after the separators in names."""
    return Markup("<wbr>").join(_after_marks(text))


def _next_day(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _thousands(number: Any) -> str:
    return f"{int(number):,}"


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


@dataclass(frozen=True)
class ServeOptions:
    """How pages are served. ``auth``: ``basic:FILE`` or ``header:NAME``, None for no login; ``sensitive_tags``:
    patterns for the names of tags that need a policy.
    """

    host: str = "127.0.0.1"
    port: int = 7878
    auth: str | None = None
    sensitive_tags: tuple[str, ...] = ()


def serve(graph: Path, choices: ServeOptions, tell: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Serves ``graph`` until the process is interrupted. ``tell``: called with the address once it can be used;
    ``say``: called with other messages. Raises UsageError where the graph, the address or the login cannot be used.
    """
    host, check = choices.host, check_of(choices.auth) if choices.auth is not None else None
    logging.getLogger("waitress").setLevel(logging.ERROR)
    with ExitStack() as stack:
        store = stack.enter_context(stores.opened_store(graph, say))
        pages = Pool(store, PAGE_QUESTIONS, _PROCESSES, PAGES_SECONDS)
        background = Pool(store, PAGE_QUESTIONS, _PROCESSES, SPARQL_SECONDS, nice=_NICE)
        sparql = Pool(store, PAGE_QUESTIONS, _PROCESSES, SPARQL_SECONDS, nice=_NICE, waiting=_WAITING)
        health = Pool(store, PAGE_QUESTIONS, 1, PAGES_SECONDS)
        for pool in (pages, background, sparql, health):
            stack.callback(pool.close)
        site = Site(graph, pages, sparql, background, health, choices.sensitive_tags)
        stack.callback(site.close)
        listener = stack.enter_context(listening(host, choices.port))
        server = create_server(
            make(site, host, check),
            sockets=[listener],
            threads=_THREADS,
            ident=None,
            max_request_body_size=_READ,
            channel_timeout=_SILENT,
            channel_request_lookahead=1,  # so that it sees when a client goes while its query runs
            cleanup_interval=1,
            connection_limit=min(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2),
            asyncore_use_poll=True,  # select() takes no more than 1,024 connections
        )
        stack.callback(server.close)
        tell(f"{address(host, listener)}/")
        Thread(target=ask_ahead, args=(site,), daemon=True).start()
        server.run()  # until KeyboardInterrupt, which it takes as the request to stop
        # Answers that come from now on have no way out, and Waitress would log that as a fault, with a traceback.
        logging.getLogger("waitress").setLevel(logging.CRITICAL)
