"""The state of an update in DIR, without Spark: messages in Parquet, in the same folders and columns as with Spark.

Tables of facts are written as Parquet here too.
"""

from __future__ import annotations

import json
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from exporter.engines import changes
from exporter.engines.changes import FOLDER, Changed
from exporter.engines.local import write_texts
from exporter.model.fact_tables import FACTS
from exporter.pipeline.messages import Message, is_text
from exporter.pipeline.texts import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from exporter.pipeline.job import ExportJob
    from exporter.publish.publication import Publication

_COLUMNS: Final = pa.list_(pa.struct([("column_name", pa.string()), ("column_id", pa.string())]))
_AGENTS: Final = pa.list_(
    pa.struct([("agent_type", pa.string()), ("agent_id", pa.string()), ("agent_name", pa.string())])
)
_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": _TIME,
    "array<string>": pa.list_(pa.string()),
    "array<struct<column_name: string, column_id: string>>": _COLUMNS,
    "array<struct<agent_type: string, agent_id: string, agent_name: string>>": _AGENTS,
}


def write(table: str, lines: Path, folder: Path) -> None:
    """Write the rows of a table as a Parquet file in ``folder``. ``lines``: a file with one JSON object on each line;
    if it does not exist, the table is empty.
    """
    text = lines.read_text(encoding="utf-8") if lines.is_file() else ""
    rows = [json.loads(line) for line in text.split("\n") if line]
    types = {name: _TYPES[kind.removesuffix(" not null")] for name, kind in FACTS[table].items()}
    arrays = [_array([row.get(name) for row in rows], kind) for name, kind in types.items()]
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_arrays(arrays, names=list(types)), folder / "part-00000.parquet")


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind != _TIME:
        return pa.array(values, kind)
    texts = [None if value is None else value.removesuffix("Z") for value in values]
    return pc.assume_timezone(pc.cast(pa.array(texts, pa.string()), pa.timestamp("us")), "UTC")


_SCHEMA: Final = pa.schema([("key", pa.string()), ("order", pa.binary()), ("body", pa.binary())])
_TO: Final = "to="
_ROWS: Final = 20_000


class LocalStore:
    """:class:`exporter.engines.updates.Store` for a DIR on this machine."""

    def __init__(self, new: Publication, job: ExportJob) -> None:
        self._new, self._job = new, job
        self._state = Path(new.folder, "state")

    def carry(self, names: Iterable[str]) -> None:
        for name in names:
            self._new.carry(name)

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._new.drop(name)

    def save(self, messages: Sequence[list[Message]], name: str) -> None:
        by_to: dict[str, list[Message]] = {}
        for message in chain.from_iterable(messages):
            by_to.setdefault(message.to, []).append(message)
        for to, each in by_to.items():
            folder = self._state / name / f"{_TO}{quote(to, safe='')}"
            folder.mkdir(parents=True, exist_ok=True)
            with parquet.ParquetWriter(folder / "part-00000.parquet", _SCHEMA, compression="zstd") as file:
                for start in range(0, len(each), _ROWS):
                    _, *columns = zip(*each[start : start + _ROWS], strict=True)
                    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
                    file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))

    def has(self, name: str) -> bool:
        return (self._state / name).is_dir()

    def load(self, names: Sequence[str], to: Sequence[str]) -> list[Message]:
        return [message for name, text in product(names, to) for message in self._read(self._state, name, text)]

    def load_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[list[Message]]) -> list[Message]:
        keys = {message.key for message in chain.from_iterable(others)}
        return [message for name, text in product(names, to) for message in self._read(self._state, name, text, keys)]

    def latest(self, names: Sequence[str], to: Sequence[str]) -> list[Message]:
        return self._latest(self._state, names, to)

    def latest_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[list[Message]]) -> list[Message]:
        keys: dict[str, set[str]] = {one: set() for one in to}
        for message in chain.from_iterable(others):
            if message.to in keys:
                keys[message.to].add(message.key)
        messages: list[Message] = []
        for name, text in product(reversed(names), to):
            if keys[text]:
                known = self._read(self._state, name, text, keys[text])
                keys[text] -= {one.key for one in known}
                messages += known
        return messages

    def _latest(self, state: Path, names: Sequence[str], to: Sequence[str]) -> list[Message]:
        found: dict[tuple[str, str], list[Message]] = {}
        for name in names:
            of_name: dict[tuple[str, str], list[Message]] = {}
            for message in chain.from_iterable(self._read(state, name, text) for text in to):
                of_name.setdefault(message[:2], []).append(message)
            found |= of_name
        return list(chain.from_iterable(found.values()))

    @staticmethod
    def _read(state: Path, name: str, to: str, keys: set[str] | None = None) -> list[Message]:
        messages: list[Message] = []
        wanted = None if keys is None else pa.array(sorted(keys), pa.string())
        for path in sorted((state / name / f"{_TO}{quote(to, safe='')}").glob("*.parquet")):
            # The files are small and many: threads and buffers would cost more than reading them.
            for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(use_threads=False):
                kept = batch if wanted is None else batch.filter(pc.is_in(batch.column("key"), value_set=wanted))
                rows = zip(*(kept.column(name).to_pylist() for name in _SCHEMA.names), strict=True)
                messages += [Message(to, *row) for row in rows]
        return messages

    def changes(self, days: Sequence[str], said: Sequence[str], now: Sequence[str], to: Sequence[str]) -> None:
        number = 1 if self._job.forgets else self._new.numbered(FOLDER) + 1
        if number > 1:
            self._new.carry(FOLDER)
        every = [name.rpartition("/")[2] for name in now]
        if number == 1:
            days, said = every, ()
        before, after = self._latest(Path(self._new.before("state")), said, to), self.latest(now, to)
        # Only texts that differ are compared: on most days most things are not mentioned.
        same = {*before} & {*after}
        differ = [[message for message in each if message not in same] for each in (before, after)]
        changes.write(Changed(number, days, sorted({*every} - {*days}), *differ), self._job, self._new)

    def publish(self, messages: list[Message], name: str, day: str) -> None:  # noqa: ARG002 - they are in memory
        texts = pieces(sorted(message for message in messages if is_text(message.to)), self._job)
        write_texts(texts, self._new, self._job, day)
