"""Where an export goes: a folder of this machine. One of a Hadoop file system is in :mod:`exporter.engine.hadoop`."""

from __future__ import annotations

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from exporter.rows.forms import is_remote, local


class Place(Protocol):
    """What a publication asks of the file system that DIR is on. Paths are texts: a URI is no path of this machine."""

    name: str
    shown: str
    is_uri: bool
    """Whether the user named it by a URI, which says that all machines reach it."""

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

    def carry(self, name: str, folder: str) -> None:
        """Put what DIR has under a name into a folder, too, as it is."""

    def inside(self, name: str) -> str:
        """The path of what DIR has under a name."""

    def described(self, folder: str) -> list[dict[str, Any]]:
        """Path, bytes and sha256 of all files below a folder, in order."""

    def delete(self, folder: str) -> None:
        """Remove a folder, if it is there."""

    def swap(self, folder: str) -> None:
        """Put a folder, in which all is complete, in DIR's place."""


class LocalPlace:
    """DIR on this machine."""

    def __init__(self, out: str) -> None:
        self.shown = out
        self.is_uri = out.startswith("file:")
        self._out = Path(local(out)).absolute()
        self.name = self._out.name

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

    def carry(self, name: str, folder: str) -> None:
        shutil.copytree(self._out / name, Path(folder, name), copy_function=_linked, dirs_exist_ok=True)

    def inside(self, name: str) -> str:
        return str(self._out / name)

    def described(self, folder: str) -> list[dict[str, Any]]:
        root = Path(folder)
        paths = [path for path in sorted(root.rglob("*")) if path.is_file()]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(lambda path: _described(path, root), paths))

    def delete(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def swap(self, folder: str) -> None:
        new = Path(folder)
        new.chmod(0o777 & ~_umask())
        old = new.with_name(f"{new.name}.old")
        if self._out.exists():
            self._out.rename(old)
        new.rename(self._out)
        shutil.rmtree(old, ignore_errors=True)


def _described(path: Path, folder: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": digest}


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
