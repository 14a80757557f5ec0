"""The push from its start to its exit code: its options, its work, its results, its messages. Start reading here."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TextIO

from exporter.backends.attempts import LONGEST_WAIT_ASKED, Attempts, Pace, Retries
from exporter.backends.backend import Backend, Client, client
from exporter.backends.delivery import Delivery
from exporter.backends.event import Json
from exporter.backends.fit import Fit
from exporter.backends.http import MARQUEZ_PATH, HttpSender
from exporter.backends.index import Index, require_events
from exporter.backends.ledger import SENDING, Delivered, Ledger
from exporter.backends.plan import Plan, PushCounts, Warn, duration, say
from exporter.backends.profiles import PushOptions, profile
from exporter.backends.secrecy import AnswerKind, BackendAnswer, Secrets
from exporter.backends.verify import Verification, Verified
from exporter.backends.verify_datahub import DataHubVerification
from exporter.backends.verify_marquez import MarquezVerification
from exporter.backends.verify_openmetadata import OpenMetadataVerification
from exporter.errors import ExporterError, UnreachableError, UsageError
from exporter.system import faults, progress
from exporter.system.progress import MINUTE
from exporter.system.terminal import bare, counted, print_result, visible

_ON_RECORD: Final = "what was delivered is recorded, and the next push continues from here"
_VERIFICATIONS: Final[dict[str | None, type[Verification]]] = {
    "marquez": MarquezVerification,
    "openmetadata": OpenMetadataVerification,
    "datahub": DataHubVerification,
}
"""The profiles whose backends can be read back."""
_LONG: Final = 3600.0
_FIRST_LOOK: Final = 5.0
_GAP: Final = 0.2
_NUMBERS: Final = re.compile(r"\d+")
_MOST_LOGS: Final = 20
"""The most different lines of libraries' logs that are shown."""


class PushProgress:
    """Shown on standard error during the push, if ``shows``: at any time if it is a terminal, else a line after each
    ``every`` seconds. ``warn``: receives a recommendation of ``--runs latest``, if ``advises``.
    """

    def __init__(self, warn: Warn, *, shows: bool, advises: bool, interval: float = MINUTE) -> None:
        is_open = shows and sys.stderr is not None  # None where it was closed before the start
        self._stream: TextIO = bare(sys.stderr) if is_open else io.StringIO()
        self._warn, self._shows, self._advises = warn, shows, advises
        self._begun, self._shown = time.monotonic(), 0.0
        self._interval, self._written = interval, self._begun

    def show(self, counts: PushCounts, index: Index) -> None:
        """Shows the events so far, their rate and the time left; warns once, on any output, if it will take hours."""
        now = time.monotonic()
        if now - self._shown < _GAP:
            return
        self._shown = now
        finished = counts.delivered + counts.set_aside
        remaining = counts.events - finished - counts.already_delivered
        rate = finished / max(now - self._begun, 1e-9)
        if self._advises and now - self._begun > _FIRST_LOOK and finished:
            self._advises = False
            if remaining / rate > _LONG:
                self.clear()
                needed = f"the {remaining:,} that are left take {duration(remaining / rate)}"
                self._warn(
                    f"at {rate:,.0f} events a second {needed}; --runs latest sends about {index.count_latest():,} for "
                    "the same lineage. Stop this push (Ctrl-C) and start it so: no event goes twice"
                )
        time_left = f", {duration(remaining / rate)} left" if rate else ""
        text = f"{finished:,} of {finished + remaining:,} events, {rate:,.0f} a second{time_left}"
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
        elif self._shows and now - self._written >= self._interval:
            self._written = now
            say(text)

    def clear(self) -> None:
        """Clears the line of a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def seconds(self) -> float:
        return time.monotonic() - self._begun


@dataclass(frozen=True)
class Pushed:
    """What a push did. ``counts``: of the events, over all backends. ``backends``: for each, what ``push/summary.json``
    says of it. ``interrupted``: by Ctrl-C. ``verified``: what the backends that were read back show.
    """

    counts: PushCounts
    backends: list[dict[str, Any]]
    interrupted: bool
    verified: list[Verified] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether every event was delivered, now or by an earlier push."""
        has_problem = any(backend["problem"] for backend in self.backends)
        return not (self.interrupted or self.counts.left or self.counts.set_aside or has_problem)

    def lines(self, folder: Path) -> Iterator[str]:
        """For people: where the events went, their counts, where to find those that were set aside, what was read
        back.
        """
        for backend in self.backends:
            yield f"To {backend['backend']} (profile {backend['profile']})"
        yield from _count_lines(asdict(self.counts))
        if self.counts.set_aside:
            yield f"What was set aside is in {folder / 'push'}, with the answers"
        for backend in self.backends:
            for text, count in list(backend["refusals"].items())[:5]:
                yield f"  {count:>10,}  {text}"
        for verified in self.verified:
            yield from verified.lines()
        if any(verified.listed for verified in self.verified):
            yield f"If a backend was emptied: remove {folder / 'push'}, which says what was delivered, and push again"


