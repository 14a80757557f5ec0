"""A SPARQL store over HTTP, with the protocols of SPARQL 1.1: queries, updates, the graph store."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import urllib3
from pyoxigraph import QueryResultsFormat, QuerySolutions, RdfFormat, parse, parse_query_results

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[str | None, ...]
_SECONDS: Final = 60
_RESULTS: Final = "application/sparql-results+json"


@dataclass(frozen=True)
class Endpoint:
    """Where a store takes queries, updates, and graphs: ``data`` by the Graph Store Protocol."""

    name: str
    query: str
    update: str
    data: str
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=2))

    def select(self, query: str) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and rows; literals by their text, things by their IRI, None where nothing is bound."""
        answer = self._post(self.query, query.encode(), "application/sparql-query", Accept=_RESULTS)
        found = parse_query_results(answer, QueryResultsFormat.JSON)
        assert isinstance(found, QuerySolutions)
        rows = [tuple(term and term.value for term in row) for row in found]
        return tuple(variable.value for variable in found.variables), rows

    def change(self, update: str) -> None:
        """A SPARQL 1.1 Update."""
        self._post(self.update, update.encode(), "application/sparql-update")

    def add(self, body: bytes, media_type: str, graph: str | None = None, **headers: str) -> None:
        """Add triples to a graph, to the default one where none is named."""
        self._post(self._graph(graph), body, media_type, **headers)

    def triples(self, graph: str | None = None) -> set[str]:
        """All triples of a graph; none where there is none of that name."""
        headers = {"Accept": "application/n-triples"}
        answer = self.http.request("GET", self._graph(graph), headers=headers, retries=False, timeout=_SECONDS)
        assert answer.status in (200, 404), answer.data[:500]
        body = answer.data if answer.status == 200 else b""
        return {str(quad.triple) for quad in parse(body, RdfFormat.N_TRIPLES)}

    def _graph(self, graph: str | None) -> str:
        return f"{self.data}?{urlencode({'graph': graph}) if graph else 'default'}"

    def _post(self, url: str, body: bytes, media_type: str, **headers: str) -> bytes:
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": media_type}
        answer = self.http.request("POST", url, body=body, headers=sent, retries=False, timeout=_SECONDS)
        assert answer.status < 300, f"{url}: {answer.status} {answer.data[:500]!r}"
        return answer.data


def wait(is_ready: Callable[[], bool], what: str) -> None:
    """Until a server answers. Raises AssertionError with ``what`` it said, after a minute."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        if is_ready():
            return
        time.sleep(0.05)
    raise AssertionError(what)
