"""Notes on names that several objects have at one time, as far as rows tell.

Rows do not say what a SWAP of schemas makes of the names of the tables in them: each keeps its name until a row shows
another one. So do those of a schema that was dropped and made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from exporter.ask.anew import read_times
from exporter.ask.answers import first_of
from exporter.ask.asked import Asked, in_utc
from exporter.ask.lookups import NameHolder
from exporter.ask.parameters import as_text, instant
from exporter.ask.places import SWAP
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
_SHOWN_IN_USE: Final = 20
"""More than in other notes: who does not see a name drops a table that is in use."""
_END: Final = datetime.max.replace(tzinfo=UTC)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_MOMENT: Final = timedelta(microseconds=1)
_OF_NAMES: Final = "former-names"
"""A question without a time that has the names that objects have at the end of the record."""
_OF_DATA: Final = ("lineage-as-of", "root-cause")
"""Questions that take long; the other ones are asked again."""


# --- at a time --------------------------------------------------------------------------------------------------------


def held_by_several(asked: Asked) -> Iterator[str]:
    """A note on each name that is asked for that several objects have at the time of the answer, or at the end of the
    record: the answer is of all of them. It tells the one that has it, as far as rows show.
    """
    takes_time = any(parameter.name == "at" for parameter in asked.question.parameters)
    if "object_name" not in asked.params or not (takes_time or asked.name == _OF_NAMES):
        return
    times = {f"At {value}": instant("at", value) for value in asked.values("at")} or {"At the end of the record": _END}
    for name in asked.values("object_name"):
        for when, time in times.items():
            groups = defaultdict[tuple[str, str], list[NameHolder]](list)
            for holder in asked.graph.holders(name):
                if holder.iri in asked.things:
                    groups[holder.account, _kind(holder.domain)].append(holder)
            for every in groups.values():
                holders = _open(every, time)
                last = _has_it(asked, name, holders, time) if len(holders) > 1 else None
                if last is not None:
                    yield from _several(asked, name, when, holders, last)


def _several(asked: Asked, name: str, when: str, holders: Sequence[NameHolder], last: NameHolder) -> Iterator[str]:
    """The note on the objects with a name, of which the last one has it; none where neither this nor the others have
    rows.
    """
    owner = asked.graph.of_account(last.iri) if len(asked.graph.accounts()) > 1 else ""
    ident = f"object_id={last.ident}" + (f" domain={last.domain}" if last.domain != "Table" else "")
    how = f"Rows show {ident} with it last (since {last.since})"
    if last not in holders:
        how = f"A SWAP brought {ident} to it, which had the name {last.name} (since {last.since})"
    has_rows = _has_rows(asked, last)
    if has_rows or asked.answer.rows:
        yield (
            f"{when} {len(holders)} objects{owner} have the name {name}, as far as rows tell, as after a SWAP of its "
            f"schema, or beside a temporary table. The answer is of all of them. {how}: "
            + (f"ask by {ident}." if has_rows else f"by {ident} the answer is empty.")
        )


def _kind(domain: str) -> str:
    """A kind of objects of which no two have one name at one time: tables and views are one."""
    return "Table" if domain.lower().endswith(("table", "view")) else domain


def _open(holders: Sequence[NameHolder], time: datetime) -> list[NameHolder]:
    """The objects with an id that have the name at a time."""
    return [holder for holder in holders if holder.ident and holder.holds(time)]


def _shown(holder: NameHolder, time: datetime) -> datetime:
    """When a row showed an object with its name, as late as is known before a time."""
    seen = in_utc(holder.seen or holder.since)
    return seen if seen <= time else in_utc(holder.since)


def _has_it(asked: Asked, name: str, holders: Sequence[NameHolder], time: datetime) -> NameHolder | None:
    """The object that rows show with a name last, before a time; what a later SWAP of its schema brought to it. None
    where others were seen with it after that, as one that a temporary table hides then, or where rows do not tell.
    """
    if not holders:
        return None
    last = max(holders, key=lambda holder: (_shown(holder, time), holder.order))
    shown = _shown(last, time)
    if any(in_utc(other.seen or other.since) >= shown for other in holders if other.iri != last.iri):
        return None
    places = asked.places.get(last.account)
    step = next(places.back(match_name(name), places.until(time)), None) if places else None
    if step is None or step[0].operation != SWAP or step[0].time <= shown:
        return last
    statement, _, former = step
    group, before = (last.account, _kind(last.domain)), statement.time - _MOMENT
    others = [one for one in asked.graph.holders(former) if (one.account, _kind(one.domain)) == group]
    return _has_it(asked, former, _open(others, before), before)


def _has_rows(asked: Asked, last: NameHolder) -> bool:
    """Whether the question by the id of an object has rows. Of those that take long, the steps of its data tell."""
    graph = asked.graph
    if asked.name not in _OF_DATA:
        given = {name: asked.values(name) for name in asked.params if name != "object_name"}
        return bool(asked.ask({**given, "object_id": [last.ident or ""], "domain": [last.domain]}, 1).rows)
    wholes = [last.iri]
    if columns := asked.match_names("column_name"):
        own = graph.subjects("ah:columnOf", last.iri)
        wholes = [column for column in own if graph.text(column, "ah:matchName") in columns]
    states = (state for whole in wholes for state in graph.subjects("prov:specializationOf", whole))
    is_view = any(graph.subjects("ah:view", last.iri))
    return is_view or any(any(graph.objects(state, "prov:wasDerivedFrom")) for state in states)


# --- unused objects ---------------------------------------------------------------------------------------------------


def in_use(asked: Asked) -> Iterator[str]:
    """A note on the names of unused objects that others have, too, which are in use: who drops by name what is listed
    drops these. Of each name, the one that was read last.
    """
    if asked.name != "unused-objects" or asked.since is None:
        return
    graph, texts, has_accounts = asked.graph, list[str](), len(asked.graph.accounts()) > 1
    for name, domain in sorted({(row["object_name"] or "", row["domain"] or "") for row in asked.answer.dicts()}):
        every = [one for one in graph.holders(name) if one.until is None and _kind(one.domain) == _kind(domain)]
        for account in sorted({one.account for one in every}):
            holders = [one for one in every if one.account == account]
            having = [one for one in holders if one.ident]
            brought = _has_it(asked, name, having, _END)  # perhaps by a SWAP since it was seen
            having += [] if brought is None or brought in having else [brought]
            listed = [one for one in holders if one.domain == domain and graph.label(one.iri) == name]
            last = max(having, key=lambda one: (_last_read(asked, one), one.order), default=None)
            is_listed = any(_last_read(asked, one) < asked.since for one in listed)
            if is_listed and last is not None and _last_read(asked, last) >= asked.since:
                owner = graph.of_account(last.iri) if has_accounts else ""
                texts.append(f"{name} (object_id={last.ident}{owner}, read last at {as_text(_last_read(asked, last))})")
    if texts:
        yield (
            "Drop nothing by these names, which other objects have, too, that were read: "
            f"{first_of(list(dict.fromkeys(texts)), _SHOWN_IN_USE, '; ')}. What is listed may have another name now."
        )


def _last_read(asked: Asked, holder: NameHolder) -> datetime:
    return max(read_times(asked.graph, holder.iri), default=_NEVER)


def of_one_name(asked: Asked) -> Iterator[str]:
    """A note on the ids of unused objects whose name others have, too, as far as rows say."""
    if asked.name != "unused-objects":
        return
    graph, texts = asked.graph, list[str]()
    rows = {(row["object_name"] or "", row["domain"] or "", row["last_read"]) for row in asked.answer.dicts()}
    by_name = defaultdict[tuple[str, str], set[datetime | None]](set)
    for name, domain, last_read in rows:
        by_name[name, domain].add(in_utc(last_read) if last_read else None)
    for (name, domain), read in sorted(by_name.items()):
        holders = [one for one in graph.holders(name) if one.domain == domain and graph.label(one.iri) == name]
        places = {one.iri: one.account for one in holders if one.until is None}
        for iri, account in sorted(places.items()):
            ident, last = graph.text(iri, "ah:objectId"), max(read_times(graph, iri), default=None)
            if list(places.values()).count(account) > 1 and last in read:
                read_last = f"last read {as_text(last)}" if last else "not read"
                texts.append(f"{name}, {read_last}: object_id={ident or 'unknown'}")
    if texts:
        yield f"Several objects have these names, as far as rows say: {first_of(texts, _SHOWN, '; ')}."
