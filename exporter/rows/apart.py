"""Input and DIR are apart: what an export wrote to DIR is never read as rows.

Files of DIR in a folder or glob that also has the input are left out. An input that is in DIR is refused, because DIR
is replaced as a whole. Files of this machine are compared by the identity of their folders, so links, ``..`` and letter
case make no difference. URIs are compared as texts.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError
from exporter.rows.paths import is_remote, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_S3: Final = re.compile(r"^s3[an]?://", re.IGNORECASE)
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/+(.*)", re.DOTALL)


class Apart:
    """The DIR of an export: ``out`` is its path or URI, ``paths`` lists the files in it."""

    def __init__(self, out: str, paths: Callable[[], Iterable[str]]) -> None:
        self.out, self._paths, self._is_remote = out, paths, is_remote(out)
        self._here = None if self._is_remote else _identity(local(out))
        self._known: dict[str, bool] = {}

    def holds(self, path: str) -> bool:
        """Whether a file of this machine is in DIR, or is DIR."""
        if self._here is None:
            return False
        real = os.path.realpath(path)
        above = os.path.dirname(real)  # noqa: PTH120 - called for each file
        if above not in self._known:
            folders = (Path(above), *Path(above).parents)
            self._known[above] = any(_identity(str(one)) == self._here for one in folders)
        return self._known[above] or _identity(real) == self._here

    def check(self, name: str) -> None:
        """Raise UsageError if the name of an input (a file, folder, glob or URI) is in DIR, or if a remote one also
        means files of DIR.
        """
        if is_remote(name):
            if self._is_remote:
                self._check_remote(name)
        elif self.holds(_before_magic(local(name))):
            raise self.refused(name)

    def refused(self, name: str) -> UsageError:
        """The error for an input that is in DIR."""
        return UsageError(
            f"{name}: is in {self.out}, the folder of the output, which is replaced as a whole; move the rows to "
            "another folder, or give another --out. Nothing was changed"
        )

    def _check_remote(self, name: str) -> None:
        own, parts = _parts(self.out), _parts(name)
        plain = _parts(_before_magic(name))
        if plain[: len(own)] == own:
            raise self.refused(name)
        is_above = len(parts) <= len(own) and all(map(fnmatchcase, own, parts))
        deeper = parts[len(own) :]
        is_among = len(parts) > len(own) and all(map(fnmatchcase, own, parts))
        if is_above or (is_among and any(_fits(path, deeper) for path in self._paths())):
            raise UsageError(
                f"{name}: also means files in {self.out}, the folder of the output, which are not rows; give the "
                "folder of the rows, or another --out. Nothing was changed"
            )


def _fits(path: str, pattern: list[str]) -> bool:
    """Whether a path, or a folder above it, fits a pattern, part by part."""
    parts = path.split("/")
    return len(parts) >= len(pattern) and all(map(fnmatchcase, parts, pattern))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        about = os.stat(path)  # noqa: PTH116 - called for each file
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


def _before_magic(name: str) -> str:
    """The folder before the first part of a glob that is a pattern; the whole name if none is."""
    if Path(name).exists():
        return name
    parts = name.split("/")
    plain = next((number for number, part in enumerate(parts) if glob.has_magic(part) or "{" in part), None)
    return name if plain is None else "/".join(parts[:plain]) or ("/" if name.startswith("/") else ".")


def _parts(uri: str) -> list[str]:
    """A URI in one spelling: scheme and machine in lower case, without ``..`` and repeated slashes, in parts."""
    found = _URI.fullmatch(_S3.sub("s3://", uri))
    assert found is not None, "checked by is_remote"
    host, _, path = found[2].partition("/")
    return [found[1].lower(), host.lower(), *[part for part in posixpath.normpath(f"/{path}").split("/") if part]]
