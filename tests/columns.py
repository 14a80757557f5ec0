"""Column expressions, applied to plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession


def applied(spark: SparkSession, function: Callable[..., Any], rows: Sequence[Any]) -> list[Any]:
    """The function of each row: a text, or a tuple with one for each argument. It is given the names of columns and
    gives a Column, or one as SQL text.
    """
    tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
    names = [f"c{number}" for number in range(len(tuples[0]))]
    table = spark.createDataFrame(tuples, ", ".join(f"{name} string" for name in names))
    made = function(*names)
    result = F.expr(made) if isinstance(made, str) else made
    return [row["result"] for row in table.select(result.alias("result")).collect()]
