"""Files: of the program, of a person, compressed or not.

- With or without gzip compression, by the ending of the name (``.ttl.gz``).
- A small file that a person names: settings, a key, a list of users, a question. Reading never waits without end: a
  pipe, as of ``<(…)`` in a shell, is read until its writer closes it, if that takes no longer than :data:`PATIENCE`.
  Devices are refused, except ``/dev/null``, which is an empty file.
- The folders of shapes, ontology, questions and documents: beside the code in a checkout, inside the package in a
  wheel.
"""

from __future__ import annotations

import errno
import gzip
import os
import select
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePath
from typing import IO, Final, cast

from exporter.errors import UsageError, described

GZIP: Final = "gzip"
KINDS: Final = ("none", GZIP)
"""The values of ``--compress``."""
ENDING: Final = ".gz"
_LEVEL: Final = 6
BROKEN: Final = (gzip.BadGzipFile, EOFError, zlib.error)
"""The exceptions of Python if a file is not gzip, or is truncated or damaged."""


def syntax_of(path: PurePath) -> str:
    """The ending that gives the content of a file, without ``.gz``.

    >>> from pathlib import PurePath
    >>> syntax_of(PurePath("part-0.ttl")), syntax_of(PurePath("part-0.ttl.gz"))
    ('.ttl', '.ttl')
    """
    return (path.with_suffix("") if path.suffix == ENDING else path).suffix


def everything_in(folder: Path, *, with_hidden: bool = True) -> Iterator[Path]:
    """All files and folders in a folder, at any depth; links are listed, and not followed. ``with_hidden``: also those
    whose names begin with a dot or ``_``, and what is in them. Raises UsageError for a folder that may not be read:
    what is in it would be left out without a word.
    """
    for parent, folders, names in os.walk(folder, onerror=refuse_unreadable):
        if not with_hidden:
            folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        yield from (Path(parent, name) for name in (*folders, *names) if with_hidden or not name.startswith(HIDDEN))


HIDDEN: Final = (".", "_")
"""How names of files begin that people do not mean, such as markers."""


def refuse_unreadable(error: OSError) -> None:
    """For the walk through a folder: raises UsageError if a folder in it may not be read. One that is gone is none."""
    if error.errno == errno.ELOOP:
        raise UsageError(f"{error.filename}: is a link that leads to itself")
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise UsageError(
            f"{error.filename}: cannot be read: {error.strerror}; what is in it would be missing without a word. Let "
            "its owner give the right to read it, or move it elsewhere"
        )


def find_files(folder: Path, ending: str) -> list[Path]:
    """The files with an ending (``.ttl``) in a folder and its subfolders, compressed or not, sorted. Raises UsageError
    for a pipe or a device, since reading it might never end, and for a link to nothing.
    """
    paths = sorted(path for path in everything_in(folder) if path.name.endswith((ending, f"{ending}{ENDING}")))
    for path in paths:
        if not path.is_file() and not path.is_dir():
            what = "a pipe or a device" if path.exists() else "a link to nothing"
            raise UsageError(f"{path}: is {what}, but all of {folder} is read; move it to another folder")
    return paths


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file. Raises OSError if it cannot be read. Reading a damaged file raises OSError or one of
    :data:`BROKEN`.
    """
    if path.suffix != ENDING:
        with path.open("rb") as file:
            yield file
        return
    with gzip.open(path) as unpacked:
        yield cast("IO[bytes]", unpacked)


@contextmanager
def created(path: Path) -> Iterator[IO[bytes]]:
    """A new file, compressed if its name ends in ``.gz``. The same content always gives the same bytes."""
    with path.open("wb") as file:
        if path.suffix != ENDING:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def text(path: Path) -> str:
    """The whole text of a file. Raises UsageError if it is damaged."""
    try:
        with opened(path) as file:
            return file.read().decode("utf-8")
    except BROKEN as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None


def path_of(name: str, given: object) -> str:
    """A path that a script gave, as text. Raises UsageError for what is no path; its message begins with ``name``."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise UsageError(f"{name} must be a path, but is {described(given)}")
    if not path:
        raise UsageError(f"{name}: is empty; give a path")
    check_path(name, path)
    return path


def check_path(name: str, path: str) -> None:
    """Raises UsageError for a path that no file can have: with the character NUL, or too long for the system."""
    try:
        os.stat(path)  # noqa: PTH116 - Path hides some of these errors
    except ValueError:
        raise UsageError(f"{name}: {path!r} has a character that no path can have") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"{name}: {path[:60]}… is too long for a path of this system") from None


def without_links(path: Path) -> Path:
    """The path that links lead to. Raises UsageError for a link that leads to itself."""
    try:
        return path.resolve()
    except RuntimeError:
        raise UsageError(f"{path}: is a link that leads to itself") from None


PATIENCE: Final = 10.0
"""Seconds to wait for all that a pipe gives."""
_AT_ONCE: Final = 1 << 16


def read(path: Path | str, most: int) -> bytes:
    """The first ``most`` bytes of a file. Raises OSError, whose ``strerror`` is for the user, if it cannot be read, is
    a folder or a device, or is a pipe that nobody writes or closes in time.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        return b"".join(_parts(file, os.fstat(file), most))
    finally:
        os.close(file)


def _parts(file: int, about: os.stat_result, most: int) -> list[bytes]:
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    null = os.stat(os.devnull).st_rdev  # noqa: PTH116 - devnull is a text
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISFIFO(about.st_mode) and about.st_rdev != null:
        raise OSError(errno.EINVAL, "it is a device or a socket, not a file")
    is_pipe, until = stat.S_ISFIFO(about.st_mode), time.monotonic() + PATIENCE
    parts, left = list[bytes](), most
    while left > 0:
        if is_pipe and not select.select([file], [], [], max(0.0, until - time.monotonic()))[0]:
            raise OSError(errno.ETIMEDOUT, f"it is a pipe, which nobody wrote and closed within {PATIENCE:.0f} seconds")
        part = os.read(file, min(left, _AT_ONCE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return parts


_PACKAGE: Final = Path(__file__).resolve().parents[1]


def shapes_dir() -> Path:
    """The folder of the SHACL shapes, ``*.ttl``."""
    return _folder("shapes", in_checkout="shapes")


def ontology_dir() -> Path:
    """The folder of the ontology, its context and its alignments."""
    return _folder("ontology", in_checkout="ontology")


def queries_dir() -> Path:
    """The folder of the shipped questions, ``*.rq``."""
    return _folder("queries", in_checkout="examples/queries")


def docs_dir() -> Path:
    """The folder of the documents that say what the graph means; a wheel has these alone."""
    return _folder("docs", in_checkout="docs")


@cache
def _folder(name: str, *, in_checkout: str) -> Path:
    packaged = _PACKAGE / "data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / in_checkout
