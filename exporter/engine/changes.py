"""What an update did to the graph and to the events, for stores that follow: ``changes/N/``.

``removed.nt.gz`` and ``added.nt.gz`` are the triples, ``update.ru.gz`` says the same as SPARQL 1.1 Update, and
``events.ndjson.gz`` has the events that were not there before. Applied in the order of N to an empty store, they give
the graph.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.graph.difference import SEPARATORS, parts_of, triples, update
from exporter.graph.writers import FORMATS
from exporter.graph.writers.turtle import header

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.publication import Publication
    from exporter.settings import Settings

ADDED: Final = "added.nt.gz"
REMOVED: Final = "removed.nt.gz"
UPDATE: Final = "update.ru.gz"
EVENTS: Final = "events.ndjson.gz"


def syntax(settings: Settings) -> str | None:
    """How the files end that the triples are read from; None where there are none that can be read in parts."""
    endings = [FORMATS[name] for name in settings.graph_format] if "graph" in settings.outputs else []
    return next((one for one in endings if one in SEPARATORS), None)


def write(settings: Settings, new: Publication, number: int, *, is_first: bool) -> None:
    """The changes between the DIR before and the new one; ``is_first``: against nothing, for a store that is empty."""
    folder = Path(new.work, "changes")
    folder.mkdir()
    ending = syntax(settings)
    if ending:
        before = set() if is_first else _triples(new.before("graph"), ending, settings.base)
        now = _triples(f"{new.folder}/graph", ending, settings.base)
        removed, added = sorted(before - now), sorted(now - before)
        _write(folder / REMOVED, removed)
        _write(folder / ADDED, added)
        _write(folder / UPDATE, update([*((False, one) for one in removed), *((True, one) for one in added)]))
    if "events" in settings.outputs:
        known = set() if is_first else set(_lines(new.before("events")))
        _write(folder / EVENTS, [one for one in _lines(f"{new.folder}/events") if one not in known])
    new.take_changes(str(folder), number)


def _triples(folder: str, ending: str, base: str) -> set[str]:
    opening = header(base) if ending == "ttl" else ""
    texts = (path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob(f"*.{ending}")))
    return {one for text in texts for one in triples(parts_of(text, ending), ending, opening)}


def _lines(folder: str) -> list[str]:
    paths = sorted(Path(folder).rglob("*.ndjson"))
    return [line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line]


def _write(path: Path, lines: Iterable[str]) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
