"""QUERY_HISTORY, joined by query id: text, type, times, sizes, the role and the warehouse.

Source: the columns worth joining are those of :data:`exporter.schemas.QUERY_HISTORY`. The view holds duplicates now and
then; one row per query id is taken, the one that ended last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F

from exporter import columnar, inputs, parse, source
from exporter.schemas import QUERY_HISTORY
from exporter.sql import union
from exporter.times import parse_time

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from exporter.publication import Publication

_REQUIRED: Final = ("query_id",)
_NOTHING: Final = ("", "\\N", "null")


@dataclass(frozen=True)
class History:
    """``queries``: one row per query id. ``rows_in``, ``doubled`` rows, and ``unreadable`` rows: no query id, or a
    time or number that cannot be read (the value is left out, the row's others are kept).
    """

    queries: DataFrame
    rows_in: int
    doubled: int
    unreadable: int


def read(spark: SparkSession, given: inputs.Inputs, place: Publication, *, texts: bool) -> History:
    """The rows of QUERY_HISTORY in any of the forms that ACCESS_HISTORY comes in; without ``texts`` no SQL text."""
    each = union([_texts(spark, one) for one in given.sources])
    typed = each.select(
        _value(F.col("texts"), "query_id", "string").alias("query_id"),
        *[_value(F.col("texts"), name, kind).alias(name) for name, kind in QUERY_HISTORY.items()],
        _is_unreadable(F.col("texts")).alias("is_unreadable"),
    )
    kept = typed if texts else typed.withColumn("query_text", F.lit(None).cast("string"))
    seen = Observation()
    counted = kept.observe(
        seen, F.count(F.lit(1)).alias("rows"), F.count(F.when(F.col("is_unreadable"), True)).alias("unreadable")
    )
    stored = place.keep(counted, ".work/history_rows").filter(F.col("query_id").isNotNull())
    latest = F.max(F.struct("end_time", *[name for name in QUERY_HISTORY if name != "end_time"])).alias("one")
    queries = place.keep(stored.groupBy("query_id").agg(latest, F.count(F.lit(1)).alias("n")), ".work/history")
    doubled = queries.agg(F.sum(F.col("n") - 1).alias("doubled")).first()
    assert doubled is not None
    once = queries.select("query_id", *[F.col(f"one.{name}").alias(name) for name in QUERY_HISTORY])
    return History(once, seen.get["rows"], doubled["doubled"] or 0, seen.get["unreadable"])


def _texts(spark: SparkSession, one: inputs.Source) -> DataFrame:
    if one.form in (inputs.NDJSON, inputs.JSON_DOCUMENT):
        lines = source.read_lines(spark, one).filter(F.trim("raw") != "")
        return lines.select(parse.texts(F.col("raw")).alias("texts"))
    return columnar.read(spark, one, _REQUIRED).select("texts")


def _value(texts: Column, name: str, kind: str) -> Column:
    text = F.element_at(texts, name)
    said = F.when(~text.isin(*_NOTHING), text)
    if kind == "timestamp":
        return parse_time(said)
    return said if kind == "string" else said.try_cast("double").try_cast(kind)


def _is_unreadable(texts: Column) -> Column:
    lost = [
        F.coalesce(~F.element_at(texts, name).isin(*_NOTHING), F.lit(False)) & _value(texts, name, kind).isNull()
        for name, kind in QUERY_HISTORY.items()
        if kind != "string"
    ]
    nameless = _value(texts, "query_id", "string").isNull()
    return texts.isNull() | nameless | reduce(lambda one, other: one | other, lost)
