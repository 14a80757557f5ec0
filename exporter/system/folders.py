"""Folders: exchanged in one step, and locked for one run at a time.

A folder that may be replaced while it is read is always complete. The lock of a DIR is a file beside it, locked by the
system (flock(2)). It ends with the process, however it ends: a file left by a dead process does not block other runs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from exporter.errors import UsageError
from exporter.system import private

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


MARK: Final = ".exporter-work"
"""The file in a work folder by which the run after a killed one knows it. A name alone may be of a user's folder."""


def work_mark(name: str) -> str:
    """The content of the mark in the work folder ``name``."""
    return f"{name} is a work folder of exporter export, which removes it.\n"


def former_mark(name: str) -> str:
    """The content of the mark in a DIR that becomes the folder ``name``, because a new DIR replaces it."""
    return f"{name} was a DIR of exporter export, which removes it.\n"


def set_mark(folder: Path, content: str) -> None:
    """Mark a folder. Raises FileExistsError where a file of somebody else has the name of the mark."""
    with open(folder / MARK, "x", encoding="utf-8", opener=private.opened) as file:
        file.write(content)


def mark_of(folder: Path) -> str | None:
    """The content of a folder's mark; None if it has none."""
    try:
        file = private.plain(folder / MARK, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _content(file)
    finally:
        os.close(file)


def mend(place: Path) -> None:
    """Restore a folder that :func:`put` had renamed when its process was killed, and remove the mark from a DIR that
    was not moved any more.
    """
    for left in left_behind(place):
        if left.name.endswith(_ASIDE) and is_own(left) and not os.path.lexists(place):
            left.rename(place)
    text = mark_of(place)
    match = _name_of_work(place).match(text or "")
    if text is not None and (not text or (match and text in {work_mark(match[0]), former_mark(match[0])})):
        (place / MARK).unlink()


def is_former(left: Path) -> bool:
    """Whether a folder was a DIR that a new one has replaced, so that there may be files of the user in it."""
    return mark_of(left) == former_mark(left.name.removesuffix(_ASIDE))


def is_own(left: Path) -> bool:
    """Whether what has the name of a work folder is one: it has the mark, or its run was killed before it wrote it, so
    that it is empty.
    """
    if left.is_symlink() or not left.is_dir() or not os.access(left, os.R_OK | os.X_OK):
        return False
    name, text = left.name.removesuffix(_ASIDE), mark_of(left)
    return text in {work_mark(name), former_mark(name)} or (
        not text and {path.name for path in left.iterdir()} <= {MARK}
    )


def not_own(shown: str, left: str) -> str:
    """The message about something that has the name of a work folder and no mark of one."""
    return (
        f"{shown}: {left} stays: its name is that of a work folder of a killed export, but nothing in it says that an "
        "export made it; if it is not yours, a former version left it: remove it"
    )


def left_behind(place: Path) -> Iterator[Path]:
    """What has the name of a work folder beside ``place`` (``.NAME.`` and twelve digits). For the process that holds
    the lock, those with a mark (:func:`is_own`) are the folders of dead runs.
    """
    for path in sorted(place.parent.iterdir()) if place.parent.is_dir() else ():
        if _name_of_work(place).fullmatch(path.name.removesuffix(_ASIDE)):
            yield path


def _name_of_work(place: Path) -> re.Pattern[str]:
    """Matches the names of the work folders beside ``place``."""
    return re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{12}}")


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
        stat_result = place.stat()
    except OSError:
        return None
    return stat_result.st_dev, stat_result.st_ino


def _exchanged(path: Path, other: Path) -> bool:
    """Whether the system has exchanged the two, by renameat2(2), which Python's library does not offer."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(path), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number), str(path), None, str(other))


_LONGEST: Final = 500
"""Most bytes that are read from the lock file of another run."""


@contextmanager
def held(path: Path, shown: str) -> Iterator[None]:
    """Hold the lock at ``path``. ``shown``: the DIR, for messages.

    Raises UsageError if another run holds it, or if the folder of ``path`` cannot be written.
    """
    try:
        file = _taken(path, shown)
    except OSError as error:
        raise UsageError(
            f"{shown}: cannot be written: {_reason_unwritable(path.parent, error)}; nothing was changed"
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):
            if _is_at(path, file):
                path.unlink()  # before the lock is released, so that the next run makes a new file
        os.close(file)


def _reason_unwritable(folder: Path, error: OSError) -> str:
    """Why nothing can be written in a folder, found from the nearest parent folder that exists."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        return f"{there} is not a folder"
    return f"nothing can be created in {there}" if error.errno == errno.ENOENT else f"{there}: {error.strerror}"


def busy(shown: str, who: str) -> UsageError:
    """The error for a second run. ``who``: the content of the first run's lock file; empty if not yet written."""
    named = f" ({who})" if who else ""
    return UsageError(f"{shown}: another run is writing it{named}; wait until it has ended. Nothing was changed")


def _taken(path: Path, shown: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            file = private.plain(path, os.O_RDWR | os.O_CREAT)
        except private.NotPlainError as error:
            raise no_lock(path, shown, error.strerror) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = _content(file)
            os.close(file)
            raise busy(shown, who if _of_run(who) else "") from None
        except OSError:
            os.close(file)
            raise
        if _is_at(path, file):
            content = _content(file)
            if content and not _of_run(content):
                os.close(file)
                raise no_lock(path, shown, "has a content that no export wrote")
            with suppress(PermissionError):
                os.fchmod(file, private.FILE)
            with suppress(OSError):  # if the disk is full, the lock is held nevertheless
                os.truncate(file, 0)
                os.write(file, own().encode())
            return file
        os.close(file)  # the run that held the lock has removed the file since it was opened


def _content(file: int) -> str:
    return os.pread(file, _LONGEST, 0).decode(errors="replace")


def no_lock(path: Path | str, shown: str, fault: str | None) -> UsageError:
    """The error where something else is at the path of a lock; ``fault``: what."""
    return UsageError(
        f"{path}: {fault}, and the lock of {shown} has to be there; move it elsewhere, or give another folder. Nothing "
        "was changed"
    )


_of_run: Final = re.compile(r"process \d+ on .* since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC").fullmatch
"""Matches the content of a lock file, as :func:`own` gives it."""


def own() -> str:
    """The description of this run for others: process, machine, time."""
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False
