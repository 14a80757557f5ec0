"""A folder written by ``exporter fetch`` as the input of an export: settings are derived from it.

:mod:`exporter.fetch.state` writes ``fetch.json``; this module reads only the account from it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.rows.paths import is_remote, local

if TYPE_CHECKING:
    from collections.abc import Sequence

STATE: Final = "fetch.json"
ACCESS_HISTORY: Final = "access_history"
QUERY_HISTORY: Final = "query_history"
AGGREGATE: Final = "aggregate_access_history"


def told(inputs: Sequence[str]) -> dict[str, Any]:
    """The settings that follow from the inputs. A fetched folder is replaced by its folder of ACCESS_HISTORY. If it is
    the only input, it also gives QUERY_HISTORY, AGGREGATE_ACCESS_HISTORY and the account. Raises UsageError if it has
    no rows yet.
    """
    settings: dict[str, Any] = {"inputs": tuple(_rows(one) if _is_fetched(one) else one for one in inputs)}
    if len(inputs) == 1 and _is_fetched(inputs[0]):
        folder = Path(local(inputs[0]))
        account = _account(folder / STATE)
        settings |= {"account": account} if account else {}
        views = {"query_history": folder / QUERY_HISTORY, "aggregate": folder / AGGREGATE}
        settings |= {name: str(path) for name, path in views.items() if path.is_dir()}
    return settings


def _is_fetched(name: str) -> bool:
    return not is_remote(name) and Path(local(name), STATE).is_file()


def _rows(name: str) -> str:
    rows = Path(local(name), ACCESS_HISTORY)
    if not rows.is_dir():
        raise UsageError(f"{name}: has no rows of ACCESS_HISTORY yet; fetch some: exporter fetch --out {name}")
    return str(rows)


def _account(state: Path) -> str | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads(state.read_text(encoding="utf-8"))["source"]["account"])
    return None
