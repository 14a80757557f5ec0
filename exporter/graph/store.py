"""A graph in files -> an embedded SPARQL store, in memory or on disk.

The graph is what ``export`` wrote (``DIR/graph/*.ttl``), a folder of Turtle, or a single file; compressed by gzip or
not (``*.ttl.gz``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from pyoxigraph import RdfFormat, Store

from exporter.errors import UsageError
from exporter.graph.terms import SYNTAXES
from exporter.system import files as compressed
from exporter.system.folders import steady

FORMATS: Final = {
    f".{syntax.ending}": RdfFormat.from_extension(syntax.ending)
    for syntax in SYNTAXES.values()
    if not syntax.names_load
}
"""The syntaxes that are read, by file ending. In order of preference: where a graph is there in several, only the first
one is read.
"""

_UNREAD: Final = tuple(f".{syntax.ending}" for syntax in SYNTAXES.values() if syntax.names_load)
_OTHER: Final = (".n3", ".ntriples", ".owl", ".rdf", ".trig", ".turtle")
"""Endings of other files of RDF, which are not read."""
_MANIFEST: Final = "manifest.json"
"""The file by which a folder is one that export wrote; it has the settings."""


def load(graph: Path) -> Store:
    """The triples of ``graph`` in a store; UsageError names what is missing, empty or does not parse."""
    return steady(graph, lambda: fill(Store(), graph))


def fill(store: Store, graph: Path) -> Store:
    """Loads the triples of ``graph`` into the store, which it returns; errors as in :func:`load`."""
    for path in graph_files(graph):
        with source_of(path, str(path)) as source:
            store.bulk_load(**source)
    if next(iter(store), None) is None:
        raise UsageError(f"{graph} holds no triples, so there is nothing to ask: export rows into it first.")
    return store


def graph_files(graph: Path) -> list[Path]:
    """The files of ``graph`` in one syntax, sorted: the file itself, or those below ``graph/graph/`` or the folder."""
    if not graph.exists():
        raise UsageError(f"{graph} does not exist. Give the folder that export wrote, or a folder or file of Turtle.")
    if graph.is_file():
        _refuse_unread([graph])
        return [graph]
    if not _has_graph(graph):
        # Files such as the validation report are Turtle, too, but to ask them would deny all that is on record.
        raise UsageError(
            f"{graph} has no graph: it was exported with other outputs. Export it again with graph among --outputs, or "
            "give one of its files of Turtle."
        )
    folder = graph / "graph" if (graph / "graph").is_dir() else graph
    if folder == graph:
        _refuse_exports_in(graph)
    by_format = [compressed.find_files(folder, ending) for ending in FORMATS]
    files = next((paths for paths in by_format if paths), [])
    if not files:
        _refuse_unread(path for ending in _UNREAD for path in compressed.find_files(folder, ending))
        raise UsageError(
            f"{folder} holds no Turtle files (*.ttl). Give the folder that export wrote, or a folder or file of Turtle."
        )
    if folder == graph:
        others = [compressed.find_files(folder, ending) for ending in (*_UNREAD, *_OTHER)]
        _refuse_other_syntaxes(files, [*by_format, *others])
        _refuse_links(folder)
    path = graph / "export.ttl"  # what the graph is, beside it
    return [*files, path] if folder != graph and path.is_file() else files


def _refuse_exports_in(folder: Path) -> None:
    """Raises UsageError for a folder with exports in it. Their manifests would not be looked at, their reports would
    count as what is on record, and what an export forgets would stay in a store beside the folder.
    """
    exports = sorted(path.parent for path in folder.glob(f"*/{_MANIFEST}") if (path.parent / "graph").is_dir())
    if exports:
        more = f", one of {len(exports)} in it" if exports[1:] else ""
        raise UsageError(f"{folder} is not an export, and has exports in it. Give {exports[0]}{more}.")


def _refuse_other_syntaxes(files: list[Path], by_format: Iterable[list[Path]]) -> None:
    """Raises UsageError for a file in another syntax than those that are read, unless it is one of these again, by its
    name: an export can write each file in several.
    """
    names = {_plain(path) for path in files}
    for other in (path for paths in by_format for path in paths if path not in files and _plain(path) not in names):
        raise UsageError(
            f"{other}: would not be read: of a folder, files of one syntax alone are, here those like {files[0]}. "
            "Convert or rename it, or give a folder without it"
        )


def _refuse_links(folder: Path) -> None:
    """Raises UsageError for a link to a folder, which is not followed: what is in it would be left out."""
    for path in compressed.everything_in(folder, with_hidden=False):
        if path.is_symlink() and path.is_dir():
            raise UsageError(f"{path}: is a link to a folder, which is not followed. Give a folder without it")


def _plain(path: Path) -> Path:
    """A path without the ending of its syntax, or of its compression."""
    return path.with_suffix("").with_suffix("") if path.suffix == compressed.ENDING else path.with_suffix("")


def _refuse_unread(paths: Iterable[Path]) -> None:
    """Raises UsageError for files of a syntax that export writes and that is not read."""
    for path in paths:
        if compressed.syntax_of(path) in _UNREAD:
            raise UsageError(
                f"{path} is N-Quads, which stores load and this program does not read. Export the rows again with "
                "--graph-format turtle,nquads, or give a folder or file of Turtle."
            )


def _has_graph(folder: Path) -> bool:
    """Whether a folder may have a graph: all do but exports whose manifest has other outputs alone. An export without
    any query has none of its files, but no less than it was given.
    """
    manifest = folder / _MANIFEST
    if (folder / "graph").is_dir() or not manifest.is_file():  # to read a pipe would wait
        return True
    with suppress(OSError, ValueError, KeyError, TypeError):
        return "graph" in json.loads(manifest.read_text(encoding="utf-8"))["settings"]["outputs"]
    return True


@contextmanager
def source_of(path: Path, name: str) -> Iterator[dict[str, Any]]:
    """A file of RDF, compressed or not, as pyoxigraph takes it: the arguments for its syntax and content. What is wrong
    with it while it is read becomes a UsageError; ``name``: the file as its message begins.
    """
    syntax = FORMATS.get(compressed.syntax_of(path), RdfFormat.TURTLE)
    try:
        if path.suffix == compressed.ENDING:
            with compressed.opened(path) as file:
                yield {"input": file, "format": syntax}
        else:
            yield {"path": path, "format": syntax}
    except SyntaxError as error:
        raise UsageError(f"{name} is not valid Turtle: {error.msg.removeprefix('Parser error at ')}") from None
    except compressed.BROKEN as error:
        raise UsageError(f"{name} cannot be unpacked: {error}") from None
    except OSError as error:
        if any(words in str(error) for words in _OF_WRITING):  # the store that is filled is on a full disk
            raise
        raise UsageError(f"{name} cannot be read: {error.strerror or error}") from None


_OF_WRITING: Final = ("No space left on device", "Disk quota exceeded", "File too large", "Read-only file system")
"""Texts of errors that no file has that is only read."""


def load_digest(account: str, query_id: str) -> int:
    """What one query adds to the name of its load. The digests of all queries are joined by exclusive or, each once and
    in any order; no query gives 0.
    """
    key = f"{len(account)}:{account}{query_id}"
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def load_iri(digest: int, base: str) -> str:
    """The IRI of a load's named graph: ``load/HASH`` of its queries. The same queries give the same graph name,
    whatever files they came in.
    """
    return f"{base}load/{digest:x}"
