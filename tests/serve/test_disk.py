"""The store on disk: made once for each export, by whoever comes first, and removed when nobody has it open."""

from __future__ import annotations

import json
import os
import shutil
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import RdfFormat, Store

from exporter.ask import stores as disk
from exporter.ask.pool import Pool
from exporter.cli import main
from exporter.errors import ExporterError, UsageError
from exporter.publish import manifest
from exporter.serve.site import PAGE_QUESTIONS
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
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


NAMES_WHILE_MADE = (
    *("000004.log", "000008.sst", "CURRENT", "IDENTITY", "LOCK", "LOG", "MANIFEST-000005", "OPTIONS-000007"),
    "bulk-102125352271652821440765170782966283870.sst",
)
"""The files of a server that was killed by ``kill -9`` while it made its store."""


def left_by_a_killed_server(folder: Path) -> Path:
    """Makes in a folder of stores what such a server leaves."""
    left = folder / "0123456789ab.making"
    left.mkdir(parents=True)
    for name in NAMES_WHILE_MADE:
        (left / name).write_text("FORGET_ME")
    return left


@pytest.mark.parametrize("part", ["", "graph"])
@pytest.mark.parametrize("by", ["export", "replace", "forget", "query", "server", "server of the other"])
def test_what_a_server_left_that_was_killed_while_it_made_a_store(by: str, part: str, tmp_path: Path) -> None:
    """docs/serve.md: the next export, server or ``exporter query`` removes it."""
    out, rows = tmp_path / "out", exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], out, "--update") == 0
    left = left_by_a_killed_server(disk.beside(out / part))
    if by == "export":
        more = exports.ndjson([{**GOOD, "query_id": "2"}], tmp_path / "more.ndjson")
        assert exports.export([more], out, "--update") == 0
    elif by == "replace":
        assert exports.export([rows], out, "--update", "--replace") == 0
    elif by == "forget":
        more = exports.ndjson([{**GOOD, "query_id": "2", "user_name": "FORGET_ME"}], tmp_path / "more.ndjson")
        assert exports.export([more], out, "--update") == 0
        left.exists() or left_by_a_killed_server(left.parent)
        assert main(["export", "--engine", "local", "--update", "--out", str(out), "--forget-user", "FORGET_ME"]) == 0
    elif by == "query":
        assert main(["query", "unused-objects", str(out), "--since", "2020-01-01"]) == 0
    else:
        with disk.opened_store(out if by == "server" else out / "graph", lambda _: None) as store:
            assert store.is_dir()
            assert not left.exists(), "at its start"
    assert not left.exists()


def test_what_a_living_server_makes_stays(graph: Path) -> None:
    folder = disk.beside(graph)
    making = left_by_a_killed_server(folder)
    lock = disk.locked(folder)
    assert lock is not None
    try:
        with disk.fresh(graph):
            assert making.is_dir()
        disk.tidy(graph, waits=False)
        assert making.is_dir()
    finally:
        os.close(lock)


def test_the_files_of_a_store_while_it_is_made_are_known(tmp_path: Path) -> None:
    """Whatever the engine calls them: a process may be killed at any time."""
    store, seen, done = tmp_path / "store", set[str](), threading.Event()

    def look() -> None:
        while not done.is_set():
            with suppress(OSError):
                seen.update(path.name for path in store.iterdir())

    watching = threading.Thread(target=look)
    watching.start()
    text = "\n".join(f"<a:{number}> <a:{number % 7}> <a:{number * 7919}> ." for number in range(30_000))
    Store(str(store)).bulk_load(text, RdfFormat.N_TRIPLES)
    done.set()
    watching.join()
    assert {name for name in seen if not disk.is_of_store(name)} == set()


def test_what_has_the_name_of_a_store_and_is_none_is_named(graph: Path) -> None:
    said: list[str] = []
    other = disk.beside(graph) / "0123456789ab.making"
    other.mkdir(parents=True)
    (other / "notes.txt").write_text("mine")
    disk.tidy(graph, said.append)
    assert (other / "notes.txt").read_text() == "mine"
    assert [str(other) in line for line in said] == [True]


def damage_current(store: Path) -> None:
    (store / "CURRENT").write_text("garbage")


def cut_all(store: Path) -> None:
    for path in store.glob("*.sst"):
        os.truncate(path, 10)


def without_its_files(store: Path) -> None:
    for path in store.iterdir():
        path.unlink()


@pytest.mark.parametrize("damage", [damage_current, cut_all, without_its_files])
def test_a_damaged_store_is_made_again_by_a_server(graph: Path, damage: Callable[[Path], None]) -> None:
    with disk.opened_store(graph, lambda _: None) as store:
        pass
    damage(store)
    said: list[str] = []
    with disk.opened_store(graph, said.append) as again:
        assert triples(again) == 1
        assert stores(graph) == [again]
    assert "damaged" in said[0]
    said.clear()
    with disk.opened_store(graph, said.append):
        pass
    assert said == [], "once"


