"""The state of an update in DIR, without Spark: messages in Parquet, in the same folders and columns as with Spark.

Tables of facts are written as Parquet here too.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from exporter.engines import changes
from exporter.engines.changes import Changed
from exporter.engines.local import write_texts
from exporter.engines.state import Store, first_of, last_of
from exporter.model.fact_tables import FACTS
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, is_text
from exporter.pipeline.texts import pieces
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


def write(table: str, texts: Iterable[Path], new: Publication) -> None:
    """Write the rows of a table to a Parquet file of ``new``. ``texts``: files with one JSON object on each line, none
    for an empty table.
    """
    types = {name: _TYPES[kind.removesuffix(" not null")] for name, kind in FACTS[table].items()}
    folder = Path(new.folder, "facts", table)
    folder.mkdir(parents=True)
    with parquet.ParquetWriter(folder / "part-00000.parquet", pa.schema(list(types.items()))) as file:
        for path in texts:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
            arrays = [_array([row.get(name) for row in rows], kind) for name, kind in types.items()]
            file.write_table(pa.Table.from_arrays(arrays, schema=file.schema))


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind != _TIME:
        return pa.array(values, kind)
    texts = [None if value is None else value.removesuffix("Z") for value in values]
    return pc.assume_timezone(pc.cast(pa.array(texts, pa.string()), pa.timestamp("us")), "UTC")


_SCHEMA: Final = pa.schema([("to", pa.string()), ("key", pa.string()), ("order", pa.binary()), ("body", pa.binary())])
_COLUMNS_OF_RECEIVER, _COLUMNS_OF_CONTENT = ["to", "key"], ["order", "body"]
_MOST, _ENOUGH = 20_000, 250
"""Most messages of a part of a file (a row group), and how many are enough for one: the next receiver then begins
another part. What an update needs of all days is for few receivers, and the other parts are not read.
"""


class LocalStore(Store[list[Message]]):
    """The state of a DIR on this machine: a file of messages under each name, sorted."""

    def __init__(self, new: Publication, job: ExportJob) -> None:
        super().__init__(new)
        self._job = job
        self._state = Path(new.folder, "state")
        self._before = Path(new.before("state"))

    def save(self, messages: Sequence[list[Message]], name: str) -> None:
        in_order = sorted(chain.from_iterable(messages))
        if not in_order:
            return
        folder = self._state / name
        folder.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(
            folder / "part-00000.parquet", _SCHEMA, compression="zstd", use_dictionary=["to"], write_statistics=["to"]
        ) as file:
            for part in _parts(in_order):
                arrays = [
                    pa.array(column, field.type) for column, field in zip(zip(*part, strict=True), _SCHEMA, strict=True)
                ]
                file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))

    def join(self, names: Sequence[str], kept_whole: Sequence[str] | None, name: str) -> None:
        messages = list(chain.from_iterable(_read(self._state, joined_name) for joined_name in names))
        if kept_whole is not None:
            wanted = frozenset(kept_whole)
            other_receivers = {message.to for message in messages} - wanted
            messages = [message for message in messages if message.to in wanted] + self.latest(
                names, [*other_receivers]
            )
        self.save([messages], name)
        self.drop(f"state/{joined_name}" for joined_name in names)

    def load(self, names: Sequence[str], to: Sequence[str]) -> list[Message]:
        return list(_messages(self._state, names, to))

    def load_before(self, name: str, to: Sequence[str]) -> list[Message]:
        return list(_read(self._before, name, to))

    def load_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[list[Message]]) -> list[Message]:
        keys = {message.key for message in chain.from_iterable(others)}
        return [message for name in names for message in _read(self._state, name, to, keys)] if keys else []

    def latest(self, names: Sequence[str], to: Sequence[str]) -> list[Message]:
        last: dict[tuple[str, str], list[Message]] = {}
        for name in names:
            of_name: dict[tuple[str, str], list[Message]] = {}
            for message in _read(self._state, name, to):
                of_name.setdefault(message[:2], []).append(message)
            last |= of_name
        return list(chain.from_iterable(last.values()))

    def latest_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[list[Message]]) -> list[Message]:
        return _latest_of(self._state, names, to, chain.from_iterable(others))

    def changes(self, days: Sequence[str], all_days: Sequence[str], things: str, to: Sequence[str]) -> None:
        number = changes.carried(self._new, self._job)
        names = self.names(things)
        if number > 1:
            names_before = self.names_before(things)
            # What only the other states say is the same before and after.
            made, gone = (
                [
                    name
                    for name in own
                    if name not in other or any(first_of(name) <= day <= last_of(name) for day in days)
                ]
                for own, other in ((names, names_before), (names_before, names))
            )
            said = [*_messages(self._state, made, to), *_messages(self._before, gone, to)]
            before = _latest_of(self._before, names_before, to, said)
            after = _latest_of(self._state, names, to, said)
        else:
            days, before, after = all_days, [], self.latest(names, to)
        # Only texts that differ are compared: on most days most things are not mentioned.
        same = {*before} & {*after}
        differ = [[message for message in texts if message not in same] for texts in (before, after)]
        changes.write(Changed(number, days, sorted({*all_days} - {*days}), *differ), self._job, self._new)

    def join_changes(self, numbers: Sequence[int]) -> None:
        changes.join(numbers, self._new)

    def publish(self, messages: list[Message], name: str, day: str) -> None:  # noqa: ARG002 - they are in memory
        texts = pieces(sorted(message for message in messages if is_text(message.to)), self._job)
        write_texts(texts, self._new, self._job, day)


def _messages(state: Path, names: Iterable[str], to: Sequence[str]) -> Iterator[Message]:
    return chain.from_iterable(_read(state, name, to) for name in names)


def _latest_of(state: Path, names: Sequence[str], to: Sequence[str], others: Iterable[Message]) -> list[Message]:
    """Of the receivers and keys of other messages, those under the last of the names that has some."""
    wanted = {message[:2] for message in others if message.to in to}
    messages: list[Message] = []
    for name in reversed(names):
        keys = {key for _, key in wanted}
        known = [message for message in _read(state, name, to, keys) if message[:2] in wanted] if keys else []
        wanted -= {message[:2] for message in known}
        messages += known
    return messages


def _parts(messages: list[Message]) -> Iterator[list[Message]]:
    """The parts of a file: sorted messages, cut where another receiver begins."""
    start = 0
    for at, message in enumerate(messages):
        size = at - start
        if size >= _MOST or (size >= _ENOUGH and message.to != messages[at - 1].to):
            yield messages[start:at]
            start = at
    yield messages[start:]


def _read(
    state: Path, name: str, to: Iterable[str] | None = None, keys: Iterable[str] | None = None
) -> Iterator[Message]:
    """The messages under a name: to these receivers, with these keys. None: any. Of the many files most have none, so
    the bodies are read only where there are some.
    """
    receivers = None if to is None else sorted(to)
    wanted = [
        (place, pa.array(values, pa.string())) for place, values in ((0, receivers), (1, keys)) if values is not None
    ]
    folder = f"{state}/{name}"
    for file_name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():  # noqa: PTH112, PTH208 - many
        if not file_name.endswith(".parquet"):
            continue
        # The files are small and many: threads and buffers would cost more than reading them.
        file = parquet.ParquetFile(f"{folder}/{file_name}", pre_buffer=False)
        for number in range(file.num_row_groups):
            if receivers is not None and not _may_have(file, number, receivers):
                continue
            columns = _columns(file, number, _COLUMNS_OF_RECEIVER)
            matches = [pc.is_in(columns[place], value_set=values) for place, values in wanted]
            if not all(pc.any(is_wanted).as_py() for is_wanted in matches):
                continue
            columns += _columns(file, number, _COLUMNS_OF_CONTENT)
            if matches:
                is_wanted = reduce(pc.and_, matches)
                columns = [column.filter(is_wanted) for column in columns]
            yield from starmap(Message, zip(*(column.to_pylist() for column in columns), strict=True))


def _columns(file: parquet.ParquetFile, part: int, names: list[str]) -> list[pa.ChunkedArray]:
    return list(file.read_row_group(part, names, use_threads=False).columns)


def _may_have(file: parquet.ParquetFile, part: int, receivers: list[str]) -> bool:
    """Whether a part of a file may have messages to one of these receivers, which are sorted."""
    statistics = file.metadata.row_group(part).column(0).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    at = bisect_left(receivers, statistics.min)
    return at < len(receivers) and receivers[at] <= statistics.max
