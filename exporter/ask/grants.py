"""Notes on grants: on all objects of a schema or database, to shares, and those that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, in_utc
from exporter.ask.lookups import Lookups
from exporter.ask.protection import holds
from exporter.ask.without_ids import has_mixed_ids, same_names
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_ON_ALL: Final = """\
SELECT DISTINCT ?grant ?label ?privilege ?kind ?account ?since ?until WHERE {
  ?grant ah:onAll ?kind ; ah:grantedObject ?around ; ah:validFrom ?since .
  ?around rdfs:label ?label .
  OPTIONAL { ?grant ah:validUntil ?until }
  OPTIONAL { ?grant ah:privilege ?privilege }
  BIND(REPLACE(STR(?around), "[^/]+/(name/)?[^/]+$", "") AS ?account)
}
"""


def granted_on_all(graph: Lookups, things: Callable[[], Iterable[str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Objects, each with a grant on all objects of its kind in a schema or database that it has or had a name in.
    ``things``: gives the objects; called only if there is such a grant.
    """
    rows = list(graph.select(_ON_ALL))
    for thing in things() if rows else ():
        names = [] if graph.is_of_other(thing) else [holder.name for holder in graph.names_of(thing)]
        for row in rows:
            is_inside = any(name.startswith(f"{row['label']}.") for name in names)
            if is_inside and thing.startswith(row["account"]) and graph.is_of_kind(thing, row["kind"]):
                yield thing, row


def on_all(asked: Asked) -> Iterator[str]:
    """Grants on all objects of a schema or database that what is asked for is in, if they hold at the time; or that
    what the data went to is in, if they were made by then.
    """
    if asked.name not in {"end-up", "exposure"} or not asked.things:
        return
    times = asked.times("at")
    grants = [
        f"{row['privilege']} ON ALL {row['kind']} in {row['label']}"
        for _, row in granted_on_all(asked.graph, lambda: asked.things if asked.name == "exposure" else asked.followed)
        if (holds(row, times) if asked.name == "exposure" else not asked.until or in_utc(row["since"]) < asked.until)
    ]
    if grants:
        where = "" if asked.name == "exposure" else "exposure "
        yield (
            f"Granted on all that was in a schema or database then: {first_of(sorted(set(grants)), _SHOWN)}. Rows do "
            f"not list what that was: ask {where}for the schema or database, too."
        )


def shared(asked: Asked) -> Iterator[str]:
    """A note on objects that were granted to a share: their readers in other accounts are not on record here."""
    for thing in sorted(asked.about) if "reads" in asked.question.needs else ():
        forms = (thing, *same_names(asked.graph, thing))
        grants = {grant for form in forms for grant in asked.graph.subjects("ah:grantedObject", form)}
        names = [
            granted_as(asked.graph, grant) or asked.graph.label(thing)
            for grant in sorted(grants)
            if "SHARE" in asked.graph.objects(grant, "ah:grantedTo")
        ]
        for name in names[-1:]:
            yield f"{name} was granted to a share: reads in other accounts are in their own ACCESS_HISTORY alone."


def listings(asked: Asked) -> Iterator[str]:
    """A note if the graph has listings, which publish shares."""
    if asked.name == "exposure" and any(asked.graph.of_class("ah:Listing")):
        yield ("Rows of listings say to whom a share is published (their targets): the answer does not have that.")


def granted_as(graph: Lookups, grant: str) -> str | None:
    """The name that the row of a grant gives what is granted: it may have another one now, as what a SWAP put aside."""
    return graph.text(grant, "ah:objectName")


