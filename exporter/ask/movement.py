"""The paths of ``sensitive-data-movement``: from a source, step by step, through every object that its data reached.

A step is a query that read one object as a base object and wrote another. A path takes a step only if the step reads
what the step before it had written by then: that version, or a later one in the same chain. (A table that is created
anew begins a new chain, and is another object on the path.) Of all paths along the same chains only the earliest is
kept: it can continue wherever a later one can. So a table that is written a thousand times does not make a thousand
paths. No chain appears twice on a path.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from exporter.ask.lookups import Lookups
from exporter.ask.parameters import ParameterValues, bind, values_of
from exporter.ask.triples import Solution, iris

if TYPE_CHECKING:
    from exporter.ask.shipped import Question

QUESTION: Final = "sensitive-data-movement"
COLUMNS: Final = ("path", "target_name", "target_id", "target_domain", "target_columns")
MAX_PATHS: Final = 1000
ARROW: Final = "-->"
_STEP: Final = """\
  ?written ah:derivedFromBase ?read ; prov:specializationOf ?target ; prov:wasGeneratedBy/prov:startedAtTime ?time .
  VALUES ?until { UNDEF }  # param until
  FILTER(!BOUND(?until) || ?time < ?until)
  OPTIONAL { ?written ah:objectName ?spelled }
  OPTIONAL { ?target rdfs:label ?label }
  OPTIONAL { ?target ah:objectId ?id }
  BIND(COALESCE(?label, ?id, STR(?target)) AS ?latest)
  OPTIONAL { ?written ah:wroteColumn/ah:columnName ?column }
}
"""
_FIRST_STEPS: Final = f"""\
SELECT ?source_name ?read ?written ?target ?spelled ?latest ?time ?column WHERE {{
@first_reads@
  ?written prov:wasGeneratedBy ?query .
{_STEP}"""
_STEPS: Final = f"""\
SELECT ?read ?written ?target ?spelled ?latest ?time ?column WHERE {{
  VALUES ?object {{ @object@ }}
  ?read prov:specializationOf ?object .
{_STEP}"""
_first_reads: Final = re.compile(r"# The first steps:.*?\{\n(.*?AS \?source_name\))\n", re.DOTALL).search
"""Finds the lines of the question's file that match ``?query`` and the version ``?read`` of the source."""


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

    def __init__(self, graph: Lookups, question: Question, params: ParameterValues) -> None:
        self._graph = graph
        self._question = question
        self._params = params
        self._routes_from = cache(self._routes_of)
        self._places: dict[str, tuple[str, int]] = {}

    def paths(self) -> Iterator[Path]:
        """Every path from the source in the parameters, shorter ones first."""
        waiting = deque(self._first_paths())
        while waiting:
            path = waiting.popleft()
            yield path
            for edge, route in sorted(self._routes_from(path.target).items(), key=itemgetter(0)):
                onwards = route.onwards(path.arrival)
                if onwards and edge.from_chain == path.chains[-1] and edge.to_chain not in path.chains:
                    chains, names = (*path.chains, edge.to_chain), (*path.names, edge.name)
                    waiting.append(Path(chains, names, edge.target, *onwards))

    def _first_paths(self) -> Iterator[Path]:
        match = _first_reads(self._question.query)
        assert match, "the question's file begins with the first steps"
        routes: dict[tuple[str, ChainEdge], Route] = defaultdict(Route)
        for row in self._select(_FIRST_STEPS.replace("@first_reads@", match[1])):
            edge, positions = self._step(row)
            routes[row["source_name"], edge].steps[positions].update(filter(None, [row["column"]]))
        for (source_name, edge), route in sorted(routes.items(), key=itemgetter(0)):
            onwards = route.onwards(0)
            if onwards and edge.to_chain != edge.from_chain:
                yield Path((edge.from_chain, edge.to_chain), (source_name, edge.name), edge.target, *onwards)

    def _routes_of(self, source: str) -> Routes:
        routes: dict[ChainEdge, Route] = defaultdict(Route)
        for row in self._select(_STEPS.replace("@object@", iris([source]))):
            edge, positions = self._step(row)
            routes[edge].steps[positions].update(filter(None, [row["column"]]))
        return routes

    def _step(self, row: Solution) -> tuple[ChainEdge, tuple[int, int]]:
        """The edge, and the positions of the versions read and written in their chains."""
        from_chain, read = self._place(row["read"])
        to_chain, written = self._place(row["written"])
        return ChainEdge(row["target"], self._name(row), from_chain, to_chain), (read, written)

    def _name(self, row: Solution) -> str:
        """What the row of a query calls what it wrote; where it gives no name there, the one of that time."""
        if row["spelled"]:
            return row["spelled"]
        target = row["target"]
        return self._graph.name_at(target, row["time"]) if self._graph.names_of(target) else row["latest"]

    def _place(self, version: str) -> tuple[str, int]:
        """The first version of the chain that ``version`` is in, and its position in that chain."""
        later_versions: list[str] = []
        while version not in self._places:
            prior = self._graph.text(version, "ah:priorVersion")
            if prior is None and "/before/" in version:  # which a CLONE of its schema or database may have made
                prior = self._graph.text(version, "prov:wasDerivedFrom")
            if prior is None:
                self._places[version] = version, 0
            else:
                later_versions.append(version)
                version = prior
        chain, number = self._places[version]
        for later_version in reversed(later_versions):
            number += 1
            self._places[later_version] = chain, number
        return chain, number

    def _select(self, text: str) -> Iterator[Solution]:
        used = [parameter for parameter in self._question.parameters if f"# param {parameter.name}\n" in text]
        return self._graph.select(bind(text, used, self._params))


def rows(
    graph: Lookups,
    question: Question,
    params: ParameterValues,
    limit: int = MAX_PATHS,
    together: Callable[[Iterable[str]], str] = ", ".join,
) -> tuple[list[tuple[str | None, ...]], list[str]]:
    """The rows of the question, one for each path, and a note where ``limit`` cut them. ``together``: makes the cell
    of the names of columns.
    """
    columns: dict[tuple[str | None, ...], frozenset[str]] = defaultdict(frozenset)
    notes: list[str] = []
    # The meaning of a name depends on the time, so each time is asked for separately.
    of_times: list[ParameterValues] = [{**params, "until": until} for until in values_of(params, "until")]
    for until_params in of_times or [params]:
        for number, path in enumerate(Movement(graph, question, until_params).paths()):
            if number == limit:
                notes = [f"There are more than {limit} paths; these are the shortest. Narrow them by since and until."]
                break
            target = (graph.text(path.target, term) for term in ("ah:objectId", "ah:domain"))
            # With its IRI: of two accounts each has its own row.
            columns[(ARROW.join(path.names), path.names[-1], *target, path.target)] |= path.columns
    keys = sorted(columns, key=lambda key: [cell or "" for cell in key])
    return [(*key[:-1], together(sorted(columns[key]))) for key in keys], notes
