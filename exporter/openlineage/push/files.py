"""The files of the events of a folder, opened so that an event can be read at its place at any time."""

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


def opened(folder: Path) -> tuple[list[Path], list[int]]:
    """The paths, and the files, opened: they stay those of one export, even where another takes its place meanwhile.

    Raises UsageError where that happens right now, or a compressed file is damaged.
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
            return paths, files
    except FileNotFoundError:
        pass
    for file in files:
        os.close(file)
    raise UsageError(f"{folder}: was replaced by another export just now; start the push again")


def _unpacked(path: Path, file: int) -> int:
    """The file; of a compressed one its content, in a file without a name that is gone with the process."""
    if path.suffix != compressed.ENDING:
        return file
    with open(file, "rb") as packed, tempfile.TemporaryFile() as whole:
        try:
            shutil.copyfileobj(gzip.GzipFile(fileobj=packed), whole)
        except compressed.BROKEN as error:
            raise UsageError(f"{path}: cannot be unpacked: {error}; export the rows again") from None
        whole.seek(0)
        return os.dup(whole.fileno())
