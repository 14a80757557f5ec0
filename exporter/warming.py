"""What a short run needs later, begun beside what it does first: on a cold JVM the first of everything is slow."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

# One of each kind of step that the facts, events and nodes are made of; nobody reads what it comes to.
STEPS: Final = """
WITH
  things AS (SELECT id, CAST(id AS string) AS name, array(named_struct('n', id, 'text', CAST(id AS string))) AS parts
             FROM range(0, 2, 1, 1)),
  exploded AS (SELECT id, name, parts, explode(parts) AS part FROM things WHERE name IS NOT NULL),
  joined AS (SELECT e.*, t.name AS other FROM exploded AS e LEFT JOIN things AS t ON e.id = t.id),
  kept AS (SELECT j.* FROM joined AS j LEFT ANTI JOIN (SELECT DISTINCT name FROM things WHERE id > 7) AS x
           ON j.name = x.name),
  ordered AS (SELECT *, row_number() OVER (PARTITION BY name ORDER BY id) AS place,
              lag(name) OVER (PARTITION BY name ORDER BY id) AS before FROM kept)
SELECT name, sort_array(collect_set(struct(id, before))) AS all, max_by(other, place) AS last, count(*) AS n,
  first(concat_ws(',', transform(filter(parts, p -> p.n > 0 AND exists(parts, q -> q.text RLIKE '^[a-z]+$')),
    p -> concat('<', replace(p.text, 'a', 'b'), '>')))) AS text,
  max(CASE WHEN name NOT IN ('', 'x') THEN coalesce(nullif(regexp_extract(name, '^(a)', 1), ''), upper(trim(name)),
    to_json(named_struct('name', name))) END) AS word
FROM (SELECT * FROM ordered UNION ALL SELECT * FROM ordered)
GROUP BY name
"""


def engine(spark: SparkSession) -> threading.Thread:
    """Have Spark plan and run one step of each kind while the rows are read; waiting for the thread is not needed."""
    return _begun(lambda: spark.sql(STEPS).write.format("noop").mode("overwrite").save())


def worker(spark: SparkSession, *modules: str) -> threading.Thread:
    """Have a Python worker of Spark start and import ``modules`` while the session does other work.

    The worker stays, and the first job that needs one finds it; waiting for the thread is not needed.
    """

    def touch(_: object) -> str:
        for name in modules:
            __import__(name)
        return ""

    def run() -> None:
        # Written, if to nowhere: a column that nobody reads would be dropped, and the worker with it.
        touched = spark.range(0, 1, numPartitions=1).select(F.udf(touch, "string", useArrow=False)("id"))
        touched.write.format("noop").mode("overwrite").save()

    return _begun(run)


def _begun(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        with contextlib.suppress(Exception):  # nothing depends on it, and the run may be over before it is
            work()

    thread = threading.Thread(target=run, name="warming", daemon=True)
    thread.start()
    return thread