@pytest.mark.parametrize("damage", [damage_current, cut_all, without_its_files])
def test_a_question_is_answered_beside_a_damaged_store(
    damage: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = tmp_path / "out", exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], out) == 0
    capsys.readouterr()
    assert main(["query", "unused-objects", str(out), "--since", "2020-01-01", "--format", "json"]) == 0
    answer = capsys.readouterr().out
    with disk.opened_store(out, lambda _: None) as store:
        pass
    damage(store)
    assert main(["query", "unused-objects", str(out), "--since", "2020-01-01", "--format", "json"]) == 0
    found = capsys.readouterr()
    assert found.out == answer
    assert "damaged" in found.err
    assert stores(out) == []
    assert main(["query", "unused-objects", str(out), "--since", "2020-01-01", "--format", "json"]) == 0
    assert "damaged" not in capsys.readouterr().err


def test_a_store_that_is_damaged_while_a_server_shows_it(graph: Path) -> None:
    """Its answers say so in words, and the next server makes the store again."""
    with disk.opened_store(graph, lambda _: None) as store:
        damage_current(store)
        with (
            closing(Pool(store, PAGE_QUESTIONS, 1, 20.0)) as pool,
            pytest.raises(ExporterError, match=r"store .* is damaged\. Start the server") as error,
        ):
            pool.answer("unused-objects", {"since": ["2020-01-01"]}, 10)
        assert "fault of the program" not in str(error.value)
    with disk.opened_store(graph, lambda _: None) as again:
        assert triples(again) == 1


@pytest.mark.parametrize("place", [".lineage.store", ".lineage.store/parts", ".lineage.store/parts/graph"])
def test_a_link_in_the_place_of_a_folder_of_stores_is_not_followed(graph: Path, tmp_path: Path, place: str) -> None:
    """Not by a server, an export or a question; what is there may be the stores of another DIR."""
    asked = graph / "graph" if "parts" in place else graph
    other = tmp_path / "other"
    (other / "graph").mkdir(parents=True)
    (other / "graph" / "part-0.ttl").write_text(TWO)
    size = (graph / "graph" / "part-0.ttl").stat().st_size
    entry = {"path": "graph/part-0.ttl", "bytes": size, "sha256": "0" * 64}
    (graph / "manifest.json").write_text(json.dumps({"format": manifest.FORMAT, "version": "1", "files": [entry]}))
    with disk.opened_store(other, lambda _: None) as of_other:
        pass
    of_other.parent.chmod(0o755)
    link = tmp_path / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(of_other.parent)
    before, said = sorted(of_other.parent.rglob("*")), list[str]()
    with disk.opened_store(asked, said.append) as store:
        assert triples(store) == 1
        assert tmp_path not in store.parents or ".lineage.store" not in str(store)
    assert f"{link} is a link, which is not followed" in said[0]
    with disk.fresh(asked) as found:
        assert found is None
    said.clear()
    disk.tidy(graph, said.append)
    assert [line for line in said if str(link) in line] or place.endswith("parts/graph")
    assert sorted(of_other.parent.rglob("*")) == before
    assert of_other.parent.stat().st_mode & 0o777 == 0o755


def test_a_link_in_the_place_of_a_store_is_not_followed(graph: Path, tmp_path: Path) -> None:
    with disk.opened_store(graph, lambda _: None) as store:
        pass
    elsewhere = tmp_path / "elsewhere"
    store.rename(elsewhere)
    store.symlink_to(elsewhere)
    said: list[str] = []
    with disk.fresh(graph) as found:
        assert found is None
    with disk.opened_store(graph, said.append) as again:
        assert triples(again) == 1
        assert again.resolve() != elsewhere
    assert elsewhere.is_dir()


@pytest.mark.parametrize("text", ["IO error: No space left on device: While appending to file", "Disk quota exceeded"])
def test_a_full_disk_is_not_blamed_on_the_graph(graph: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    class FullDisk:
        def __init__(self, _: str) -> None:
            pass

        def bulk_load(self, *_: object, **__: object) -> None:
            raise OSError(text)

    monkeypatch.setattr(disk, "Store", FullDisk)
    with pytest.raises(ExporterError) as error, disk.opened_store(graph, lambda _: None):
        pass
    assert error.value.exit_code == 4
    assert str(disk.beside(graph)) in str(error.value)
    assert "cannot be read" not in str(error.value)
    assert "spark" not in str(error.value)
    assert stores(graph) == []


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
def test_a_store_in_an_export_is_a_file_of_the_user(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No store of the program's is there."""
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out, "--update") == 0
    left = out / ".graph.store"
    with disk.opened_store(out / "graph", lambda _: None) as store:
        shutil.copytree(store.parent, left)
    assert main(["validate", str(out)]) == 1
    capsys.readouterr()
    assert exports.export([rows], out, *options) == 2
    told = capsys.readouterr().err
    assert "has files that no export wrote" in told
    assert ".graph.store" in told
    assert left.is_dir()
