"""HTTP: the parameters of a page, the status of an error, and ``/sparql``, which answers queries by the SPARQL 1.1
Protocol (https://www.w3.org/TR/sparql11-protocol/#query-operation).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from xml.parsers.expat import ExpatError, ParserCreate

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse, serialize
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_accept_header, parse_list_header, parse_options_header

from exporter.ask.parameters import LONGEST, ForbiddenError, nearest_name
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
    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
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


_Arguments = ParamSpec("_Arguments")
_Page = TypeVar("_Page")


def url_parameters(
    *single: str, repeated: Collection[str] = ()
) -> Callable[[Callable[_Arguments, _Page]], Callable[_Arguments, _Page]]:
    """Declares the parameters that the URL of a page can have: ``single`` ones once, ``repeated`` ones several times.
    The page then raises UsageError for another parameter, and for a single one with several values, of which only one
    would count. To ignore a misspelt ``since`` would give a page of all time.
    """

    def checked(page: Callable[_Arguments, _Page]) -> Callable[_Arguments, _Page]:
        @wraps(page)
        def answer(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Page:
            _check_url_parameters(single, repeated)
            return page(*args, **kwargs)

        return answer

    return checked


def _check_url_parameters(single: Collection[str], repeated: Collection[str]) -> None:
    names = [*single, *repeated]
    for name, values in request.args.lists():
        if name not in names:
            listed = f"Its parameters: {', '.join(names)}." if names else "It takes none."
            raise UsageError(f"This page has no parameter {name}.{nearest_name(name, names)} {listed}")
        if name in single and len(values) > 1:
            raise UsageError(f"{name} is given {len(values)} times in this address: this page takes one value of it.")


def endpoint(site: Site) -> Blueprint:
    """``/sparql``, ``/health``, and ``/.well-known/void``."""
    routes = Blueprint("protocol", __name__)

    @routes.route("/sparql", methods=["GET", "POST"])
    def sparql() -> Response:
        if request.method != "POST" and not {"query", "update"} & request.args.keys():
            return described(_description(_SERVICE, site.base))
        base = site.base or _address()
        query = _query()
        if len(query) > LONGEST:
            raise _ProtocolError(f"The query is too long: it may have {LONGEST:,} characters.", 413)
        kinds = _accepted_type(_SOLUTIONS_FOR), _accepted_type(_TRIPLES_FOR)
        result = site.sparql.result(query, *kinds, MOST, base, request.environ.get("waitress.client_disconnected"))
        return _answer(result.body, result.media_type)

    @routes.get("/.well-known/void")
    def void() -> Response:
        return described(_description(_DATASET, site.base, site.name))

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

_PREFIXES: Final = """
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix format: <http://www.w3.org/ns/formats/> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix void: <http://rdfs.org/ns/void#> .
"""
_SERVICE: Final = """
{address} a sd:Service ;
    sd:endpoint {address} ;
    sd:supportedLanguage sd:SPARQL11Query ;
    sd:resultFormat format:SPARQL_Results_JSON, format:SPARQL_Results_XML, format:SPARQL_Results_CSV,
        format:SPARQL_Results_TSV, format:Turtle, format:N-Triples, format:RDF_XML, format:JSON-LD ;
    sd:defaultDataset {data} .
{data} a sd:Dataset ; sd:defaultGraph {graph} .
{graph} a sd:Graph .
"""
_DATASET: Final = "{graph} dcterms:title {title} ; void:sparqlEndpoint {address} ."
_GRAPH: Final = "{graph} a void:Dataset ; void:vocabulary {vocabulary}, <http://www.w3.org/ns/prov#> ."
_SPACE: Final = "{graph} void:uriSpace {base} ."


def _description(turtle: str, base: str, title: str = "") -> Iterator[Triple]:
    """The triples of :data:`_SERVICE` or :data:`_DATASET`, and of the graph. ``base``: of the graph's IRIs, empty where
    it is not known; ``title``: of the export.
    """
    address = _address()
    terms: dict[str, NamedNode | Literal] = {
        "address": NamedNode(address),
        "data": NamedNode(f"{address}#dataset"),
        "graph": NamedNode(f"{address}#graph"),
        "vocabulary": NamedNode(AH),
        "title": Literal(title),
        "base": Literal(base),
    }
    text = "\n".join([_PREFIXES, turtle, _GRAPH, *([_SPACE] if base else [])]).format(**terms)
    return (quad.triple for quad in parse(text, RdfFormat.TURTLE))


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
