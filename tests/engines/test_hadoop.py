"""DIR as a URI: Hadoop's FileSystem, tested on this machine's files with ``file:``."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest

from exporter.engines import spark as workers
from exporter.engines.hadoop import HadoopFiles, HadoopPlace, folders_above
from exporter.errors import ExporterError, UsageError
from exporter.publish import manifest
from exporter.publish.manifest import plain
from exporter.publish.publication import Publication

if TYPE_CHECKING:
    from collections.abc import Callable

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
    with place.held(), Publication(place, replace=replace) as new:
        for name, text in texts.items():
            new.text(f".work/outputs/{name}", text)
        new.take(f"{new.work}/outputs")
        new.text("report.json", "{}\n")
        new.publish({"version": "x"})


EVENT_FILES = ("events/part-00000.ndjson", "events/part-00001.ndjson")
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
        "format": "access-history-exporter",
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
    (folder / "packed.gz").write_bytes(packed := gzip.compress(text.encode()))
    assert place(tmp_path / "out").file_entries(str(folder)) == [
        {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in (("below/file.txt", text.encode()), ("other", b"PAR1\n\xff\x00\n"), ("packed.gz", packed))
    ]


def test_sums_leave_the_session_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    names = "spark.sql.files.maxPartitionBytes", "spark.sql.files.minPartitionNum"
    spark.conf.set(names[0], "1000000")
    try:
        (tmp_path / "file").write_text("text")
        place(tmp_path / "out").file_entries(str(tmp_path))
        assert spark.conf.get(names[0]) == "1000000"
        assert spark.conf.get(names[1], None) is None
    finally:
        spark.conf.unset(names[0])


def test_a_file_that_is_not_whole_is_no_file_of_the_manifest() -> None:
    batch = pa.RecordBatch.from_pydict({"file": ["file:/a", "file:/a"], "line": [b"one", b"two"]})
    (whole,) = workers._checksums({"file:/a": 8}, iter([batch]))
    assert whole.to_pylist() == [{"path": "file:/a", "sha256": hashlib.sha256(b"one\ntwo\n").hexdigest()}]
    with pytest.raises(ExporterError, match="has 20 bytes, but 8"):
        list(workers._checksums({"file:/a": 20}, iter([batch])))


def test_an_older_folder_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    out = place(tmp_path / "out")
    published(out, EVENTS)
    with pytest.raises(UsageError, match="--replace"):
        Publication(out, replace=False)
    published(out, {"to=events/part-00000-a.txt": "{}\n"}, replace=True)
    there = content(tmp_path / "out")
    (events,) = (path for path in there if path.startswith("events/"))
    assert there[events] == b"{}\n"
    assert not manifest.problems(tmp_path / "out")
    assert sorted(there) == [events, "manifest.json", "report.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_in_another_export_is_refused(tmp_path: Path) -> None:
    published(place(tmp_path / "out"), EVENTS)
    before = content(tmp_path)
    for name in ("out/new", "out/events/a"):
        with pytest.raises(UsageError, match=f"out/.*: is in file://{tmp_path}/out, the folder of another export"):
            published(place(tmp_path / name), EVENTS)
    assert content(tmp_path) == before
    published(place(tmp_path / "out2" / "a"), EVENTS)


def test_a_manifest_above_that_this_user_may_not_read_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role in a cloud may have only the folder of DIR."""
    read = HadoopFiles.text

    def refused(files: HadoopFiles, path: str) -> str | None:
        if path == f"file://{tmp_path}/manifest.json":
            raise PermissionError(path)
        return read(files, path)

    monkeypatch.setattr(HadoopFiles, "text", refused)
    published(place(tmp_path / "out"), EVENTS)


@pytest.mark.parametrize(
    ("uri", "above"),
    [
        ("s3a://bucket/a/b", ["s3a://bucket/a", "s3a://bucket"]),
        ("hdfs:///a/b", ["hdfs:///a"]),
        ("hdfs:/a/b", ["hdfs:/a"]),
        ("hdfs://host/a", ["hdfs://host"]),
    ],
)
def test_the_folders_above_a_uri(uri: str, above: list[str]) -> None:
    assert list(folders_above(uri)) == above


