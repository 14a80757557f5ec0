"""What the next day has to know of this one: messages, kept as they are."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from exporter.messages import OPEN, SNAPSHOT, Message, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPEN_DAY: Final = "open "
"""Beginning of what is counted: queries that end on a later day."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def snapshot(message: Message) -> Message:
    """What a thing that goes on the next day will hear first."""
    return Message(SNAPSHOT, "", b"", encode(tuple(message)))


def later(message: Message) -> Message:
    """What is heard the next day: its query has not ended."""
    return Message(OPEN, "", b"", encode(tuple(message)))


def known(bodies: Iterable[bytes]) -> Iterator[Message]:
    """The messages that these were given, from the bodies of what they made."""
    for body in bodies:
        yield Message(*decode(body))


def day_of(time: int) -> str:
    """The day of a time (microseconds since 1970, UTC), ``2026-11-21``."""
    return (_EPOCH + timedelta(microseconds=time)).date().isoformat()


def end_of(day: str) -> int:
    """When a day ends: the first microsecond of the next."""
    return (date.fromisoformat(day) - _EPOCH.date() + timedelta(days=1)) // timedelta(microseconds=1)
