"""Why an event must not go out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from exporter.openlineage.check import Limits, faults, with_problems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "account string, query_id string, event_time timestamp, event_type string, job_name string, event string"
TIME = datetime(2024, 1, 1, tzinfo=UTC)
SOUND = ("ORG-ACC", "q", TIME, "COMPLETE", "write T [1]", '{"name":"T"}')
BROKEN = [
    ({5: None}, "no text"),
    ({2: None}, "eventTime is missing"),
    ({4: None}, "job.name is missing"),
    ({4: ""}, "job.name is missing"),
    ({4: "n" * 21}, "job.name has 21 characters, more than 20"),
    ({5: '"' + "ü" * 30 + '"'}, "the event has 62 bytes, more than 50"),
    ({5: r'{"name":"a\u0000b"}'}, "NUL"),
]


def frame(spark: SparkSession, changes: dict[int, Any]) -> Any:
    return spark.createDataFrame([tuple(changes.get(i, value) for i, value in enumerate(SOUND))], TABLE)


@pytest.mark.parametrize(("changes", "reason"), BROKEN)
def test_an_event_that_must_not_go_out_says_why(spark: SparkSession, changes: dict[int, Any], reason: str) -> None:
    (found,) = faults(frame(spark, changes), Limits(max_bytes=50, max_job_name=20, refuses_nul=True)).collect()
    assert (found.account, found.query_id, found.event_type) == ("ORG-ACC", "q", "COMPLETE")
    assert reason in found.reason


@pytest.mark.parametrize("changes", [{}, {1: None, 3: "DATASET", 4: None}, {5: r'{"name":"a\\u0000b"}'}])
def test_a_sound_event_has_no_problems(spark: SparkSession, changes: dict[int, Any]) -> None:
    (found,) = with_problems(frame(spark, changes), Limits(refuses_nul=True)).collect()
    assert found.problems == []
    assert faults(frame(spark, changes)).collect() == []


def test_the_specification_allows_nul_so_only_a_backends_limits_refuse_it(spark: SparkSession) -> None:
    assert faults(frame(spark, {5: r'{"name":"a\u0000b"}'})).collect() == []
