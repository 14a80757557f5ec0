"""Notes on shares: what was granted to one is read in other accounts, whose reads are not on record here; also through
the views over it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, in_utc
from exporter.ask.notes import views
from exporter.ask.notes.asked import FOLLOWING, Asked
from exporter.ask.notes.grants import granted_as, granted_on_all
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_SHARE: Final = "SHARE"
_ELSEWHERE: Final = "reads in other accounts are in their own ACCESS_HISTORY alone"


class _Shared(NamedTuple):
    """An object, or a view over it, that was granted to a share. ``called``: as in the row of the grant, if it names
    it; ``is_certain``: whether it is certain that the view is over the object.
    """

    thing: str
    called: str
    is_certain: bool


def granted_to_share(asked: Asked) -> Iterator[str]:
    """A note on objects that were granted to a share, or a view over them: their readers in other accounts are not on
    record here.
    """
    if "reads" in asked.question.needs:
        things = asked.asked_objects | (asked.followed if asked.name in FOLLOWING and asked.asked_objects else set())
        for text in _over_in_words(asked, things, with_themselves=True):
            yield f"{text}: {_ELSEWHERE}."


def views_in_shares(asked: Asked) -> Iterator[str]:
    """A note on views over what is asked for that were granted to a share."""
    for text in _over_in_words(asked, asked.asked_objects, with_themselves=False):
        yield f"{text}: ask exposure for it, too."


def shared_in_words(asked: Asked, things: Mapping[str, str]) -> dict[str, str]:
    """The objects that were granted to a share, or a view over them, by a grant that held in the time that is asked
    for; and that in words. ``things``: with their names.
    """
    found = dict[str, str]()
    for thing, every in _shared(asked, things, only_held=True).items():
        over = [one for one in every if one.thing != thing]
        certain = [asked.label(one.thing) for one in over if one.is_certain]
        possible = [asked.label(one.thing) for one in over if not one.is_certain]
        texts = [_itself(one.called, things[thing]) for one in every if one.thing == thing]
        texts += [f"{_views(certain, 'a view over it')} granted to a share"] if certain else []
        texts += [f"{_views(possible, 'which may be a view over it')} granted to a share"] if possible else []
        found[thing] = f"{'; '.join(texts)}: {_ELSEWHERE}"
    return found


def _itself(called: str, name: str) -> str:
    return f"granted to a share{f' as {called}' if called and match_name(called) != match_name(name) else ''}"


def _views(names: Collection[str], what: str) -> str:
    """``D.S.SV, a view over it, is``; of several, ``D.S.SV, a view over it, D.S.W, a view over it, are``."""
    each = list(dict.fromkeys(names))
    return f"{first_of([f'{name}, {what},' for name in each], _SHOWN, ' ')} {'is' if len(each) == 1 else 'are'}"


def _over_in_words(asked: Asked, things: Iterable[str], *, with_themselves: bool) -> Iterator[str]:
    """``D.S.SV, a view over D.S.T, was granted to a share``, for each of them."""
    for thing, every in _shared(asked, things).items():
        for one in every:
            name = one.called or asked.graph.label(one.thing)
            if one.thing != thing:
                over = "a view over" if one.is_certain else "which may be a view over"
                yield f"{name}, {over} {asked.label(thing)}, was granted to a share"
            elif with_themselves:
                yield f"{name} was granted to a share"


def _shared(asked: Asked, things: Iterable[str], *, only_held: bool = False) -> dict[str, list[_Shared]]:
    """The objects that were granted to a share, or a view over them: perhaps with all of a schema or database, or
    through roles. ``only_held``: by a grant that held in the time that is asked for.
    """
    graph = asked.graph
    if not any(graph.with_text("ah:grantedTo", _SHARE)):
        return {}
    over = {thing: {thing: True, **_over(graph, thing)} for thing in sorted(things)}
    every = sorted({one for views_over in over.values() for one in views_over})
    named = _granted(asked, every, only_held=only_held)
    found = {
        thing: [_Shared(one, named[one], certain) for one, certain in views_over.items() if one in named]
        for thing, views_over in over.items()
    }
    return {thing: shared for thing, shared in found.items() if shared}


def _over(graph: Lookups, thing: str) -> dict[str, bool]:
    """The views over an object in either of its forms, with an id and without."""
    found = dict[str, bool]()
    for form in (thing, *sorted(graph.same_names(thing))):
        for view, is_certain in views.over(graph, form).items():
            found[view] = found.get(view, False) or (is_certain and form == thing)
    return {view: is_certain for view, is_certain in found.items() if view != thing}


def _granted(asked: Asked, things: Collection[str], *, only_held: bool) -> dict[str, str]:
    """The objects that were granted to a share; each with its name in the row of the last grant on it, if any."""
    graph, grants = asked.graph, defaultdict[str, set[str]](set)
    for thing, row in granted_on_all(graph, lambda: things):
        first = graph.names_of(thing)[0]
        if not (graph.is_made(first) and in_utc(first.since) > in_utc(row["since"])):
            grants[thing].add(row["grant"])
    direct = {
        thing: {
            grant for form in (thing, *graph.same_names(thing)) for grant in graph.subjects("ah:grantedObject", form)
        }
        for thing in things
    }

    def counts(grant: str) -> bool:
        return not only_held or _held(asked, grant)

    def further(grant: str) -> list[str]:
        grantees = graph.objects(grant, "ah:grantee") if counts(grant) else ()
        return [other for grantee in grantees for other in graph.subjects("ah:grantedObject", grantee)]

    found = dict[str, str]()
    for thing in things:
        for grant in sorted(reachable(sorted(grants[thing] | direct[thing]), further)):
            if _SHARE in graph.objects(grant, "ah:grantedTo") and counts(grant):
                named = granted_as(graph, grant) if grant in direct[thing] else None
                found[thing] = named or found.get(thing, "")
    return found


def _held(asked: Asked, grant: str) -> bool:
    until = asked.graph.text(grant, "ah:validUntil")
    return until is None or asked.since is None or in_utc(until) > asked.since