def _count_lines(counts: Json) -> Iterator[str]:
    for name, count in counts.items():
        yield f"  {name.replace('_', ' '):<18}{count:>12,}"


def preview(folder: Path, choices: PushOptions, *, as_json: bool) -> int:
    """Prints what a push would send and where to. Sends nothing, connects to nothing and writes nothing; so whether an
    address is that of a Marquez is not known. Raises UsageError as :func:`deliver`.
    """
    require_events(folder)
    settings, plans, lines = client(), list[Json](), list[str]()
    for target in settings.backends:
        target.check()
        name = choices.profile or target.profile
        plan = Plan(folder, choices, target.name, profile(name or "any"), settings.is_filtered)
        stage = progress.Progress().stage("counting the events")
        with stage, plan.index(Delivered(folder / "push" / target.folder), say):
            events, delivered = plan.counts.events, plan.counts.already_delivered
        if target.address and not name:
            say(f"{target.name}: if it answers as Marquez does, the push takes the profile marquez")
        would_send, counts = events - delivered, {"events": events, "already_delivered": delivered}
        about = {"backend": target.name, "profile": plan.rules.name, "would_send": would_send}
        plans.append({**about, **counts, "runs_left_out": plan.runs_left_out})
        lines.append(f"To {target.name} (profile {plan.rules.name})")
        lines += _count_lines({**counts, "would_send": would_send})
    lines.append("Nothing was sent: this was a dry run.")
    print(json.dumps(plans, indent=1) if as_json else "\n".join(map(visible, lines)))
    return 0


def push(folder: Path, choices: PushOptions, *, as_json: bool, sample: int | None = None) -> int:
    """Sends the events, prints the report, and returns the exit code: 3 where some were not delivered or could not be
    read back, 1 where some are missing in the backend, 130 after Ctrl-C. ``sample``: how many datasets, jobs and runs
    are read back, of each; None for nothing. Raises as :func:`deliver`.
    """
    pushed = deliver(folder, choices, say, sample=sample, shows=True)
    if as_json:
        read_back = {} if sample is None else {"verified": [verified.as_json() for verified in pushed.verified]}
        text = json.dumps({**asdict(pushed.counts), **read_back})
    else:
        text = "\n".join(map(visible, pushed.lines(folder)))
    print_result(text, f"the push has ended, and {folder / 'push'} has what was delivered")
    if pushed.interrupted:
        say(f"interrupted; {_ON_RECORD}")
        return 130
    if any(verified.listed for verified in pushed.verified):
        return 1
    is_read = sample is None or len(pushed.verified) == len(pushed.backends)
    return 0 if pushed.is_complete and is_read and not any(verified.stopped for verified in pushed.verified) else 3


def deliver(
    folder: Path, choices: PushOptions, warn: Warn, *, sample: int | None = None, shows: bool = False
) -> Pushed:
    """Sends the events of an export to all backends that are configured, and reads back a sample, None for nothing.
    ``warn``: receives what a person should know of the push, a line each. ``shows``: whether its progress is shown.

    Raises UsageError where the folder has no events, no backend is configured, one cannot be read back, or another push
    is running, and ExporterError for a fault of the program; what was delivered before is recorded.
    """
    require_events(folder)
    settings = client()
    pushes = [
        _Push(folder, choices, settings, backend, warn=warn, sample=sample, shows=shows)
        for backend in settings.backends
    ]
    for backend_push in pushes if sample else ():
        with _logs_as_messages(backend_push.secrets, warn):
            backend_push.require_api()
    finished, interrupted = list[_Push](), False
    for backend_push in pushes:
        with _logs_as_messages(backend_push.secrets, warn):
            interrupted = backend_push.run()
        finished.append(backend_push)
        if interrupted:
            break
    total = PushCounts(*map(sum, zip(*(astuple(backend_push.counts) for backend_push in finished), strict=True)))
    verified = [backend_push.verified for backend_push in finished if backend_push.verified]
    return Pushed(total, [backend_push.summary() for backend_push in finished], interrupted, verified)


