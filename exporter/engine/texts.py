"""Texts -> files of DIR, on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from exporter.publication import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.messages import Message
    from exporter.publication import Publication


def write_texts(messages: Iterable[Message], new: Publication, day: str = "") -> None:
    """Write each output to its file; ``day``: the folder below the output's, of an update."""
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for message in messages:
            if message.to not in files:
                files[message.to] = stack.enter_context(_opened(message.to, new, day))
            files[message.to].write(message.body + b"\n")


def _opened(to: str, new: Publication, day: str) -> IO[bytes]:
    path = path_of(to, 0, day)
    file = Path(new.folder, path) if path else Path(new.work, f"{to}.ndjson")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.open("wb")
