"""The ends of versions, settings and grants that an earlier day made: each is written with the day that ends it.

The triples are the same as :mod:`exporter.graph.nodes.versions` and :mod:`exporter.graph.nodes.changes` give where all
days are exported at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.nodes.changes import setting_iri, setting_types
from exporter.graph.nodes.versions import ending_of
from exporter.graph.terms import Node
from exporter.graph.vocabulary import GRANT, SETTING, VERSION
from exporter.queries.grants import GRANTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.graph.iri import Iris
    from exporter.things.stories import Answer


def ended(query_id: str, told: Iterable[Answer], iris: Iris) -> Iterator[Node]:
    """What answers of a later day add to the versions and settings of a query."""
    for answer in told:
        if answer.ending is not None:
            types, values = ending_of(answer.ending, iris)
            yield Node(VERSION, iris.version(answer.object_key, query_id), types, values)
        for (change_key, column, property_, _, names, _), until in answer.settings or ():
            change = f"{iris.query(query_id)}/change/{change_key}"
            if property_.startswith(GRANTED):
                yield Node(GRANT, f"{change}/{property_}", GRANT.types, {"ah:validUntil": (until,)})
                continue
            for name in names:
                iri = setting_iri(change, column, property_, name)
                yield Node(SETTING, iri, setting_types(property_, is_plain=False), {"ah:validUntil": (until,)})
