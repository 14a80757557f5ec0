"""The entry of an event in the index of a push: its run and parent, its time, and a fingerprint of its lineage."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.openlineage.push.ledger import fingerprint, place

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
_SHAPING: Final = (
    "columnLineage",
    "lineage",
    "lifecycleStateChange",
    "tags",
    "documentation",
    "accessHistory_columnRoutines",
)
"""The facets of an output that decide whether two runs of one job have the same lineage."""


def entry(line: bytes, where: str, leaves_out: Callable[[Json], str | None]) -> Json | str:
    """The entry of an event, or the reason why it is left out.

    Keys: ``mark`` (its fingerprint), ``is_run`` and ``is_end`` (0 or 1), ``run`` (null for a dataset), ``time``. Runs
    also have ``job`` (namespace and name), ``place`` (run and job, as in the ledger), ``shape`` (null at the START),
    ``parent``, ``root`` and ``query``; null where there is none. Raises UsageError, with ``where``, for a line that is
    no event.
    """
    try:
        event = json.loads(line)
        return leaves_out(event) or {"mark": fingerprint(event), **_row(event)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{where}: is not an OpenLineage event; give the folder that exporter export wrote") from None


def _row(event: Json) -> Json:
    if "run" not in event:
        return {"is_run": 0, "run": None, "time": event["eventTime"], "is_end": 1}
    facets = event["run"].get("facets") or {}
    parent, outputs = facets.get("parent") or {}, event.get("outputs") or []
    is_end = event.get("eventType") != "START"
    return {
        "is_run": 1,
        "run": event["run"]["runId"],
        "time": event["eventTime"],
        "is_end": int(is_end),
        "job": json.dumps([event["job"]["namespace"], event["job"]["name"]]),
        "place": place(event["run"]["runId"], event["job"]),
        "shape": _shape(event.get("inputs") or [], outputs) if is_end else None,
        "parent": (parent.get("run") or {}).get("runId"),
        "root": ((parent.get("root") or {}).get("run") or {}).get("runId"),
        "query": (facets.get("externalQuery") or {}).get("externalQueryId"),
    }


def _shape(inputs: list[Json], outputs: list[Json]) -> str:
    """A fingerprint of a run's lineage: its datasets, and the facets of its outputs."""
    read = [(one["namespace"], one["name"]) for one in inputs]
    written = [(one["namespace"], one["name"], _told_of(one.get("facets") or {})) for one in outputs]
    text = json.dumps([read, written], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _told_of(facets: Json) -> Json:
    return {name: facets[name] for name in _SHAPING if name in facets}
