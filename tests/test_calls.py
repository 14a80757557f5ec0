from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.calls import LetGoLater

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_lists_of_any_length_cross_to_the_jvm_in_their_order(spark: SparkSession) -> None:
    for length in (1, 9, 10, 11, 20, 21, 57):
        names = [f"c{number}" for number in range(length)]
        made = spark.range(1).select([F.lit(number).alias(name) for number, name in enumerate(names)])
        assert made.columns == names
        assert made.select(F.concat_ws(",", *names)).first() == (",".join(map(str, range(length))),)
    assert spark.range(2).select([]).columns == []


def test_a_column_that_is_only_named_is_found_in_each_table(spark: SparkSession) -> None:
    one, other = spark.range(1).withColumn("x", F.lit("one")), spark.range(1).withColumn("x", F.lit("other"))
    shared = F.col("x")
    found = one.select(shared).union(other.select(shared)).union(other.select(F.col("x").alias("y")))
    assert [row.x for row in found.collect()] == ["one", "other", "other"]


def test_what_python_let_go_of_is_told_in_the_end() -> None:
    told: deque[object] = deque()
    later = LetGoLater(told)
    gone = [("client", f"o{number}") for number in range(LetGoLater.AT_ONCE + 1)]
    for one in gone[:-1]:
        later.appendleft(one)
    assert not told
    later.appendleft(gone[-1])
    assert list(reversed(told)) == gone
    later.appendleft(("client", "last"))
    later.appendleft("__shutdown__")
    assert [told[1], told[0]] == [("client", "last"), "__shutdown__"]
