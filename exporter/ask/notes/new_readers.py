"""A note on new readers of ``changes`` that rows give without the id of what they read: with it, they may have read the
same under its former name.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import SAME_NAME, Lookups
from exporter.ask.notes.asked import MOST, Asked
from exporter.ask.notes.two_forms import has_name
from exporter.ask.triples import in_utc

_NEW_READER: Final = "new reader"
_SHOWN: Final = 5


def new_readers_by_name(asked: Asked) -> Iterator[str]:
    """A note on readers that are new to what has the name alone, and had read an object with an id that has this name
    since.
    """
    graph, texts = asked.graph, set[str]()
    rows = graph.at_most(asked.answer.dicts(), MOST) if graph.has_mixed_ids() else iter(())
    for row in rows:
        query = row["query_id"] if row["change"] == _NEW_READER else None
        for read in graph.with_text("ah:queryId", query) if query else ():
            time = in_utc(row["query_start_time"] or "")
            users = set(graph.objects(read, "prov:wasAssociatedWith"))
            for nameless in {holder.iri for holder in graph.holders(row["object_name"] or "") if not holder.ident}:
                if any(nameless in graph.objects(access, "ah:accessedObject") for access in graph.accesses_of(read)):
                    texts.update(
                        f"{row['user_name']} had read {asked.label(thing)} ({graph.names_of(thing)[0].thing})"
                        for thing in graph.objects(nameless, SAME_NAME)
                        if has_name(graph, thing, nameless, time)
                        and any(graph.once(_first_reads, thing).get(user, time) < time for user in users)
                    )
    if texts:
        yield (
            "Rows that give no id of what was read have new readers, who may not be new: "
            f"{first_of(sorted(texts), _SHOWN)} before, also under another name."
        )


def _first_reads(graph: Lookups, thing: str) -> dict[str, datetime]:
    """Who read an object, and when first."""
    first = dict[str, datetime]()
    for access in graph.subjects("ah:accessedObject", thing):
        for read in graph.reads_with(access):
            for user in graph.objects(read, "prov:wasAssociatedWith"):
                first[user] = min([*graph.starts_of(read), *([first[user]] if user in first else [])])
    return first
