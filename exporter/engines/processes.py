"""The rounds on all processors of this machine, without Spark: messages are in files, grouped by partition.

A *part* of a round is what one process makes at a time: it reads the messages of one partition, sorts them, runs the
step, and writes what the step gives, again by receiver and partition. So memory holds one partition for each process,
however many rows there are. Texts of outputs go to their files at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice, starmap
from pathlib import Path
from typing import IO, Final, NamedTuple
from zlib import crc32

import msgspec

from exporter.engines import user_names
from exporter.engines.worker_processes import WorkerProcesses, cores
from exporter.input.reading import Record
from exporter.model.fact_tables import FACTS
from exporter.pipeline import rounds
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import BUCKET_END, Message, To, encode, is_text
from exporter.pipeline.outcome import LIMIT, Counts, Outcome, results_of
from exporter.pipeline.read import read
from exporter.pipeline.rounds import Step
from exporter.pipeline.texts import facts_output, pieces
from exporter.publish.publication import Publication, path_of
from exporter.system import files
from exporter.system.progress import Progress

_PARTITION: Final = 32 << 20
"""Approximate bytes of input for each partition of a round: the derived data must fit in the memory of a process."""
_READ_AT_ONCE: Final = 8 << 20
"""Approximate characters of records that a process reads at a time."""
_OF_RECORD: Final = 200
"""What a record counts for beside its text: a file may have millions of blank lines."""
_BUFFER: Final = 32 << 20
"""Approximate bytes of messages that a process collects before it writes them."""


class Segment(NamedTuple):
    """Where messages to one kind of receiver are, all of one partition. ``length``: bytes from ``offset`` in the file
    ``path``. If ``to`` is an output, it is the whole file, which has the texts as they are published.
    """

    to: str
    partition: int
    path: str
    offset: int
    length: int


Segments = list[Segment]


@dataclass(frozen=True)
class _Output:
    """A step whose texts are pieces for files."""

    step: Step

    def __call__(self, messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
        return pieces(self.step(messages, job), job)


class ProcessEngine:
    """Messages are lists of segments. ``work``: a folder for their files."""

    def __init__(self, workers: WorkerProcesses, work: Path) -> None:
        self._workers = workers
        self._work = work
        self._numbers = count()

    def read(self, records: Iterable[Record], job: ExportJob) -> Segments:
        """The messages of the first step."""
        chunks = ((chunk, job, self._target(block)) for block, chunk in enumerate(_chunks(records)))
        return _joined(self._workers.map(_read_part, chunks))

    def shuffle(self, messages: Sequence[Segments], step: Step, job: ExportJob) -> Segments:
        return self._run(_by_partition(messages), step, job)

    def together(self, messages: Sequence[Segments], step: Step, job: ExportJob) -> Segments:
        return self._run({0: [segment for segments in messages for segment in segments]}, step, job)

    def map(self, messages: Segments, step: Step, job: ExportJob) -> Segments:
        return self._run(_by_partition([messages]), step, job)

    def filter(self, messages: Segments, to: Sequence[str]) -> Segments:
        wanted = frozenset(to)
        return [segment for segment in messages if segment.to in wanted]

    def persist(self, messages: Segments, name: str) -> Segments:  # noqa: ARG002 - they are in files
        return messages

    def output(self, step: Step) -> Step:
        return _Output(step)

    def write_texts(self, messages: Sequence[Segments], name: str) -> Segments:
        """Texts are moved to folders ``to=OUTPUT`` below the name; the other messages stay."""
        stay: Segments = []
        for segment in (segment for segments in messages for segment in segments):
            if is_text(segment.to):
                path = Path(segment.path)
                folder = self._work / name / f"to={segment.to}"
                folder.mkdir(parents=True, exist_ok=True)
                path.rename(folder / f"part-{path.parent.name}{path.suffix if path.suffix == files.ENDING else ''}")
            else:
                stay.append(segment)
        return stay

    def counts(self, messages: Segments) -> Counts:
        return Counts.sum(self.bodies(messages, To.TALLY))

    def bodies(self, messages: Segments, to: str) -> Iterator[bytes]:
        """The bodies of the messages to a receiver."""
        for _, _, _, body in _messages(self.filter(messages, [to])):
            yield body

    def _run(self, parts: dict[int, Segments], step: Step, job: ExportJob) -> Segments:
        tasks = ((segments, step, job, self._target(partition)) for partition, segments in sorted(parts.items()))
        return _joined(self._workers.map(_run_part, tasks))

    def _target(self, partition: int) -> Target:
        return Target(str(self._work / f"{next(self._numbers):08d}"), partition)


def _by_partition(messages: Sequence[Segments]) -> dict[int, Segments]:
    parts = defaultdict[int, Segments](list)
    for segments in messages:
        for segment in segments:
            parts[segment.partition].append(segment)
    return parts


def _joined(parts: Iterable[Segments]) -> Segments:
    return [segment for segments in parts for segment in segments]


def _chunks(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in lists."""
    chunk: list[Record] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += len(record.text) + _OF_RECORD
        if size >= _READ_AT_ONCE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def export(
    records: Callable[[], Iterable[Record]], size: int, job: ExportJob, new: Publication, progress: Progress
) -> Outcome:
    """Make all outputs of the job in the folder of ``new``. ``records``: gives all records, each time from the first
    one. ``size``: their estimated bytes.
    """
    with WorkerProcesses(cores()) as workers:
        if user_names.uses_pseudonyms(job):
            with progress.stage("names"):
                names = workers.map(_user_names, ((chunk, job) for chunk in _chunks(records())))
                job = user_names.with_user_names(job, set().union(*names), new)
        # A multiple of the number of processes, so that none is idle while others process the last partitions.
        partitions = max(1, -(-size // (_PARTITION * workers.number))) * workers.number
        job = replace(job, in_order=False, partitions=partitions)
        engine = ProcessEngine(workers, Path(new.work))
        with progress.stage("read"):
            rows = engine.read(records(), job)
        exported = rounds.export(engine, [rows], replace(job, screen=None), progress)
    for name in exported.names:
        _take(new, name, job)
    results = (body for part in exported.results for body in islice(engine.bodies(part, To.RESULT), LIMIT))
    return Outcome(exported.counts, exported.refused, results_of(results))


def _take(new: Publication, name: str, job: ExportJob) -> None:
    """Move the texts of outputs to their places. Facts are stored as JSON and are converted to Parquet here."""
    for table in FACTS if job.facts and name.startswith(rounds.OUTPUTS) else ():
        from exporter.engines import state_local  # noqa: PLC0415 - slow to import, and seldom asked for

        state_local.write(table, sorted(Path(new.work, name).glob(f"to={facts_output(table)}/*")), new)
    new.take(f"{new.work}/{name}")


# --- in the processes -------------------------------------------------------------------------------------------------


class Target(NamedTuple):
    """Where a part is written. ``folder``: a new folder for its files. ``partition``: its number; its texts, counts and
    results, which have no receiver, stay in it.
    """

    folder: str
    partition: int


def _user_names(records: list[Record], job: ExportJob) -> set[str]:
    return set(user_names.user_names(records, job))


def _read_part(records: list[Record], job: ExportJob, target: Target) -> Segments:
    """The messages of records, which are a block of their file."""
    block = target.partition
    return _write(read((record._replace(block=block) for record in records), job), job, target)


def _run_part(segments: Segments, step: Step, job: ExportJob, target: Target) -> Segments:
    messages = list(_messages(segments))
    messages.sort()
    return _write(step(starmap(Message, messages), job), job, target, are_pieces=isinstance(step, _Output))


def _write(messages: Iterable[Message], job: ExportJob, target: Target, *, are_pieces: bool = False) -> Segments:
    folder = Path(target.folder)
    folder.mkdir()
    with ExitStack() as stack:
        part = _Part(folder / "messages", target.partition, job.partitions, stack)
        texts: dict[str, tuple[Path, IO[bytes]]] = {}
        for message in messages:
            if not are_pieces or not is_text(message.to):
                part.add(message)
                continue
            if message.to not in texts:
                path = folder / _name(message.to, job)
                texts[message.to] = path, stack.enter_context(files.created(path))
            texts[message.to][1].write(message.body + b"\n")
        part.flush()
    of_texts = [Segment(to, target.partition, str(path), 0, path.stat().st_size) for to, (path, _) in texts.items()]
    return [*part.segments, *of_texts]


def _name(output: str, job: ExportJob) -> str:
    """The name of a file with the texts of an output; its ending says whether it is compressed."""
    path = path_of(output, 0, is_compressed=job.compress)
    return f"{output}{files.ENDING if path and path.endswith(files.ENDING) else ''}"


class _Part:
    """Writes messages to a file, by receiver and partition."""

    def __init__(self, path: Path, own: int, partitions: int, stack: ExitStack) -> None:
        self.segments: Segments = []
        self._path, self._own, self._partitions = str(path), own, partitions
        self._file = stack.enter_context(path.open("wb"))
        self._buffers = defaultdict[tuple[str, int], list[tuple[str, bytes, bytes]]](list)
        self._size = self._offset = 0

    def add(self, message: Message) -> None:
        to, key, order, body = message
        partition = _partition(key, self._partitions) if key and not is_text(to) else self._own
        self._buffers[to, partition].append((key, order, body))
        self._size += len(body) + len(key) + len(order)
        if self._size > _BUFFER:
            self.flush()

    def flush(self) -> None:
        for (to, partition), messages in self._buffers.items():
            text = encode(messages)
            self._file.write(text)
            self.segments.append(Segment(to, partition, self._path, self._offset, len(text)))
            self._offset += len(text)
        self._buffers.clear()
        self._size = 0


@lru_cache(maxsize=50_000)
def _partition(key: str, partitions: int) -> int:
    """The partition of a key: that of its bucket."""
    return crc32(key.partition(BUCKET_END)[0].encode()) % partitions


_decode: Final = msgspec.msgpack.Decoder(list[tuple[str, bytes, bytes]]).decode


def _messages(segments: Iterable[Segment]) -> Iterator[tuple[str, str, bytes, bytes]]:
    """The messages of segments, as tuples: they are sorted faster than messages."""
    for to, _, path, offset, length in segments:
        with Path(path).open("rb") as file:
            file.seek(offset)
            for key, order, body in _decode(file.read(length)):
                yield to, key, order, body
