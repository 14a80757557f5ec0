"""Rows in: every input form -> one table of parsed rows, with what cannot be read set aside and its reason.

The table has the columns of :data:`exporter.schemas.ROW` and

``file``, ``block``, ``seq``  where the row came from: file or table, and its order there
``raw``                       the row as it came, where it cannot be read
``problems``                  why not, as an array of sentences; empty for a good row
``hash_1``, ``hash_2``        of the row's content, for telling exact duplicates
``says_truncated``            whether the word of a cut record stands anywhere in it

Two steps, so that an input in the documents' own form pays for one parse and a small plan: :func:`first_reading`, and
:func:`second_reading` of what the first left over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter import columnar, inputs, parse
from exporter.facts.identifiers import TRUNCATED
from exporter.schemas import COLUMNS, CORRUPT, RAW_JSON
from exporter.sql import union
from exporter.times import parse_time

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

REQUIRED: Final = ("query_id", "query_start_time", "user_name")
PLACE: Final = ("file", "block", "seq")


def as_they_came(spark: SparkSession, sources: tuple[inputs.Source, ...]) -> DataFrame:
    """Every line or record: its place, ``raw``, ``texts`` (None for JSON) and ``unit``, what its place counts."""
    return union([_raw(spark, source) for source in sources])


def first_reading(came: DataFrame) -> DataFrame:
    """Rows that fit the documents' form, finished; the others with ``left_over`` and ``texts``; blank lines."""
    parsed = came.withColumn("row", parse.parse_line(F.when(F.col("texts").isNull(), F.col("raw"))))
    fits = F.col("row").isNotNull() & F.col(f"row.{CORRUPT}").isNull()
    is_blank = F.trim(F.coalesce("raw", F.lit(""))) == ""
    flagged = parsed.select(
        *PLACE,
        *("unit", "raw"),
        F.when(~fits, F.col("texts")).alias("texts"),
        F.when(fits, F.col("row")).alias("row"),
        (~fits & ~is_blank).alias("left_over"),
        is_blank.alias("is_blank"),
        _says_truncated("raw").alias("says_truncated"),
    )
    done = _finished(flagged.withColumn("unfit", _none()), "unit", "says_truncated", "texts", "left_over", "is_blank")
    return done.withColumn("problems", F.when(~F.col("left_over") & ~F.col("is_blank"), F.col("problems")))


def second_reading(first: DataFrame) -> DataFrame:
    """What the first reading left over, put into the documents' form and parsed again; with the reasons if it fails."""
    texts = F.coalesce("texts", parse.texts(F.col("raw")))
    opened = (
        first.filter("left_over")
        .select(*PLACE, "unit", "raw", texts.alias("texts"))
        .withColumn("opened", parse.opened(F.col("texts")))
    )
    formed = opened.withColumn("structured", parse.in_documents_form(F.col("opened")))
    lines = formed.withColumn("line", parse.canonical_line(F.col("texts"), F.col("structured")))
    parsed = lines.withColumn("row", parse.reparse(F.col("line")))
    fits = F.col("row").isNotNull() & F.col(f"row.{CORRUPT}").isNull()
    found = F.when(~fits, parse.misfits(F.col("structured")))
    no_object = F.array(F.lit("the line is not one JSON object (or, in CSV, not one record)"))
    unclear = F.array(F.lit("a column does not hold the JSON that the documents describe"))
    reasons = F.when(F.col("texts").isNull(), no_object).when(F.size(found) > 0, found).when(~fits, unclear)
    judged = parsed.select(
        *(*PLACE, "unit", "raw", "row"),
        F.coalesce(reasons, _none()).alias("unfit"),
        _says_truncated("line").alias("says_truncated"),
    )
    return _finished(judged, "unit", "says_truncated")


def _says_truncated(text: str) -> Column:
    """Whether the sentinel of a cut record may be in the row at all: one look at its text clears most rows."""
    return F.coalesce(F.contains(F.col(text), F.lit(TRUNCATED)), F.lit(False))


def _none() -> Column:
    return F.array().cast("array<string>")


def _raw(spark: SparkSession, source: inputs.Source) -> DataFrame:
    unit = F.lit("line" if source.form == inputs.NDJSON else "row").alias("unit")
    if source.form in (inputs.NDJSON, inputs.JSON_DOCUMENT):
        lines = read_lines(spark, source)
        return lines.select(*PLACE, unit, "raw", F.lit(None).cast("map<string,string>").alias("texts"))
    return columnar.read(spark, source, REQUIRED).select(*PLACE, unit, "raw", "texts")


def read_lines(spark: SparkSession, source: inputs.Source) -> DataFrame:
    """One row of JSON text a line: ``file``, ``block``, ``seq``, ``raw``. Blank lines are kept, for counting."""
    whole = source.form == inputs.JSON_DOCUMENT
    lines = spark.read.text(list(source.paths), wholetext=whole).select(
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("seq"),
        _without_mark(F.col("value")).alias("raw"),
    )
    return _rows_of_documents(lines) if whole else lines


def _without_mark(line: Column) -> Column:
    """The line without the byte-order mark that a file may begin with."""
    return F.when(line.startswith("\ufeff"), F.substring(line, F.lit(2), F.length(line))).otherwise(line)


def _rows_of_documents(documents: DataFrame) -> DataFrame:
    """The rows of a JSON document: the elements of an array, of the array ``rows`` in an object, or the object."""
    value = parse.keep_fractions(parse.no_undefined(F.col("raw")))
    is_array = F.ltrim("raw").startswith("[")
    wrapped = F.from_json(value, "rows array<string>")["rows"]
    elements = F.when(is_array, F.from_json(value, "array<string>")).otherwise(wrapped)
    rows = F.when(~parse.holds_several(F.col("raw")) & elements.isNotNull(), elements).otherwise(F.array("raw"))
    exploded = documents.select("file", "block", F.posexplode(rows).alias("seq", "raw"))
    return exploded.withColumn("seq", F.col("seq").cast("bigint"))


def _finished(rows: DataFrame, *also: str) -> DataFrame:
    """One column per column of the view, times read, problems collected, content hashed; ``also``: columns to keep."""
    row = {name: F.col(f"row.{name}") for name in COLUMNS}
    timed = rows.withColumn("start", parse_time(row["query_start_time"]))
    change = row["object_modified_by_ddl"]
    kept = {name: parse.raw_json(row[name]) for name in RAW_JSON}
    kept["object_modified_by_ddl"] = change.withField("properties", parse.raw_json(change["properties"]))
    named = timed.select(
        *PLACE,
        *also,
        "raw",
        F.when(F.size("unfit") > 0, F.col("unfit"))
        .otherwise(parse.row_problems(row, F.col("start")))
        .alias("problems"),
        *[kept.get(name, column).alias(name) for name, column in row.items() if name != "query_start_time"],
        F.col("start").alias("query_start_time"),
    )
    return named.select(
        *PLACE,
        *also,
        "problems",
        F.when(F.size("problems") > 0, F.col("raw")).alias("raw"),
        F.xxhash64(*COLUMNS).alias("hash_1"),
        F.xxhash64(F.lit("second"), *COLUMNS).alias("hash_2"),
        *COLUMNS,
    )
