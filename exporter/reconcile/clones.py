"""Which objects a CLONE made, and from which others. No row lists what a clone holds: it is what its source held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from exporter.ask.answers import Row
from exporter.ask.triples import PROLOGUE
from exporter.model.effects import CREATES
from exporter.model.identifiers import TRUNCATED
from exporter.openlineage.helpers import hides_source, is_like
from exporter.system.reachable import reachable

_CLONES: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?made ?source ?properties WHERE {{
  VALUES ?made {{ @objects@ }}
  ?change ah:changedObject ?made ; ah:operation ?operation ; ah:properties ?properties ; dcterms:isPartOf ?query .
  FILTER(?operation IN ({", ".join(f'"{one}"' for one in CREATES)}))
  OPTIONAL {{ ?change ah:madeFrom ?source }}
  FILTER(BOUND(?source) || CONTAINS(?properties, "{TRUNCATED}"))
}}"""
_CUT: Final = ""
"""The source of a clone that Snowflake cut."""


class Clones:
    """The clones among objects. ``ask``: gives the answers of a question about objects."""

    def __init__(self, ask: Callable[[str, Iterable[str]], Iterator[Row]]) -> None:
        self._ask = ask
        self._sources = defaultdict[str, set[str]](set)
        """Clone -> what it was made from."""

    def queries(self, objects: Collection[str]) -> set[tuple[str, str]]:
        """The queries that made some of the objects by a CLONE, each with the object."""
        found = set[tuple[str, str]]()
        for query, clone, source, properties in self._ask(_CLONES, objects):
            if (source or hides_source(properties)) and not is_like(properties):
                self._sources[str(clone)].add(source or _CUT)
                found.add((str(query), str(clone)))
        return found

    def load(self, objects: Collection[str]) -> None:
        """Looks up the clones among the objects and among what these were cloned from."""
        asked, waiting = set[str](), set(objects)
        while waiting:
            asked |= waiting
            self.queries(waiting)
            waiting = set[str]().union(*self._sources.values()) - asked - {_CUT}

    def of(self, things: Collection[str], among: Iterable[str]) -> Iterator[str]:
        """Those of some objects that are clones of one of these things, also over other clones, or may be."""
        for one in among:
            behind = reachable(self._sources.get(one, ()), lambda clone: self._sources.get(clone, ()))
            if _CUT in behind or not behind.keys().isdisjoint(things):
                yield one
