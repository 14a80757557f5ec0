"""Notes on shares: what was granted to one is read in other accounts, whose reads are not on record here; also through
the views over it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes import views
from exporter.ask.notes.asked import FOLLOWING, MOST, Asked
from exporter.ask.notes.grants import granted_as, granted_on_all, perhaps_kept
from exporter.ask.parameters import as_text
from exporter.ask.triples import LATE, MOMENT, in_utc
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3
SHARE: Final = "SHARE"
_KEPT: Final = ", if COPY GRANTS kept the grant when it was made anew ({})"
OF_VIEW: Final = ": ask exposure for it, too."
"""Ends a note on a view that was granted to a share."""
_ENDED: Final = " (until "
_EARLIER: Final = "; of what a share has no more, with at, for a time before it ended"
_ELSEWHERE: Final = "reads in {} are in their own ACCESS_HISTORY alone"


class _Shared(NamedTuple):
    """An object, or a view over it, that was granted to a share. ``called``: as in the row of the grant, if it names
    it; ``is_certain``: whether it is certain that the view is over the object; ``kept``: when it was made anew, if the
    grant holds only if it was kept then.
    """

    thing: str
    called: str
    is_certain: bool
    kept: str


def granted_to_share(asked: Asked) -> Iterator[str]:
    """A note on objects that were granted to a share, or a view over them: their readers in other accounts are not on
    record here.
    """
    if "reads" in asked.question.needs:
        things = asked.asked_objects | (asked.followed if asked.name in FOLLOWING and asked.asked_objects else set())
        for text in shares_in_words(asked, shared_of(asked, things), with_themselves=True):
            yield f"{text}: {_ELSEWHERE.format(asked.other_accounts)}."


def views_in_shares(asked: Asked) -> Iterator[str]:
    """A note on views over what is asked for that were granted to a share."""
    for text in shares_in_words(asked, shared_of(asked, asked.asked_objects), with_themselves=False):
        yield f"{text}{OF_VIEW}"


def granted_to_asked(asked: Asked) -> Iterator[str]:
    """A note on what was granted to the shares and roles that are asked for: the answer has who may use these alone."""
    graph, until = asked.graph, asked.until

    def is_held(grant: str) -> bool:
        since, end = graph.text(grant, "ah:validFrom") or "", graph.text(grant, "ah:validUntil")
        return asked.is_by_then(since) and (end is None or (until is not None and in_utc(end) > until))

    for thing in sorted(asked.things):
        forms = (thing, *graph.same_names(thing))
        grants = filter(is_held, (grant for form in forms for grant in graph.subjects("ah:grantee", form)))
        names = {
            asked.label(granted_object)
            for grant in grants
            for granted_object in graph.objects(grant, "ah:grantedObject")
        }
        if names:
            yield (
                f"The answer has who may use {asked.label(thing)}, and not what is granted to it: "
                f"{first_of(sorted(names), _SHOWN)}. Ask exposure of these, or of everything, too."
            )


def shares_beyond(asked: Asked) -> Iterator[str]:
    """Notes on shares that an answer about where data ended up lacks: of views that it does not follow, and by grants
    that it does not.
    """
    column = asked.answer.columns.index("target_name")
    followed = {match_name(name) for row in asked.graph.at_most(asked.answer.rows, MOST) if (name := row[column])}
    things = {*asked.asked_objects, *asked.followed}
    shared = shared_of(asked, things)
    for text in shares_in_words(asked, shared, with_themselves=False, but=followed):
        yield f"{text}, and the answer does not follow it there: ask end-up of this view, too."
    for name in _brought_by_clones(asked, followed, shared):
        yield (
            f"{name} came with a CLONE and was granted to a share, and the answer does not have it: ask end-up of it, "
            "too."
        )
    named = [
        (granted, granted.called or asked.graph.label(granted.thing))
        for granted_objects in shared.values()
        for granted in granted_objects
    ]
    has = {granted: name for granted, name in named if granted.thing in things or match_name(name) in followed}
    kept = {
        f"{name} at {granted.kept}" for granted, name in has.items() if granted.kept and asked.is_by_then(granted.kept)
    }
    if kept:
        yield (
            f"Granted to a share, and then made anew (CREATE OR REPLACE): {first_of(sorted(kept), _SHOWN)}. The answer "
            "has the share only for what came there before, though COPY GRANTS keeps grants, and rows do not say "
            "whether it was used."
        )
    if lacking := _not_followed(asked, {granted.thing for granted in has if granted.is_certain}):
        yield (
            "Granted to shares in ways that the answer does not follow (to a role that the share has; by rows with an "
            f"id, where others give none, or without): {first_of(lacking, _SHOWN)}. Ask exposure for these, too"
            f"{_EARLIER if any(_ENDED in text for text in lacking) else ''}."
        )


def _brought_by_clones(asked: Asked, has: Collection[str], shared: Mapping[str, Iterable[_Shared]]) -> list[str]:
    """The shared objects that came with a CLONE of their schema or database, and that no query used since: an answer
    that begins with queries lacks them. ``has``: the names in it.
    """
    lineage = asked.lineage
    inferred = {lineage.thing(state) for state in lineage.states if asked.graph.text(state, "ah:inferredFrom")}
    own = {
        thing for thing, granted_objects in shared.items() if any(granted.thing == thing for granted in granted_objects)
    }
    cloned = (thing for thing in (inferred & own) - asked.asked_objects if any(_all_grants(asked, thing)))
    return sorted(name for name in map(asked.label, cloned) if match_name(name) not in has)


def shared_in_words(asked: Asked, things: Mapping[str, str]) -> dict[str, str]:
    """The objects that were granted to a share, or a view over them, by a grant that held in the time that is asked
    for; and that in words. ``things``: with their names.
    """
    in_words = dict[str, str]()
    for thing, granted_objects in shared_of(asked, things, only_held=True).items():
        texts = dict[str, str]()
        for granted in sorted(granted_objects, key=lambda granted: granted.kept):  # what is certain counts
            own = granted.called if match_name(granted.called) != match_name(things[thing]) else ""
            over = "a view over it" if granted.is_certain else "which may be a view over it"
            view = "" if granted.thing == thing else asked.label(granted.thing)
            given = f"{view}, {over}, is granted to a share" if view else f"granted to a share{own and f' as {own}'}"
            texts.setdefault(view, f"{given}{_KEPT.format(granted.kept) if granted.kept else ''}")
        in_words[thing] = f"{first_of([*texts.values()], _SHOWN, '; ')}: {_ELSEWHERE.format(asked.other_accounts)}"
    return in_words


def _not_followed(asked: Asked, things: Collection[str]) -> list[str]:
    """``D.S.SV to OUT``, for each of these objects and the shares that have it, if none of the objects was granted to
    the share itself; with the time if the share has it no more.
    """
    graph, end = asked.graph, asked.until or LATE - MOMENT

    def shares(grants: Iterable[str]) -> set[str]:
        to_shares = (grant for grant in grants if SHARE in graph.objects(grant, "ah:grantedTo"))
        return {share for grant in to_shares for share in _grantees(graph, grant)}

    has, texts = shares(grant for thing in things for grant in graph.subjects("ah:grantedObject", thing)), set[str]()
    for thing in things:
        all_grants = list(_all_grants(asked, thing))
        ends = {in_utc(time) for grant in all_grants for time in graph.objects(grant, "ah:validUntil")}
        for share in shares(all_grants) - has:
            held = (
                time for time in (end, *sorted(ends, reverse=True)) if share in shares(_all_grants(asked, thing, time))
            )
            until = next(held, None)
            if until is not None:  # the one ended before the other began
                ended = "" if until == end else f"{_ENDED}{as_text(until)})"
                texts.add(f"{asked.label(thing)} to {graph.label(share)}{ended}")
    return sorted(texts)


def _all_grants(asked: Asked, thing: str, at: datetime | None = None) -> Iterable[str]:
    """The grants on an object in either of its forms, and on what has these, that were made by the time asked for.
    ``at``: those that held until this time, or longer.
    """
    graph = asked.graph

    def counts(grant: str) -> bool:
        since, until = graph.text(grant, "ah:validFrom"), graph.text(grant, "ah:validUntil")
        is_held = at is None or (bool(since) and in_utc(since or "") < at and (until is None or at <= in_utc(until)))
        return bool(since) and asked.is_by_then(since or "") and is_held

    def on(granted_object: str) -> Iterator[str]:
        return filter(counts, graph.subjects("ah:grantedObject", granted_object))

    starts = (grant for form in (thing, *sorted(graph.same_names(thing))) for grant in on(form))
    return reachable(
        starts, lambda grant: (further for grantee in _grantees_in_both_forms(graph, grant) for further in on(grantee))
    )


def _grantees(graph: Lookups, grant: str) -> Iterator[str]:
    return graph.objects(grant, "ah:grantee")


def _grantees_in_both_forms(graph: Lookups, grant: str) -> Iterator[str]:
    """With its id and without: the row of a share names its roles alone, and that of a grant gives the role's id."""
    for grantee in _grantees(graph, grant):
        yield from (grantee, *sorted(graph.same_names(grantee)))


