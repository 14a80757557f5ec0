"""``ROWS/fetch.json``: where the rows in ROWS come from, and which days it has. It has no secrets and no data of rows.

It is replaced after each day, in one step, so that an interrupted fetch continues after the last complete day.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.rows.fetched import STATE

if TYPE_CHECKING:
    from pathlib import Path

_FORM: Final = 1
Days = dict[str, dict[date, "Taken"]]
"""The folder of a view -> its days."""


@dataclass(frozen=True)
class Taken:
    """A day of a view. ``rows``: the number in its file (0: there is no file); ``asked``: when the view was last asked
    for the day, in UTC.
    """

    rows: int
    asked: datetime


@dataclass(frozen=True)
class Source:
    """Where the rows in ROWS come from; rows of different sources must not be mixed. ``schema``: of the views;
    ``account``: ORG-ACCOUNT of the connection; ``query_text``: whether SQL text is fetched.
    """

    schema: str
    account: str
    query_text: bool


@dataclass
class State:
    """``source``: None before the first fetch; ``days``: by view."""

    source: Source | None = None
    days: Days = field(default_factory=dict)

    def asked(self, folder: str) -> dict[date, datetime]:
        """When each day of a view was last asked for."""
        return {day: taken.asked for day, taken in self.days.get(folder, {}).items()}

    def put(self, folder: str, day: date, taken: Taken) -> None:
        """Records that a view was asked for a day."""
        self.days.setdefault(folder, {})[day] = taken

    def belongs(self, shown: str, source: Source) -> None:
        """Raises UsageError where ROWS has rows of another source; else records this source."""
        had = self.source or source
        for name, words in (("account", "account"), ("schema", "--view"), ("query_text", "--query-text")):
            before, now = getattr(had, name), getattr(source, name)
            if before != now:
                raise UsageError(
                    f"{shown}: was fetched with {words} {_spelt(before)}, and now it is {_spelt(now)}; give the same, "
                    "or another --out"
                )
        self.source = source


def _spelt(value: str | bool) -> str:  # noqa: FBT001 - a value that is shown
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def read(rows: Path) -> State:
    """The state of ROWS; an empty one where ROWS does not exist. Raises UsageError where it cannot be read, and where
    the folder has other files.
    """
    path = rows / STATE
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if rows.is_dir() and any(not path.name.startswith(".") for path in rows.iterdir()):
            raise UsageError(f"{rows}: holds other files and no {STATE}; give a folder that is empty or new") from None
        return State()
    except NotADirectoryError:
        raise UsageError(f"{rows}: is no folder") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        told = None
    state = _parsed(told)
    if state is None:
        raise UsageError(f"{path}: is damaged; remove it and the folders beside it, and fetch the days again")
    return state


def _parsed(told: Any) -> State | None:
    try:
        if told["form"] != _FORM:
            return None
        days = {
            folder: {date.fromisoformat(day): Taken(int(one["rows"]), _time(one["asked"])) for day, one in of.items()}
            for folder, of in told["days"].items()
        }
        return State(Source(**told["source"]), days)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time


def write(rows: Path, state: State) -> None:
    """Replaces the file of the state in one step."""
    assert state.source is not None
    told = {
        "form": _FORM,
        "source": vars(state.source),
        "days": {
            folder: {
                str(day): {"rows": taken.rows, "asked": taken.asked.isoformat(timespec="seconds")}
                for day, taken in sorted(of.items())
            }
            for folder, of in state.days.items()
        },
    }
    new = rows / f".{STATE}.new"
    with new.open("w", encoding="utf-8") as file:
        file.write(json.dumps(told, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(rows / STATE)
