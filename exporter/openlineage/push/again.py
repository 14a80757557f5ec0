"""After a run that is sent again: one more event for each of its outputs.

Marquez 0.51.1 makes a version of an output for each set of columns in the events of a run. When the run ends, it makes
all of the run's versions the current one, one after the other and in no defined order
(``findOutputDatasetVersionsFor``). So it may show the columns of the first time. The event of a dataset always becomes
the current version, so it corrects this.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_OF_THE_RUN: Final = frozenset(("columnLineage", "lineage", "accessHistory_columnRoutines"))
"""Facets that describe what the run did, and not what the dataset is."""


def outputs(event: Json) -> Iterator[bytes]:
    """The dataset events of the outputs: their facets from the run, without those of the run itself."""
    above: Json = {key: event[key] for key in ("eventTime", "producer") if key in event}
    schema = event.get("schemaURL", "").rpartition("/")[0]
    for one in event.get("outputs") or ():
        facets = {name: facet for name, facet in (one.get("facets") or {}).items() if name not in _OF_THE_RUN}
        dataset = {"namespace": one["namespace"], "name": one["name"], "facets": facets}
        told = {**above, "schemaURL": f"{schema}/DatasetEvent", "dataset": dataset}
        yield json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
