"""Notes on names of objects in an answer that are called otherwise now, or were at another time.

Rows have the names of their time. A table that dbt builds each night is built under one name and takes another by SWAP
or RENAME: what filled it names it as it was built, and what reads it as it is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, count
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, NameHolder
from exporter.ask.notes.asked import MOST, TIME_COLUMNS, UNMASKED_COPIES, Asked
from exporter.ask.notes.mask_periods import masked_things
from exporter.ask.parameters import as_text
from exporter.ask.triples import in_utc
from exporter.ask.without_id import renamings
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
_LOOKED_AT: Final = 10_000
_ASKED_AGAIN: Final = 3
"""How many other names of an object are asked for at most."""
_OF_PRESENT: Final = frozenset(("exposure", "former-names", "policy-coverage", "unused-objects"))
"""Questions whose answers have present names, or all of them."""
_AT_A_TIME: Final = "tag-reach"
"""Its answer has the names at the time that is asked for: present ones, if none is."""
OF_USES: Final = frozenset(
    {
        *("column-lineage", "column-readers", "columns-accessed", "tag-history", "unmasked-reads"),
        *("when-accessed", "who-accessed", "writers"),
    }
)
"""Questions about what was done to an object while it had the name, which are answered quickly."""
_is_of_names: Final = re.compile(r".*(_name|_objects?)").fullmatch
_NOT_OF_OBJECTS: Final = frozenset(("agent_name", "column_name", "policy_name", "tag_name", "user_name"))

# --- what the names in an answer are called now -----------------------------------------------------------------------


class _Names(NamedTuple):
    """The name of an object in an answer, and that under which it counts."""

    shown: str
    home: NameHolder


def other_names_now(asked: Asked) -> Iterator[str]:
    """A note on objects in the answer that are known by another name than that of the row: those of one name, which
    took one other name after each other, are one entry.
    """
    if asked.name in _OF_PRESENT or (asked.name == _AT_A_TIME and not asked.values("at")):
        return
    taken = defaultdict[tuple[str, str, str], list[_Names]](list)
    masked = masked_things(asked.graph) if asked.name == UNMASKED_COPIES else None
    for name, shown in _names_in_answer(asked).items():
        for holder in _meant(asked, name, shown, masked):
            home = asked.canonical_names.of(holder.iri)
            if home.key != holder.key:
                taken[holder.account, name, match_name(home.name)].append(_Names(holder.name, home))
    entries = sorted((_latest(names) for names in taken.values()), key=lambda entry: entry[0].home.order, reverse=True)
    numbers = defaultdict[str, Iterator[int]](count)  # archives of one name do not hide what others are called
    entries.sort(key=lambda entry: next(numbers[match_name(entry[0].shown)]))
    accounts = {account for account, *_ in taken}
    texts = [_called(asked.graph, latest, earlier, is_one=len(accounts) == 1) for latest, earlier in entries]
    if texts:
        not_shown = sorted({latest.shown for latest, _ in entries[_SHOWN:]})
        all_of_them = f" Of these, former-names has all: ask it for {first_of(not_shown, _SHOWN)}." if not_shown else ""
        yield f"Rows have the names of their time. {first_of(texts, _SHOWN, '; ')}.{all_of_them}"


def _latest(names: Iterable[_Names]) -> tuple[_Names, int]:
    """The last of the objects that took a name, and how many did before it."""
    by_object = {names_of_object.home.iri: names_of_object for names_of_object in names}
    return max(by_object.values(), key=lambda names_of_object: names_of_object.home.order), len(by_object) - 1


def _called(graph: Lookups, latest: _Names, earlier: int, *, is_one: bool) -> str:
    """``D.S.T__NEW (object_id=5) is called D.S.T since 2026-…, as 14 objects were before``."""
    shown, home = latest
    account = "" if is_one else graph.of_account(home.iri)
    period = f"since {home.since}" if home.until is None else f"from {home.since} until {home.until}"
    before = f", as {earlier} {'object was' if earlier == 1 else 'objects were'} before" if earlier else ""
    ident = f" (object_id={home.ident})" if home.ident else ""
    return f"{shown}{ident}{account} {'is' if home.until is None else 'was'} called {home.name} {period}{before}"


class _Shown(NamedTuple):
    """The rows of an answer with a name: their times, the columns that have it, and the ids beside it (empty: the
    column has none).
    """

    times: set[str]
    columns: set[str]
    idents: set[str | None]

    def may_be(self, holder: NameHolder, masked: Collection[str] | None) -> bool:
        """Whether a row can be about an object. ``masked``: those that can be sources; None if all can."""
        is_source = all(column.startswith("source") for column in self.columns)
        has_id = "" in self.idents or holder.ident in self.idents
        return has_id and (masked is None or holder.iri in masked or not is_source)


def _names_in_answer(asked: Asked) -> dict[str, _Shown]:
    """The names of objects in the answer."""
    left_out = _NOT_OF_OBJECTS
    if "bridged" in asked.values("helpers"):
        left_out |= {"target_object_name"}  # a target has its present name there
    by_name = defaultdict[str, _Shown](lambda: _Shown(set(), set(), set()))
    for row in asked.graph.at_most(asked.answer.dicts(), MOST):
        times = {cell for column, cell in row.items() if cell and column in TIME_COLUMNS}
        times |= {as_text(time) for time in (asked.times("at") if asked.name == _AT_A_TIME else ())}
        for column, cell in row.items():
            if cell and _is_of_names(column) and column not in left_out:
                ident = row.get(f"{column.removesuffix('name')}id", "")
                for name in (cell, *cell.split(", ")):
                    shown = by_name[match_name(name)]
                    shown.times.update(times)
                    shown.columns.add(column)
                    shown.idents.add(ident)
    return by_name


def _meant(asked: Asked, name: str, shown: _Shown, masked: Collection[str] | None) -> Sequence[NameHolder]:
    """The objects with an id that a name in an answer means: those with the id of a row; those that its data went
    through, or that are asked for; those that had the name at the time of a row, or that were read or written under it.
    ``masked``: those that can be sources; None if all can.
    """
    holders = [
        holder
        for account, of_account in asked.canonical_names.by_account(name).items()
        if not asked.accounts or account in asked.accounts
        for holder in of_account
        if shown.may_be(holder, masked)
    ]
    if asked.followed:
        # Nothing was written under a name under which a table was only set aside, after it had its own.
        holders = [
            holder
            for holder in holders
            if holder.iri in asked.followed and _is_then(asked, holder)
            if in_utc(holder.since) <= in_utc(asked.canonical_names.of(holder.iri).since)
        ]
    else:
        instants = [datetime.fromisoformat(time) for time in shown.times]
        then = [holder for holder in holders if any(map(holder.holds, instants))]
        if then:
            return then
        holders = [holder for holder in holders if holder.iri in asked.asked_objects] or holders
    return [holder for holder in holders if _is_used(asked.graph, holder)] if len(holders) > 1 else holders


def _is_used(graph: Lookups, holder: NameHolder) -> bool:
    """Whether a row names an object so among what a query read or wrote, and not only as renamed or swapped."""
    versions, accesses = (graph.subjects(term, holder.iri) for term in ("prov:specializationOf", "ah:accessedObject"))
    named = graph.at_most(chain(versions, accesses), _LOOKED_AT)
    return any(match_name(text) == holder.key[1] for node in named for text in graph.objects(node, "ah:objectName"))


_ELEMENTS: Final = {"policy_name": "policy", "tag_name": "tag"}
"""A column of answers -> how the domains of what it names end."""
_OF_POLICIES: Final = ("masking-policies", "policy-access", "row-access-policies")
"""Questions about enforced policies alone; others have a note of renames without an id."""


def other_names_of_elements(asked: Asked) -> Iterator[str]:
    """A note on tags and policies in the answer that have another name now: two names of one are no two."""
    graph, texts, places = asked.graph, list[str](), _ELEMENTS.keys() & {*asked.answer.columns}
    rows = list(graph.at_most(asked.answer.dicts(), MOST)) if places else []
    named = {(row[place] or "", _ELEMENTS[place], row.get("query_start_time")) for row in rows for place in places}
    for name, domain, time in sorted(named, key=lambda entry: (entry[0], entry[1], entry[2] or "")):
        for holder in graph.holders(name):
            last = graph.names_of(holder.iri)[-1]
            is_then = time is None or holder.holds(in_utc(time))
            if is_then and holder.domain.lower().endswith(domain) and last.key != holder.key:
                texts.append(_called(graph, _Names(holder.name, last), 0, is_one=not asked.has_several_accounts))
    if texts:
        yield f"Rows have the names of their time. {first_of(list(dict.fromkeys(texts)), _SHOWN, '; ')}."
    answered = {match_name(name) for name, *_ in named}
    all_renamings = renamings(graph) if asked.name in _OF_POLICIES and len(answered) > 1 else ()
    both = [
        renaming
        for renaming in all_renamings
        if renaming.kind.endswith("policy") and {name for _, name in renaming.ends} <= answered
    ]
    if sentences := [text for renaming in both for text in renaming.sentences]:
        yield f"By rows that give no id, {first_of(sentences, _SHOWN)}: the two names may be of one policy."


# --- what was done under other names ----------------------------------------------------------------------------------


def uses_under_other_names(asked: Asked) -> Iterator[str]:
    """A note on each name under which objects were used that also had the name that is asked for: the answer has what
    was done to them while they had this one. Of the object that has it last, it has all.
    """
    parameter = next((param for param in ("object_name", "target_object_name") if param in asked.params), None)
    if parameter is None:
        return
    is_cut = len(asked.answer.rows) >= MOST
    for name, objects in asked.graph.at_most(_other_names(asked, asked.match_names(parameter)), _ASKED_AGAIN):
        given = {key: asked.values(key) for key in asked.params if key != parameter}
        rows = asked.ask({**given, parameter: [name]}, MOST).rows
        if more := len(set(rows).difference(asked.answer.rows)):
            count = "" if is_cut or more >= MOST else f", which has {more:,} more {'row' if more == 1 else 'rows'}"
            subject = "an object that" if objects == 1 else f"{objects} objects that"
            yield (
                f"The answer does not have what was done under the name {name} to {subject} had "
                f"{'this one' if len(asked.values(parameter)) == 1 else 'one of these'} for a time. "
                f"Ask for {name}, too{count}."
            )


def _other_names(asked: Asked, names: set[str]) -> Iterator[tuple[str, int]]:
    """The other names of objects that had one of the names, in the time that is asked for, each with how many of these
    had it; the most frequent first. Without those of what has the name last, and of what has another one now, which is
    in a note of its own.
    """
    things_by_name, spelled = defaultdict[str, set[str]](set), dict[str, str]()
    for iri in _former_holders(asked, names):
        holders = asked.graph.names_of(iri)
        if holders[-1].until is None and match_name(holders[-1].name) not in names:
            continue
        for holder in holders:
            if (name := match_name(holder.name)) not in names and _is_then(asked, holder):
                things_by_name[name].add(iri)
                spelled[name] = holder.name
    for name, objects in sorted(things_by_name.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        yield spelled[name], len(objects)


def _former_holders(asked: Asked, names: Iterable[str]) -> set[str]:
    """The objects that had one of the names, but for the one that has it last, of which an answer has all."""
    things, last = set[str](), set[str]()
    for of_account in (holders for name in names for holders in asked.canonical_names.by_account(name).values()):
        there = [holder for holder in of_account if holder.iri in asked.things and _is_then(asked, holder)]
        things |= {holder.iri for holder in there}
        at_last = [holder for holder in there if holder.until is None or _ends_after(asked, holder.until)]
        last |= {holder.iri for holder in at_last[-1:]}
    return things - last


def _is_then(asked: Asked, holder: NameHolder) -> bool:
    """Whether an object had a name in the time that is asked for."""
    since, until = asked.since, asked.until
    is_over = since is not None and holder.until is not None and in_utc(holder.until) <= since
    return not is_over and (until is None or in_utc(holder.since) < until)


def _ends_after(asked: Asked, time: str) -> bool:
    return asked.until is not None and asked.until <= in_utc(time)
