"""New files beside old ones in one folder, where no file system can put a whole folder in the place of another.

The manifest says which files count. So nothing that the old manifest lists is touched before the new one has replaced
it, in one step: whoever reads by the manifest has the old output or the new one, whole, at every moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.manifest import DELIVERIES, NAME, copies

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]


def placed(new: Iterable[Json], old: Iterable[Json], mark: str) -> list[Json]:
    """The entries of new files by the paths that they get; one whose path is another file's gets the mark in its name.

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


def stale(there: Iterable[str], files: Iterable[Json]) -> list[str]:
    """The paths of what is in the folder and does not count: what a push left does."""
    files = list(files)
    counts = {one["path"] for one in files} | set(copies(files).values()) | {NAME}
    return sorted(path for path in there if path not in counts and not path.startswith(f"{DELIVERIES}/"))
