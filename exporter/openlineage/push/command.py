"""The push from its start to its exit code: its options, its work, its results, its messages. Start reading here."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TextIO

from exporter.errors import ExporterError, UsageError
from exporter.openlineage.push.backend import Backend, Client, client
from exporter.openlineage.push.delivery import Attempts, Delivery
from exporter.openlineage.push.fit import Fit
from exporter.openlineage.push.http import shortened
from exporter.openlineage.push.index import Index, require_events
from exporter.openlineage.push.ledger import SENDING, Ledger
from exporter.openlineage.push.order import Pace
from exporter.openlineage.push.profiles import LETTER_CASES, Profile, leaves_out, profile
from exporter.openlineage.push.spelling import Spelling
from exporter.system import faults
from exporter.system.progress import MINUTE
from exporter.system.terminal import bare, message, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from exporter.openlineage.push.http import Secrets

RUNS: Final = ("all", "latest")
MOST_AT_ONCE: Final = 256
LONGEST_PATIENCE: Final = 86_400


@dataclass(frozen=True)
class Choices:
    """``runs``: ``all``, or the ``latest`` of each job. ``profile``: the backend's rules, None to choose by the
    address. ``letter_case`` of the names of Snowflake's objects and columns: ``lower``, or ``keep`` as they were
    exported; None for the profile's default. ``concurrency``: the most events at once. ``rate``: the most events a
    second, None for no limit. ``patience``: the seconds for which an event is tried again while the backend does not
    answer, so that a backend may be started again during a push.
    """

    runs: str = "all"
    profile: str | None = None
    letter_case: str | None = None
    concurrency: int = 8
    rate: float | None = None
    patience: float = 60.0

    def __post_init__(self) -> None:
        """Raises UsageError for an invalid value."""
        if self.profile is not None:
            profile(self.profile)
        if self.runs not in RUNS:
            raise UsageError(f"push.runs must be {' or '.join(RUNS)}, and is {self.runs!r}")
        if self.letter_case is not None and self.letter_case not in LETTER_CASES:
            raise UsageError(f"push.letter_case must be {' or '.join(LETTER_CASES)}, and is {self.letter_case!r}")
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            raise UsageError(f"push.concurrency must be from 1 to {MOST_AT_ONCE}, and is {self.concurrency}")
        if self.rate is not None and not 0 < self.rate < 1e6:
            raise UsageError(f"push.rate must be more than 0 events a second, and is {self.rate:g}")
        if not 0 <= self.patience <= LONGEST_PATIENCE:
            raise UsageError(f"push.patience must be from 0 to {LONGEST_PATIENCE} seconds, and is {self.patience:g}")


@dataclass
class Counts:
    """``events = delivered + already_delivered + set_aside + left``."""

    events: int = 0
    delivered: int = 0
    already_delivered: int = 0
    set_aside: int = 0
    left: int = 0


_LONG: Final = 3600.0
_FIRST_LOOK: Final = 5.0
_GAP: Final = 0.2


class Progress:
    """Shown on ``stream`` during the push: at any time if it is a terminal, else a line after each ``every`` seconds.
    ``advises``: whether to recommend ``--runs latest``.
    """

    def __init__(self, stream: TextIO | None = None, *, advises: bool, every: float = MINUTE) -> None:
        self._stream = stream or bare(sys.stderr or io.StringIO())  # None where it was closed before the start
        self._advises, self._begun, self._shown = advises, time.monotonic(), 0.0
        self._every, self._written = every, self._begun

    def show(self, counts: Counts, index: Index) -> None:
        """Shows the events so far, their rate and the time left; warns once, on any output, if it will take hours."""
        now = time.monotonic()
        if now - self._shown < _GAP:
            return
        self._shown = now
        gone = counts.delivered + counts.set_aside
        rest = counts.events - gone - counts.already_delivered
        rate = gone / max(now - self._begun, 1e-9)
        if self._advises and now - self._begun > _FIRST_LOOK and gone:
            self._advise(rest, rate, index)
        left = f", {duration(rest / rate)} left" if rate else ""
        text = f"{gone:,} of {gone + rest:,} events, {rate:,.0f} a second{left}"
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
        elif now - self._written >= self._every:
            self._written = now
            say(text)

    def _advise(self, rest: int, rate: float, index: Index) -> None:
        self._advises = False
        if rest / rate > _LONG:
            self.clear()
            few = index.count_latest()
            say(
                f"at {rate:,.0f} events a second the {rest:,} that are left take {duration(rest / rate)}; "
                f"--runs latest sends about {few:,} for the same lineage. Stop this push (Ctrl-C) and start it "
                "so: no event goes twice"
            )

    def clear(self) -> None:
        """Clears the line of a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def seconds(self) -> float:
        return time.monotonic() - self._begun


