"""What days of an update need of each other, in DIR's ``state``; the stores that read and write it are in
:mod:`exporter.engines.state_local` and :mod:`exporter.engines.state_on_spark`.

``rows/RUN``: the rows of a run by day, with an index. ``things/DAY``: the state of things at the end of the day, and
their nodes. ``open/DAY``: messages for queries that end on a later day, if there are any. ``clones/DAY``: the counts of
a day on which a schema or database was cloned. ``parents/DAY``: what children on other days need of the day's queries:
which of them the shapes refuse, and the names of jobs that follow from helpers.

The older runs and days are put together, :data:`TOGETHER` at a time (``rows/00001_00010``), so that what an update
reads hardly grows with the days of DIR. A row of such a day then makes all days since the first of them again. Older
changes are put together too, so that DIR has fewer files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exporter.engines import changes

if TYPE_CHECKING:
    from exporter.publish.publication import Publication

Messages = TypeVar("Messages")
THINGS_DAY: Final = "things"
"""The folder in DIR's outputs for nodes of things, which belong to no day; and that of their state."""
TOGETHER: Final = 10
"""Days, or runs, whose state is put together. As many are always left as they are: rows come late."""
SPAN: Final = "_"
"""In the name of a state of several days or runs: between the first and the last of them."""


def first_of(name: str) -> str:
    """The first day or run of a state.

    >>> first_of("things/2026-01-01_2026-01-30"), first_of("things/2026-01-31")
    ('2026-01-01', '2026-01-31')
    """
    return name.rpartition("/")[2].partition(SPAN)[0]


def last_of(name: str) -> str:
    """The last day or run of a state, as :func:`first_of`."""
    return name.rpartition("/")[2].rpartition(SPAN)[2]


def begin(day: str, names: Iterable[str]) -> str:
    """The day from which days have to be made again if this one has: it, or the first of those that its state was put
    together with. ``names``: of the states of days.
    """
    return min([day, *(first_of(name) for name in names if first_of(name) <= day <= last_of(name))])


class Store(ABC, Generic[Messages]):
    """Reads and writes the state in DIR. Names are folders below ``state``."""

    def __init__(self, new: Publication) -> None:
        self._new = new

    @property
    def shown(self) -> str:
        """DIR, for messages."""
        return self._new.shown

    def carry(self, names: Iterable[str]) -> None:
        """Take over these paths from the old DIR."""
        self._new.carry(names)

    def drop(self, names: Iterable[str]) -> None:
        """Remove these paths of the new DIR; ``*`` at the end of a name matches any ending."""
        for name in names:
            self._new.drop(name)

    @abstractmethod
    def save(self, messages: Sequence[Messages], name: str) -> None:
        """Store messages under a name."""

    def has(self, name: str) -> bool:
        """Whether messages are stored under a name."""
        return self._new.has(f"state/{name}")

    def names(self, folder: str) -> list[str]:
        """The sorted names under which messages are stored below a folder (``things/2026-01-31``)."""
        return [name.removeprefix("state/") for name in self._new.names(f"state/{folder}")]

    def names_before(self, folder: str) -> list[str]:
        """The sorted names under which messages are stored below a folder of the old DIR."""
        return [name.removeprefix("state/") for name in self._new.names_before(f"state/{folder}")]

    @abstractmethod
    def join(self, names: Sequence[str], kept_whole: Sequence[str] | None, name: str) -> None:
        """Store the messages of several names under one, in place of them: all of them for the receivers ``kept_whole``
        (None: for any receiver), for others as :meth:`latest`.
        """

    @abstractmethod
    def load(self, names: Sequence[str], to: Sequence[str]) -> Messages:
        """The messages to the receivers ``to`` under the names. A name that does not exist has none."""

    @abstractmethod
    def load_before(self, name: str, to: Sequence[str]) -> Messages:
        """The messages to the receivers ``to`` under a name in the old DIR."""

    @abstractmethod
    def load_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[Messages]) -> Messages:
        """As :meth:`load`, but only with keys that occur among the others, whatever their receivers."""

    @abstractmethod
    def latest(self, names: Sequence[str], to: Sequence[str]) -> Messages:
        """As :meth:`load`, but for each receiver and key only from the last name that has messages for it."""

    @abstractmethod
    def latest_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[Messages]) -> Messages:
        """As :meth:`latest`, but only for the receivers and keys that occur among the others."""

    @abstractmethod
    def changes(self, days: Sequence[str], all_days: Sequence[str], things: str, to: Sequence[str]) -> None:
        """Write the changes between the old DIR and this one: of ``days``, and of the nodes of things, which are in the
        folder ``things`` (see :meth:`latest`). ``all_days``: all days of the new DIR. The first changes contain
        everything.
        """

    def unjoined_changes(self) -> list[int]:
        """The numbers of the updates of the new DIR whose changes are not put together with others'."""
        return changes.unjoined(self._new)

    @abstractmethod
    def join_changes(self, numbers: Sequence[int]) -> None:
        """Put the changes of these updates together, in place of them: see :mod:`exporter.engines.changes`."""

    @abstractmethod
    def publish(self, messages: Messages, name: str, day: str) -> None:
        """Move the texts that the engine stored under a name to their places in DIR, in the folder of a day."""
