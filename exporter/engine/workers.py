"""Check workers that were not started here, before any row is read: they may lack this program or access to DIR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from exporter import VERSIONS
from exporter.engine import session
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from exporter.publication import Publication

_CAUSES: Final = ("ModuleNotFoundError", "ImportError", "PYTHON_VERSION_MISMATCH", "Cannot run program")


def check(spark: SparkSession, new: Publication) -> None:
    """Raise UsageError if workers on other machines cannot reach DIR or do not have this version of the program."""
    if not session.has_far_workers(spark):
        return
    if not new.is_uri:
        uris = "" if session.is_remote(spark) else "hdfs:, s3a:, abfs:, gs:, or "
        raise UsageError(
            f"{new.shown}: Spark's workers may be on other machines, so give --out as a URI that all of them reach: "
            f"{uris}file:///… for a shared disk"
        )
    try:
        (theirs,) = (row["version"] for row in spark.range(1).mapInArrow(_version, "version string").collect())
    except Exception as error:  # noqa: BLE001 - a failing worker raises any exception of Spark, Java or gRPC
        raise UsageError(f"Spark's workers cannot run this program ({_cause(error)}); {_REMEDY}") from None
    if theirs != VERSIONS:
        raise UsageError(f"Spark's workers have version {theirs} of this program, but this is {VERSIONS}; {_REMEDY}")


_REMEDY: Final = "docs/cluster.md explains how to install it there"


def _version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In the workers: the version of the program and of its model. That the worker can import it is tested too."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"version": [VERSIONS]})


def _cause(error: Exception) -> str:
    lines = str(error).splitlines()
    found = [line[line.index(cause) :] for line in lines for cause in _CAUSES if cause in line]
    return found[-1] if found else session.cause(error)