def duration(seconds: float) -> str:
    """``3 h 20 min``, ``12 min``, ``40 s``."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60:,} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{rest} s"


def say(text: str) -> None:
    """Writes a line to standard error."""
    print(f"exporter: {message(text)}", file=sys.stderr)


def summary(counts: Counts, told: Iterable[dict[str, Any]], folder: Path) -> str:
    """The counts, one in each line, and where to find the events that were set aside."""
    rows = [f"  {name.replace('_', ' '):<18}{count:>12,}" for name, count in asdict(counts).items()]
    aside = [f"What was set aside is in {folder / 'push'}, with the answers"] if counts.set_aside else []
    reasons = [f"  {count:>10,}  {text}" for one in told for text, count in list(one["refusals"].items())[:5]]
    return "\n".join(map(visible, [*rows, *aside, *reasons]))


Json = dict[str, Any]
_ON_RECORD: Final = "what was delivered is recorded, and the next push continues from here"
_PAUSE: Final = 0.5
"""Seconds between two questions to a backend that does not answer what it is."""
_MOST_UNFIT: Final = 10_000
"""The most datasets that are counted."""


@dataclass(frozen=True)
class Pushed:
    """What a push did. ``counts``: of the events, over all backends. ``backends``: for each, what ``push/summary.json``
    says of it. ``interrupted``: by Ctrl-C.
    """

    counts: Counts
    backends: list[dict[str, Any]]
    interrupted: bool

    @property
    def is_complete(self) -> bool:
        """Whether every event was delivered, now or by an earlier push."""
        has_problem = any(backend["problem"] for backend in self.backends)
        return not (self.interrupted or self.counts.left or self.counts.set_aside or has_problem)


def push(folder: Path, choices: Choices, *, as_json: bool) -> int:
    """Sends the events, prints the report, and returns the exit code: 3 where some were not delivered, 130 after
    Ctrl-C. Raises as :func:`deliver`.
    """
    pushed = deliver(folder, choices)
    print(json.dumps(asdict(pushed.counts)) if as_json else summary(pushed.counts, pushed.backends, folder))
    if pushed.interrupted:
        say(f"interrupted; {_ON_RECORD}")
        return 130
    return 0 if pushed.is_complete else 3


def deliver(folder: Path, choices: Choices) -> Pushed:
    """Sends the events of an export to all backends that are configured.

    Raises UsageError where the folder has no events, no backend is configured, or another push is running, and
    ExporterError for a fault of the program; what was delivered before is recorded.
    """
    require_events(folder)
    settings = client(choices.concurrency, choices.patience)
    total, backends, interrupted = Counts(), list[dict[str, Any]](), False
    for backend in settings.backends:
        one = _Push(folder, choices, settings, backend)
        interrupted = one.run()
        backends.append(one.summary())
        for name, count in asdict(one.counts).items():
            setattr(total, name, getattr(total, name) + count)
        if interrupted:
            break
    return Pushed(total, backends, interrupted)


class _Push:
    """The push to one backend."""

    def __init__(self, folder: Path, choices: Choices, settings: Client, backend: Backend) -> None:
        self._folder, self._choices, self._settings, self._backend = folder, choices, settings, backend
        self._patience = choices.patience
        self._unfit: dict[tuple[str, str], str] = {}
        self.counts, self._sent_again, self._runs_left_out = Counts(), 0, 0
        self._problem: str | None = None
        self._moved = 0

    def _recognised(self) -> str | None:
        """The profile that the backend's answer shows; None where it shows none. One that does not answer is asked
        again as long as the user's patience lasts: events for Marquez that are not sent as its own would give runs
        other jobs. If it never answers, the events are not waited for once more.
        """
        backend, patience = self._backend, self._patience
        until, is_marquez = time.monotonic() + patience, backend.sender.is_marquez()
        if is_marquez is None and patience:
            say(f"{backend.name} does not answer what it is; asking again for {duration(patience)} (--patience)")
        while is_marquez is None and time.monotonic() < until:
            time.sleep(min(_PAUSE, patience))
            is_marquez = backend.sender.is_marquez()
        if is_marquez is None:
            self._patience = 0
        if not is_marquez:
            return None
        say(f"{backend.name} answers as Marquez does: profile marquez (--profile any sends the events as they are)")
        return "marquez"

    def run(self) -> bool:
        """Sends the events; returns whether a person interrupted it."""
        with _faults_in_words(self._backend.secrets):
            ledger = Ledger(self._folder / "push" / self._backend.folder)  # a backend is not waited for without one
            choices, backend = self._choices, self._backend
            try:
                self._rules = profile(choices.profile or backend.profile or self._recognised() or "any")
                self._spelling = Spelling(_is_lower(choices, self._rules), self._rules.urns, self._rules.plain_names)
                with Index(self._folder, self._left_out) as index:
                    self._plan(index, ledger)
                    return self._send(index, ledger)
            finally:
                ledger.release()

    def _plan(self, index: Index, ledger: Ledger) -> None:
        for what, count in index.left_out.items():
            say(f"{self._backend.name}: {count:,} {what} are not sent (profile {self._rules.name})")
        self._say_unfit()
        if self._choices.runs == "latest":
            self._runs_left_out = index.choose_latest()
            say(f"--runs latest leaves out {self._runs_left_out:,} runs that a later run of the same job follows")
        self.counts.events = index.count()
        if self._rules.keeps_versions:
            index.know(ledger.runs())
        self.counts.already_delivered = index.settle(ledger.taken())
        if self.counts.already_delivered:
            self._send_again(index, ledger)
        if self._rules.keeps_versions:
            self._say_moved(index.moved(ledger.places()))
        self._sent_again = len(ledger.unfinished)
        if self._sent_again:
            say(f"{self._sent_again:,} events were being sent when the last push ended; they may arrive twice")

    def _say_moved(self, runs: int) -> None:
        self._moved = runs
        if runs:
            say(
                f"{self._backend.name}: runs with another job than when they were delivered, since rows came late: "
                f"{runs:,}. It keeps each at the job that it had first"
            )

    def _left_out(self, event: Json) -> str | None:
        """Why an event is not sent, None if it is; notes datasets of events to be sent that have unusable names."""
        if "run" in event and self._settings.is_filtered(event["job"]["name"]):
            return "events of jobs that the client's filters leave out"
        why = leaves_out(event, self._rules)
        if why is not None:
            return why
        unfit = self._spelling.unfit(event)
        if len(self._unfit) < _MOST_UNFIT:
            self._unfit |= unfit
        return "events of datasets that the backend cannot hold" if unfit and "dataset" in event else None

    def _say_unfit(self) -> None:
        if self._unfit:
            (_, name), why = next(iter(self._unfit.items()))
            datasets = "1 dataset" if len(self._unfit) == 1 else f"{len(self._unfit):,} datasets"
            say(
                f"{self._backend.name}: {datasets} left out of the events (profile {self._rules.name}), such as "
                f"{name}: {why}. see reduced.ndjson in DIR/push for the events"
            )

    def _send_again(self, index: Index, ledger: Ledger) -> None:
        """Records that delivered events are sent again, before that begins, so that a stopped push can continue."""
        marks, self.counts.already_delivered = index.send_again(ledger.refused)
        for mark in marks:
            ledger.write(SENDING, mark)
        if marks:
            say(f"{len(marks):,} delivered events are sent again: events that come late belong before them")

    def _send(self, index: Index, ledger: Ledger) -> bool:
        choices, backend = self._choices, self._backend
        dress = self._settings.with_facets if self._settings.adds_facets else None
        pace = Pace(choices.rate, choices.concurrency)
        fit = Fit(self._rules, dress, self._spelling)
        attempts = Attempts(fit, backend.sender, ledger, pace, self._patience, self._say_silent)
        self._delivery = Delivery(index, attempts, ledger, pace, is_parallel=backend.sender.parallel)
        self._progress, interrupted = Progress(advises=choices.runs == "all"), False
        try:
            self._delivery.run(self.counts, self._progress, choices.concurrency)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._close(ledger)
        self._say_why(interrupted=interrupted)
        return interrupted

    def _say_silent(self, why: str) -> None:
        again = f"; trying again for {duration(self._patience)} (--patience)" if self._patience else ""
        say(f"{self._backend.name} does not answer ({why}){again}")

    def _close(self, ledger: Ledger) -> None:
        """Closes the sender and the ledger; the ledger also where closing the sender fails."""
        try:
            self._progress.clear()
            self._problem = self._backend.sender.close()
        finally:
            ledger.close(self.summary())

    def _say_why(self, *, interrupted: bool) -> None:
        if self._delivery.why and not interrupted:
            why = self._backend.secrets.hide(self._delivery.why)
            say(
                f"{self._backend.name} did not accept all events: {why}; {self.counts.left:,} are left for the next "
                "push"
            )
        if self._problem:
            say(f"{self._backend.name}: {self._problem}")
        if self._delivery.reduced:
            say(f"{self._delivery.reduced:,} events were sent without some parts: see reduced.ndjson in DIR/push")

    def summary(self) -> Json:
        """The push in numbers, for ``summary.json``."""
        seconds = self._progress.seconds()
        return {
            "backend": self._backend.name,
            "profile": self._rules.name,
            **asdict(self.counts),
            "runs_left_out": self._runs_left_out,
            "sent_again": self._sent_again,
            "moved": self._moved,
            "reduced": self._delivery.reduced,
            "seconds": round(seconds, 1),
            "events_a_second": round(self.counts.delivered / seconds, 1) if seconds else None,
            "refusals": dict(self._delivery.refusals.most_common(20)),
            "stopped": self._delivery.why and self._backend.secrets.hide(self._delivery.why),
            "problem": self._problem,
        }


@contextmanager
def _faults_in_words(secrets: Secrets) -> Iterator[None]:
    """Turns faults into messages for people, and hides secrets in them: a fault can repeat a token or an address. It is
    no fault where nobody reads our output any more (a closed pipe).
    """
    try:
        yield
    except (ExporterError, BrokenPipeError):
        raise
    except Exception as fault:  # of any kind: its message may hold a secret; reported or raised again below
        if os.environ.get("EXPORTER_DEBUG"):
            raise
        around = faults.words(fault, _ON_RECORD)
        if around:
            raise ExporterError(secrets.hide(around)) from fault
        words = shortened(secrets.hide(f"{type(fault).__name__}: {fault}"))
        raise ExporterError(
            f"a fault of the program: {words}; {_ON_RECORD}\n  Set EXPORTER_DEBUG=1 to see where, and please report it."
        ) from fault


def _is_lower(choices: Choices, rules: Profile) -> bool:
    return rules.lower_case if choices.letter_case is None else choices.letter_case == "lower"
