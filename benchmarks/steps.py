"""Measures where the time is spent: ``python -m benchmarks.steps FILE --rows 20000`` prints CPU microseconds for each
row, by step.

The rows (NDJSON) go through the local engine in this process, as a large input goes through Spark. The time of Spark
itself, and of its workers for receiving and returning batches, is not included. The time of a part does not include
other parts that it calls; the last line of a step is everything else. The clock itself takes about a tenth of the time.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from exporter.engines import local
from exporter.input.reading import Record
from exporter.pipeline import extract, recurring, rounds, write
from exporter.pipeline import messages as carried
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import is_text
from exporter.pipeline.read import read
from exporter.pipeline.texts import NodeWriter, pieces
from exporter.system.cache import collect_garbage_rarely
from exporter.system.progress import NoProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from exporter.pipeline.messages import Message
    from exporter.pipeline.rounds import Step

_INSIDE: Final[dict[str, tuple[tuple[Any, str], ...]]] = {
    "rows": ((extract, "read_line"),),
    "facts": ((carried.QueryRecord, "facts"), (write, "read_query_record")),
    "mentions": ((extract, "uses_in_time"), (extract, "add")),
    "answers": ((write, "_together"),),
    "nodes": ((write, "statement_nodes"), (write, "run_nodes")),
    "checks": ((NodeWriter, "checked"),),
    "text": (
        (NodeWriter, "rendered"),
        (NodeWriter, "texts"),
        (NodeWriter, "joined"),
        (recurring.Recurring, "filled"),
        (recurring.Recurring, "remember"),
    ),
    "events": ((write, "run_events"), (write, "events_of"), (recurring, "statement"), (write, "problems")),
}
"""The parts of steps, and the functions that are each part, where the steps look them up (its owner, its name)."""
_REST: Final = "the rest"


@dataclass
class Clock:
    """CPU seconds of this process by step and part; each moment counts once, for the innermost part that runs."""

    seconds: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    _running: list[tuple[str, str]] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._begin(name, _REST)
        try:
            yield
        finally:
            self._end()

    def part(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a timer; a generator's values are computed at once."""
        yields = inspect.isgeneratorfunction(function)

        @wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            self._begin(self._running[0][0], name)
            try:
                made = function(*given, **named)
                return list(made) if yields else made
            finally:
                self._end()

        return timed

    def _begin(self, step: str, part: str) -> None:
        self._count()
        self._running.append((step, part))

    def _end(self) -> None:
        self._count()
        self._running.pop()

    def _count(self) -> None:
        now = time.process_time()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def of(self, step: str) -> dict[str, float]:
        """The seconds of a step's parts."""
        return {part: seconds for (one, part), seconds in self.seconds.items() if one == step}


class Timed(local.LocalEngine):
    """The local engine with a clock for each step, and for the sorting before it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sorting: Counter[str] = Counter()
        self.heard: Counter[str] = Counter()
        self.said: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def shuffle(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        name, begun = step.__name__, time.process_time()
        heard = sorted(itertools.chain.from_iterable(messages))
        self.sorting[name] += time.process_time() - begun
        return self._timed(heard, step, job)

    def map(self, messages: list[Message], step: Step, job: ExportJob) -> list[Message]:
        return self._timed(messages, step, job)

    def _timed(self, heard: list[Message], step: Step, job: ExportJob) -> list[Message]:
        name = step.__name__
        with self.clock.step(name):
            said = list(step(heard, job))
        self.count(name, heard, said)
        return said

    def count(self, name: str, heard: Sequence[object], said: Sequence[Message]) -> None:
        self.heard[name] += len(heard)
        self.said[name] += len(said)
        self.bytes[name] += sum(len(one.body) for one in said)


def run(lines: Iterable[str], job: ExportJob) -> tuple[int, Timed]:
    """How many rows there are, and the engine that had them."""
    collect_garbage_rarely()
    records = [Record("rows", 0, "line", line) for line in lines]
    clock = Clock()
    engine = Timed(clock)
    with ExitStack() as stack:
        for name, functions in _INSIDE.items():
            for owner, attribute in functions:
                stack.enter_context(patch.object(owner, attribute, clock.part(name, getattr(owner, attribute))))
        with clock.step("read"):
            rows = list(read(records, job))
        engine.count("read", records, rows)
        made = rounds.export(engine, [rows], job, NoProgress())
        texts = [message for part in made.outputs for message in part if is_text(message.to)]
        with clock.step("pieces of files"):
            put = list(pieces(texts, job))
        engine.count("pieces of files", texts, put)
    return len(records), engine


def table(rows: int, engine: Timed) -> str:
    """Microseconds and bytes a row, and messages a row."""
    lines = ["| step | µs a row | in order, µs | messages in | out | bytes out |", "|---|---:|---:|---:|---:|---:|"]
    total = 0.0
    for name in dict.fromkeys(step for step, _ in engine.clock.seconds):
        parts, sorting = engine.clock.of(name), engine.sorting[name]
        total += sum(parts.values()) + sorting
        counts = [f"{counter[name] / rows:.2f}" for counter in (engine.heard, engine.said)]
        told = [_micro(sum(parts.values()), rows), _micro(sorting, rows), *counts, f"{engine.bytes[name] / rows:,.0f}"]
        lines.append(f"| {name} | {' | '.join(told)} |")
        if len(parts) > 1:
            lines += [
                f"| &nbsp; {part} | {_micro(parts[part], rows)} | | | | |"
                for part in (*_INSIDE, _REST)
                if part in parts
            ]
    return "\n".join([*lines, f"| **all** | {_micro(total, rows)} | | | | |"])


def _micro(seconds: float, rows: int) -> str:
    return f"{1e6 * seconds / rows:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.steps", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="NDJSON, such as benchmarks.generate makes")
    parser.add_argument("--rows", type=int, help="stop after so many rows; by default at the end of the file")
    parser.add_argument("--no-validate", action="store_false", dest="validate", help="without the shapes")
    parser.add_argument("--in-order", action="store_true", help="as for a small input: texts in order, nothing recurs")
    given = parser.parse_args()
    job = ExportJob("BENCH-ACCOUNT", "snowflake://BENCH-ACCOUNT/", validate=given.validate, in_order=given.in_order)
    with given.file.open(encoding="utf-8") as lines:
        rows, engine = run((line.rstrip("\n") for line in itertools.islice(lines, given.rows)), job)
    print(f"{rows:,} rows, CPU of one process\n\n{table(rows, engine)}")


if __name__ == "__main__":
    main()
