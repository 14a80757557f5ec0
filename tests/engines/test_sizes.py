"""The size of the input, as its file system reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.engines.records import size
from exporter.errors import UsageError
from exporter.input import formats
from exporter.input.formats import InputFiles

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, length in (("a.ndjson", 7), ("b.ndjson", 5), ("c.ndjson.gz", 3), ("below/d.parquet", 4), ("_SUCCESS", 9)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * length)
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "bytes_"),
    [
        (("file://{}/a.ndjson", "{}/b.ndjson"), 12),
        (("file://{}/*.ndjson",), 12),
        (("{}/c.ndjson.gz",), formats.text_bytes("c.gz", 3)),
        (("file://{}",), 12 + formats.text_bytes("c.gz", 3) + formats.text_bytes("d.parquet", 4)),
    ],
)
def test_sizes_are_those_of_the_files(paths: tuple[str, ...], bytes_: int, spark: SparkSession, folder: Path) -> None:
    named = [path.format(folder) for path in paths]
    assert size(spark, [InputFiles(formats.NDJSON, (path,)) for path in named]) == bytes_
    assert size(spark, [InputFiles(formats.NDJSON, tuple(named))]) == bytes_


def test_the_size_of_a_table_is_unknown(spark: SparkSession, folder: Path) -> None:
    sources = [InputFiles(formats.NDJSON, (f"{folder}/a.ndjson",)), InputFiles(formats.TABLE, ("a_table",))]
    assert size(spark, sources) is None


@pytest.mark.parametrize("path", ["file://{}/nothing.ndjson", "file://{}/nothing*.ndjson", "nowhere://host/x.ndjson"])
def test_what_is_not_there_is_named(path: str, spark: SparkSession, folder: Path) -> None:
    named = path.format(folder)
    with pytest.raises(UsageError, match=r"Spark cannot reach it: .*(PATH_NOT_FOUND|scheme)") as told:
        size(spark, [InputFiles(formats.NDJSON, (named,))])
    assert str(told.value).startswith(named)


def test_compressed_rows_are_more_than_their_file() -> None:
    assert formats.text_bytes("rows.ndjson", 100) == 100
    assert formats.text_bytes("rows.ndjson.GZ", 100) == formats.text_bytes("rows.parquet", 100) > 500
