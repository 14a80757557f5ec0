"""Notes on what rows say of objects without giving their ids. Such an object is known by its name alone.

- A DROP, UNDROP, RENAME or SWAP without an id may be about an object that other rows give with an id
  (:func:`without_ids`).
- What is renamed or swapped is not followed under its other name, since nothing else says that it is the same
  (:func:`renamed_without_ids`).
- What is set on an object without its id is not counted for the object with an id (:func:`set_without_id`).
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from pyoxigraph import Literal, NamedNode, QuerySolutions

from exporter.ask.answers import first_of
from exporter.ask.names import Lookups
from exporter.ask.parameters import instant, values_of
from exporter.graph.terms import full
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyoxigraph import QuerySolution, Store

    from exporter.ask.answers import Answer
    from exporter.ask.names import NameHolder
    from exporter.ask.parameters import ParameterValues

_SAME_NAME: Final = "ah:sameNameAs"
_WITHOUT_ID: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?nameless ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?nameless { @nameless@ }
  ?change ah:changedObject ?nameless ; ah:operation ?operation ; ah:objectName ?name ; prov:startedAtTime ?time ;
    dcterms:isPartOf ?query .
  OPTIONAL { ?change ah:newName ?new }
  OPTIONAL { ?change ah:swappedWithName ?swapped }
  OPTIONAL { ?query ah:queryId ?query_id }
  FILTER(?operation IN ("DROP", "UNDROP") || BOUND(?new) || BOUND(?swapped))
}
ORDER BY ?time ?name
"""
_MOST_NAMES: Final = 1_000
"""The most names of an answer that are looked up."""
_FEW: Final = 5
"""How many changes without an id, and objects that they may be about, a note lists at most."""


# --- dropped, renamed and swapped by name, of what has an id ----------------------------------------------------------


def without_ids(store: Store, params: ParameterValues, answer: Answer, things: Collection[str]) -> list[str]:
    """A note on each DROP, UNDROP, RENAME and SWAP whose row gives no id of the object, and which the answer therefore
    does not count for an object with an id that had the name then. ``things``: the IRIs of the objects that are asked
    for; those that the answer ``answer`` names are looked up, too. A RENAME without an id is followed to the new name.
    """
    if not has_mixed_ids(store):
        return []
    lookups = Lookups(store)
    accounts = {holder.account for thing in things for holder in lookups.names_of(thing)}
    holders = (holder for name in _answered(answer) for holder in lookups.holders(name))
    about = {*things, *(holder.iri for holder in holders if not accounts or holder.account in accounts)}
    ends = [instant("at", value) for name in ("at", "until") for value in values_of(params, name)]
    texts: dict[tuple[datetime, str], str] = {}
    named: dict[str, str] = {}
    for thing in sorted(_with_id(store, lookups, about)):
        for row in _unapplied(store, lookups, thing):
            time = datetime.fromisoformat(row["time"].value)
            if ends and time > max(ends):
                continue
            query = row["query_id"].value if row["query_id"] else ""
            texts.setdefault((time, query), _without_id(row, query))
            named[thing] = next(holder.thing for holder in lookups.names_of(thing))
    if not texts:
        return []
    last = [text for _, text in sorted(texts.items())][-_FEW:]
    more = f" and {len(texts) - _FEW} more before" if len(texts) > _FEW else ""
    objects = sorted(set(named.values()))
    note = (
        f"By rows that give no id of the object, {', '.join(last)}{more}. The answer does not count this for "
        f"{first_of(objects, _FEW)}, which had such a name then, though it may be about "
        f"{'it' if len(objects) == 1 else 'them'}: what had the name from then on may be another object, or none."
    )
    return [note]


def _with_id(store: Store, lookups: Lookups, about: Iterable[str]) -> set[str]:
    """Of the objects, those with an id; for one without, those with an id that share its name, or a name that it was
    renamed from.
    """
    same_name, with_id = NamedNode(full(_SAME_NAME)), set[str]()
    waiting, visited = list(about), set[str]()
    while waiting:
        thing = waiting.pop()
        if thing in visited:
            continue
        visited.add(thing)
        names = lookups.names_of(thing)
        if names and names[0].ident:
            with_id.add(thing)
            continue
        same = store.quads_for_pattern(NamedNode(thing), same_name, None)
        with_id.update(quad.object.value for quad in same if isinstance(quad.object, NamedNode))
        for holder in names:
            renames = store.quads_for_pattern(None, NamedNode(full("ah:newName")), Literal(holder.name))
            for rename in renames:
                changed = store.quads_for_pattern(rename.subject, NamedNode(full("ah:changedObject")), None)
                waiting += [quad.object.value for quad in changed if isinstance(quad.object, NamedNode)]
    return with_id


