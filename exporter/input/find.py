"""Finds the input: the files and tables that the user's names, folders and globs mean, and which view each contains.

A view given in place of another would make an empty export, so it is detected from the columns.

Input and DIR are apart: what an export wrote to DIR is never read as rows. Files of DIR in a folder or glob that also
has the input are left out. An input that is in DIR is refused, because DIR is replaced as a whole. Files of this
machine are compared by the identity of their folders, so links, ``..`` and letter case make no difference. URIs are
compared as texts.
"""

from __future__ import annotations

import difflib
import errno
import glob
import os
import posixpath
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeGuard

from exporter.errors import UsageError
from exporter.input import aggregates, formats
from exporter.input.formats import (
    CSV,
    ENDINGS,
    TABLE,
    InputFiles,
    form_by_name,
    input_file,
    is_remote,
    local,
    refuse_unread,
    refuse_without_ending,
    text_bytes,
)
from exporter.input.row import STRUCTURED
from exporter.system.files import everything_in, refuse_unreadable


def _local_files(name: str, skipped: list[str], output: OutputFolder | None) -> list[Path]:
    """The local files that a name means. ``skipped``: the other files are appended to it. ``output``: DIR, whose files
    are left out. Raises UsageError if no file is found.
    """
    paths = _named(name, skipped, output)
    if output is None:
        return paths
    outside = [path for path in paths if not output.contains(str(path))]
    not_in_output = [path for path in skipped if not output.contains(path)]
    if len(outside) == len(paths) and len(not_in_output) == len(skipped):
        return paths
    skipped[:] = [*not_in_output, f"{output.out} (the folder of the output)"]
    if not outside:
        raise output.error_for(name)
    return outside


def _named(name: str, skipped: list[str], output: OutputFolder | None) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return _in_folder(path, skipped)
    if path.exists():
        if not path.is_file():
            raise UsageError(f"{name}: is a pipe or a device, not a file; write the rows to a file first")
        return [path]
    if path.is_symlink():
        raise UsageError(f"{name}: is a link to what does not exist, {path.readlink()}")
    matches = sorted(matching(name))
    # Folders of DIR may have no rows.
    in_dir = {match for match in matches if output is not None and output.contains(match)}
    if output is not None and in_dir and len(in_dir) == len(matches):
        raise output.error_for(name)
    skipped.extend(sorted(in_dir))
    paths = [Path(match) for match in matches if match not in in_dir]
    skipped.extend(str(path) for path in paths if not (path.is_dir() or path.is_file()))
    paths_found = [file for path in paths for file in (_in_folder(path, skipped) if path.is_dir() else [path])]
    regular = [file for file in paths_found if file.is_file()]
    if not regular:
        problem = "no file matches it" if glob.has_magic(name) else "there is no such file, folder or table"
        raise UsageError(f"{name}: {problem}{_nearest(path)}")
    return regular


def _nearest(path: Path) -> str:
    """The most similar name in the same folder, as the end of a message; empty if none is similar."""
    names = [sibling.name for sibling in path.parent.iterdir()] if path.parent.is_dir() else []
    similar = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(similar[0])}?" if similar else ""


def matching(pattern: str) -> list[str]:
    """The paths that a pattern matches, broken links included. ``**`` does not follow links, which can form a circle.
    ``*`` does not match hidden files and folders.
    """
    parts = Path(pattern).parts
    if "**" not in parts:
        _refuse_unread(parts)
        return glob.glob(pattern)  # noqa: PTH207 - a pattern may be absolute
    plain = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:plain])
    if root.is_dir():
        deque(everything_in(root, with_hidden=False), maxlen=0)
    matches = root.glob("/".join(parts[plain:])) if root.is_dir() else ()
    return [str(path) for path in matches if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def _refuse_unread(parts: Sequence[str]) -> None:
    """Raise UsageError if a folder that a pattern looks into may not be read: files in it would not be found."""
    begin = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    for number, part in enumerate(parts[begin:], begin):
        right = os.R_OK | os.X_OK if glob.has_magic(part) else os.X_OK
        for folder in glob.glob(str(Path(*parts[:number]))):  # noqa: PTH207 - a pattern may be absolute
            if Path(folder).is_dir() and not os.access(folder, right):
                refuse_unreadable(PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder))


