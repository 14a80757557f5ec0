"""RENAMEs and SWAPs of what rows give without an id, and the names that they lead to and come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.ask.without_ids import sentence
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
    for row in asked.graph.select(_BY_NAME):
        time = datetime.fromisoformat(row["time"])
        if asked.until is None or time <= asked.until:
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
