"""The files that an input name means: one file, the files in a folder, or the files that match a pattern."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.rows.apart import Apart

    IsRows = Callable[[Path], bool]


def files(name: str, skipped: list[str], is_rows: IsRows, apart: Apart | None = None) -> list[Path]:
    """The local files that a name means. ``is_rows``: whether a file in a folder can contain rows, by its name.
    ``skipped``: the other files are appended to it. ``apart``: DIR, whose files are left out. Raises UsageError if no
    file is found.
    """
    every = _files(name, skipped, is_rows, apart)
    if apart is None:
        return every
    stay = [path for path in every if not apart.holds(str(path))]
    others = [path for path in skipped if not apart.holds(path)]
    if len(stay) == len(every) and len(others) == len(skipped):
        return every
    skipped[:] = [*others, f"{apart.out} (the folder of the output)"]
    if not stay:
        raise apart.refused(name)
    return stay


def _files(name: str, skipped: list[str], is_rows: IsRows, apart: Apart | None) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return _in_folder(path, skipped, is_rows)
    if path.exists():
        if not path.is_file():
            raise UsageError(f"{name}: is a pipe or a device, not a file; write the rows to a file first")
        return [path]
    matches = sorted(matching(name))
    in_dir = {one for one in matches if apart is not None and apart.holds(one)}  # folders of DIR may have no rows
    if apart is not None and in_dir and len(in_dir) == len(matches):
        raise apart.refused(name)
    skipped.extend(sorted(in_dir))
    found = [Path(one) for one in matches if one not in in_dir]
    skipped.extend(str(one) for one in found if not (one.is_dir() or one.is_file()))
    every = [file for one in found for file in (_in_folder(one, skipped, is_rows) if one.is_dir() else [one])]
    there = [file for file in every if file.is_file()]
    if not there:
        what = "no file matches it" if glob.has_magic(name) else "there is no such file, folder or table"
        raise UsageError(f"{name}: {what}{_nearest(path)}")
    return there


def _nearest(path: Path) -> str:
    """The most similar name in the same folder, as the end of a message; empty if none is similar."""
    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def matching(pattern: str) -> list[str]:
    """The paths that a pattern matches, broken links included. ``**`` does not follow links, which can form a circle.
    ``*`` does not match hidden files and folders.
    """
    parts = Path(pattern).parts
    if "**" not in parts:
        return glob.glob(pattern)  # noqa: PTH207 - a pattern may be absolute
    plain = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:plain])
    found = root.glob("/".join(parts[plain:])) if root.is_dir() else ()
    return [str(path) for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def _in_folder(folder: Path, skipped: list[str], is_rows: IsRows) -> list[Path]:
    """The files with rows in a folder, at any depth. Hidden files and markers (``_SUCCESS``) are ignored. Links to
    folders and links that lead out of the folder are skipped: a user who can only write into the folder must not be
    able to make the export read other files.
    """
    every = sorted(path for path in folder.rglob("*") if not _is_hidden(path, folder))
    there = [path for path in every if path.is_symlink() or not path.is_dir()]
    rows = [path for path in there if is_rows(path) and path.is_file() and not _leads_out(path, folder)]
    taken = set(rows)
    skipped.extend(str(path) for path in there if path not in taken)
    if not rows:
        links = "; it has links, which are not followed: give their targets" if any(map(Path.is_symlink, there)) else ""
        raise UsageError(f"{folder}: the folder has no NDJSON, JSON, CSV or Parquet file{links}")
    return rows


def _leads_out(path: Path, folder: Path) -> bool:
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
