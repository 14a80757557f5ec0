"""A note on what rows without an id wrote, and what ended later by rows with the id: the answer still has it.

A DROP, RENAME or SWAP of an object with an id, or a CREATE OR REPLACE of it, ends nothing of what is known by the same
name alone, though it may be the same object (docs/graph.md, "With an id and without").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import SAME_NAME
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.column_names import drops_of, renames_from
from exporter.ask.notes.two_forms import Place, followed, has_name, made_at
from exporter.ask.parameters import as_text
from exporter.ask.triples import EARLY, in_utc

OF_DATA_AT_A_TIME: Final = ("lineage-as-of", "root-cause")
_SHOWN: Final = 5
_LOOKED_AT: Final = 1_000
"""How many objects with an id, of one without, the note looks at, at most: a table may be made anew each night."""


def ended_with_id(asked: Asked) -> Iterator[str]:
    """A note on objects without an id that the data was in, as it was written before an object with an id that had the
    name lost it, was made anew, or lost the column. Without a time, an answer has all that ever was in what is asked
    for.
    """
    graph, texts = asked.graph, dict[str, None]()
    if not graph.has_mixed_ids():
        return
    is_at_a_time = bool(asked.values("at"))
    things = asked.lineage.things - (set() if is_at_a_time else asked.lineage.asked_things)
    for nameless in sorted(things):
        others = sorted(graph.objects(nameless, SAME_NAME))
        written = _written(asked, nameless) if others else []
        place = followed(asked, nameless) if written else Place(nameless, (), ())
        for thing in graph.at_most(others if place.times else (), _LOOKED_AT):
            before = [time for time in written if has_name(graph, thing, nameless, time)]
            for time, text in _ends(asked, thing, nameless, place) if before else ():
                if min(before) < time <= max(place.times):
                    names = graph.names_of(thing)
                    texts[f"{asked.label(nameless)} before {names[0].thing} {text} at {as_text(time)}"] = None
    if texts:
        yield (
            f"Rows that give no id of the object wrote {first_of([*texts], _SHOWN, '; ')}. The answer still has "
            "what they wrote, though it may have been in that object, and have ended with it."
        )


def _written(asked: Asked, nameless: str) -> list[datetime]:
    """When queries wrote what the data of the answer was in."""
    return [
        time
        for state in asked.graph.subjects("prov:specializationOf", nameless)
        if state in asked.lineage.states
        for time in made_at(asked.graph, state)
        if time != EARLY
    ]


def _ends(asked: Asked, thing: str, nameless: str, place: Place) -> Iterator[tuple[datetime, str]]:
    """When an object with an id lost the name of one without, was made anew, or lost the columns, and how."""
    graph, columns = asked.graph, _columns(asked, nameless, place)
    keys = {holder.key for holder in graph.names_of(nameless)}
    for holder in graph.names_of(thing):
        if holder.key in keys and holder.until is not None:
            yield in_utc(holder.until), "lost that name"
    yield from ((time, "was made anew") for time in graph.replacements(thing, None))
    for column in graph.columns_of(thing, columns) if columns else ():
        yield from ((time, f"lost the column {graph.label(column)}") for time in drops_of(graph, column))
        yield from ((time, f"lost the column {graph.label(column)}") for time in renames_from(graph, column))


def _columns(asked: Asked, nameless: str, place: Place) -> Collection[str]:
    """The columns that the data was in; none for the whole."""
    is_asked = nameless in asked.lineage.asked_things
    return {*place.columns, *(asked.match_names("column_name") if is_asked else ())}
