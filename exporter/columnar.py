"""CSV, Parquet and tables: records with named columns -> the text of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from exporter import inputs
from exporter.errors import UsageError
from exporter.schemas import OBJECT_ARRAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

_REST: Final = "_not_csv"


def read(spark: SparkSession, source: inputs.Source, required: tuple[str, ...]) -> DataFrame:
    """The records as ``file``, ``block``, ``seq``, ``raw`` (the record as JSON, or as it came where it is no CSV) and
    ``texts``: a map from lower-case column names to texts, None where the record is no CSV.

    Raises UsageError where a required column is not there.
    """
    table = _csv(spark, source) if source.form == inputs.CSV else _typed(spark, source)
    names = _lower_names(table, source, required)
    pairs = [part for lower, name in names.items() for part in (F.lit(lower), _as_text(table, name))]
    broken = F.col(_REST) if _REST in table.columns else F.lit(None).cast("string")
    record = F.to_json(F.struct(*[table[_quoted(name)].alias(name) for name in names.values()]))
    return table.select(
        *_place(source),
        F.coalesce(broken, record).alias("raw"),
        F.when(broken.isNull(), F.create_map(*pairs)).alias("texts"),
    )


def _csv(spark: SparkSession, source: inputs.Source) -> DataFrame:
    columns = source.columns or _no_rows(source)
    schema = ", ".join(f"{_quoted(name)} string" for name in (*columns, _REST))
    return spark.read.csv(
        list(source.paths),
        schema=schema,
        header=True,
        enforceSchema=True,
        multiLine=True,
        sep=source.delimiter,
        quote='"',
        escape='"',
        nullValue="\\N",
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_REST,
        maxCharsPerColumn=-1,
    )


def _no_rows(source: inputs.Source) -> tuple[str, ...]:
    raise UsageError(f"{source.paths[0]}: the file is empty")


def _typed(spark: SparkSession, source: inputs.Source) -> DataFrame:
    try:
        if source.form == inputs.TABLE:
            return spark.table(source.paths[0])
        return spark.read.option("mergeSchema", value=True).parquet(*source.paths)
    except AnalysisException as error:
        what = "there is no such file, folder or table" if source.form == inputs.TABLE else _first_line(error)
        raise UsageError(f"{', '.join(source.paths[:3])}: {what}") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unreadable"])[0]


def _lower_names(table: DataFrame, source: inputs.Source, required: tuple[str, ...]) -> Mapping[str, str]:
    names = {name.strip().lower(): name for name in table.columns if name != _REST}
    missing = [name for name in required if name not in names]
    if missing:
        is_history = "query_text" in names and not set(OBJECT_ARRAYS) & set(names)
        hint = "; it looks like QUERY_HISTORY: give it with --query-history" if is_history else ""
        where, there = ", ".join(source.paths[:3]), ", ".join(sorted(names))
        raise UsageError(f"{where}: there is no column {missing[0]} (there are: {there}){hint}")
    return names


def _place(source: inputs.Source) -> tuple[Column, Column, Column]:
    seq = F.monotonically_increasing_id().alias("seq")
    if source.form == inputs.TABLE:
        return F.lit(source.paths[0]).alias("file"), F.lit(0).cast("bigint").alias("block"), seq
    return F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("block"), seq


def _as_text(table: DataFrame, name: str) -> Column:
    kind = table.schema[name].dataType.typeName()
    column = table[_quoted(name)]
    if kind in ("array", "struct", "map", "variant"):
        return F.to_json(column)
    if kind == "timestamp":
        return F.concat(column.cast("string"), F.lit("+00:00"))
    return column.cast("string")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
