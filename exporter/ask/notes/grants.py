"""Notes on grants: on all objects of a schema or database, those that ended, and those that a revoke without
an id may have ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import CONTAINERS
from exporter.ask.lookups import Lookups, NameHolder, account_part
from exporter.ask.notes.asked import Asked
from exporter.ask.notes.policies import holds
from exporter.ask.notes.views import with_over
from exporter.ask.parameters import as_text
from exporter.ask.triples import LATE, Solution, in_utc
from exporter.graph.terms import full
from exporter.input.properties import read
from exporter.model.effects import CREATES, HOLDERS
from exporter.model.facts import Grant, ObjectReference
from exporter.model.grants import ANY, grants
from exporter.model.identifiers import match_name
from exporter.model.objects import reference_of
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_AGAIN: Final = "created again"
_ON_ALL: Final = """\
SELECT DISTINCT ?grant ?label ?privilege ?kind ?account ?since ?until WHERE {
  ?grant ah:onAll ?kind ; ah:grantedObject ?around ; ah:validFrom ?since .
  ?around rdfs:label ?label .
  OPTIONAL { ?grant ah:validUntil ?until }
  OPTIONAL { ?grant ah:privilege ?privilege }
  BIND(REPLACE(STR(?around), "[^/]+/(name/)?[^/]+$", "") AS ?account)
}
"""


def grants_on_all(graph: Lookups) -> list[Solution]:
    """The grants on all objects of a kind in a schema or database, which is ``label``."""
    return list(graph.select(_ON_ALL))


def granted_on_all(graph: Lookups, things: Callable[[], Iterable[str]]) -> Iterator[tuple[str, Solution]]:
    """Objects, each with a grant on all objects of its kind in a schema or database that it may have been in then.
    ``things``: gives the objects; called only if there is such a grant.
    """
    rows = grants_on_all(graph)
    for thing in things() if rows else ():
        names = [] if graph.is_of_other(thing) else graph.names_of(thing)
        for row in rows:
            inside = [holder for holder in names if holder.name.startswith(f"{row['label']}.")]
            is_meant = inside and thing.startswith(row["account"]) and graph.is_of_kind(thing, row["kind"])
            if is_meant and any(_may_hold(graph, holder, in_utc(row["since"])) for holder in inside):
                yield thing, row


def _may_hold(graph: Lookups, holder: NameHolder, time: datetime) -> bool:
    """Whether an object may have had a name at a time: not once it has lost it, nor before a row made it, or gave it
    the name. A name that rows only show can be older.
    """
    if holder.until is not None and in_utc(holder.until) <= time:
        return False
    return in_utc(holder.since) <= time or not any(
        graph.text(change, "prov:startedAtTime") == holder.since
        and (
            graph.text(change, "ah:operation") in CREATES
            or graph.text(change, "ah:newName")
            or graph.text(change, "ah:swappedWithName")
        )
        for change in graph.subjects("ah:changedObject", holder.iri)
    )


def granted_on_all_objects(asked: Asked) -> Iterator[str]:
    """Grants on all objects of a schema or database that what is asked for is in, if they hold at the time; or that
    what the data went to, or a view over it, is in, if they were made by then.
    """
    if not asked.things:
        return
    times, of_grants = asked.times("at"), asked.name == "exposure"
    grants = [
        f"{row['privilege']} ON ALL {row['kind']} in {row['label']}"
        for _, row in granted_on_all(
            asked.graph, lambda: asked.things if of_grants else with_over(asked, asked.followed)
        )
        if (holds(row, times) if of_grants else not asked.until or in_utc(row["since"]) < asked.until)
    ]
    if grants:
        where = "" if of_grants else "exposure "
        yield (
            f"Granted on all that was in a schema or database then: {first_of(sorted(set(grants)), _SHOWN)}. Rows do "
            f"not list what that was: ask {where}for the schema or database, too."
        )


def listings(asked: Asked) -> Iterator[str]:
    """A note if the graph has listings, which publish shares."""
    if any(asked.graph.of_class("ah:Listing")):
        yield ("Rows of listings say to whom a share is published (their targets): the answer does not have that.")


def granted_as(graph: Lookups, grant: str) -> str | None:
    """The name that the row of a grant gives what is granted: it may have another one now, as what a SWAP put aside."""
    return graph.text(grant, "ah:objectName")


class _Ended(NamedTuple):
    """A grant that ended. ``heirs``: what was made in the place of what was granted, one after the other."""

    until: str
    since: str
    grant: str
    heirs: tuple[str, ...] = ()


def ended_grants(asked: Asked) -> Iterator[str]:
    """What an answer leaves out of what is asked for: grants that ended before the time that is asked for, or before
    the end of the record, also those of the shares and roles that it was granted to; if none holds again. And those on
    what was dropped then, or to what was, and restored later, which keep their period.
    """
    if asked.answer.rows and not asked.things:
        return
    graph, time = asked.graph, max(asked.times("at"), default=None)
    all_ended = _latest_ended(graph, _grants_by(asked, time), time)
    kept = {end.grant for end in _perhaps_kept(graph, all_ended, time)}
    lead = f"The answer has grants that hold at {', '.join(asked.values('at')) if time else 'the end of the record'}."
    latest = [end for end in all_ended if end.grant not in kept]
    dropped = [end for end in latest if not _has_ended(graph.text(end.grant, "ah:validUntil"), time)]
    if dropped:
        yield (
            f"{lead} Dropped then, or granted to what was, and restored later: "
            f"{first_of(_in_words(graph, dropped), _SHOWN)}. Ask with at for a time when it was there."
        )
    if ended := [end for end in latest if end not in dropped]:
        yield (
            f"{lead} Earlier ones ended, when they were revoked or with what was granted: "
            f"{first_of(_in_words(graph, ended), _SHOWN)}. Ask with at for a time when they held."
        )


def replaced_grants(asked: Asked) -> Iterator[str]:
    """A note on grants that an answer leaves out, though they may hold still."""
    kept = perhaps_kept(asked.graph, max(asked.times("at"), default=None))
    relevant = [end for thing, ended in kept.items() if asked.is_about(thing) for end in ended]
    if relevant:
        yield (
            "Not in the answer, as what was granted was made anew (CREATE OR REPLACE), though COPY GRANTS keeps grants "
            f"then, and rows do not say whether it was used: {first_of(_in_words(asked.graph, relevant), _SHOWN)}. "
            "These may hold still: SHOW GRANTS in Snowflake has what holds."
        )


def grants_of_recreated(asked: Asked) -> Iterator[str]:
    """A note on grants that an answer has, though what was granted, or whom it was granted to, was made anew under its
    own id or name since: rows do not say whether COPY GRANTS was used, nor whether a CREATE was one IF NOT EXISTS.
    """
    graph, time, made_at = asked.graph, max(asked.times("at"), default=None), dict[str, datetime]()
    latest = cache(lambda thing: _made_last(graph, thing, time))
    for _, grant, since, until in _grants_by(asked, time):
        if not _has_ended(until, time):
            for thing in (*_granted(graph, grant), *graph.objects(grant, "ah:grantee")):
                for how, made in latest(thing).items():
                    if made > in_utc(since):
                        creation = f"{graph.label(thing)} was {how} at {as_text(made)}"
                        text = f"{_grant_in_words(graph, grant)} from {since} ({creation})"
                        made_at[text] = made
    if made_at:
        texts = sorted(made_at, key=lambda text: made_at[text], reverse=True)
        perhaps = " A CREATE can be one IF NOT EXISTS, which ends nothing." if f"was {_AGAIN}" in "".join(texts) else ""
        yield (
            "Made anew under its own id or name since (CREATE OR REPLACE), which ends grants without COPY GRANTS, and "
            f"rows do not say whether it was used: {first_of(texts, _SHOWN)}.{perhaps} The answer has these as if they "
            "held: SHOW GRANTS in Snowflake has what holds."
        )


def _made_last(graph: Lookups, thing: str, time: datetime | None) -> dict[str, datetime]:
    """How an object was made under its own id or name, and when last by a time. A CREATE of what holds no data, with
    its id, makes no other one.
    """
    kind, *name = thing.rsplit("/", 3 if graph.text(thing, "ah:objectId") is None else 2)[1:]
    times_by_verb = {"made anew": graph.replacements(thing, time)}
    if kind in HOLDERS or len(name) > 1:
        times_by_verb[_AGAIN] = graph.replacements(thing, time, "CREATE")
    return {how: max(times) for how, times in times_by_verb.items() if times}


def perhaps_kept(graph: Lookups, time: datetime | None = None) -> dict[str, list[_Ended]]:
    """What was granted, and what was made in its place by CREATE OR REPLACE -> the grants that ended with that alone,
    by a time or by the end of the record, if none holds again: with COPY GRANTS they hold still, and rows do not say
    whether it was used.
    """
    end_of = _ends(graph, time)
    all_grants = (
        (thing, grant, since, end_of(thing, grant))
        for grant in graph.of_class("ah:Grant")
        for thing in _granted(graph, grant)
        if (since := graph.text(grant, "ah:validFrom")) and (time is None or in_utc(since) <= time)
    )
    kept = defaultdict[str, list[_Ended]](list)
    for end in _perhaps_kept(graph, _latest_ended(graph, all_grants, time), time):
        for thing in (*_granted(graph, end.grant), *end.heirs):
            kept[thing].append(end)
    return kept


def _in_words(graph: Lookups, ended: Iterable[_Ended]) -> list[str]:
    """``SELECT on D.S.T to OUT from … until …``, each once, the latest first."""
    ordered = sorted(ended, key=lambda end: in_utc(end.until), reverse=True)
    return list(
        dict.fromkeys(f"{_grant_in_words(graph, end.grant)} from {end.since} until {end.until}" for end in ordered)
    )


def _latest_ended(
    graph: Lookups, grants: Iterable[tuple[str, str, str, str | None]], time: datetime | None
) -> list[_Ended]:
    """Of what was granted to somebody, the last grant if it ended by a time. ``grants``: as of :func:`_grants_by`."""
    latest, held = dict[tuple[str, ...], _Ended](), set[tuple[str, ...]]()
    for thing, grant, since, until in grants:
        terms = ("ah:privilege", "ah:onAll", "ah:grantee")
        # By name: of a table that is made anew each night, each one has its own grants.
        key = (match_name(granted_as(graph, grant) or thing), *(graph.text(grant, term) or "" for term in terms))
        if until is None or not _has_ended(until, time):
            held.add(key)
        elif key not in latest or in_utc(latest[key].until) < in_utc(until):
            latest[key] = _Ended(until, since, grant)
    return [end for key, end in latest.items() if key not in held]


def _perhaps_kept(graph: Lookups, ended: Iterable[_Ended], time: datetime | None) -> list[_Ended]:
    """Those that ended as what was granted was made anew, if it is there still, and so is whom it was granted to."""
    heirs = (
        (end, thing, _heirs(graph, thing, end.until, time)) for end in ended for thing in _granted(graph, end.grant)
    )
    kept = [
        end._replace(heirs=tuple(successors))
        for end, thing, successors in heirs
        if successors and graph.text(end.grant, "ah:onAll") is None and graph.text(thing, "ah:domain") not in CONTAINERS
    ]
    revokes = [*graph.select(_REVOKES)] if kept else []
    return [end for end in kept if not _is_closed(graph, end, revokes, time or LATE)]


def _heirs(graph: Lookups, thing: str, until: str, time: datetime | None) -> list[str]:
    """What was made under the name of an object when that lost it, and what was made in its place, and so on, until a
    time; empty if nothing was, or the last one is gone.
    """
    heirs = list[str]()
    while True:
        own = (
            [holder for holder in graph.names_of(thing) if holder.since == until] if heirs else []
        )  # renamed or swapped
        if not (then := next(iter(own or graph.made_in_place(thing, in_utc(until))), None)):
            return []
        heirs.append(then.iri)
        if then.until is None or not _has_ended(then.until, time):
            return heirs
        thing, until = then.iri, then.until


def _is_closed(graph: Lookups, ended: _Ended, revokes: Iterable[Solution], time: datetime) -> bool:
    """Whether whom something was granted to was dropped by a time, or a revoke took it away from what was made anew."""
    grantee = graph.text(ended.grant, "ah:grantee") or ""
    held = {"object": ended.heirs[-1], "grantee": grantee, "privilege": graph.text(ended.grant, "ah:privilege") or ""}
    return graph.was_dropped(grantee, time) or any(
        _may_end(graph, revoked, {**held, "on_all": ""}, at)
        for revoke in revokes
        if in_utc(ended.until) < (at := in_utc(revoke["time"])) <= time
        for revoked in _revoked(revoke)
    )


def grants_without_id(asked: Asked) -> Iterator[str]:
    """A note on grants in an answer whose rows give no id of what was granted, if other rows give one, and this object
    lost the name later.
    """
    if not asked.graph.has_mixed_ids():
        return
    graph, time = asked.graph, max(asked.times("at"), default=None)
    texts = list[str]()
    for thing, grant, since, until in _grants_by(asked, time):
        forms = sorted(form for form in graph.same_names(thing) if graph.text(form, "ah:objectId"))
        if not forms or graph.text(thing, "ah:objectId") or _has_ended(until, time):
            continue
        names = {match_name(holder.name) for holder in graph.names_of(thing)}
        holders = [holder for form in forms for holder in graph.names_of(form) if match_name(holder.name) in names]
        later = [holder for holder in holders if in_utc(holder.since) > in_utc(since) and not graph.is_made(holder)]
        held = [holder for holder in holders if holder.holds(in_utc(since))] or sorted(
            later, key=lambda holder: holder.order
        )[:1]
        ends = [f"object_id={holder.ident} until {holder.until}" for holder in held if _has_ended(holder.until, time)]
        if ends:
            texts.append(f"{_grant_in_words(graph, grant)} from {since} ({first_of(ends, _SHOWN)})")
    if texts:
        yield (
            "Rows of grants give no id of what is granted, and an object that had the name lost it later: "
            f"{first_of(texts, _SHOWN, '; ')}. The answer has these grants under the name as if they still held: if "
            "they were on that object, they ended with it, or it has them under another name."
        )


def _grants_by(asked: Asked, time: datetime | None) -> Iterator[tuple[str, str, str, str | None]]:
    """The grants on what is asked for (all, if it is nothing), and on the shares and roles that have these, that were
    made by a time: what was granted, the grant, and from when until when it holds.
    """
    graph, end_of = asked.graph, _ends(asked.graph, time)
    things = asked.things or {thing for grant in graph.of_class("ah:Grant") for thing in _granted(graph, grant)}
    for thing in _with_grantees(graph, things):
        for grant in sorted(graph.subjects("ah:grantedObject", thing)):
            since = graph.text(grant, "ah:validFrom")
            if since is not None and (time is None or in_utc(since) <= time):
                yield thing, grant, since, end_of(thing, grant)


def _ends(graph: Lookups, time: datetime | None) -> Callable[[str, str], str | None]:
    """Gives until when a grant on an object holds: until the DROP, where the object, or whom it was granted to, was
    dropped by ``time`` and brought back only later.
    """
    dropped_at = cache(lambda thing: graph.dropped_at(thing, time or LATE))
    has_drops = time is not None and graph.is_used("prov:invalidatedAtTime")

    def end_of(thing: str, grant: str) -> str | None:
        until = graph.text(grant, "ah:validUntil")
        if not has_drops or _has_ended(until, time):
            return until
        drops = map(dropped_at, (thing, *graph.objects(grant, "ah:grantee")))
        return min((as_text(drop) for drop in drops if drop), default=until)

    return end_of


def _has_ended(until: str | None, time: datetime | None) -> bool:
    """Whether something ended by a time; by the end of the record, if there is none."""
    return until is not None and (time is None or in_utc(until) <= time)


def _granted(graph: Lookups, grant: str) -> Iterator[str]:
    return graph.objects(grant, "ah:grantedObject")


def _with_grantees(graph: Lookups, things: Iterable[str]) -> list[str]:
    """The objects, and the shares and roles that they were granted to."""

    def further(thing: str) -> Iterator[str]:
        for grant in graph.subjects("ah:grantedObject", thing):
            yield from graph.objects(grant, "ah:grantee")

    return sorted(set(reachable(things, further)))


def _grant_in_words(graph: Lookups, grant: str) -> str:
    """``SELECT on D.S.T to OUT``; of a share or role that was granted, its name in place of the privilege."""
    privilege, on_all = graph.text(grant, "ah:privilege"), graph.text(grant, "ah:onAll")
    name = granted_as(graph, grant) or next(map(graph.label, _granted(graph, grant)), "")
    grantee = graph.text(grant, "ah:granteeName") or next(map(graph.label, graph.objects(grant, "ah:grantee")), "")
    on = f" ON ALL {on_all} in " if on_all else " on "
    return f"{privilege + on if privilege else ''}{name} to {grantee}"


# --- revokes ----------------------------------------------------------------------------------------------------------

_REVOKES_SHOWN: Final = 5
_REVOKES: Final = """\
SELECT DISTINCT ?changed ?domain ?id ?name ?properties ?time ?query_id WHERE {
  VALUES ?property { "revoke" "accountsToRemove" "accountsToSet" }
  ?change ah:hasSetting/ah:property ?property ; ah:changedObject ?changed ; ah:properties ?properties ;
    prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  ?changed ah:domain ?domain .
  OPTIONAL { ?changed ah:objectId ?id }
  OPTIONAL { ?change ah:objectName ?name }
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?query_id
"""
_HELD: Final = """\
SELECT DISTINCT ?object ?grantee ?privilege ?on_all ?label ?whom WHERE {
  ?grant a ah:Grant ; ah:grantedObject ?object ; ah:grantee ?grantee ; ah:validFrom ?since .
  OPTIONAL { ?grant ah:validUntil ?until }
  FILTER(?since < @time@ && (!BOUND(?until) || ?until > @time@))
  OPTIONAL { ?grant ah:privilege ?privilege }
  OPTIONAL { ?grant ah:onAll ?on_all }
  OPTIONAL { ?grant ah:objectName ?object_spelled }
  OPTIONAL { ?object rdfs:label ?object_label }
  BIND(COALESCE(?object_spelled, ?object_label, "") AS ?label)
  OPTIONAL { ?grant ah:granteeName ?grantee_spelled }
  OPTIONAL { ?grantee rdfs:label ?grantee_label }
  BIND(COALESCE(?grantee_spelled, ?grantee_label, "") AS ?whom)
}
ORDER BY ?label ?whom ?privilege
"""


def revokes_not_counted(asked: Asked) -> Iterator[str]:
    """A note on each revoke that may be about a grant that the answer still has, by the names of the two."""
    texts = [
        _sentence(revoke, held)
        for revoke in asked.graph.select(_REVOKES)
        if asked.is_by_then(revoke["time"])
        for held in _held_after(asked.graph, revoke)
        if _is_asked_for(asked, held)
    ]
    if fresh := list(dict.fromkeys(texts)):
        yield (
            f"Rows name an object or share of a grant with its id and without: "
            f"{first_of(fresh[::-1], _REVOKES_SHOWN)}. The answer does not count this for the grant in the other form, "
            "though it may be the same."
        )


def _sentence(revoke: Solution, held: Solution) -> str:
    """``SELECT on D.S.T was revoked from OUT (query q7, 2026-03-04T04:00:00Z)``."""
    granted = f"{held['privilege']} on {held['label']}" if held["privilege"] else held["label"]
    query = f"query {revoke['query_id']}, " if revoke["query_id"] else ""
    return f"{granted} was revoked from {held['whom']} ({query}{revoke['time']})"


def _is_asked_for(asked: Asked, held: Solution) -> bool:
    """Whether a grant is of what is asked for, or of a role or share by which somebody in the answer has it."""
    if asked.is_about(held["object"]):
        return True
    return not held["privilege"] and any(row["grantee"] == held["whom"] for row in asked.answer.dicts())


def _held_after(graph: Lookups, revoke: Solution) -> Iterator[Solution]:
    """The grants that hold after a revoke that may have been meant to end them."""
    revoked = _revoked(revoke)
    account, time = account_part(revoke["changed"], has_id=bool(revoke["id"])), datetime.fromisoformat(revoke["time"])
    for held in graph.select(_HELD, time=f'"{revoke["time"]}"^^<{full("xsd:dateTime")}>') if revoked else ():
        if held["object"].startswith(f"{account}/") and any(_may_end(graph, grant, held, time) for grant in revoked):
            yield held


def _revoked(revoke: Solution) -> list[Grant]:
    changed = reference_of(revoke["domain"], revoke["id"] or None, revoke["name"] or None)
    all_grants = () if changed is None else grants(changed, read(revoke["properties"]))
    return [grant for grant in all_grants if grant.is_revoked]


def _may_end(graph: Lookups, revoked: Grant, held: Solution, time: datetime) -> bool:
    if revoked.privilege not in {ANY, held["privilege"] or None}:
        return False
    if revoked.grantee is not None and not _may_be(graph, revoked.grantee, held["grantee"], time):
        return False
    if revoked.on_all is None or held["on_all"]:
        return revoked.on_all == (held["on_all"] or None) and _may_be(graph, revoked.thing, held["object"], time)
    begins = f"{match_name(revoked.thing.name or '')}."
    is_inside = any(name.startswith(begins) for name in _names(graph, held["object"], time))
    return is_inside and graph.is_of_kind(held["object"], revoked.on_all)


def _may_be(graph: Lookups, thing: ObjectReference, iri: str, time: datetime) -> bool:
    """Whether what a row names can be an object of the graph: by its id, else by its kind and its name at that time."""
    ident = graph.text(iri, "ah:objectId")
    if iri.rsplit("/", 2 if ident else 3)[1] != thing.kind:
        return False
    if thing.object_id is not None and ident is not None:
        return thing.object_id == ident
    return thing.name is not None and match_name(thing.name) in _names(graph, iri, time)


def _names(graph: Lookups, iri: str, time: datetime) -> set[str]:
    return {match_name(holder.name) for holder in graph.names_of(iri) if holder.holds(time)}
