"""Workers of a cluster: missing packages are reported before a row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.engines import session
from exporter.engines import spark as workers
from exporter.errors import UsageError
from exporter.publish.places import LocalPlace
from exporter.publish.publication import Publication

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession


@pytest.fixture
def far(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session whose workers are taken for ones on other machines."""
    monkeypatch.setattr(session, "has_far_workers", lambda _: True)
    return spark


def publication(out: str) -> Publication:
    return Publication(LocalPlace(out), replace=False)


def test_workers_of_ours_are_not_asked() -> None:
    class Ours:
        sparkContext = type("Context", (), {"master": "local[*]"})  # noqa: N815 - Spark's name

    workers.check(Ours(), publication("lineage"))  # type: ignore[arg-type]  # a stand-in of a session


def test_a_folder_of_this_machine_is_none_for_workers_elsewhere(far: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^lineage: .* as a URI .* file:///"):
        workers.check(far, publication("lineage"))
    workers.check(far, publication(f"file://{tmp_path}/out"))
    workers.check(far, publication(f"file:{tmp_path}/out"))
    assert list(tmp_path.iterdir()) == []


def test_over_spark_connect_only_a_shared_disk_is_named(far: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_remote", lambda _: True)
    with pytest.raises(UsageError, match=r"reach: file:///… for a shared disk$"):
        workers.check(far, publication("lineage"))


def test_workers_of_another_version_are_refused(
    far: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "VERSIONS", "0.1.0 (model 0.0.0)")  # here, and not there
    with pytest.raises(UsageError, match=r"have version .* but this is 0\.1\.0 \(model 0\.0\.0\); docs/cluster\.md"):
        workers.check(far, publication(f"file://{tmp_path}/out"))


def test_workers_that_cannot_work_say_why(far: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ModuleNotFoundError("No module named 'exporter'")

    monkeypatch.setattr(workers, "_version", missing)
    with pytest.raises(UsageError, match=r"\(ModuleNotFoundError: No module named 'exporter'\); docs/cluster\.md"):
        workers.check(far, publication(f"file://{tmp_path}/out"))
    monkeypatch.setattr(workers, "_version", lambda _: 1 / 0)
    with pytest.raises(UsageError, match="cannot run this program"):
        workers.check(far, publication(f"file://{tmp_path}/out"))
