"""Notes on tags that a table lost because it was made anew: what took its place lacks them, which no row says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from exporter.ask.anew import (
    Namesakes,
    as_it_came,
    asked_in,
    columns_of,
    entries_in_words,
    entries_of,
    histories,
    period_of,
    then_of,
)
from exporter.ask.asked import Asked
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.mask_periods import WHOLE, Held, Period, tags_of

_QUESTIONS: Final = ("changes", "policy-coverage", "tag-history")
_LOOKED_AT: Final = 10_000


def lost_with_the_object(asked: Asked) -> Iterator[str]:
    """A note on what got the names of tagged objects, and of which no row shows that it has the tag. An answer without
    rows says of policy-coverage which tags ended.
    """
    if asked.name not in _QUESTIONS or (asked.name == "policy-coverage" and not asked.answer.rows):
        return
    columns = asked.match_names("column_name")
    every = (one for holders in histories(asked, _things(asked)) for one in _lost(asked, holders))
    found = [one._replace(columns=one.columns & {*columns, WHOLE} if columns else one.columns) for one in every]
    found = [one for one in found if one.columns]
    if found:
        yield (
            "Another object got the name of one that had a tag (as by CREATE OR REPLACE or a SWAP, also of the "
            f"schema), and no row shows the tag on it{then_of(asked)}: {entries_in_words(asked, entries_of(found))}."
        )


def _things(asked: Asked) -> set[str]:
    """The objects that are asked for; what has or had a tag, if it is all."""
    if asked.values("object_name", "object_id", "object"):
        return asked.about
    graph = asked.graph
    settings = islice(graph.of_class("ah:TagSetting"), _LOOKED_AT)
    return {thing for setting in settings for thing in graph.objects(setting, "ah:settingOn")}


def _lost(asked: Asked, holders: Sequence[NameHolder]) -> Iterator[Namesakes]:
    """Those of the objects that had one name, in order, that lack a tag in the time that is asked for that a former one
    had when it lost the name.
    """
    graph, asked_tags = asked.graph, asked.match_names("tag_name")
    on = {holder.iri: tags_of(graph, holder.iri) for holder in holders}
    for tag in sorted({tag for tags in on.values() for tag in tags}):
        if asked_tags and asked_tags.isdisjoint(holder.key[1] for holder in graph.names_of(tag)):
            continue
        tagged = dict[str, NameHolder]()
        for holder in holders:
            named, own = period_of(holder, holders), on[holder.iri].get(tag, {})
            former = {column: one for column, one in tagged.items() if one.iri != holder.iri}
            times = [
                Period(max(time.begin, named.begin), min(time.end, named.end))
                for time in (asked_in(asked, holder.iri, named) if former else ())
                if not graph.was_dropped(tag, time.begin)
            ]
            lost = _lacking(graph, holder, set(former), own, times)
            if lost and (not asked.about or holder.iri in asked.about):
                last = max((former[one] for one in lost), key=lambda one: one.order)
                yield Namesakes(
                    as_it_came(asked, holder), last, lost, lasts=named.end - named.begin, had=graph.label(tag)
                )
            for column, every in own.items():  # one that was unset is not lost
                tagged.pop(column, None)
                if any(held.since < named.end <= held.sure for held in every):
                    tagged[column] = holder


def _lacking(
    graph: Lookups, holder: NameHolder, columns: set[str], own: dict[str, list[Held]], times: Sequence[Period]
) -> set[str]:
    """The columns of an object on which no row has set the tag by the end of one of the times at least. What was set on
    it, and unset, is not lost.
    """
    there = {*columns_of(graph, holder.iri), WHOLE}
    return {
        column
        for column in columns & there
        if any(not any(held.since < time.end for held in own.get(column, ())) for time in times)
    }