def _unapplied(store: Store, lookups: Lookups, thing: str) -> Iterator[QuerySolution]:
    """The changes of objects without an id that may be about this one: of what had its name at that time, and, after a
    RENAME among them, of what has the new name.
    """
    linked = store.quads_for_pattern(None, NamedNode(full(_SAME_NAME)), NamedNode(thing))
    names = lookups.names_of(thing)
    periods = [(match_name(holder.name), *_period(holder)) for holder in names]
    places = {(holder.account, holder.domain) for holder in names}
    fresh, visited = {quad.subject.value for quad in linked if isinstance(quad.subject, NamedNode)}, set[str]()
    while fresh:
        visited |= fresh
        query = _WITHOUT_ID.replace("@nameless@", " ".join(str(NamedNode(iri)) for iri in sorted(fresh)))
        answer = store.query(query)
        fresh = set()
        for row in answer if isinstance(answer, QuerySolutions) else ():
            name, time = match_name(row["name"].value), datetime.fromisoformat(row["time"].value)
            if any(name == own and since <= time and (until is None or time < until) for own, since, until in periods):
                yield row
                if row["new"]:
                    periods.append((match_name(row["new"].value), time, None))
                    fresh |= {
                        holder.iri
                        for holder in lookups.holders(row["new"].value)
                        if not holder.ident and (holder.account, holder.domain) in places and holder.iri not in visited
                    }


def _period(holder: NameHolder) -> tuple[datetime, datetime | None]:
    return datetime.fromisoformat(holder.since), datetime.fromisoformat(holder.until) if holder.until else None


def _without_id(row: QuerySolution, query: str) -> str:
    other = row["swapped"] or row["new"]
    return _sentence(row, query, row["name"].value, other.value if other else "")


def _sentence(row: QuerySolution, query: str, name: str, other: str) -> str:
    """``D.S.A was renamed to D.S.B (query q7, 2026-03-04T04:00:00Z)``."""
    if row["swapped"]:
        done = f"swapped with {other}"
    elif row["new"]:
        done = f"renamed to {other}"
    else:
        done = "dropped" if row["operation"].value == "DROP" else "restored by UNDROP"
    return f"{name} was {done} ({f'query {query}, ' if query else ''}{row['time'].value})"


# --- renamed and swapped by name --------------------------------------------------------------------------------------

_OF_ALL: Final = frozenset(
    ("exposure", "policy-coverage", "tag-reach", "unmasked-copies", "unmasked-reads", "unused-objects")
)
"""Questions that are about all objects where none is asked for, and leave out those that they do not know by a name."""
_AS_IT_WAS: Final = frozenset(
    {
        *("ancestors", "enforced-policy", "joins", "masking-policies", "policy-access", "row-access-policies"),
        *("changes", "statements-of-request", "user-history"),
    }
)
"""Questions about single rows, which have the names of their time; and the one that lists renames and swaps."""
_BY_NAME: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
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


class _Renaming(NamedTuple):
    """A RENAME or SWAP of an object without an id: its account, its two names as they are compared and as written, and
    the same in sentences; for a SWAP from both sides.
    """

    account: str
    name: str
    other: str
    written: tuple[str, str]
    sentences: tuple[str, ...]

    @property
    def ends(self) -> set[tuple[str, str]]:
        return {(self.account, self.name), (self.account, self.other)}


def renamed_without_ids(  # noqa: PLR0913, PLR0917 - a question, its parameters, its answer, and the earlier notes
    store: Store,
    question: str,
    params: ParameterValues,
    answer: Answer,
    things: Collection[str],
    earlier_notes: Sequence[str],
) -> tuple[list[str], set[str]]:
    """A note on each RENAME and SWAP whose row gives no id of the object, where a name of it is asked for or answered,
    unless one of ``earlier_notes`` says it; and which of the objects ``things`` that are asked for it may be about.
    """
    if question in _AS_IT_WAS or question.startswith("page-"):
        return [], set()
    renamings = _renamings(store, params)
    if not renamings:
        return [], set()
    lookups = Lookups(store)
    is_of_all = not things and not {"object_name", "object_id", "object"} & params.keys()
    holders_of = {thing: lookups.names_of(thing) for thing in things}
    asked_names = {(holder.account, match_name(holder.name)) for holders in holders_of.values() for holder in holders}
    accounts = {account for account, _ in asked_names} or {renaming.account for renaming in renamings}
    asked_names |= {(account, match_name(name)) for account in accounts for name in values_of(params, "object_name")}
    answered = {
        (holder.account, match_name(holder.name))
        for name in _answered(answer)
        for holder in lookups.holders(name)
        if not holder.ident and holder.account in accounts
    }
    relevant = renamings if is_of_all and question in _OF_ALL else list(_chained(renamings, asked_names | answered))
    names = set().union(*(renaming.ends for renaming in relevant))
    about = {
        thing
        for thing, holders in holders_of.items()
        if names & {(holder.account, match_name(holder.name)) for holder in holders}
    }
    fresh = list(
        dict.fromkeys(
            min(renaming.sentences)
            for renaming in relevant
            if not any(text in note for note in earlier_notes for text in renaming.sentences)
        )
    )
    if not fresh:
        return [], about
    written = dict.fromkeys(name for renaming in relevant for name in renaming.written)
    others = [name for name in written if not {(account, match_name(name)) for account in accounts} & asked_names]
    more = f" and {len(fresh) - _FEW} more before" if len(fresh) > _FEW else ""
    ask = f" Ask for {', '.join(others[-_FEW:])}, too." if others and asked_names else ""
    note = (
        f"By rows that give no id of the object, {', '.join(fresh[-_FEW:])}{more}. Such an object is known by its name "
        f"alone: the answer does not follow its data, tags, policies and grants from one name to the other.{ask}"
    )
    return [note], about


