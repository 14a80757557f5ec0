"""The names of users that get pseudonyms: collected from all records before the first step; in an update also those of
earlier runs, by a file in DIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from exporter.input.reading import Record
from exporter.pipeline.job import ExportJob
from exporter.publish.publication import Publication

PSEUDONYMS: Final = "pseudonyms.txt"
"""What the next update needs to find the names of all users. With the key, words can be tried by it."""


def uses_pseudonyms(job: ExportJob) -> bool:
    """Whether names get pseudonyms."""
    return job.screen is not None and job.screen.key is not None


def user_names(records: Iterable[Record], job: ExportJob) -> Iterator[str]:
    """The user names in records, each once."""
    assert job.screen is not None
    known: set[str] = set()
    for record in records:
        for name in job.screen.users_in(record):
            if name not in known:
                known.add(name)
                yield name


def with_user_names(job: ExportJob, names: Iterable[str], new: Publication) -> ExportJob:
    """The job with these names, and in an update with the pseudonyms of earlier runs, which are stored for the next."""
    assert job.screen is not None
    before = new.text_before(PSEUDONYMS) if job.run else None
    screen = job.screen.knowing(names, (before or "").splitlines())
    if job.run:
        new.text(PSEUDONYMS, "".join(f"{line}\n" for line in screen.pseudonyms()))
    # A user may be called DBT: then the name of each helper of dbt has the pseudonym in it.
    openlineage = replace(job.openlineage, helpers=screen.replaced(job.openlineage.helpers))
    return replace(job, screen=screen, openlineage=openlineage)
