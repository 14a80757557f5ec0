"""Graphs in stores on disk: made once, opened by any number of processes in milliseconds, removed with the export.

The stores of DIR are in ``.DIR.store/``, each in a folder named by the checksum of its export, so a store never belongs
to another export than the one in DIR. Those of a part of DIR, such as ``DIR/graph``, are in
``.DIR.store/parts/PATH/``, since DIR has the files of its manifest alone. The file ``SUM.use`` of a store is locked by
each process that has it open; the file ``lock`` by a process that makes or removes stores. A lock ends with its process
(flock(2)).

A store of an earlier export may hold data that was since removed (--forget-user). So it is removed by the next export,
by the next server or query, and by the server that shows it when that ends. So is an unfinished one of a process that
was killed. A damaged store is removed, too, and made again: it is a cache. A link in the place of a folder of stores
or of a store is not followed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote, unquote

import pyoxigraph
from pyoxigraph import Store

from exporter.errors import UsageError
from exporter.graph.store import fill, graph_files
from exporter.publish import manifest
from exporter.system import faults, files, private
from exporter.system.folders import steady
from exporter.system.progress import Progress

_PARTS: Final = "parts"


def beside(graph: Path) -> Path:
    """The folder of the stores of a DIR, or of a file or folder in one; it need not exist. ``graph``: without links."""
    export = manifest.export_of(graph)
    if export is None:
        return graph.with_name(f".{graph.name}.store")
    return beside(export) / _PARTS / quote(str(graph.relative_to(export)), safe="")


def _link(folder: Path) -> Path | None:
    """The link in the place of a folder of stores, or of one above it that is the program's own; None if there is none.
    What it leads to may be anybody's.
    """
    is_of_part = folder.parent.name == _PARTS and _is_beside(folder.parent.parent.name)
    own = (folder.parent.parent, folder.parent, folder) if is_of_part else (folder,)
    return next((path for path in own if path.is_symlink()), None)


_is_beside: Final = re.compile(r"\..+\.store").fullmatch


def locked(folder: Path, *, waits: bool = True) -> int | None:
    """A lock on the stores of a DIR, which the caller closes: two processes that start at once make one store. None
    where the folder cannot be written, and where a link is in its place.
    """
    if _link(folder):
        return None
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
    return folder.is_dir() and any(path != stays and _is_store(path) for path in folder.iterdir())


def _is_store(path: Path) -> bool:
    """Whether it is a store, by its name and by the names of the files in it: other folders are left alone."""
    if not _is_name(path.name) or path.is_symlink() or not path.is_dir():
        return False
    return all(is_of_store(file.name) for file in path.iterdir()) if os.access(path, os.R_OK | os.X_OK) else True


def tidied(folder: Path, stays: Path | None, say: Callable[[str], None]) -> None:
    """Removes all stores except ``stays``, and unfinished ones of dead processes; the caller holds the lock. ``say``:
    called with a message for each store that stays.
    """
    for path in sorted(folder.iterdir()):
        if path == stays:
            continue
        if not _is_store(path):
            if _is_name(path.name):
                say(f"{path} stays: it has the name of a store, and something in it that no store has: remove it.")
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
    descriptor = private.opened(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _use_of(store: Path) -> Path:
    return store.with_name(f"{store.name}.use")


_FORM: Final = "2"
"""The version of the folder's layout; change it when the layout changes."""
_MAKING: Final = ".making"
_is_name: Final = re.compile(r"(?:[0-9a-f]{16}|[0-9a-f]{12}\.making)").fullmatch
"""Matches the names of stores, unfinished ones too."""
is_of_store: Final = re.compile(
    r"(?:(?:bulk-)?\d+\.sst|\d+\.(?:log|blob|dbtmp)|(?:MANIFEST|OPTIONS)-\d+(?:\.dbtmp)?"
    r"|CURRENT|IDENTITY|LOCK|LOG[^/]*)"
).fullmatch
"""Matches the names of RocksDB's files (https://github.com/facebook/rocksdb/wiki/RocksDB-File-Names), and of those that
Oxigraph gives it while a store is filled (``bulk-…``).
"""


def key(graph: Path) -> str:
    """A checksum of the export: of its manifest, if there is one, and of the names, sizes and times of its files."""
    checksum = hashlib.sha256(f"{_FORM} {pyoxigraph.__version__}\n".encode())
    for path in graph_files(graph):
        state = path.stat()
        checksum.update(
            f"{path.relative_to(graph.parent)} {state.st_size} {state.st_mtime_ns}\n".encode(errors="replace")
        )
    checksum.update((manifest.read(graph) or "").encode())
    return checksum.hexdigest()[:16]


def refuse_incomplete(graph: Path) -> None:
    """Raise UsageError if ``graph`` is an export that lacks a file of its graph, or has another one in its place; or
    its report, of which notes on answers have numbers.
    """
    for part in ("graph", "export.ttl", "report.json"):
        manifest.refuse_incomplete(graph, part, "answers", f", or give {graph / 'graph'} to ask what is left")


