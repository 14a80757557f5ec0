"""Read files and tables into records with Spark: each record is one text with its place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from exporter.engines import session
from exporter.errors import UsageError
from exporter.input import formats
from exporter.input.files import DAMAGE, NOT_UTF8, NULLS_IN_CSV, REPLACED, check_columns
from exporter.input.find import ACCESS_HISTORY, AGGREGATE_ACCESS_HISTORY, QUERY_HISTORY
from exporter.input.formats import uri
from exporter.input.limits import LONGEST_FIELD
from exporter.input.parquet import JSON_TYPE, PLAIN_BELOW, has_json
from exporter.input.partitions import columns_in, with_columns
from exporter.input.reading import Record, holds_sql, rows_of_document
from exporter.input.row import JSON_TEXTS, STRUCTURED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

COLUMNS: Final = (
    "file string, block bigint, unit string, text binary, is_history boolean, is_record boolean, "
    "is_aggregate boolean, is_document boolean"
)
"""The columns of :func:`records`."""
_REST: Final = "_not_csv"
_MOST_COLUMNS: Final = 1_000
"""Most columns of a CSV or Parquet file: Spark needs seconds for each thousand before it reads a row."""
_NO_LIMIT: Final = -1
_VARIANT: Final = re.compile(r"(?=.*\bmetadata:binary\b)(?=.*\bvalue:binary\b)")
_of_pattern: Final = re.compile(r"[\\\[\]{}*?]")


def records(spark: SparkSession, source: formats.InputFiles, view: str = ACCESS_HISTORY) -> DataFrame:
    """All records of a source of a view, with the columns ``file``, ``block``, ``unit``, ``text`` (bytes),
    ``is_history``, ``is_record`` and ``is_aggregate`` as in :class:`exporter.input.reading.Record`, and
    ``is_document``: whether the text has all rows of a file. Raises UsageError if the source or a required column does
    not exist.
    """
    is_document, is_record = source.form == formats.JSON_DOCUMENT, F.lit(True)
    if source.form in (formats.NDJSON, formats.JSON_DOCUMENT):
        data_frame = _found(source, lambda: spark.read.text(_uris(source), wholetext=is_document))
        text = F.col("value")
    else:
        _refuse_wide(source, len(source.columns or source.types))
        data_frame = _found(
            source, lambda: _csv(spark, source) if source.form == formats.CSV else _typed(spark, source)
        )
        check_columns(_named(data_frame), source.paths, view)
        _refuse_variants(data_frame, source)
        _refuse_json(source)
        columns = [_as_json(data_frame, name, source).alias(name) for name in _named(data_frame)]
        text = F.to_json(F.struct(*columns))
        if source.form == formats.CSV:
            rest = F.lit("") if any(map(holds_sql, source.columns)) else F.col(_REST)  # nothing says which part is SQL
            is_whole = F.col(_REST).isNull()
            is_record = is_whole | (F.trim(_REST) == "")  # one of blanks alone counts as a blank line
            text = F.when(is_whole, text).otherwise(rest)
        text = F.when(is_record, F.replace(text, F.lit(REPLACED), F.lit(DAMAGE))).otherwise(text)
    return data_frame.select(
        *_place(source),
        F.lit("line" if source.form == formats.NDJSON else "row").alias("unit"),
        text.cast("binary").alias("text"),
        F.lit(view == QUERY_HISTORY).alias("is_history"),
        is_record.alias("is_record"),
        F.lit(view == AGGREGATE_ACCESS_HISTORY).alias("is_aggregate"),
        F.lit(is_document).alias("is_document"),
    )


def size(spark: SparkSession, sources: Iterable[formats.InputFiles]) -> int | None:
    """Estimated bytes of text in the sources, from their file systems; None if one is a table.

    Raises UsageError if a source does not exist or cannot be reached.
    """
    paths = [uri(path) for source in sources for path in source.paths]
    if any(source.form == formats.TABLE for source in sources):
        return None
    try:
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(paths)
        ending, length = F.regexp_extract("path", r"\.\w+$", 0).alias("ending"), F.sum("length").alias("bytes")
        return sum(
            formats.text_bytes(row["ending"], row["bytes"]) for row in files.groupBy(ending).agg(length).collect()
        )
    except Exception as error:  # noqa: BLE001 - connectors raise any exception of Java
        raise UsageError(f"{', '.join(paths[:3])}: Spark cannot reach it: {session.cause(error)}") from None


def read_back(batches: Iterator[pa.RecordBatch]) -> Iterator[Record]:
    """The records as input of the steps. A JSON document gives one record for each of its rows."""
    paths: dict[tuple[str, bool], tuple[str, dict[str, str]]] = {}
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        for file, block, unit, text, is_history, *said, is_document in zip(*columns, strict=True):
            if (file, is_history) not in paths:
                path = _path(file)
                plain = path if path != file else unquote(file)
                paths[file, is_history] = path, columns_in(plain, is_history=is_history)
            path, in_folders = paths[file, is_history]
            decoded = text.decode("utf-8", NOT_UTF8).removeprefix("\ufeff")
            for row in rows_of_document(decoded) if is_document else (decoded,):
                whole = with_columns(row, in_folders) if in_folders else row
                yield Record(path, block, unit, whole, is_history, *said)


def _path(url: str) -> str:
    """The path of a local file's URL; other URLs unchanged."""
    return unquote("/" + url.removeprefix("file:").lstrip("/")) if url.startswith("file:") else url


