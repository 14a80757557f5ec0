"""How many modules does one row enter, and how often does the work switch between them?

::

    python -m benchmarks.path

exports one INSERT … SELECT twice without Spark, and looks at the second export, when everything is imported. A switch
is a call of a function of the program, or a step of a generator, whose module is another one than that of the function
of the program that ran before it. Who follows a row with a debugger follows these.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import exporter
from exporter.cli import main

if TYPE_CHECKING:
    from types import FrameType

_COLUMN: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "DB.S.A", "columnName": "C"}
_SOURCE: Final = {**_COLUMN, "columns": [{"columnId": 11, "columnName": "C"}]}
ROW: Final = {
    "query_id": "q1",
    "query_start_time": "2026-09-01T08:00:00.000Z",
    "user_name": "ETL",
    "direct_objects_accessed": [{name: value for name, value in _SOURCE.items() if name != "columnName"}],
    "base_objects_accessed": [{name: value for name, value in _SOURCE.items() if name != "columnName"}],
    "objects_modified": [
        {
            "objectDomain": "Table",
            "objectId": 2,
            "objectName": "DB.S.B",
            "columns": [{"columnId": 21, "columnName": "C", "directSources": [_COLUMN], "baseSources": [_COLUMN]}],
        }
    ],
}
PAIRS: Final = 20
_PACKAGE: Final = f"{Path(exporter.__file__).parent}/"


class Followed:
    """``entered``: switches into each module. ``pairs``: switches from one module to another."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self._before = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """As :func:`sys.setprofile` calls it."""
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(_PACKAGE) and name != self._before:
            self.entered[name.removeprefix(_PACKAGE)] += 1
            self.pairs[self._before.removeprefix(_PACKAGE), name.removeprefix(_PACKAGE)] += 1
            self._before = name


def followed() -> Followed:
    """The switches of the second export of the row."""
    result = Followed()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        rows = Path(folder, "rows.ndjson")
        rows.write_text(json.dumps(ROW), encoding="utf-8")
        options = ("--account", "ORG-ACCOUNT", "--engine", "local")
        for number in range(2):
            if number:
                sys.setprofile(result)
            try:
                assert main(["export", str(rows), "--out", f"{folder}/{number}", *options]) == 0
            finally:
                sys.setprofile(None)
    return result


if __name__ == "__main__":
    path = followed()
    print(f"{len(path.entered)} modules, {path.entered.total():,} switches")
    for module, times in path.entered.most_common():
        print(f"{times:>6,}  {module}")
    print(f"\nThe {PAIRS} pairs of modules between which it switches most:")
    for (left, entered), times in path.pairs.most_common(PAIRS):
        print(f"{times:>6,}  {left} -> {entered}")
