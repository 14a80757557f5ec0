"""The values that benchmarks/shuffle.py reads from Spark's event log."""

from __future__ import annotations

import json

from benchmarks.shuffle import Moved, moved, table


def stage(number: int, description: str | None) -> str:
    properties = {} if description is None else {"spark.job.description": description}
    return json.dumps(
        {"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": number}, "Properties": properties}
    )


def task(number: int, exchanged: int, written: int) -> str:
    metrics = {
        "Shuffle Write Metrics": {"Shuffle Bytes Written": exchanged},
        "Disk Bytes Spilled": 10,
        "Output Metrics": {"Bytes Written": written},
    }
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": number, "Task Metrics": metrics})


def test_bytes_are_summed_by_what_the_program_calls_its_stages() -> None:
    lost = json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": 1, "Task Metrics": None})
    log = [stage(0, "reading rows"), task(0, 100, 0), stage(1, "reading rows"), lost, task(1, 0, 4000), stage(2, None)]
    found = moved([*log, task(2, 1, 1), json.dumps({"Event": "SparkListenerApplicationEnd"})])
    assert found == {"reading rows": Moved(2, 100, 20, 4000), "before, between and after": Moved(1, 1, 10, 1)}
    assert list(table(found, 2))[2] == "| reading rows | 2 | 50 | 10 | 2,000 |"
