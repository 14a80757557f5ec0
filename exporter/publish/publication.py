"""Publish an export: its folder is written beside DIR and moved to DIR when it is complete.

The old folder stays readable until it is replaced. A run that fails leaves nothing behind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from exporter.errors import ExporterError, UsageError
from exporter.pipeline.messages import To
from exporter.publish import manifest
from exporter.system import files, folders
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from exporter.publish.places import Place

_NAMED: Final = 5
"""Most files that a message names."""
_BEGINNING: Final = 1 << 20
"""Bytes that are read for the beginning of a file."""
_ENDINGS: Final = {To.EVENTS: "ndjson", To.QUARANTINE: "ndjson"}
_COMPRESSED: Final = (To.EVENTS, To.GRAPH, To.DAILY)
"""Outputs that grow with the rows and are compressed with ``--compress gzip``."""


def path_of(output: str, number: int, day: str = "", *, is_compressed: bool = False) -> str | None:
    """The path in DIR of a file of an output; None if the output is not a file in DIR. ``day``: in an update, the day;
    it becomes a folder, or in the quarantine the beginning of the name. ``is_compressed``: whether events and graph
    are compressed.
    """
    kind, _, name = output.partition("-")
    if kind == To.CATALOG:
        return name
    ending = name if kind in (To.GRAPH, To.DAILY) else _ENDINGS.get(kind)
    if is_compressed and kind in _COMPRESSED:
        ending = f"{ending}{files.ENDING}"
    of_day = f"{day}-" if day and kind == To.QUARANTINE else f"{day}/" if day else ""
    if kind == To.DAILY:
        return f"{To.GRAPH}/{of_day}part-daily-{number:05d}.{ending}"
    return None if ending is None else f"{kind}/{of_day}part-{number:05d}.{ending}"


class Publication:
    """A folder under construction: ``with Publication(place, replace=…) as new: …; new.publish(manifest)``.

    ``folder``: the path or URI in which it is made. ``work``: a temporary folder in it. ``shown``, ``is_uri``: as in
    its place.
    """

    def __init__(self, place: Place, *, replace: bool, update: bool = False, force: bool = False) -> None:
        """Raises UsageError unless ``place`` does not exist, is empty, or (with ``replace`` or ``update``) has an
        export and nothing else. ``force``: files of the export that were changed since are replaced too.
        """
        self._place = place
        self.shown, self.is_uri = place.shown, place.is_uri
        check(place, replace=replace, update=update, force=force)
        self._is_replacing_update = replace and update
        self._is_published = False
        self._not_moved: set[str] = set()
        self.folder = place.beside(f".{place.name}.{uuid4().hex[:12]}")
        self.work = f"{self.folder}/{manifest.WORK}"

    def __enter__(self) -> Self:
        self._place.make(self.folder)
        try:
            self._place.write(f"{self.folder}/{folders.MARK}", folders.work_mark(self.folder.rpartition("/")[2]))
            self._place.make(self.work)
        except BaseException:  # a full disk: this folder is not left either
            with suppress(Exception):
                self._place.delete(self.folder)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An earlier error must not be hidden by one of the clean-up. After publishing, the clean-up must not fail the
        # run: what cannot be removed now is removed by the next run.
        quiet = (Exception,) if error is not None else (Exception, KeyboardInterrupt) if self._is_published else ()
        with suppress(*quiet):
            self._place.delete(self.folder)

    def take(self, texts: str, day: str = "") -> None:
        """Move the texts below ``texts`` to their places: ``to=events/part-…`` becomes ``events/part-00000.ndjson``.
        ``day``: as in :func:`path_of`.
        """
        written: set[str] = set()
        for folder in self._place.listed(texts):
            output = folder.rpartition("/")[2].removeprefix("to=")
            for number, part in enumerate(self._parts(folder)):
                path = path_of(output, number, day, is_compressed=part.endswith(files.ENDING))
                if path in written:
                    raise ExporterError(f"{path} was written twice; please report this")
                if path is not None:
                    written.add(path)
                    self._place.move(part, f"{self.folder}/{path}")

    def wrongly_compressed(self, texts: str) -> list[str]:
        """The folders below ``texts`` whose parts are compressed but must not be compressed in DIR."""
        folders = [text for text in self._place.listed(texts) if _is_plain(text.rpartition("/")[2].removeprefix("to="))]
        return [folder for folder in folders if any(part.endswith(files.ENDING) for part in self._parts(folder))]

    def drop_work(self, folder: str) -> None:
        """Remove a temporary folder, given by its full path."""
        self._place.delete(folder)

    def take_facts(self, table: str, folder: str) -> None:
        """Move the Parquet files of a table from ``folder`` to their places."""
        for number, part in enumerate(self._parts(folder)):
            self._place.move(part, f"{self.folder}/facts/{table}/part-{number:05d}.parquet")

    def _parts(self, folder: str) -> list[str]:
        return [part for part in self._place.listed(folder) if part.rpartition("/")[2].startswith("part-")]

    def take_changes(self, folder: str, number: int) -> None:
        """Move the files of an update's changes to their places. An entry is a file, or a folder with parts of one."""
        for path in self._place.listed(folder):
            name = path.rpartition("/")[2]
            target = f"{self.folder}/changes/{number}/{name}"
            if parts := self._parts(path):
                self._place.concatenate(parts, target)
            else:
                self._place.move(path, target)

    def concatenate(self, parts: Sequence[str | bytes], target: str) -> None:
        """Make one file, in the work folder, of the content of files (paths) and of bytes. The parts stay."""
        self._place.concatenate(parts, target)

    def carry(self, names: Iterable[str]) -> None:
        """Take over files and folders of the old DIR, if they exist; ``*`` at the end of a name matches any ending.
        A folder that they are in is listed once, however many names are given.
        """
        names_in: dict[str, list[str]] = {}
        for name in names:
            parent, begin = name.rpartition("/")[0], name.removesuffix("*")
            if parent not in names_in:
                names_in[parent] = self.names_before(parent)
            candidates = islice(names_in[parent], bisect_left(names_in[parent], begin), None)
            for path in candidates:
                if path != name and (begin == name or not path.startswith(begin)):
                    break
                if not self._place.carry(path, self.folder):
                    self._not_moved.add(path)

    def drop(self, name: str) -> None:
        """Remove a file or folder of the new DIR, if it exists; ``*`` as in :meth:`carry`."""
        above, _, last = name.rpartition("/")
        for path in self.names(above):
            if path.rpartition("/")[2].startswith(last[:-1]) if last.endswith("*") else path == name:
                self._not_moved.discard(path)
                self._place.delete(f"{self.folder}/{path}")

    def path(self, name: str) -> str:
        """The full path of a file or folder of the new DIR: in its own folder, or where it was left in the old one."""
        return self._place.inside(name) if self._is_left(name) else f"{self.folder}/{name}"

    def _is_left(self, name: str) -> bool:
        return not self._not_moved.isdisjoint((name, *manifest.parents(name)))

    def names(self, folder: str) -> list[str]:
        """The sorted names in a folder of the new DIR, below it; empty if it does not exist."""
        not_moved = {name for name in self._not_moved if name.rpartition("/")[0] == folder}
        return sorted({*_paths_in(folder, self._place.listed(self.path(folder))), *not_moved})

    def names_before(self, folder: str) -> list[str]:
        """The sorted names in a folder of the old DIR, below it; none if an update replaces it and so begins anew."""
        if self._is_replacing_update or not self._place.exists():
            return []
        return _paths_in(folder, self._place.listed(self.before(folder)))

    def has_before(self, name: str) -> bool:
        """Whether the old DIR has a file or folder with this path; as in :meth:`names_before`."""
        return (
            not self._is_replacing_update
            and self._place.exists()
            and bool(self._place.listed(self._place.inside(name)))
        )

    def files(self) -> list[str]:
        """The paths of all files in the new DIR so far, without temporary ones."""
        new_paths = [path for path in self._place.paths(self.folder) if not manifest.is_temporary(path)]
        return [*new_paths, *(entry["path"] for entry in self._entries_not_moved())]

    def entries_before(self) -> list[dict[str, Any]]:
        """The entries of the old manifest: path, bytes and sha256 of each file."""
        return manifest.entries(self.text_before(manifest.NAME)) or []

    def _entries_not_moved(self) -> list[dict[str, Any]]:
        """The entries of the old manifest for what was left where it is."""
        before = self.entries_before() if self._not_moved else []
        return [entry for entry in before if self._is_left(entry["path"])]

    def has(self, name: str) -> bool:
        """Whether a folder in the new DIR has any content yet."""
        return bool(self.names(name))

    def before(self, name: str) -> str:
        """The path of a name in the old DIR."""
        return self._place.inside(name)

    def text_before(self, name: str) -> str | None:
        """The text of a small file in the old DIR; None if it does not exist."""
        return self._place.read(name) if self._place.exists() else None

    def beginning(self, name: str) -> str:
        """The beginning of the first file in a folder of the new DIR, if possible of one that is not in the old DIR;
        empty if there is none.
        """
        before = set(self.names_before(name))
        first = min(self.names(name), key=lambda path: (path in before, path), default=None)
        return "" if first is None else self._place.beginning(self.path(first), _BEGINNING)

    def text(self, name: str, content: str) -> None:
        """Write a small file to the new DIR."""
        self._place.write(f"{self.folder}/{name}", content)

    def publish(self, content: dict[str, Any]) -> None:
        """Remove the temporary folder, complete the manifest (``content``) with the list of files, and move the folder
        to DIR.
        """
        self._place.delete(self.work)
        listed = sorted(
            [*self._place.file_entries(self.folder), *self._entries_not_moved()], key=lambda entry: str(entry["path"])
        )
        self._place.swap(self.folder, {"format": manifest.FORMAT, **content, "files": listed})
        self._is_published = True