def shares_in_words(
    asked: Asked, shared: Mapping[str, Iterable[_Shared]], *, with_themselves: bool, but: Collection[str] = ()
) -> Iterator[str]:
    """``D.S.SV, a view over D.S.T, was granted to a share``, for each of them. ``but``: names of views to leave out."""
    labels = {
        thing: asked.label(thing)
        for thing, granted_objects in shared.items()
        if any(granted.thing != thing for granted in granted_objects)
    }
    certain = {
        (granted.thing, label) for thing, label in labels.items() for granted in shared[thing] if granted.is_certain
    }
    for thing, granted_objects in shared.items():
        # Of several objects that had one name, the first is the most certain.
        by_name = {
            granted.called or asked.graph.label(granted.thing): granted for granted in reversed([*granted_objects])
        }
        for name, granted in sorted(by_name.items()):
            if granted.thing != thing and match_name(name) not in but:
                # Of an object with an id and without, it can be certain of the one alone.
                is_certain = (granted.thing, labels[thing]) in certain
                over = "a view over" if is_certain else "which may be a view over"
                yield f"{name}, {over} {labels[thing]}, was granted to a share"
            elif granted.thing == thing and with_themselves:
                yield f"{name} was granted to a share"


def shared_of(asked: Asked, things: Iterable[str], *, only_held: bool = False) -> dict[str, list[_Shared]]:
    """The objects that were granted to a share, or a view over them: perhaps with all of a schema or database, or
    through roles. ``only_held``: by a grant that held in the time that is asked for.
    """
    graph = asked.graph
    if not any(graph.with_text("ah:grantedTo", SHARE)):
        return {}
    over = {thing: {thing: True, **_over(graph, thing, asked.since)} for thing in sorted(things)}
    things_and_views = sorted({shared_thing for views_over in over.values() for shared_thing in views_over})
    named = _granted(asked, things_and_views, only_held=only_held)
    shared = defaultdict[str, list[_Shared]](list)
    for thing, views_over in over.items():
        for shared_thing in filter(named.__contains__, views_over):
            called, kept, begin = named[shared_thing]
            # A share that was given a view later has what the view shows from then on.
            then = views_over if shared_thing == thing else _over(graph, thing, max(begin, asked.since or begin))
            if shared_thing in then:
                shared[thing].append(_Shared(shared_thing, called, then[shared_thing], kept))
    return dict(shared)


