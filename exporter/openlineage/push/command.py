"""The push from its start to its exit code: its options, its work, its results, its messages. Start reading here."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TextIO

from exporter.errors import ExporterError, SilentError, UsageError
from exporter.openlineage.push.answers import shortened
from exporter.openlineage.push.backend import Backend, Client, client
from exporter.openlineage.push.delivery import Attempts, Delivery
from exporter.openlineage.push.fit import Fit
from exporter.openlineage.push.http import MARQUEZ_PATH, HttpSender
from exporter.openlineage.push.index import Index, require_events
from exporter.openlineage.push.ledger import SENDING, Delivered, Ledger
from exporter.openlineage.push.order import Pace
from exporter.openlineage.push.plan import Counts, Plan, duration, say
from exporter.openlineage.push.profiles import Choices, profile
from exporter.openlineage.push.verify_datahub import DataHubVerification
from exporter.openlineage.push.verify_marquez import MarquezVerification
from exporter.openlineage.push.verify_openmetadata import OpenMetadataVerification
from exporter.system import faults, progress
from exporter.system.progress import MINUTE
from exporter.system.terminal import bare, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporter.openlineage.push.answers import Secrets
    from exporter.openlineage.push.verify import Verification, Verified

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
        finished = counts.delivered + counts.set_aside
        remaining = counts.events - finished - counts.already_delivered
        rate = finished / max(now - self._begun, 1e-9)
        if self._advises and now - self._begun > _FIRST_LOOK and finished:
            self._advise(remaining, rate, index)
        time_left = f", {duration(remaining / rate)} left" if rate else ""
        text = f"{finished:,} of {finished + remaining:,} events, {rate:,.0f} a second{time_left}"
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
            latest = index.count_latest()
            say(
                f"at {rate:,.0f} events a second the {rest:,} that are left take {duration(rest / rate)}; "
                f"--runs latest sends about {latest:,} for the same lineage. Stop this push (Ctrl-C) and start it "
                "so: no event goes twice"
            )

    def clear(self) -> None:
        """Clears the line of a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def seconds(self) -> float:
        return time.monotonic() - self._begun


def summary(counts: Counts, backends: Sequence[dict[str, Any]], folder: Path) -> str:
    """Where the events went, their counts, one in each line, and where to find those that were set aside."""
    targets = [f"To {backend['backend']} (profile {backend['profile']})" for backend in backends]
    rows = [f"  {name.replace('_', ' '):<18}{count:>12,}" for name, count in asdict(counts).items()]
    set_aside = [f"What was set aside is in {folder / 'push'}, with the answers"] if counts.set_aside else []
    reasons = [
        f"  {count:>10,}  {text}" for backend in backends for text, count in list(backend["refusals"].items())[:5]
    ]
    return "\n".join(map(visible, [*targets, *rows, *set_aside, *reasons]))


Json = dict[str, Any]
_ON_RECORD: Final = "what was delivered is recorded, and the next push continues from here"
_VERIFICATIONS: Final[dict[str, type[Verification]]] = {
    "marquez": MarquezVerification,
    "openmetadata": OpenMetadataVerification,
    "datahub": DataHubVerification,
}
"""The profiles whose backends can be read back."""
_PAUSE: Final = 0.5
"""Seconds between two questions to a backend that does not show yet whether it is a Marquez."""


