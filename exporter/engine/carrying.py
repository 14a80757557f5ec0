"""The interfaces that the rounds use: an engine, which passes messages between steps, and a watch for progress."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from exporter.engine.counts import Counts
    from exporter.messages import Message
    from exporter.steps.job import Job

    Step = Callable[[Iterable[Message], Job], Iterator[Message]]

Messages = TypeVar("Messages")


class Engine(Protocol[Messages]):
    """Passes messages between steps without interpreting them."""

    def met(self, messages: Sequence[Messages], step: Step, job: Job) -> Messages:
        """Run the step on these messages, in parts that are sorted by receiver, key and order. A home is in one part,
        the same one in all rounds (:data:`exporter.messages.HOME_END`).
        """

    def together(self, messages: Sequence[Messages], step: Step, job: Job) -> Messages:
        """Run the step once on all of these messages, sorted. They must fit in one partition."""

    def each(self, messages: Messages, step: Step, job: Job) -> Messages:
        """Run the step on these messages in any order."""

    def only(self, messages: Messages, to: Sequence[str]) -> Messages:
        """The messages to these receivers."""

    def kept(self, messages: Messages, name: str) -> Messages:
        """The messages, computed and stored under a name, because several steps read them."""

    def output(self, step: Step) -> Step:
        """The step with its texts joined into pieces as this engine needs them for files."""

    def stored(self, messages: Sequence[Messages], name: str) -> Messages:
        """The messages, computed, with texts written to files under a name. The other messages are kept."""

    def counts(self, messages: Messages) -> Counts:
        """The sums of the partitions' counts, from messages that are stored."""


class Watch(Protocol):
    """Receives the progress of the rounds."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A context during which a stage runs."""

    def counted(self, what: str, number: int) -> None:
        """Report a number, such as of rows."""


class Nobody:
    """A watch that reports nothing."""

    def stage(self, _: str) -> AbstractContextManager[None]:
        return nullcontext()

    def counted(self, what: str, number: int) -> None:
        """Do nothing."""
