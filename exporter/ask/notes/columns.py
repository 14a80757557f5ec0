"""Notes on columns: which rows give by names alone, and of whose data they often do not say where it came from.

Columns have no ids: what rows say of one counts under the name, and spelling, that they give. Of queries that read one
object and wrote another, some rows give no source of any column, or none behind the columns of a view over shared data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups, in_utc
from exporter.ask.notes.asked import Asked, queries_in_words
from exporter.ask.parameters import as_text
from exporter.model.identifiers import match_name

# --- names of columns -------------------------------------------------------------------------------------------------

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
    """A note on each drop of the column that is asked for, if the answer can have something from before it."""
    names = asked.match_names("column_name") if asked.name in _COUNTED_BY_NAME and asked.answer.rows else []
    for thing in sorted(asked.things) if names and not asked.values("at") else ():
        for column, time in sorted(_drops(asked.graph, thing)):
            is_within = (asked.since is None or asked.since <= time) and (asked.until is None or time < asked.until)
            if is_within and match_name(column) in names:
                yield (
                    f"The column {column} of {asked.label(thing)} was dropped at {as_text(time)}: what the "
                    "answer has from before that is of the column that is gone."
                )


def _drops(graph: Lookups, thing: str) -> Iterator[tuple[str, datetime]]:
    """The columns of an object that were dropped, each with the time."""
    for column in graph.subjects("ah:columnOf", thing):
        for setting in graph.subjects("ah:onColumn", column):
            if "columns" in graph.objects(setting, "ah:property") and "DROP" in graph.objects(
                setting, "ah:subOperation"
            ):
                for change in graph.subjects("ah:hasSetting", setting):
                    for time in graph.objects(change, "prov:startedAtTime"):
                        yield graph.text(column, "ah:columnName") or "", in_utc(time)


def _renames(graph: Lookups, thing: str) -> set[tuple[str, str]]:
    """The former and the new name of the renamed columns of an object."""
    columns = (
        (former, new) for new in graph.subjects("ah:columnOf", thing) for former in graph.objects(new, "ah:renamedFrom")
    )
    names = ((graph.text(former, "ah:columnName"), graph.text(new, "ah:columnName")) for former, new in columns)
    return {(former, new) for former, new in names if former and new}


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


# --- sources of columns -----------------------------------------------------------------------------------------------

_SHOWN: Final = 3
_UP_BY_COLUMN: Final = ("column-lineage", "root-cause", "page-column-up", "page-column-up-at")
OF_COLUMN_LINEAGE: Final = (*_UP_BY_COLUMN, "column-copies", "page-column-down", "tag-reach", "unmasked-copies")
"""Questions that follow columns alone."""
_SET_ON: Final = {
    "tag-reach": {"ah:TagSetting": "ah:settingOn"},
    "unmasked-copies": {"ah:PolicySetting": "ah:settingOn", "ah:PolicyEnforcement": "ah:protectedObject"},
}

_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""


def without_column_sources(asked: Asked) -> Iterator[str]:
    """For an empty answer that follows columns: queries that read the object and wrote another one (or, upward, that
    wrote it), and whose rows give no source of any column; upward also of the column that is asked for, if the query
    read something of which rows give no columns at all, such as a stage.
    """
    graph, is_up = asked.graph, asked.name in _UP_BY_COLUMN
    things = {graph.text(thing, "ah:columnOf") or thing for thing in asked.asked_objects or _set_things(asked)}
    states = (state for thing in sorted(things) for state in graph.subjects("prov:specializationOf", thing))
    written = (
        made for state in states for made in ([state] if is_up else graph.subjects("prov:wasDerivedFrom", state))
    )
    queries = {
        query
        for made in islice(written, _LOOKED_AT)
        if any(graph.objects(made, "prov:wasDerivedFrom"))
        and (not _has_sources(graph, made) or (is_up and _may_be_from_a_whole(asked, made)))
        for query in graph.objects(made, "prov:wasGeneratedBy")
        if asked.has_activity(query)
    }
    if queries:
        did = "wrote what is asked for" if is_up else "read what is asked for and wrote other objects"
        yield (
            f"Rows of queries that {did} do not say which column came from which: {queries_in_words(graph, queries)}. "
            "The answer cannot have these; end-up and lineage-as-of follow whole objects."
        )


def through_shared_views(asked: Asked) -> Iterator[str]:
    """For answers that follow columns: those that were filled from columns of a view over shared data, of which rows
    give no source behind the view (view, "Data sharing notes").
    """
    if asked.name == "column-lineage":
        return
    graph, is_up = asked.graph, asked.name in _UP_BY_COLUMN
    things = {graph.text(thing, "ah:columnOf") or thing for thing in asked.asked_objects or _set_things(asked)}
    parts = sorted(asked.lineage.columns or ()) if is_up else _filled_over(graph, things)
    label = asked.label
    found = {
        f"{label(thing)} to {label(graph.text(whole, 'prov:specializationOf') or whole)}": query
        for part in islice(parts, _LOOKED_AT)
        for whole in graph.objects(part, "dcterms:isPartOf")
        for thing in sorted(_shared_behind(graph, part, whole))
        if is_up or thing in things
        for query in graph.objects(whole, "prov:wasGeneratedBy")
        if asked.has_activity(query)
    }
    if found:
        yield (
            "Rows do not say what is behind the columns of a view over shared data. So the answer cannot have what "
            f"came through one: {first_of(sorted(found), _SHOWN)} ({queries_in_words(graph, set(found.values()))}). "
            f"{'lineage-as-of' if is_up else 'end-up'} follows whole objects."
        )


def _filled_over(graph: Lookups, things: Iterable[str]) -> Iterator[str]:
    """The versions of columns that were filled from views over those of these objects that are shared."""
    shows = (one for thing in things if _is_shared(graph, thing) for one in graph.subjects("ah:sourceObject", thing))
    views = {view for one in islice(shows, _LOOKED_AT) for view in graph.objects(one, "ah:view")}
    for view in sorted(views):
        for derivation in graph.subjects("ah:sourceObject", view):
            yield from graph.objects(derivation, "ah:targetColumnVersion")
            yield from graph.subjects("ah:derivationPattern", derivation)


def _shared_behind(graph: Lookups, part: str, whole: str) -> set[str]:
    """The shared objects behind the views of whose columns a version of a column was filled; none if rows give what is
    behind these columns. Shared is what is of another account, and a view that is behind another one.
    """
    derivations = graph.derivations_of(part)
    if any("BASE" in graph.objects(one, "ah:sourceType") for one in derivations):
        return set()
    views = {view for one in derivations for view in graph.objects(one, "ah:sourceObject")}
    behind = {thing for view in views for shows in graph.subjects("ah:view", view)
              if "CERTAIN" in graph.objects(shows, "ah:evidence")
              for thing in graph.objects(shows, "ah:sourceObject")}  # fmt: skip
    used = {thing for state in graph.objects(whole, "prov:wasDerivedFrom")
            for thing in graph.objects(state, "prov:specializationOf")}  # fmt: skip
    return {thing for thing in (behind & used) - views if _is_shared(graph, thing)}


def _is_shared(graph: Lookups, thing: str) -> bool:
    return graph.is_of_other(thing) or graph.text(thing, "ah:domain") == "View"


def _set_things(asked: Asked) -> set[str]:
    """The objects that have tags or policies, of a question that is about these."""
    places = (
        (node, place) for name, place in _SET_ON.get(asked.name, {}).items() for node in asked.graph.of_class(name)
    )
    return {thing for node, place in islice(places, _LOOKED_AT) for thing in asked.graph.objects(node, place)}


def _may_be_from_a_whole(asked: Asked, made: str) -> bool:
    """Whether a column of a version that is asked for has no source, and the version was derived from something of
    which rows give no columns.
    """
    graph, names = asked.graph, asked.match_names("column_name")
    is_untold = any(
        not any(graph.objects(part, "prov:wasDerivedFrom"))
        for part in graph.subjects("dcterms:isPartOf", made)
        for column in graph.objects(part, "prov:specializationOf")
        if not names or names.intersection(graph.objects(column, "ah:matchName"))
    )
    return is_untold and any(
        not any(graph.subjects("ah:columnOf", thing))
        for state in graph.objects(made, "prov:wasDerivedFrom")
        for thing in graph.objects(state, "prov:specializationOf")
    )


def _has_sources(graph: Lookups, made: str) -> bool:
    """Whether a column of a version has a source."""
    columns = graph.subjects("dcterms:isPartOf", made)
    return any(any(graph.objects(column, "prov:wasDerivedFrom")) for column in columns)
