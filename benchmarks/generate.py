"""Generates ACCESS_HISTORY rows: ``python -m benchmarks.generate --rows 200000 --seed 1 --out FILE``.

The output is NDJSON with native arrays and lower-case keys, about 2 KB a row, always the same for the same arguments.
The mix of statements is that of a working account: mostly reads of views and tables, writes with column lineage, loads,
procedures, some DDL.

The numbers of tables, users and job shapes (statements that recur) grow more slowly than the rows, unless they are
given. With as many ``--shapes`` as rows, no statement recurs. ``--reads hot``: nine of ten rows read the same table,
and one of twenty writes it; ``--reads even``: the same kinds of statements, each with its own tables. Rows are
streamed: memory holds only the account and its shapes, or a digest of each statement.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks import ddl, shapes
from benchmarks.account import Account, Json
from benchmarks.mixes import READING, WORKING
from benchmarks.query_history import HISTORY, Row, history_line, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.mixes import Kind
    from benchmarks.shapes import Shape

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
PERIOD: Final = timedelta(days=30)
DUPLICATES: Final = 0.002
DDL_SHARE: Final = 0.045
NO_ARRAYS: Final = '"direct_objects_accessed":[],"base_objects_accessed":[],"objects_modified":[]'
EVEN, HOT = "even", "hot"
_TRIES: Final = 20
"""How often a statement is drawn again because it recurs, before a SELECT is taken."""


@dataclass(frozen=True)
class Sizes:
    """How large an account to make up. ``reads``: where nearly every statement is to read a table, whether each reads
    its own (EVEN), or all of them one table that a twentieth of them write (HOT). ``once``: no statement recurs.
    ``period``: how long they take.
    """

    rows: int
    tables: int
    users: int
    shapes: int
    reads: str | None = None
    once: bool = False
    period: timedelta = PERIOD

    @classmethod
    def of(
        cls,
        rows: int,
        tables: int | None = None,
        users: int | None = None,
        shapes: int | None = None,
        reads: str | None = None,
    ) -> Sizes:
        """Sizes that are not given grow with a root of the rows; with as many shapes as rows no statement recurs."""
        grown = (int(4 * rows**0.45), int(2 * rows**0.35), int(10 * rows**0.55))
        once = shapes is not None and shapes >= rows
        return cls(rows, max(4, tables or grown[0]), users or grown[1], shapes or grown[2], reads, once)


class Generator:
    """Rows in the order of time, except a few that are delivered late."""

    def __init__(self, sizes: Sizes, seed: int) -> None:
        self._rng = Random(seed)
        self._sizes = sizes
        self._mix = READING if sizes.reads else WORKING
        self._account = Account.build(self._rng, sizes.tables, sizes.users, has_hot=sizes.reads == HOT)
        if sizes.once:
            self._account.procedures = 20 * sizes.rows
        self._seen: set[bytes] = set()
        self._shapes = {} if sizes.once else {kind: self._made(kind, share) for kind, share in self._mix.items()}
        self._step = sizes.period / sizes.rows
        self._count = 0

    def _made(self, kind: Kind, share: float) -> list[Shape]:
        return [kind(self._rng, self._account) for _ in range(max(1, round(self._sizes.shapes * share)))]

    def rows(self) -> Iterator[Row]:
        """All rows; with a few exact duplicates, each right after its original."""
        return itertools.islice(self._statements(), self._sizes.rows)

    def _statements(self) -> Iterator[Row]:
        kinds = list(self._mix)
        edges = list(itertools.accumulate(self._mix.values()))
        edges = [edge / edges[-1] for edge in edges]
        ddl_share = DDL_SHARE / 4 if self._sizes.reads else DDL_SHARE
        duplicates = 0 if self._sizes.once else DUPLICATES
        while True:
            if self._rng.random() < ddl_share:
                yield from self._ddl()
                continue
            kind = self._rng.choices(kinds, cum_weights=edges)[0]
            row = self._shaped(kind)
            yield row
            if self._rng.random() < duplicates:
                yield replace(row, first=False)
            if kind is shapes.call:
                yield from self._inside(row)

    def _inside(self, called: Row) -> Iterator[Row]:
        """The statements of a procedure: reads and writes, sometimes through another procedure."""
        parent = called.query_id
        if self._rng.random() < 0.3:
            inner = self._shaped(shapes.call, parent, called.query_id)
            yield inner
            parent = inner.query_id
        for _ in range(self._rng.randint(1, 3)):
            yield self._shaped(self._rng.choice((shapes.write, shapes.select)), parent, called.query_id)

    def _shaped(self, kind: Kind, parent: str | None = None, root: str | None = None) -> Row:
        """A row of a shape of this kind; a few shapes make up most of the rows."""
        if self._sizes.once:
            number, shape = len(self._seen), self._unseen(kind)
        else:
            pool = self._shapes[kind]
            number = int(len(pool) * self._rng.random() ** 2)
            shape = pool[number]
        user = self._rng.choice(shape.users)
        return self._row(shape.text(), (shape.kind, f"{kind.__name__} {number}"), user, parent, root)

    def _unseen(self, kind: Kind) -> Shape:
        """A new statement; of another kind where this kind has no more."""
        for tried in itertools.count():
            shape = (kind if tried < _TRIES else shapes.select)(self._rng, self._account)
            text = shape.text()
            shape.forget()
            if self._is_new(text):
                break
        return shape

    def _is_new(self, text: str) -> bool:
        """Whether no earlier statement did the same; what Iceberg's catalog adds does not count."""
        known, did = len(self._seen), text.partition(',"event_source":')[0]
        self._seen.add(hashlib.blake2b(did.encode(), digest_size=8).digest())
        return len(self._seen) > known

    def _ddl(self) -> Iterator[Row]:
        kind = self._rng.choices(list(ddl.KINDS), weights=list(ddl.KINDS.values()))[0]
        user, again = self._rng.choice(self._account.users), kind is ddl.swap
        first: Row | None = None
        for change in kind(self._rng, self._account):
            job, text = (change["operationType"], kind.__name__), _ddl_text(change)
            if not self._sizes.once or self._is_new(text):
                first = self._row(text, job, user, same=first if again else None)
                yield first

    def _row(
        self,
        text: str,
        job: tuple[str, str],
        user: str,
        parent: str | None = None,
        root: str | None = None,
        same: Row | None = None,
    ) -> Row:
        """A line with the next query id and time, or (a swap's second row) with those of ``same``."""
        query_id, start = (same.query_id, same.start) if same else self._next()
        ancestors = f'"parent_query_id":{_text(parent)},"root_query_id":{_text(root)}'
        who = f'"query_id":"{query_id}","query_start_time":"{stamp(start)}","user_name":"{user}"'
        return Row(f"{{{who},{text},{ancestors}}}\n", query_id, start, *job, user, first=same is None)

    def _next(self) -> tuple[str, datetime]:
        self._count += 1
        number, chance = self._count, self._rng.getrandbits(32)
        query_id = f"01c{number >> 16:05x}-{number & 0xFFFF:04x}-{chance & 0xFFFF:04x}-0001-dd20{chance:08x}"
        late = 3600 if chance % 500 == 0 else 0
        return query_id, START + self._step * number - timedelta(seconds=late, milliseconds=chance % 1000)


