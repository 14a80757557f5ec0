"""The users whose names get pseudonyms, collected before the first row is processed: names in any record, names listed
in the settings, and users of DIR's earlier runs, whose pseudonyms are known.
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
"""The pseudonyms of all users, for the next update. With the key, it can test whether a word is one of their names."""


def are_hidden(job: Job) -> bool:
    """Whether names get pseudonyms."""
    return job.screen is not None and job.screen.key is not None


def told(records: Iterable[Record], job: Job) -> Iterator[str]:
    """The user names in records, each once."""
    assert job.screen is not None
    known: set[str] = set()
    for record in records:
        for name in job.screen.told(record):
            if name not in known:
                known.add(name)
                yield name


def knowing(job: Job, names: Iterable[str], new: Publication) -> Job:
    """The job with these names, and in an update with the pseudonyms of earlier runs, which are stored for the next."""
    assert job.screen is not None
    before = new.text_before(FILE) if job.run else None
    screen = job.screen.knowing(names, (before or "").split())
    if job.run:
        new.text(FILE, "".join(f"{one}\n" for one in screen.pseudonyms()))
    return replace(job, screen=screen)
