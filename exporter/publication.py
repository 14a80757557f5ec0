"""The folder that an export leaves: written beside its place and moved there when it is complete.

An old folder stays readable until the new one takes its place; a run that fails leaves nothing behind.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from exporter import compressed
from exporter.errors import ExporterError, UsageError
from exporter.messages import CATALOG, DAILY, EVENTS, GRAPH, QUARANTINE

if TYPE_CHECKING:
    from types import TracebackType

    from exporter.places import Place

_MARKS: Final = ("manifest.json", "report.json")
_BEGINNING: Final = 1 << 20
"""Bytes of a file, where its beginning is asked for."""
_ENDINGS: Final = {EVENTS: "ndjson", QUARANTINE: "ndjson"}
_COMPRESSED: Final = (EVENTS, GRAPH, DAILY)
"""What grows with the rows, and is compressed where that is asked for."""


def path_of(to: str, number: int, day: str = "", *, is_compressed: bool = False) -> str | None:
    """Where the texts of an output are in DIR; None of what is no file of it. ``day``: whose they are, in a DIR that is
    added to by days: a folder, or the beginning of a file's name in the quarantine. ``is_compressed``: whether events
    and graph are.
    """
    kind, _, name = to.partition("-")
    if kind == CATALOG:
        return name
    ending = name if kind in (GRAPH, DAILY) else _ENDINGS.get(kind)
    if is_compressed and kind in _COMPRESSED:
        ending = f"{ending}{compressed.ENDING}"
    of_day = f"{day}-" if day and kind == QUARANTINE else f"{day}/" if day else ""
    if kind == DAILY:
        return f"{GRAPH}/{of_day}part-daily-{number:05d}.{ending}"
    return None if ending is None else f"{kind}/{of_day}part-{number:05d}.{ending}"


class Publication:
    """A folder in the making: ``with Publication(place, replace) as new: …; new.publish(manifest)``.

    ``folder``: the path or URI that it is made in; ``work`` below it is for the work alone. ``shown``, ``is_uri``: of
    its place.
    """

    def __init__(self, place: Place, *, replace: bool) -> None:
        """``place`` must not be there, be empty, or (with ``replace``) be what an export left."""
        self._place = place
        self.shown, self.is_uri = place.shown, place.is_uri
        if place.exists() and not self._may_take(replace=replace):
            raise UsageError(_refusal(place.shown, replace=replace or place.names() is None))
        self._is_published = False
        self.folder = place.beside(f".{place.name}.{uuid4().hex[:12]}")
        self.work = f"{self.folder}/.work"

    def __enter__(self) -> Self:
        self._place.make(self.work)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The first failure is the one to tell; and once all is published nothing fails any more: what cannot be removed
        # now the next run removes.
        quiet = (Exception,) if error is not None else (Exception, KeyboardInterrupt) if self._is_published else ()
        with suppress(*quiet):
            self._place.delete(self.folder)

    def _may_take(self, *, replace: bool) -> bool:
        names = self._place.names()
        if names is None:
            return False
        return not names or (replace and any(mark in names for mark in _MARKS))

    def take(self, texts: str, day: str = "") -> None:
        """Give the texts below ``texts`` their places: ``to=events/part-…`` becomes ``events/part-00000.ndjson``;
        ``day``: as :func:`path_of` has it.
        """
        taken: set[str] = set()
        for folder in self._place.listed(texts):
            to = folder.rpartition("/")[2].removeprefix("to=")
            for number, part in enumerate(self._parts(folder)):
                path = path_of(to, number, day, is_compressed=part.endswith(compressed.ENDING))
                if path in taken:
                    raise ExporterError(f"{path} was written twice; please report this")
                if path is not None:
                    taken.add(path)
                    self._place.move(part, f"{self.folder}/{path}")

    def plain_ones(self, texts: str) -> list[str]:
        """The folders below ``texts`` of outputs whose parts are compressed there, and are not to be so in DIR."""
        folders = [one for one in self._place.listed(texts) if _is_plain(one.rpartition("/")[2].removeprefix("to="))]
        return [one for one in folders if any(part.endswith(compressed.ENDING) for part in self._parts(one))]

    def drop_work(self, folder: str) -> None:
        """Remove a folder of the work, by its whole path."""
        self._place.delete(folder)

    def take_facts(self, table: str, folder: str) -> None:
        """Give a table's files of Parquet in ``folder`` their places."""
        for number, part in enumerate(self._parts(folder)):
            self._place.move(part, f"{self.folder}/facts/{table}/part-{number:05d}.parquet")

    def _parts(self, folder: str) -> list[str]:
        return [part for part in self._place.listed(folder) if part.rpartition("/")[2].startswith("part-")]

    def take_changes(self, folder: str, number: int) -> None:
        """Give the files of an update's changes their places: single files, or folders that Spark wrote one into."""
        for path in self._place.listed(folder):
            name = path.rpartition("/")[2]
            parts = self._parts(path)
            self._place.move(parts[0] if parts else path, f"{self.folder}/changes/{number}/{name}")

    def carry(self, name: str) -> None:
        """Take over what the DIR before has under a name, where it has it; a ``*`` at the end stands for any."""
        above, _, last = name.rpartition("/")
        if last.endswith("*"):
            paths = self._place.listed(self._place.inside(above)) if self._place.exists() else []
            found = [path.rpartition("/")[2] for path in paths]
            for one in found:
                if one.startswith(last[:-1]):
                    self._place.carry(f"{above}/{one}", self.folder)
        elif self.has_before(name):
            self._place.carry(name, self.folder)

    def drop(self, name: str) -> None:
        """Remove what was taken over under a name."""
        self._place.delete(f"{self.folder}/{name}")

    def has_before(self, name: str) -> bool:
        """Whether the DIR before has something under a name, which may have a folder before it."""
        return self._place.exists() and bool(self._place.listed(self._place.inside(name)))

    def is_there(self, path: str) -> bool:
        """Whether there is something in a folder, by its whole path."""
        return bool(self._place.listed(path))

    def has(self, name: str) -> bool:
        """Whether the new DIR has something in a folder already."""
        return bool(self._place.listed(f"{self.folder}/{name}"))

    def numbered(self, name: str) -> int:
        """How many folders that count from 1 the DIR before has below one."""
        return len(self._place.listed(self._place.inside(name))) if self.has_before(name) else 0

    def before(self, name: str) -> str:
        """The path of what the DIR before has under a name."""
        return self._place.inside(name)

    def text_before(self, name: str) -> str | None:
        """The text of a small file of the DIR before; None where it does not have it."""
        return self._place.read(name) if self._place.exists() else None

    def beginning(self, name: str) -> str:
        """How the first file begins that is in a folder of the new one; empty where there is none."""
        paths = self._place.listed(f"{self.folder}/{name}")
        return self._place.beginning(paths[0], _BEGINNING) if paths else ""

    def text(self, name: str, content: str) -> None:
        """A small file."""
        self._place.write(f"{self.folder}/{name}", content)

    def publish(self, manifest: dict[str, Any]) -> None:
        """Drop what was only for the work, and move the folder to its place, with the manifest of its files."""
        self._place.delete(self.work)
        listed = self._place.described(self.folder)
        self._place.swap(self.folder, {**manifest, "files": listed})
        self._is_published = True


def _is_plain(to: str) -> bool:
    """Whether it is an output that is never compressed."""
    return to.partition("-")[0] not in _COMPRESSED and path_of(to, 0) is not None


def _refusal(shown: str, *, replace: bool) -> str:
    if replace:
        return f"{shown}: is there already and is not what an export left, so it is not replaced; give another --out"
    return f"{shown}: is there already; give --replace to put the new output in its place, or another --out"
