"""``/sparql``: queries by the SPARQL 1.1 Protocol (https://www.w3.org/TR/sparql11-protocol/#query-operation)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from xml.parsers.expat import ExpatError, ParserCreate

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_accept_header, parse_list_header, parse_options_header

from exporter.ask.parameters import LONGEST, ForbiddenError
from exporter.ask.pool import BusyError, TooLongError, UnacceptableError
from exporter.errors import ExporterError, UsageError
from exporter.graph.terms import AH

if TYPE_CHECKING:
    from exporter.serve.site import Site

HEALTH: Final = "/health"
"""The address that says whether queries are answered, and nothing else: also without a login."""
MOST: Final = 64 << 20
"""The most bytes of an answer."""
LARGEST: Final = 16 << 20
"""The most bytes of a request: the longest query, where each character takes twelve bytes of a form, and more."""
SOLUTIONS: Final = (
    "application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/tab-separated-values",
)  # fmt: skip
"""Media types for tables and for ASK; the first is used where the client accepts any."""
TRIPLES: Final = ("text/turtle", "application/n-triples", "application/rdf+xml", "application/ld+json")
"""Media types for CONSTRUCT, DESCRIBE and the descriptions of the service; the first is used where the client accepts
any.
"""
_SOLUTIONS_FOR: Final[Mapping[str, str]] = {
    **{kind: kind for kind in SOLUTIONS},
    "application/json": SOLUTIONS[0],
    "application/xml": SOLUTIONS[1],
    "text/xml": SOLUTIONS[1],
}
_TRIPLES_FOR: Final[Mapping[str, str]] = {
    **{kind: kind for kind in TRIPLES},
    "application/x-turtle": TRIPLES[0],
    "application/xml": TRIPLES[2],
    "text/xml": TRIPLES[2],
    "application/json": TRIPLES[3],
}
"""What clients accept, also in general media types -> what they get."""
RETRY_SECONDS: Final = 5
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


def status_and_headers(error: ExporterError) -> tuple[int, dict[str, str]]:
    """The HTTP status for an error, and the headers that belong to it."""
    if isinstance(error, _ProtocolError):
        return error.status, {}
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    return status, {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}


def error_as_text(error: ExporterError) -> Response:
    """An error as the answer to a program."""
    return Response(f"{error}\n", *status_and_headers(error), content_type="text/plain; charset=utf-8")


def endpoint(site: Site) -> Blueprint:
    """``/sparql``, ``/health``, and ``/.well-known/void``."""
    routes = Blueprint("protocol", __name__)

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> Response:
        if request.method != "POST" and not {"query", "update"} & request.args.keys():
            return described(service(_address(), site.base))
        base = site.base or _address()
        query = _query()
        if len(query) > LONGEST:
            raise _ProtocolError(f"The query is too long: it may have {LONGEST:,} characters.", 413)
        kinds = _accepted_type(_SOLUTIONS_FOR), _accepted_type(_TRIPLES_FOR)
        result = site.sparql.result(query, *kinds, MOST, base, request.environ.get("waitress.client_disconnected"))
        return _answer(result.body, result.media_type)

    @routes.get("/.well-known/void")
    def void() -> Response:
        return described(dataset(_address(), site.base, site.name))

    @routes.get(HEALTH)
    def health() -> Response:
        site.health.result("ASK { ?thing ?is ?so }", SOLUTIONS[0], None, 1_000)
        return jsonify(status="ok")

    @routes.errorhandler(RequestEntityTooLarge)
    def too_large(_: RequestEntityTooLarge) -> Response:
        return error_as_text(_ProtocolError(f"The request is larger than {LARGEST >> 20} MiB.", 413))

    routes.register_error_handler(ExporterError, error_as_text)
    return routes


def _answer(body: bytes, media_type: str) -> Response:
    if "xml" in media_type:
        _check(body, TRIPLES if media_type in TRIPLES else SOLUTIONS)
    is_text = media_type.startswith("text/") or "json" not in media_type
    answer = Response(body, content_type=media_type + ("; charset=utf-8" if is_text else ""))
    answer.vary.add("Accept")
    return answer


def _check(body: bytes, kinds: Sequence[str]) -> None:
    """Raise UnacceptableError where an answer is no XML. Names in rows may have characters that XML has no form for
    (https://www.w3.org/TR/xml/#charsets), and a predicate of RDF/XML has to end in a name of XML. ``kinds``: the media
    types of such an answer.
    """
    try:
        ParserCreate(namespace_separator=" ").Parse(body, True)
    except ExpatError:
        others = ", ".join(kind for kind in kinds if "xml" not in kind)
        raise UnacceptableError(
            f"The answer has characters or predicates that XML cannot hold: accept one of {others}."
        ) from None


def _address() -> str:
    """The address of the endpoint, as this client knows it."""
    return f"{request.host_url}sparql"


# --- what the service and its data are: https://www.w3.org/TR/sparql11-service-description/, https://www.w3.org/TR/void/


def service(address: str, base: str) -> Iterator[Triple]:
    """The description of the endpoint at ``address``; ``base``: of the graph's IRIs, empty where it is not known."""
    service_node, data, graph = NamedNode(address), NamedNode(f"{address}#dataset"), NamedNode(f"{address}#graph")
    yield Triple(service_node, _TYPE, _sd("Service"))
    yield Triple(service_node, _sd("endpoint"), service_node)
    yield Triple(service_node, _sd("supportedLanguage"), _sd("SPARQL11Query"))
    for name in _FORMATS:
        yield Triple(service_node, _sd("resultFormat"), NamedNode(f"http://www.w3.org/ns/formats/{name}"))
    yield Triple(service_node, _sd("defaultDataset"), data)
    yield Triple(data, _TYPE, _sd("Dataset"))
    yield Triple(data, _sd("defaultGraph"), graph)
    yield Triple(graph, _TYPE, _sd("Graph"))
    yield from _data(graph, base)


def dataset(address: str, base: str, name: str) -> Iterator[Triple]:
    """The description of the graph behind the endpoint at ``address``. ``name``: of the export."""
    graph = NamedNode(f"{address}#graph")
    yield Triple(graph, NamedNode("http://purl.org/dc/terms/title"), Literal(name))
    yield Triple(graph, _void("sparqlEndpoint"), NamedNode(address))
    yield from _data(graph, base)


def _data(graph: NamedNode, base: str) -> Iterator[Triple]:
    yield Triple(graph, _TYPE, _void("Dataset"))
    yield Triple(graph, _void("vocabulary"), NamedNode(AH))
    yield Triple(graph, _void("vocabulary"), NamedNode("http://www.w3.org/ns/prov#"))
    if base:
        yield Triple(graph, _void("uriSpace"), Literal(base))


_TYPE: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_FORMATS: Final = (
    "SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV",
    "Turtle", "N-Triples", "RDF_XML", "JSON-LD",
)  # fmt: skip


def _sd(name: str) -> NamedNode:
    return NamedNode(f"http://www.w3.org/ns/sparql-service-description#{name}")


def _void(name: str) -> NamedNode:
    return NamedNode(f"http://rdfs.org/ns/void#{name}")


def described(triples: Iterator[Triple]) -> Response:
    """Triples in the form that the client accepts."""
    media_type = _accepted_type(_TRIPLES_FOR)
    if media_type is None:
        raise UnacceptableError(f"The description is triples: accept {', '.join(TRIPLES)}.")
    body = serialize(triples, format=RdfFormat.from_media_type(media_type))
    assert body is not None, "without an output, it is returned"
    return _answer(body, media_type)


# --- requests ---------------------------------------------------------------------------------------------------------


def _query() -> str:
    """The query of the request, in any of the three forms that the protocol allows."""
    if request.method != "POST":  # GET or HEAD
        parameters = request.args
    elif request.mimetype == "application/x-www-form-urlencoded":
        parameters = request.form
    elif request.mimetype == "application/sparql-query":
        _refuse_datasets(request.args)
        return _text(request.get_data())
    elif request.mimetype == "application/sparql-update":
        raise ForbiddenError("This endpoint answers queries only; an update is refused.")
    else:
        kinds = "application/x-www-form-urlencoded (query=...) or application/sparql-query"
        raise _ProtocolError(f"POST takes {kinds}, and not {request.mimetype or 'a body without a type'}.", 415)
    if "update" in parameters:
        raise ForbiddenError("This endpoint answers queries only; an update is refused.")
    _refuse_datasets(parameters)
    _refuse_datasets(request.args)
    queries = parameters.getlist("query")
    if len(queries) != 1:
        raise _ProtocolError(f"Give one query, as the parameter query; there are {len(queries)}.")
    return str(queries[0])


def _refuse_datasets(parameters: Mapping[str, object]) -> None:
    for name in ("default-graph-uri", "named-graph-uri"):
        if name in parameters:
            raise _ProtocolError(f"There is one graph here, so {name} has no meaning; leave it out.")


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise _ProtocolError("The query is not UTF-8 text.") from None


def _accepted_type(answers: Mapping[str, str]) -> str | None:
    """The media type for the best of ``answers`` that the client accepts; the first where it does not say; None where
    it accepts none.
    """
    accepted = parse_accept_header(_without_parameters(request.headers.get("Accept", "")), MIMEAccept)
    best = accepted.best_match(answers) if accepted else next(iter(answers))
    return None if best is None else answers[best]


def _without_parameters(accept: str) -> str:
    """The media types of an Accept header with nothing but their weights, as RFC 9110 writes them. Clients say more: a
    charset or level that no answer here depends on, a weight of ``.2``, and ``*`` for ``*/*`` (Java).

    >>> _without_parameters("text/html, *; q=.2, application/rdf+xml;charset=utf-8")
    'text/html, */*;q=0.2, application/rdf+xml'
    """
    ranges = []
    for media_range in parse_list_header(accept):
        name, parameters = parse_options_header(media_range)
        weight = parameters.get("q")
        if weight is not None:
            weight = f";q=0{weight}" if weight.startswith(".") else f";q={weight}"
        ranges.append(f"{'*/*' if name == '*' else name}{weight or ''}")
    return ", ".join(ranges)
