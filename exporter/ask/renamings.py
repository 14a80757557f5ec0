"""RENAMEs and SWAPs of what rows give without an id: the names that they lead to and come from, and those of tags and
policies that can concern what is asked for.

A tag or policy whose rows give no id is known by its name alone. A RENAME by names may take what is set with it, or on
it, to another name, though neither the question nor the answer has any of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.lookups import Lookups
from exporter.ask.without_ids import SET_BY, containers_of, sentence
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

if TYPE_CHECKING:
    from exporter.ask.asked import Asked

Key = tuple[str, str]
"""An account and a name as it is compared."""
_BY_NAME: Final = """\
SELECT DISTINCT ?nameless ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  { ?change ah:newName ?new } UNION { ?change ah:swappedWithName ?swapped }
  ?change ah:changedObject ?nameless ; ah:operation ?operation ; prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  FILTER NOT EXISTS { ?nameless ah:objectId ?id }
  OPTIONAL { ?change ah:objectName ?own_name }
  OPTIONAL { ?nameless rdfs:label ?label }
  BIND(COALESCE(?own_name, ?label) AS ?name)
  FILTER(BOUND(?name))
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?name
"""


class Renaming(NamedTuple):
    """A RENAME or SWAP of an object without an id: its time, its account, the object's kind as in its IRI (``table``,
    ``tag``, ``masking-policy``), its two names as written, and the same in sentences; for a SWAP from both sides.
    """

    time: datetime
    account: str
    kind: str
    names: tuple[str, str]
    sentences: tuple[str, ...]

    @property
    def ends(self) -> set[Key]:
        return {(self.account, match_name(name)) for name in self.names}


def renamings_of(asked: Asked) -> Iterator[Renaming]:
    """All renames and swaps without an id until the time that is asked for, in order."""
    return (one for one in renamings(asked.graph) if asked.until is None or one.time <= asked.until)


def renamings(graph: Lookups) -> Iterator[Renaming]:
    """All renames and swaps without an id, in order."""
    for row in graph.select(_BY_NAME):
        time = datetime.fromisoformat(row["time"])
        name, other = names = row["name"], row["swapped"] or row["new"]
        texts = [sentence(row, name, other), *([sentence(row, other, name)] if row["swapped"] else [])]
        account, kind, *_ = row["nameless"].rsplit("/", 3)
        yield Renaming(time, account, kind, names, tuple(texts))


def linked_names(starts: Iterable[Key], renamings: Sequence[Renaming]) -> set[Key]:
    """These names, and those that the renamings lead to or come from."""
    by_name: dict[Key, list[Renaming]] = {}
    for renaming in renamings:
        for end in renaming.ends:
            by_name.setdefault(end, []).append(renaming)
    return set(reachable(starts, lambda name: (end for one in by_name.get(name, ()) for end in one.ends)))


# --- tags and policies on what is asked for ---------------------------------------------------------------------------


OF_MASKS: Final = "unmasked-reads"
_OF_TAGGED: Final = "policy-coverage"
_MASKING: Final = "maskingPolicies"
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class _Setting(NamedTuple):
    """A tag or policy on an object or column, or a policy on a tag. ``element``: the tag or policy; ``keys``: the names
    of it and of the tag that it is on, if they have no id; ``since``, ``until``: when it holds by its rows.
    """

    element: str
    keys: AbstractSet[Key]
    is_tag: bool
    is_masking: bool
    since: datetime
    until: datetime

    def held_at(self, renaming: Renaming) -> bool:
        """Whether it held when one of them was renamed."""
        return not self.keys.isdisjoint(renaming.ends) and self.since <= renaming.time <= self.until


def renamings_of_settings(asked: Asked, renamings: Iterable[Renaming], things: Iterable[str]) -> list[Renaming]:
    """Those of ``renamings`` (in order of time) that can concern what is set on ``things``: of a tag or policy while it
    is set on them, their columns, schemas and databases; of such a tag while a policy is set on it, whatever its name
    is then; and later ones of the names that these lead to.
    """
    every = [one for one in renamings if one.kind == "tag" or one.kind.endswith("policy")]
    settings = list(_settings(asked, things, every)) if every and asked.name in SET_BY else []
    found, names = list[Renaming](), set[Key]()
    for one in every if settings else ():
        if not names.isdisjoint(one.ends) or any(setting.held_at(one) for setting in settings):
            found.append(one)
            names |= one.ends
    return found


def _settings(asked: Asked, things: Iterable[str], renamings: Sequence[Renaming]) -> Iterator[_Setting]:
    """The settings that the answer needs: on the objects and their columns, and on the tags of these. A question about
    what has a tag needs no policies of what has none; one about masks needs tags only if one of them has a mask.
    """
    graph, whole = asked.graph, set(things)
    own = [one for thing in whole for one in _on(graph, thing, _columns(asked, thing))]
    own += [one for around in containers_of(graph, whole) for one in _on(graph, around) if one.is_tag]
    of_objects = [one for one in own if one.is_tag]
    names = linked_names({key for one in of_objects for key in one.keys}, renamings)
    tags = {one.element for one in of_objects} | {
        holder.iri for account, name in names for holder in graph.holders(name) if holder.key == (account, name)
    }
    on_tags = [one for tag in tags if graph.text(tag, "ah:domain") == "Tag" for one in _on(graph, tag)]
    if asked.name == OF_MASKS:
        on_tags = [one for one in on_tags if one.is_masking]
        yield from (one for one in own if one.is_masking or (one.is_tag and on_tags))
    elif "ah:PolicySetting" not in SET_BY[asked.name] or (asked.name == _OF_TAGGED and not of_objects):
        yield from of_objects
        return
    else:
        yield from own
    yield from on_tags


def _on(graph: Lookups, thing: str, columns: AbstractSet[str] | None = None) -> Iterator[_Setting]:
    """What is set on an object, schema, database or tag. ``columns``: only on these columns, and on the whole."""
    for setting in graph.subjects("ah:settingOn", thing):
        element, since = graph.text(setting, "ah:elementObject"), graph.text(setting, "ah:validFrom")
        column = graph.text(setting, "ah:onColumn")
        if element is None or since is None or (columns is not None and column is not None and column not in columns):
            continue
        property_name, until = graph.text(setting, "ah:property"), graph.text(setting, "ah:validUntil")
        yield _Setting(
            element,
            {holder.key for one in (element, thing) for holder in graph.names_of(one) if not holder.ident},
            property_name == "tags",
            property_name == _MASKING,
            datetime.fromisoformat(since),
            datetime.fromisoformat(until) if until else _NEVER,
        )


def _columns(asked: Asked, thing: str) -> set[str] | None:
    """The columns of an object that are asked for, under all their names; None for all columns."""
    graph, names = asked.graph, asked.match_names("column_name")
    if not names:
        return None
    starts = [column for column in graph.subjects("ah:columnOf", thing) if graph.text(column, "ah:matchName") in names]
    return set(
        reachable(
            starts,
            lambda column: (*graph.objects(column, "ah:renamedFrom"), *graph.subjects("ah:renamedFrom", column)),
        )
    )
