"""Notes on what rows say of objects by their names alone.

- A CREATE, DROP, UNDROP, RENAME or SWAP without an id may be about an object that other rows give with an id.
- What is renamed or swapped without an id is not followed under its other name, since nothing else says that it is the
  same.
- What is set, or set on something, without an id: :mod:`exporter.ask.without_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import SAME_NAME, Lookups
from exporter.ask.notes.asked import CHANGES, MOST, UNMASKED_READS, Asked
from exporter.ask.notes.renamed_settings import renamings_of, renamings_of_settings
from exporter.ask.notes.settings_without_id import given_without_id, settings_by_name
from exporter.ask.triples import Solution, iris
from exporter.ask.without_id import Key, Renaming, change_in_words, linked_names
from exporter.model.identifiers import match_name

_SHOWN: Final = 5
"""How many changes, objects and columns a note lists at most."""


def settings_of_page(asked: Asked) -> Iterator[str]:
    """Notes on rows that give no id of a tag or policy, for the part of a page that has those of an object."""
    yield from _renamed(asked, ())
    yield from settings_by_name(asked)


def changes_without_id(asked: Asked) -> Iterator[str]:
    """Notes on rows that give no id of an object."""
    earlier_notes = [*_changed(asked)]
    yield from earlier_notes
    yield from _renamed(asked, earlier_notes)
    yield from settings_by_name(asked)
    yield from _replaced(asked)


def uncertain_things(asked: Asked) -> set[str]:
    """The objects that are asked for of which rows without an id may say more."""
    renamings = [*renamings_of(asked)]
    names = set().union(*(renaming.ends for renaming in _relevant(asked, renamings)))
    renamed = {thing for thing in asked.things if names & {holder.key for holder in asked.graph.names_of(thing)}}
    if asked.name == UNMASKED_READS:
        renamed |= {thing for thing in asked.things if renamings_of_settings(asked, renamings, [thing])}
    return renamed | (set(given_without_id(asked)) & set(asked.things))


def _names_in_answer(asked: Asked) -> set[str]:
    positions = [
        position
        for position, column in enumerate(asked.answer.columns)
        if column.endswith("_name") or column == "grantee"
    ]
    return {
        name
        for row in asked.graph.at_most(asked.answer.rows, MOST)
        for position in positions
        if (name := row[position])
    }


# --- dropped, renamed and swapped by name, of what has an id ----------------------------------------------------------

_CHANGED: Final = """\
SELECT DISTINCT ?nameless ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?nameless { @nameless@ }
  ?change ah:changedObject ?nameless ; ah:operation ?operation ; ah:objectName ?name ; prov:startedAtTime ?time ;
    dcterms:isPartOf ?query .
  OPTIONAL { ?change ah:newName ?new }
  OPTIONAL { ?change ah:swappedWithName ?swapped }
  OPTIONAL { ?query ah:queryId ?query_id }
  FILTER(?operation IN ("CREATE", "REPLACE", "DROP", "UNDROP") || BOUND(?new) || BOUND(?swapped))
}
ORDER BY ?time ?name
"""


def _changed(asked: Asked) -> Iterator[str]:
    """A note on each CREATE, DROP, UNDROP, RENAME and SWAP whose row gives no id of the object, and which the answer
    therefore does not count for an object with an id that had the name then: of what is asked for, and of what the
    answer names. A RENAME without an id is followed to the new name.
    """
    graph = asked.graph
    if not graph.has_mixed_ids():
        return
    holders = (holder for name in _names_in_answer(asked) for holder in graph.holders(name))
    about = {holder.iri for holder in holders if not asked.accounts or holder.account in asked.accounts}
    about |= {*asked.things, *asked.followed}
    texts: dict[tuple[datetime, str], str] = {}
    objects = set[str]()
    for thing in sorted(_with_id(graph, about)):
        for row in _unapplied(graph, thing):
            time = datetime.fromisoformat(row["time"])
            if asked.until is None or time <= asked.until:
                texts.setdefault(
                    (time, row["query_id"]), change_in_words(row, row["name"], row["swapped"] or row["new"])
                )
                objects.add(graph.names_of(thing)[0].thing)
    if texts:
        last = [text for _, text in sorted(texts.items())][-_SHOWN:]
        more = f" and {len(texts) - _SHOWN} more before" if len(texts) > _SHOWN else ""
        yield (
            f"By rows that give no id of the object, {', '.join(last)}{more}. The answer does not count this for "
            f"{first_of(sorted(objects), _SHOWN)}, which had such a name then, though it may be about "
            f"{'it' if len(objects) == 1 else 'them'}: what had the name from then on may be another object, or none."
        )


def _with_id(graph: Lookups, about: Iterable[str]) -> set[str]:
    """Of the objects, those with an id; for one without, those with an id that share its name, or a name that it was
    renamed from.
    """
    with_id, waiting, visited = set[str](), list(about), set[str]()
    while waiting:
        thing = waiting.pop()
        if thing in visited:
            continue
        visited.add(thing)
        names = graph.names_of(thing)
        if names and names[0].ident:
            with_id.add(thing)
            continue
        with_id.update(graph.objects(thing, SAME_NAME))
        renames = (rename for holder in names for rename in graph.with_text("ah:newName", holder.name))
        waiting += [changed for rename in renames for changed in graph.objects(rename, "ah:changedObject")]
    return with_id


def _unapplied(graph: Lookups, thing: str) -> Iterator[Solution]:
    """The changes recorded without an id that may concern this object, since they name what it was called at that
    time. After a RENAME among them, those of the new name count, too.
    """
    names = graph.names_of(thing)
    places = {(holder.account, holder.domain) for holder in names}
    new_names = list[tuple[str, datetime]]()
    fresh, visited = set(graph.subjects(SAME_NAME, thing)), set[str]()
    while fresh:
        visited |= fresh
        rows, fresh = graph.select(_CHANGED, nameless=iris(fresh)), set[str]()
        for row in rows:
            name, time = match_name(row["name"]), datetime.fromisoformat(row["time"])
            is_made = row["operation"] in {"CREATE", "REPLACE"}  # then it is another one, which had no name before
            held = (holder for holder in names if holder.holds(time))
            if any(
                name == match_name(holder.name) and not (is_made and datetime.fromisoformat(holder.since) == time)
                for holder in held
            ) or any(name == new_name and since <= time for new_name, since in new_names):
                yield row
                if row["new"]:
                    new_names.append((match_name(row["new"]), time))
                    fresh |= {
                        holder.iri
                        for holder in graph.holders(row["new"])
                        if not holder.ident and (holder.account, holder.domain) in places and holder.iri not in visited
                    }


# --- renamed and swapped by name --------------------------------------------------------------------------------------

OF_ALL: Final = frozenset(
    ("exposure", "policy-coverage", "tag-reach", "unmasked-copies", "unmasked-reads", "unused-objects")
)
"""Questions that are about all objects where none is asked for, and leave out those that they do not know by a name."""
_AS_IT_WAS: Final = frozenset(
    {
        *("ancestors", "enforced-policy", "joins", "masking-policies", "policy-access", "row-access-policies"),
        *("statements-of-request", "user-history"),
    }
)
"""Questions about single rows, which have the names of their time."""
_COPY: Final = "new copy"
_FIRST_TIMES: Final = ("new reader", _COPY)
"""What the question has of objects that were not read or copied before, under the names that they had then."""


def _renamed(asked: Asked, earlier_notes: Sequence[str]) -> Iterator[str]:
    """A note on each RENAME and SWAP whose row gives no id of the object, where a name of it is asked for or answered,
    or it is a tag or policy on what is asked for, unless one of ``earlier_notes`` says it.
    """
    renamings = [*renamings_of(asked)] if asked.name not in _AS_IT_WAS else []
    by_its_names = _relevant(asked, renamings)
    concerned = {*by_its_names, *renamings_of_settings(asked, renamings, asked.asked_objects)}
    relevant = [renaming for renaming in renamings if renaming in concerned]
    already_noted = [
        text for renaming in relevant for text in renaming.sentences if any(text in note for note in earlier_notes)
    ]
    sentences = (min(renaming.sentences) for renaming in relevant if not {*renaming.sentences} & {*already_noted})
    fresh = list(dict.fromkeys(sentences))
    if not fresh:
        return
    asked_names = _asked_names(asked, relevant)
    to_ask = dict.fromkeys(
        asked.graph.called(name, renaming.account, renaming.time)
        for renaming in by_its_names
        for name in renaming.names
        if (renaming.account, match_name(name)) not in asked_names
    )
    more = f" and {len(fresh) - _SHOWN} more before" if len(fresh) > _SHOWN else ""
    ask = f" Ask for {', '.join([*to_ask][-_SHOWN:])}, too." if to_ask and asked_names else ""
    yield (
        f"By rows that give no id of the object, {', '.join(fresh[-_SHOWN:])}{more}. Such an object is known by its "
        f"name alone: the answer does not follow its data, tags, policies and grants from one name to the other.{ask}"
    )


def _relevant(asked: Asked, renamings: Sequence[Renaming]) -> Sequence[Renaming]:
    """The renamings of what is asked for or answered, and of the names that these lead to or come from, in order."""
    if asked.name in _AS_IT_WAS or asked.is_of_page:
        return []
    if asked.name == CHANGES:
        return _of_first_times(asked, renamings)
    if asked.name in OF_ALL and not asked.things and not asked.values("object_name", "object_id", "object"):
        return renamings
    asked_names = _asked_names(asked, renamings)
    accounts = {account for account, _ in asked_names} or {renaming.account for renaming in renamings}
    holders = [holder for name in _names_in_answer(asked) if renamings for holder in asked.graph.holders(name)]
    holders += [holder for thing in (asked.followed if renamings else ()) for holder in asked.graph.names_of(thing)]
    starts = asked_names | {holder.key for holder in holders if not holder.ident and holder.account in accounts}
    reached = linked_names(starts, renamings)
    return [renaming for renaming in renamings if renaming.ends & reached]


def _of_first_times(asked: Asked, renamings: Sequence[Renaming]) -> Sequence[Renaming]:
    """Those of ``renamings`` by which a reader or copy may be new that is not. The source of a copy is not in the
    answer: it may have been renamed as well as the copy.
    """
    rows = first_times(asked) if renamings else []
    if not rows:
        return []
    last = max(datetime.fromisoformat(row["query_start_time"] or "") for row in rows)
    holders = [holder for row in rows for holder in asked.graph.holders(row["object_name"] or "")]
    linked = linked_names({holder.key for holder in holders if not holder.ident}, renamings)
    is_of_copies = any(row["change"] == _COPY for row in rows)
    return [renaming for renaming in renamings if renaming.time <= last and (is_of_copies or renaming.ends & linked)]


def first_times(asked: Asked) -> list[dict[str, str | None]]:
    """The rows of ``changes`` that say what was read or copied for the first time."""
    return [row for row in asked.graph.at_most(asked.answer.dicts(), MOST) if row["change"] in _FIRST_TIMES]


def _asked_names(asked: Asked, renamings: Sequence[Renaming]) -> set[Key]:
    """The names of what is asked for, and those that are asked for, in the accounts of these objects, else in all."""
    names = {holder.key for thing in asked.things for holder in asked.graph.names_of(thing)}
    accounts = {account for account, _ in names} or {renaming.account for renaming in renamings}
    return names | {(account, name) for account in accounts for name in asked.match_names()}


# --- made anew by name ------------------------------------------------------------------------------------------------

_MADE: Final = """\
SELECT DISTINCT ?thing ?operation ?time ?query_id WHERE {
  VALUES ?thing { @things@ }
  VALUES ?operation { "CREATE" "REPLACE" }
  ?change ah:changedObject ?thing ; ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time
"""


def _replaced(asked: Asked) -> Iterator[str]:
    """A note on what was made anew, of which rows give no id, and which was read unmasked before or after a mask: with
    ids, it is another object, of which the masks of the former one say nothing.
    """
    if asked.name != UNMASKED_READS:
        return
    rows = (row for row in asked.graph.at_most(asked.answer.dicts(), MOST) if row["mask"] in {"AFTER", "BEFORE"})
    names = {row["object_name"] or "" for row in rows}
    first_seen = {
        holder.iri: asked.graph.names_of(holder.iri)[0]
        for name in names
        for holder in asked.graph.holders(name)
        if not holder.ident
    }
    made = [
        change_in_words({**row, "swapped": ""}, first_seen[row["thing"]].name, "")
        for row in asked.graph.select(_MADE, things=iris(first_seen))
        if datetime.fromisoformat(row["time"]) > datetime.fromisoformat(first_seen[row["thing"]].since)
    ]
    if made:
        yield (
            f"By rows that give no id of the object, {first_of(made, _SHOWN)}. Such an object is known by its name "
            "alone: the reads BEFORE and AFTER in the answer may be of one that never had the mask, which was set on "
            "another one of its name."
        )
