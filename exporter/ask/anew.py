"""Notes on what took the place of another object: a table that is made anew each night (CREATE OR REPLACE, or a build
and a SWAP) is another object each time, and one table to its users. The masks and reads of the former one are not its
own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, in_utc
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.parameters import as_text
from exporter.ask.places import inside
from exporter.ask.without_ids import same_names
from exporter.model.identifiers import TRUNCATED, match_name
from exporter.system.reachable import reachable

_OF_MASKS: Final = ("changes", "policy-coverage", "unmasked-copies", "unmasked-reads")
_MASKED: Final = {
    ("ah:policyKind", "MASKING_POLICY"): "ah:protectedObject",
    ("ah:property", "maskingPolicies"): "ah:settingOn",
}
"""A property and its text, of all nodes that say of a mask what it is on -> the property that does."""
_OF_READS: Final = "unmasked-reads"
_EARLY: Final = datetime.min.replace(tzinfo=UTC)
_LATE: Final = datetime.max.replace(tzinfo=UTC)
_CUT: Final = f"object_modified_by_ddl {TRUNCATED}"
_WHOLE: Final = ""
"""In the place of a column: a mask of which rows name the object alone."""
_SHOWN: Final = 3
_LOOKED_AT: Final = 10_000
DATA: Final = ("Table", "View", "table", "view")


def _of_name(graph: Lookups, name: str, account: str) -> list[NameHolder]:
    """The tables and views with an id that had a name, in order. What rows give without an id may be any of them."""
    return [
        holder
        for holder in graph.holders(name)
        if holder.ident and holder.account == account and holder.domain.endswith(DATA)
    ]


# --- masks ------------------------------------------------------------------------------------------------------------


def masked_things(graph: Lookups) -> set[str]:
    """The objects on which rows show masking policies, also by tags."""
    nodes = ((node, place) for said, place in _MASKED.items() for node in graph.with_text(*said))
    masked = {thing for node, place in islice(nodes, _LOOKED_AT) for thing in graph.objects(node, place)}
    forms = {form for tag in masked for form in (tag, *same_names(graph, tag))}
    marks = (mark for form in forms for mark in graph.subjects("ah:elementObject", form))
    return masked | {thing for mark in marks for thing in graph.objects(mark, "ah:settingOn")}


class _Namesakes(NamedTuple):
    """Objects that had one name, one after the other, of which one is masked and the others are not: ``holder``, the
    last of the others; ``ids``: of the others, in order; ``since``: when the first of them got the name, if several did
    since the masked one; ``masked``: the masked one; ``columns``: those that are masked on this one, and on which no
    row shows a mask on the others.
    """

    holder: NameHolder
    masked: NameHolder
    columns: set[str]
    ids: Sequence[str] = ()
    since: str = ""


def _histories(asked: Asked) -> Iterator[list[NameHolder]]:
    """The objects that had one name, for each name of what is asked for; of what is masked, if it is all."""
    graph = asked.graph
    things = asked.about or masked_things(graph)
    names = {(match_name(holder.name), holder.account) for thing in things for holder in graph.names_of(thing)}
    for name, account in sorted(names):
        yield _of_name(graph, name, account)


def unmasked_since(asked: Asked) -> list[_Namesakes]:
    """What got the names of masked objects, and has them in the time that is asked for; in the order of time."""
    columns, wholes = asked.match_names("column_name"), _masked_wholes(asked.graph)
    found = [
        one
        for holders in _histories(asked)
        for one in _unmasked(asked.graph, holders)
        if (not asked.about or one.holder.iri in asked.about) and _is_then(asked, one.holder, holders)
        if not columns or one.columns & {*columns, _WHOLE}
        if not _is_masked_around(asked.graph, one.holder, wholes)
    ]
    return sorted(found, key=lambda one: one.holder.order)


def have_masked_namesakes(asked: Asked) -> set[str]:
    """The objects with a name that another one had or has, on which rows show a mask, on a column that is asked for."""
    graph, columns, found = asked.graph, asked.match_names("column_name"), set[str]()
    for holders in _histories(asked):
        masks = {holder.iri: _masks(graph, holder.iri).keys() for holder in holders}
        masked = {iri for iri, own in masks.items() if (own & {*columns, _WHOLE} if columns else own)}
        found |= {iri for iri in masks if masked - {iri}}
    return found


def masked_columns(asked: Asked, thing: str) -> set[str]:
    """The columns of an object, of those that are asked for, on which rows show a mask."""
    found, columns = _masks(asked.graph, thing).keys() - {_WHOLE}, asked.match_names("column_name")
    return found & columns if columns else found


def _left(holder: NameHolder, holders: Iterable[NameHolder]) -> datetime | None:
    """When an object had lost its name: at the latest when a row shows it as that of another one that has it since, if
    no query names the former one so later. No row need say it, as of a SWAP of the schema.
    """
    if holder.until is not None:
        return in_utc(holder.until)
    last = max(in_utc(holder.since), in_utc(holder.seen or holder.since))
    others = (one for one in holders if one.iri != holder.iri and one.until is None)
    shown = (in_utc(time) for one in others for time in (one.since, one.seen) if time)
    return min((time for time in shown if time > last), default=None)


def _is_then(asked: Asked, holder: NameHolder, holders: Iterable[NameHolder]) -> bool:
    """Whether it has the name in the time that is asked for; of an answer of one time, then; of changes, whether it got
    the name then.
    """
    since, left = in_utc(holder.since), _left(holder, holders)
    if asked.name == "policy-coverage":
        times = asked.times("at")
        return any(since <= time and (left is None or time < left) for time in times) if times else left is None
    if asked.name == "changes" and asked.since is not None and since < asked.since:
        return False
    has_ended = left is not None and asked.since is not None and left <= asked.since
    return not has_ended and (asked.until is None or since < asked.until)


def _unmasked(graph: Lookups, holders: Sequence[NameHolder]) -> Iterator[_Namesakes]:
    """Those of the objects that had one name, in order, that got it from masked ones: from those with masks while they
    had the name, before the next one had it.
    """
    masked, shown = dict[str, NameHolder](), list[tuple[datetime, str, NameHolder]]()
    for holder in holders:
        since = in_utc(holder.since)
        masked |= {column: other for time, column, other in shown if time < since}
        shown = [one for one in shown if one[0] >= since]
        own, there = _own_masks(graph, holder.iri), _columns(graph, holder.iri)
        before = {one: other for one, other in masked.items() if one not in own and other.iri != holder.iri}
        lost = {one for one in before if (not own if one == _WHOLE else one in there)}
        if lost and _WHOLE not in own:
            yield _Namesakes(holder, max((before[one] for one in lost), key=lambda one: one.order), lost)
        since_when = _masked_since(graph, holder, _left(holder, holders))
        shown += [(time, column, holder) for column, time in since_when.items()]


def _columns(graph: Lookups, thing: str) -> set[str]:
    return {graph.text(column, "ah:matchName") or "" for column in graph.subjects("ah:columnOf", thing)}


def _own_masks(graph: Lookups, thing: str) -> set[str]:
    """The columns on which rows show a masking policy, also by rows that give the object in another form."""
    return {one for form in (thing, *same_names(graph, thing)) for one in _masks(graph, form)}


def _masked_since(graph: Lookups, holder: NameHolder, left: datetime | None) -> dict[str, datetime]:
    """The columns on which an object surely had a mask in the time that it had the name, until ``left``; and since when
    each has it.
    """
    since, until = in_utc(holder.since), left or _LATE
    return {
        column: min(one.since for one in found)
        for column, every in _masks(graph, holder.iri).items()
        if (found := [one for one in every if one.since < min(one.sure, until) and since < one.sure])
    }


class _Held(NamedTuple):
    """A time in which something was set: ``until``: as far as rows tell; ``sure``: until no row may have unset it, as
    one without the id, or one that Snowflake cut.
    """

    since: datetime
    until: datetime
    sure: datetime

    def together(self, other: _Held) -> _Held:
        """The time in which both were set."""
        return _Held(max(self.since, other.since), min(self.until, other.until), min(self.sure, other.sure))


def _masks(graph: Lookups, thing: str) -> dict[str, list[_Held]]:
    """The columns of an object on which rows show a masking policy, under all their names, and when: by a tag, while
    the column has the tag, and the tag the policy. The column of what is on the object as a whole is empty.
    """
    found, of_column = defaultdict[str, list[_Held]](list), defaultdict[str | None, list[_Held]](list)
    for enforcement in graph.subjects("ah:protectedObject", thing):
        if graph.text(enforcement, "ah:policyKind") == "MASKING_POLICY":
            time = _first(graph, graph.subjects("ah:enforced", enforcement), "prov:startedAtTime")
            of_column[graph.text(enforcement, "ah:protectedColumn")].append(_Held(time, _LATE, _LATE))
    for setting, held in _set_on(graph, [thing], "maskingPolicies"):
        of_column[graph.text(setting, "ah:onColumn")].append(held)
    for setting, held in _by_tags(graph, thing):
        of_column[graph.text(setting, "ah:onColumn")].append(held)
    for column, every in of_column.items():
        for name in _names(graph, column):
            found[name] += every
    return found


def _by_tags(graph: Lookups, thing: str) -> Iterator[tuple[str, _Held]]:
    """The times in which tags masked: each with what set the tag."""
    on_tags = dict[frozenset[str], list[_Held]]()
    for setting, held in _set_on(graph, [thing], "tags"):
        tags = _elements(graph, setting)
        if tags not in on_tags:
            on_tags[tags] = [on_tag for _, on_tag in _set_on(graph, tags, "maskingPolicies")]
        both = (held.together(on_tag) for on_tag in on_tags[tags])
        yield from ((setting, one) for one in both if one.since < one.until)


def _set_on(graph: Lookups, places: Collection[str], property_: str) -> Iterator[tuple[str, _Held]]:
    """What is set on the forms of an object, and when: before the first row that sets it, if one only unsets it."""
    every = {
        one: (graph.text(one, "ah:onColumn"), _elements(graph, one), _first(graph, [one], "ah:validFrom"))
        for place in places
        for one in graph.subjects("ah:settingOn", place)
        if graph.text(one, "ah:property") == property_
    }
    changes = (change for place in places for change in graph.subjects("ah:changedObject", place)) if every else ()
    cut = [_first(graph, [change], "prov:startedAtTime") for change in changes if _is_cut(graph, change)]
    unset = [
        (one, column, elements, _first(graph, graph.subjects("ah:hasSetting", one), "prov:startedAtTime"))
        for one, (column, elements, since) in every.items()
        if since == _LATE
    ]
    for one, (column, elements, since) in every.items():
        if since < _LATE:
            until = _first(graph, [one], "ah:validUntil")
            ends = [time for _, place, own, time in unset if place == column and (not own or own & elements)]
            yield one, _Held(since, until, min(until, *(time for time in (*ends, *cut) if since < time), _LATE))
    for one, column, elements, time in unset:
        of_same = (since for place, own, since in every.values() if place == column and own & elements)
        if not any(since < time for since in of_same):
            yield one, _Held(_EARLY, time if elements else _LATE, time if elements else _EARLY)


def _elements(graph: Lookups, setting: str) -> frozenset[str]:
    """The tag or policy that is set, in all its forms; empty if the row does not name it."""
    elements = graph.objects(setting, "ah:elementObject")
    return frozenset(form for one in elements for form in (one, *same_names(graph, one)))


def _is_cut(graph: Lookups, change: str) -> bool:
    return any(_CUT in graph.objects(query, "ah:incomplete") for query in graph.objects(change, "dcterms:isPartOf"))


def _first(graph: Lookups, nodes: Iterable[str], term: str) -> datetime:
    """The first such time of the nodes; :data:`_LATE` if they have none, as what unsets."""
    return min((in_utc(time) for node in nodes for time in graph.objects(node, term)), default=_LATE)


def _masked_wholes(graph: Lookups) -> set[str]:
    """The schemas and databases with tags that mask."""
    places = (place for one in graph.with_text("ah:property", "maskingPolicies")
              for place in graph.objects(one, "ah:settingOn"))  # fmt: skip
    tags = {place for place in places if graph.text(place, "ah:domain") == "Tag"}
    forms = {form for tag in tags for form in (tag, *same_names(graph, tag))}
    marks = (mark for form in forms for mark in graph.subjects("ah:elementObject", form))
    wholes = {whole for mark in marks for whole in graph.objects(mark, "ah:settingOn")}
    return {whole for whole in wholes if graph.text(whole, "ah:domain") in {"Schema", "Database"}}


def _is_masked_around(graph: Lookups, holder: NameHolder, wholes: Iterable[str]) -> bool:
    """Whether an object may have a mask by a tag of one of these schemas and databases, while it is in it."""
    for place in wholes:
        if holder.account not in {around.account for around in graph.names_of(place)}:
            continue
        masked = [held for _, held in _by_tags(graph, place)]
        periods = inside(graph, holder.iri, place) if masked else ()
        if any(since < one.until and one.since < (until or _LATE) for since, until in periods for one in masked):
            return True
    return False


def _names(graph: Lookups, column: str | None) -> set[str]:
    if column is None:
        return {_WHOLE}

    def renamed(one: str) -> Iterator[str]:
        yield from graph.objects(one, "ah:renamedFrom")
        yield from graph.subjects("ah:renamedFrom", one)

    return {graph.text(one, "ah:matchName") or "" for one in reachable([column], renamed)}


def _in_words(graph: Lookups, one: _Namesakes, *, has_accounts: bool) -> str:
    """``D.S.T.EMAIL (object_id=2 since 2026-09-02T03:00:00Z; masked: object_id=1)``; of several objects,
    ``D.S.T.EMAIL (since 2026-09-02T03:00:00Z; 3 objects, the latest object_id=4; masked: object_id=1)``.
    """
    holder, named = one.holder, sorted(one.columns - {_WHOLE})
    what = f"{holder.name}.{first_of(named, _SHOWN)}" if named else holder.name
    owner = graph.of_account(holder.iri) if has_accounts or graph.is_of_other(holder.iri) else ""
    until = f" until {holder.until}" if holder.until else ""
    which = first_of(one.ids, _SHOWN) if one.ids else f"{holder.ident} since {holder.since}"
    last = f"; the last, {holder.ident}," if until and one.ids[1:] else ""
    if one.since:
        objects = f"{len(one.ids)} objects, the latest object_id={holder.ident}{until}"
        return f"{what}{owner} (since {one.since}; {objects}; masked: object_id={one.masked.ident})"
    return f"{what}{owner} (object_id={which}{last}{until}; masked: object_id={one.masked.ident})"


def _as_one(every: Sequence[_Namesakes]) -> _Namesakes:
    """The latest of those with one name, in order; with the ones before it, since the same masked one."""
    last = every[-1]
    same = [one for one in every if one.masked.iri == last.masked.iri and one.columns >= last.columns]
    ids = list(dict.fromkeys(one.holder.ident or "" for one in same))
    return last._replace(ids=ids, since=same[0].holder.since) if len(ids) > 1 else last


def took_place(asked: Asked) -> Iterator[str]:
    """Notes on objects that had one name, one after the other, of which some are masked: on those that are not, and
    that answers about masks lack.
    """
    if asked.name not in _OF_MASKS:
        return
    graph, since = asked.graph, unmasked_since(asked)
    has_accounts = len(graph.accounts()) > 1
    by_name = defaultdict[tuple[str, str], list[_Namesakes]](list)
    for one in since:
        by_name[one.holder.key].append(one)
    ordered = sorted(map(_as_one, by_name.values()), key=lambda one: one.holder.order)[::-1]
    texts = [_in_words(graph, one, has_accounts=has_accounts) for one in ordered]
    if texts:
        lack = " Reads of it are not in the answer: column-readers has them." if asked.name == _OF_READS else ""
        yield (
            "Another object got the name of one that was masked (as by CREATE OR REPLACE or a SWAP, also of the "
            f"schema), and no row shows a masking policy on it: {first_of(texts, _SHOWN, '; ')}.{lack}"
        )
    before = _read_before(asked, {one.holder.iri for one in since}) if asked.name == _OF_READS else ()
    ordered = sorted(before, key=lambda one: one.holder.order)[::-1]
    texts = [_in_words(graph, one, has_accounts=has_accounts) for one in ordered]
    if texts:
        yield (
            "An object was read under a name that a masked one had later, and no row shows a masking policy on it: "
            f"{first_of(texts, _SHOWN, '; ')}. These reads are not in the answer: column-readers has them, by the id."
        )


def _read_before(asked: Asked, told: Collection[str]) -> Iterator[_Namesakes]:
    """The objects of which no row shows a mask on a column that was read, in the time that is asked for, under a name
    that one with a mask on such a column got later: one for each name. ``told``: objects that are left out.
    """
    graph, asked_columns, wholes = asked.graph, asked.match_names("column_name"), _masked_wholes(asked.graph)
    about = asked.about
    for holders in _histories(asked):
        shown = [_masked_since(graph, holder, _left(holder, holders)) for holder in holders]
        found = list[tuple[NameHolder, NameHolder, set[str]]]()
        for place, holder in enumerate(holders):
            own = _own_masks(graph, holder.iri)
            if _WHOLE in own or holder.iri in told or (about and holder.iri not in about):
                continue
            after = list(zip(holders, shown, strict=True))[place + 1 :][::-1]
            later = {column: one for one, masked in after if one.iri != holder.iri for column in masked.keys() - own}
            read = {
                column
                for column in (_columns(graph, holder.iri) - own if later else ())
                if (column in later or _WHOLE in later) and (not asked_columns or column in asked_columns)
                if _is_read(asked, holder, holders, column)
            }
            if read and not _is_masked_around(graph, holder, wholes):
                first = min((later.get(one) or later[_WHOLE] for one in read), key=lambda one: one.order)
                found.append((holder, first, read & later.keys()))
        if found:
            last, masked, _ = found[-1]
            ids = list(dict.fromkeys(holder.ident or "" for holder, _, _ in found[::-1]))
            yield _Namesakes(last, masked, set().union(*(columns for _, _, columns in found)), ids)


def _is_read(asked: Asked, holder: NameHolder, holders: Iterable[NameHolder], name: str) -> bool:
    """Whether a query read a column of an object while it had the name, in the time that is asked for."""
    graph, since, left = asked.graph, in_utc(holder.since), _left(holder, holders)
    return any(
        since <= time and (left is None or time < left) and asked.has(time) and (not asked.until or time < asked.until)
        for column in graph.subjects("ah:columnOf", holder.iri)
        if graph.text(column, "ah:matchName") == name
        for access in graph.subjects("ah:readColumn", column)
        for term in ("prov:qualifiedUsage", "ah:accessPattern")
        for read in graph.subjects(term, access)
        for time in map(in_utc, graph.objects(read, "prov:startedAtTime"))
    )


# --- reads ------------------------------------------------------------------------------------------------------------


def last_read_before(asked: Asked, thing: str) -> str:
    """When what had the name of an object before it was last read under this name, in the time that is asked for, in
    words; empty if it was not.
    """
    graph = asked.graph
    for present in graph.names_of(thing)[-1:]:
        for other in reversed(_of_name(graph, present.name, present.account) if present.until is None else []):
            is_before = other.iri != thing and other.until is not None and asked.has(in_utc(other.until))
            reads = (
                [one for one in _read_times(graph, other.iri) if asked.has(one) and other.holds(one)]
                if is_before
                else ()
            )
            if reads:
                return f"has the name since {present.since}; what had it before was read last at {as_text(max(reads))}"
    return ""


def _read_times(graph: Lookups, thing: str) -> Iterator[datetime]:
    accesses = list(graph.subjects("ah:accessedObject", thing))
    for term in ("prov:qualifiedUsage", "ah:accessPattern"):
        for read in {read for access in accesses for read in graph.subjects(term, access)}:
            for time in ("prov:startedAtTime", "ah:lastStartedAtTime"):
                yield from map(in_utc, graph.objects(read, time))