def _text(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'


def _ddl_text(change: Json) -> str:
    written = json.dumps(change, separators=(",", ":"))
    return f'{NO_ARRAYS},"object_modified_by_ddl":{written},"policies_referenced":[]'


def write(sizes: Sizes, seed: int, out: Path, query_history: Path | None = None) -> int:
    """Writes the rows (and their queries); returns the bytes of the rows."""
    written = 0
    with ExitStack() as files:
        rows = files.enter_context(out.open("w", encoding="utf-8", newline="\n"))
        queries = None
        if query_history:
            queries = csv.writer(files.enter_context(query_history.open("w", encoding="utf-8", newline="")))
            queries.writerow([name.upper() for name in HISTORY])
        for row in Generator(sizes, seed).rows():
            written += rows.write(row.line)
            if queries and row.first:
                queries.writerow(history_line(row))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="NDJSON file to write")
    parser.add_argument("--query-history", type=Path, help="CSV file of QUERY_HISTORY to write beside it")
    for name in ("tables", "users", "shapes"):
        parser.add_argument(f"--{name}", type=int, help=f"how many {name}; by default a root of the rows")
    parser.add_argument("--reads", choices=(EVEN, HOT), help="let nearly every statement read tables; or one table")
    given = parser.parse_args()
    sizes = Sizes.of(given.rows, given.tables, given.users, given.shapes, given.reads)
    written = write(sizes, given.seed, given.out, given.query_history)
    print(f"{sizes}: {written:,} characters, {written // sizes.rows:,} a row")


if __name__ == "__main__":
    main()