def test_what_no_export_left_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("a file")
    for name in ("out", "file"):
        with pytest.raises(UsageError, match="was not made by an export"):
            Publication(place(tmp_path / name), replace=True)
    assert content(tmp_path) == {"file": b"a file", "out/thesis.txt": b"years of work"}


def test_a_folder_that_only_has_the_name_of_a_work_folder_stays_and_removes_nothing(tmp_path: Path) -> None:
    """Its manifest would have been read as the list of files that a dead run had put into DIR."""
    out, mine = tmp_path / "out", tmp_path / ".out.202609010800"
    published(place(out), OLD)
    shutil.copytree(out, mine)
    (mine / "notes.txt").write_text("mine")
    again = place(out)
    published(again, NEW, replace=True)
    assert (mine / "notes.txt").read_text() == "mine"
    assert any("/.out.202609010800 stays: its name is that of a work folder" in note for note in again.notes)


def test_a_file_of_somebody_else_is_refused_and_one_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    out, other = place(tmp_path / "out"), tmp_path / "out" / "events" / "mine.txt"
    published(out, EVENTS)
    other.write_text("mine")
    with pytest.raises(UsageError, match=r"would remove them: events/mine\.txt"):
        Publication(out, replace=True)
    other.unlink()
    with out.held(), Publication(out, replace=True) as new:
        new.text("report.json", "{}\n")
        other.write_text("mine")
        new.publish({"version": "x"})
    assert other.read_text() == "mine"
    assert sorted(content(tmp_path / "out")) == ["events/mine.txt", "manifest.json", "report.json"]
    with out.held():  # what a killed run left is removed, but nothing else
        pass
    assert other.read_text() == "mine"


def test_a_file_that_appears_in_the_place_of_a_new_one_is_not_overwritten(tmp_path: Path) -> None:
    out, other = place(tmp_path / "out"), tmp_path / "out" / "graph" / "part-00000.ttl"
    published(out, EVENTS)
    with out.held(), Publication(out, replace=True) as new:
        new.text("graph/part-00000.ttl", "<a> <b> <c> .\n")
        other.parent.mkdir()
        other.write_text("mine")
        with pytest.raises(UsageError, match=r"appeared in it during the export: graph/part-00000\.ttl"):
            new.publish({"version": "x"})
    assert other.read_text() == "mine"


def test_what_does_not_change_stays_where_it_is(tmp_path: Path) -> None:
    """On an object store, copying what earlier runs wrote would cost an update as much as all days of DIR."""
    out = place(tmp_path / "out")
    published(out, EVENTS)
    before = {path: (tmp_path / "out" / path).stat().st_ino for path in content(tmp_path / "out")}
    with out.held(), Publication(out, replace=False, update=True) as new:
        new.carry(["events", "graph", "quarantine/day=*"])  # there is no graph
        new.text("quarantine/part-00000.ndjson", "new\n")
        assert new.names("events") == ["events/part-00000.ndjson", "events/part-00001.ndjson"]
        assert not content(Path(new.folder.removeprefix("file://"), "events"))
        assert (new.path("events").endswith("/out/events"), new.has("events"), new.has("graph")) == (True, True, False)
        new.text("report.json", "{}\n")
        new.publish({"version": "y"})
    there = content(tmp_path / "out")
    assert sorted(there) == [*sorted(EVENT_FILES), "manifest.json", "quarantine/part-00000.ndjson", "report.json"]
    assert all((tmp_path / "out" / path).stat().st_ino == before[path] for path in EVENT_FILES)
    assert not manifest.problems(tmp_path / "out")


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

    monkeypatch.setattr(HadoopFiles, "delete", lost)
    with pytest.raises(MemoryError, match="full"):
        fail()


class Killed(BaseException):
    """The process is no more: nothing of it reaches the file system after that."""


_CHANGES: Final = ("make", "write", "create", "delete", "copy", "rename", "overwrite")


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Dying:
    return Dying(monkeypatch)


