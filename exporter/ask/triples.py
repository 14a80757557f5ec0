"""Look-ups of triples in one graph: by index, and by a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Any, Final, Self, TypeVar, cast

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store, Triple

from exporter.graph.terms import PREFIXES, full

Looked = TypeVar("Looked")
PROLOGUE: Final = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in PREFIXES.items())
EARLY: Final = datetime.min.replace(tzinfo=UTC)
LATE: Final = datetime.max.replace(tzinfo=UTC)
"""Before and after all times of a graph."""
MOMENT: Final = timedelta.resolution
Solution = dict[str, str]
"""A row of a SELECT as variable -> text, empty where nothing is bound."""
_ACCESSES: Final = ("prov:qualifiedUsage", "ah:accessPattern")


class Triples:
    """Look-ups in one graph. A term is written with its prefix (``ah:domain``); nodes and values are texts.
    ``has_more``: whether :meth:`at_most` left something out.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.has_more = False
        self._found: dict[tuple[Callable[..., Any], str], Any] = {}

    def once(self, look_up: Callable[[Self, str], Looked], node: str) -> Looked:
        """What a function finds of a node in this graph, looked up once; callers must not change it."""
        if (look_up, node) not in self._found:
            self._found[look_up, node] = look_up(self, node)
        return cast("Looked", self._found[look_up, node])

    def at_most(self, values: Iterable[Looked], most: int) -> Iterator[Looked]:
        """The first ones, at most that many. :func:`exporter.ask.notes.index.explain` says if there were more."""
        for number, value in enumerate(values):
            if number == most:
                self.has_more = True
                return
            yield value

    # --- by index -----------------------------------------------------------------------------------------------------

    def objects(self, subject: str, term: str) -> Iterator[str]:
        """The values of a property of a node: texts and IRIs."""
        for quad in self.store.quads_for_pattern(NamedNode(subject), _node(term), None):
            if isinstance(quad.object, Literal | NamedNode):
                yield quad.object.value

    def subjects(self, term: str, iri: str) -> Iterator[str]:
        """The nodes with a property that has this IRI."""
        return self._subjects(term, NamedNode(iri))

    def with_text(self, term: str, text: str) -> Iterator[str]:
        """The nodes with a property that has this text."""
        return self._subjects(term, Literal(text))

    def of_class(self, name: str) -> Iterator[str]:
        """The nodes of a class, such as ``ah:DailyRead``."""
        return self._subjects("rdf:type", _node(name))

    def having(self, term: str) -> Iterator[str]:
        """The nodes with a property, once for each of its values."""
        for quad in self.store.quads_for_pattern(None, _node(term), None):
            if isinstance(quad.subject, NamedNode):
                yield quad.subject.value

    def is_used(self, term: str) -> bool:
        """Whether any node has the property."""
        return any(self.store.quads_for_pattern(None, _node(term), None))

    def text(self, subject: str, term: str) -> str | None:
        """The value of a property of a node, the first one in order; None if it has none."""
        return min(self.objects(subject, term), default=None)

    def every(self, term: str) -> set[str]:
        """All texts of a property: ``ah:nameText``, ``ah:userName``, ``ah:queryId`` …"""
        quads = self.store.quads_for_pattern(None, _node(term), None)
        return {quad.object.value for quad in quads if isinstance(quad.object, Literal)}

    def _subjects(self, term: str, value: Literal | NamedNode) -> Iterator[str]:
        for quad in self.store.quads_for_pattern(None, _node(term), value):
            if isinstance(quad.subject, NamedNode):
                yield quad.subject.value

    # --- what queries did ---------------------------------------------------------------------------------------------

    def reads_with(self, access: str) -> Iterator[str]:
        """The queries, and nodes for several of them, that have an access."""
        return (read for term in _ACCESSES for read in self.subjects(term, access))

    def accesses_of(self, read: str) -> Iterator[str]:
        """The accesses of a query, or of a node for several of them."""
        return (access for term in _ACCESSES for access in self.objects(read, term))

    def starts(self, accesses: Iterable[str]) -> Iterator[datetime]:
        """When the reads with these accesses started; of reads by day, the first and the last one."""
        for read in {read for access in accesses for read in self.reads_with(access)}:
            yield from self.starts_of(read)

    def starts_of(self, reads: str) -> list[datetime]:
        """When a query started; of reads by day, the first and the last one."""
        terms = ("prov:startedAtTime", "ah:lastStartedAtTime")
        return [in_utc(time) for term in terms for time in self.objects(reads, term)]

    def read_times(self, thing: str) -> Iterator[datetime]:
        """When the reads of an object started; of reads by day, the first and the last one."""
        return self.starts(self.subjects("ah:accessedObject", thing))

    def derivations_of(self, column_version: str) -> list[str]:
        """The nodes that say what a version of a column was filled from, in both modes of reads (docs/graph.md)."""
        own = self.subjects("ah:targetColumnVersion", column_version)
        return [*own, *self.objects(column_version, "ah:derivationPattern")]

    def is_mask(self, enforcement: str) -> bool:
        """Whether an enforced policy is a masking policy."""
        return self.text(enforcement, "ah:policyKind") == "MASKING_POLICY"

    @cached_property
    def tags_of_policies(self) -> dict[str, set[tuple[str, str]]]:
        """Policy -> what sets it on tags, or unsets it there, each with the tag: the other way would lead through all
        that has the policy.
        """
        settings: dict[str, set[tuple[str, str]]] = {}
        for tag in self.with_text("ah:domain", "Tag"):
            for setting in self.subjects("ah:settingOn", tag):
                for policy in self.objects(setting, "ah:elementObject"):
                    settings.setdefault(policy, set()).add((tag, setting))
        return settings

    # --- queries ------------------------------------------------------------------------------------------------------

    def select(self, query: str, **places: str) -> Iterator[Solution]:
        """The solutions of a SELECT. ``query``: without prefixes, which
        are those of the graph; ``places``: what stands for ``@name@`` in it (:func:`iris`, :func:`literals`).
        """
        solutions = self.store.query(_filled(query, places))
        assert isinstance(solutions, QuerySolutions), "a SELECT gives solutions"
        names = [variable.value for variable in solutions.variables]
        for solution in solutions:
            yield {name: text_of(term) or "" for name, term in zip(names, solution, strict=True)}

    def holds(self, query: str, **places: str) -> bool:
        """The answer of an ASK."""
        return bool(self.store.query(_filled(query, places)))


def in_utc(time: str) -> datetime:
    """A time of the graph. Times cannot be compared as texts, since they have fractions of any length."""
    return datetime.fromisoformat(time).astimezone(UTC)


def text_of(term: NamedNode | BlankNode | Literal | Triple | None) -> str | None:
    """The text of a literal, or the IRI of a node; None where nothing is bound."""
    if term is None:
        return None
    return str(term) if isinstance(term, Triple) else term.value


@cache
def _node(term: str) -> NamedNode:
    return NamedNode(full(term))


def iris(things: Iterable[str]) -> str:
    """Nodes in a ``VALUES`` block."""
    return " ".join(str(NamedNode(thing)) for thing in sorted(things))


def literals(texts: Iterable[str]) -> str:
    """Texts in a ``VALUES`` block."""
    return " ".join(str(Literal(text)) for text in sorted(texts))


def _filled(query: str, places: dict[str, str]) -> str:
    for name, text in places.items():
        query = query.replace(f"@{name}@", text)
    return PROLOGUE + query
