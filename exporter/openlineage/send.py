"""``exporter push``: the events of a folder to the backend that the OpenLineage client is set up for.

The client's own settings and transports are used (``openlineage.yml``, ``OPENLINEAGE_URL``, …); events go one after the
other, those of datasets first and then oldest first, because backends take the last to arrive for the present. What was
delivered is written down in ``DIR/push``, so that a push that was stopped goes on where it was, and a second one sends
nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from openlineage.client import OpenLineageClient
from requests.exceptions import ConnectionError as NoConnection
from requests.exceptions import HTTPError, Timeout

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openlineage.client.transport import Transport
    from requests import Response

TRIES: Final = 4
LONGEST_WAIT: Final = 60.0
"""Seconds that a Retry-After is honoured for at most."""
_AGAIN: Final = (429, 502, 503, 504)
"""Answers after which the same event may be taken. A 500 is tried once more only: backends say it to events that they
will never take."""


@dataclass
class Counts:
    """``events = delivered + already_delivered + set_aside + left``."""

    events: int = 0
    delivered: int = 0
    already_delivered: int = 0
    set_aside: int = 0
    left: int = 0


@dataclass(frozen=True, order=True)
class Event:
    """One line of a file, by what it is sent in the order of: datasets first, time, START before the end."""

    is_run: bool
    time: str
    is_end: bool
    line: str


class UnreachableError(Exception):
    """The backend does not answer; what is left stays for the next push."""


def push(folder: Path, *, runs: str, as_json: bool) -> int:
    """Send, report, and return the exit code: 3 where not all was taken. ``runs``: ``all``, or ``latest`` of each job.

    Raises UsageError where the folder holds no events, or no backend is set up.
    """
    events = sorted(_read(folder))
    chosen, left_out = (events, 0) if runs == "all" else _latest(events)
    if left_out:
        _say(f"--runs latest leaves out {left_out:,} runs that a later run of the same job follows")
    transport = _transport()
    counts = _send(chosen, transport, _Ledger(folder / "push", transport))
    print(json.dumps(asdict(counts)) if as_json else _summary(counts, folder))
    return 3 if counts.left or counts.set_aside else 0


def _read(folder: Path) -> Iterator[Event]:
    files = sorted((folder / "events").glob("*.ndjson"))
    if not files:
        raise UsageError(
            f"{folder}: holds no events; give the folder that exporter export wrote, with events among its outputs"
        )
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            yield Event("run" in event, event["eventTime"], event.get("eventType") != "START", line)


def _latest(events: list[Event]) -> tuple[list[Event], int]:
    """The events of datasets and of the latest run of each job, and the number of runs that this leaves out."""
    run_of_job: dict[tuple[str, str], str] = {}
    runs = set()
    for event in events:
        if event.is_run:
            told = json.loads(event.line)
            runs.add(told["run"]["runId"])
            run_of_job[told["job"]["namespace"], told["job"]["name"]] = told["run"]["runId"]
    kept = set(run_of_job.values())
    chosen = [event for event in events if not event.is_run or json.loads(event.line)["run"]["runId"] in kept]
    return chosen, len(runs - kept)


def _transport() -> Transport:
    """The transport that the client's settings name; none at all is an error, and not the client's silence."""
    try:
        client = OpenLineageClient()
    except Exception as error:  # noqa: BLE001 - the client raises what its transports raise, bare KeyErrors among it
        raise UsageError(f"the OpenLineage client's settings cannot be used: {type(error).__name__}: {error}") from None
    named = client.config.transport and client.config.transport.get("type")
    if not named and not os.environ.get("OPENLINEAGE_URL"):
        raise UsageError(
            "no backend is set up. Set OPENLINEAGE_URL (and OPENLINEAGE_API_KEY where it asks for one), or write an "
            "openlineage.yml with a transport: see https://openlineage.io/docs/client/python/configuration"
        )
    return client.transport


class _Ledger:
    """What this backend was given, one fingerprint of an event a line; a torn last line is sent again."""

    def __init__(self, folder: Path, transport: Transport) -> None:
        folder.mkdir(exist_ok=True)
        where = f"{transport.kind} {getattr(transport, 'url', '')} {getattr(transport, 'endpoint', '')}"
        name = hashlib.sha256(where.encode()).hexdigest()[:16]
        self._delivered, self._aside = folder / f"delivered-{name}.txt", folder / f"set-aside-{name}.ndjson"
        known = self._delivered.read_text(encoding="ascii").splitlines() if self._delivered.exists() else []
        self.known = set(known)
        self._aside.unlink(missing_ok=True)

    @staticmethod
    def mark(event: Event) -> str:
        """An event's fingerprint."""
        return hashlib.sha256(event.line.encode()).hexdigest()

    def deliver(self, event: Event) -> None:
        """Write down that the event was taken."""
        with self._delivered.open("a", encoding="ascii") as file:
            file.write(f"{self.mark(event)}\n")

    def set_aside(self, event: Event, answer: str) -> None:
        """Keep an event that the backend refuses, with its answer."""
        with self._aside.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"answer": answer, "event": json.loads(event.line)}) + "\n")


def _send(events: list[Event], transport: Transport, ledger: _Ledger) -> Counts:
    counts = Counts(events=len(events))
    for number, event in enumerate(events):
        if ledger.mark(event) in ledger.known:
            counts.already_delivered += 1
            continue
        try:
            refused = _deliver(event, transport)
        except UnreachableError as error:
            counts.left = len(events) - number - _delivered_later(events[number:], ledger)
            counts.already_delivered += _delivered_later(events[number:], ledger)
            _say(f"the backend does not answer ({error}); {counts.left:,} events are left for the next push")
            return counts
        if refused is None:
            ledger.deliver(event)
            counts.delivered += 1
        else:
            ledger.set_aside(event, refused)
            counts.set_aside += 1
    transport.close()
    return counts


def _delivered_later(events: list[Event], ledger: _Ledger) -> int:
    return Counter(ledger.mark(event) in ledger.known for event in events)[True]


def _deliver(event: Event, transport: Transport) -> str | None:
    """Send one event, again where that may help; returns the backend's refusal, None if it took it."""
    for attempt in range(1, TRIES + 1):
        try:
            transport.emit(json.loads(event.line))
        except HTTPError as error:
            response = cast("Response", error.response)
            status, answer = response.status_code, f"{response.status_code} {response.text[:500]}"
            if status not in _AGAIN and not (status == 500 and attempt == 1):
                return answer
            if attempt == TRIES:
                raise UnreachableError(answer[:100]) from None
            time.sleep(_wait(attempt, response.headers.get("Retry-After")))
        except (NoConnection, Timeout) as error:
            if attempt == TRIES:
                raise UnreachableError(type(error).__name__) from None
            time.sleep(_wait(attempt, None))
        else:
            return None
    raise UnreachableError("no answer")


def _wait(attempt: int, retry_after: str | None) -> float:
    if retry_after and retry_after.isdigit():
        return min(float(retry_after), LONGEST_WAIT)
    return 0.25 * 2.0**attempt


def _summary(counts: Counts, folder: Path) -> str:
    rows: dict[str, Any] = asdict(counts)
    lines = [f"  {name.replace('_', ' '):<18}{count:>12,}" for name, count in rows.items()]
    aside = [f"What was refused is in {folder}/push, with the backend's answers"] if counts.set_aside else []
    return "\n".join([*lines, *aside])


def _say(text: str) -> None:
    print(f"exporter: {text}", file=sys.stderr)
