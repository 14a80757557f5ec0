"""The store on disk: made once for each export, by whoever comes first, and removed when nobody has it open."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Store

from exporter.ask import stores as disk
from exporter.cli import main
from exporter.errors import UsageError
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

ONE = "<a:a> <a:b> <a:c> ."
TWO = f"{ONE}\n<a:d> <a:e> <a:f> ."


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    folder = tmp_path / "lineage"
    (folder / "graph").mkdir(parents=True)
    (folder / "graph" / "part-0.ttl").write_text(ONE)
    return folder


def stores(graph: Path) -> list[Path]:
    folder = graph.with_name(f".{graph.name}.store")
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.exists() else []


def triples(store: Path) -> int:
    return len(Store.read_only(str(store)))


def test_it_is_made_once(graph: Path) -> None:
    said: list[str] = []
    with disk.opened_store(graph, said.append) as store:
        assert triples(store) == 1
    with disk.opened_store(graph, said.append) as again:
        assert again == store
    assert len(said) == 1
    assert stores(graph) == [store]


def test_another_export_has_another_and_the_earlier_one_goes(graph: Path) -> None:
    with disk.opened_store(graph, lambda _: None) as old:
        pass
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    with disk.opened_store(graph, lambda _: None) as new:
        assert triples(new) == 2
        assert stores(graph) == [new]
    assert not old.exists()


def test_a_changed_manifest_is_another_export(graph: Path) -> None:
    before = disk.key(graph)
    (graph / "manifest.json").write_text("{}")
    assert disk.key(graph) != before


def test_an_open_store_is_not_removed(graph: Path) -> None:
    with disk.opened_store(graph, lambda _: None) as old:
        (graph / "graph" / "part-0.ttl").write_text(TWO)
        with disk.opened_store(graph, lambda _: None) as new:
            assert stores(graph) == sorted([old, new])
            assert (triples(old), triples(new)) == (1, 2)
    (graph / "graph" / "part-0.ttl").write_text(ONE + ONE)
    with disk.opened_store(graph, lambda _: None) as third:
        assert stores(graph) == [third]


def test_two_at_once_make_one(graph: Path) -> None:
    said: list[str] = []
    found: list[Path] = []

    def start() -> None:
        with disk.opened_store(graph, said.append) as store:
            found.append(store)

    threads = [threading.Thread(target=start) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 1
    assert found == stores(graph) * 5


def test_an_unfinished_store_of_a_dead_process_is_removed(graph: Path) -> None:
    left = graph.with_name(".lineage.store") / "0123456789ab.making"
    left.mkdir(parents=True)
    (left / "CURRENT").write_text("nothing")
    with disk.opened_store(graph, lambda _: None) as store:
        assert stores(graph) == [store]


def test_files_and_folders_of_somebody_else_stay(graph: Path) -> None:
    """By whatever name they are there."""
    with disk.opened_store(graph, lambda _: None) as store:
        folder = store.parent
    for name in ("mine", "0123456789abcdef"):
        (folder / name).mkdir()
        (folder / name / "notes.txt").write_text("mine")
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    disk.tidy(graph)
    assert not store.exists()
    assert sorted(path.parent.name for path in folder.glob("*/notes.txt")) == ["0123456789abcdef", "mine"]


def test_a_link_in_the_place_of_a_lock_is_not_followed(graph: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    mine.chmod(0o644)
    folder = disk.beside(graph)
    folder.mkdir()
    (folder / "lock").symlink_to(mine)
    with disk.opened_store(graph, lambda _: None) as store:
        assert triples(store) == 1
    assert (mine.read_text(), mine.stat().st_mode & 0o777) == ("mine", 0o644)


def test_where_nothing_can_be_written_it_is_temporary_and_says_so(graph: Path) -> None:
    graph.with_name(".lineage.store").write_text("a file in its place")
    said: list[str] = []
    with disk.opened_store(graph, said.append) as store:
        assert triples(store) == 1
        assert graph.parent not in store.parents
    assert not store.exists()
    assert "temporary" in said[0]


def test_a_graph_that_cannot_be_read_leaves_nothing(graph: Path) -> None:
    (graph / "graph" / "part-0.ttl").write_text("no turtle")
    with pytest.raises(UsageError, match="not valid Turtle"), disk.opened_store(graph, lambda _: None):
        pass
    (graph / "graph" / "part-0.ttl").write_text("")
    with pytest.raises(UsageError, match="no triples"), disk.opened_store(graph, lambda _: None):
        pass
    assert stores(graph) == []


def test_fresh_is_only_what_is_there(graph: Path) -> None:
    with disk.fresh(graph) as store:
        assert store is None
    with disk.opened_store(graph, lambda _: None) as made, disk.fresh(graph) as store:
        assert store == made
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    with disk.fresh(graph) as store:
        assert store is None


# --- what was exported before is gone


def test_what_was_exported_before_goes_when_it_is_tidied(graph: Path) -> None:
    with disk.opened_store(graph, lambda _: None):
        pass
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    disk.tidy(graph)
    assert stores(graph) == []


def test_the_store_of_what_is_there_stays(graph: Path) -> None:
    with disk.opened_store(graph, lambda _: None) as store:
        pass
    disk.tidy(graph)
    assert stores(graph) == [store]
    shutil.rmtree(graph)
    disk.tidy(graph)
    assert stores(graph) == []


def test_a_store_in_use_is_reported_and_removed_when_its_server_ends(graph: Path) -> None:
    said: list[str] = []
    with disk.opened_store(graph, lambda _: None) as old:
        (graph / "graph" / "part-0.ttl").write_text(TWO)
        disk.tidy(graph, said.append)
        assert triples(old) == 1
    assert said == [f"{old} holds an earlier export: a server shows it, and removes it when it ends."]
    assert stores(graph) == []


def test_a_store_that_cannot_be_removed_is_reported(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with disk.opened_store(graph, lambda _: None) as old:
        pass
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    said: list[str] = []
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    disk.tidy(graph, said.append)
    assert said == [f"{old} holds an earlier export and cannot be removed: remove it."]


def test_a_question_removes_what_was_exported_before(graph: Path) -> None:
    with disk.opened_store(graph, lambda _: None):
        pass
    (graph / "graph" / "part-0.ttl").write_text(TWO)
    with disk.fresh(graph) as store:
        assert store is None
    assert stores(graph) == []


# --- parts of an export


def test_the_store_of_a_part_of_an_export_is_beside_the_export(tmp_path: Path) -> None:
    """In DIR it would be a file that no export wrote: the next export would be refused."""
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out, "--update") == 0
    before = sorted(out.rglob("*"))
    [day] = (out / "graph").glob("day=*")
    parts = [out / "graph", day, next(day.iterdir())]
    with disk.opened_store(out, lambda _: None) as of_export:
        pass
    made = []
    for part in parts:
        with disk.opened_store(part, lambda _: None) as store:
            assert triples(store) > 0
            made.append(store)
        with disk.fresh(part) as again:
            assert again == store
    assert sorted(out.rglob("*")) == before
    assert len({of_export, *made}) == 4
    assert all(store.is_dir() and out.with_name(".out.store") in store.parents for store in (of_export, *made))
    assert exports.export([rows], out, "--update", "--replace") == 0
    assert not any(store.exists() for store in (of_export, *made)), "they may hold what is no longer in DIR"


@pytest.mark.parametrize(("made", "asked"), [("graph", "."), (".", "graph")])
def test_a_question_removes_what_an_earlier_export_left_of_the_whole_and_of_parts(
    made: str, asked: str, tmp_path: Path
) -> None:
    """A server that was killed leaves its store, with users who were forgotten since."""
    out = tmp_path / "out"
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], out, "--outputs", "graph") == 0
    with disk.opened_store(out / made, lambda _: None) as store:
        pass
    assert store.is_dir()
    later = next((out / "graph").rglob("*.ttl"))
    later.write_text(later.read_text(encoding="utf-8") + "\n# another export\n", encoding="utf-8")
    with disk.fresh(out / asked):
        assert not store.exists()


@pytest.mark.parametrize("options", [("--replace",), ("--update",)])
def test_a_store_that_a_former_version_left_in_an_export(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out, "--update") == 0
    left = out / ".graph.store"
    with disk.opened_store(out / "graph", lambda _: None) as store:
        shutil.copytree(store.parent, left)
    assert {path.name for path in left.iterdir()} == {"lock", store.name, f"{store.name}.use"}
    assert main(["validate", str(out)]) == 0
    more = exports.ndjson([{**GOOD, "query_id": "2"}], tmp_path / "more.ndjson")
    capsys.readouterr()
    assert exports.export([more], out, *options) == 0
    assert ".graph.store was removed" in capsys.readouterr().err
    assert not left.exists()


def test_what_only_looks_like_a_store_in_an_export_is_the_users(tmp_path: Path) -> None:
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out) == 0
    (out / ".graph.store").mkdir()
    (out / ".graph.store" / "notes.txt").write_text("mine")
    assert exports.export([rows], out, "--replace") == 2
    assert main(["validate", str(out)]) == 1
    assert (out / ".graph.store" / "notes.txt").read_text() == "mine"