class _Push:
    """The push to one backend."""

    def __init__(  # noqa: PLR0913 - what is sent, where, and who hears of it; callers give the last three by name
        self,
        folder: Path,
        choices: PushOptions,
        settings: Client,
        backend: Backend,
        *,
        warn: Warn,
        sample: int | None,
        shows: bool,
    ) -> None:
        self._folder, self._choices, self._settings, self._backend = folder, choices, settings, backend
        self._warn, self._shows = warn, shows
        self._sample = sample
        self._sender = backend.sender(choices.concurrency, choices.patience)
        self._profile = choices.profile or backend.profile
        self._unanswered: str | None = None
        self._problem: str | None = None
        self.verified: Verified | None = None

    def require_api(self) -> None:
        """Raises UsageError where the backend cannot be read back, and UnreachableError where it does not answer,
        before anything is sent.
        """
        sender = self._sender
        if isinstance(sender, HttpSender) and sender.is_at(MARQUEZ_PATH):
            with _faults_as_messages(self._backend.secrets):
                self._recognise()
        verification = _VERIFICATIONS.get(self._profile)
        if verification and isinstance(sender, HttpSender) and sender.is_at(verification.beside):
            return
        name = self._backend.name
        if self._unanswered:
            raise UnreachableError(f"{name} does not answer, so nothing was sent and nothing was read back")
        reason = f"its profile is {self._profile}" if self._profile else "it does not answer as Marquez does"
        if verification:
            reason = f"its address does not end with {verification.beside}, so where its API is is not known"
        raise UsageError(
            f"--verify reads back from Marquez, OpenMetadata and DataHub alone, and not from {name}: {reason}. "
            "Nothing was sent. Push without --verify (docs/openlineage.md says what cannot be read back)"
        )

    def _recognise(self) -> None:
        """Sets the profile, unless it is known, to that which the backend's answer shows, if any. One that does not
        answer is asked again as long as the user's patience lasts, and not before the time that it asks for. If it
        never answers, no event is sent: events for Marquez that are not sent as its own give runs other jobs, for good.
        """
        sender, patience, name = self._sender, self._choices.patience, self._backend.name
        if self._profile or not isinstance(sender, HttpSender):
            return
        retries, is_marquez = Retries(patience), sender.is_marquez()
        if isinstance(is_marquez, BackendAnswer) and patience:
            self._warn(f"{name} does not answer what it is; asking again for {duration(patience)} (--patience)")
        while isinstance(is_marquez, BackendAnswer):
            wait = retries.wait(replace(is_marquez, kind=AnswerKind.SILENT))
            if wait is None or wait > LONGEST_WAIT_ASKED:
                break
            time.sleep(wait)
            is_marquez = sender.is_marquez()
        if isinstance(is_marquez, BackendAnswer):
            self._unanswered = is_marquez.text
        elif is_marquez:
            self._warn(f"{name} answers as Marquez does: profile marquez (--profile any sends the events as they are)")
            self._profile = "marquez"

    @property
    def secrets(self) -> Secrets:
        return self._backend.secrets

    @property
    def counts(self) -> PushCounts:
        return self._plan.counts

    def run(self) -> bool:
        """Sends the events; returns whether a person interrupted it."""
        folder = self._folder / "push" / self._backend.folder
        with _faults_as_messages(self._backend.secrets), Ledger(folder) as ledger:
            self._recognise()  # with the ledger: a backend is not waited for without one
            rules = profile(self._profile or "any")
            self._plan = Plan(self._folder, self._choices, self._backend.name, rules, self._settings.is_filtered)
            add_facets = self._settings.with_facets if self._settings.adds_facets else None
            self._fit = Fit(rules, add_facets, self._plan.spelling)
            with self._plan.index(ledger, self._warn) as index:
                for mark in self._plan.again:  # so that a stopped push can continue
                    ledger.write(SENDING, mark)
                return self._send(index, ledger) or self._verify(index)

    def _send(self, index: Index, ledger: Ledger) -> bool:
        choices, interrupted = self._choices, False
        pace = Pace(choices.rate, choices.concurrency)
        attempts = Attempts(self._fit, self._sender, ledger, pace, choices.patience, self._say_silent)
        self._delivery = Delivery(index, attempts, ledger, pace, is_parallel=self._sender.parallel)
        self._progress = PushProgress(self._warn, shows=self._shows, advises=choices.runs == "all")
        try:
            if self._unanswered is None:
                self._delivery.run(self.counts, self._progress.show, choices.concurrency)
            else:
                self._delivery.send_nothing(
                    self.counts,
                    f"it does not answer what it is ({self._unanswered}), and Marquez gets events as its own alone. "
                    "--profile NAME sends them without asking",
                )
        except KeyboardInterrupt:
            interrupted = True
        finally:
            try:
                self._progress.clear()
                self._problem = self._sender.close()
            finally:
                ledger.close(self.summary())
        name, reason = self._backend.name, self._why()
        if reason and not interrupted:
            self._warn(f"{name} did not accept all events: {reason}; {self.counts.left:,} are left for the next push")
        if self._problem:
            self._warn(f"{name}: {self._problem}")
        if self._delivery.resent:
            self._warn(
                f"{counted(self._delivery.resent, 'delivered event was', 'delivered events were')} sent again: events "
                "that were set aside before, and are accepted now, belong before"
            )
        if self._delivery.reduced:
            self._warn(
                f"{counted(self._delivery.reduced, 'event was', 'events were')} sent without some parts, or not taken "
                "in full as far as is known: see reduced.ndjson in DIR/push"
            )
        return interrupted

    def _say_silent(self, reason: str) -> None:
        patience = self._choices.patience
        retrying = f"; trying again for {duration(patience)} (--patience)" if patience else ""
        self._warn(f"{self._backend.name} does not answer ({reason}){retrying}")

    def _why(self) -> str | None:
        """Why the push ended before all events were sent."""
        fault = self._delivery.fault
        return f"a fault of the program: {_described(fault, self._backend.secrets)}" if fault else self._delivery.why

    def _verify(self, index: Index) -> bool:
        """Reads back what was sent, where that is asked for; returns whether a person interrupted it."""
        name, choices, sender = self._backend.name, self._choices, self._sender
        if self._sample is None or not isinstance(sender, HttpSender):
            return False
        if self._delivery.why:
            self._warn(f"{name} was not read back, since the push ended before all events were sent")
            return False
        delivered = Delivered(self._folder / "push" / self._backend.folder)
        verification = _VERIFICATIONS[self._profile](index, self._fit, delivered, self._sample)
        pace = Pace(choices.rate, choices.concurrency)
        try:
            self.verified = verification.run(name, sender, pace, choices.patience, choices.concurrency)
        except KeyboardInterrupt:
            return True
        return False

    def summary(self) -> Json:
        """The push in numbers, for ``summary.json``."""
        seconds = self._progress.seconds()
        return {
            "backend": self._backend.name,
            "profile": self._plan.rules.name,
            **asdict(self.counts),
            "runs_left_out": self._plan.runs_left_out,
            "sent_again": self._plan.sent_again,
            "moved": self._plan.moved,
            "reduced": self._delivery.reduced,
            "seconds": round(seconds, 1),
            "events_a_second": round(self.counts.delivered / seconds, 1) if seconds else None,
            "refusals": dict(self._delivery.refusals.most_common(20)),
            "stopped": self._why(),
            "problem": self._problem,
        }


