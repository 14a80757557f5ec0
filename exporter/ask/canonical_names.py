"""Under which of its names an object counts, where tables are built under one name and take another by SWAP or RENAME.

A table is set aside under its last name if nothing read or filled it from then on and it was dropped, or if it stays
where a table was made that was swapped with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, islice, pairwise
from typing import Final

from exporter.ask.lookups import Lookups, NameHolder
from exporter.input.times import parse_time
from exporter.model.identifiers import match_name
from exporter.openlineage.helpers import is_named
from exporter.openlineage.inputs_and_outputs import DATASET_KINDS
from exporter.openlineage.settings import HELPERS

NAMED: Final = ("table", "view", "stream", "stage", "object", "location")
_SHARED_NAMES: Final = ("table", "view", "object")
"""Kinds of which no two objects have one name at one time; what has it is preferred to a stream or stage."""


class CanonicalNames:
    """The names of the tables, views, streams and stages of one graph."""

    def __init__(self, graph: Lookups) -> None:
        self._lookups = graph
        self._holders: dict[str, Mapping[str, list[NameHolder]]] = {}
        self._canonical_names: dict[str, NameHolder] = {}
        self._built_under: dict[tuple[str, str], set[NameHolder]] = {}

    def by_account(self, name: str) -> Mapping[str, list[NameHolder]]:
        """The objects that had a name, by their account: :attr:`exporter.ask.lookups.NameHolder.account`."""
        if name not in self._holders:
            by_account = defaultdict[str, list[NameHolder]](list)
            for holder in self._lookups.holders(name):
                if _kind(holder) in DATASET_KINDS and _kind(holder) in NAMED:
                    by_account[holder.account].append(holder)
            self._holders[name] = {place: _preferred(holders) for place, holders in by_account.items()}
        return self._holders[name]

    def is_newer(self, holder: NameHolder, other: NameHolder) -> bool:
        """Whether the second object began with the name, but for those of a helper, or after the first got it. What was
        there before the record has its first name from the first row on that names it.
        """
        names = self._lookups.names_of(other.iri)
        before = names[: names.index(other)]
        if all(is_named(earlier.name, HELPERS) for earlier in before) or since(names[0]) > since(holder):
            return True
        is_older = self._lookups.names_of(holder.iri)[0] == holder and not self._lookups.is_made(holder)
        return is_older and self._lookups.is_made(names[0])

    def of(self, iri: str) -> NameHolder:
        """The last name of an object but for those under which it was only set aside. The name that it got in the place
        of another object is none of these, though nothing read or filled it under the name before it was replaced.
        """
        if iri not in self._canonical_names:
            names = self._lookups.names_of(iri)
            while len(names) > 1 and self._is_set_aside(names[-2], names[-1]):
                if names[-1] in self._built(names[-1]):
                    break
                names.pop()
            self._canonical_names[iri] = names[-1]
        return self._canonical_names[iri]

    def label(self, iri: str) -> str:
        """What an object is called in a note: by the name under which it counts, by which it can be asked for."""
        names = self._lookups.names_of(iri)
        return self.of(iri).name if len(names) > 1 else self._lookups.label(iri)

    def _built(self, named: NameHolder) -> set[NameHolder]:
        """Of the objects that had a name, those that began with it, and those that were built to take their place. One
        of which rows only show the end under the name may have got it when it was set aside.
        """
        key = named.account, match_name(named.name)
        if key not in self._built_under:
            built = self._built_under[key] = set()
            holders = self.by_account(key[1]).get(key[0], [])
            again = self._names_of_builds(key, holders)
            for before, holder in zip([None, *holders], holders, strict=False):
                names = self._lookups.names_of(holder.iri)
                is_first = names[0] == holder
                begins = is_first and (len(names) > 1 or self._lookups.is_made(holder) or self._is_used(holder))
                is_again = not is_first and names[names.index(holder) - 1].key in again
                if begins or is_again or (before is not None and before in built and self.is_newer(before, holder)):
                    built.add(holder)
        return self._built_under[key]

    def _names_of_builds(self, name: tuple[str, str], holders: list[NameHolder]) -> set[tuple[str, str]]:
        """The names that nothing has now, and from which several objects took one that is in use: tables are built so,
        beside the former one. Where archives are rotated, a table has the name before.
        """
        names = {holder.iri: self._lookups.names_of(holder.iri) for holder in holders if holders[-1].until is None}
        pairs = {
            (iri, before.key) for iri, own in names.items() for before, after in pairwise(own) if after.key == name
        }
        several = {key for key, number in Counter(key for _, key in pairs).items() if number > 1}
        return {key for key in several if all(holder.until for holder in self.by_account(key[1]).get(key[0], ()))}

    def _is_set_aside(self, before: NameHolder, after: NameHolder) -> bool:
        """Whether an object was not used under its next name, which it lost; or got it by a SWAP with a table that was
        made while it had the name before.
        """
        if after.until is None and not any(
            self._lookups.is_made(made) and since(made) > since(before)
            for change in self._lookups.subjects("ah:changedObject", after.iri)
            if self._lookups.text(change, "prov:startedAtTime") == after.since
            for other in self._lookups.objects(change, "ah:swappedWith")
            for made in self._lookups.names_of(other)[:1]
        ):
            return False
        return not self._is_used(after)

    def _is_used(self, holder: NameHolder) -> bool:
        """Whether a query read or filled an object under a name, since it got it."""
        return any((parse_time(time) or 0) >= since(holder) for time in self._uses(holder))

    def _uses(self, holder: NameHolder) -> Iterator[str]:
        """When the queries, or the last ones of a day, started that read or filled an object under a name."""
        graph = self._lookups
        accesses = graph.subjects("ah:accessedObject", holder.iri)
        queries = (
            query
            for access in accesses
            if holder.name in graph.objects(access, "ah:objectName")
            for query in graph.reads_with(access)
        )
        writers = (
            query
            for version in graph.subjects("prov:specializationOf", holder.iri)
            if holder.name in graph.objects(version, "ah:objectName")
            for query in graph.objects(version, "prov:wasGeneratedBy")
        )
        for query in chain(writers, queries):
            yield from islice(
                chain(graph.objects(query, "ah:lastStartedAtTime"), graph.objects(query, "prov:startedAtTime")), 1
            )


def _kind(holder: NameHolder) -> str:
    """``table`` of ``snowflake://A/table/5``."""
    return holder.iri[len(holder.row_account) + 1 :].partition("/")[0]


def _preferred(holders: list[NameHolder]) -> list[NameHolder]:
    """Of the objects with one name, tables and views before streams and stages, and those with an id before those
    without one, which are the same objects in rows that do not give it.
    """
    with_id = [holder for holder in holders if holder.ident]
    shared = [holder for holder in holders if _kind(holder) in _SHARED_NAMES]
    return [holder for holder in shared if holder.ident] or with_id or shared or holders


def since(holder: NameHolder) -> int:
    """When an object got a name, in microseconds since 1970 (UTC)."""
    return parse_time(holder.since) or 0
