"""What follows a run that is told again: an event of its own for each of its outputs.

Marquez 0.51.1 makes a version of an output for each set of columns that a run is told with. When the run ends it takes
all of the run's versions for the present one, one after the other and in no order (``findOutputDatasetVersionsFor``).
So the columns of an earlier telling may be shown. The event of a dataset is taken for the present as it comes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_OF_THE_RUN: Final = frozenset(("columnLineage", "lineage", "accessHistory_columnRoutines"))
"""Facets that say what the run did, and nothing of what the dataset is."""


def outputs(event: Json) -> Iterator[bytes]:
    """The events of the outputs: what the run says that they are, and what became of them."""
    above: Json = {key: event[key] for key in ("eventTime", "producer") if key in event}
    schema = event.get("schemaURL", "").rpartition("/")[0]
    for one in event.get("outputs") or ():
        facets = {name: facet for name, facet in (one.get("facets") or {}).items() if name not in _OF_THE_RUN}
        dataset = {"namespace": one["namespace"], "name": one["name"], "facets": facets}
        told = {**above, "schemaURL": f"{schema}/DatasetEvent", "dataset": dataset}
        yield json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
