"""How messages meet on Spark: what the steps of a round are given."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

from pyspark.sql.functions import col, length, lit, repeat
from pyspark.sql.functions import sum as sum_

from exporter.engines.spark import SCHEMA, SparkEngine
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import BUCKET_END, Message, To, order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

BUCKETS = [f"home-{number}" for number in range(8)]


def test_a_partition_has_whole_homes_in_the_order_of_receiver_key_and_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Across its homes, too: an object tells its names to one parent of a partition, for all parents in it."""
    random = Random(1)
    told = [
        Message(to, f"{bucket}{BUCKET_END}{rest}", order(random.randrange(3), random.randrange(9)), b"")
        for to in (To.PARENT, To.NAMED_FOR_PARENT, To.WRITTEN)
        for bucket in BUCKETS
        for rest in ("b", "a")
    ]
    random.shuffle(told)

    def noted(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
        part = os.urandom(8).hex()
        for number, one in enumerate(messages):
            yield Message("noted", part, number.to_bytes(4), json.dumps((one.to, one.key, one.order.hex())).encode())

    came = spark.createDataFrame([tuple(one) for one in told], SCHEMA)
    parts: dict[str, list[list[str]]] = defaultdict(list)
    made = SparkEngine(spark, tmp_path.as_uri(), 3).shuffle([came], noted, ExportJob("A-B", "snowflake://A-B/"))
    for row in sorted(made.collect(), key=lambda one: bytes(one["order"])):
        parts[row["key"]].append(json.loads(row["body"]))

    assert len(parts) > 1
    assert all(part == sorted(part) for part in parts.values())
    buckets = [{key.split(BUCKET_END)[0] for _, key, _ in part} for part in parts.values()]
    assert sorted(bucket for each in buckets for bucket in each) == BUCKETS
    assert sum(map(len, parts.values())) == len(told)


def test_large_messages_are_read_with_little_memory(spark: SparkSession, tmp_path: Path) -> None:
    """A table of thousands of columns has 100 KB, and is sent to thousands of queries: 400 MB in one partition, in a
    session that has 1 GB.
    """
    each = spark.range(4_096, numPartitions=1).select(
        lit(To.WRITTEN).alias("to"),
        col("id").cast("string").alias("key"),
        lit(b"").alias("order"),
        repeat(lit("x"), 100_000).cast("binary").alias("body"),
    )
    stored = SparkEngine(spark, tmp_path.as_uri(), 1).persist(each, "large")
    assert stored.select(sum_(length("body"))).collect()[0][0] == 4_096 * 100_000
