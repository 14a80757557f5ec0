"""Messages that are kept for the next day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from exporter.messages import OPEN, SNAPSHOT, Message, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OPEN_DAY: Final = "open "
"""Prefix of a count: queries that end on a later day."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def snapshot(message: Message) -> Message:
    """Keep a message as the state of a thing, which it receives first on the next day."""
    return Message(SNAPSHOT, "", b"", encode(tuple(message)))


def later(message: Message) -> Message:
    """Keep a message for a later day, because its query has not ended."""
    return Message(OPEN, "", b"", encode(tuple(message)))


def known(bodies: Iterable[bytes]) -> Iterator[Message]:
    """The messages from the bodies that :func:`snapshot` and :func:`later` made."""
    for body in bodies:
        yield Message(*decode(body))


def day_of(time: int) -> str:
    """The day of a time (microseconds since 1970, UTC), ``2026-11-21``."""
    return (_EPOCH + timedelta(microseconds=time)).date().isoformat()


def end_of(day: str) -> int:
    """The end of a day: the first microsecond of the next one, since 1970, UTC."""
    return (date.fromisoformat(day) - _EPOCH.date() + timedelta(days=1)) // timedelta(microseconds=1)
