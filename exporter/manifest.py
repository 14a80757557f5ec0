"""``manifest.json``: the files of an export with sizes and checksums, and whether DIR still matches it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from exporter.swap import steady

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Json = dict[str, Any]
NAME: Final = "manifest.json"
_PART: Final = "part-"
_MARK: Final = re.compile(r"-[0-9a-f]{12}(?=(\.[^/.]*)+$)")
"""The mark in a file's name whose plain name was taken (:mod:`exporter.engine.beside`)."""
_REPORT: Final = "report.json"
DELIVERIES: Final = "push"
"""The folder in DIR that belongs to ``exporter push``; it is not part of the output."""


def described(folder: Path, before: Path | None = None) -> list[Json]:
    """Path, bytes and sha256 of all files below a folder, sorted. Files that are hard links to files of ``before`` are
    taken from its manifest, so that an update does not read everything.
    """
    known = {one["path"]: one for one in entries(_text(before) if before else None) or ()}
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]

    def one(path: Path) -> Json:
        name = path.relative_to(folder).as_posix()
        is_same = before is not None and name in known and (before / name).exists() and path.samefile(before / name)
        return known[name] if is_same else _described(path, folder)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(one, paths))


def entries(manifest: str | None) -> list[Json] | None:
    """The files that a manifest lists; None if the text is not a manifest."""
    try:
        files = json.loads(manifest or "")["files"]
        return [{"path": str(one["path"]), "bytes": int(one["bytes"]), "sha256": str(one["sha256"])} for one in files]
    except (ValueError, KeyError, TypeError):
        return None


def _described(path: Path, folder: Path) -> Json:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"path": path.relative_to(folder).as_posix(), "bytes": file.tell(), "sha256": digest}


def text(told: Json) -> str:
    """The manifest as JSON text."""
    return json.dumps(told, indent=1, default=str) + "\n"


def plain(path: str) -> str:
    """A path without the mark.

    >>> plain("a/part-00000-0123456789ab.nt.gz"), plain("a/part-00000.ttl")
    ('a/part-00000.nt.gz', 'a/part-00000.ttl')
    """
    return _MARK.sub("", path)


def copies(files: Iterable[Json]) -> dict[str, str]:
    """Path -> plain path, for marked files that people and scripts look for by name (``report.json``)."""
    marked = [one["path"] for one in files if plain(one["path"]) != one["path"]]
    return {path: plain(path) for path in marked if not path.rpartition("/")[2].startswith(_PART)}


def sync(folder: Path) -> None:
    """Write all files of a folder to the disk, so that they survive a power failure."""
    paths = [folder, *folder.rglob("*")]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(_sync, paths))


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def problems(folder: Path) -> list[str]:
    """The differences from the manifest, one sentence per file; empty for a folder that was not made by an export.

    Files of a push are ignored. If the folder is replaced meanwhile, it is checked again.
    """
    return steady(folder, lambda: list(_problems(folder, _text(folder))))


def _text(folder: Path) -> str | None:
    try:
        return (folder / NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _problems(folder: Path, manifest: str | None) -> Iterator[str]:
    if manifest is None:
        if (folder / _REPORT).is_file():
            yield f"{folder / NAME}: is missing or cannot be read, so the files of the export are not known"
        return
    files = entries(manifest)
    if files is None:
        yield f"{folder / NAME}: is damaged, so the files of the export are not known"
        return
    told = {one["path"]: (one["bytes"], one["sha256"]) for one in files}
    told |= {name: told[path] for path, name in copies(files).items()}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for path, (size, digest) in told.items():
        wrong = _wrong(folder, path, size, digest) if path in there else "is missing"
        if wrong:
            yield f"{folder / path}: {wrong}"
    for path in sorted(there - told.keys() - {NAME}):
        if not path.startswith(f"{DELIVERIES}/"):
            yield f"{folder / path}: is not in {NAME}, so it is not part of the export"


def _wrong(folder: Path, path: str, size: int, digest: str) -> str | None:
    try:
        now = _described(folder / path, folder)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if now["bytes"] != size:
        return f"has {now['bytes']:,} bytes, but {NAME} says {size:,}"
    return None if now["sha256"] == digest else f"has been changed: its sha256 is not the one in {NAME}"
