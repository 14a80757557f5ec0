"""Looks up in the graph what parameters name, by index; finds the nearest names where it has none."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode, Store

from exporter.graph.kinds import DOMAIN_CLASSES, KIND_CLASSES
from exporter.graph.terms import full
from exporter.queries.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

NEAREST: Final = 3
"""How many of the nearest names a message lists."""
_MANY: Final = 5_000
"""Up to so many names are all compared, in some tenths of a second. Of more, only those with a similar start or end
are.
"""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """An object during a period in which it had a name: from ``since`` until ``until`` (None: it still has it), times
    in the form of the graph.

    ``iri``: the object; ``domain``: its kind; ``ident``: Snowflake's id, None where no row gives it.
    """

    since: str
    iri: str
    domain: str
    ident: str | None
    name: str
    until: str | None

    @property
    def order(self) -> tuple[datetime, str, datetime]:
        """By the start, of one object the present name last. Times of the graph cannot be compared as texts, since
        they have fractions of any length.
        """
        begin, end = (datetime.fromisoformat(time) if time else _NEVER for time in (self.since, self.until))
        return begin, self.iri, end

    @property
    def thing(self) -> str:
        """``Table 66564``."""
        return f"{self.domain} {self.ident}" if self.ident else f"{self.domain} without an id"

    @property
    def account(self) -> str:
        """The part of its IRI that the IRIs of all objects of its account begin with."""
        return self.iri.rsplit("/", 2 if self.ident else 3)[0]


class Known:
    """Look-ups in one graph."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def has_names_to_match(self) -> bool:
        """False for a graph that an older version made: its names have no ``ah:matchName``."""
        return self._any("ah:matchName") or not self._any("ah:nameText")

    def turns(self, name: str) -> list[Turn]:
        """Every object that had the name, once for each period in which it had it, ordered by the start."""
        named = self._subjects("ah:matchName", Literal(match_name(name)))
        return sorted((turn for one in named for turn in self._turns(one)), key=lambda turn: turn.order)

    def names_of(self, iri: str) -> list[Turn]:
        """All names that an object had, ordered by when it got them."""
        names = self._objects(NamedNode(iri), "ah:hasName")
        turns = (turn for name in names if isinstance(name, NamedNode) for turn in self._turns(name))
        return sorted(turns, key=lambda turn: turn.order)

    def _turns(self, named: NamedNode) -> Iterator[Turn]:
        since, text = self._text(named, "ah:validFrom"), self._text(named, "ah:nameText")
        if since is None or text is None:
            return
        for thing in self._subjects("ah:hasName", named):
            domain, ident = self._text(thing, "ah:domain"), self._text(thing, "ah:objectId")
            yield Turn(since, thing.value, domain or "Object", ident, text, self._text(named, "ah:validUntil"))

    def of_id(self, ident: str) -> list[Turn]:
        """The objects with the id, each once, under its latest name."""
        found = []
        for thing in self._subjects("ah:objectId", Literal(ident)):
            names = self.names_of(thing.value)
            domain = self._text(thing, "ah:domain") or "Object"
            found.append(names[-1] if names else Turn("", thing.value, domain, ident, "", None))
        return sorted(found, key=lambda turn: turn.domain)

    def is_of_kind(self, iri: str, kind: str) -> bool:
        """Whether an object is of the kind ``kind`` (in any spelling), by its domain or one of its classes."""
        thing = NamedNode(iri)
        classes = [one.value.rpartition("#")[2] for one in self._objects(thing, "rdf:type")]
        return _plain(kind) in {_plain(self._text(thing, "ah:domain") or ""), *map(_plain, classes)}

    def has_kind(self, kind: str) -> bool:
        """Whether the graph has any object of the kind."""
        if _plain(kind) in map(_plain, self.kinds()):
            return True
        every = {*DOMAIN_CLASSES.values(), *(name for names in KIND_CLASSES.values() for name in names)}
        classes = [name for name in every if _plain(name.partition(":")[2]) == _plain(kind)]
        return any(self._subjects("rdf:type", NamedNode(full(name))) for name in classes)

    def kinds(self) -> list[str]:
        """The kinds of objects in the graph."""
        return sorted(self._texts("ah:domain"))

    def has_column(self, name: str, things: Iterable[str]) -> bool:
        """Whether any of the objects has a column of that name."""
        columns = self._subjects("ah:matchName", Literal(match_name(name)))
        owners = {owner.value for column in columns for owner in self._objects(column, "ah:columnOf")}
        return not owners.isdisjoint(things)

    def columns(self, things: Iterable[str]) -> set[str]:
        """The names of the objects' columns."""
        columns = [one for thing in things for one in self._subjects("ah:columnOf", NamedNode(thing))]
        return {name for column in columns if (name := self._text(column, "ah:columnName"))}

    def has_user(self, name: str) -> bool:
        """Whether there is a user of that name; one in quotes has to be as Snowflake stores it."""
        if name.startswith('"'):
            stored = name.removeprefix('"').removesuffix('"').replace('""', '"')
            return bool(self._subjects("ah:userName", Literal(stored)))
        named = self._subjects("ah:matchName", Literal(match_name(name)))
        return any(self._text(one, "ah:userName") is not None for one in named)

    def has_query(self, ident: str) -> bool:
        """Whether the graph has a query with the id: one with a row, or one that another names as its parent."""
        return bool(self._subjects("ah:queryId", Literal(ident)))

    def every(self, term: str) -> set[str]:
        """All texts of a property: ``ah:nameText``, ``ah:userName``, ``ah:queryId`` …"""
        return self._texts(term)

    # --- triples ------------------------------------------------------------------------------------------------------

    def _any(self, term: str) -> bool:
        return next(self._store.quads_for_pattern(None, NamedNode(full(term)), None), None) is not None

    def _subjects(self, term: str, value: Literal | NamedNode) -> list[NamedNode]:
        quads = self._store.quads_for_pattern(None, NamedNode(full(term)), value)
        return [quad.subject for quad in quads if isinstance(quad.subject, NamedNode)]

    def _objects(self, subject: NamedNode, term: str) -> list[NamedNode | Literal]:
        quads = self._store.quads_for_pattern(subject, NamedNode(full(term)), None)
        return [quad.object for quad in quads if isinstance(quad.object, NamedNode | Literal)]

    def _text(self, subject: NamedNode, term: str) -> str | None:
        return min((one.value for one in self._objects(subject, term)), default=None)

    def _texts(self, term: str) -> set[str]:
        quads = self._store.quads_for_pattern(None, NamedNode(full(term)), None)
        return {quad.object.value for quad in quads if isinstance(quad.object, Literal)}


