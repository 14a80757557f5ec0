"""DIR by a URI: what goes through Hadoop's FileSystem, tried on this machine's files, which it has by ``file:``."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from exporter.engine import hadoop
from exporter.engine.hadoop import HadoopPlace
from exporter.errors import ExporterError, UsageError
from exporter.publication import Publication

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


def place(path: Path) -> HadoopPlace:
    return HadoopPlace(f"file://{path}")


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def published(place: HadoopPlace, texts: dict[str, str], *, replace: bool = False) -> None:
    """An export whose texts are these, by what its engine calls them."""
    with Publication(place, replace=replace) as new:
        for name, text in texts.items():
            new.text(f".work/outputs/{name}", text)
        new.take(f"{new.work}/outputs")
        new.text("report.json", "{}\n")
        new.publish({"version": "x"})


EVENTS = {"to=events/part-00000-a.txt": '{"a": "ü"}\n\n{"b": 1}\n', "to=events/part-00007-a.txt": '{"c": 1}\n'}


def test_a_folder_appears_with_its_files_and_a_manifest_of_them(tmp_path: Path) -> None:
    out = tmp_path / "a lineage"  # its URL has an escape
    published(
        place(out), {**EVENTS, "to=graph-ttl/part-00000-a.txt": "<a> <b> <c> .\n", "to=tally/part-00000-a.txt": "x"}
    )
    there = content(out)
    manifest = json.loads(there.pop("manifest.json"))
    assert there == {
        "events/part-00000.ndjson": '{"a": "ü"}\n\n{"b": 1}\n'.encode(),
        "events/part-00001.ndjson": b'{"c": 1}\n',
        "graph/part-00000.ttl": b"<a> <b> <c> .\n",
        "report.json": b"{}\n",
    }
    assert manifest == {
        "version": "x",
        "files": [
            {"path": path, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
            for path, text in there.items()
        ],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["a lineage"]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "\n\n", "one line", "\nends without one", "a\r\nb\rc\n", "x" * 100_000 + "\n", "l\n" * 9000],
)
def test_a_sum_is_that_of_the_bytes_whatever_the_lines(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file.txt").write_bytes(text.encode())
    (folder / "other").write_bytes(b"PAR1\n\xff\x00\n")
    assert place(tmp_path / "out").described(str(folder)) == [
        {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in (("below/file.txt", text.encode()), ("other", b"PAR1\n\xff\x00\n"))
    ]


def test_sums_leave_the_session_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    names = "spark.sql.files.maxPartitionBytes", "spark.sql.files.minPartitionNum"
    spark.conf.set(names[0], "1000000")
    try:
        (tmp_path / "file").write_text("text")
        place(tmp_path / "out").described(str(tmp_path))
        assert spark.conf.get(names[0]) == "1000000"
        assert spark.conf.get(names[1], None) is None
    finally:
        spark.conf.unset(names[0])


def test_a_file_that_is_not_whole_is_no_file_of_the_manifest() -> None:
    batch = pa.RecordBatch.from_pydict({"file": ["file:/a", "file:/a"], "line": [b"one", b"two"]})
    (whole,) = hadoop._sums({"file:/a": 8}, iter([batch]))
    assert whole.to_pylist() == [{"path": "file:/a", "sha256": hashlib.sha256(b"one\ntwo\n").hexdigest()}]
    with pytest.raises(ExporterError, match="has 20 bytes, and 8"):
        list(hadoop._sums({"file:/a": 20}, iter([batch])))


def test_an_older_folder_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    out = place(tmp_path / "out")
    published(out, EVENTS)
    with pytest.raises(UsageError, match="--replace"):
        Publication(out, replace=False)
    published(out, {"to=events/part-00000-a.txt": "{}\n"}, replace=True)
    assert content(tmp_path / "out")["events/part-00000.ndjson"] == b"{}\n"
    assert "events/part-00001.ndjson" not in content(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_no_export_left_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("a file")
    for name in ("out", "file"):
        with pytest.raises(UsageError, match="not what an export left"):
            Publication(place(tmp_path / name), replace=True)
    assert content(tmp_path) == {"file": b"a file", "out/thesis.txt": b"years of work"}


def test_a_run_that_fails_leaves_nothing_and_tells_its_own_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        with Publication(place(tmp_path / "out"), replace=False) as new:
            new.text("report.json", "{}")
            raise MemoryError("full")

    with pytest.raises(MemoryError, match="full"):
        fail()
    assert list(tmp_path.iterdir()) == []

    def lost(*_: object) -> None:
        raise OSError("no connection")

    monkeypatch.setattr(HadoopPlace, "delete", lost)
    with pytest.raises(MemoryError, match="full"):
        fail()


def test_the_manifest_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = place(tmp_path / "out")
    published(out, EVENTS)
    steps: list[tuple[list[str], list[str]]] = []
    rename = HadoopPlace._rename

    def watched(self: HadoopPlace, path: str, to: str) -> None:
        rename(self, path, to)
        steps.append((sorted(content(tmp_path / "out")), sorted(content(tmp_path))))

    monkeypatch.setattr(HadoopPlace, "_rename", watched)
    published(out, {"to=events/part-00000-a.txt": "{}\n"}, replace=True)
    whole = ["events/part-00000.ndjson", "manifest.json", "report.json"]
    assert [there for there, _ in steps[-2:]] == [["events/part-00000.ndjson", "report.json"], whole]
    assert all("manifest.json" in there or not there for there, _ in steps[:-2]), "the old one is whole until it goes"


@pytest.mark.parametrize("out", ["hdfs:///", "hdfs://host", "s3a://bucket/", "gs://bucket"])
def test_a_whole_file_system_is_no_folder(out: str) -> None:
    with pytest.raises(UsageError, match="give a folder below it"):
        HadoopPlace(out)


def test_a_file_system_that_spark_does_not_know_is_named() -> None:
    with pytest.raises(UsageError, match=r"^nowhere://host/out: Spark cannot reach it: .*nowhere"):
        HadoopPlace("nowhere://host/out")