class Dying:
    """Kills the runs of this process when they have changed the file system so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for name in _CHANGES:
            monkeypatch.setattr(HadoopFiles, name, self._counted(getattr(HadoopFiles, name)))

    def _counted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(change)
        def counted(*given: Any) -> Any:
            if self.left == 0:
                raise Killed
            self.left = None if self.left is None else self.left - 1
            return change(*given)

        return counted


OLD: Final = {**EVENTS, "to=catalog-catalog.ttl/part-00000-a.txt": "<a> <b> <c> .\n", "to=graph-nt/part-0": "1\n"}
NEW: Final = {"to=events/part-00000-a.txt": "{}\n", "to=catalog-catalog.ttl/part-00000-a.txt": "<d> <b> <c> .\n"}


def whole(out: Path) -> dict[str, bytes]:
    """What DIR has by its manifest: output and content, of files that are as they were when it was written."""
    told = json.loads((out / "manifest.json").read_text("utf-8"))
    data = {one["path"]: (out / one["path"]).read_bytes() for one in told["files"]}
    assert {path: hashlib.sha256(text).hexdigest() for path, text in data.items()} == {
        one["path"]: one["sha256"] for one in told["files"]
    }
    return {plain(path): text for path, text in data.items()}


@pytest.mark.parametrize("is_there", [True, False])
def test_killed_at_any_step_dir_is_the_old_or_the_new_one_and_the_next_run_continues_from_it(
    *, is_there: bool, dying: Dying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        HadoopPlace, "file_entries", lambda _, folder: manifest.file_entries(Path(folder.partition(":")[2]))
    )
    published(place(tmp_path / "a" / "out"), NEW)
    published(place(tmp_path / "b" / "out"), OLD)
    new, old, seen = whole(tmp_path / "a" / "out"), whole(tmp_path / "b" / "out"), set[str]()
    for step in range(0, 1000, 2 if is_there else 4):  # each step is tried on the local disk, which is faster
        out = tmp_path / str(step) / "out"
        if is_there:
            shutil.copytree(tmp_path / "b", out.parent)
        dying.left = step
        try:
            published(place(out), NEW, replace=is_there)
        except Killed:
            dying.left = None
        else:
            break
        if is_there or (out / "manifest.json").exists():
            assert whole(out) in ((old, new) if is_there else (new,)), step
            seen.add("old" if is_there and whole(out) == old else "new")
        published(place(out), NEW, replace=is_there or (out / "manifest.json").exists())
        assert whole(out) == new
        assert manifest.problems(out) == []
        assert {path.name for path in out.parent.iterdir()} == {"out"}
    assert seen == ({"old", "new"} if is_there else {"new"})
    assert step > 10


def test_a_second_run_is_refused_until_the_first_one_has_ended(tmp_path: Path) -> None:
    with place(tmp_path / "out").held(), pytest.raises(UsageError, match="another run is writing it"):
        published(place(tmp_path / "out"), EVENTS)
    assert list(tmp_path.iterdir()) == []
    published(place(tmp_path / "out"), EVENTS)


def test_a_run_without_its_lease_publishes_nothing(tmp_path: Path) -> None:
    out = place(tmp_path / "out")
    with out.held(), Publication(out, replace=False) as new:
        (tmp_path / ".out.lock").write_text('{"id": "other"}')
        with pytest.raises(ExporterError, match="another run has taken it over"):
            new.publish({"version": "x"})
    assert [path.name for path in tmp_path.iterdir()] == [".out.lock"], "which is the other's"


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    """As it is done on HDFS, where this is one step; here it is the call alone that is tried."""
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    HadoopFiles(f"file://{tmp_path}").overwrite(f"file://{tmp_path}/new", f"file://{tmp_path}/old")
    assert content(tmp_path) == {"old": b"new"}


@pytest.mark.parametrize("out", ["hdfs:///", "hdfs://host", "s3a://bucket/", "gs://bucket"])
def test_a_whole_file_system_is_no_folder(out: str) -> None:
    with pytest.raises(UsageError, match="give a folder below it"):
        HadoopPlace(out)


def test_a_folder_at_the_top_of_its_file_system_has_the_top_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """HDFS takes ``hdfs://host`` for no path at all."""
    top, asked = HadoopPlace("file:///lineage"), list[str]()
    monkeypatch.setattr(top, "listed", lambda folder: asked.append(folder) or [])
    top._recover()
    assert asked == ["file:///"]


def test_a_file_system_that_spark_does_not_know_is_named() -> None:
    with pytest.raises(UsageError, match=r"^nowhere://host/out: Spark cannot reach it: .*nowhere"):
        HadoopPlace("nowhere://host/out")
