"""The facts: what the rows say, one table per kind of statement, under natural keys (see :mod:`exporter.schemas`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from exporter.schemas import FACTS, ddl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Facts:
    """The tables of :data:`exporter.schemas.FACTS` as DataFrames: both outputs are made from this and nothing else."""

    queries: DataFrame
    accesses: DataFrame
    writes: DataFrame
    derivations: DataFrame
    policy_references: DataFrame
    joins: DataFrame
    ddl_changes: DataFrame
    ddl_settings: DataFrame
    objects: DataFrame
    names: DataFrame
    columns: DataFrame

    def tables(self) -> Iterator[tuple[str, DataFrame]]:
        """Name and table, in the order of :data:`exporter.schemas.FACTS`."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)


def read_facts(spark: SparkSession, folder: Path) -> Facts:
    """The facts that an export left in ``folder`` (``DIR/facts``)."""
    tables = {name: spark.read.schema(ddl(table)).parquet(str(folder / name)) for name, table in FACTS.items()}
    return Facts(**tables)
