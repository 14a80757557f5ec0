"""Notes on names that several objects had, one after the other or at a time.

Rows do not say what a SWAP of schemas makes of the names of the tables in them: each keeps its name until a row shows
another one. So do those of a schema that was dropped and made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.container_history import SWAP
from exporter.ask.lookups import TABLE_STAGE, Lookups, NameHolder
from exporter.ask.notes.asked import Asked
from exporter.ask.parameters import as_text, instant
from exporter.ask.triples import EARLY, LATE, MOMENT, in_utc
from exporter.model.clones import RESTORES
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
_LOOKED_AT: Final = 10_000


# --- names that several objects have at a time ------------------------------------------------------------------------

_SHOWN_IN_USE: Final = 20
"""More than in other notes: who does not see a name drops a table that is in use."""
_OF_NAMES: Final = "former-names"
"""A question without a time that has the names that objects have at the end of the record."""
OF_NAMES: Final = (_OF_NAMES, "page-names")
_OF_DATA: Final = ("lineage-as-of", "root-cause")
"""Questions that take long; the other ones are asked again."""
_ACCOUNTS_SHOWN: Final = 5


def held_by_several(asked: Asked) -> Iterator[str]:
    """A note on each name that is asked for that several objects have at the time of the answer, or at the end of the
    record: the answer is of all of them. It tells the one that has it, as far as rows show.
    """
    takes_time = any(parameter.name == "at" for parameter in asked.question.parameters)
    if "object_name" not in asked.params or not (takes_time or asked.name == _OF_NAMES):
        return
    times = {f"At {value}": instant("at", value) for value in asked.values("at")} or {"At the end of the record": LATE}
    for name in asked.values("object_name"):
        for when, time in times.items():
            groups = defaultdict[tuple[str, str], list[NameHolder]](list)
            for holder in asked.graph.holders(name):
                if holder.iri in asked.things:
                    groups[holder.account, _kind(holder.domain)].append(holder)
            for group in groups.values():
                holders = [holder for holder in _open(group, time) if _table_has_it(asked.graph, holder, time)]
                last = _has_it(asked, name, holders, time) if len(holders) > 1 else None
                if last is not None:
                    yield from _several(asked, name, when, holders, last)


def names_over_drops(asked: Asked) -> Iterator[str]:
    """A note on the names of the answer that go on over a DROP and its UNDROP, also of the schema or database: another
    object can have had the name then.
    """
    graph, texts = asked.graph, list[str]()
    for thing in sorted(asked.asked_objects):
        names = graph.names_of(thing)
        for dropped, restored in _absences(graph, thing):
            held = (
                holder
                for holder in names
                if in_utc(holder.since) <= dropped and (not holder.until or in_utc(holder.until) > restored)
            )
            for holder in held:
                ident = f" (object_id={holder.ident})" if holder.ident else ""
                texts.append(f"{holder.name}{ident} from {as_text(dropped)} until {as_text(restored)}")
    if texts:
        yield (
            "A name goes on over a DROP and its UNDROP, and another object may have it between them. Dropped then: "
            f"{first_of(texts, _SHOWN, '; ')}."
        )


def _absences(graph: Lookups, thing: str) -> Iterator[tuple[datetime, datetime]]:
    """The times between the DROPs of an object and the UNDROPs that brought it back, in order."""
    versions = list(graph.at_most(graph.subjects("prov:specializationOf", thing), _LOOKED_AT))
    drops = {in_utc(time) for version in versions for time in graph.objects(version, "prov:invalidatedAtTime")}
    restored = {
        in_utc(time)
        for version in (versions if drops else ())
        for query in graph.objects(version, "prov:wasGeneratedBy")
        if any(graph.text(change, "ah:operation") == RESTORES for change in graph.objects(query, "ah:hasChange"))
        for time in graph.objects(version, "prov:generatedAtTime")
    }
    for dropped in sorted(drops):
        if back := min((time for time in restored if time > dropped), default=None):
            yield dropped, back


def _several(asked: Asked, name: str, when: str, holders: Sequence[NameHolder], last: NameHolder) -> Iterator[str]:
    """The note on the objects with a name, of which the last one has it; none where neither this nor the others have
    rows.
    """
    owner = asked.graph.of_account(last.iri) if asked.has_several_accounts else ""
    ident = asked.by_id(last.ident or "", last.domain)
    how = f"Rows show {ident} with it last (since {last.since})"
    if last not in holders:
        how = f"A SWAP brought {ident} to it, which had the name {last.name} (since {last.since})"
    has_rows = _has_rows(asked, last)
    if has_rows or asked.answer.rows:
        yield (
            f"{when} {len(holders)} objects{owner} have the name {name}, as far as rows tell, as after a SWAP of its "
            f"schema, beside a temporary table, or while a statement replaces it. The answer is of all of them. {how}: "
            + (f"ask by {ident}." if has_rows else f"by {ident} the answer is empty.")
        )


def _kind(domain: str) -> str:
    """A kind of objects of which no two have one name at one time: tables and views are one."""
    return "Table" if domain.lower().endswith(("table", "view")) else domain


def _open(holders: Sequence[NameHolder], time: datetime) -> list[NameHolder]:
    """The objects with an id that have the name at a time."""
    return [holder for holder in holders if holder.ident and holder.holds(time)]


def _table_has_it(graph: Lookups, holder: NameHolder, time: datetime) -> bool:
    """Whether the table of a stage has the name then, too; true for all else."""
    table = graph.table_of_stage(holder)
    return table is None or any(
        table_holder.key == holder.key and table_holder.holds(time) for table_holder in graph.names_of(table.iri)
    )


def stages_of_tables(asked: Asked) -> Iterator[str]:
    """A note on stages of tables: they are renamed, swapped and dropped with the tables, of which their rows say
    nothing, or say it later.
    """
    graph, texts, names = asked.graph, list[str](), asked.match_names()
    rows = asked.answer.dicts() if asked.name == "unused-objects" else []
    listed = {row["object_name"] or "" for row in rows if row["domain"] == TABLE_STAGE}
    stages = [stage for name in listed for stage in graph.holders(name)]
    stages += [
        stage for thing in asked.things for stage in graph.names_of(thing)
        if stage.until is None or stage.key[1] in names or asked.name == _OF_NAMES or asked.values("at")
    ]  # fmt: skip
    for stage in sorted(dict.fromkeys(stages), key=lambda stage: stage.order):
        table, lost = graph.table_of_stage(stage), graph.lost_with_table(stage)
        if table is not None and lost is not None:
            since, now = (table.until, "has no name") if table.until else (table.since, f"is called {table.name}")
            until = "" if lost == since else f"had this name until {lost} and "
            texts.append(f"{stage.name}, the stage of {table.thing}, which {until}{now} since {since}")
    if texts:
        yield (
            "The stage of a table is renamed, swapped and dropped with it, which rows of the stage do not say: "
            f"{first_of(texts, _SHOWN, '; ')}."
        )


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
    history = asked.containers.get(last.account)
    step = next(history.backward(match_name(name), history.count_until(time)), None) if history else None
    if step is None or step[0].operation != SWAP or step[0].time <= shown:
        return last
    statement, _, former = step
    group, before = (last.account, _kind(last.domain)), statement.time - MOMENT
    holders_before = [
        holder for holder in asked.graph.holders(former) if (holder.account, _kind(holder.domain)) == group
    ]
    return _has_it(asked, former, _open(holders_before, before), before)


def _has_rows(asked: Asked, last: NameHolder) -> bool:
    """Whether the question by the id of an object has rows. Of those that take long, the steps of its data tell."""
    graph = asked.graph
    if asked.name not in _OF_DATA:
        given = {name: asked.values(name) for name in asked.params if name != "object_name"}
        return bool(asked.ask({**given, "object_id": [last.ident or ""], "domain": [last.domain]}, 1).rows)
    wholes = [last.iri]
    if columns := asked.match_names("column_name"):
        wholes = graph.columns_of(last.iri, columns)
    states = (state for whole in wholes for state in graph.subjects("prov:specializationOf", whole))
    is_view = any(graph.subjects("ah:view", last.iri))
    return is_view or any(any(graph.objects(state, "prov:wasDerivedFrom")) for state in states)


# --- unused objects ---------------------------------------------------------------------------------------------------


def names_in_use(asked: Asked) -> Iterator[str]:
    """A note on the names of unused objects that others have, too, which are in use: who drops by name what is listed
    drops these. Of each name, the one that was read last.
    """
    if asked.since is None:
        return
    graph, texts, has_accounts = asked.graph, list[str](), asked.has_several_accounts
    for name, domain in sorted({(row["object_name"] or "", row["domain"] or "") for row in asked.answer.dicts()}):
        all_holders = [
            holder for holder in graph.holders(name) if holder.until is None and _kind(holder.domain) == _kind(domain)
        ]
        for account in sorted({holder.account for holder in all_holders}):
            holders = [holder for holder in all_holders if holder.account == account]
            having = [holder for holder in holders if holder.ident]
            brought = _has_it(asked, name, having, LATE)  # perhaps by a SWAP since it was seen
            having += [] if brought is None or brought in having else [brought]
            listed = [holder for holder in holders if holder.domain == domain and graph.label(holder.iri) == name]
            last = max(having, key=lambda holder: (_last_read(asked, holder), holder.order), default=None)
            is_listed = any(_last_read(asked, holder) < asked.since for holder in listed)
            if is_listed and last is not None and _last_read(asked, last) >= asked.since:
                owner = graph.of_account(last.iri) if has_accounts else ""
                texts.append(f"{name} (object_id={last.ident}{owner}, read last at {as_text(_last_read(asked, last))})")
    if texts:
        yield (
            "Drop nothing by these names, which other objects have, too, that were read: "
            f"{first_of(list(dict.fromkeys(texts)), _SHOWN_IN_USE, '; ')}. What is listed may have another name now."
        )


def _last_read(asked: Asked, holder: NameHolder) -> datetime:
    return max(asked.graph.read_times(holder.iri), default=EARLY)


def ids_of_shared_names(asked: Asked) -> Iterator[str]:
    """A note on the ids of unused objects whose name others have, too, as far as rows say."""
    graph, texts = asked.graph, list[str]()
    rows = {(row["object_name"] or "", row["domain"] or "", row["last_read"]) for row in asked.answer.dicts()}
    by_name = defaultdict[tuple[str, str], set[datetime | None]](set)
    for name, domain, last_read in rows:
        by_name[name, domain].add(in_utc(last_read) if last_read else None)
    for (name, domain), read in sorted(by_name.items()):
        holders = [
            holder for holder in graph.holders(name) if holder.domain == domain and graph.label(holder.iri) == name
        ]
        places = {holder.iri: holder.account for holder in holders if holder.until is None}
        for iri, account in sorted(places.items()):
            ident, last = graph.text(iri, "ah:objectId"), max(graph.read_times(iri), default=None)
            if list(places.values()).count(account) > 1 and last in read:
                read_last = f"last read {as_text(last)}" if last else "not read"
                texts.append(f"{name}, {read_last}: object_id={ident or 'unknown'}")
    if texts:
        yield f"Several objects have these names, as far as rows say: {first_of(texts, _SHOWN, '; ')}."


def several_accounts(asked: Asked) -> Iterator[str]:
    """A note if an answer about all objects is of several accounts: its rows have names alone."""
    accounts = asked.graph.accounts()
    if asked.answer.rows and not asked.things and not asked.values("query_id") and len(accounts) > 1:
        yield (
            f"The graph has rows of {len(accounts)} accounts ({first_of(accounts, _ACCOUNTS_SHOWN)}), and the answer "
            "does not say of which one a name is."
        )
