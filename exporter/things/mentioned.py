"""What a query says to each object that it names, when it starts and when it ends: the same each time it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.queries.effects import effects
from exporter.queries.mentions import sightings
from exporter.things.stories import Ended, Started

if TYPE_CHECKING:
    from exporter.queries.effects import Effect
    from exporter.queries.facts import QueryFacts


def said(facts: QueryFacts) -> list[tuple[str, Started, Ended | None]]:
    """Object key, what is said at the start, and at the end (None: it changes nothing), in the order of keys."""
    done, names = effects(facts.content), sightings(facts)
    return [
        (key, _started(done.get(key), tuple(sorted(names.get(key, ())))), _ended(done.get(key)))
        for key in sorted(done.keys() | names.keys())
    ]


def _started(effect: Effect | None, names: tuple[tuple[int, str], ...]) -> Started:
    if effect is None:
        return Started(names=names)
    return Started(effect.is_read, effect.source_columns, names, effect.settings)


def _ended(effect: Effect | None) -> Ended | None:
    if effect is None or not (effect.drops or effect.makes or effect.renamed or effect.written):
        return None
    renamed = tuple(dict.fromkeys(former for former, _ in effect.renamed))
    return Ended(effect.drops, effect.makes, effect.creates, renamed, effect.written)
