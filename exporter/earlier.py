"""Read what earlier runs left in DIR, to which ``export --update`` adds: their log and the settings of DIR.

A DIR made with other settings is refused, because its content would become inconsistent. A DIR made without
``--update`` is refused, because it does not contain its rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter import MODEL
from exporter.errors import UsageError

if TYPE_CHECKING:
    from exporter.places import Place
    from exporter.rows.inputs import Came
    from exporter.settings import Settings

STATE: Final = "state"
LOG: Final = "log.json"
_MEANING: Final = (
    "account",
    "base",
    "outputs",
    "graph_format",
    "reads",
    "query_text",
    "openlineage",
    "pseudonyms",
    "filter",
)
"""Settings that determine DIR's content."""


@dataclass(frozen=True)
class Earlier:
    """``runs``: the entries of :func:`exporter.accounting.log`, oldest first. ``days``: all days of DIR, each with the
    later days for which it has open messages. ``bytes``: size of the state on disk.
    """

    runs: tuple[dict[str, Any], ...] = ()
    days: dict[str, list[str]] = field(default_factory=dict)
    bytes: int = 0

    @property
    def run(self) -> int:
        """The number of the current run, from 1."""
        return len(self.runs) + 1


@dataclass(frozen=True)
class Given:
    """The input of an export. ``came``: the given rows. ``left``: what earlier runs left. ``changes``: whether an
    update writes its changes.
    """

    came: Came
    left: Earlier
    changes: bool = True


def earlier(place: Place, settings: Settings) -> Earlier:
    """What earlier runs left in DIR; empty if DIR does not exist. Raises UsageError if rows cannot be added to it."""
    _can_be_by_day(settings)
    if not place.exists() or place.names() == []:
        return Earlier()
    manifest = _read(place, "manifest.json")
    log = _read(place, LOG)
    if manifest is None:
        raise UsageError(f"{place.shown}: has no manifest.json, so it was not made by an export; give another --out")
    if log is None:
        raise UsageError(
            f"{place.shown}: was made without --update and does not contain its rows; make it once with all rows, "
            "--update and --replace"
        )
    _check(place.shown, manifest, settings)
    state = sum(one["bytes"] for one in manifest["files"] if one["path"].startswith(f"{STATE}/"))
    return Earlier(tuple(log), log[-1]["days"], state)


def _can_be_by_day(settings: Settings) -> None:
    """Raise UsageError for outputs that need all rows at once."""
    for output in ("catalog", "facts"):
        if output in settings.outputs:
            raise UsageError(f"outputs: {output} cannot be made by an update; export it without --update")
    if "nquads" in settings.graph_format:
        raise UsageError("graph_format: nquads needs all queries for the name of the graph; with --update use ntriples")


def _read(place: Place, name: str) -> Any:
    text = place.read(name)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(
            f"{place.shown}: {name} is damaged; exporter validate {place.shown} lists all damage"
        ) from None


def _check(shown: str, manifest: dict[str, Any], settings: Settings) -> None:
    had, has = manifest.get("settings", {}), settings.shown()
    if manifest.get("model") != MODEL:
        raise UsageError(
            f"{shown}: was made with version {manifest.get('model')} of the model, but this program has {MODEL}; make "
            "it again with all rows, --update and --replace"
        )
    for name in _MEANING:
        if json.dumps(had.get(name), sort_keys=True) != json.dumps(has[name], sort_keys=True, default=list):
            raise UsageError(
                f"{shown}: was made with {name} {_shown(had.get(name))}, but now it is {_shown(has[name])}: the new "
                f"content would not fit the old; give the same {name}, or another --out"
            )


def _shown(value: Any) -> str:
    return json.dumps(value, default=list) if isinstance(value, dict | list | tuple) else str(value)
