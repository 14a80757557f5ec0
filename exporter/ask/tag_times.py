"""Notes on an empty answer about tags that are set at a time: which tags were set at another one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode, QuerySolutions

from exporter.ask.answers import first_of
from exporter.ask.parameters import instant, values_of
from exporter.graph.terms import full
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyoxigraph import QuerySolution, Store

from exporter.ask.parameters import ParameterValues

_QUESTIONS: Final = ("policy-coverage", "tag-reach")
_OF_COLUMNS: Final = "tag-reach"
_SHOWN: Final = 3
_PERIODS: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?thing ?name ?column ?tag ?since ?until WHERE {
  ?setting a ah:TagSetting ; ah:settingOn ?thing ; ah:element ?tag ; ah:validFrom ?since .
  ?thing rdfs:label ?name .
  OPTIONAL { ?setting ah:onColumn/ah:columnName ?column }
  OPTIONAL { ?setting ah:validUntil ?until }
}
"""


def tags_of_another_time(
    store: Store, question: str, params: ParameterValues, things: Collection[str]
) -> Iterator[str]:
    """What an empty answer leaves out: tags that ended before the time that is asked for (the end of the record, if
    none is), those that were set later, and those on what was dropped then and restored later, which keep their period.
    ``things``: the IRIs of the objects that are asked for; all, if there are none.
    """
    if question not in _QUESTIONS:
        return
    times = [instant("at", value) for value in values_of(params, "at")]
    ended, later, dropped = list[tuple[datetime, str]](), list[tuple[datetime, str]](), set[str]()
    for row in _settings(store, question, params, things):
        place = f"{row['name'].value}.{row['column'].value}" if row["column"] else row["name"].value
        what, since = f"{row['tag'].value} on {place}", row["since"].value
        until = row["until"].value if row["until"] else None
        if until is not None and (not times or datetime.fromisoformat(until) <= max(times)):
            ended.append((datetime.fromisoformat(until), f"{what} until {until}"))
        elif times and datetime.fromisoformat(since) > max(times):
            later.append((datetime.fromisoformat(since), f"{what} since {since}"))
        elif any(_was_dropped(store, row["thing"].value, at) for at in times):
            dropped.add(what)
    time_text = f"at {', '.join(values_of(params, 'at'))}" if times else "at the end of the record"
    lead = f"The answer has tags that were set {time_text}."
    if dropped:
        yield f"{lead} On what was dropped then, and restored later: {first_of(sorted(dropped), _SHOWN)}."
    if ended:
        texts = first_of([text for _, text in sorted(ended, reverse=True)], _SHOWN)
        yield f"{lead} Earlier ones ended when they were unset, or with the object or the column: {texts}."
    if later:
        yield f"{lead} Later ones: {first_of([text for _, text in sorted(later)], _SHOWN)}."


def _settings(store: Store, question: str, params: ParameterValues, things: Collection[str]) -> Iterator[QuerySolution]:
    """Each time that a tag was set on what is asked for."""
    tags = {match_name(value) for value in values_of(params, "tag_name")}
    answer = store.query(_PERIODS)
    for row in answer if isinstance(answer, QuerySolutions) else ():
        is_asked_tag = not tags or match_name(row["tag"].value) in tags
        is_asked_thing = not things or row["thing"].value in things
        if is_asked_tag and is_asked_thing and (question != _OF_COLUMNS or row["column"]):
            yield row


def _was_dropped(store: Store, thing: str, at: datetime) -> bool:
    """Whether the latest that a row says of an object by then is its DROP, or that of its schema or database."""
    generated, dropped = set[datetime](), set[datetime]()
    for quad in store.quads_for_pattern(None, NamedNode(full("prov:specializationOf")), NamedNode(thing)):
        if isinstance(quad.subject, NamedNode):
            generated |= _times(store, quad.subject, "prov:generatedAtTime")
            dropped |= _times(store, quad.subject, "prov:invalidatedAtTime")
    last = max((time for time in dropped if time <= at), default=None)
    return last is not None and not any(last < time <= at for time in generated)


def _times(store: Store, version: NamedNode, term: str) -> set[datetime]:
    quads = store.quads_for_pattern(version, NamedNode(full(term)), None)
    return {datetime.fromisoformat(quad.object.value) for quad in quads if isinstance(quad.object, Literal)}