def _in_folder(folder: Path, skipped: list[str]) -> list[Path]:
    """The files with rows in a folder, at any depth. Hidden files and markers (``_SUCCESS``) are ignored. Links to
    folders and links that lead out of the folder are skipped: a user who can only write into the folder must not be
    able to make the export read other files.
    """
    entries = sorted(everything_in(folder, with_hidden=False))
    candidates = [path for path in entries if path.is_symlink() or not path.is_dir()]
    rows = [path for path in candidates if form_by_name(path.name) and path.is_file() and not _leads_out(path, folder)]
    _refuse_tables(candidates)
    for path in candidates:
        if path.is_file() and not _leads_out(path, folder):
            refuse_unread(path)
            if form_by_name(path.name) is None:
                refuse_without_ending(path)
    rows_set = set(rows)
    skipped.extend(str(path) for path in candidates if path not in rows_set)
    if not rows:
        has_links = any(map(Path.is_symlink, candidates))
        links = "; it has links, which are not followed: give their targets" if has_links else ""
        raise UsageError(f"{folder}: the folder has no NDJSON, JSON, CSV or Parquet file{links}")
    return rows


def _leads_out(path: Path, folder: Path) -> bool:
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _refuse_tables(files: Iterable[Path]) -> None:
    """Raise UsageError if files are in the folder of a table: only the table's log says which of them have its rows."""
    for folder in sorted({parent for file in files for parent in file.absolute().parents}):
        kind = _kind_of_table(folder)
        if kind is not None:
            raise UsageError(
                f"{folder}: is a table of {kind}, in whose folder are also files of rows that were removed; read the "
                "table with Spark or DuckDB and write its rows as plain Parquet, or give the table's name with "
                "--engine spark"
            )


_is_of_iceberg: Final = re.compile(r"(v\d+|\d{5,}-[0-9a-f-]{36})(\.gz)?\.metadata\.json").fullmatch
"""The names of an Iceberg table's metadata: of a table in a file system, and in a catalog (Iceberg's specification)."""


def _kind_of_table(folder: Path) -> str | None:
    if (folder / "_delta_log").is_dir():
        return "Delta Lake"
    if (folder / ".hoodie").is_dir():
        return "Hudi"
    metadata = (folder / "metadata").glob("*.metadata.json")
    return "Iceberg" if any(_is_of_iceberg(file.name) for file in metadata) else None


_S3: Final = re.compile(r"^s3[an]?://", re.IGNORECASE)
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/+(.*)", re.DOTALL)


class OutputFolder:
    """The DIR of an export: ``out`` is its path or URI, ``paths`` lists the files in it."""

    def __init__(self, out: str, paths: Callable[[], Iterable[str]]) -> None:
        self.out, self._paths, self._is_remote = out, paths, is_remote(out)
        self._own_identity = None if self._is_remote else _identity(local(out))
        self._by_folder: dict[str, bool] = {}

    def contains(self, path: str) -> bool:
        """Whether a file of this machine is in DIR, or is DIR."""
        if self._own_identity is None:
            return False
        real = os.path.realpath(path)
        parent = os.path.dirname(real)  # noqa: PTH120 - called for each file
        if parent not in self._by_folder:
            folders = (Path(parent), *Path(parent).parents)
            self._by_folder[parent] = any(_identity(str(folder)) == self._own_identity for folder in folders)
        return self._by_folder[parent] or _identity(real) == self._own_identity

    def check(self, name: str) -> None:
        """Raise UsageError if the name of an input (a file, folder, glob or URI) is in DIR, or if a remote one also
        means files of DIR.
        """
        if is_remote(name):
            if self._is_remote:
                self._check_remote(name)
        elif self.contains(_before_magic(local(name))):
            raise self.error_for(name)

    def error_for(self, name: str) -> UsageError:
        """The error for an input that is in DIR."""
        return UsageError(
            f"{name}: is in {self.out}, the folder of the output, which is replaced as a whole; move the rows to "
            "another folder, or give another --out. Nothing was changed"
        )

    def _check_remote(self, name: str) -> None:
        own, parts = _parts(self.out), _parts(name)
        plain = _parts(_before_magic(name))
        if plain[: len(own)] == own:
            raise self.error_for(name)
        is_above = len(parts) <= len(own) and all(map(fnmatchcase, own, parts))
        deeper = parts[len(own) :]
        is_among = len(parts) > len(own) and all(map(fnmatchcase, own, parts))
        if is_above or (is_among and any(_matches(path, deeper) for path in self._paths())):
            raise UsageError(
                f"{name}: also means files in {self.out}, the folder of the output, which are not rows; give the "
                "folder of the rows, or another --out. Nothing was changed"
            )


