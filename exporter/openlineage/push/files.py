"""The event files of a folder, kept open so that an event can be read at its position at any time."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from exporter import compressed
from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def require_events(folder: Path) -> None:
    """Raises UsageError where a folder has no events, so that this comes before any error about the backend."""
    for file in _of_one_export(folder)[1]:
        os.close(file)


def opened(folder: Path) -> tuple[list[Path], list[int]]:
    """The paths, and the open files. They stay the files of one export, even if another one replaces the folder.

    Raises UsageError where there are none, where they are being replaced, or where a compressed one is damaged.
    """
    paths, files = _of_one_export(folder)
    return paths, [_unpacked(path, file) for path, file in zip(paths, files, strict=True)]


def _of_one_export(folder: Path) -> tuple[list[Path], list[int]]:
    files: list[int] = []
    try:
        before = folder.stat() if folder.exists() else None
        paths = compressed.found(folder / "events", ".ndjson")
        files.extend(os.open(path, os.O_RDONLY) for path in paths)
        if before is None or os.path.samestat(before, folder.stat()):
            if not paths:
                raise UsageError(_no_events(folder))
            return paths, files
    except FileNotFoundError:
        pass
    for file in files:
        os.close(file)
    raise UsageError(f"{folder}: was replaced by another export just now; start the push again")


def _no_events(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: there is no such folder; give the one that exporter export wrote"
    return f"{folder}: holds no events; give the folder that exporter export wrote, with events among its outputs"


def _unpacked(path: Path, file: int) -> int:
    """The file; for a compressed one its content, in a temporary file without a name."""
    if path.suffix != compressed.ENDING:
        return file
    with open(file, "rb") as packed, tempfile.TemporaryFile() as whole:
        try:
            shutil.copyfileobj(gzip.GzipFile(fileobj=packed), whole)
        except compressed.BROKEN as error:
            raise UsageError(f"{path}: cannot be unpacked: {error}; export the rows again") from None
        whole.seek(0)
        return os.dup(whole.fileno())
