"""A graph in a store on disk: made once for each export, then opened by any number of processes in milliseconds.

A store is identified by the checksum of its export, so it never belongs to another export than the one in DIR. A store
of an earlier export may hold data that was since removed (--forget-user), so it is removed by the next export, by the
next server or query, and by the server that shows it when that ends (:mod:`exporter.graph.ask.stores`).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pyoxigraph
from pyoxigraph import Store

from exporter import manifest, private
from exporter.errors import UsageError
from exporter.graph.ask import stores
from exporter.graph.ask.store import fill, graph_files
from exporter.swap import steady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORM: Final = "2"
"""The version of the folder's layout; change it when the layout changes."""
_MAKING: Final = ".making"


def key(graph: Path) -> str:
    """A checksum of the export: of its manifest, if there is one, and of the names, sizes and times of its files."""
    told = hashlib.sha256(f"{_FORM} {pyoxigraph.__version__}\n".encode())
    for path in graph_files(graph):
        state = path.stat()
        told.update(f"{path.relative_to(graph.parent)} {state.st_size} {state.st_mtime_ns}\n".encode(errors="replace"))
    with suppress(OSError):
        told.update((graph / manifest.NAME).read_bytes())
    return told.hexdigest()[:16]


@contextmanager
def kept(graph: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """The store of ``graph``, made if it does not exist; while the context is open, no process removes it. ``say``:
    called with messages about what takes long or is unusual. Raises UsageError for a graph that cannot be read or is
    empty.
    """
    graph = graph.resolve()
    folder = stores.beside(graph)
    lock = stores.locked(folder)
    if lock is None:
        say(f"{folder.parent} cannot be written, so the store is made in a temporary folder, again at each start.")
        with TemporaryDirectory(prefix="exporter-store-") as temporary:
            made = Path(temporary, "store")
            _made(graph, made)
            yield made
        return
    try:
        store = _there(graph, folder) or _new(graph, folder, say)
        use = stores.in_use(store)
    finally:
        os.close(lock)
    try:
        yield store
    finally:
        os.close(use)
        tidy(graph, waits=False)


@contextmanager
def fresh(graph: Path) -> Iterator[Path | None]:
    """The store of ``graph`` if it exists, protected from removal while the context is open; else None."""
    graph = graph.resolve()
    use = None
    try:
        store = _there(graph, stores.beside(graph))
        with suppress(OSError):
            if stores.has_others(stores.beside(graph), store):
                tidy(graph, waits=False)
            use = None if store is None else stores.in_use(store)
        yield store if use is not None and store is not None and store.is_dir() else None
    finally:
        if use is not None:
            os.close(use)


def tidy(graph: Path, say: Callable[[str], None] = lambda _: None, *, waits: bool = True) -> None:
    """Remove the stores of earlier exports than the one that is at ``graph``, all where there is none, unless somebody
    has them open. ``say``: is told of each that stays. ``waits``: for who makes a store now.
    """
    graph = graph.resolve()
    folder = stores.beside(graph)
    if not folder.is_dir():
        return
    lock = stores.locked(folder, waits=waits)
    if lock is None:
        if waits:
            say(f"{folder} may hold an earlier export and cannot be written: remove it.")
        return
    try:
        stores.tidied(folder, _current(graph, folder), say)
    finally:
        os.close(lock)


def _there(graph: Path, folder: Path) -> Path | None:
    store = folder / key(graph)
    return store if os.path.isdir(store) else None  # noqa: PTH112 - it may be in a folder of another user


def _current(graph: Path, folder: Path) -> Path | None:
    """The store of what is at ``graph``; None, too, where that is no graph."""
    with suppress(UsageError, OSError):
        return _there(graph, folder)
    return None


def _new(graph: Path, folder: Path, say: Callable[[str], None]) -> Path:
    """A store made anew; what is of an earlier export goes first, to make room."""
    stores.tidied(folder, None, lambda _: None)
    say(f"Making the store {folder} (once for each export).")
    making = folder / f"{secrets.token_hex(6)}{_MAKING}"
    try:
        with private.made():
            store = folder / _made(graph, making)
        making.rename(store)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return store


def _made(graph: Path, folder: Path) -> str:
    """Loads the triples of ``graph`` into a new store, again if the graph is replaced meanwhile. Gives the store's
    key.
    """

    def once() -> str:
        shutil.rmtree(folder, ignore_errors=True)
        made = key(graph)
        fill(Store(str(folder)), graph).optimize()  # a second for a million triples; answers take half the time
        return made

    try:
        return steady(graph, once)
    except OSError as error:
        raise UsageError(f"{folder.parent}: the store cannot be made there: {error}") from error
