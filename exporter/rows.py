"""Rows, stored once and counted: good ones, bad ones with their reason, and exact duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import Window as W
from pyspark.sql import functions as F

from exporter import source
from exporter.errors import UsageError
from exporter.facts.build import with_account
from exporter.source import PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from exporter.inputs import Inputs
    from exporter.publication import Publication

_QUERY: Final = ["account", "query_id"]
_STAGE: Final = ".work/first"
DISAGREE: Final = "the rows of this query id name different users"


@dataclass(frozen=True)
class Rows:
    """``every``: all rows with their account and ``problems``, ``rows_in`` of them."""

    every: DataFrame
    rows_in: int

    @property
    def good(self) -> DataFrame:
        """The rows that can be read."""
        return self.every.filter(F.size("problems") == 0)


@dataclass(frozen=True)
class Tally:
    """How many rows are exact ``duplicates`` among the good, or ``unreadable``; ``disagreeing`` counts queries whose
    rows name different users.
    """

    duplicates: int
    unreadable: int
    disagreeing: int


def stage(spark: SparkSession, inputs: Inputs, account: str, place: Publication) -> Rows:
    """Read, parse and store the rows of the inputs; a second reading only where the first left something over."""
    came = source.as_they_came(spark, inputs.sources)
    seen = Observation()
    is_row = ~F.col("is_blank")
    first = source.first_reading(came).observe(
        seen,
        F.count(F.when(is_row, True)).alias("rows"),
        F.count(F.when(F.col("left_over"), True)).alias("left_over"),
    )
    stored = place.keep(first, _STAGE)
    counts = seen.get
    if not counts["rows"]:
        raise UsageError(f"there are no rows in {_named(inputs)}; nothing was written")
    fitted = stored.filter(F.col("problems").isNotNull()).drop("texts", "left_over", "is_blank")
    if counts["left_over"]:
        again = place.keep(source.second_reading(stored), ".work/second")
        fitted = fitted.unionByName(again)
    return Rows(with_account(fitted, account), counts["rows"])


def _named(inputs: Inputs) -> str:
    paths = [path for one in inputs.sources for path in one.paths]
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def tally(rows: Rows) -> Tally:
    """Count the rows by what becomes of them."""
    is_bad = F.size("problems") > 0
    contents = rows.every.groupBy(*_QUERY, "hash_1", "hash_2", is_bad.alias("is_bad")).agg(
        F.count(F.lit(1)).alias("n"), F.min("user_name").alias("user_name")
    )
    good_users = F.when(~F.col("is_bad"), F.col("user_name"))
    queries = contents.groupBy(*_QUERY).agg(
        F.sum(F.when(~F.col("is_bad"), F.col("n") - 1)).alias("doubled"),
        F.sum(F.when(F.col("is_bad"), F.col("n"))).alias("bad"),
        (F.min(good_users) != F.max(good_users)).alias("disagrees"),
    )
    total = queries.agg(
        F.sum("doubled").alias("doubled"), F.sum("bad").alias("bad"), F.count_if("disagrees").alias("disagrees")
    ).first()
    assert total is not None
    return Tally(total["doubled"] or 0, total["bad"] or 0, total["disagrees"])


def disagreeing(rows: Rows) -> DataFrame:
    """Queries whose rows name different users: ``account``, ``query_id``, ``reason``."""
    users = rows.good.groupBy(*_QUERY).agg((F.min("user_name") != F.max("user_name")).alias("disagrees"))
    return users.filter("disagrees").select(*_QUERY, F.lit(DISAGREE).alias("reason"))


def without(rows: DataFrame, held: DataFrame | None) -> DataFrame:
    """The rows but those of the queries that are held back."""
    return rows if held is None else rows.join(held.select(*_QUERY), on=_QUERY, how="left_anti")


def quarantine(
    spark: SparkSession, inputs: Inputs, rows: Rows, held: DataFrame | None, place: Publication
) -> DataFrame:
    """What is set aside, one JSON object a row: ``file``, ``line`` or ``row``, ``reason``, and the row as it came."""
    bad = rows.every.filter(F.size("problems") > 0).select(
        *PLACE, "unit", "raw", F.array_join("problems", "; ").alias("reason")
    )
    if held is not None:
        bad = bad.unionByName(_held_rows(spark, inputs, rows, held))
    bad = place.keep(bad, ".work/bad")
    files = F.broadcast(bad.select("file").distinct())
    staged = spark.read.schema(bad.select(*PLACE).schema).parquet(str(place.folder / _STAGE))
    in_files = staged.select(*PLACE).join(files, on="file", how="left_semi")
    number = F.row_number().over(W.partitionBy("file").orderBy("block", "seq"))
    numbered = in_files.withColumn("number", number).join(bad, on=list(PLACE), how="inner")
    at = [F.when(F.col("unit") == unit, F.col("number")).alias(unit) for unit in ("line", "row")]
    return numbered.orderBy("file", "number").select(
        F.to_json(F.struct(_path(F.col("file")).alias("file"), *at, "reason", F.col("raw").alias("as_it_came"))).alias(
            "value"
        )
    )


def _held_rows(spark: SparkSession, inputs: Inputs, rows: Rows, held: DataFrame) -> DataFrame:
    """The rows of held queries, once each, with their text read again from the input."""
    least = F.min(F.struct(*PLACE)).alias("place")
    once = rows.good.join(held, on=_QUERY, how="inner").groupBy(*_QUERY, "hash_1", "hash_2", "reason").agg(least)
    places = once.select("place.*", "reason")
    came = source.as_they_came(spark, inputs.sources).select(*PLACE, "unit", "raw")
    return came.join(F.broadcast(places), on=list(PLACE), how="inner").select(*PLACE, "unit", "raw", "reason")


def _path(url: Column) -> Column:
    """A local file's URL as its path."""
    plain = F.url_decode(F.replace(F.regexp_replace(url, "^file:(//)?", ""), F.lit("+"), F.lit("%2B")))
    return F.when(url.startswith("file:"), plain).otherwise(url)