def _place(source: formats.InputFiles) -> tuple[Column, Column]:
    if source.form == formats.TABLE:
        return F.lit(source.paths[0]).alias("file"), F.lit(0).cast("bigint").alias("block")
    return F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("block")


def _csv(spark: SparkSession, source: formats.InputFiles) -> DataFrame:
    if not source.columns:
        raise UsageError(f"{source.paths[0]}: the file is empty")
    schema = ", ".join(f"{_quoted(name)} string" for name in (*source.columns, _REST))
    table = spark.read.csv(
        _uris(source),
        schema=schema,
        header=True,
        enforceSchema=True,
        multiLine=True,
        sep=source.delimiter,
        quote='"',
        escape='"',
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_REST,
        # With a limit, the parser of each file takes the memory of the longest field when it is made, and one task may
        # have those of several files. Without, it takes what the fields need.
        maxCharsPerColumn=LONGEST_FIELD if source.is_long else _NO_LIMIT,
    )
    fields = {name: F.col(_quoted(name)) for name in source.columns}
    # The CR of line ends that the header does not have is no part of the last field.
    last, without_cr = fields[source.columns[-1]], F.regexp_replace(_quoted(source.columns[-1]), r"\r\z", "")
    fields[source.columns[-1]] = F.when((without_cr != "") | (last == ""), without_cr)
    values = [F.when(~field.isin(*NULLS_IN_CSV), field).alias(name) for name, field in fields.items()]
    return table.select(*values, _REST)


def _uris(source: formats.InputFiles) -> list[str]:
    """The paths as URIs for Spark. Spark treats each as a pattern, so special characters in names of local files are
    escaped. Raises UsageError for a name that Java cannot represent.
    """
    for path in source.paths:
        if formats.shown(path) != path:
            raise UsageError(
                f"{path}: Spark cannot read a file whose name is not UTF-8; rename it, or use --engine local"
            )
    return [uri(path) if formats.is_remote(path) else _of_pattern.sub(r"\\\g<0>", uri(path)) for path in source.paths]


def _refuse_wide(source: formats.InputFiles, columns: int) -> None:
    if columns > _MOST_COLUMNS:
        raise UsageError(
            f"{source.paths[0]}: has {columns:,} columns, more than {_MOST_COLUMNS:,}; remove columns that the view "
            "does not have, or use --engine local"
        )


def _typed(spark: SparkSession, source: formats.InputFiles) -> DataFrame:
    if source.form == formats.TABLE:
        return spark.table(source.paths[0])
    # Columns in the names of folders are read as with other forms; Spark would make numbers of them.
    reader = spark.read.option("mergeSchema", value=True).option("recursiveFileLookup", value=True)
    return reader.parquet(*_uris(source))