@contextmanager
def _faults_as_messages(secrets: Secrets) -> Iterator[None]:
    """Turns faults into messages for people, and hides secrets in them: a fault can repeat a token or an address. It is
    no fault where the reader of our output is gone (a closed pipe).
    """
    try:
        yield
    except (ExporterError, BrokenPipeError):
        raise
    except Exception as fault:  # of any kind: its message may hold a secret; reported or raised again below
        if os.environ.get("EXPORTER_DEBUG"):
            raise
        message = faults.words(fault, _ON_RECORD)
        if message:
            raise faults.kind(fault)(secrets.masked(message)) from fault
        raise ExporterError(
            f"a fault of the program: {_described(fault, secrets)}; {_ON_RECORD}\n"
            "  Set EXPORTER_DEBUG=1 to see where, and please report it."
        ) from fault


@contextmanager
def _logs_as_messages(secrets: Secrets, warn: Warn) -> Iterator[None]:
    """Gives ``warn`` what libraries log, such as the client's transports, as any foreign text. Where nobody has set up
    logging, Python would print it as it is. What is logged again and again, with other numbers at most, is shown once.
    """
    shown_kinds: set[str] = set()

    class _Messages(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info and record.exc_info[1]
            text = f"{record.getMessage()} {error}" if error else record.getMessage()
            kind = _NUMBERS.sub("", text)
            if kind not in shown_kinds and len(shown_kinds) < _MOST_LOGS:
                shown_kinds.add(kind)
                warn(f"{record.name}: {secrets.shown(text)}")

    former, logging.lastResort = logging.lastResort, _Messages(logging.WARNING)
    try:
        yield
    finally:
        logging.lastResort = former


def _described(fault: Exception, secrets: Secrets) -> str:
    return f"{type(fault).__name__}: {secrets.shown(str(fault))}"
