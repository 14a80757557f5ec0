"""A graph in a store on disk: made once for each export, and opened by any number of processes in milliseconds.

The stores of DIR are beside it, in ``.DIR.store/``, one folder for each sum of what was exported, so that a store is
never of another export than the one that is there. A file for each, ``SUM.use``, is locked by who has the store open:
what nobody has open, and is of an earlier export, is removed when the next store is made.
"""

from __future__ import annotations

import fcntl
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

from exporter import manifest
from exporter.errors import UsageError
from exporter.graph.ask.store import fill, graph_files
from exporter.swap import steady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORM: Final = "1"
"""Of what is in the folder; another one where it changes."""
_MAKING: Final = ".making"


def key(graph: Path) -> str:
    """A sum of what is exported: the manifest, where there is one, and the names, sizes and times of the files."""
    told = hashlib.sha256(f"{_FORM} {pyoxigraph.__version__}\n".encode())
    for path in graph_files(graph):
        state = path.stat()
        told.update(f"{path.relative_to(graph.parent)} {state.st_size} {state.st_mtime_ns}\n".encode(errors="replace"))
    with suppress(OSError):
        told.update((graph / manifest.NAME).read_bytes())
    return told.hexdigest()[:16]


@contextmanager
def kept(graph: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """The store of ``graph``, made if it is not there, which nobody removes meanwhile. ``say``: is told what takes long
    or is unusual. Raises UsageError for a graph that cannot be read or is empty.
    """
    graph = graph.resolve()
    folder = _folder(graph)
    lock = _locked(folder)
    if lock is None:
        say(f"{folder.parent} cannot be written, so the store is made in a temporary folder, and anew at each start.")
        with TemporaryDirectory(prefix="exporter-store-") as temporary:
            made = Path(temporary, "store")
            _made(graph, made)
            yield made
        return
    try:
        store = _there(graph, folder) or _new(graph, folder, say)
        use = _in_use(store)
    finally:
        os.close(lock)
    try:
        yield store
    finally:
        os.close(use)


@contextmanager
def fresh(graph: Path) -> Iterator[Path | None]:
    """The store of ``graph`` if it was made before, which nobody removes meanwhile; None where it was not."""
    graph = graph.resolve()
    use = None
    try:
        store = _there(graph, _folder(graph))
        if store is not None:
            with suppress(OSError):
                use = _in_use(store)
        yield store if use is not None and store is not None and store.is_dir() else None
    finally:
        if use is not None:
            os.close(use)


def _folder(graph: Path) -> Path:
    return graph.with_name(f".{graph.name}.store")


def _there(graph: Path, folder: Path) -> Path | None:
    store = folder / key(graph)
    return store if store.is_dir() else None


def _locked(folder: Path) -> int | None:
    """A lock on the stores of a DIR, waited for: two that start at once make one store. None where nothing can be
    written.
    """
    try:
        folder.mkdir(exist_ok=True)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return None
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def _new(graph: Path, folder: Path, say: Callable[[str], None]) -> Path:
    """A store made anew; what is of an earlier export goes first, to make room."""
    _tidied(folder)
    say(f"Making the store {folder} (once for each export).")
    making = folder / f"{secrets.token_hex(6)}{_MAKING}"
    try:
        store = folder / _made(graph, making)
        making.rename(store)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return store


def _made(graph: Path, folder: Path) -> str:
    """Put the triples of ``graph`` into a new store; its key. Anew where the graph is replaced meanwhile."""

    def once() -> str:
        shutil.rmtree(folder, ignore_errors=True)
        made = key(graph)
        fill(Store(str(folder)), graph)
        return made

    try:
        return steady(graph, once)
    except OSError as error:
        raise UsageError(f"{folder.parent}: the store cannot be made there: {error}") from error


def _tidied(folder: Path) -> None:
    """Remove what dead processes left half made, and the stores that nobody has open."""
    for path in folder.iterdir():
        if not path.is_dir():
            continue
        use = _taken(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if use is not None:
            shutil.rmtree(path, ignore_errors=True)
            _use_of(path).unlink(missing_ok=True)
            os.close(use)


def _in_use(store: Path) -> int:
    use = _taken(store, fcntl.LOCK_SH)
    assert use is not None, "a shared lock is waited for"
    return use


def _taken(store: Path, how: int) -> int | None:
    """A lock on the file that says that a store is open; None where others have it."""
    file = os.open(_use_of(store), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, how)
    except OSError:
        os.close(file)
        return None
    return file


def _use_of(store: Path) -> Path:
    return store.with_name(f"{store.name}.use")
