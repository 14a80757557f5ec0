"""What earlier runs left in DIR: the rows that they accepted, what was said of them, and how DIR was made.

``export --update`` adds to it. A DIR that was made with other settings would come to mean something else, so it is
refused; so is one that was made without ``--update``, for it does not have its rows any more.
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
"""Settings that DIR's content hangs on."""


@dataclass(frozen=True)
class Earlier:
    """``runs``: of each run what :func:`exporter.accounting.log` says, the first one first; ``days``: all days of DIR,
    each with the later ones for which it left something open; ``bytes`` of the state on disk.
    """

    runs: tuple[dict[str, Any], ...] = ()
    days: dict[str, list[str]] = field(default_factory=dict)
    bytes: int = 0

    @property
    def run(self) -> int:
        """The number of the run that comes now."""
        return len(self.runs) + 1


@dataclass(frozen=True)
class Given:
    """All that an export is made from: what ``came``, and what earlier runs ``left``; ``changes``: whether what an
    update changes is written.
    """

    came: Came
    left: Earlier
    changes: bool = True


def earlier(place: Place, settings: Settings) -> Earlier:
    """What DIR has; nothing where it is not there yet. Raises UsageError where it cannot be added to."""
    _can_be_by_day(settings)
    if not place.exists() or place.names() == []:
        return Earlier()
    manifest = _read(place, "manifest.json")
    log = _read(place, LOG)
    if manifest is None:
        raise UsageError(f"{place.shown}: has no manifest.json, so no export left it; give another --out")
    if log is None:
        raise UsageError(
            f"{place.shown}: was made without --update and does not hold its rows; make it once with all rows, "
            "--update and --replace"
        )
    _check(place.shown, manifest, settings)
    state = sum(one["bytes"] for one in manifest["files"] if one["path"].startswith(f"{STATE}/"))
    return Earlier(tuple(log), log[-1]["days"], state)


def _can_be_by_day(settings: Settings) -> None:
    """Raise UsageError for outputs that are about all rows at once."""
    for output in ("catalog", "facts"):
        if output in settings.outputs:
            raise UsageError(f"outputs: {output} cannot be added to day by day; export it without --update")
    if "nquads" in settings.graph_format:
        raise UsageError("graph_format: nquads names the graph by all of its queries; with --update use ntriples")


def _read(place: Place, name: str) -> Any:
    text = place.read(name)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"{place.shown}: {name} is damaged; exporter validate {place.shown} says what is") from None


def _check(shown: str, manifest: dict[str, Any], settings: Settings) -> None:
    had, has = manifest.get("settings", {}), settings.shown()
    if manifest.get("model") != MODEL:
        raise UsageError(
            f"{shown}: was made with version {manifest.get('model')} of the model, and this is {MODEL}; make it anew "
            "with all rows, --update and --replace"
        )
    for name in _MEANING:
        if json.dumps(had.get(name), sort_keys=True) != json.dumps(has[name], sort_keys=True, default=list):
            raise UsageError(
                f"{shown}: was made with {name} {_shown(had.get(name))}, and now it is {_shown(has[name])}: that would "
                f"mean something else; give the same {name}, or another --out"
            )


def _shown(value: Any) -> str:
    return json.dumps(value, default=list) if isinstance(value, dict | list | tuple) else str(value)