def _plain(kind: str) -> str:
    """``External table``, ``EXTERNAL_TABLE`` and ``ExternalTable`` are one kind."""
    return kind.lower().replace(" ", "").replace("_", "")


def nearest(name: str, every: Iterable[str]) -> list[str]:
    """The names that are most similar to ``name``; names with the same last part come first."""
    wanted, by_match = match_name(name), {match_name(one): one for one in every}
    last = f".{wanted.rpartition('.')[2]}"
    same_end = sorted(one for one in by_match if one.endswith(last) and one != wanted)
    near = get_close_matches(wanted, _alike(wanted, by_match), n=NEAREST)
    if same_end and near and near[0] in same_end:
        same_end, near = near, same_end
    return [by_match[one] for one in dict.fromkeys([*same_end, *near])][:NEAREST]


def _alike(wanted: str, names: Collection[str]) -> list[str]:
    """All of the names if they are few. Of many, those next to the wanted one when sorted by beginning and by end."""
    if len(names) <= _MANY:
        return sorted(names)
    forward, backward = sorted(names), sorted(one[::-1] for one in names)
    beginning, end = bisect_left(forward, wanted), bisect_left(backward, wanted[::-1])
    half = _MANY // 4
    found = forward[max(0, beginning - half) : beginning + half]
    found += [one[::-1] for one in backward[max(0, end - half) : end + half]]
    return sorted(set(found))
