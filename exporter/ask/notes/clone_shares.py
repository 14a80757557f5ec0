"""A note on clones that were granted to a share: a CLONE has the data of its source, and grants of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.clones import made_by_clones
from exporter.ask.notes.grants import grants_on_all
from exporter.ask.notes.shares import SHARE, grants_to_shares, shared_of, shares_in_words
from exporter.ask.triples import LATE, Solution, in_utc
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3


class _Clone(NamedTuple):
    """What a CLONE made of an object: by the names of the two at that time. ``account``: of the two; ``origin``: the
    object that is asked for; ``thing``: empty, if no row names it.
    """

    name: str
    source: str
    time: datetime
    account: str
    origin: str
    thing: str = ""


def clones_in_shares(asked: Asked) -> Iterator[str]:
    """For ``exposure``: a grant on a table is not on its clone, and a grant on the clone, or on all tables of a cloned
    schema, is not in the answer of the table.
    """
    graph = asked.graph
    if not asked.things or not any(graph.with_text("ah:grantedTo", SHARE)):
        return
    clones, granted = list(_clones(asked)), list[str]()
    shared = shared_of(asked, {clone.thing for clone in clones if clone.thing})
    for clone in clones:
        own = {clone.thing: shared[clone.thing]} if clone.thing in shared else {}
        texts = [*shares_in_words(asked, own, with_themselves=True), *_with_all(graph, clone)]
        granted += [f"{text} ({clone.name} is from {clone.source})" for text in texts]
    if granted:
        yield (
            f"Came with a CLONE of what is asked for: {first_of(list(dict.fromkeys(granted)), _SHOWN, '; ')}. Ask "
            "exposure for these, too."
        )


def _clones(asked: Asked) -> Iterator[_Clone]:
    """The clones of what is asked for, and those of these, and so on, by the time that is asked for."""
    rows = made_by_clones(asked.graph)

    def further(clone: _Clone) -> Iterator[_Clone]:
        return _of_thing(asked, clone.thing, clone.origin, rows) if clone.thing else _of_unnamed(asked, clone)

    starts = [clone for thing in sorted(asked.things) for clone in _of_thing(asked, thing, thing, rows)]
    yield from (clone for clone in reachable(starts, further) if clone.time <= (asked.until or LATE))


def _of_thing(asked: Asked, thing: str, origin: str, rows: Iterable[Solution]) -> Iterator[_Clone]:
    """The clones of an object, under each of its names. ``rows``: of CLONEs of single objects."""
    for holder in asked.graph.names_of(thing):
        name, since = match_name(holder.name), in_utc(holder.since)
        until, history = in_utc(holder.until) if holder.until else LATE, asked.containers.get(holder.account)
        for step, _ in history.copies(name, history.count_before(since), until) if history else ():
            yield _named(asked, _Clone(step.target, holder.name, step.clone.time, holder.account, origin))
        for row in rows:
            time = in_utc(row["time"])
            if match_name(row["source"]) == name and since <= time <= until and row["made"] != thing:
                yield _Clone(row["target"], holder.name, time, holder.account, origin, row["made"])


def _of_unnamed(asked: Asked, clone: _Clone) -> Iterator[_Clone]:
    """The clones of one that no row names, with its schema or database."""
    history = asked.containers[clone.account]
    for step, _ in history.copies(match_name(clone.name), history.count_until(clone.time)):
        yield _named(asked, _Clone(step.target, clone.name, step.clone.time, clone.account, clone.origin))


def _named(asked: Asked, clone: _Clone) -> _Clone:
    """With what rows show under its name then, or first after that."""
    holders = [holder for holder in asked.graph.holders(clone.name) if holder.account == clone.account]
    later = [holder for holder in holders if in_utc(holder.since) > clone.time]
    for holder in ([holder for holder in holders if holder.holds(clone.time)] or later)[:1]:
        return clone._replace(name=holder.name, thing=holder.iri)
    return clone


def _with_all(graph: Lookups, clone: _Clone) -> Iterator[str]:
    """Grants to a share on all objects of a schema or database, with a clone in it that no row names."""
    for row in grants_on_all(graph) if not clone.thing else ():
        is_then = in_utc(row["since"]) > clone.time and clone.origin.startswith(row["account"])
        is_inside = match_name(clone.name).startswith(f"{match_name(row['label'])}.")
        is_meant = is_then and is_inside and graph.is_of_kind(clone.origin, row["kind"])
        if is_meant and grants_to_shares(graph, [row["grant"]]):
            yield f"{row['privilege']} ON ALL {row['kind']} in {row['label']} was granted to a share"
