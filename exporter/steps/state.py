"""What the next update has to know of this one: the messages that its rows were, kept as they are.

Only what is new is kept, once: rows that were known or came twice, notes of children and lines of QUERY_HISTORY alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import STATE, Message, decode, encode, time_and_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def kept(message: Message) -> Message:
    """The message, on its way to the state."""
    return Message(STATE, "", b"", encode(tuple(message)))


def known(bodies: Iterable[bytes]) -> Iterator[Message]:
    """The messages that :func:`kept` was given, from the bodies of what it made."""
    for body in bodies:
        yield Message(*decode(body))


def run_of(message: Message) -> int:
    """The run that a message to a query came with: it stands where others have a time."""
    return time_and_query(message.order)[0]
