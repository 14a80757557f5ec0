"""The tags and policies of an object, what a tag or policy is set on, and the periods in which each held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import Answer, with_rows
from exporter.ask.notes.enforced_alone import ENFORCED
from exporter.ask.notes.older_masks import ONE_OF_A_COLUMN
from exporter.ask.parameters import instant
from exporter.model.identifiers import match_name
from exporter.serve.site import cut

if TYPE_CHECKING:
    from exporter.serve.site import PageSubject, Row, Site

OF_ENFORCED: Final = (ENFORCED, ONE_OF_A_COLUMN)
"""How the notes begin on policies that were enforced and that no row sets."""
_MOST: Final = 10_000
"""The most drops that were taken back, of all objects of a page."""
_THINGS: Final = ("set_iri", "object_iri", "place_iri")
"""The tag or policy of a setting, the object with it, and the schema or database through which the object has it."""
_SEEN: Final = ("first_seen", "last_seen", "valid_until", "query_id")
_at: Final = partial(instant, "time")


def settings(site: Site, shown: PageSubject, column: str | None = None) -> Answer:
    """The tags and policies of what a page is about and its columns, when they held, and who set them; also the
    policies that it has through its tags, each while both held; of a name, until the object lost it; of one ``column``
    if it is given. The notes have the policies that were enforced and that no row sets.
    """
    of_column = {} if column is None else {"column_name": column}
    answer = site.ask("page-settings", {"object": shown.iris, **of_column}, shown.most)
    tags = sorted({row["set_iri"] for row in answer.dicts() if row["kind"] == "Tag" and row["set_iri"]})
    of_tags = site.rows("page-settings", {"object": tags}) if tags else []
    held = _called_then(site, _held(site, [*answer.dicts(), *of_tags]))
    own = [row for row in held if row["object_iri"] in shown.iris]
    through = [
        setting
        for tag in own
        for policy in held
        if tag["set_iri"] == policy["object_iri"] and policy["kind"] == "Policy"
        if (setting := _policy_through_tag(tag, policy))
    ]
    rows = [*own, *through]
    named = [{**row, "set_name": row["called"]} for row in rows]
    answer = cut(with_rows(answer, _latest_first(_of_name(named, shown, "object_iri"))))
    enforced = site.ask("page-enforced", {**shown.params, **of_column}).notes
    return replace(answer, notes=[*answer.notes, *(note for note in enforced if note.startswith(OF_ENFORCED))])


def set_on(site: Site, shown: PageSubject) -> Answer:
    """What a tag or policy is set on, and when it held; of a name, until the tag or policy lost it."""
    answer = site.ask("page-carriers", {"object": shown.iris}, shown.most)
    return cut(with_rows(answer, _latest_first(_of_name(_held(site, answer.dicts()), shown, "set_iri"))))


def _of_name(rows: Iterable[Row], shown: PageSubject, owner: str) -> Iterator[Row]:
    """Periods as the name of a page has them: each ends when its ``owner``, an object with the name, loses it."""
    for row in rows:
        lost = shown.until.get(row[owner] or "")
        if lost is None or (row["valid_until"] and _at(row["valid_until"]) <= _at(lost)):
            yield row
        elif _at(row["valid_from"] or "") < _at(lost):
            yield {**row, "valid_until": lost}


def seen_together(answer: Answer) -> Answer:
    """Rows that differ only in when and where something was seen as one: a view over a table that is made anew each
    night is one view, first seen over the first of the tables.
    """
    rows_by_key: dict[tuple[str | None, ...], Row] = {}
    for row in answer.dicts():
        key = tuple(cell for name, cell in row.items() if name not in _SEEN)
        earlier = rows_by_key.setdefault(key, row)
        ends = [seen_row["valid_until"] for seen_row in (earlier, row)]
        rows_by_key[key] = {
            **earlier,
            "first_seen": min((seen_row["first_seen"] or "" for seen_row in (earlier, row)), key=_at),
            "last_seen": max((seen_row["last_seen"] or "" for seen_row in (earlier, row)), key=_at),
            "valid_until": None if None in ends else max((end or "" for end in ends), key=_at),
        }
    return cut(with_rows(answer, rows_by_key.values()))


def _latest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: _at(row["valid_from"] or ""), reverse=True)


def _held(site: Site, settings: Iterable[Row]) -> list[Row]:
    """Settings of tags and policies, each for the periods in which it held: in the graph its period goes on over a DROP
    that was taken back, of the tag or policy, of the object, or of the schema or database of either. From then on it
    held by the query of the UNDROP, and its user.
    """
    rows = list(settings)
    iris = sorted({iri for row in rows for thing in _THINGS if (iri := row.get(thing))})
    gaps: dict[str | None, list[Row]] = defaultdict(list)
    for gap in site.rows("page-restored", {"object": iris}, _MOST) if iris else ():
        gaps[gap["object_iri"]].append(gap)
    held = []
    for row in rows:
        periods = [row]
        for gap in (gap for thing in dict.fromkeys(row.get(thing) for thing in _THINGS) for gap in gaps[thing]):
            periods = [part for period in periods for part in _without(period, gap)]
        held += periods
    return held


def _without(period: Row, gap: Row) -> Iterator[Row]:
    """What a gap leaves of the period of a setting: the part before it and the part after it, as far as there are."""
    begin, dropped, restored = (_at(time or "") for time in (period["valid_from"], gap["dropped"], gap["restored"]))
    end = _at(period["valid_until"]) if period["valid_until"] else None
    if restored <= begin or (end is not None and end <= dropped):
        yield period
        return
    if begin < dropped:
        yield {**period, "valid_until": gap["dropped"]}
    if end is None or restored < end:
        yield {**period, "valid_from": gap["restored"], "user_name": gap["user_name"], "query_id": gap["query_id"]}


def _called_then(site: Site, settings: Sequence[Row]) -> list[Row]:
    """Settings with what their tag or policy was ``called`` last in the period, and in brackets the name with which it
    was set, if that is another one: a RENAME does not end the setting.
    """
    names: dict[str | None, list[Row]] = defaultdict(list)
    iris = sorted({row["set_iri"] for row in settings if row["set_iri"]})
    for name in site.rows("page-names", {"object": iris}, _MOST) if iris else ():  # the latest first
        names[name["object_iri"]].append(name)
    return [{**row, "called": _called(row, names[row["set_iri"]])} for row in settings]


def _called(setting: Row, names: Sequence[Row]) -> str | None:
    own, until = setting["set_name"], setting["valid_until"]
    then = (row["name"] for row in names if until is None or _at(row["valid_from"] or "") < _at(until))
    last = next(then, None)
    return own if last is None or match_name(last) == match_name(own or "") else f"{last} (set as {own})"


def _policy_through_tag(tag: Row, policy: Row) -> Row | None:
    """A policy that is set on a tag, as a setting of the object or column with the tag: while both settings hold, by
    the user who made the later one. None where they never held together.
    """
    later = max(tag, policy, key=lambda row: _at(row["valid_from"] or ""))
    until = min((row["valid_until"] for row in (tag, policy) if row["valid_until"]), key=_at, default=None)
    if until is not None and _at(until) <= _at(later["valid_from"] or ""):
        return None
    both = {"value": f"through {tag['called']}", "valid_from": later["valid_from"], "valid_until": until}
    target = {"object_iri": tag["object_iri"], "column_name": tag["column_name"]}
    return {**policy, **both, **target, "user_name": later["user_name"], "query_id": later["query_id"]}
