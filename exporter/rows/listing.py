"""Which files a name stands for: itself, those of a folder, those that match a pattern."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    IsRows = Callable[[Path], bool]


def files(name: str, skipped: list[str], is_rows: IsRows) -> list[Path]:
    """The files of this machine that a name stands for. ``is_rows``: whether the rows of a folder can be in a file, by
    its name; ``skipped``: gets what they are not in. Raises UsageError where there are none.
    """
    path = Path(name)
    if path.is_dir():
        return _in_folder(path, skipped, is_rows)
    if path.exists():
        if not path.is_file():
            raise UsageError(f"{name}: is no file but a pipe or a device; write the rows to a file first")
        return [path]
    found = [Path(one) for one in sorted(matching(name))]
    skipped.extend(str(one) for one in found if not (one.is_dir() or one.is_file()))
    every = [file for one in found for file in (_in_folder(one, skipped, is_rows) if one.is_dir() else [one])]
    there = [file for file in every if file.is_file()]
    if not there:
        what = "no file matches it" if glob.has_magic(name) else "there is no such file, folder or table"
        raise UsageError(f"{name}: {what}{_nearest(path)}")
    return there


def _nearest(path: Path) -> str:
    """The name beside a path that is most like it, as a question."""
    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def matching(pattern: str) -> list[str]:
    """What a pattern matches, links that lead nowhere too. ``**`` does not go through links, which can lead in circles;
    hidden files and folders match no ``*``.
    """
    parts = Path(pattern).parts
    if "**" not in parts:
        return glob.glob(pattern)  # noqa: PTH207 - a pattern that a person gives may be absolute
    plain = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:plain])
    found = root.glob("/".join(parts[plain:])) if root.is_dir() else ()
    return [str(path) for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def _in_folder(folder: Path, skipped: list[str], is_rows: IsRows) -> list[Path]:
    """The files with rows in a folder, at any depth; hidden ones and markers (``_SUCCESS``) do not count at all. Links
    to folders are skipped, and so are links that lead out of the folder: who may write into it shall not choose what is
    read elsewhere.
    """
    every = sorted(path for path in folder.rglob("*") if not _is_hidden(path, folder))
    there = [path for path in every if path.is_symlink() or not path.is_dir()]
    rows = [path for path in there if is_rows(path) and path.is_file() and not _leads_out(path, folder)]
    taken = set(rows)
    skipped.extend(str(path) for path in there if path not in taken)
    if not rows:
        links = ", but for links: name what they lead to" if any(path.is_symlink() for path in there) else ""
        raise UsageError(f"{folder}: the folder holds no NDJSON, JSON, CSV or Parquet file{links}")
    return rows


def _leads_out(path: Path, folder: Path) -> bool:
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