def _paths_in(folder: str, paths: list[str]) -> list[str]:
    prefix = f"{folder}/" if folder else ""
    return [f"{prefix}{path.rpartition('/')[2]}" for path in paths]


def _is_plain(output: str) -> bool:
    """Whether it is an output that is never compressed in DIR."""
    return output.partition("-")[0] not in _COMPRESSED and path_of(output, 0) is not None


def check(place: Place, *, replace: bool, update: bool = False, force: bool = False) -> None:
    """Raise UsageError unless DIR may be replaced: it does not exist, is empty, or is an export, known by the content
    of its manifest, without any file that no export wrote.
    """
    if not place.exists() or place.names() == []:
        return
    shown, diff = place.shown, place.diff()
    if diff is None or not diff.is_any:
        raise UsageError(
            f"{shown}: exists and was not made by an export (it has no {manifest.NAME} that fits its files), so it is "
            "not replaced; give another --out"
        )
    if not (replace or update):
        raise UsageError(f"{shown}: exists already; give --replace to replace it by the new output, or another --out")
    if diff.others:
        kind = "folders" if all(path.endswith("/") for path in diff.others) else "files"
        raise UsageError(
            f"{shown}: has {kind} that no export wrote, and replacing the folder would remove them: "
            f"{named(diff.others)}. Move them to another folder, or give another --out. Nothing was changed"
        )
    if diff.changed and not (force and replace):
        raise UsageError(
            f"{shown}: files were changed since the export wrote them: {named(diff.changed)}. To replace them, "
            "give all rows with --replace and --force. Nothing was changed"
        )
    if diff.missing and not replace:
        raise UsageError(
            f"{shown}: files of the export are missing: {named(diff.missing)}. Restore them, or make the export "
            "again from all rows, with --update and --replace. Nothing was changed"
        )


def named(paths: list[str]) -> str:
    """The first paths, for a message; control characters are escaped."""
    text = ", ".join(visible(path) for path in paths[:_NAMED])
    return f"{text} and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else text