def _matches(path: str, pattern: list[str]) -> bool:
    """Whether a path, or a folder above it, fits a pattern, part by part."""
    parts = path.split("/")
    return len(parts) >= len(pattern) and all(map(fnmatchcase, parts, pattern))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - called for each file
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _before_magic(name: str) -> str:
    """The folder before the first part of a glob that is a pattern; the whole name if none is."""
    if Path(name).exists():
        return name
    parts = name.split("/")
    plain = next((number for number, part in enumerate(parts) if glob.has_magic(part) or "{" in part), None)
    return name if plain is None else "/".join(parts[:plain]) or ("/" if name.startswith("/") else ".")


def _parts(uri: str) -> list[str]:
    """A URI in one spelling: scheme and machine in lower case, without ``..`` and repeated slashes, in parts."""
    match = _URI.fullmatch(_S3.sub("s3://", uri))
    assert match is not None, "checked by is_remote"
    host, _, path = match[2].partition("/")
    return [match[1].lower(), host.lower(), *[part for part in posixpath.normpath(f"/{path}").split("/") if part]]


ACCESS_HISTORY: Final = "ACCESS_HISTORY"
QUERY_HISTORY: Final = "QUERY_HISTORY"
AGGREGATE_ACCESS_HISTORY: Final = "AGGREGATE_ACCESS_HISTORY"
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    ACCESS_HISTORY: ("query_id", "query_start_time", "user_name"),
    QUERY_HISTORY: ("query_id",),
    AGGREGATE_ACCESS_HISTORY: aggregates.REQUIRED,
}
"""The columns that a table or the header of a file must have, by view."""
GIVEN: Final[Mapping[str, str]] = {
    ACCESS_HISTORY: "as INPUT",
    QUERY_HISTORY: "with --query-history",
    AGGREGATE_ACCESS_HISTORY: "with --aggregate",
}
"""How the rows of a view are given to ``exporter export``."""
OBJECTS: Final = frozenset(STRUCTURED) - {"object_modified_by_ddl", "agents_info"}
"""Columns that rows of accesses alone have."""
OF_HISTORY: Final = frozenset({"query_text", "execution_status", "total_elapsed_time"})
"""Columns that QUERY_HISTORY alone has."""
OF_INTERVALS: Final = frozenset({"interval_start_time", "interval_end_time"})
"""Columns that the aggregated views alone have."""


def check_names(names: Collection[str], where: str, view: str) -> None:
    """Raise UsageError if the columns are those of another view. ``names``: in lower case. ``where``: the file or
    table, for the message. ``view``: the one that it is given as.
    """
    text = _view_of(names)
    if text is None or text == view:
        return
    if text not in GIVEN:
        raise UsageError(
            f"{where}: these are rows of {text}, which do not say what was accessed; "
            f"give rows of {AGGREGATE_ACCESS_HISTORY} {GIVEN[AGGREGATE_ACCESS_HISTORY]}"
        )
    raise UsageError(f"{where}: these are rows of {text}, not of {view}; give them {GIVEN[text]}")


def _view_of(names: Collection[str]) -> str | None:
    """The view that has these columns; None where they do not say."""
    has_objects, has_id = not OBJECTS.isdisjoint(names), "query_id" in names
    if not OF_INTERVALS.isdisjoint(names):
        if has_id:  # rows of several views: the view of each row is found when it is read
            return None
        is_of_queries = not has_objects and "query_text" in names
        return "AGGREGATE_QUERY_HISTORY" if is_of_queries else AGGREGATE_ACCESS_HISTORY
    if has_objects:
        return ACCESS_HISTORY if has_id else None
    is_history = has_id and "query_start_time" not in names and not OF_HISTORY.isdisjoint(names)
    return QUERY_HISTORY if is_history else None


def check_files(sources: Iterable[InputFiles], view: str) -> None:
    """Raise UsageError if local JSON files are of another view than ``view``, by the keys in their first bytes."""
    for source in sources:
        if source.form in (formats.NDJSON, formats.JSON_DOCUMENT) and not formats.is_remote(source.paths[0]):
            for path in source.paths:
                keys = {key.lower() for key in formats.KEYS.findall(formats.first_text(Path(path)))}
                check_names(keys, path, view)


_TABLE_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")


@dataclass(frozen=True)
class Inputs:
    """The input that was found. ``sources``: what to read. ``skipped``: files that contain no rows. ``size``: estimated
    bytes of text, None if it is not known.
    """

    sources: tuple[InputFiles, ...]
    skipped: tuple[str, ...]
    size: int | None

    @property
    def first_paths(self) -> str:
        """The first three paths that were found, for a message."""
        paths = [path for source in self.sources for path in source.paths]
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


