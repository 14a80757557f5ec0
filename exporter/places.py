"""Where an export goes: a folder of this machine. One of a Hadoop file system is in :mod:`exporter.engine.hadoop`."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from exporter import locks, manifest, swap
from exporter.errors import UsageError
from exporter.rows.paths import is_remote, local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_LEDGERS: Final = f"{manifest.DELIVERIES}/*/ledger.txt"
"""What pushes have delivered: it outlives the output, and holds sums of events alone."""


class Place(Protocol):
    """What a publication asks of the file system that DIR is on. Paths are texts: a URI is no path of this machine."""

    name: str
    shown: str
    is_uri: bool
    """Whether the user named it by a URI, which says that all machines reach it."""

    def held(self) -> AbstractContextManager[None]:
        """Let no other run write DIR meanwhile; what dead runs left is mended and removed first.

        Raises UsageError where another run is at work, or DIR cannot be written.
        """

    def exists(self) -> bool:
        """Whether there is something at DIR's place."""

    def names(self) -> list[str] | None:
        """What is in DIR; None where it is no folder."""

    def beside(self, name: str) -> str:
        """A path beside DIR."""

    def make(self, folder: str) -> None:
        """Make a folder, and those above it."""

    def listed(self, folder: str) -> list[str]:
        """The paths of what is in a folder, in order; none where it is not there."""

    def move(self, path: str, to: str) -> None:
        """Move a file; the folder above its new place is made."""

    def write(self, path: str, content: str) -> None:
        """Write a small file."""

    def read(self, name: str) -> str | None:
        """The text of a small file of DIR; None where it is not there."""

    def beginning(self, path: str, most: int) -> str:
        """The text of a file's first bytes, ``most`` of them at most."""

    def carry(self, name: str, folder: str) -> None:
        """Put what DIR has under a name into a folder, too, as it is."""

    def inside(self, name: str) -> str:
        """The path of what DIR has under a name."""

    def described(self, folder: str) -> list[dict[str, Any]]:
        """Path, bytes and sha256 of all files below a folder, in order."""

    def delete(self, folder: str) -> None:
        """Remove a folder, if it is there."""

    def swap(self, folder: str, told: dict[str, Any]) -> None:
        """Put a folder, in which all is complete, in DIR's place, with ``told`` as its manifest: DIR is the old or the
        new one, whole, at every moment.
        """


class LocalPlace:
    """DIR on this machine."""

    def __init__(self, out: str) -> None:
        self.shown = out
        self.is_uri = out.startswith("file:")
        if self.is_uri and not Path(local(out)).is_absolute():
            raise UsageError(f"{out}: names no file of this machine; write file:///path")
        self._out = Path(local(out)).resolve()  # what a link leads to is replaced, not the link
        self.name = self._out.name
        if not self.name:
            raise UsageError(f"{out}: is the root of a file system; give a folder below it")

    @contextmanager
    def held(self) -> Iterator[None]:
        if os.path.ismount(self._out):
            raise UsageError(f"{self.shown}: a disk is mounted there, so it cannot be replaced; give a folder below it")
        if self._out.exists() and not os.access(self._out, os.W_OK):
            why = errno.EROFS if os.statvfs(self._out).f_flag & os.ST_RDONLY else errno.EACCES
            raise UsageError(f"{self.shown}: cannot be written: {os.strerror(why)}; nothing was changed")
        with locks.held(self._out.with_name(f".{self.name}.lock"), self.shown):
            swap.mend(self._out)
            for left in swap.left_behind(self._out):
                self.delete(str(left))
            yield

    def exists(self) -> bool:
        return self._out.exists()

    def names(self) -> list[str] | None:
        return sorted(path.name for path in self._out.iterdir()) if self._out.is_dir() else None

    def beside(self, name: str) -> str:
        return str(self._out.with_name(name))

    def make(self, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)

    def listed(self, folder: str) -> list[str]:
        return sorted(str(path) for path in Path(folder).iterdir()) if Path(folder).is_dir() else []

    def move(self, path: str, to: str) -> None:
        Path(to).parent.mkdir(parents=True, exist_ok=True)
        Path(path).rename(to)

    def write(self, path: str, content: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content, encoding="utf-8")

    def read(self, name: str) -> str | None:
        path = self._out / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def beginning(self, path: str, most: int) -> str:
        with Path(path).open("rb") as file:
            return file.read(most).decode(errors="replace")

    def carry(self, name: str, folder: str) -> None:
        source, to = self._out / name, Path(folder, name)
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            _linked(str(source), str(to))
        else:
            shutil.copytree(source, to, copy_function=_linked, dirs_exist_ok=True)

    def inside(self, name: str) -> str:
        return str(self._out / name)

    def described(self, folder: str) -> list[dict[str, Any]]:
        return manifest.described(Path(folder), self._out)

    def delete(self, folder: str) -> None:
        _carry_ledgers(Path(folder), self._out)
        shutil.rmtree(folder, ignore_errors=True)

    def swap(self, folder: str, told: dict[str, Any]) -> None:
        new = Path(folder)
        new.chmod(0o777 & ~_umask())
        self.write(f"{folder}/{manifest.NAME}", manifest.text(told))
        _carry_ledgers(self._out, new)
        manifest.sync(new)
        swap.put(new, self._out)


def _carry_ledgers(old: Path, new: Path) -> None:
    """Give the ledgers of a folder to another that has none of the same names. A ledger is then one file under two
    names: a push that is at work in the old folder goes on writing what both know.
    """
    for ledger in old.glob(_LEDGERS) if new.is_dir() else ():
        to = new / ledger.relative_to(old)
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(ledger, to)
            except OSError:
                _copy(ledger, to)


def _copy(ledger: Path, to: Path) -> None:
    """For file systems on which a file has one name: the copy would miss what a push writes afterwards."""
    with ledger.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{ledger.parent}: a push is at work; wait for it to end. Nothing was changed") from None
        shutil.copyfile(ledger, to)


def _linked(source: str, to: str) -> str:
    """One file under two names, where the file system can: what is carried on is never changed."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copyfile(source, to)
    return to


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def place_of(out: str) -> Place:
    """The place that a path or a URI names."""
    if is_remote(out):
        from exporter.engine.hadoop import HadoopPlace  # noqa: PLC0415 - needs Spark, and few places do

        return HadoopPlace(out)
    return LocalPlace(out)
