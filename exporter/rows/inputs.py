"""Find the input: the files and tables that the user's names, folders and globs mean."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.rows import listing
from exporter.rows.forms import CSV, ENDINGS, TABLE, Source, form_by_name, source_of, text_bytes
from exporter.rows.paths import is_remote, local
from exporter.rows.views import ACCESS_HISTORY, AGGREGATE_ACCESS_HISTORY, QUERY_HISTORY, REQUIRED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.rows.apart import Apart

_TABLE_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")


@dataclass(frozen=True)
class Inputs:
    """The input that was found. ``sources``: what to read. ``skipped``: files that contain no rows. ``size``: estimated
    bytes of text, None if it is not known.
    """

    sources: tuple[Source, ...]
    skipped: tuple[str, ...]
    size: int | None

    @property
    def named(self) -> str:
        """The first three paths that were found, for a message."""
        paths = [path for one in self.sources for path in one.paths]
        return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


NOTHING: Final = Inputs((), (), 0)


@dataclass(frozen=True)
class Came:
    """All input of an export: ``rows`` of ACCESS_HISTORY, ``history`` (QUERY_HISTORY) and ``aggregates``
    (AGGREGATE_ACCESS_HISTORY), the last two None if not given.
    """

    rows: Inputs
    history: Inputs | None = None
    aggregates: Inputs | None = None

    @property
    def views(self) -> dict[str, Inputs]:
        """The input by view."""
        found = {ACCESS_HISTORY: self.rows, QUERY_HISTORY: self.history, AGGREGATE_ACCESS_HISTORY: self.aggregates}
        return {view: one for view, one in found.items() if one is not None}

    @property
    def named(self) -> str:
        """The first paths of what rows are exported from, for a message."""
        return ", ".join(one.named for one in (self.rows, self.aggregates) if one is not None and one.sources)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Files that contain no rows."""
        return self.rows.skipped + (self.aggregates.skipped if self.aggregates else ())

    @property
    def size(self) -> int | None:
        """Estimated bytes of text in all; None if the size of one is not known."""
        return size(*self.views.values())

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of all views."""
        return tuple(source for one in self.views.values() for source in one.sources)


def size(*found: Inputs | None) -> int | None:
    """Estimated bytes of text in all inputs. An input that is None counts as 0. None if the size of one is unknown."""
    sizes = [one.size for one in found if one is not None]
    known = [one for one in sizes if one is not None]
    return sum(known) if len(known) == len(sizes) else None


def find(names: Iterable[str], apart: Apart | None = None, view: str = ACCESS_HISTORY) -> Inputs:
    """Find what to read for the names of files, folders, globs and tables. A file that several of them mean, also by
    links, is read once.

    ``apart``: DIR, whose files are left out; it is then listed as skipped. ``view``: the one whose rows they are; a
    CSV's header must name its first required column. Raises UsageError if an input does not exist, is in DIR, has no
    usable header, or has a form that cannot be read.
    """
    sources: list[Source] = []
    skipped: list[str] = []
    taken = set[str]()
    size: int | None = 0
    for name in names:
        if apart is not None:
            apart.check(name)
        if is_remote(name):
            sources.append(_remote(name))
            size = None
            continue
        if not Path(local(name)).exists() and _may_be_table(name) and not listing.matching(name):
            sources.append(Source(TABLE, (name,)))
            size = None
            continue
        found = listing.files(local(name), skipped, lambda path: form_by_name(path.name) is not None, apart)
        for path in found:
            real = os.path.realpath(path)
            if real in taken:
                continue
            taken.add(real)
            sources.append(source_of(path, REQUIRED[view][0]))
            size = None if size is None else size + text_bytes(path.name, path.stat().st_size)
    if not sources:
        raise UsageError("no input was given: give a file, a folder, a glob or a table")
    once = {os.path.realpath(path): path for path in reversed(skipped)}
    return Inputs(_merged(sources), tuple(reversed(once.values())), size)


def _may_be_table(name: str) -> bool:
    """Whether it can name a table. A name with the ending of a file is a file, even if that file does not exist."""
    return bool(_TABLE_NAME.fullmatch(name)) and form_by_name(name) is None and not name.lower().endswith(".gz")


def _remote(name: str) -> Source:
    form = form_by_name(name)
    if form is None:
        endings = ", ".join(sorted(ENDINGS))
        raise UsageError(f"{name}: the name of a remote input must end in one of {endings} (.gz may follow)")
    if form == CSV:
        raise UsageError(f"{name}: CSV is read from local files only; unload as JSON or Parquet, or copy it here first")
    return Source(form, (name,))


def _merged(sources: list[Source]) -> tuple[Source, ...]:
    """Sources of equal form merged into one, so that there is one reader for each form, not for each file."""
    groups: dict[Source, list[str]] = {}
    for source in sources:
        groups.setdefault(replace(source, paths=()), []).extend(source.paths)
    return tuple(replace(like, paths=tuple(dict.fromkeys(paths))) for like, paths in groups.items())