NOTHING: Final = Inputs((), (), 0)
SMALL: Final = 16 << 20
"""Bytes of an input whose texts are sorted for people, and for which one task of Spark is enough."""


def is_small(input_bytes: int | None) -> TypeGuard[int]:
    """Whether an input has fewer bytes than :data:`SMALL`. None means unknown and is not small."""
    return input_bytes is not None and input_bytes < SMALL


@dataclass(frozen=True)
class InputOfViews:
    """All input of an export: ``rows`` of ACCESS_HISTORY, ``history`` (QUERY_HISTORY) and ``aggregates``
    (AGGREGATE_ACCESS_HISTORY), the last two None if not given.
    """

    rows: Inputs
    history: Inputs | None = None
    aggregates: Inputs | None = None

    @property
    def views(self) -> dict[str, Inputs]:
        """The input by view."""
        by_view = {ACCESS_HISTORY: self.rows, QUERY_HISTORY: self.history, AGGREGATE_ACCESS_HISTORY: self.aggregates}
        return {view: inputs for view, inputs in by_view.items() if inputs is not None}

    @property
    def first_paths(self) -> str:
        """The first paths of the rows to export, for a message."""
        return ", ".join(
            inputs.first_paths for inputs in (self.rows, self.aggregates) if inputs is not None and inputs.sources
        )

    @property
    def skipped(self) -> tuple[str, ...]:
        """Files that contain no rows, each once: a folder may be given for several views."""
        return tuple(dict.fromkeys(path for inputs in self.views.values() for path in inputs.skipped))

    @property
    def size(self) -> int | None:
        """Estimated bytes of text in all; None if the size of one is not known."""
        sizes = [inputs.size for inputs in self.views.values()]
        known_sizes = [number for number in sizes if number is not None]
        return sum(known_sizes) if len(known_sizes) == len(sizes) else None

    @property
    def sources(self) -> tuple[InputFiles, ...]:
        """The sources of all views."""
        return tuple(source for view in self.views.values() for source in view.sources)


def find(names: Iterable[str], output: OutputFolder | None = None, view: str = ACCESS_HISTORY) -> Inputs:
    """Find what to read for the names of files, folders, globs and tables. A file that several of them mean, also by
    links, is read once.

    ``output``: DIR, whose files are left out; it is then listed as skipped. ``view``: the one whose rows they are; a
    CSV's header must name its first required column. Raises UsageError if an input does not exist, is in DIR, has no
    usable header, or has a form that cannot be read.
    """
    sources: list[InputFiles] = []
    skipped: list[str] = []
    seen = set[str]()
    size: int | None = 0
    for name in names:
        if output is not None:
            output.check(name)
        if is_remote(name):
            sources.append(_remote(name))
            size = None
            continue
        if not Path(local(name)).exists() and _may_be_table(name) and not matching(name):
            sources.append(InputFiles(TABLE, (name,)))
            size = None
            continue
        paths = _local_files(local(name), skipped, output)
        _refuse_tables(paths)
        for path in paths:
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            sources.append(input_file(path, REQUIRED[view][0]))
            size = None if size is None else size + text_bytes(path.name, path.stat().st_size)
    if not sources:
        raise UsageError("no input was given: give a file, a folder, a glob or a table")
    distinct = {os.path.realpath(path): path for path in reversed(skipped)}
    return Inputs(_merged(sources), tuple(reversed(distinct.values())), size)


def _may_be_table(name: str) -> bool:
    """Whether it can name a table. A name with the ending of a file is a file, even if that file does not exist."""
    return bool(_TABLE_NAME.fullmatch(name)) and form_by_name(name) is None and not name.lower().endswith(".gz")


def _remote(name: str) -> InputFiles:
    form = form_by_name(name)
    if form is None:
        endings = ", ".join(sorted(ENDINGS))
        raise UsageError(f"{name}: the name of a remote input must end in one of {endings} (.gz may follow)")
    if form == CSV:
        raise UsageError(f"{name}: CSV is read from local files only; unload as JSON or Parquet, or copy it here first")
    return InputFiles(form, (name,))


def _merged(sources: list[InputFiles]) -> tuple[InputFiles, ...]:
    """Sources of equal form merged into one, so that there is one reader for each form, not for each file. Each table
    has its own columns, and is a source of its own.
    """
    groups: dict[InputFiles, list[str]] = {}
    for source in sources:
        like = source if source.form == TABLE else replace(source, paths=())
        groups.setdefault(like, []).extend(source.paths)
    return tuple(replace(like, paths=tuple(dict.fromkeys(paths))) for like, paths in groups.items())
