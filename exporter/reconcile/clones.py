"""Which objects a CLONE made, and from which others. No row lists what a clone holds: it is what its source held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Final

from exporter.ask.answers import Row
from exporter.ask.container_history import CloneStep, ContainerHistory, container_histories
from exporter.ask.lookups import Lookups
from exporter.ask.triples import PROLOGUE
from exporter.model.effects import CREATES
from exporter.model.identifiers import TRUNCATED, match_name
from exporter.openlineage.helpers import hides_source, is_like
from exporter.system.reachable import reachable

_CLONES: Final = f"""{PROLOGUE}SELECT DISTINCT ?query ?made ?source ?properties WHERE {{
  VALUES ?made {{ @objects@ }}
  ?change ah:changedObject ?made ; ah:operation ?operation ; ah:properties ?properties ; dcterms:isPartOf ?query .
  FILTER(?operation IN ({", ".join(f'"{operation}"' for operation in CREATES)}))
  OPTIONAL {{ ?change ah:madeFrom ?source }}
  FILTER(BOUND(?source) || CONTAINS(?properties, "{TRUNCATED}"))
}}"""
_CUT: Final = ""
"""The source of a clone that Snowflake cut."""


class Clones:
    """The clones among objects. ``ask``: gives the answers of a question about objects."""

    def __init__(self, ask: Callable[[str, Iterable[str]], Iterator[Row]], lookups: Lookups) -> None:
        self._ask, self._lookups = ask, lookups
        self._sources = defaultdict[str, set[str]](set)
        """Clone -> what it was made from."""

    def queries(self, objects: Collection[str]) -> set[tuple[str, str]]:
        """The queries that made some of the objects by a CLONE, each with the object."""
        clones = set[tuple[str, str]]()
        for query, clone, source, properties in self._ask(_CLONES, objects):
            if (source or hides_source(properties)) and not is_like(properties):
                self._sources[str(clone)].add(source or _CUT)
                clones.add((str(query), str(clone)))
        return clones

    def load(self, objects: Collection[str]) -> None:
        """Looks up the clones among the objects and among what these were cloned from."""
        asked, waiting = set[str](), set(objects)
        while waiting:
            asked |= waiting
            self.queries(waiting)
            for thing in waiting:
                self._sources[thing].update(self._with_containers(thing))
            waiting = set[str]().union(*self._sources.values()) - asked - {_CUT}

    def of(self, things: Collection[str], among: Iterable[str]) -> Iterator[str]:
        """Those of some objects that are clones of one of these things, also over other clones, or may be."""
        for candidate in among:
            behind = reachable(self._sources.get(candidate, ()), lambda clone: self._sources.get(clone, ()))
            if _CUT in behind or not behind.keys().isdisjoint(things):
                yield candidate

    # --- with their schema or database --------------------------------------------------------------------------------

    @cached_property
    def _containers(self) -> dict[str, ContainerHistory]:
        return container_histories(self._lookups)

    def origins(self, thing: str) -> list[CloneStep]:
        """The CLONEs of schemas and databases that an object may have come by, by the name under which rows show it
        first: the last one first. None of what a row made.
        """
        names = self._lookups.names_of(thing)[:1]
        history = self._containers.get(names[0].account) if names else None
        if history is None or self._lookups.is_made(names[0]):
            return []
        since = history.count_until(datetime.fromisoformat(names[0].since))
        return list(history.origins(match_name(names[0].name), since))

    def _with_containers(self, thing: str) -> Iterator[str]:
        """What an object was copied from by CLONEs of schemas and databases: what had the name in the source then, else
        what rows show with it first, and do not make.
        """
        for step in self.origins(thing):
            named = [holder for holder in self._lookups.holders(step.source) if holder.account == step.clone.account]
            then = [holder for holder in named if holder.holds(step.clone.time)]
            later = (holder for holder in named if datetime.fromisoformat(holder.since) > step.clone.time)
            then = then or [holder for holder in later if not self._lookups.is_made(holder)][:1]
            yield from (holder.iri for holder in then)
