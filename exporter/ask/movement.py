"""The paths of ``sensitive-data-movement``: from a source, step by step, through every object that its data reached.

A step is a query that read one object as a base object and wrote another. A path takes a step only if the step reads
what the step before it had written by then: that version, or a later one in the same chain. (A table that is created
anew begins a new chain, and is another object on the path.) Of all paths along the same chains only the earliest is
kept: it can continue wherever a later one can. So a table that is written a thousand times does not make a thousand
paths. No chain appears twice on a path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Final

from pyoxigraph import NamedNode, QuerySolution, QuerySolutions, Store

from exporter.ask.object_pattern import object_pattern
from exporter.ask.parameters import Parameter, ParameterValues, bind, values_of

QUESTION: Final = "sensitive-data-movement"
COLUMNS: Final = ("path", "target_name", "target_id", "target_domain", "target_columns")
MAX_PATHS: Final = 1000
ARROW: Final = "-->"
_PRIOR: Final = NamedNode("https://w3id.org/access-history#priorVersion")
_STEP: Final = """
  ?written ah:derivedFromBase ?read ; prov:specializationOf ?target ; prov:wasGeneratedBy/prov:startedAtTime ?time .
  VALUES ?until { UNDEF }  # param until
  FILTER(!BOUND(?until) || ?time < ?until)
  OPTIONAL { ?written ah:objectName ?spelled }
  OPTIONAL { ?target rdfs:label ?label }
  BIND(COALESCE(?spelled, ?label, STR(?target)) AS ?name)
  OPTIONAL { ?written ah:wroteColumn/ah:columnName ?column }
}"""
_PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""
_FIRST_STEPS: Final = f"""{_PREFIXES}SELECT ?source_name ?read ?written ?target ?name ?column WHERE {{
  VALUES ?since {{ UNDEF }}  # param since
  {object_pattern("Stage")}
  ?access ah:accessType "BASE" ; ah:accessedObject ?object .
  ?query prov:qualifiedUsage|ah:accessPattern ?access ; prov:used ?read ; prov:startedAtTime ?first_time .
  ?read prov:specializationOf ?object .
  # What was read was there by the end of the period, or continues what was.
  FILTER(COALESCE(?first_time >= ?from, true) && (COALESCE(?first_time < ?to, true)
    || EXISTS {{ ?read ah:priorVersion* ?kept . ?kept prov:generatedAtTime ?kept_since FILTER(?kept_since < ?to) }}
    || EXISTS {{ ?read ah:priorVersion* ?kept FILTER(CONTAINS(STR(?kept), "/before/")) }}))
  FILTER(!BOUND(?since) || ?first_time >= ?since)
  OPTIONAL {{ ?access ah:objectName ?source_spelled }}
  OPTIONAL {{ ?object rdfs:label ?source_label }}
  BIND(COALESCE(?source_spelled, ?source_label, STR(?object)) AS ?source_name)
  ?written prov:wasGeneratedBy ?query .{_STEP}"""
_STEPS: Final = f"""{_PREFIXES}SELECT ?read ?written ?target ?name ?column WHERE {{
  VALUES ?object {{ UNDEF }}  # param object
  ?read prov:specializationOf ?object .{_STEP}"""
_TARGET: Final = f"""{_PREFIXES}SELECT ?domain ?id WHERE {{
  VALUES ?object {{ UNDEF }}  # param object
  ?object ah:domain ?domain .
  OPTIONAL {{ ?object ah:objectId ?id }}
}}"""
_OBJECT: Final = (Parameter("object", "the object", kind="thing"),)


@dataclass
class Route:
    """All steps along one :data:`ChainEdge`: pairs of the version of the source that is read and that of the target
    written.
    """

    steps: dict[tuple[int, int], set[str]] = field(default_factory=lambda: defaultdict(set))

    @cached_property
    def _from_each(self) -> tuple[list[int], list[int], list[frozenset[str]]]:
        """By version read: the earliest version that it or a later one leads to, and the columns of all these steps."""
        reads, arrivals, columns = [], [], []
        earliest, written_columns = None, frozenset[str]()
        for (read, written), names in sorted(self.steps.items(), reverse=True):
            earliest = written if earliest is None else min(earliest, written)
            written_columns |= names
            reads.append(read)
            arrivals.append(earliest)
            columns.append(written_columns)
        return reads[::-1], arrivals[::-1], columns[::-1]

    def onwards(self, version: int) -> tuple[int, frozenset[str]] | None:
        """The earliest version written from ``version`` or a later one, and the columns written; None without a
        step.
        """
        reads, arrivals, columns = self._from_each
        place = bisect_left(reads, version)
        return (arrivals[place], columns[place]) if place < len(reads) else None


@dataclass(frozen=True, order=True)
class ChainEdge:
    """From a chain of versions of one object to a chain of versions of ``target``; ``name``: its name when it was
    written. A chain is identified by its first version.
    """

    target: str
    name: str
    from_chain: str
    to_chain: str


Routes = Mapping[ChainEdge, Route]


@dataclass(frozen=True)
class Path:
    """``chains``: one for each name; ``target``: the last object; ``arrival``: its first version that has the data."""

    chains: tuple[str, ...]
    names: tuple[str, ...]
    target: str
    arrival: int
    columns: frozenset[str]


class Movement:
    """Where data went in one graph. Look-ups are cached."""

    def __init__(self, store: Store, parameters: Sequence[Parameter], params: ParameterValues) -> None:
        self._store = store
        self._parameters = parameters
        self._given = params
        self._routes: dict[str, Routes] = {}
        self._places: dict[NamedNode, tuple[str, int]] = {}
        self._targets: dict[str, tuple[str | None, str | None]] = {}

    def paths(self) -> Iterator[Path]:
        """Every path from the source in the parameters, shorter ones first."""
        waiting = deque(self._first_paths())
        while waiting:
            path = waiting.popleft()
            yield path
            waiting.extend(self._continued(path))

    def _continued(self, path: Path) -> Iterator[Path]:
        for edge, route in sorted(self._routes_from(path.target).items(), key=itemgetter(0)):
            onwards = route.onwards(path.arrival)
            if onwards and edge.from_chain == path.chains[-1] and edge.to_chain not in path.chains:
                yield Path((*path.chains, edge.to_chain), (*path.names, edge.name), edge.target, *onwards)

    def _first_paths(self) -> Iterator[Path]:
        routes: dict[tuple[str, ChainEdge], Route] = defaultdict(Route)
        for row in self._select(_FIRST_STEPS, {}):
            edge, positions, column = self._step(row)
            routes[row["source_name"].value, edge].steps[positions].update(column)
        for (source_name, edge), route in sorted(routes.items(), key=itemgetter(0)):
            onwards = route.onwards(0)
            if onwards and edge.to_chain != edge.from_chain:
                yield Path((edge.from_chain, edge.to_chain), (source_name, edge.name), edge.target, *onwards)

    def _routes_from(self, source: str) -> Routes:
        if source not in self._routes:
            routes: dict[ChainEdge, Route] = defaultdict(Route)
            for row in self._select(_STEPS, {"object": source}):
                edge, positions, column = self._step(row)
                routes[edge].steps[positions].update(column)
            self._routes[source] = routes
        return self._routes[source]

    def _step(self, row: QuerySolution) -> tuple[ChainEdge, tuple[int, int], set[str]]:
        """The edge, the positions of the versions read and written in their chains, and the column written, if any."""
        from_chain, read = self._place(row["read"])
        to_chain, written = self._place(row["written"])
        column = {row["column"].value} if row["column"] is not None else set()
        return ChainEdge(row["target"].value, row["name"].value, from_chain, to_chain), (read, written), column

    def _place(self, version: NamedNode) -> tuple[str, int]:
        """The first version of the chain that ``version`` is in, and its position in that chain."""
        later_versions: list[NamedNode] = []
        while version not in self._places:
            prior = next((quad.object for quad in self._store.quads_for_pattern(version, _PRIOR, None)), None)
            if not isinstance(prior, NamedNode):
                self._places[version] = version.value, 0
                break
            later_versions.append(version)
            version = prior
        chain, number = self._places[version]
        self._places.update(
            {
                later_version: (chain, number + count)
                for count, later_version in enumerate(reversed(later_versions), start=1)
            }
        )
        return self._places[later_versions[0] if later_versions else version]

    def _select(self, text: str, values: ParameterValues) -> QuerySolutions:
        parameters = (*self._parameters, *_OBJECT)
        used = [parameter for parameter in parameters if f"# param {parameter.name}\n" in text]
        result = self._store.query(bind(text, used, {**self._given, **values}))
        assert isinstance(result, QuerySolutions), "a SELECT gives solutions"
        return result

    def target(self, iri: str) -> tuple[str | None, str | None]:
        """Id and domain of an object; each is None where the graph does not have it."""
        if iri not in self._targets:
            self._targets[iri] = next(self._described(iri), (None, None))
        return self._targets[iri]

    def _described(self, iri: str) -> Iterator[tuple[str | None, str | None]]:
        for row in self._select(_TARGET, {"object": iri}):
            yield (row["id"].value if row["id"] is not None else None), row["domain"].value


def rows(
    store: Store, parameters: Sequence[Parameter], params: ParameterValues, limit: int = MAX_PATHS, between: str = ", "
) -> tuple[list[tuple[str | None, ...]], list[str]]:
    """The rows of the question, one for each path, and a note where ``limit`` cut them. ``between``: two names of
    columns.
    """
    columns: dict[tuple[str, str, str | None, str | None], frozenset[str]] = defaultdict(frozenset)
    notes: list[str] = []
    untils: list[str | None] = [*values_of(params, "until")]
    for until in untils or [None]:
        # The meaning of a name depends on the time, so each time is asked for separately.
        until_params = params if until is None else {**params, "until": until}
        movement = Movement(store, parameters, until_params)
        for number, path in enumerate(movement.paths()):
            if number == limit:
                notes = [f"There are more than {limit} paths; these are the shortest. Narrow them by since and until."]
                break
            columns[ARROW.join(path.names), path.names[-1], *movement.target(path.target)] |= path.columns
    return [(*key, between.join(sorted(names))) for key, names in sorted(columns.items(), key=_as_text)], notes


def _as_text(row: tuple[tuple[str | None, ...], frozenset[str]]) -> tuple[str, ...]:
    return tuple(cell or "" for cell in row[0])
