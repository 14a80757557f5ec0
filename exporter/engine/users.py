"""The users whose names get pseudonyms, known before the first row is read: those that any record tells, those that a
person listed, and those of the earlier runs of DIR, by their pseudonyms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.publication import Publication
    from exporter.steps.job import Job
    from exporter.steps.reading import Record

FILE: Final = "pseudonyms.txt"
"""The pseudonyms of all users, for the next update: whose name a word is can be tried with the key alone."""


def are_hidden(job: Job) -> bool:
    """Whether names get pseudonyms."""
    return job.screen is not None and job.screen.key is not None


def told(records: Iterable[Record], job: Job) -> Iterator[str]:
    """The user names that records tell, each once."""
    assert job.screen is not None
    known: set[str] = set()
    for record in records:
        for name in job.screen.told(record):
            if name not in known:
                known.add(name)
                yield name


def knowing(job: Job, names: Iterable[str], new: Publication) -> Job:
    """The job that knows these names and what earlier runs knew; an update leaves what it knows to the next."""
    assert job.screen is not None
    before = new.text_before(FILE) if job.run else None
    screen = job.screen.knowing(names, (before or "").split())
    if job.run:
        new.text(FILE, "".join(f"{one}\n" for one in screen.pseudonyms()))
    return replace(job, screen=screen)