@dataclass(frozen=True)
class Pushed:
    """What a push did. ``counts``: of the events, over all backends. ``backends``: for each, what ``push/summary.json``
    says of it. ``interrupted``: by Ctrl-C. ``verified``: what the backends that were read back show.
    """

    counts: Counts
    backends: list[dict[str, Any]]
    interrupted: bool
    verified: list[Verified] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether every event was delivered, now or by an earlier push."""
        has_problem = any(backend["problem"] for backend in self.backends)
        return not (self.interrupted or self.counts.left or self.counts.set_aside or has_problem)


def preview(folder: Path, choices: Choices, *, as_json: bool) -> int:
    """Prints what a push would send and where to. Sends nothing, connects to nothing and writes nothing; so whether an
    address is that of a Marquez is not known. Raises UsageError as :func:`deliver`.
    """
    require_events(folder)
    settings = client()
    plans = []
    for target in settings.backends:
        rules = profile(choices.profile or target.profile or "any")
        plan = Plan(folder, choices, target.name, rules, settings.is_filtered)
        with progress.Progress().stage("counting the events"), plan.index() as index:
            plan.mark_delivered(index, Delivered(folder / "push" / target.folder))
        if target.address and not (choices.profile or target.profile):
            say(f"{target.name}: if it answers as Marquez does, the push takes the profile marquez")
        plan.counts.left = plan.counts.events - plan.counts.already_delivered
        plans.append(
            {"backend": target.name, "profile": rules.name, "would_send": plan.counts.left, **_plan_counts(plan)}
        )
    print(json.dumps(plans, indent=1) if as_json else "\n".join(map(visible, _preview_lines(plans))))
    return 0


def _plan_counts(plan: Plan) -> Json:
    return {
        "events": plan.counts.events,
        "already_delivered": plan.counts.already_delivered,
        "runs_left_out": plan.runs_left_out,
    }


def _preview_lines(plans: list[Json]) -> Iterator[str]:
    for plan in plans:
        yield f"To {plan['backend']} (profile {plan['profile']})"
        for name in ("events", "already_delivered", "would_send"):
            yield f"  {name.replace('_', ' '):<18}{plan[name]:>12,}"
    yield "Nothing was sent: this was a dry run."


def push(folder: Path, choices: Choices, *, as_json: bool, sample: int | None = None) -> int:
    """Sends the events, prints the report, and returns the exit code: 3 where some were not delivered or could not be
    read back, 1 where some are missing in the backend, 130 after Ctrl-C. ``sample``: how many datasets, jobs and runs
    are read back, of each; None for nothing. Raises as :func:`deliver`.
    """
    pushed = deliver(folder, choices, sample)
    if as_json:
        read_back = {} if sample is None else {"verified": [verified.as_json() for verified in pushed.verified]}
        print(json.dumps({**asdict(pushed.counts), **read_back}))
    else:
        lines = [line for verified in pushed.verified for line in verified.lines()]
        print("\n".join((summary(pushed.counts, pushed.backends, folder), *map(visible, lines))))
    if pushed.interrupted:
        say(f"interrupted; {_ON_RECORD}")
        return 130
    if any(verified.listed for verified in pushed.verified):
        return 1
    is_read = sample is None or len(pushed.verified) == len(pushed.backends)
    return 0 if pushed.is_complete and is_read and not any(verified.stopped for verified in pushed.verified) else 3


def deliver(folder: Path, choices: Choices, sample: int | None = None) -> Pushed:
    """Sends the events of an export to all backends that are configured, and reads back a sample, None for nothing.

    Raises UsageError where the folder has no events, no backend is configured, one cannot be read back, or another push
    is running, and ExporterError for a fault of the program; what was delivered before is recorded.
    """
    require_events(folder)
    settings = client()
    pushes = [_Push(folder, choices, settings, backend, sample) for backend in settings.backends]
    for backend_push in pushes if sample else ():
        backend_push.require_api()
    finished, interrupted = list[_Push](), False
    for backend_push in pushes:
        interrupted = backend_push.run()
        finished.append(backend_push)
        if interrupted:
            break
    total = Counts()
    for backend_push in finished:
        for name, count in asdict(backend_push.counts).items():
            setattr(total, name, getattr(total, name) + count)
    verified = [backend_push.verified for backend_push in finished if backend_push.verified]
    return Pushed(total, [backend_push.summary() for backend_push in finished], interrupted, verified)


class _Push:
    """The push to one backend."""

    def __init__(
        self, folder: Path, choices: Choices, settings: Client, backend: Backend, sample: int | None = None
    ) -> None:
        self._folder, self._choices, self._settings, self._backend = folder, choices, settings, backend
        self._patience, self._sample = choices.patience, sample
        self._sender = backend.sender(choices.concurrency, choices.patience)
        self._problem: str | None = None
        self._known_profile: str | None = None
        self._is_silent = False
        self.verified: Verified | None = None

    def require_api(self) -> None:
        """Raises UsageError where the backend cannot be read back, and SilentError where it does not answer,
        before anything is sent.
        """
        backend, choices, sender = self._backend, self._choices, self._sender
        can_ask = isinstance(sender, HttpSender) and sender.is_at(MARQUEZ_PATH)
        with _faults_as_messages(backend.secrets):
            self._known_profile = (
                choices.profile or backend.profile or (self._recognised_profile() if can_ask else None)
            )
        verification = _VERIFICATIONS.get(self._known_profile or "")
        if verification and isinstance(sender, HttpSender) and sender.is_at(verification.beside):
            return
        if self._is_silent:
            raise SilentError(f"{backend.name} does not answer, so nothing was sent and nothing was read back")
        why = f"its profile is {self._known_profile}" if self._known_profile else "it does not answer as Marquez does"
        if verification:
            why = f"its address does not end with {verification.beside}, so where its API is is not known"
        raise UsageError(
            f"--verify reads back from Marquez, OpenMetadata and DataHub alone, and not from {backend.name}: {why}. "
            "Nothing was sent. Push without --verify (docs/openlineage.md says what cannot be read back)"
        )

    @property
    def counts(self) -> Counts:
        return self._plan.counts

    def _recognised_profile(self) -> str | None:
        """The profile that the backend's answer shows; None where it shows none. One that does not answer is asked
        again as long as the user's patience lasts: events for Marquez that are not sent as its own would give runs
        other jobs. If it never answers, the events are not waited for once more.
        """
        backend, patience = self._backend, self._patience
        if not isinstance(self._sender, HttpSender):
            return None
        until, is_marquez = time.monotonic() + patience, self._sender.is_marquez()
        if is_marquez is None and patience:
            say(f"{backend.name} does not answer what it is; asking again for {duration(patience)} (--patience)")
        while is_marquez is None and time.monotonic() < until:
            time.sleep(min(_PAUSE, patience))
            is_marquez = self._sender.is_marquez()
        if is_marquez is None:
            self._patience, self._is_silent = 0, True
        if not is_marquez:
            return None
        say(f"{backend.name} answers as Marquez does: profile marquez (--profile any sends the events as they are)")
        return "marquez"

    def run(self) -> bool:
        """Sends the events; returns whether a person interrupted it."""
        with _faults_as_messages(self._backend.secrets):
            ledger = Ledger(self._folder / "push" / self._backend.folder)  # a backend is not waited for without one
            choices, backend = self._choices, self._backend
            try:
                rules = profile(
                    self._known_profile or choices.profile or backend.profile or self._recognised_profile() or "any"
                )
                self._plan = Plan(self._folder, choices, backend.name, rules, self._settings.is_filtered)
                with self._plan.index() as index:
                    for mark in self._plan.mark_delivered(index, ledger):  # so that a stopped push can continue
                        ledger.write(SENDING, mark)
                    interrupted = self._send(index, ledger)
                    return interrupted or self._verify(index)
            finally:
                ledger.release()

    def _fit(self) -> Fit:
        add_facets = self._settings.with_facets if self._settings.adds_facets else None
        return Fit(self._plan.rules, add_facets, self._plan.spelling)

    def _send(self, index: Index, ledger: Ledger) -> bool:
        choices = self._choices
        pace = Pace(choices.rate, choices.concurrency)
        attempts = Attempts(self._fit(), self._sender, ledger, pace, self._patience, self._say_silent)
        self._delivery = Delivery(index, attempts, ledger, pace, is_parallel=self._sender.parallel)
        self._progress, interrupted = Progress(advises=choices.runs == "all"), False
        try:
            self._delivery.run(self.counts, self._progress, choices.concurrency)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._close(ledger)
        self._say_reason(interrupted=interrupted)
        return interrupted

    def _verify(self, index: Index) -> bool:
        """Reads back what was sent, where that is asked for; returns whether a person interrupted it."""
        backend, choices = self._backend, self._choices
        if self._sample is None or not isinstance(self._sender, HttpSender):
            return False
        if self._delivery.why:
            say(f"{backend.name} was not read back, since the push ended before all events were sent")
            return False
        delivered = Delivered(self._folder / "push" / backend.folder)
        verification = _VERIFICATIONS[self._plan.rules.name](index, self._fit(), delivered, self._sample)
        pace = Pace(choices.rate, choices.concurrency)
        try:
            self.verified = verification.run(backend.name, self._sender, pace, self._patience, choices.concurrency)
        except KeyboardInterrupt:
            return True
        return False

    def _say_silent(self, why: str) -> None:
        retrying = f"; trying again for {duration(self._patience)} (--patience)" if self._patience else ""
        say(f"{self._backend.name} does not answer ({why}){retrying}")

    def _close(self, ledger: Ledger) -> None:
        """Closes the sender and the ledger; the ledger also where closing the sender fails."""
        try:
            self._progress.clear()
            self._problem = self._sender.close()
        finally:
            ledger.close(self.summary())

    def _say_reason(self, *, interrupted: bool) -> None:
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
            "profile": self._plan.rules.name,
            **asdict(self.counts),
            "runs_left_out": self._plan.runs_left_out,
            "sent_again": self._plan.sent_again,
            "moved": self._plan.moved,
            "reduced": self._delivery.reduced,
            "seconds": round(seconds, 1),
            "events_a_second": round(self.counts.delivered / seconds, 1) if seconds else None,
            "refusals": dict(self._delivery.refusals.most_common(20)),
            "stopped": self._delivery.why and self._backend.secrets.hide(self._delivery.why),
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
            raise ExporterError(secrets.hide(message)) from fault
        description = shortened(secrets.hide(f"{type(fault).__name__}: {fault}"))
        raise ExporterError(
            f"a fault of the program: {description}; {_ON_RECORD}\n"
            "  Set EXPORTER_DEBUG=1 to see where, and please report it."
        ) from fault
