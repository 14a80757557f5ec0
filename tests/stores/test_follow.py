"""``deploy/follow`` says when a store did not get what it lacks: also where nothing looks like a failure."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

import pytest

from tests import exports
from tests.engines.test_updates import triples
from tests.stores.door import door
from tests.stores.servers import NEEDS_CURL
from tests.stores.test_changes import follow, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stores.endpoint import Endpoint

NOWHERE: Final = "http://127.0.0.1:1/update"


@NEEDS_CURL
@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("settings", [{}, {"PARTS": "400"}], ids=["whole", "in parts"])
def test_an_answer_that_leads_elsewhere_is_no_applied_update(
    oxigraph: Endpoint, status: int, settings: dict[str, str], grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """As of a proxy that leads from http to https: by RFC 9110, 15.4, the request is not done yet."""
    applied = tmp_path / "applied"
    oxigraph.change("DROP ALL")
    with door(oxigraph, lambda _: status) as moved:
        code, words = follow(grown[1], moved, APPLIED=str(applied), **settings)
    said = f"the answer is {status}" in words, "refused update 1" in words, "word" in words
    assert (code, *said) == (1, True, True, False), words
    if status != 304:
        assert "https://store.example/update" in words
    assert (applied.exists(), oxigraph.triples()) == (False, set())


@NEEDS_CURL
def test_an_empty_record_is_a_damaged_one(oxigraph: Endpoint, tmp_path: Path) -> None:
    """As none, it would leave in the store what the new changes do not have: here the user who is forgotten."""
    out, applied, rows = tmp_path / "out", tmp_path / "out.applied", exports.all_rows()[:6]
    given = exports.ndjson([rows[0] | {"user_name": "GONE"}, *rows[1:]], tmp_path / "rows.ndjson")
    assert exports.export([given], out, "--update", "--outputs", "graph") == 0
    oxigraph.change("DROP ALL")
    assert follow(out, oxigraph) == (0, "")
    had = oxigraph.triples()
    assert exports.export([], out, "--update", "--outputs", "graph", "--forget-user", "GONE") == 0
    applied.write_bytes(b"")
    code, words = follow(out, oxigraph)
    assert (code, f"{applied} is damaged" in words, "empty the graph" in words) == (2, True, True), words
    assert (oxigraph.triples(), applied.read_bytes()) == (had, b"")
    oxigraph.change("DROP ALL")
    applied.unlink()
    assert follow(out, oxigraph) == (0, "")
    assert oxigraph.triples() == triples(out) != had


@NEEDS_CURL
@pytest.mark.parametrize("settings", [{}, {"LOADED": "1"}], ids=["send", "loaded"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: whole.index(b'"changes/2/')],  # a disk that was full
        lambda whole: whole[: whole.index(b'"changes/2/') - 40].rstrip() + b"\0" * 99,  # a machine that lost its power
        lambda whole: whole.rstrip()[:-1],
        lambda _: b"",
        lambda _: b"{}",
    ],
    ids=["cut", "zeros", "last sign", "empty", "other"],
)
def test_a_manifest_that_is_cut_off_is_not_taken_for_one_of_fewer_updates(
    oxigraph: Endpoint,
    damage: Callable[[bytes], bytes],
    settings: dict[str, str],
    grown: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    out, applied = tmp_path / "out", tmp_path / "applied"
    shutil.copytree(grown[1], out)
    manifest = out / "manifest.json"
    manifest.write_bytes(damage(manifest.read_bytes()))
    oxigraph.change("DROP ALL")
    code, words = follow(out, oxigraph, APPLIED=str(applied), **settings)
    said = "manifest.json is damaged" in words, "exporter validate" in words, words.count("\n")
    assert (code, *said) == (2, True, True, 1), words
    assert (applied.exists(), oxigraph.triples()) == (False, set())


@pytest.mark.parametrize("value", ["0", "no", "yes", "true", " ", "2"])
def test_loaded_is_1_or_absent(value: str, grown: tuple[Path, Path], tmp_path: Path) -> None:
    """LOADED=0 recorded that the store was loaded."""
    applied = tmp_path / "applied"
    code, words = run(str(grown[0]), NOWHERE, APPLIED=str(applied), LOADED=value)
    assert (code, f"LOADED is '{value}'" in words, words.count("\n")) == (2, True, 1), words
    assert list(tmp_path.iterdir()) == []


@NEEDS_CURL
def test_a_file_that_is_no_record_stays(grown: tuple[Path, Path], tmp_path: Path) -> None:
    """Former versions put the record in its place: with LOADED in that of any file, and else of a pipe or /dev/null."""
    own, pipe = tmp_path / "notes.txt", tmp_path / "pipe"
    own.write_text("mine\n")
    os.mkfifo(pipe)
    for settings in ({}, {"LOADED": "1"}):
        code, words = run(str(grown[0]), NOWHERE, APPLIED=str(own), **settings)
        assert (code, "notes.txt is damaged" in words, own.read_text()) == (2, True, "mine\n"), words
        code, words = run(str(grown[0]), NOWHERE, APPLIED=str(pipe), **settings)
        assert (code, "is a device or a pipe" in words, pipe.is_fifo()) == (2, True, True), words
    assert sorted(tmp_path.iterdir()) == [own, pipe]


@NEEDS_CURL
def test_a_record_that_cannot_be_written_is_reported(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """And the update is applied again when it can: here another folder has the name of the file in the making."""
    applied = tmp_path / "applied"
    (tmp_path / "applied.part").mkdir()
    oxigraph.change("DROP ALL")
    code, words = follow(grown[1], oxigraph, APPLIED=str(applied))
    assert (code, f"{applied} cannot be written" in words, words.count("\n")) == (1, True, 1), words
    (tmp_path / "applied.part").rmdir()
    assert follow(grown[1], oxigraph, APPLIED=str(applied)) == (0, "")
    assert oxigraph.triples() == triples(grown[1])


@NEEDS_CURL
def test_an_export_that_replaces_dir_meanwhile_is_no_damage(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """Its changes are in other folders then, if they were put together, or started again from 1."""
    out, new, applied = tmp_path / "out", tmp_path / "new", tmp_path / "applied"
    shutil.copytree(grown[1], out)
    given = exports.ndjson(exports.all_rows()[:3], tmp_path / "rows.ndjson")
    for options in (("--no-changes",), ()):
        assert exports.export([given], new, "--update", "--outputs", "graph", *options) == 0

    def replaced(_: int) -> None:
        if new.exists():
            shutil.rmtree(out)
            new.rename(out)

    oxigraph.change("DROP ALL")
    with door(oxigraph, replaced) as store:
        code, words = follow(out, store, APPLIED=str(applied))
        said = f"an export replaced {out}" in words, "call again" in words, "backup" in words
        assert (code, *said) == (1, True, True, False), words
        code, words = follow(out, store, APPLIED=str(applied))
    assert (code, "started again from 1" in words) == (2, True), words


@NEEDS_CURL
@pytest.mark.skipif(shutil.which("flock") is None, reason="there is no flock, as on macOS")
def test_two_calls_do_not_mix_what_they_send(oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path) -> None:
    """The later one could send an older update after a newer one of the other, then fail, and the record would say that
    the store has all.
    """
    given, second = {"APPLIED": str(tmp_path / "applied")}, list[tuple[int, str]]()
    oxigraph.change("DROP ALL")
    with door(oxigraph, lambda _: second.append(follow(grown[1], oxigraph, **given))) as store:
        assert follow(grown[1], store, **given) == (0, "")
    assert [(code, "another call is at work" in words) for code, words in second] == [(1, True)] * 2, second
    assert sorted(path.name for path in tmp_path.iterdir()) == ["applied"], "the lock is gone"
    assert oxigraph.triples() == triples(grown[1])
    (tmp_path / "applied.lock").touch()  # as a call that was killed leaves it
    assert follow(grown[1], oxigraph, **given) == (0, "")


@pytest.mark.parametrize("damaged", ["", "changes/1/update.ru.gz"])
def test_a_dir_that_is_made_again_has_all_rows_that_are_given(damaged: str, tmp_path: Path) -> None:
    """What the messages about damage advise: all rows, with --update and --replace. The former rows are no part of it:
    they counted as duplicates, and the new DIR lacked their queries.
    """
    out, again, rows = tmp_path / "out", tmp_path / "again", exports.all_rows()
    first, every = exports.ndjson(rows[:9], tmp_path / "1.ndjson"), exports.ndjson(rows[3:15], tmp_path / "2.ndjson")
    assert exports.export([first], out, "--update", "--outputs", "graph") == 0
    if damaged:
        (out / damaged).unlink()
    assert exports.export([every], out, "--update", "--outputs", "graph", "--replace") == 0
    assert exports.export([every], again, "--update", "--outputs", "graph") == 0
    assert triples(out) == triples(again) != set()
    assert [path.name for path in (out / "changes").iterdir()] == ["1"]
