"""``/sparql``: queries by the SPARQL 1.1 Protocol (https://www.w3.org/TR/sparql11-protocol/#query-operation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, jsonify, request

from exporter.errors import ExporterError, UsageError
from exporter.graph.ask.pool import BusyError, TooLongError, UnacceptableError
from exporter.graph.ask.untrusted import LONGEST, ForbiddenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exporter.graph.ask.pool import Pool

MOST: Final = 64 << 20
"""The most bytes of an answer."""
SOLUTIONS: Final = (
    "application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/tab-separated-values",
    "application/json", "application/xml", "text/xml",
)  # fmt: skip
"""Media types for tables and for ASK; the first is used where the client accepts any."""
TRIPLES: Final = ("text/turtle", "application/n-triples")
_STATUS: Final[Mapping[type[ExporterError], int]] = {
    ForbiddenError: 403,
    UnacceptableError: 406,
    TooLongError: 503,
    BusyError: 503,
    UsageError: 400,
}


class _ProtocolError(UsageError):
    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


def status_of(error: ExporterError) -> int:
    """The HTTP status for a kind of error."""
    if isinstance(error, _ProtocolError):
        return error.status
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def endpoint(pool: Pool) -> Blueprint:
    """``/sparql`` and ``/health``."""
    routes = Blueprint("protocol", __name__)

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> Response:
        result = pool.result(_query(), _wanted(SOLUTIONS), _wanted(TRIPLES), MOST)
        is_text = result.media_type.startswith("text/") or "json" not in result.media_type
        answer = Response(result.body, content_type=result.media_type + ("; charset=utf-8" if is_text else ""))
        answer.vary.add("Accept")
        return answer

    @routes.get("/health")
    def health() -> Response:
        pool.result("ASK { ?thing ?is ?so }", SOLUTIONS[0], None, 1_000)
        return jsonify(status="ok")

    @routes.errorhandler(ExporterError)
    def in_words(error: ExporterError) -> Response:
        answer = Response(f"{error}\n", status_of(error), content_type="text/plain; charset=utf-8")
        if answer.status_code == 503:
            answer.headers["Retry-After"] = "5"
        return answer

    return routes


def _query() -> str:
    """The query of the request, in any of the three forms that the protocol allows."""
    if request.method == "GET":
        given = request.args
    elif request.mimetype == "application/x-www-form-urlencoded":
        given = request.form
    elif request.mimetype == "application/sparql-query":
        _refuse_datasets(request.args)
        return _text(request.get_data())
    elif request.mimetype == "application/sparql-update":
        raise ForbiddenError("This endpoint answers queries only; an update is refused.")
    else:
        kinds = "application/x-www-form-urlencoded (query=...) or application/sparql-query"
        raise _ProtocolError(f"POST takes {kinds}, and not {request.mimetype or 'a body without a type'}.", 415)
    if "update" in given:
        raise ForbiddenError("This endpoint answers queries only; an update is refused.")
    _refuse_datasets(given)
    _refuse_datasets(request.args)
    queries = given.getlist("query")
    if len(queries) != 1:
        raise _ProtocolError(f"Give one query, as the parameter query; there are {len(queries)}.")
    return str(queries[0])


def _refuse_datasets(given: Mapping[str, object]) -> None:
    for name in ("default-graph-uri", "named-graph-uri"):
        if name in given:
            raise _ProtocolError(f"There is one graph here, so {name} has no meaning; leave it out.")


def _text(body: bytes) -> str:
    if len(body) > 4 * LONGEST:
        raise _ProtocolError(f"The query is too large: it may have {LONGEST:,} characters.", 413)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise _ProtocolError("The query is not UTF-8 text.") from None


def _wanted(kinds: Sequence[str]) -> str | None:
    """The best of ``kinds`` that the client accepts; the first where it does not say; None where it accepts none."""
    if not request.accept_mimetypes:
        return kinds[0]
    best = request.accept_mimetypes.best_match(kinds)
    return {"application/json": SOLUTIONS[0], "application/xml": SOLUTIONS[1], "text/xml": SOLUTIONS[1]}.get(
        best or "", best
    )
