"""Write the changes of an update to graph and events, for stores that are kept in step: ``changes/N/``.

``removed.nt.gz`` and ``added.nt.gz`` contain triples, ``update.ru.gz`` the same as SPARQL 1.1 Update, and
``events.ndjson.gz`` the new events. Applied to an empty store in the order of N, they give the graph. Only the days
that were made again are compared, and the nodes of the things that they mention. Of these days only those parts of
files are parsed that one of both DIRs alone has: a late row changes few of them.

The changes of older updates are put together (:func:`join`), in the folder of the last of them. They give a store that
has none, some or all of them the graph after the last: each triple that one of them changed is added or removed.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exporter.graph.terms import SYNTAXES
from exporter.graph.writers import (
    SAID_ONCE,
    SEPARATORS,
    parts_of,
    subject_of,
    subjects,
    triples,
    turtle_header,
)
from exporter.pipeline.messages import Message
from exporter.pipeline.texts import graph_output
from exporter.publish import manifest
from exporter.system import files

if TYPE_CHECKING:
    from exporter.pipeline.job import ExportJob
    from exporter.publish.publication import Publication

Messages = TypeVar("Messages")
FOLDER: Final = "changes"
ADDED: Final = "added.nt.gz"
REMOVED: Final = "removed.nt.gz"
UPDATE: Final = "update.ru.gz"
EVENTS: Final = "events.ndjson.gz"
PARTS: Final = "updates.txt"
"""In a folder with the changes of several updates: a line for each, with its number, and bytes and sha256 of its
``update.ru.gz``. By them a store that follows knows what it has.
"""
_is_said_once: Final = re.compile(SAID_ONCE).match


@dataclass(frozen=True)
class Changed(Generic[Messages]):
    """The input of a comparison. ``days``: those that differ between both DIRs. ``same``: the other days, which can
    say the same of a node. ``things_before``, ``things_now``: the nodes of things before and after. ``number``: of the
    changes, from 1; number 1 has the whole graph.
    """

    number: int
    days: Sequence[str]
    same: Sequence[str]
    things_before: Messages
    things_now: Messages

    def before(self, new: Publication, output: str) -> list[str]:
        """The folders of these days of an output in the old DIR."""
        folders = [f"{output}/day={day}" for day in self.days] if self.number > 1 else []
        return [new.before(folder) for folder in folders if new.has_before(folder)]

    def after(self, new: Publication, output: str) -> list[str]:
        """The folders of these days of an output in the new DIR."""
        return _folders(new, output, self.days)

    def same_graph(self, new: Publication) -> list[str]:
        """The folders with the graph of the other days, which are equal in both DIRs."""
        return _folders(new, "graph", self.same)


def _folders(new: Publication, output: str, days: Iterable[str]) -> list[str]:
    folders = [f"{output}/day={day}" for day in days]
    return [new.path(folder) for folder in folders if new.has(folder)]


@dataclass(frozen=True)
class ChangesSyntax:
    """A syntax from which triples are read. ``ending``: of its files. ``opening``: text before a part of a file that
    makes it readable. ``base``: of relative IRIs. ``to``: the name of the output.
    """

    ending: str
    opening: str
    base: str
    to: str


def syntax(job: ExportJob) -> ChangesSyntax | None:
    """The first syntax of the graph that can be read in parts; None if there is none or no graph is exported."""
    for name in job.syntaxes if job.graph else ():
        ending = SYNTAXES[name].ending
        if ending in SEPARATORS:
            return ChangesSyntax(
                ending, turtle_header(job.base) if name == "turtle" else "", job.base, graph_output(name)
            )
    return None


def write(changed: Changed[list[Message]], job: ExportJob, new: Publication) -> None:
    """Write the changes between the old DIR and the new one."""
    folder = Path(new.work, FOLDER)
    folder.mkdir()
    graph_syntax = syntax(job)
    if graph_syntax:
        parts_before, parts_now = (
            _parts(changed.before(new, "graph"), graph_syntax),
            _parts(changed.after(new, "graph"), graph_syntax),
        )
        before = _triples(parts_before - parts_now, changed.things_before, graph_syntax)
        now = _triples(parts_now - parts_before, changed.things_now, graph_syntax)
        only_before, only_now = before - now, now - before
        still = _in_others(only_before | only_now, parts_before & parts_now, graph_syntax)
        only_before -= still
        only_before -= _in_others(only_before, _parts_in(changed.same_graph(new), graph_syntax), graph_syntax)
        removed, added = _packed(sorted(only_before)), _packed(sorted(only_now - still))
        _write(folder / REMOVED, removed or [_part([])])
        _write(folder / ADDED, added or [_part([])])
        _write(folder / UPDATE, _updates(removed, added) if removed or added else [_part([])])
    if job.events:
        known = set(_lines(changed.before(new, "events")))
        lines = [line for line in _lines(changed.after(new, "events")) if line not in known]
        _write(folder / EVENTS, _packed(lines) or [_part([])])
    new.take_changes(str(folder), changed.number)


def _parts_in(folders: list[str], graph_syntax: ChangesSyntax) -> Iterator[str]:
    """The parts of files, each of which parses without the others."""
    for folder in folders:
        for path in files.find_files(Path(folder), f".{graph_syntax.ending}"):
            yield from parts_of(files.text(path), graph_syntax.ending)


def _parts(folders: list[str], graph_syntax: ChangesSyntax) -> set[str]:
    return set(_parts_in(folders, graph_syntax))


def _triples(parts: set[str], messages: list[Message], graph_syntax: ChangesSyntax) -> set[str]:
    texts = [
        part
        for message in messages
        if message.to == graph_syntax.to
        for part in parts_of(message.body.decode(), graph_syntax.ending)
    ]
    return set(triples(chain(parts, texts), graph_syntax.ending, graph_syntax.opening))


def _in_others(asked: set[str], parts: Iterable[str], graph_syntax: ChangesSyntax) -> set[str]:
    """Of these triples, those that other parts of files have too. Only parts about the same are parsed."""
    asked = {text for text in asked if not _is_said_once(text)}
    if not asked:  # as mostly: then nothing is read
        return set()
    about = subjects(asked, graph_syntax.base)
    return asked & set(
        triples((part for part in parts if subject_of(part) in about), graph_syntax.ending, graph_syntax.opening)
    )


def _lines(folders: list[str]) -> list[str]:
    paths = [path for folder in folders for path in files.find_files(Path(folder), ".ndjson")]
    return [line for path in paths for line in files.text(path).split("\n") if line]


_CHUNK: Final = 5_000
"""Lines in one part of a gzip file: such a file may have several parts, which are compressed in parallel."""
_LEVEL: Final = 3
"""Level of compression: as fast as the disk, with files hardly larger than at the best level."""


def _packed(lines: list[str]) -> list[bytes]:
    """The lines as gzip parts, each of which can be read by itself."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(_part, (lines[at : at + _CHUNK] for at in range(0, len(lines), _CHUNK))))


