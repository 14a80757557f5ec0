"""Pushes in this process, and their results."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from exporter.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Json = dict[str, Any]


class Pushed(NamedTuple):
    """``said``: on standard error."""

    code: int
    counts: Json
    said: str


def push(where: Path, url: str | None, capsys: pytest.CaptureFixture[str], *options: str) -> Pushed:
    """``exporter push DIR --json``, whose counts always add up. ``url``: None where other settings say it. Unless the
    options say otherwise, a backend that does not answer is given up at once.
    """
    if "--patience" not in options:
        options = (*options, "--patience", "0")
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        if url:
            patch.setenv("OPENLINEAGE_URL", url)
        code = main(["push", str(where), "--json", *options])
    said = capsys.readouterr()
    counts = json.loads(said.out)
    assert set(counts) == {"events", "delivered", "already_delivered", "set_aside", "left"}
    assert counts["events"] == sum(count for name, count in counts.items() if name != "events")
    return Pushed(code, counts, said.err)


def counted(**counts: int) -> Json:
    told = {"delivered": 0, "already_delivered": 0, "set_aside": 0, "left": 0, **counts}
    return {"events": sum(told.values()), **told}


def kept(where: Path, name: str = "set-aside.ndjson") -> list[Json]:
    """What a push left in its folder."""
    files = (where / "push").rglob(name)
    return [json.loads(line) for file in files for line in file.read_text("utf-8").split("\n") if line]


def texts(events: Iterable[Json]) -> Counter[str]:
    return Counter(json.dumps(event, sort_keys=True) for event in events)


def settings(tmp_path: Path, **transport: Any) -> None:
    """An ``openlineage.yml`` (JSON is YAML) where the push is started."""
    (tmp_path / "openlineage.yml").write_text(json.dumps({"transport": transport}))
