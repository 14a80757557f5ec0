"""What a declaration says: datasets, and which of them are filled from which, as dbt and OpenLineage name them.

A declaration is a file or a Marquez of somebody else. :mod:`exporter.reconcile.dbt` and
:mod:`exporter.reconcile.openlineage` read them into the same items, one after the other, so that a year of events needs
no more memory than its datasets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from exporter.errors import UsageError
from exporter.model.account_identifier import normalized
from exporter.model.identifiers import match_name

SNOWFLAKE: Final = "snowflake://"
LONGEST_NAME: Final = 4_096
"""The most characters of a name or namespace; no name of Snowflake, and no path of a storage, is that long."""


class DeclaredDataset(NamedTuple):
    """A dataset by its OpenLineage namespace and name. The namespace is empty for what dbt runs in Snowflake: its
    manifest does not name the account.
    """

    namespace: str
    name: str

    @property
    def is_of_snowflake(self) -> bool:
        """Whether it is an object of a Snowflake account."""
        return not self.namespace or self.namespace.startswith(SNOWFLAKE)

    def __str__(self) -> str:
        if self.is_of_snowflake:
            return self.name
        if "://" in self.namespace:
            return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}"
        return self.name if self.namespace == "file" else f"{self.namespace}:{self.name}"


class DeclaredEdge(NamedTuple):
    """``target`` is filled from ``source``. ``source_column``, ``target_column``: where the declaration has columns;
    a source column without a target column only filters or joins; a target column without a source column is filled
    from any column, or by any use of the source. ``time``: of the run that declares it, in microseconds since 1970
    (UTC); None for what is declared for every run. ``name_time``: the time at which the names are to be resolved; None:
    now. ``job``: who fills it. ``via``: what is between the two and is no dataset: ephemeral models.
    """

    source: DeclaredDataset
    target: DeclaredDataset
    source_column: str | None = None
    target_column: str | None = None
    time: int | None = None
    name_time: int | None = None
    job: str | None = None
    via: tuple[str, ...] = ()


class FilledDataset(NamedTuple):
    """A dataset that the declaration fills, whatever its sources are. ``is_view``: it is said to be a view.
    ``properties``: its columns, of each of which the declaration is to list the sources; None for a declaration of
    whole datasets.
    """

    dataset: DeclaredDataset
    name_time: int | None = None
    is_view: bool = False
    properties: tuple[str, ...] | None = None


Item = DeclaredEdge | FilledDataset


@dataclass
class Declaration:
    """``name``: of the file without its folders, or the address without its user and password; ``form``: what it is.
    ``at``: when it was made, in microseconds since 1970 (UTC), where it says so. ``digest``: SHA-256 of what was read,
    complete when ``items`` are. ``left_out``: for people, what of it is no declaration.
    """

    name: str
    form: str
    items: Iterator[Item]
    at: int | None = None
    left_out: list[str] = field(default_factory=list)
    what_was_read: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def digest(self) -> str:
        """In hexadecimal digits."""
        return self.what_was_read.hexdigest()


def dataset(namespace: str, name: str, place: str) -> DeclaredDataset:
    """The dataset in one spelling: of an account its identifier normalized, of an object its name in the form in which
    names are compared. ``place``: where it stands, for the UsageError where a name is empty or too long.
    """
    if not name.strip() or len(name) > LONGEST_NAME or len(namespace) > LONGEST_NAME:
        raise UsageError(
            f"{place}: a dataset's name has {len(name):,} characters and its namespace {len(namespace):,}; a name has "
            f"at least one, and both have at most {LONGEST_NAME:,}"
        )
    if namespace.lower().startswith(SNOWFLAKE):
        try:
            namespace = SNOWFLAKE + normalized(namespace)
        except UsageError:
            namespace = SNOWFLAKE + namespace[len(SNOWFLAKE) :]
    if not namespace or namespace.startswith(SNOWFLAKE):
        return DeclaredDataset(namespace, match_name(name))
    return DeclaredDataset(namespace, name)
