"""Write texts to files of a DIR on this machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from exporter import compressed
from exporter.publication import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.messages import Message
    from exporter.publication import Publication
    from exporter.steps.job import Job


def write_texts(messages: Iterable[Message], new: Publication, job: Job, day: str = "") -> None:
    """Write each output to its file. ``day``: in an update, the folder below that of the output; otherwise empty."""
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for message in messages:
            if message.to not in files:
                path = path_of(message.to, 0, day, is_compressed=job.compress)
                file = Path(new.folder, path) if path else Path(new.work, f"{message.to}.ndjson")
                file.parent.mkdir(parents=True, exist_ok=True)
                files[message.to] = stack.enter_context(compressed.created(file))
            files[message.to].write(message.body + b"\n")
