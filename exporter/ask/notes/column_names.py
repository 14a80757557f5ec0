"""Notes on names of columns, which have no ids: what rows say of one counts under the name, and spelling, they give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import MOST, Asked
from exporter.ask.parameters import as_text
from exporter.ask.triples import in_utc
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SPELLINGS_SHOWN: Final = 5
_SHOWN: Final = 4
_FEW: Final = 2
COUNTED_BY_NAME: Final = {
    "column-copies": "copies count",
    "column-readers": "reads count",
    "end-up": "copies and reads count",
    "root-cause": "writes count",
    "tag-history": "tags count",
    "unmasked-reads": "reads count",
}
"""Question about a column that is asked for by its name -> what counts under the name that the column had then."""


def renamed_columns(asked: Asked) -> Iterator[str]:
    """A note on renamed columns of an object: what was done to one counts under the name that it had then, so its other
    names have to be asked for, too. It may have been renamed several times, and another one may have its name.
    """
    counted, asked_names = COUNTED_BY_NAME.get(asked.name), asked.match_names("column_name")
    for thing in sorted(asked.things) if counted and asked_names else ():
        pairs = set[tuple[str, str]]()
        for names in names_of_renamed(_renames(asked.graph, thing)).values():
            place = next((at for at, name in enumerate(names) if match_name(name) in asked_names), None)
            begin = place if asked.name == "tag-history" else 0  # it has the tags of former names
            pairs.update(pairwise(names[begin:] if place is not None else ()))
        reported = sorted(pair for pair in pairs if not {*map(match_name, pair)} <= asked_names)
        other_names = dict.fromkeys(
            name for pair in reported for name in pair[::-1] if match_name(name) not in asked_names
        )
        if reported:
            texts = [f"{former} was renamed to {new}" for former, new in reported]
            to_ask = [f"column_name={name}" for name in other_names]
            yield (
                f"The column {first_of(texts, _SHOWN)}, and {counted} under the name of their time. Ask for "
                f"{first_of(to_ask, _SHOWN) if len(to_ask) > _FEW else ' and '.join(to_ask)}, too."
                f"{_added_since(asked, thing, {former for former, _ in reported})}"
            )


def _added_since(asked: Asked, thing: str, former: Collection[str]) -> str:
    """A sentence on columns of an object that were added after a column of the name was renamed."""
    graph, names = asked.graph, set(map(match_name, former))
    added = {
        f"{graph.text(column, 'ah:columnName')} at {as_text(time)}"
        for column in graph.columns_of(thing, names)
        for time in _changes_of(graph, column, "ADD")
        if any(left < time for left in renames_from(graph, column))
    }
    return f" Another column of the name was added since: {first_of(sorted(added), _SHOWN)}." if added else ""


def renames_from(graph: Lookups, column: str) -> Iterator[datetime]:
    """When a column lost its name by a RENAME."""
    for new in graph.subjects("ah:renamedFrom", column):
        yield from _rename_times(graph, column, new)


def _rename_times(graph: Lookups, column: str, new: str) -> Iterator[datetime]:
    """When a column was renamed to another name of it."""
    for version in graph.subjects("prov:specializationOf", new):
        before = {former_column for former in graph.objects(version, "prov:wasDerivedFrom")
                  for former_column in graph.objects(former, "prov:specializationOf")}  # fmt: skip
        for whole in graph.objects(version, "dcterms:isPartOf") if column in before else ():
            yield from map(in_utc, graph.objects(whole, "prov:generatedAtTime"))


def dropped_columns(asked: Asked) -> Iterator[str]:
    """A note on each drop of the column that is asked for, if the answer can have something from before it; for an
    empty answer of one time, if there was something before that.
    """
    names, times = asked.match_names("column_name") if asked.name in COUNTED_BY_NAME else set(), asked.values("at")
    for thing in sorted(asked.things) if names and bool(times) != bool(asked.answer.rows) else ():
        for column, time in sorted(_drops(asked.graph, thing)):
            is_within = (asked.since is None or asked.since <= time) and (asked.until is None or time < asked.until)
            if is_within and match_name(column) in names:
                of_column = "what it held before is not in the answer" if times else (
                    "what the answer has from before that is of the column that is gone"
                )  # fmt: skip
                yield f"The column {column} of {asked.label(thing)} was dropped at {as_text(time)}: {of_column}."


def shared_names(asked: Asked) -> Iterator[str]:
    """For ``unmasked-reads``: names that columns of one object had one after the other, and that a column of the answer
    had, or was renamed from or to.
    """
    graph, texts = asked.graph, list[str]()
    places = [asked.answer.columns.index(column) for column in ("object_name", "column_name")]
    rows = graph.at_most(asked.answer.rows, MOST)
    for name, column_name in sorted({(row[places[0]] or "", row[places[1]] or "") for row in rows}):
        things = {holder.iri for holder in graph.holders(name) if asked.is_about(holder.iri)}
        columns = [column for thing in sorted(things) for column in graph.columns_of(thing, (match_name(column_name),))]
        texts += [
            f"{name}.{graph.text(column, 'ah:columnName')} (another one until {as_text(left)}, this one since "
            f"{as_text(since)})"
            for column in sorted(reachable(columns, graph.renamed_columns))
            for left, since in _shared(graph, column)[-1:]
        ]
    if texts:
        yield (
            f"Columns had the same name one after the other: {first_of(list(dict.fromkeys(texts)), _SHOWN, '; ')}. The "
            "answer has what was read under such a name, or under one that a column with it was renamed from or to: "
            "BEFORE and AFTER are by the masks of any of them."
        )


def _shared(graph: Lookups, column: str) -> list[tuple[datetime, datetime]]:
    """When a name of a column was left, by a DROP or a RENAME, and when another column of the object had it next."""
    left = sorted({*drops_of(graph, column), *renames_from(graph, column)})
    began = sorted(_begins(graph, column)) if left else []
    return [
        (time, next_began)
        for time in left
        for next_began in [began_then for began_then in began if began_then >= time][:1]
        if not _is_back(graph, column, time, next_began)
    ]


def _begins(graph: Lookups, column: str) -> Iterator[datetime]:
    """When a column got its name within an object that was there: by an ADD or a RENAME."""
    for version in graph.subjects("prov:specializationOf", column):
        if not any(graph.objects(version, "ah:priorColumnVersion")):
            for whole in graph.objects(version, "dcterms:isPartOf"):
                if any(graph.objects(whole, "ah:priorVersion")):
                    yield from map(in_utc, graph.objects(whole, "prov:generatedAtTime"))


def _is_back(graph: Lookups, column: str, left: datetime, began: datetime) -> bool:
    """Whether what was renamed at a time got the former name back at another one."""
    called, since = column, left
    while True:
        renames = (
            (time, new)
            for new in graph.subjects("ah:renamedFrom", called)
            for time in _rename_times(graph, called, new)
            if (time == left if called == column else since < time <= began)
        )
        since, called = min(renames, default=(began, ""))
        if called in {"", column}:
            return called == column and since == began


def _drops(graph: Lookups, thing: str) -> Iterator[tuple[str, datetime]]:
    """The columns of an object that were dropped, each with the time."""
    for column in graph.subjects("ah:columnOf", thing):
        yield from ((graph.text(column, "ah:columnName") or "", time) for time in drops_of(graph, column))


def drops_of(graph: Lookups, column: str) -> Iterator[datetime]:
    """When a column was dropped."""
    return _changes_of(graph, column, "DROP")


def _changes_of(graph: Lookups, column: str, operation: str) -> Iterator[datetime]:
    """When a column was added (``ADD``) or dropped (``DROP``)."""
    for setting in graph.subjects("ah:onColumn", column):
        is_of_columns = "columns" in graph.objects(setting, "ah:property")
        if is_of_columns and operation in graph.objects(setting, "ah:subOperation"):
            for change in graph.subjects("ah:hasSetting", setting):
                yield from map(in_utc, graph.objects(change, "prov:startedAtTime"))


def _renames(graph: Lookups, thing: str) -> list[tuple[datetime, str, str]]:
    """The renames of columns of an object, in order: when, the former name and the new one."""
    return sorted(
        (in_utc(time), graph.text(former, "ah:columnName") or "", name)
        for new in graph.subjects("ah:columnOf", thing)
        for name in graph.objects(new, "ah:columnName")
        for former in graph.objects(new, "ah:renamedFrom")
        for setting in graph.subjects("ah:onColumn", former)
        if "objectName" in graph.objects(setting, "ah:property") and name in graph.objects(setting, "ah:value")
        for change in graph.subjects("ah:hasSetting", setting)
        for time in graph.objects(change, "prov:startedAtTime")
    )


def names_of_renamed(renames: Iterable[tuple[datetime, str, str]]) -> dict[tuple[datetime, str], list[str]]:
    """The renamed columns of an object, by the time of the first RENAME and the name before it, each with the names
    that it had one after the other. ``renames``: in order, each with its time, the former and the new name.
    """
    names, has = defaultdict[tuple[datetime, str], list[str]](list), dict[str, tuple[datetime, str]]()
    for time, same in groupby(renames, key=itemgetter(0)):
        moved = [(former, new, has.pop(match_name(former), (time, former))) for _, former, new in same]
        for former, new, column in moved:  # at once, as names are swapped
            names[column] += [new] if names[column] else [former, new]
            has[match_name(new)] = column
    return names


def spelled_alike(asked: Asked) -> Iterator[str]:
    """A note on columns that are asked for together, since their names differ in letter case alone."""
    graph, names, texts = asked.graph, asked.match_names("column_name"), list[str]()
    for thing in sorted(asked.things) if names else ():
        spellings = defaultdict[str, set[str]](set)
        for column in graph.columns_of(thing, names):
            spellings[graph.text(column, "ah:matchName") or ""].update(graph.objects(column, "ah:columnName"))
        texts += [
            f"{' and '.join(sorted(alike))} of {asked.label(thing)}" for alike in spellings.values() if len(alike) > 1
        ]
    if texts:
        yield (
            f"The answer has all that rows call so in any letter case: {first_of(texts, _SPELLINGS_SHOWN, '; ')}. Rows "
            'have no quotes: these can be one column, or several (such as "c" and C).'
        )


_CASES: Final = """\
SELECT DISTINCT ?object ?label ?spelled ?other WHERE {
  { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:TagSetting } }
  UNION { SELECT DISTINCT ?column WHERE { ?setting ah:onColumn ?column ; a ah:PolicySetting } }
  ?column ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?spelled .
  ?same ah:columnOf ?object ; ah:matchName ?match_name ; ah:columnName ?other .
  FILTER(?same != ?column)
  OPTIONAL { ?object rdfs:label ?label }
}
"""
"""Columns with tags or policies that rows also give in another letter case."""


def letter_cases(asked: Asked) -> Iterator[str]:
    """Tags and policies count for the spelling of a column with which rows set them."""
    name_of: dict[tuple[str, ...], str] = {}
    for row in asked.graph.select(_CASES):
        thing, name = row["object"], row["label"] or row["object"]
        if asked.is_about(thing):
            key = (thing, *sorted((row["spelled"], row["other"])))
            name_of[key] = min(name, name_of.get(key, name))
    texts = [f"{spelled} and {other} of {name}" for (_, spelled, other), name in sorted(name_of.items())]
    if texts:
        yield (
            f"Rows give columns in several letter cases: {first_of(texts, _SPELLINGS_SHOWN)}. A tag or policy counts "
            "for the spelling with which it was set or unset, and not for the other, though it may be the same column: "
            "the answer may lack rows, and have some that do not hold."
        )
