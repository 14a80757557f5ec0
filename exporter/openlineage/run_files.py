"""A transport of the OpenLineage client that writes a file for each run, for backends that import files.

``openlineage.yml``::

    transport:
      type: exporter.openlineage.run_files.RunFilesTransport
      folder: lineage-by-run

``FOLDER/RUN_ID.ndjson`` has the events of a run, one in each line; ``FOLDER/datasets.ndjson`` those of datasets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Config, Transport

from exporter.errors import UsageError
from exporter.system import private

if TYPE_CHECKING:
    from openlineage.client.client import Event

Json = dict[str, Any]
DATASETS: Final = "datasets.ndjson"


@dataclass
class RunFilesConfig(Config):
    """``folder``: where the files are written; it is created, for its owner alone."""

    folder: str

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> RunFilesConfig:
        """Raises UsageError without a folder."""
        if not params.get("folder"):
            raise UsageError(
                "openlineage.yml: the transport run_files needs a folder: write folder: PATH beside its type"
            )
        return cls(str(params["folder"]))


class RunFilesTransport(Transport):
    """Writes events to files. An event that is in its file already is not written again: a push that was killed may
    send an event twice.
    """

    kind = "run_files"
    config_class = RunFilesConfig

    def __init__(self, config: RunFilesConfig) -> None:
        self.config = config
        self._folder = Path(config.folder)
        if not self._folder.exists():
            private.folder(self._folder)
        self._datasets = self._lines(DATASETS)

    def emit(self, event: Event) -> None:
        event_json = _without_empty(json.loads(Serde.to_json(event)))
        line, run = json.dumps(event_json, ensure_ascii=False) + "\n", event_json.get("run")
        name = f"{UUID(run['runId'])}.ndjson" if run else DATASETS
        known = self._lines(name) if run else self._datasets
        if line in known:
            return
        with open(self._folder / name, "a", encoding="utf-8", opener=private.opened) as file:
            file.write(line)
        known.add(line)

    def _lines(self, name: str) -> set[str]:
        file = self._folder / name
        if not file.exists():
            return set()
        with file.open(encoding="utf-8", newline="\n") as lines:  # texts may hold other characters that end a line
            return set(lines)


def _without_empty(event: Json) -> Json:
    """The event without the empty facets that the client's classes give to a parent and a root."""
    parent = (event.get("run") or {}).get("facets", {}).get("parent", {})
    for holder in (parent, parent.get("root") or {}):
        for name in ("run", "job"):
            if holder.get(name, {}).get("facets") == {}:
                del holder[name]["facets"]
    return event