def ended(asked: Asked) -> Iterator[str]:
    """What an answer leaves out of what is asked for: grants that ended before the time that is asked for, or before
    the end of the record, also those of the shares and roles that it was granted to; if none holds again.
    """
    if asked.name != "exposure" or not (asked.things or not asked.answer.rows):
        return
    graph, time = asked.graph, max(asked.times("at"), default=None)
    things = asked.things or {thing for grant in graph.of_class("ah:Grant") for thing in _granted(graph, grant)}

    found, held = dict[tuple[str, ...], tuple[str, str, str]](), set[tuple[str, ...]]()
    for thing in _with_grantees(graph, things):
        for grant in sorted(graph.subjects("ah:grantedObject", thing)):
            since, until = (graph.text(grant, term) for term in ("ah:validFrom", "ah:validUntil"))
            terms = ("ah:privilege", "ah:onAll", "ah:grantee")
            # By name: of a table that is made anew each night, each one has its own grants.
            key = (match_name(granted_as(graph, grant) or thing), *(graph.text(grant, term) or "" for term in terms))
            if since is None or (time and in_utc(since) > time):
                continue
            if until is None or (time and in_utc(until) > time):
                held.add(key)
            elif key not in found or in_utc(found[key][0]) < in_utc(until):
                found[key] = (until, since, grant)
    latest = sorted((one for key, one in found.items() if key not in held), key=lambda one: in_utc(one[0]))[::-1]
    if latest:
        when = f"at {', '.join(asked.values('at'))}" if time else "at the end of the record"
        texts = [f"{_what(graph, grant)} from {since} until {until}" for until, since, grant in latest]
        yield (
            f"The answer has grants that hold {when}. Earlier ones ended, when they were revoked or with what was "
            f"granted: {first_of(texts, _SHOWN)}. Ask with at for a time when they held."
        )


def of_names(asked: Asked) -> Iterator[str]:
    """A note on grants in an answer whose rows give no id of what was granted, if other rows give one, and this object
    lost the name later.
    """
    if asked.name != "exposure" or not has_mixed_ids(asked.graph):
        return
    graph, time = asked.graph, max(asked.times("at"), default=None)
    things = asked.things or {thing for grant in graph.of_class("ah:Grant") for thing in _granted(graph, grant)}
    found = list[str]()
    for thing in _with_grantees(graph, things):
        forms = {one for one in same_names(graph, thing) if graph.text(one, "ah:objectId")}
        if graph.text(thing, "ah:objectId") or not forms:
            continue
        names = {match_name(holder.name) for holder in graph.names_of(thing)}
        every = [one for form in sorted(forms) for one in graph.names_of(form) if match_name(one.name) in names]
        for grant in sorted(graph.subjects("ah:grantedObject", thing)):
            since, until = (graph.text(grant, term) for term in ("ah:validFrom", "ah:validUntil"))
            if since is None or (time and in_utc(since) > time) or (until and (not time or in_utc(until) <= time)):
                continue
            later = [one for one in every if in_utc(one.since) > in_utc(since) and not graph.is_made(one)]
            held = [one for one in every if one.holds(in_utc(since))] or sorted(later, key=lambda one: one.order)[:1]
            ends = [
                f"object_id={one.ident} until {one.until}"
                for one in held
                if one.until and (not time or in_utc(one.until) <= time)
            ]
            if ends:
                found.append(f"{_what(graph, grant)} from {since} ({first_of(ends, _SHOWN)})")
    if found:
        yield (
            "Rows of grants give no id of what is granted, and an object that had the name lost it later: "
            f"{first_of(found, _SHOWN, '; ')}. The answer has these grants under the name as if they still held: if "
            "they were on that object, they ended with it, or it has them under another name."
        )


def _granted(graph: Lookups, grant: str) -> Iterator[str]:
    return graph.objects(grant, "ah:grantedObject")


def _with_grantees(graph: Lookups, things: Iterable[str]) -> list[str]:
    """The objects, and the shares and roles that they were granted to."""

    def further(thing: str) -> Iterator[str]:
        for grant in graph.subjects("ah:grantedObject", thing):
            yield from graph.objects(grant, "ah:grantee")

    return sorted(set(reachable(things, further)))


def _what(graph: Lookups, grant: str) -> str:
    """``SELECT on D.S.T to OUT``; of a share or role that was granted, its name in place of the privilege."""
    privilege, on_all = graph.text(grant, "ah:privilege"), graph.text(grant, "ah:onAll")
    name = granted_as(graph, grant) or next(map(graph.label, _granted(graph, grant)), "")
    whom = graph.text(grant, "ah:granteeName") or next(map(graph.label, graph.objects(grant, "ah:grantee")), "")
    on = f" ON ALL {on_all} in " if on_all else " on "
    return f"{privilege + on if privilege else ''}{name} to {whom}"
