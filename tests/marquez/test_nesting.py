"""Statements nested in several levels: a push names each parent as Marquez does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests import exports
from tests.marquez.seen import push
from tests.marquez.test_habits import run, under

if TYPE_CHECKING:
    from pathlib import Path

    from tests.marquez.api import Marquez

Json = dict[str, Any]


def chain(space: str, *names: str) -> list[Json]:
    """Runs of jobs of these names, each within the one before."""
    told: list[Json] = []
    for second, name in enumerate(names):
        at = {"eventTime": f"2026-01-01T00:00:{second:02d}.000000Z"}
        told.append(run(space, name, **at, **({"run": under(told[-1])} if told else {})))
    return told


@pytest.mark.parametrize("known", [0, 1], ids=["all told", "the first one never told"])
def test_each_job_is_there_once_below_all_above_it(marquez: Marquez, tmp_path: Path, known: int) -> None:
    space = f"snowflake://NESTED-{uuid4()}"
    folder = tmp_path / "out"
    (folder / "events").mkdir(parents=True)
    exports.ndjson(reversed(chain(space, "a", "b.c", "d", "e")[known:]), folder / "events" / "part-00000.ndjson")
    assert push(folder, marquez) == 0
    jobs = {one["name"]: (one["simpleName"], one["parentJobName"]) for one in marquez.listed(space, "jobs")}
    below = {"a.b.c": ("b.c", "a"), "a.b.c.d": ("d", "a.b.c"), "a.b.c.d.e": ("e", "a.b.c.d")}
    assert jobs == {"a": ("a", None), **below}
    assert {one["latestRun"]["state"] for one in marquez.listed(space, "jobs")} == {"COMPLETED"}
