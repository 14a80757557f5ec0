"""What rows say of objects without an id, where other rows give one, and their RENAMEs and SWAPs.

What rows give without an id is known by its name alone. A RENAME by names may take what is set with it, or on it, to
another name, though neither the question nor the answer has any of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.lookups import Lookups
from exporter.ask.triples import Solution, iris
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

Key = tuple[str, str]
"""An account and a name as it is compared."""
_BY_NAME: Final = """\
SELECT DISTINCT ?nameless ?operation ?name ?new ?swapped ?time ?query_id WHERE {
  VALUES ?change { @changes@ }
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


def change_in_words(row: Solution, name: str, other: str) -> str:
    """``D.S.A was renamed to D.S.B (query q7, 2026-03-04T04:00:00Z)``."""
    if other:
        done = f"{'swapped with' if row['swapped'] else 'renamed to'} {other}"
    else:
        done = {"CREATE": "created", "DROP": "dropped", "REPLACE": "replaced"}.get(
            row["operation"], "restored by UNDROP"
        )
    query = f"query {row['query_id']}, " if row["query_id"] else ""
    return f"{name} was {done} ({query}{row['time']})"


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


def renamings(graph: Lookups) -> Iterator[Renaming]:
    """All renames and swaps without an id, in order."""
    changes = {change for term in ("ah:newName", "ah:swappedWithName") for change in graph.having(term)}
    # Looked up first: of objects with ids there can be many, in nightly rebuilds by a RENAME or SWAP.
    nameless = [
        change
        for change in changes
        for thing in graph.objects(change, "ah:changedObject")
        if not any(graph.objects(thing, "ah:objectId"))
    ]
    for row in graph.select(_BY_NAME, changes=iris(nameless)) if nameless else ():
        time = datetime.fromisoformat(row["time"])
        name, other = names = row["name"], row["swapped"] or row["new"]
        texts = [change_in_words(row, name, other), *([change_in_words(row, other, name)] if row["swapped"] else [])]
        account, kind, *_ = row["nameless"].rsplit("/", 3)
        yield Renaming(time, account, kind, names, tuple(texts))


def renamed_forms(graph: Lookups, thing: str, renamings: Sequence[Renaming]) -> set[str]:
    """An object under the names that renames without an id lead to, or come from: known by each name alone, and yet
    one.
    """
    keys = {holder.key for holder in graph.names_of(thing)}
    holders = (holder for account, name in linked_names(keys, renamings) - keys for holder in graph.holders(name)
             if holder.account == account)  # fmt: skip
    kind = graph.text(thing, "ah:domain")
    return {holder.iri for holder in holders if not holder.ident and holder.domain == kind}


def linked_names(starts: Iterable[Key], renamings: Sequence[Renaming]) -> set[Key]:
    """These names, and those that the renamings lead to or come from."""
    by_name: dict[Key, list[Renaming]] = {}
    for renaming in renamings:
        for end in renaming.ends:
            by_name.setdefault(end, []).append(renaming)
    return set(reachable(starts, lambda name: (end for linked in by_name.get(name, ()) for end in linked.ends)))
