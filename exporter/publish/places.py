"""The place of DIR: a folder on this machine. Hadoop's file systems are in :mod:`exporter.engines.hadoop`."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from exporter.errors import UsageError
from exporter.input.formats import local
from exporter.publish import manifest
from exporter.system import folders, private

_LEDGERS: Final = f"{manifest.DELIVERIES}/*/ledger.txt"
"""The ledgers of pushes. They are kept when DIR is replaced, and contain only checksums of events."""
_OF_NFS: Final = ".nfs"
"""The beginning of names that NFS gives to removed files which a process still has open."""


class Place(Protocol):
    """The operations of DIR's file system that a publication needs. Paths are texts, because they may be URIs."""

    name: str
    shown: str
    is_uri: bool
    """Whether the user gave it as a URI, which means that all machines can reach it."""
    notes: list[str]
    """Messages for the user about files that the run found and kept."""

    def held(self) -> AbstractContextManager[None]:
        """Lock DIR for this run, after repairing and removing what dead runs left.

        Raises UsageError if another run holds the lock, or if DIR cannot be written or is in another export.
        """

    def exists(self) -> bool:
        """Whether DIR's path exists."""

    def names(self) -> list[str] | None:
        """The sorted names in DIR; None if it is not a folder."""

    def diff(self) -> manifest.ManifestDiff | None:
        """DIR compared with its manifest; None if it has no manifest of an export."""

    def paths(self, folder: str | None = None) -> list[str]:
        """The paths in a folder, by default DIR, of all files below it."""

    def beside(self, name: str) -> str:
        """The path of a name beside DIR."""

    def make(self, folder: str) -> None:
        """Make a folder and its parent folders."""

    def listed(self, folder: str) -> list[str]:
        """The sorted paths in a folder; empty if it does not exist."""

    def move(self, path: str, target: str) -> None:
        """Move a file; the parent folder of its new path is made."""

    def concatenate(self, parts: Sequence[str | bytes], target: str) -> None:
        """Make one file of the content of files (paths) and of bytes, in their order; the parent folder of the new file
        is made. The parts stay.
        """

    def write(self, path: str, content: str) -> None:
        """Write a small file."""

    def read(self, name: str) -> str | None:
        """The text of a small file in DIR; None if it does not exist."""

    def beginning(self, path: str, most: int) -> str:
        """The text of at most ``most`` bytes at the beginning of a file."""

    def carry(self, name: str, folder: str) -> bool:
        """Copy a file or folder of DIR unchanged into another folder, by hard links if possible. False where files that
        do not change stay where they are when DIR is replaced: then nothing is copied.
        """

    def inside(self, name: str) -> str:
        """The path of a name in DIR."""

    def file_entries(self, folder: str) -> list[dict[str, Any]]:
        """Path, bytes and sha256 of all files below a folder, sorted."""

    def delete(self, folder: str) -> None:
        """Remove a file, or a folder, if it exists. Files in a former DIR that no export wrote are kept beside DIR."""

    def swap(self, folder: str, described: dict[str, Any]) -> None:
        """Replace DIR by a complete folder, with ``described`` as its manifest. At every moment DIR is the complete old
        or the complete new output.
        """


