"""The lower bound: Spark reads the text of the input and writes it back, in a separate process, and does nothing else.

``python -m benchmarks.copy_text FILE OUT``; the last line of the output is JSON with the seconds.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession


def main() -> None:
    source, target = sys.argv[1:]
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    started = time.perf_counter()
    spark.read.text(source).write.mode("overwrite").text(target)
    print(json.dumps({"seconds": round(time.perf_counter() - started, 3)}))
    spark.stop()


if __name__ == "__main__":
    main()