def _part(lines: list[str]) -> bytes:
    return gzip.compress("".join([f"{line}\n" for line in lines]).encode(), _LEVEL, mtime=0)


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(parts)


def _updates(removed: list[bytes], added: list[bytes]) -> Iterator[bytes]:
    """The parts as operations of SPARQL 1.1 Update. Compressed parts are used as they are, between others."""
    operations = [*(("DELETE DATA {", part) for part in removed), *(("INSERT DATA {", part) for part in added)]
    for number, (operation, part) in enumerate(operations):
        yield _part([f"{'; ' if number else ''}{operation}"])
        yield part
        yield _part(["}"])


# --- older changes are put together -----------------------------------------------------------------------------------


def carried(new: Publication, job: ExportJob) -> int:
    """Take over the changes of the old DIR, except where something is forgotten: they can name it. Returns the number
    of this update's changes.
    """
    before = [] if job.forgets else _numbers(new.names_before(FOLDER))
    new.carry(f"{FOLDER}/{number}" for number in before)
    return before[-1] + 1 if before else 1


def unjoined(new: Publication) -> list[int]:
    """The numbers of the updates of the new DIR whose changes are not put together with others'."""
    numbers = _numbers(new.names(FOLDER))
    return [number for number in numbers if number == 1 or number - 1 in numbers]


