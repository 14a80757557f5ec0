"""The settings of the events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from exporter.errors import UsageError
from exporter.input.query_history import History
from exporter.version import __version__

PRODUCER: Final = f"https://w3id.org/access-history/exporter/{__version__}"
"""``producer`` and ``_producer``: the program that made an event or a facet."""

UNKNOWN_TYPE: Final = "UNKNOWN"
"""The type of every column: the view gives no types, and Marquez lists a column twice that has none."""

LINEAGE: Final = ("helpers",)
"""The settings of the table ``[lineage]`` of a file."""
OFF: Final = "off"
"""The value of ``helpers`` for none."""
HELPERS: Final = (
    "*__DBT_TMP*",
    "*__DBT_BACKUP*",
    "FIVETRAN_*_STAGING.*",
    "_AIRBYTE_TMP_*",
    "*_AIRBYTE_TMP",
    "*_AB_SOFT_RESET",
)
"""The names that dbt, Fivetran and Airbyte give to tables and views that they drop again."""
_MOST_PARTS: Final = 3


@dataclass(frozen=True)
class OpenLineageSettings:
    """The settings, with defaults that most backends accept.

    ``sql``: whether events have the query's text, which can hold personal data. ``base_inputs``: whether the objects
    beneath views are inputs too. ``start_events``: START and COMPLETE, or COMPLETE alone. ``reads``: whether queries
    that write nothing get events. ``letter_case`` of identifiers without quotes: ``upper`` as Snowflake stores them, or
    ``lower`` as dbt writes them. ``namespaces``: dataset namespace -> the namespace to write instead.
    ``job_namespace``: None for the account's. ``job_name_from``: columns of QUERY_HISTORY that a job's name ends with;
    queries with different values are runs of different jobs. ``helpers``: patterns of the names of tables
    and views that loads fill, read and drop; events show what is behind them. Empty: none, and no helpers by
    other signs either.
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
    job_name_from: tuple[str, ...] = ()
    unknown_type: str = UNKNOWN_TYPE
    helpers: tuple[str, ...] = HELPERS

    def __post_init__(self) -> None:
        """Raises UsageError for a setting that cannot be used."""
        texts = {field_info.name for field_info in msgspec.structs.fields(History) if field_info.type == str | None}
        unknown = [name for name in self.job_name_from if name not in texts]
        if unknown:
            raise UsageError(f"openlineage.job_name_from: {', '.join(unknown)} is not a text column of QUERY_HISTORY")
        _check_patterns(self.helpers)
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]+", self.producer):
            raise UsageError(f"openlineage.producer must be a URI, and is {self.producer!r}")
        names = {f"namespaces of {name}": mapped for name, mapped in self.namespaces.items()}
        names |= {} if self.job_namespace is None else {"job_namespace": self.job_namespace}
        for name, text in names.items():
            if not text.strip():
                raise UsageError(f"openlineage.{name} is empty, which backends refuse; give a name, or leave it out")


def _check_patterns(patterns: tuple[str, ...]) -> None:
    """Raises UsageError for a pattern that cannot match a name."""
    for pattern in patterns:
        of_pattern = pattern.split(".")
        if not all(part.strip() for part in of_pattern) or len(of_pattern) > _MOST_PARTS:
            raise UsageError(
                f"lineage.helpers: {pattern!r} is not a valid pattern. Give NAME, SCHEMA.NAME or DATABASE.SCHEMA.NAME "
                "with * for any characters, or off"
            )