@contextmanager
def opened_store(graph: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """The store of ``graph``, made if it does not exist; while the context is open, no process removes it. ``say``:
    called with messages about what takes long or is unusual. Raises UsageError for a graph that cannot be read, lacks a
    file, or is empty.
    """
    refuse_incomplete(graph)
    graph = files.without_links(graph)
    folder = beside(graph)
    graph_files(graph)  # where there is no graph, nothing is made beside it
    lock = locked(folder)
    if lock is None:
        link = _link(folder)
        reason = f"{link} is a link, which is not followed" if link else f"{folder} cannot be written"
        say(f"{reason}, so the store is made in a temporary folder, again at each start.")
        with TemporaryDirectory(prefix="exporter-store-") as temporary:
            temporary_store = Path(temporary, "store")
            _made(graph, temporary_store)
            yield temporary_store
        return
    try:
        store = _sound(_existing(graph, folder), say) or _new(graph, folder, say)
        use = in_use(store)
    finally:
        os.close(lock)
    export = manifest.export_of(graph) or graph
    try:
        tidy(export, waits=False)  # what servers left that were killed
        yield store
    finally:
        os.close(use)
        tidy(export, waits=False)


@contextmanager
def fresh(graph: Path, say: Callable[[str], None] = lambda _: None) -> Iterator[Path | None]:
    """The store of ``graph`` if it exists, protected from removal while the context is open; else None. ``say``: called
    with a message where it is damaged.
    """
    graph = files.without_links(graph)
    use = None
    try:
        store = _sound(_existing(graph, beside(graph)), say)
        with suppress(OSError):
            export = manifest.export_of(graph) or graph
            if _is_stale(export, beside(export)):
                tidy(export, waits=False)
            use = None if store is None else in_use(store)
        yield store if use is not None and store is not None and store.is_dir() else None
    finally:
        if use is not None:
            os.close(use)


def tidy(graph: Path, say: Callable[[str], None] = lambda _: None, *, waits: bool = True) -> None:
    """Remove the stores of earlier exports than the one that is at ``graph``, all where there is none, unless somebody
    has them open. ``say``: called with a message for each that stays. ``waits``: whether to wait for a process that
    makes a store now.
    """
    graph = files.without_links(graph)
    _tidy(graph, beside(graph), say, waits=waits)


def _tidy(graph: Path, folder: Path, say: Callable[[str], None], *, waits: bool) -> None:
    link = _link(folder)
    if link:
        say(f"{link} is a link in the place of a folder of stores. It is not followed: look there yourself.")
        return
    if not folder.is_dir():
        return
    lock = locked(folder, waits=waits)
    if lock is None:
        if waits:
            say(f"{folder} may hold an earlier export and cannot be written: remove it.")
        return
    try:
        tidied(folder, _current(graph, folder), say)
    finally:
        os.close(lock)
    for part in sorted(folder.glob(f"{_PARTS}/*")):
        _tidy(graph / unquote(part.name), part, say, waits=waits)


def _is_stale(graph: Path, folder: Path) -> bool:
    """Whether there are stores of earlier exports, also of parts of it."""
    if not folder.is_dir() or _link(folder):
        return False
    parts = folder.glob(f"{_PARTS}/*")
    return has_others(folder, _current(graph, folder)) or any(_is_stale(graph / unquote(p.name), p) for p in parts)


def _existing(graph: Path, folder: Path) -> Path | None:
    store = folder / key(graph)
    if _link(folder) or os.path.islink(store):  # noqa: PTH114 - it may be in a folder of another user
        return None
    return store if os.path.isdir(store) else None  # noqa: PTH112 - may be of another user


def _sound(store: Path | None, say: Callable[[str], None]) -> Path | None:
    """The store, None if there is none, or if it is damaged; then it is set aside."""
    if store is None:
        return None
    try:
        Store.read_only(str(store))
    except (FileNotFoundError, RuntimeError) as error:
        if not store.is_dir():  # another process has removed it meanwhile
            return None
        set_aside(store)
        say(f"The store {store} was damaged ({error}) and is not used any more.")
        return None
    except OSError:  # such as too many open files: whoever opens it reports it
        pass
    return store


def set_aside(store: Path) -> None:
    """A damaged store is not found any more, so that the next server makes it anew; what is left of it is removed as an
    unfinished one.
    """
    with suppress(OSError):
        store.rename(store.with_name(f"{secrets.token_hex(6)}{_MAKING}"))


def is_damage(error: BaseException) -> bool:
    """Whether the engine says that the files of a store are damaged."""
    return isinstance(error, RuntimeError) and str(error).startswith("Corruption")


DAMAGED: Final = (
    "the store from which the answer is read is damaged. Start the server, or ask, again: the store is then made anew"
)
"""The error where that shows only while it is read."""


def _current(graph: Path, folder: Path) -> Path | None:
    """The store of what is at ``graph``; None, too, where that is no graph."""
    with suppress(UsageError, OSError):
        return _existing(graph, folder)
    return None


def _new(graph: Path, folder: Path, say: Callable[[str], None]) -> Path:
    """Makes the store; stores of earlier exports are removed first, to make room."""
    tidied(folder, None, lambda _: None)
    say(f"Making the store {folder} (once for each export).")
    unfinished = folder / f"{secrets.token_hex(6)}{_MAKING}"
    try:
        with private.made(), Progress().stage("making the store"):
            store = folder / _made(graph, unfinished)
        if store.is_symlink():
            store.unlink()
        unfinished.rename(store)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return store


def _made(graph: Path, folder: Path) -> str:
    """Loads the triples of ``graph`` into a new store, again if the graph is replaced meanwhile. Gives the store's
    key.
    """

    def once() -> str:
        shutil.rmtree(folder, ignore_errors=True)
        checksum = key(graph)
        fill(Store(str(folder)), graph).optimize()  # a second for a million triples; answers take half the time
        return checksum

    try:
        return steady(graph, once)
    except OSError as error:
        is_full = "No space left on device" in str(error)  # the engine gives no number
        cause = OSError(errno.ENOSPC, str(error)) if is_full else error
        words = faults.words(cause, "the store cannot be made there")
        if words:
            raise faults.kind(error)(f"{folder.parent}: {words}") from error
        raise UsageError(f"{folder.parent}: the store cannot be made there: {error}") from error
