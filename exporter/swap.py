"""A folder is put in the place of another: the place always holds one of them whole, and is read so."""

from __future__ import annotations

import ctypes
import errno
import os
import re
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_T = TypeVar("_T")
_HERE: Final = -100
"""AT_FDCWD: a path that is not absolute begins at the working folder."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of renameat2(2)."""
_UNKNOWN: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
"""What a file system answers that cannot exchange."""
_ASIDE: Final = ".old"


def put(new: Path, place: Path) -> None:
    """Put the folder ``new`` at ``place``; what was there is at ``new`` afterwards.

    Linux exchanges the two in one step. Where the system cannot, the old one goes aside first: a process that is killed
    at that moment leaves the place empty, and :func:`mend` puts the old one back.
    """
    if not os.path.lexists(place):
        new.rename(place)
    elif not _exchanged(new, place):
        aside = new.with_name(new.name + _ASIDE)
        place.rename(aside)
        new.rename(place)
        aside.rename(new)


def mend(place: Path) -> None:
    """Put back a folder that :func:`put` had moved aside when its process was killed."""
    for left in left_behind(place):
        if left.name.endswith(_ASIDE) and not os.path.lexists(place):
            left.rename(place)


def left_behind(place: Path) -> Iterator[Path]:
    """The folders beside ``place`` that runs work in, ``.NAME.`` and twelve digits; those of dead runs, for who has the
    lock.
    """
    own = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{12}}({re.escape(_ASIDE)})?")
    for path in sorted(place.parent.iterdir()) if place.parent.is_dir() else ():
        if own.fullmatch(path.name):
            yield path


def steady(place: Path, read: Callable[[], _T]) -> _T:
    """What ``read`` makes of the files of a folder; made again where another folder took its place meanwhile, for some
    of the files would be of the one and some of the other.
    """
    while True:
        before = _identity(place)
        try:
            made = read()
        except (OSError, UsageError):
            if _identity(place) == before:
                raise
        else:
            if _identity(place) == before:
                return made


def _identity(place: Path) -> tuple[int, int] | None:
    try:
        told = place.stat()
    except OSError:
        return None
    return told.st_dev, told.st_ino


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system has exchanged the two; Python has no call of its own for that."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
