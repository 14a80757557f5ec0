"""The beginning of the page of an object or column: what a steward asks first, each in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from flask import url_for

from exporter.ask.notes.clones import INFERRED
from exporter.ask.notes.columns import NOT_BY_COLUMN
from exporter.ask.notes.lost_protection import LOST
from exporter.ask.notes.made_anew import MADE_ANEW, PERHAPS_ANEW
from exporter.ask.notes.places import SAME_PLACE
from exporter.ask.notes.policies import FORCED
from exporter.serve.periods import OF_ENFORCED
from exporter.serve.site import PageSubject, Row, Site
from exporter.serve.tables import Cell, Part, Table
from exporter.system.terminal import counted

HELPER: Final = "It is a helper: a load fills, reads and drops it."

_MORE: Final = "The part below has more notes."


class SummaryLine(NamedTuple):
    """One line of the beginning of a page: a question with its answer in few words, and the part that has it all."""

    title: str
    name: str
    cells: list[Cell]


OF_OBJECT: Final = {
    "enforced": "What it was enforced on",
    "granted": "What was granted to it",
    "behind": "Where its data came from",
    "sources": "Where its data came from",
    "end-up": "Where its data went",
    "views": "Views over it",
    "readers": "Who reads it",
    "writers": "Who writes it",
    "settings": "What protects it",
    "changes": "What changed last",
}
OF_COLUMN: Final = {
    "root-cause": "Where its data came from",
    "column-copies": "Where it was copied to",
    "column-readers": "Who reads it",
    "unmasked-reads": "Who read it unmasked",
    "settings": "What protects it",
}
"""The lines at the beginning of a page, by the part that answers each, if the page has it."""
_OF_DATA: Final = ("behind", "end-up", "readers", "sources", "writers")
"""The lines on where data came from and went."""
_FIRST: Final = ("user_name", "object_name", "source_object_name", "target_object_name", "target_name")
"""The columns with the names that a line has, the first one that there is."""
_OF_PROTECTION: Final = (*OF_ENFORCED, FORCED, LOST, MADE_ANEW, PERHAPS_ANEW)
"""How the notes begin that the line on what protects something has, too."""
_NAMED: Final = 4
"""How many names a line has."""


def summary_lines(
    titles: Mapping[str, str], parts: Sequence[Part], common: Sequence[str], of_one_object: str
) -> Iterator[SummaryLine]:
    """The lines at the beginning of a page. ``common``: notes on all of the page; ``of_one_object``: what each part
    without rows says of the object that it is about.
    """
    by_name = {part.name: part for part in parts}
    for name, title in titles.items():
        part = by_name.get(name)
        if part is None:
            continue
        if part.table is not None and part.table.rows:
            make = {"settings": _settings_in_force, "changes": _last_change, "granted": _granted}.get(name, _names_in)
            cells = make(name, part.table)
            if name == "settings":
                protection_notes = [note for note in part.table.notes if note.startswith(_OF_PROTECTION)]
                cells = [*cells, *([Cell(f". {' '.join(protection_notes)}")] if protection_notes else [])]
            if _may_lack(name, part.table.notes, common):
                cells = [*cells, Cell(". Notes below say what is not among these.")]
            yield SummaryLine(title, name, cells)
        else:
            notes = [note for note in (part.table.notes if part.table else ()) if note != of_one_object]
            own = [note for note in notes if note not in common] or notes[:1]
            more = [_MORE] if len(own) > 1 else []
            # Where a note says what the record may lack, "No row shows it" is not said flatly, as in the part itself.
            words = [] if part.table and part.table.is_explained else [part.words]
            yield SummaryLine(title, name, [Cell(" ".join([*words, *own[:1], *more]))])


def _may_lack(name: str, own: Sequence[str], common: Sequence[str]) -> bool:
    """Whether notes say that a part with rows does not have all, as the reader of its line has to know."""
    if name == "unmasked-reads":
        return bool(own)
    is_elsewhere = name in _OF_DATA and any(note.startswith(SAME_PLACE) for note in [*own, *common])
    return is_elsewhere or any(NOT_BY_COLUMN in note for note in own)


def _settings_in_force(_: str, table: Table) -> list[Cell]:
    """The tags and policies that hold now, the policies first: a policy protects, a tag may do so by having one."""
    in_force = [row for row in table.dicts() if not row["valid_until"].text]
    in_force.sort(key=lambda row: row["kind"].text == "Tag")
    lines = []
    for row in in_force[:_NAMED]:
        value = row["value"].text and f" {'= ' if row['kind'].text == 'Tag' else ''}{row['value'].text}"
        column = [Cell(" on "), row["column_name"]] if row["column_name"].text else []
        lines.append([row["set_name"], Cell(value), *column, Cell(f" since {row['valid_from'].text[:10]}")])
    ended = len(table.rows) - len(in_force)
    if len(in_force) > _NAMED:
        lines.append([Cell(f"{len(in_force) - _NAMED:,} more")])
    if ended:
        lines.append([Cell(f"{ended:,} ended")])
    return _joined("; ", lines)


def _granted(name: str, table: Table) -> list[Cell]:
    """What is granted now, and how many grants ended."""
    rows = [row for row, cells in zip(table.rows, table.dicts(), strict=True) if not cells["valid_until"].text]
    ended = len(table.rows) - len(rows)
    named = _names_in(name, replace(table, rows=rows)) if rows else []
    return [*named, *([Cell(f"{'; ' if rows else ''}{ended:,} ended")] if ended else [])]


def _last_change(_: str, table: Table) -> list[Cell]:
    last = table.dicts()[0]
    count = f"; {_more_than(table)}{len(table.rows):,} statements in all" if len(table.rows) > 1 else ""
    return [Cell(f"{last['operation'].text} on {last['time'].text[:10]} by "), last["user_name"], Cell(count)]


def _names_in(name: str, table: Table) -> list[Cell]:
    """The first names of users or objects in a part, how many more there are, and the last time that the rows have."""
    rows = table.dicts()
    first = "source_object_name" if name == "behind" else next(column for column in _FIRST if column in table.columns)
    names: dict[str, list[dict[str, Cell]]] = {}  # several objects can have had a name
    for row in rows:
        if row[first].text:
            names.setdefault(f"{row[first].text}{row[first].after}", []).append(row)
    cells = _joined(", ", ([same[0][first], Cell(_objects_of(same, first))] for same in list(names.values())[:_NAMED]))
    and_more = "" if (remaining := len(names) - _NAMED) <= 0 else (
        f" and {_more_than(table)}{remaining:,} other{'s' if remaining > 1 or _more_than(table) else ''}"
    )  # fmt: skip
    is_inferred = any(note.startswith(INFERRED) for note in table.notes)
    if name == "sources":
        and_more += (
            f", read by the queries that wrote it{' or cloned with its schema or database' if is_inferred else ''}"
        )
    and_more += " (partly inferred from names)" if is_inferred else ""
    times = [
        row[last].text[:10] for last in ("last_read", "last", "last_write", "last_seen") for row in rows if last in row
    ]
    return [*cells, Cell(and_more + (f"; last on {max(times)}" if any(times) else ""))]


def _objects_of(rows: Sequence[Mapping[str, Cell]], first: str) -> str:
    """What follows a name: how many objects of these rows have it, if several, and whether they are only possible."""
    hrefs = {href for row in rows for _, href in row[first].pages or [("", row[first].href or "")]}
    are_possible = {"evidence" in row and row["evidence"].text.upper() == "POSSIBLE" for row in rows}
    words = [f"{len(hrefs):,} objects"] if len(hrefs) > 1 else []
    words += ["possible"] if are_possible == {True} else []
    words += ["some possible"] if len(hrefs) > 1 and len(are_possible) > 1 else []
    return f" ({', '.join(words)})" if words else ""


def _more_than(table: Table) -> str:
    return "more than " if table.more or table.is_cut else ""


def _joined(separator: str, lists: Iterable[list[Cell]]) -> list[Cell]:
    """The cells of all lists, with a text between two lists."""
    return [cell for cells in lists for cell in (Cell(separator), *cells)][1:]


def description(site: Site, shown: PageSubject, parts: Sequence[Part]) -> SummaryLine:
    """What an object is: its kind, its schema, how many columns, and whether it is still there."""
    thing = shown.thing
    (row,) = site.rows("page-object", {"object": thing.iri})
    tables = {part.name: part.table for part in parts}
    several = f"{len(shown.until):,} objects of one name, the last one {thing.kind} {thing.id or thing.name}"
    cells = [Cell(f"{several if shown.name else thing.kind}{thing.of_account}")]
    if row["schema"]:
        cells += [Cell(" in "), Cell(row["schema_name"] or "", url_for("objects.show", id=site.path(row["schema"])))]
    if (columns := tables.get("columns")) and columns.rows:
        column_rows = site.rows("page-columns", {"object": thing.iri})
        count, dropped = (
            sum(not past_of(column) for column in column_rows),
            sum(bool(column["dropped"]) for column in column_rows),
        )
        lost = f" and {counted(dropped, 'that was dropped', 'that were dropped')}" if dropped else ""
        cells.append(Cell(f", {counted(count, 'column')}{lost}"))
    if (names := tables.get("names")) and names.rows:
        since, seen, until = (
            [row[name].text[:10] for row in names.dicts()] for name in ("valid_from", "last_seen", "valid_until")
        )
        cells.append(Cell(f"; on record from {min(since)} to {max(seen)}"))
        if all(shown.until.values() if shown.name else until):
            cells.append(
                Cell(f"; its name ended on {max(filter(None, shown.until.values()), default=max(until))[:10]}")
            )
    if row["is_helper"] == "true":
        cells.append(Cell(f". {HELPER}"))
    return SummaryLine("What it is", "names", cells)


def past_of(column: Row) -> str:
    """Why an object has a column no more: ``dropped on 2026-09-02``, ``called EMAIL now``; empty if it has it."""
    if column["dropped"]:
        return f"dropped on {column['dropped'][:10]}"
    return f"called {column['renamed_to']} now" if column["renamed_to"] else ""
