"""Drawn histories of views and streams, with what is really behind each: views over views, streams over tables and
views, views that are dropped, restored and replaced under the same or another id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

Json = dict[str, Any]
START: Final = datetime(2026, 3, 1, 20, tzinfo=UTC)
COLUMNS: Final = ("ID", "MAIL", "SUM")
Columns = dict[str, frozenset[tuple[str, str]]]


@dataclass
class Place:
    """A table, view or stream. ``made_of``: by column, the columns of tables that it shows."""

    domain: str
    name: str
    number: int | None
    made_of: Columns = field(default_factory=dict)

    @property
    def key(self) -> str:
        kind = self.domain.lower()
        return f"{kind}/{self.number}" if self.number else f"{kind}/name/{self.name}"

    @property
    def tables(self) -> set[str]:
        return {key for columns in self.made_of.values() for key, _ in columns}

    def shown(self, *columns: str) -> Json:
        ident = {"objectId": self.number} if self.number else {}
        listed = [{"columnName": one} for one in sorted(columns)]
        return {
            "objectDomain": self.domain,
            "objectName": self.name,
            **ident,
            **({"columns": listed} if listed else {}),
        }


class Account:
    """Draws rows. ``truth``: by query and view that it reads, what was behind the view then."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.rows: list[Json] = []
        self.truth: dict[tuple[str, str], Columns] = {}
        self.number = 100
        self.tables = [self._table(f"D.S.T{number}") for number in range(5)]
        self.views: list[Place] = []
        self.dropped: list[Place] = []
        for number in range(4):
            self._create(f"D.S.V{number}", has_id=number != 3)
        self.streams = [
            Place("Stream", f"D.S.ST{n}", self._id(), over.made_of if over.domain == "View" else _all(over))
            for n, over in enumerate([self.tables[0], self.views[0]])
        ]

    def draw(self, steps: int) -> list[Json]:
        acts = [self._read] * 6 + [self._write] * 6 + [self._replace, self._drop, self._restore]
        for _ in range(steps):
            self.rng.choice(acts)()
        return self.rows

    # --- objects ------------------------------------------------------------------------------------------------------

    def _id(self) -> int:
        self.number += 1
        return self.number

    def _table(self, name: str) -> Place:
        return Place("Table", name, self._id())

    def _create(self, name: str, *, has_id: bool) -> None:
        """A view over tables and over the views that there are; these change later without a change of this one."""
        below = self.rng.sample([*self.tables, *(one for one in self.views if one.name < name)], self.rng.randint(1, 2))
        columns: Columns = {}
        for column in COLUMNS:
            of = self.rng.choice(below)
            columns[column] = of.made_of[column] if of.made_of else frozenset({(of.key, self.rng.choice(COLUMNS))})
        view = Place("View", name, self._id() if has_id else None, columns)
        self.views = [one for one in self.views if one.name != name] + [view]
        self.dropped = [one for one in self.dropped if one.name != name]
        self._ddl(view, "CREATE")

    def _replace(self) -> None:
        view = self.rng.choice(self.views or [None])
        if view is not None:
            self._create(view.name, has_id=view.number is not None)

    def _drop(self) -> None:
        if len(self.views) > 2:
            view = self.rng.choice(self.views)
            self.views.remove(view)
            self.dropped.append(view)
            self._ddl(view, "DROP")

    def _restore(self) -> None:
        if self.dropped:
            view = self.dropped.pop(self.rng.randrange(len(self.dropped)))
            self.views.append(view)
            self._ddl(view, "UNDROP")

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _row(self, **columns: Any) -> Json:
        at = START + timedelta(minutes=29 * len(self.rows) + self.rng.randint(0, 1))
        row = {"query_id": f"q{len(self.rows):03}", "query_start_time": f"{at:%Y-%m-%d %H:%M:%S}Z", "user_name": "ETL"}
        self.rows.append({**row, **columns})
        return self.rows[-1]

    def _ddl(self, view: Place, operation: str) -> None:
        self._row(object_modified_by_ddl={**view.shown(), "operationType": operation, "properties": {}})

    def _picked(self) -> list[Place]:
        places = [*self.views, *self.views, *self.streams, *self.tables]
        return self.rng.sample(places, self.rng.choice((1, 1, 1, 2, 3)))

    def _accessed(self, picked: list[Place]) -> Json:
        """What the view has for a query that reads all columns of these."""
        base: dict[str, set[str]] = {}
        for one in picked:
            for key, column in {pair for pairs in (one.made_of or _all(one)).values() for pair in pairs}:
                base.setdefault(key, set()).add(column)
        tables = {one.key: one for one in self.tables}
        return {
            "direct_objects_accessed": [one.shown(*COLUMNS) for one in picked],
            "base_objects_accessed": [tables[key].shown(*columns) for key, columns in sorted(base.items())],
        }

    def _note(self, row: Json, picked: list[Place]) -> None:
        for one in picked:
            if one.domain != "Table":
                self.truth[row["query_id"], one.key] = one.made_of

    def _read(self) -> None:
        picked = self._picked()
        self._note(self._row(**self._accessed(picked)), picked)

    def _write(self) -> None:
        """A table filled from columns of one or several of these; now and then the row was truncated."""
        picked, target = self._picked(), self.rng.choice(self.tables)
        columns = []
        for name in COLUMNS:
            sources = [(self.rng.choice(picked), self.rng.choice(COLUMNS)) for _ in range(self.rng.choice((1, 1, 2)))]
            base = {pair for one, column in sources for pair in (one.made_of or _all(one))[column]}
            tables = {one.key: one for one in self.tables}
            columns.append({
                "columnName": name,
                "directSources": [{**one.shown(), "columnName": column} for one, column in sources],
                "baseSources": [{**tables[key].shown(), "columnName": column} for key, column in sorted(base)],
            })  # fmt: skip
        row = self._row(**self._accessed(picked), objects_modified=[{**target.shown(), "columns": columns}])
        if self.rng.random() < 0.1:
            row["direct_objects_accessed"].append(
                {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
            )
        self._note(row, picked)


def _all(table: Place) -> Columns:
    return {column: frozenset({(table.key, column)}) for column in COLUMNS}