def _found(source: formats.InputFiles, read: Callable[[], DataFrame]) -> DataFrame:
    """The result of ``read``. Raises UsageError if its source does not exist. Spark Connect checks that only when the
    columns are requested.
    """
    try:
        data_frame = read()
        _ = data_frame.columns
    except AnalysisException as error:
        first_line = (str(error).splitlines() or ["unreadable"])[0]
        problem = "there is no such file, folder or table" if source.form == formats.TABLE else first_line
        if source.form == formats.PARQUET and "_TYPE" in (error.getCondition() or ""):
            problem += "; Spark cannot read this type: use --engine local, or write the column with another type"
        raise UsageError(f"{', '.join(source.paths[:3])}: {problem}") from None
    return data_frame


def _named(table: DataFrame) -> list[str]:
    return [name for name in table.columns if name != _REST]


def _as_json(table: DataFrame, name: str, source: formats.InputFiles) -> Column:
    """The column for JSON, with the values of :mod:`exporter.input.parquet`. Times and bytes become texts: as JSON,
    times lose microseconds and bytes become base64.
    """
    column, kind = table[_quoted(name)], table.schema[name].dataType.typeName()
    nanos = _nanos(source, name) if kind == "long" else None
    if nanos is not None:
        column, kind = F.timestamp_micros(F.expr(f"{_quoted(name)} div 1000")), nanos
    if kind == "timestamp":
        return F.concat(column.cast("string"), F.lit("+00:00"))
    if kind in ("float", "double"):
        return _double(column.cast("double"))
    if kind == "timestamp_ntz":
        return column.cast("string")
    plain = _with_texts(table.schema[name].dataType)
    return column if plain == table.schema[name].dataType else column.cast(plain)


def _with_texts(kind: DataType) -> DataType:
    """The type with texts in place of bytes, at any depth."""
    if isinstance(kind, ArrayType):
        return ArrayType(_with_texts(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_with_texts(kind.keyType), _with_texts(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(part.name, _with_texts(part.dataType), part.nullable) for part in kind])
    return StringType() if isinstance(kind, BinaryType) else kind


def _refuse_variants(data_frame: DataFrame, source: formats.InputFiles) -> None:
    """Raise UsageError for a VARIANT that the file does not declare as one: Spark reads it as two columns of bytes."""
    for column in data_frame.schema:
        if _VARIANT.search(column.dataType.simpleString()):
            raise UsageError(
                f"{', '.join(source.paths[:3])}: the column {column.name} is a VARIANT in two columns of bytes, "
                "metadata and value; write it as text, with TO_JSON, or with a tool that declares its type"
            )


def _refuse_json(source: formats.InputFiles) -> None:
    """Raise UsageError for local Parquet files with the type JSON, of which Spark knows nothing: a name would get the
    quotes of its JSON. A structured column may be one text of JSON, as in other forms.
    """
    for name, kind in (text.split(" ", 1) for text in source.types):
        is_structured = kind == JSON_TYPE and name in {*STRUCTURED, *JSON_TEXTS}
        if has_json(kind) and not is_structured:
            raise UsageError(
                f"{', '.join(source.paths[:3])}: the column {name} has the type JSON, or has it inside, which only "
                "--engine local reads: use it, or write the rows as NDJSON"
            )


def _nanos(source: formats.InputFiles, name: str) -> str | None:
    """The type of a column of local Parquet files with times in nanoseconds, which Spark reads as numbers."""
    kind = dict(text.rsplit(" timestamp[ns", maxsplit=1) for text in source.types if " timestamp[ns" in text)
    zone = kind.get(name.lower())
    return None if zone is None else "timestamp" if "tz=" in zone else "timestamp_ntz"


def _double(column: Column) -> Column:
    """As text: Java writes an exponent from ten millions on. NaN is null, as pandas writes it."""
    plain = F.regexp_replace(column.cast("decimal(38,12)").cast("string"), r"(\.\d+?)0+$", "$1")
    is_plain = F.abs(column).between(1e7, math.nextafter(PLAIN_BELOW, 0))
    return F.when(is_plain, plain).when(~F.isnan(column), column.cast("string"))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
