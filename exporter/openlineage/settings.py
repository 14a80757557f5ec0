"""The settings of the events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from exporter import __version__
from exporter.errors import UsageError
from exporter.queries.facts import History

if TYPE_CHECKING:
    from collections.abc import Mapping

PRODUCER: Final = f"https://w3id.org/access-history/exporter/{__version__}"
"""``producer`` and ``_producer``: the program that made an event or a facet."""

UNKNOWN_TYPE: Final = "UNKNOWN"
"""The type of every column: the view gives no types, and Marquez lists a column twice that has none."""


@dataclass(frozen=True)
class OpenLineageSettings:
    """The settings, with defaults that most backends accept.

    ``sql``: whether events have the query's text, which can hold personal data. ``base_inputs``: whether the objects
    beneath views are inputs too. ``start_events``: START and COMPLETE, or COMPLETE alone. ``reads``: whether queries
    that write nothing get events. ``letter_case`` of identifiers without quotes: ``upper`` as Snowflake stores them, or
    ``lower`` as dbt writes them. ``namespaces``: dataset namespace -> the namespace to write instead.
    ``job_namespace``: None for the account's. ``job_name_from``: columns of QUERY_HISTORY that go before a job's name;
    queries with different values are runs of different jobs.
    """

    producer: str = PRODUCER
    sql: bool = False
    base_inputs: bool = True
    start_events: bool = True
    reads: bool = True
    dataset_events: bool = True
    letter_case: Literal["upper", "lower"] = "upper"
    namespaces: Mapping[str, str] = field(default_factory=dict)
    job_namespace: str | None = None
    job_name_from: tuple[str, ...] = ("query_tag", "query_parameterized_hash")
    unknown_type: str = UNKNOWN_TYPE

    def __post_init__(self) -> None:
        """Raises UsageError for a setting that cannot be used."""
        texts = {one.name for one in msgspec.structs.fields(History) if one.type == str | None}
        unknown = [name for name in self.job_name_from if name not in texts]
        if unknown:
            raise UsageError(f"openlineage.job_name_from: {', '.join(unknown)} is not a text column of QUERY_HISTORY")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]+", self.producer):
            raise UsageError(f"openlineage.producer must be a URI, and is {self.producer!r}")
