"""A DIR given as a URI of one of Hadoop's file systems: publish an output there, and allow only one run at a time."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from exporter import manifest, private
from exporter.engine import session
from exporter.engine.beside import paths, placed, stale
from exporter.engine.files import HadoopFiles
from exporter.engine.lease import Lease
from exporter.engine.sums import sums
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
_DIGITS: Final = 12
"""Hexadecimal digits at the end of a work folder's name. They are also the mark for files whose name is taken."""

_BEFORE: Final = ".before"
"""A folder in the work folder, for the list of files that DIR had before."""


class HadoopPlace:
    """A DIR given as a URI. Few of these file systems can replace a folder in one step. So new files are put beside the
    old ones in DIR, and the manifest, which is replaced in one step, lists the current files.
    """

    is_uri = True

    def __init__(self, out: str, mode: int = private.FOLDER) -> None:
        """Raises UsageError if the file system cannot be reached."""
        self.shown, self.notes, self._mode = out, list[str](), mode
        self._out = out.rstrip("/")
        self._above, _, self.name = self._out.rpartition("/")
        if not self._above or self._above.endswith(":/"):
            raise UsageError(f"{out}: is the root of a file system; give a folder below it")
        self._files = HadoopFiles(self._out)
        self._lease: Lease | None = None
        self.listed, self.delete = self._files.listed, self._files.delete
        self.move, self.join = self._files.rename, self._files.join
        self.write, self.beginning = self._files.write, self._files.beginning

    @contextmanager
    def held(self) -> Iterator[None]:
        manifest.refuse_in_export(self.shown, folders_above(self._out), self._files.text_if_allowed, self._files.exists)
        self._lease = Lease(self._files, self.beside(f".{self.name}.lock"), self.shown)
        with self._lease.held():
            self._recover()
            yield

    def make(self, folder: str) -> None:
        self._files.make(folder)
        above, _, name = folder.rpartition("/")
        self._files.set_mode(above if name == manifest.WORK else folder, private.FOLDER)

    def exists(self) -> bool:
        return self._files.exists(self._out)

    def names(self) -> list[str] | None:
        if not self._files.is_folder(self._out):
            return None
        return sorted(path.rpartition("/")[2] for path in self.listed(self._out))

    def compared(self) -> manifest.Compared | None:
        """DIR compared with its manifest, by the sizes of files: to compare contents would mean to read everything."""
        files = manifest.of_export(self._files.text(self.inside(manifest.NAME)))
        return None if files is None else manifest.compared(files, self._files.sizes(self._out), lambda _: True)

    def paths(self, folder: str | None = None) -> list[str]:
        return sorted(self._files.sizes(folder or self._out))

    def beside(self, name: str) -> str:
        return f"{self._above}/{name}"

    def inside(self, name: str) -> str:
        return f"{self._out}/{name}"

    def read(self, name: str) -> str | None:
        return self._files.text(self.inside(name))

    def carry(self, name: str, folder: str) -> None:
        self._files.make(f"{folder}/{name}".rpartition("/")[0])
        self._files.copy(self.inside(name), f"{folder}/{name}")

    def described(self, folder: str) -> list[Json]:
        sizes, root = self._files.sizes(folder), self._files.full(folder)
        found = sums(session.start(None), folder, {f"{root}/{path}": size for path, size in sizes.items()})
        return [
            {"path": path, "bytes": size, "sha256": found[f"{root}/{path}"]} for path, size in sorted(sizes.items())
        ]

    def swap(self, folder: str, told: Json) -> None:
        if self._lease is not None:
            self._lease.check()
        old = self._listed(self._out) or []
        files = placed(told["files"], old, folder[-_DIGITS:])
        text = manifest.text({**told, "files": files})
        # If this run dies, the next run finds here which files it had put into DIR, and which DIR had before.
        self.write(f"{folder}/{_BEFORE}/{manifest.NAME}", manifest.text({"files": old}))
        self.write(f"{folder}/{manifest.NAME}", text)
        known, there = {(one["path"], one["sha256"]) for one in old}, self._files.sizes(self._out)
        new = sorted(({one["path"] for one in files} | set(manifest.copies(files).values())) & set(there) - paths(old))
        if new:
            raise UsageError(
                f"{self.shown}: other files appeared in it during the export: {', '.join(new)}; nothing was published"
            )
        self._files.make(self._out)
        self._files.set_mode(self._out, self._mode)
        for one in files:
            path = one["path"]
            if (path, one["sha256"]) not in known or path not in there:
                self.delete(self.inside(path))  # a copy under the plain name, which the manifest does not list
                self.move(f"{folder}/{manifest.plain(path)}", self.inside(path))
        self._files.put(text, self.inside(manifest.NAME), f"{folder}/{manifest.NAME}.new")
        self._tidy(old, files)

    def _tidy(self, old: list[Json], files: list[Json]) -> None:
        """Remove files of an export (``old``) that are no longer current, and copy files that users look for by name to
        their plain names.
        """
        for path, name in manifest.copies(files).items():
            self._files.copy(self.inside(path), self.inside(name))
        there = self._files.sizes(self._out)
        gone = stale(there, old, files)
        for path in gone:
            self.delete(self.inside(path))
        kept = {folder for path in there.keys() - set(gone) for folder in _above(path)}
        for folder in {folder for path in gone for folder in _above(path)} - kept:
            self.delete(self.inside(folder))

    def _recover(self) -> None:
        """Clean up after runs that died: remove the files that they had put into DIR, unless they were published."""
        own = re.compile(rf"\.{re.escape(self.name)}\.[0-9a-f]{{{_DIGITS}}}")
        for left in [path for path in self.listed(self.beside("")) if own.fullmatch(path.rpartition("/")[2])]:
            journal, now = self._listed(left), self._listed(self._out)
            if journal and now:
                # The run died before it replaced DIR's manifest, or before it removed the files of the former one.
                self._tidy([*journal, *(self._listed(f"{left}/{_BEFORE}") or [])], now)
            elif journal:  # the run died before DIR had a manifest, so there was no DIR before
                for path in stale(self._files.sizes(self._out), journal, []):
                    self.delete(self.inside(path))
                if not self._files.sizes(self._out):
                    self.delete(self._out)
            self.delete(left)

    def _listed(self, folder: str) -> list[Json] | None:
        """The files that the manifest of a folder lists; None if there is none or it is not complete."""
        return manifest.entries(self._files.text(f"{folder}/{manifest.NAME}"))


def folders_above(uri: str) -> Iterator[str]:
    """The folders above that of a URI, the nearest one first."""
    above = uri.rpartition("/")[0]
    while not above.endswith((":", "/")):
        yield above
        above = above.rpartition("/")[0]


def _above(path: str) -> Iterator[str]:
    """The parent folders of a path."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
