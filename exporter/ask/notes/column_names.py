"""Notes on names of columns, which have no ids: what rows say of one counts under the name, and spelling, they give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, in_utc
from exporter.ask.notes.asked import Asked
from exporter.ask.parameters import as_text
from exporter.model.identifiers import match_name

_SPELLINGS_SHOWN: Final = 5
_COUNTED_BY_NAME: Final = {
    "column-copies": "copies count",
    "column-readers": "reads count",
    "end-up": "copies and reads count",
    "root-cause": "writes count",
    "tag-history": "tags count",
    "unmasked-reads": "reads count",
}
"""Question about a column that is asked for by its name -> what counts under the name that the column had then."""


def renamed_columns(asked: Asked) -> Iterator[str]:
    """A note on each renamed column: what was done to it counts under the name that it had then, so its other names
    have to be asked for, too. It may have been renamed several times.
    """
    counted, asked_names = _COUNTED_BY_NAME.get(asked.name), asked.match_names("column_name")
    for thing in sorted(asked.things) if counted and asked_names else ():
        renames = sorted(_renames(asked.graph, thing))
        names = set(asked_names)
        for _ in renames:  # as many steps as a chain of them can have
            names.update(match_name(new) for former, new in renames if match_name(former) in names)
            if asked.name != "tag-history":  # it has the tags of former names
                names.update(match_name(former) for former, new in renames if match_name(new) in names)
        for former, new in renames:
            others = [f"column_name={column}" for column in (new, former) if match_name(column) not in asked_names]
            if others and {match_name(former), match_name(new)} <= names:
                yield (
                    f"The column {former} was renamed to {new}, and {counted} under the name of their time. "
                    f"Ask for {' and '.join(others)}, too."
                )


def dropped_columns(asked: Asked) -> Iterator[str]:
    """A note on each drop of the column that is asked for, if the answer can have something from before it; for an
    empty answer of one time, if there was something before that.
    """
    names, times = asked.match_names("column_name") if asked.name in _COUNTED_BY_NAME else set(), asked.values("at")
    for thing in sorted(asked.things) if names and bool(times) != bool(asked.answer.rows) else ():
        for column, time in sorted(_drops(asked.graph, thing)):
            is_within = (asked.since is None or asked.since <= time) and (asked.until is None or time < asked.until)
            if is_within and match_name(column) in names:
                of_column = "what it held before is not in the answer" if times else (
                    "what the answer has from before that is of the column that is gone"
                )  # fmt: skip
                yield f"The column {column} of {asked.label(thing)} was dropped at {as_text(time)}: {of_column}."


def _drops(graph: Lookups, thing: str) -> Iterator[tuple[str, datetime]]:
    """The columns of an object that were dropped, each with the time."""
    for column in graph.subjects("ah:columnOf", thing):
        yield from ((graph.text(column, "ah:columnName") or "", time) for time in drops_of(graph, column))


def drops_of(graph: Lookups, column: str) -> Iterator[datetime]:
    """When a column was dropped."""
    for setting in graph.subjects("ah:onColumn", column):
        if "columns" in graph.objects(setting, "ah:property") and "DROP" in graph.objects(setting, "ah:subOperation"):
            for change in graph.subjects("ah:hasSetting", setting):
                yield from map(in_utc, graph.objects(change, "prov:startedAtTime"))


def _renames(graph: Lookups, thing: str) -> set[tuple[str, str]]:
    """The former and the new name of the renamed columns of an object."""
    columns = (
        (former, new) for new in graph.subjects("ah:columnOf", thing) for former in graph.objects(new, "ah:renamedFrom")
    )
    names = ((graph.text(former, "ah:columnName"), graph.text(new, "ah:columnName")) for former, new in columns)
    return {(former, new) for former, new in names if former and new}


def spelled_alike(asked: Asked) -> Iterator[str]:
    """A note on columns that are asked for together, since their names differ in letter case alone."""
    graph, names, texts = asked.graph, asked.match_names("column_name"), list[str]()
    for thing in sorted(asked.things) if names else ():
        spellings = defaultdict[str, set[str]](set)
        for column in graph.columns_of(thing, names):
            spellings[graph.text(column, "ah:matchName") or ""].update(graph.objects(column, "ah:columnName"))
        texts += [f"{' and '.join(sorted(one))} of {asked.label(thing)}" for one in spellings.values() if len(one) > 1]
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
    texts = [f"{one} and {other} of {name}" for (_, one, other), name in sorted(name_of.items())]
    if texts:
        yield (
            f"Rows give columns in several letter cases: {first_of(texts, _SPELLINGS_SHOWN)}. A tag or policy counts "
            "for the spelling with which it was set or unset, and not for the other, though it may be the same column: "
            "the answer may lack rows, and have some that do not hold."
        )
