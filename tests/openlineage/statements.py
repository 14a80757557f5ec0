"""Small statements for tests: things, their datasets, and the COMPLETE event of a query."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from exporter.input.query_history import NO_HISTORY, History
from exporter.model.answers import Answers, Dataset
from exporter.model.facts import Access, Column, Content, Derivation, ObjectReference, QueryFacts, Write
from exporter.openlineage.events import run_events
from exporter.openlineage.settings import OpenLineageSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.model.answers import ObjectSpelling, Tag
    from exporter.model.facts import Change

Json = dict[str, Any]
DEFAULTS: Final = OpenLineageSettings()
NS: Final = "snowflake://ORG-ACC"


def thing(key: str, name: str | None = None, **more: str) -> ObjectReference:
    """An object: ``table/1`` is called T1 unless it is said otherwise."""
    kind, ident = key.split("/", 1)
    return ObjectReference(key, kind, kind.upper(), ident, name or f"{kind[0].upper()}{ident}", **more)


def read(key: str, *columns: str, access: str = "DIRECT", **more: str) -> Access:
    return Access(access, thing(key, **more), tuple(map(Column, columns)))


def write(key: str, *columns: str) -> Write:
    return Write(thing(key), tuple(map(Column, columns)))


def derived(
    column: str, source: ObjectReference, field: str | None, kind: str = "DIRECT", target: str = "table/9"
) -> Derivation:
    return Derivation(target, None, column, kind, source, field)


def spoken(content: Content) -> dict[ObjectSpelling, None]:
    """The spellings of what a statement reads, writes, changes, joins, takes data from and protects, each once."""
    return dict.fromkeys(_each(content))


def _each(content: Content) -> Iterator[ObjectSpelling]:
    shown: Iterator[Access | Write | Change] = chain(content.accesses, content.writes, content.changes)
    for one in chain(
        (each.thing for each in shown),
        (derivation.source for derivation in content.derivations),
        (policy.protected for policy in content.policies),
        (side for join in content.joins for side in (join.left, join.right)),
    ):
        yield one.key, one.name, one.account
    for change in content.changes:
        if change.new_name is not None:
            yield change.thing.key, change.new_name, change.thing.account
        if change.swap_key is not None:
            yield change.swap_key, change.swap_name, None


def datasets(content: Content, **named: str) -> dict[ObjectSpelling, Dataset]:
    """A dataset for each spelling, called as the object is; ``named``: other names, by the name in the row."""
    return {
        one: Dataset(NS, named.get(one[1] or "", one[1] or one[0]), b'{"dataSource":{"name":"x"}}')
        for one in spoken(content)
    }


def query(content: Content, history: History = NO_HISTORY, **more: Any) -> QueryFacts:
    return QueryFacts("ORG-ACC", "q", 1_000_000, "JSMITH", content, history=history, **more)


def complete(
    content: Content,
    history: History = NO_HISTORY,
    named: Mapping[str, str] | None = None,
    tags: dict[str, list[Tag]] | None = None,
    **settings: Any,
) -> Json:
    """The COMPLETE event. ``tags``: object key -> those in force after the query."""
    answers = Answers(datasets=datasets(content, **(named or {})), tags=tags or {})
    events = run_events(query(content, history), answers, OpenLineageSettings(**settings))
    return dict(json.loads(events[-1].body))


def names(datasets: list[Json]) -> list[str]:
    return [one["name"] for one in datasets]
