"""Which events may be sent at once: those that share nothing, and those that read the same thing.

Events are added in the order to send them in. One that writes what an earlier one reads or writes, or reads what an
earlier one writes, waits for it. So for each run, job and dataset the order holds, whatever each request takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

Json = dict[str, Any]


@dataclass(eq=False)
class Turn:
    """An event in the order: ``waits``: how many unfinished events it waits for; ``holds``: those that wait for it."""

    reads: frozenset[Hashable]
    writes: frozenset[Hashable]
    waits: int = 0
    holds: list[Turn] = field(default_factory=list)
    is_done: bool = False


@dataclass
class _Last:
    writer: Turn | None = None
    readers: list[Turn] = field(default_factory=list)


class Order:
    """The unfinished events, by the things that they read and write."""

    def __init__(self) -> None:
        self._last: dict[Hashable, _Last] = {}

    def add(self, turn: Turn) -> bool:
        """Adds an event after those that it must follow; returns whether it may be sent at once."""
        before: set[int] = set()
        for thing in turn.reads - turn.writes:
            last = self._last.setdefault(thing, _Last())
            self._follow(turn, [last.writer], before)
            last.readers.append(turn)
        for thing in turn.writes:
            last = self._last.setdefault(thing, _Last())
            self._follow(turn, last.readers or [last.writer], before)
            last.writer, last.readers = turn, []
        return turn.waits == 0

    @staticmethod
    def _follow(turn: Turn, others: Iterable[Turn | None], before: set[int]) -> None:
        for other in others:
            if other is not None and not other.is_done and id(other) not in before:
                before.add(id(other))
                other.holds.append(turn)
                turn.waits += 1

    def done(self, turn: Turn) -> list[Turn]:
        """Removes a finished event; returns those that may be sent now."""
        turn.is_done = True
        for thing in turn.reads | turn.writes:
            last = self._last.get(thing)
            if last is None:
                continue
            last.readers = [one for one in last.readers if one is not turn]
            last.writer = None if last.writer is turn else last.writer
            if last.writer is None and not last.readers:
                del self._last[thing]
        for one in turn.holds:
            one.waits -= 1
        return [one for one in turn.holds if one.waits == 0]


def turn_of(event: Json) -> Turn:
    """What an event writes: its dataset; or its run, job and outputs. What it reads: its inputs, parent and root."""
    if "run" not in event:
        thing = event.get("dataset") or event["job"]
        return Turn(frozenset(), frozenset([("dataset", thing["namespace"], thing["name"])]))
    job, parent = event["job"], event["run"].get("facets", {}).get("parent", {})
    writes = {("run", event["run"]["runId"]), ("job", job["namespace"], job["name"]), *_named(event, "outputs")}
    relatives = [one for one in (parent, parent.get("root")) if one]
    runs = {("run", one["run"]["runId"]) for one in relatives}
    jobs = {("job", one["job"]["namespace"], one["job"]["name"]) for one in relatives}
    return Turn(frozenset({*runs, *jobs, *_named(event, "inputs")} - writes), frozenset(writes))


def _named(event: Json, side: str) -> list[tuple[str, str, str]]:
    return [("dataset", one["namespace"], one["name"]) for one in event.get(side) or ()]