def grants_to_shares(
    graph: Lookups, starts: Iterable[str], counts: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """The grants to shares that these are, or lead to through roles. ``counts``: whether a further one does."""

    def further(grant: str) -> Iterator[str]:
        for grantee in _grantees_in_both_forms(graph, grant):
            yield from filter(counts, graph.subjects("ah:grantedObject", grantee))

    reached = reachable(sorted(starts), further)
    return sorted(grant for grant in reached if SHARE in graph.objects(grant, "ah:grantedTo"))


def _over(graph: Lookups, thing: str, since: datetime | None) -> dict[str, bool]:
    """The views over an object in either of its forms, with an id and without, from a time on."""
    certain_by_view = dict[str, bool]()
    for form in (thing, *sorted(graph.same_names(thing))):
        for view, is_certain in views.over(graph, form, since).items():
            certain_by_view[view] = certain_by_view.get(view, False) or (is_certain and form == thing)
    return {view: is_certain for view, is_certain in certain_by_view.items() if view != thing}


def _granted(asked: Asked, things: Collection[str], *, only_held: bool) -> dict[str, tuple[str, str, datetime]]:
    """The objects that were granted to a share; each with its name in the row of the last grant on it, if any, with
    when it was made anew, if the grant holds only if it was kept then, and with when the first grant on it began.
    """
    graph, around, kept = asked.graph, _around(asked.graph, things), perhaps_kept(asked.graph)

    def counts(grant: str) -> bool:
        return not only_held or _held(asked, grant)

    def to_share(starts: Iterable[str]) -> list[str]:
        return grants_to_shares(graph, starts, counts)

    def begin(grants: Iterable[str]) -> datetime:
        return min(in_utc(time) for grant in grants for time in graph.objects(grant, "ah:validFrom"))

    by_thing = dict[str, tuple[str, str, datetime]]()
    for thing in things:
        forms = (thing, *graph.same_names(thing))
        own = {grant for form in forms for grant in graph.subjects("ah:grantedObject", form)}
        names = [granted_as(graph, grant) or "" for grant in to_share(filter(counts, own)) if grant in own]
        if to_shares := [grant for grant in filter(counts, own | around.get(thing, set())) if to_share([grant])]:
            by_thing[thing] = next(filter(None, reversed(names)), ""), "", begin(to_shares)
            continue
        for ended in kept.get(thing, ()):
            if to_share([ended.grant]):
                by_thing[thing] = granted_as(graph, ended.grant) or "", ended.until, begin([ended.grant])
    return by_thing


def _around(graph: Lookups, things: Collection[str]) -> dict[str, set[str]]:
    """The objects that were granted with all of a schema or database -> these grants."""
    grants = defaultdict[str, set[str]](set)
    for thing, row in granted_on_all(graph, lambda: things):
        grants[thing].add(row["grant"])
    return grants


def _held(asked: Asked, grant: str) -> bool:
    until = asked.graph.text(grant, "ah:validUntil")
    return until is None or asked.since is None or in_utc(until) > asked.since
