"""The folder of stores on disk beside a DIR, with locks that mark the stores that are open.

The stores of DIR are in ``.DIR.store/``, each in a folder named by the checksum of its export
(:mod:`exporter.graph.ask.disk` makes them). The file ``SUM.use`` of a store is locked by each process that has it open;
the file ``lock`` by a process that makes or removes stores. A lock ends with its process (flock(2)).
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

from exporter import private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def beside(graph: Path) -> Path:
    """The folder of the stores of a DIR; it need not exist."""
    return graph.with_name(f".{graph.name}.store")


def locked(folder: Path, *, waits: bool = True) -> int | None:
    """A lock on the stores of a DIR, which the caller closes: two processes that start at once make one store. None
    where the folder cannot be written.
    """
    try:
        private.folder(folder)
        return _lock(folder / "lock", fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None


def in_use(store: Path) -> int:
    """A shared lock that marks a store as open; the caller closes it."""
    use = _lock(_use_of(store), fcntl.LOCK_SH)
    assert use is not None, "a shared lock is waited for"
    return use


def has_others(folder: Path, stays: Path | None) -> bool:
    """Whether there are stores other than ``stays``."""
    return folder.is_dir() and any(path != stays and path.is_dir() for path in folder.iterdir())


def tidied(folder: Path, stays: Path | None, say: Callable[[str], None]) -> None:
    """Removes all stores except ``stays``, and unfinished ones of dead processes; the caller holds the lock. ``say``:
    called with a message for each store that stays.
    """
    for path in sorted(folder.iterdir()):
        if path == stays or not path.is_dir():
            continue
        try:
            is_open = not _removed(path)
        except OSError:
            is_open = False
        if is_open:
            say(f"{path} holds an earlier export: a server shows it, and removes it when it ends.")
        elif path.exists():
            say(f"{path} holds an earlier export and cannot be removed: remove it.")


def _removed(store: Path) -> bool:
    """Removes a store if no process has it open, as far as the system allows it; returns whether none had."""
    use = _lock(_use_of(store), fcntl.LOCK_EX | fcntl.LOCK_NB)
    if use is None:
        return False
    shutil.rmtree(store, ignore_errors=True)
    if not store.exists():
        _use_of(store).unlink(missing_ok=True)
    os.close(use)
    return True


def _lock(path: Path, how: int) -> int | None:
    """A lock on a file, which is created; None where others hold it. Raises OSError where it cannot be opened."""
    file = private.opened(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _use_of(store: Path) -> Path:
    return store.with_name(f"{store.name}.use")