def _renamings(store: Store, params: ParameterValues) -> list[_Renaming]:
    """All renames and swaps without an id until the time that is asked for, in order."""
    ends = [instant(name, value) for name in ("at", "until") for value in values_of(params, name)]
    answer = store.query(_BY_NAME)
    renamings = []
    for row in answer if isinstance(answer, QuerySolutions) else ():
        if not ends or datetime.fromisoformat(row["time"].value) <= max(ends):
            account = row["nameless"].value.rsplit("/", 3)[0]
            name, other = row["name"].value, (row["swapped"] or row["new"]).value
            query = row["query_id"].value if row["query_id"] else ""
            sides = [(name, other), (other, name)] if row["swapped"] else [(name, other)]
            texts = tuple(_sentence(row, query, *side) for side in sides)
            renamings.append(_Renaming(account, match_name(name), match_name(other), (name, other), texts))
    return renamings


def _chained(renamings: Sequence[_Renaming], names: set[tuple[str, str]]) -> Iterator[_Renaming]:
    """The renamings of a name, and those of the names that these lead to or come from."""
    reached, fresh = set(names), set(names)
    by_name: dict[tuple[str, str], list[_Renaming]] = {}
    for renaming in renamings:
        for end in renaming.ends:
            by_name.setdefault(end, []).append(renaming)
    while fresh:
        fresh = {end for name in fresh for renaming in by_name.get(name, ()) for end in renaming.ends} - reached
        reached |= fresh
    yield from (renaming for renaming in renamings if renaming.ends & reached)


def _answered(answer: Answer) -> set[str]:
    """The names in an answer."""
    positions = [position for position, column in enumerate(answer.columns) if column.endswith("_name")]
    return {name for row in islice(answer.rows, _MOST_NAMES) for position in positions if (name := row[position])}


# --- set by name ------------------------------------------------------------------------------------------------------

_SET_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "policy-coverage": ("ah:TagSetting", "ah:PolicySetting"),
    "tag-history": ("ah:TagSetting",),
    "tag-reach": ("ah:TagSetting",),
    "unmasked-copies": ("ah:TagSetting", "ah:PolicySetting"),
    "unmasked-reads": ("ah:TagSetting", "ah:PolicySetting"),
}
"""Question -> the classes of the settings that it is about."""
_SET: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT DISTINCT ?thing ?name WHERE {
  ?nameless ah:sameNameAs ?thing .
  VALUES ?class { @classes@ }
  FILTER EXISTS { ?setting ah:settingOn ?nameless . ?setting a ?class }
  FILTER NOT EXISTS { ?thing ah:domain "Tag" }
  ?nameless rdfs:label ?name .
}
ORDER BY ?name
"""


def set_without_id(store: Store, question: str, things: Collection[str]) -> tuple[list[str], set[str]]:
    """A note that rows set tags and policies on objects without giving their ids, where other rows give them; and which
    of the objects ``things`` that are asked for it may be about (all objects, if there are none).
    """
    if question not in _SET_BY or not has_mixed_ids(store):
        return [], set()
    answer = store.query(_SET.replace("@classes@", " ".join(_SET_BY[question])))
    named = {
        row["thing"].value: row["name"].value
        for row in (answer if isinstance(answer, QuerySolutions) else ())
        if not things or row["thing"].value in things
    }
    if not named:
        return [], set()
    names = sorted(set(named.values()))
    note = (
        f"Some rows give no id of {first_of(names, _FEW)}: the tags and policies that they set count for what "
        "is known by that name alone, and not for what other rows give with an id, though it may be the same."
    )
    return [note], set(named) & set(things)


def has_mixed_ids(store: Store) -> bool:
    """Whether rows name an object with an id and without."""
    return next(store.quads_for_pattern(None, NamedNode(full(_SAME_NAME)), None), None) is not None
