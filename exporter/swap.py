"""Replace a folder by another one, and read a folder that may be replaced meanwhile: it is always complete."""

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
"""AT_FDCWD: relative paths start at the working folder."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of renameat2(2)."""
_UNKNOWN: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)
"""The errors of a file system that cannot exchange folders."""
_ASIDE: Final = ".old"


def put(new: Path, place: Path) -> None:
    """Move the folder ``new`` to ``place``. A folder that was there is at ``new`` afterwards.

    Linux exchanges the two in one step. If the system cannot, the old folder is renamed first. A process that is killed
    at that moment leaves ``place`` empty, and :func:`mend` restores the old folder.
    """
    if not os.path.lexists(place):
        new.rename(place)
    elif not _exchanged(new, place):
        aside = new.with_name(new.name + _ASIDE)
        place.rename(aside)
        new.rename(place)
        aside.rename(new)


def mend(place: Path) -> None:
    """Restore a folder that :func:`put` had renamed when its process was killed."""
    for left in left_behind(place):
        if left.name.endswith(_ASIDE) and not os.path.lexists(place):
            left.rename(place)


def left_behind(place: Path) -> Iterator[Path]:
    """The work folders beside ``place`` (``.NAME.`` and twelve digits). For the process that holds the lock, these are
    the folders of dead runs.
    """
    own = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{12}}({re.escape(_ASIDE)})?")
    for path in sorted(place.parent.iterdir()) if place.parent.is_dir() else ():
        if own.fullmatch(path.name):
            yield path


def steady(place: Path, read: Callable[[], _T]) -> _T:
    """The result of ``read`` on the files of a folder. If the folder is replaced meanwhile, ``read`` runs again,
    because it may have read files of both folders.
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
    """Whether the system has exchanged the two, by renameat2(2), which Python's library does not offer."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
