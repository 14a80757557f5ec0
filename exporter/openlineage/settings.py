"""What a user may choose about the events."""

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
"""Who made an event or a facet: ``producer`` and ``_producer``."""

UNKNOWN_TYPE: Final = "UNKNOWN"
"""The type of every column: the view knows none, and Marquez doubles fields that come without one."""


@dataclass(frozen=True)
class OpenLineageSettings:
    """The choices, with the defaults that most backends take.

    ``sql``: whether the query's text goes out, which can hold personal data. ``base_inputs``: whether the objects
    beneath views are inputs too. ``start_events``: START and COMPLETE, or COMPLETE alone. ``reads``: whether queries
    that write nothing go out. ``letter_case`` of identifiers that need no quotes: ``upper`` as Snowflake stores them,
    or ``lower`` as dbt spells them. ``namespaces``: dataset namespace -> the one to write instead.
    ``job_namespace``: None for the account's. ``job_name_from``: columns of QUERY_HISTORY that go before a job's name
    and tell one job from another.
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
        """Raises UsageError where a choice makes no events."""
        texts = {one.name for one in msgspec.structs.fields(History) if one.type == str | None}
        unknown = [name for name in self.job_name_from if name not in texts]
        if unknown:
            raise UsageError(f"openlineage.job_name_from: {', '.join(unknown)} is no text column of QUERY_HISTORY")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]+", self.producer):
            raise UsageError(f"openlineage.producer must be a URI, and is {self.producer!r}")
