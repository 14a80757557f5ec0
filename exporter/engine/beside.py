"""Publish new files beside old ones in one folder, for file systems that cannot replace a folder in one step.

The manifest lists the current files. No file in the old manifest is changed before the new manifest has replaced it in
one step. So a reader that follows the manifest always finds the complete old or the complete new output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.manifest import NAME, copies

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]


def placed(new: Iterable[Json], old: Iterable[Json], mark: str) -> list[Json]:
    """The entries of new files with their paths. If an old file with other content has the path, the mark is added.

    >>> placed([{"path": "a/b.nt.gz", "sha256": "1"}], [{"path": "a/b.nt.gz", "sha256": "2"}], "0123456789ab")
    [{'path': 'a/b-0123456789ab.nt.gz', 'sha256': '1'}]
    """
    taken = {one["path"]: one["sha256"] for one in old}
    return [
        {**one, "path": one["path"] if taken.get(one["path"], one["sha256"]) == one["sha256"] else _marked(one, mark)}
        for one in new
    ]


def _marked(one: Json, mark: str) -> str:
    folder, slash, name = one["path"].rpartition("/")
    stem, dot, endings = name.partition(".")
    return f"{folder}{slash}{stem}-{mark}{dot}{endings}"


def stale(there: Iterable[str], old: Iterable[Json], files: Iterable[Json]) -> list[str]:
    """The paths in the folder (``there``) of files that were of an export (``old``) and are not of the current one. All
    others are of a push or of somebody else, and stay.
    """
    return sorted(paths(old) & set(there) - paths(files) - {NAME})


def paths(files: Iterable[Json]) -> set[str]:
    """The paths of an export's files, with those of the copies that people and scripts look for by name."""
    files = list(files)
    return {one["path"] for one in files} | set(copies(files).values())
