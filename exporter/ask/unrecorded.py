"""Notes on schemas and databases that were dropped, replaced, renamed or swapped, in all questions and pages.

Their rows do not name the objects in them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.places import RENAME, SWAP, Statement
from exporter.model.clones import BEGINS, RESTORES
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.ask.asked import Asked
    from exporter.ask.lookups import NameHolder

_SHOWN: Final = 5
_DONE: Final = {"DROP": "dropped", "REPLACE": "replaced", RENAME: "renamed to", SWAP: "swapped with"}
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
UNLISTED: Final = "No row lists what was in it: the answer may have"
"""Part of each note of :func:`containers`."""
_AS_IT_WAS: Final = ("user-history", "policy-access", "joins", "statements-of-request", "page-query")
"""Beginnings of questions whose answers have the names of objects as they were in the rows of queries."""
_between_names: Final = re.compile(r", |=").split


class _Event(NamedTuple):
    """A DROP, REPLACE, RENAME or SWAP. ``is_undone``: whether an UNDROP took it back later. Objects with an id were
    dropped and restored with the schema or database.
    """

    statement: Statement
    is_undone: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """With what the names of the objects in it begin, before and after the event."""
        return tuple(f"{match_name(text)}." for text in self.statement.names)

    @property
    def text(self) -> str:
        said = self.statement
        other = f" {said.other}" if said.other else ""
        return f"{said.name} was {_DONE[said.operation]}{other} at {said.at} (query {said.query_id})"

    def is_of(self, holders: Iterable[NameHolder]) -> bool:
        """Whether an object had one of these names then. A later UNDROP restored an object with an id."""
        return any(
            self.statement.account == holder.account
            and not (self.is_undone and holder.ident is not None)
            and holder.holds(self.statement.time)
            for holder in holders
        )


def containers(asked: Asked) -> Iterator[str]:
    """A note for each schema or database with objects that are asked for or in the answer, if it was dropped, replaced,
    renamed or swapped by the time that is asked for.
    """
    graph, events = asked.graph, _events(asked)
    if not events:
        return
    asked_holders: dict[str, list[NameHolder]] = {name: [] for name in asked.match_names()}
    for holder in (holder for thing in asked.about for holder in graph.names_of(thing)):
        asked_holders.setdefault(match_name(holder.name), []).append(holder)
    answered = set[str]() if asked.name.startswith(_AS_IT_WAS) else _within(asked, events)
    holders = {**{name: graph.holders(name) for name in sorted(answered)}, **asked_holders}
    texts = []
    for event in events:
        concerned = [name for name in holders if name.startswith(event.prefixes)]
        others = {name: event.statement.counterpart(name) for name in concerned if name in asked_holders}
        renamed = {name for name, other in others.items() if other and event.is_of(graph.holders(other))}
        names = sorted(name for name in concerned if name in renamed or event.is_of(holders[name]))
        if names:
            ask = sorted({others[name] for name in names if others.get(name)} - set(asked_holders))
            texts.append(
                f"{event.text}. {UNLISTED} {first_of(names, _SHOWN)} as if that had not been done."
                + (f" Ask for {first_of(ask, _SHOWN)}, too." if ask else "")
            )
    yield from texts[-_SHOWN:]
    if len(texts) > _SHOWN:
        yield f"There are {len(texts) - _SHOWN} more such statements before these."


def _events(asked: Asked) -> list[_Event]:
    """All until the time that is asked for, in order, but for what an UNDROP took back by then."""
    until = asked.until
    found = list[_Event]()
    for places in asked.places.values():
        undone = {end: places.statements[undrop].time for end, undrop in places.undone.items()}
        found += [
            _Event(statement, place in undone)
            for place, statement in enumerate(places.statements)
            if statement.operation not in {BEGINS, RESTORES}
            if (place not in undone if until is None else statement.time <= until < undone.get(place, _NEVER))
        ]
    return sorted(found)


def _within(asked: Asked, events: Iterable[_Event]) -> set[str]:
    """The names in the answer that are in schemas or databases to which something happened."""
    prefixes = tuple({prefix for event in events for prefix in event.prefixes})
    cells = {cell for row in asked.answer.rows for cell in row if cell}
    return {name for cell in cells for part in _between_names(cell) if (name := match_name(part)).startswith(prefixes)}