class LocalPlace:
    """A DIR on this machine."""

    def __init__(self, out: str, mode: int = private.FOLDER) -> None:
        self.shown, self.notes, self._mode = out, list[str](), mode
        self.is_uri = out.startswith("file:")
        if self.is_uri and not Path(local(out)).is_absolute():
            raise UsageError(f"{out}: is not a path on this machine; write file:///path")
        self._out = _resolved(out)  # the target of a link is replaced, not the link
        self.name = self._out.name
        if not self.name:
            raise UsageError(f"{out}: is the root of a file system; give a folder below it")

    @contextmanager
    def held(self) -> Iterator[None]:
        if os.path.ismount(self._out):
            raise UsageError(f"{self.shown}: is a mount point, which cannot be replaced; give a folder below it")
        manifest.refuse_in_export(self.shown, self._out.parents)
        if self._out.exists() and not os.access(self._out, os.W_OK):
            error = errno.EROFS if os.statvfs(self._out).f_flag & os.ST_RDONLY else errno.EACCES
            raise UsageError(f"{self.shown}: cannot be written: {os.strerror(error)}; nothing was changed")
        with folders.held(self._out.with_name(f".{self.name}.lock"), self.shown):
            folders.mend(self._out)
            for leftover in folders.left_behind(self._out):
                if folders.is_own(leftover):
                    self.delete(str(leftover))
                else:
                    self.notes.append(folders.not_own(self.shown, str(leftover)))
            yield

    def exists(self) -> bool:
        return self._out.exists()

    def names(self) -> list[str] | None:
        return sorted(path.name for path in self._out.iterdir()) if self._out.is_dir() else None

    def diff(self) -> manifest.ManifestDiff | None:
        return manifest.diff_folder(self._out)

    def paths(self, folder: str | None = None) -> list[str]:
        return sorted(manifest.sizes(Path(folder) if folder else self._out))

    def beside(self, name: str) -> str:
        return str(self._out.with_name(name))

    def make(self, folder: str) -> None:
        private.folder(Path(folder))

    def listed(self, folder: str) -> list[str]:
        return sorted(str(path) for path in Path(folder).iterdir()) if Path(folder).is_dir() else []

    def move(self, path: str, target: str) -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(path).rename(target)

    def concatenate(self, parts: Sequence[str | bytes], target: str) -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        with Path(target).open("wb") as file:
            for part in parts:
                if isinstance(part, bytes):
                    file.write(part)
                else:
                    with Path(part).open("rb") as more:
                        shutil.copyfileobj(more, file)

    def write(self, path: str, content: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content, encoding="utf-8")

    def read(self, name: str) -> str | None:
        path = self._out / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def beginning(self, path: str, most: int) -> str:
        with Path(path).open("rb") as file:
            return file.read(most).decode(errors="replace")

    def carry(self, name: str, folder: str) -> bool:
        os.makedirs(f"{folder}/{name.rpartition('/')[0]}", exist_ok=True)  # noqa: PTH103 - many paths
        _link_or_copy(f"{self._out}/{name}", f"{folder}/{name}")
        return True

    def inside(self, name: str) -> str:
        return str(self._out / name)

    def file_entries(self, folder: str) -> list[dict[str, Any]]:
        return manifest.file_entries(Path(folder), self._out)

    def delete(self, folder: str) -> None:
        path = Path(folder)
        if path.is_file():
            path.unlink()
            return
        _link_ledgers(path, self._out)
        compared = manifest.diff_folder(path) if path.is_dir() else None
        if compared is None and not folders.is_former(path):  # a work folder
            _remove_work(path)
            return
        there = manifest.sizes(path)
        stay = (there.keys() if compared is None else {*compared.others, *compared.changed}) - {folders.MARK}
        ends = {manifest.NAME, folders.MARK} - stay  # a run that is killed now leaves what the next one knows it by
        _remove_files(path, {*stay, *ends})
        present = {*manifest.sizes(path), *(name for name in stay if name.endswith("/"))}
        added = [name for name in present if name in stay or (name not in there and name not in ends)]
        if any(not name.rpartition("/")[2].startswith(_OF_NFS) for name in added):
            backup = self._out.with_name(f"{self.name}.kept-{path.name.removeprefix(f'.{self.name}.')[:12]}")
            path.rename(backup)
            path = backup
            self.notes.append(
                f"{self.shown}: files in it were added or changed while it was replaced; they are in {backup} now"
            )
        for name in (manifest.NAME, folders.MARK):
            if name in ends:
                (path / name).unlink(missing_ok=True)
        with suppress(OSError):
            path.rmdir()

    def swap(self, folder: str, described: dict[str, Any]) -> None:
        new = Path(folder)
        self.write(f"{folder}/{manifest.NAME}", manifest.text(described))
        _link_ledgers(self._out, new)
        was = stat.S_IMODE(self._out.stat().st_mode) if self._out.is_dir() else 0
        if was & 0o077 & ~self._mode:
            self.notes.append(
                f"{self.shown}: was open to others (mode {was:04o}), has mode {self._mode:04o} now; --mode {was:04o} "
                "keeps it open"
            )
        private.set_mode(new, self._mode)
        if (new / manifest.DELIVERIES).is_dir():
            private.set_mode(new / manifest.DELIVERIES, private.FOLDER)
        manifest.sync(new)
        if self._out.is_dir():
            folders.set_mark(self._out, folders.former_mark(new.name))
        try:
            folders.put(new, self._out)
        finally:  # of the new DIR; of the old one, if they could not be exchanged
            (self._out / folders.MARK).unlink(missing_ok=True)


def _remove_work(folder: Path) -> None:
    """Remove a work folder, its mark last, so that the next run knows what a killed one left of it."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != folders.MARK:
            path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_files(folder: Path, stay: set[str]) -> None:
    """Remove the files in a folder except some, and the folders that are empty then. What cannot be removed stays."""
    staying = {str(folder / path) for path in stay}
    for above, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = os.path.join(above, name)  # noqa: PTH118 - many paths
            if path not in staying:
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108 - many paths
        with suppress(OSError):
            if above in staying:
                continue
            os.rmdir(above)  # noqa: PTH106 - many paths


def _link_ledgers(old: Path, new: Path) -> None:
    """Copy the ledgers of a folder to another one, as hard links. A push that is still running in the old folder then
    also writes to the ledger of the new one.
    """
    for ledger in old.glob(_LEDGERS) if new.is_dir() else ():
        target = new / ledger.relative_to(old)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(ledger, target)
            except OSError:
                _copy(ledger, target)


def _copy(ledger: Path, target: Path) -> None:
    """Copy a ledger on file systems without hard links. Raises UsageError if a push is running, since the copy would
    miss what it writes later.
    """
    with ledger.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{ledger.parent}: a push is running; wait until it has ended. Nothing was changed"
            ) from None
        shutil.copyfile(ledger, target)


def _link_or_copy(source: str, target: str) -> None:
    """Make a hard link to a file, or to all files of a folder, where the file system allows it, otherwise a copy. Files
    that are taken over are never changed.
    """
    try:
        os.link(source, target)
    except OSError:
        if not os.path.isdir(source):  # noqa: PTH112 - many paths
            shutil.copyfile(source, target)
            return
        os.makedirs(target, exist_ok=True)  # noqa: PTH103 - many paths
        for name in os.listdir(source):  # noqa: PTH208 - many paths
            _link_or_copy(f"{source}/{name}", f"{target}/{name}")


def _resolved(out: str) -> Path:
    """The absolute path of DIR, without links. Raises UsageError for links that form a circle, and for a relative path
    in a working folder that is gone.
    """
    path = Path(local(out))
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{out}: is a link that leads to itself; remove it, or give another folder") from None
    try:
        return path.resolve()
    except FileNotFoundError:
        raise UsageError(
            f"{out}: the working folder was removed or replaced (as an export to . replaces it); change to it again "
            "by its path, and call again"
        ) from None
