"""The number of partitions of a round."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from exporter.engines import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(told: str | None, cores: int) -> SparkSession:
    conf = {} if told is None else {"spark.sql.shuffle.partitions": told}
    context = SimpleNamespace(defaultParallelism=cores)
    return cast("SparkSession", SimpleNamespace(conf=conf, sparkContext=context))


@pytest.mark.parametrize(
    ("megabytes", "cores", "partitions"),
    [(1, 8, 8), (8 * 32, 8, 8), (8 * 32 + 1, 8, 16), (2_000, 2, 64), (2_000_000, 64, 10_000)],
)
def test_partitions_are_of_32_mb_at_most_as_many_for_each_core(megabytes: int, cores: int, partitions: int) -> None:
    """Ten thousand are the most; the user's setting, which is for what nobody knows the size of, does not count."""
    assert on_spark._partitions(session("7", cores), megabytes << 20) == partitions


@pytest.mark.parametrize(("told", "partitions"), [("4000", 4000), ("auto", 200), (None, 200)])
def test_a_table_has_as_many_as_spark_is_told(told: str | None, partitions: int) -> None:
    assert on_spark._partitions(session(told, 8), None) == partitions