def _numbers(names: Iterable[str]) -> list[int]:
    return sorted(int(name.rpartition("/")[2]) for name in names)


def join(numbers: Sequence[int], new: Publication) -> None:
    """Put the changes of successive updates together, in place of them. In memory are the triples that all of them
    removed, and those that one of them added.
    """
    folder, filled = Path(new.work, f"{FOLDER}-{numbers[-1]}"), set[int]()
    folder.mkdir()
    if has(new, numbers[0], UPDATE):
        removed: dict[str, int] = {}
        for number in numbers:
            gone = dict.fromkeys(_lines_in(new, number, REMOVED), number)
            filled |= {*gone.values()}
            removed |= gone
        with (folder / ADDED).open("wb") as file:
            for number in numbers:
                lines = _lines_in(new, number, ADDED)
                filled |= {number} if lines else set()
                file.writelines(
                    _not_removed_later(lines, number, removed) or [Path(path(new, number, ADDED)).read_bytes()]
                )
        _write(folder / REMOVED, _packed(sorted(removed)) or [_part([])])
    put_together(numbers, filled, str(folder), new)


def _not_removed_later(added: list[str], number: int, removed: dict[str, int]) -> list[bytes]:
    """The triples that an update added and no later one removed, packed; empty if these are all of them, as mostly.
    ``removed``: with the last update that removed it. What this update added again is no longer in it.
    """
    gone = {line for line in added if removed.get(line, 0) > number}
    for line in added if removed else ():
        if line not in gone:
            removed.pop(line, None)
    return (_packed([line for line in added if line not in gone]) or [_part([])]) if gone else []


def _lines_in(new: Publication, number: int, name: str) -> list[str]:
    return [line for line in files.text(Path(path(new, number, name))).split("\n") if line]


def path(new: Publication, number: int, name: str) -> str:
    """The path of a file with changes of the new DIR."""
    return new.path(f"{FOLDER}/{number}/{name}")


def has(new: Publication, number: int, name: str) -> bool:
    """Whether the new DIR has this file: events or the graph may not be exported."""
    return f"{FOLDER}/{number}/{name}" in new.names(f"{FOLDER}/{number}")


def put_together(numbers: Sequence[int], filled: Container[int], folder: str, new: Publication) -> None:
    """Put the changes of these updates in place of theirs. ``folder``: has the triples that they added and removed; it
    gets the rest, of which files are joined unchanged: the first bytes of all updates stay those of the first one.
    ``filled``: the numbers of those that changed triples.
    """
    if has(new, numbers[0], UPDATE):
        parts, is_begun = list[str | bytes](), False
        for number in numbers:
            parts += [_part([";"])] if is_begun and number in filled else []
            parts.append(path(new, number, UPDATE))
            is_begun |= number in filled
        new.concatenate(parts, f"{folder}/{UPDATE}")
        by_path = {manifest.plain(entry["path"]): entry for entry in new.entries_before()}
        update_entries = [by_path[f"{FOLDER}/{number}/{UPDATE}"] for number in numbers]
        lines = [
            f"{number} {entry['bytes']} {entry['sha256']}\n"
            for number, entry in zip(numbers, update_entries, strict=True)
        ]
        new.concatenate(["".join(lines).encode()], f"{folder}/{PARTS}")
    if has(new, numbers[0], EVENTS):
        new.concatenate([path(new, number, EVENTS) for number in numbers], f"{folder}/{EVENTS}")
    for number in numbers:
        new.drop(f"{FOLDER}/{number}")
    new.take_changes(folder, numbers[-1])
