"""Notes on empty answers to questions that are only about objects with a mask, a tag or a grant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from exporter.ask import tag_stops
from exporter.ask.answers import first_of
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import POLICY_COVERAGE, TAG_REACH, UNMASKED_READS, Asked, record_begin
from exporter.ask.notes.changes_without_id import uncertain_things
from exporter.ask.notes.column_changes_without_id import with_changed_columns
from exporter.ask.notes.lost_protection import with_names_of_masked
from exporter.ask.notes.mask_periods import masked_columns
from exporter.ask.notes.masks_beside import masks_of_same_reads
from exporter.ask.notes.policies import has_tag_of, tagged_wholes
from exporter.ask.notes.successors import DATA
from exporter.ask.triples import LATE, Solution, in_utc, iris, literals
from exporter.model.identifiers import match_name

_MASKING: Final = ("policies_referenced", "object_modified_by_ddl")
_LACKS: Final = ("TRUNCATED", "UNNAMED", "NOT_UNDERSTOOD")
"""Columns of rows that show masks, and why one may lack something."""
_SHOWN_TAGS: Final = 3
_SHOWN_PLACES: Final = 5
_ONLY_TAGGED: Final = "policy-coverage lists only what has a tag"
_NAME: Final = "\0"
"""Stands for the name of an object in a text that may be about several."""

_ON_COLUMNS: Final = """\
ASK { ?setting a ah:TagSetting ; ah:onColumn ?column }
"""
_TAGGED_COLUMN: Final = """\
ASK {
  VALUES ?object { @thing@ }
  VALUES ?match_name { @columns@ }
  ?column ah:columnOf ?object ; ah:matchName ?match_name .
  ?setting ah:onColumn ?column ; a ah:TagSetting .
}
"""


def nothing_set(asked: Asked) -> Iterator[str]:
    """For an empty answer to a question that is only about objects with a mask, a tag or a grant."""
    graph = asked.graph
    if asked.name == "exposure":
        yield (
            "Rows record grants to shares, and shares that are open to accounts: what roles may do, and what was "
            f"granted before {record_begin(graph)}, is not on record."
        )
    if asked.name == TAG_REACH:
        yield _no_copy(asked)
    if asked.name == POLICY_COVERAGE and not asked.things and not any(graph.of_class("ah:TagSetting")):
        yield f"No row sets a tag: {_ONLY_TAGGED}."
    elif asked.name in {"unmasked-reads", POLICY_COVERAGE, "tag-history"}:
        yield from _nothing_on_objects(asked)


def _nothing_on_objects(asked: Asked) -> Iterator[str]:
    """Which of the objects that are asked for have no mask or tag. A table that is made anew each night is many
    objects: of more than a few with one name, one note.
    """
    graph = asked.graph
    columns = ", ".join(asked.values("column_name"))
    of_columns = literals(asked.match_names("column_name")) or "UNDEF"  # any column
    called = _Names(graph)
    is_of_masks = asked.name == UNMASKED_READS
    masking = [row for row in tagged_wholes(asked) if row["mask"]] if is_of_masks else []
    with_masked_names = with_names_of_masked(asked) if is_of_masks else set[str]()
    names_by_text = defaultdict[tuple[str, str], list[str]](
        list
    )  # by text, with a mark for the name, and by label: the names
    uncertain = uncertain_things(asked) | (with_changed_columns(asked) if columns else set())
    for thing in sorted(set(asked.things) - uncertain):
        own = {match_name(holder.name): holder.name for holder in graph.names_of(thing)}
        label = next(
            (own[asked_name] for asked_name in sorted(asked.match_names()) if asked_name in own), graph.label(thing)
        )
        name = called.of(thing, label, columns, with_id=thing in with_masked_names)
        if is_of_masks and not (any(has_tag_of(row, asked, thing) for row in masking) or masked_columns(asked, thing)):
            masked_place = _NAME if columns else f"a column of {_NAME}"
            names_by_text[_never_masked(asked, thing, masked_place, is_other=thing in with_masked_names), label].append(
                name
            )
        properties = {graph.text(setting, "ah:property") for setting in graph.subjects("ah:settingOn", thing)}
        if asked.name == POLICY_COVERAGE and "tags" not in properties:
            names_by_text[f"No row sets a tag on {_NAME}: {_ONLY_TAGGED}.", label].append(name)
        is_about_column = asked.name == "tag-history" and columns
        if is_about_column and not graph.holds(_TAGGED_COLUMN, thing=iris([thing]), columns=of_columns):
            begin = record_begin(graph)
            names_by_text[f"No row sets a tag on {_NAME}: what was set before {begin} is not on record.", label].append(
                name
            )
    for (text, label), names in names_by_text.items():
        is_many = len(names) > _SHOWN_PLACES
        place = f"{label}.{columns}" if columns else label
        for name in [f"{place} ({len(names)} objects that had the name)"] if is_many else names:
            yield text.replace(_NAME, name)


class _Names:
    """What notes call the objects that are asked for: with the id where several objects had the name."""

    def __init__(self, graph: Lookups) -> None:
        self._graph, self._same = graph, dict[str, set[str]]()
        self._has_accounts: dict[str, bool] = {}

    def of(self, thing: str, label: str, columns: str, *, with_id: bool) -> str:
        """``label``, a name of an object, or these columns of it; ``with_id``: with the id in any case, as others
        had another name of it.
        """
        graph, place = self._graph, f"{label}.{columns}" if columns else label
        if label not in self._same:
            holders = (holder for holder in graph.holders(label) if holder.domain.endswith(DATA))
            self._same[label] = {thing, *(holder.iri for holder in holders)}
            self._has_accounts[label] = len(set(map(graph.of_account, self._same[label]))) > 1
        if len(self._same[label]) == 1 and not with_id:
            return place
        of_account = graph.of_account(thing) if self._has_accounts[label] else ""
        return f"{place} (object_id={graph.text(thing, 'ah:objectId') or 'none'}{of_account})"


def _never_masked(asked: Asked, thing: str, masked_place: str, *, is_other: bool) -> str:
    """For an empty answer about unmasked reads of what no row masks: ``what``, of an object. ``is_other``: it has, or
    had, the name of a masked one.
    """
    graph = asked.graph
    beside = masks_of_same_reads(graph, thing, asked.match_names("column_name"))
    if beside:
        return (
            f"No row shows a masking policy on {masked_place}. But queries that read it (with reads by day perhaps "
            "others of the same user and role) enforced one on the object without a column, on the same name in "
            "another form, behind the view, or on a view over it, and rows do not say whether it covered what was "
            f"read: {first_of(sorted(beside), _SHOWN_PLACES)}."
        )
    if graph.same_names(thing):
        other = "without an id" if graph.text(thing, "ah:objectId") else "with an id"
        return (
            f"No row shows a masking policy on {masked_place} in this form. Rows give it {other}, too: if that is the "
            "same, and masked, whoever read it in this form read it unmasked (column-readers lists the readers)."
        )
    is_whole = not any(
        any(graph.with_text("ah:incomplete", f"{place} {reason}")) for place in _MASKING for reason in _LACKS
    )
    applies = "and it is another object than the masked one" if is_other else "so the question does not apply"
    so = applies if is_whole else "as far as rows were not cut and are understood"
    return (
        f"No row shows a masking policy on {masked_place}, {so}: whoever read it read it unmasked (column-readers "
        "lists the readers)."
    )


def _no_copy(asked: Asked) -> str:
    """For an empty answer of tag-reach: whether rows set tags on columns at all."""
    graph = asked.graph
    if graph.holds(_ON_COLUMNS):
        rows = "Beside what stop_at leaves out, rows" if asked.values(tag_stops.PARAMETER) else "Rows"
        return (
            f"{rows} show no copy without the tag of its source, among columns that are there and sources that have a "
            "tag. Views over a column and stages are not in this answer (end-up has them)."
        )
    if any(graph.of_class("ah:TagSetting")):
        return (
            "Tags are set on objects as a whole, and on no column: tag-reach begins with tagged columns "
            "(policy-coverage lists the objects)."
        )
    return f"No row sets a tag on a column: what was set before {record_begin(graph)} is not on record."


_PERIODS: Final = """\
SELECT DISTINCT ?thing ?column ?column_iri ?tag ?tag_iri ?since ?until ?is_moved WHERE {
  ?setting a ah:TagSetting ; ah:settingOn ?thing ; ah:element ?tag ; ah:elementObject ?tag_iri ; ah:validFrom ?since .
  OPTIONAL { ?setting ah:onColumn ?column_iri . ?column_iri ah:columnName ?column }
  OPTIONAL { ?setting ah:validUntil ?until }
  BIND(EXISTS {
    ?rename ah:changedObject ?thing ; ah:newName|ah:swappedWithName ?other ; prov:startedAtTime ?until .
    FILTER NOT EXISTS { ?thing ah:objectId ?id }
  } || EXISTS {
    ?rename ah:changedObject ?tag_iri ; ah:newName ?other ; prov:startedAtTime ?time .
    FILTER(?since <= ?time && ?time <= ?until)
    FILTER NOT EXISTS { ?tag_iri ah:objectId ?id }
  } AS ?is_moved)
}
"""
"""``?is_moved``: it is on an object without an id that got another name then, and took the tag with it; or the tag has
no id and got another name before, so what ended it may be of another tag.
"""


def tags_at_other_times(asked: Asked) -> Iterator[str]:
    """What an empty answer about tags that are set at a time leaves out: tags that ended before that time (the end of
    the record, if none is asked for), those that were set later, and those that were dropped then, or are on what was,
    and restored later, which keep their period.
    """
    times = asked.times("at")
    ended, later, dropped = list[tuple[datetime, str]](), list[tuple[datetime, str]](), set[str]()
    rows = list(_settings(asked))
    begun = {(row["thing"], row["tag_iri"], row["since"], row["column_iri"]) for row in rows}
    for row in rows:
        name = asked.graph.name_at(row["thing"], row["since"])
        place = f"{name}.{row['column']}" if row["column"] else name
        setting, since, until = f"{row['tag']} on {place}", row["since"], row["until"]
        if until and (not times or datetime.fromisoformat(until) <= max(times)):
            if row["is_moved"] != "true" and begun.isdisjoint(_later(asked.graph, row)):
                ended.append((datetime.fromisoformat(until), f"{setting} until {until}"))
        elif times and datetime.fromisoformat(since) > max(times):
            later.append((datetime.fromisoformat(since), f"{setting} since {since}"))
        elif any(asked.graph.was_dropped(row[term], at) for term in ("thing", "tag_iri") for at in times):
            dropped.add(setting)
    time_text = f"at {', '.join(asked.values('at'))}" if times else "at the end of the record"
    lead = f"The answer has tags that were set {time_text}."
    if dropped:
        yield f"{lead} Dropped then, or on what was, and restored later: {first_of(sorted(dropped), _SHOWN_TAGS)}."
    if ended:
        texts = first_of([text for _, text in sorted(ended, reverse=True)], _SHOWN_TAGS)
        yield (
            f"{lead} Earlier ones ended when the tag was unset, dropped or replaced, or with the object or the column: "
            f"{texts}."
        )
    if later:
        yield f"{lead} Later ones: {first_of([text for _, text in sorted(later)], _SHOWN_TAGS)}."


def tags_of_former_sources(asked: Asked) -> Iterator[str]:
    """Tags that ended when their table was made anew, as by a nightly CREATE OR REPLACE, and that the table of its name
    has again: what was copied from the former one is not in the answer of ``tag-reach``.
    """
    graph, times = asked.graph, asked.times("at")
    at = max(times, default=LATE)
    rows = list(_settings(asked)) if asked.answer.rows else []
    ended = [row for row in rows if row["until"] and in_utc(row["until"]) <= at]
    present = defaultdict[tuple[str, str, str], set[str]](set)
    for row in rows:
        if in_utc(row["since"]) <= at and (not row["until"] or in_utc(row["until"]) > at):
            name = graph.name_at(row["thing"], at.isoformat()) if times else graph.label(row["thing"])
            present[name, row["column"], row["tag_iri"]].add(row["thing"])
    texts = set[tuple[datetime, str]]()
    for row in ended:
        name = graph.name_at(row["thing"], row["since"])
        holders = present.get((name, row["column"], row["tag_iri"]))
        if holders and (row["thing"] not in holders or _is_made_anew(graph, row["thing"], row["until"])):
            texts.add((in_utc(row["until"]), f"{row['tag']} on {name}.{row['column']} until {row['until']}"))
    if texts:
        yield (
            "A tag ends with its table, also when that is made anew, and the answer has copies of the present one. "
            "What was copied before is in an answer with an earlier `at`: "
            f"{first_of([text for _, text in sorted(texts, reverse=True)], _SHOWN_TAGS)}."
        )


def _is_made_anew(graph: Lookups, thing: str, time: str) -> bool:
    """Whether an object was made anew at a time."""
    made = (
        version
        for version in graph.subjects("prov:specializationOf", thing)
        if graph.text(version, "prov:generatedAtTime") == time
    )
    return any(not graph.text(version, "ah:priorVersion") for version in made)


def _later(graph: Lookups, row: Solution) -> Iterator[tuple[str, str, str, str]]:
    """With what a tag would go on when a period of it ends: with another value, or under the new name of its column."""
    column = row["column_iri"]
    for later in (column, *(graph.subjects("ah:renamedFrom", column) if column else ())):
        yield row["thing"], row["tag_iri"], row["until"], later


def _settings(asked: Asked) -> Iterator[Solution]:
    """Each time that a tag was set on what is asked for."""
    tags = asked.match_names("tag_name")
    for row in asked.graph.select(_PERIODS):
        is_asked_tag = not tags or match_name(row["tag"]) in tags
        if is_asked_tag and asked.is_about(row["thing"]) and (asked.name != TAG_REACH or row["column"]):
            yield row
