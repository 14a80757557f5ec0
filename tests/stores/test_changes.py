"""A store that applies the changes of all updates in order has the same graph, in each of the ways of docs/stores."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from exporter.engines import updates
from tests import exports
from tests.backends.hostile import Hostile, Reply
from tests.engines.test_updates import Drawn, triples, updated
from tests.stores.servers import NEEDS_CURL, free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stores.endpoint import Endpoint

FOLLOW: Final = Path(__file__).parents[2] / "deploy" / "follow"
SEEDS: Final = range(int(os.environ.get("EXPORTER_TEST_SEEDS", "2")))
"""More of them: ``EXPORTER_TEST_SEEDS=200 bin/test tests/stores/test_changes.py``."""
N_TRIPLES: Final = "application/n-triples"
ACCOUNT: Final = "snowflake://ACME-PROD"
REMOVED: Final = "urn:removed"
IN_PARTS: Final = {"PARTS": "100", "GRAPH": ACCOUNT}


def folders(out: Path) -> list[Path]:
    """Of the updates, in their order."""
    return sorted((out / "changes").iterdir(), key=lambda path: int(path.name))


def by_sparql_update(out: Path, store: Endpoint) -> None:
    for folder in folders(out):
        store.change(gzip.decompress((folder / "update.ru.gz").read_bytes()).decode())


def by_n_triples(out: Path, store: Endpoint) -> None:
    """What was removed goes to a graph of its own, and then out of both."""
    for folder in folders(out):
        store.add(gzip.decompress((folder / "removed.nt.gz").read_bytes()), N_TRIPLES, REMOVED)
        store.change(
            f"DELETE {{ ?s ?p ?o }} WHERE {{ GRAPH <{REMOVED}> {{ ?s ?p ?o }} }} ; DROP SILENT GRAPH <{REMOVED}>"
        )
        store.add(gzip.decompress((folder / "added.nt.gz").read_bytes()), N_TRIPLES)


def by_script(out: Path, store: Endpoint) -> None:
    applied = Path(f"{out}.applied")
    applied.unlink(missing_ok=True)
    assert follow(out, store, APPLIED=str(applied)) == (0, "")


def follow(out: Path, store: Endpoint, **settings: str) -> tuple[int, str]:
    """Exit code and words of ``deploy/follow``."""
    return run(str(out), store.update, **settings)


def run(*given: str, cwd: Path | None = None, **settings: str) -> tuple[int, str]:
    environ = {**os.environ, **settings}
    done = subprocess.run([FOLLOW, *given], cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What drawn sequences of updates leave; reads whole and by day."""
    made = []
    for seed in SEEDS:
        rng = Random(seed)
        drawn = Drawn(rng, rng.randint(1, 25))
        made.append(updated(drawn, tmp_path_factory.mktemp("drawn"), ("full", "daily")[seed % 2]))
    return made


@pytest.mark.parametrize("way", [by_sparql_update, by_n_triples, pytest.param(by_script, marks=NEEDS_CURL)])
def test_the_changes_applied_in_order_give_the_graph(
    store: Endpoint, way: Callable[[Path, Endpoint], None], sequences: list[Path]
) -> None:
    for seed, out in enumerate(sequences):
        store.change("DROP ALL")
        way(out, store)
        assert store.triples() == triples(out), f"seed {seed}"


@NEEDS_CURL
@pytest.mark.parametrize("settings", [{}, {"PARTS": "400"}], ids=["whole", "in parts"])
def test_each_update_is_applied_once_to_the_named_graph(
    store: Endpoint, settings: dict[str, str], grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """And others' graphs stay as they are."""
    given = {"GRAPH": ACCOUNT, "APPLIED": str(tmp_path / "applied"), **settings}
    store.add(b"<urn:a> <urn:b> <urn:c> .", N_TRIPLES, "urn:others")
    for out in grown:
        assert follow(out, store, **given) == (0, "")
        assert store.triples(ACCOUNT) == triples(out)
    store.change(f"DROP GRAPH <{ACCOUNT}>")
    assert follow(grown[1], store, **given) == (0, "")
    assert store.triples(ACCOUNT) == set(), "an update was applied again"
    assert (len(store.triples("urn:others")), store.triples()) == (1, set())


@NEEDS_CURL
def test_a_refused_update_is_reported_and_applied_later(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    oxigraph.change("DROP ALL")
    applied = str(tmp_path / "applied")
    assert follow(grown[0], oxigraph, APPLIED=applied) == (0, "")
    code, words = follow(grown[1], oxigraph, APPLIED=applied, GRAPH="urn:%zz")  # which is no IRI
    assert (code, "400" in words, "refused update 2" in words) == (1, True, True), words
    assert follow(grown[1], oxigraph, APPLIED=applied) == (0, "")
    assert oxigraph.triples() == triples(grown[1])


@NEEDS_CURL
def test_changes_that_have_started_again_are_not_added_to_the_old_ones(oxigraph: Endpoint, tmp_path: Path) -> None:
    out, rows = tmp_path / "out", exports.all_rows()
    oxigraph.change("DROP ALL")
    for number, (options, said) in enumerate([((), ""), (("--no-changes",), "has no changes"), ((), "started again")]):
        given = exports.ndjson(rows[number:9:3], tmp_path / "rows.ndjson")
        assert exports.export([given], out, "--update", "--outputs", "graph", *options) == 0
        code, words = follow(out, oxigraph)
        assert (code, said in words) == (2 if said else 0, True)
    oxigraph.change("DROP ALL")
    Path(f"{out}.applied").unlink()
    assert follow(out, oxigraph) == (0, "")
    assert oxigraph.triples() == triples(out)


@NEEDS_CURL
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: file.write_bytes(b""), "update.ru.gz is damaged: its sha256"),
        (lambda file: file.write_bytes(gzip.compress(b"")), "update.ru.gz is damaged: its sha256"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9]), "update.ru.gz is damaged: its sha256"),
        (lambda file: file.write_bytes(file.read_bytes() + b"\0"), "update.ru.gz is damaged: its sha256"),
        (lambda file: file.write_text("not gzip"), "update.ru.gz is damaged: its sha256"),
        (lambda file: file.unlink(), "update.ru.gz is missing"),
        (lambda file: shutil.rmtree(file.parent), "update.ru.gz is missing"),
        (lambda file: (file.parents[2] / "manifest.json").unlink(), "manifest.json is missing"),
        (lambda file: (file.parents[2] / "manifest.json").write_text("{"), "manifest.json is damaged"),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_update_is_reported_and_not_passed_over(
    oxigraph: Endpoint,
    number: int,
    damage: Callable[[Path], object],
    said: str,
    grown: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    """And what comes after it is not sent; when DIR is whole again, the store gets what it lacks."""
    out, applied = tmp_path / "out", tmp_path / "applied"
    shutil.copytree(grown[1], out)
    oxigraph.change("DROP ALL")
    damage(out / "changes" / str(number) / "update.ru.gz")
    code, words = follow(out, oxigraph, APPLIED=str(applied))
    assert (code, said in words, "exporter " in words) == (2, True, True), words
    if number == 2 and "manifest" not in said:
        assert applied.read_text().startswith("1 "), "the update before it is applied"
    else:
        assert (applied.exists(), oxigraph.triples()) == (False, set())
    assert follow(grown[1], oxigraph, APPLIED=str(applied)) == (0, "")
    assert oxigraph.triples() == triples(grown[1])


@NEEDS_CURL
def test_a_first_update_that_is_damaged_later_does_not_count_as_a_new_beginning(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    out, applied = tmp_path / "out", str(tmp_path / "applied")
    shutil.copytree(grown[1], out)
    oxigraph.change("DROP ALL")
    assert follow(out, oxigraph, APPLIED=applied) == (0, "")
    (out / "changes" / "1" / "update.ru.gz").write_bytes(b"")
    code, words = follow(out, oxigraph, APPLIED=applied)
    assert (code, "update.ru.gz is damaged" in words, "empty the graph" in words) == (2, True, False)


@NEEDS_CURL
def test_a_dir_that_was_restored_from_a_backup_is_reported(oxigraph: Endpoint, tmp_path: Path) -> None:
    """Before and after it gets another update with the number of the one that the store has."""
    out, backup, rows = tmp_path / "out", tmp_path / "backup", exports.all_rows()
    oxigraph.change("DROP ALL")
    for number in range(2):
        given = exports.ndjson(rows[number:9:3], tmp_path / "rows.ndjson")
        assert exports.export([given], out, "--update", "--outputs", "graph") == 0
        if number == 0:
            shutil.copytree(out, backup)
    assert follow(out, oxigraph) == (0, "")
    had = oxigraph.triples()
    shutil.rmtree(out)
    shutil.copytree(backup, out)
    code, words = follow(out, oxigraph)
    assert (code, "has update 2, but" in words, "load the whole graph again" in words) == (2, True, True), words
    given = exports.ndjson(rows[2:9:3], tmp_path / "rows.ndjson")
    assert exports.export([given], out, "--update", "--outputs", "graph") == 0
    code, words = follow(out, oxigraph)
    assert (code, "is not the update 2" in words, "load the whole graph again" in words) == (2, True, True), words
    assert oxigraph.triples() == had
    oxigraph.change("DROP ALL")
    Path(f"{out}.applied").unlink()
    assert follow(out, oxigraph) == (0, "")
    assert oxigraph.triples() == triples(out)


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """DIR after each of six updates. The last ones have the changes of updates 1 and 2 in one folder, and 3 and 4. Of
    few rows: with PARTS they are still sent in 4 to 14 requests each.
    """
    folder, rows, made = tmp_path_factory.mktemp("stages"), exports.all_rows()[:42], list[Path]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(updates, "TOGETHER", 2)
        for number in range(6):
            given = exports.ndjson(rows[number::7], folder / "rows.ndjson")
            assert exports.export([given], folder / "out", "--update", "--outputs", "graph") == 0
            made.append(Path(shutil.copytree(folder / "out", folder / str(number + 1))))
    assert [path.name for path in folders(made[-1])] == ["2", "4", "5", "6"]
    return made


@NEEDS_CURL
@pytest.mark.parametrize(("had", "settings"), [*((had, {}) for had in range(7)), (0, IN_PARTS), (3, IN_PARTS)])
def test_a_store_goes_on_with_changes_that_were_put_together(
    oxigraph: Endpoint, settings: dict[str, str], had: int, stages: list[Path], tmp_path: Path
) -> None:
    """Whatever it had: nothing, some updates of a folder, all of them. In parts: nothing, or some."""
    given = {"APPLIED": str(tmp_path / "applied"), **settings}
    oxigraph.change("DROP ALL")
    for out in (*stages[had - 1 : had], stages[-1], stages[-1]):
        assert follow(out, oxigraph, **given) == (0, "")
        assert oxigraph.triples(settings.get("GRAPH")) == triples(out)
    assert (tmp_path / "applied").read_text().startswith("6 ")


@NEEDS_CURL
def test_a_store_that_was_loaded_by_hand_is_recorded(oxigraph: Endpoint, stages: list[Path], tmp_path: Path) -> None:
    """And then goes on from there."""
    applied = tmp_path / "applied"
    oxigraph.change("DROP ALL")
    oxigraph.add("".join(f"{one} .\n" for one in triples(stages[4])).encode(), N_TRIPLES)
    assert follow(stages[4], oxigraph, APPLIED=str(applied), LOADED="1") == (0, "")
    assert (applied.read_text()[:2], oxigraph.triples()) == ("5 ", triples(stages[4]))
    assert follow(stages[5], oxigraph, APPLIED=str(applied)) == (0, "")
    assert oxigraph.triples() == triples(stages[5])


@NEEDS_CURL
@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("2/updates.txt", lambda file: file.write_bytes(b""), "updates.txt is damaged: its sha256"),
        ("4/updates.txt", lambda file: file.unlink(), "updates.txt is missing"),
        (
            "4/update.ru.gz",
            lambda file: file.write_bytes(file.read_bytes()[:-9]),
            "update.ru.gz is damaged: its sha256",
        ),
        ("2/update.ru.gz", lambda file: file.unlink(), "update.ru.gz is missing"),
    ],
)
def test_damage_of_changes_that_were_put_together_is_reported(
    oxigraph: Endpoint, name: str, damage: Callable[[Path], object], said: str, stages: list[Path], tmp_path: Path
) -> None:
    out, applied = tmp_path / "out", tmp_path / "applied"
    shutil.copytree(stages[-1], out)
    oxigraph.change("DROP ALL")
    assert follow(stages[2], oxigraph, APPLIED=str(applied)) == (0, "")
    damage(out / "changes" / name)
    code, words = follow(out, oxigraph, APPLIED=str(applied))
    assert (code, said in words, "exporter validate" in words, words.count("\n")) == (2, True, True, 1), words
    assert oxigraph.triples() == triples(stages[2])
    assert follow(stages[-1], oxigraph, APPLIED=str(applied)) == (0, "")
    assert oxigraph.triples() == triples(stages[-1])


@NEEDS_CURL
@pytest.mark.parametrize("had", [1, 3, 4])
def test_another_history_is_known_by_changes_that_were_put_together(
    oxigraph: Endpoint, had: int, stages: list[Path], tmp_path: Path
) -> None:
    """A DIR that was restored from a backup and went on otherwise, and one that began again."""
    applied = tmp_path / "applied"
    oxigraph.change("DROP ALL")
    assert follow(stages[had - 1], oxigraph, APPLIED=str(applied)) == (0, "")
    number, crc, size, digest = applied.read_text().split()
    for content, what in (
        (f"{number} {crc} {size} {'0' * 64}", f"is not the update {had}"),
        (f"{number} {int(crc) ^ 1} {size} {digest}", "started again from 1"),
        (f"7 {crc} {size} {digest}", "has update 7, but"),
    ):
        applied.write_text(content)
        code, words = follow(stages[-1], oxigraph, APPLIED=str(applied))
        assert (code, what in words) == (2, True), words
    assert oxigraph.triples() == triples(stages[had - 1])


@NEEDS_CURL
def test_a_record_of_a_former_version_is_read_and_a_damaged_one_reported(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """A former one has no checksum of the last update."""
    applied = tmp_path / "applied"
    oxigraph.change("DROP ALL")
    assert follow(grown[0], oxigraph, APPLIED=str(applied)) == (0, "")
    now = applied.read_text()
    former = " ".join(now.split()[:3])
    for ending in ("", "\n"):
        applied.write_text(former + ending)
        assert follow(grown[0], oxigraph, APPLIED=str(applied)) == (0, "")
        assert applied.read_text() == now
    for content in ("garbage", "1", f"x{now}", f"{now}{now}", f"{former} 12", f"0{former[1:]}", "\0\0", "\n"):
        applied.write_text(content)
        code, words = follow(grown[1], oxigraph, APPLIED=str(applied))
        assert (code, f"{applied} is damaged" in words, "started again" in words) == (2, True, False), (content, words)
    for content in (f"99{former[1:]}\n", f"99{now[1:]}"):
        applied.write_text(content)
        code, words = follow(grown[1], oxigraph, APPLIED=str(applied))
        assert (code, "has update 99, but" in words) == (2, True), words
    assert oxigraph.triples() == triples(grown[0])
    applied.write_text(former)
    assert follow(grown[1], oxigraph, APPLIED=str(applied)) == (0, "")
    assert oxigraph.triples() == triples(grown[1])


SETTINGS: Final = (
    ("PARTS", "abc", "PARTS is 'abc'"),
    ("PARTS", "0", "PARTS is '0"),
    ("PARTS", "-1", "PARTS is '-1"),
    ("PARTS", "1e3", "PARTS is '1e3"),
    ("PARTS", "1,000", "PARTS is '1,000"),
    ("PARTS", "9" * 20, "PARTS is '999"),
    ("PARTS", " ", "PARTS is ' '"),
    ("GRAPH", "no IRI", "GRAPH is 'no IRI'"),
    ("GRAPH", "lineage", "GRAPH is 'lineage"),
    ("GRAPH", "urn:a> { } } ; DROP ALL ; #", "GRAPH is 'urn:a>"),
    ("GRAPH", "urn:a|b", "GRAPH is 'urn:a|b"),
    ("GRAPH", "urn:a\\b", "GRAPH is 'urn:a\\b"),
    ("GRAPH", "urn:a\nb", "GRAPH is "),
    ("APPLIED", "{folder}", "is a folder"),
    ("APPLIED", "{folder}/none/applied", "none cannot be written"),
    ("APPLIED", "{folder}/out/applied", "is in"),
    ("APPLIED", "{folder}/link/changes/applied", "is in"),
)


@pytest.mark.parametrize(("name", "value", "said"), SETTINGS)
def test_a_setting_that_cannot_be_used_is_refused_in_words(
    name: str, value: str, said: str, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """Before anything is sent or written."""
    shutil.copytree(grown[0], tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))
    given = {name: value.replace("{folder}", str(tmp_path))}
    code, words = run(str(tmp_path / "out"), f"http://127.0.0.1:{free_port()}", **given)
    assert (code, words.startswith("follow: "), said in words, words.count("\n")) == (2, True, True, 1), words
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "give the folder"),
        (["{folder}"], "give the address"),
        (["", "http://127.0.0.1:1"], "give the folder"),
        (["{folder}", "file://{folder}/store"], "is no address of a store"),
        (["{folder}", "ftp://127.0.0.1:1/"], "is no address of a store"),
        (["{folder}", "htp://127.0.0.1:1/"], "is no address of a store"),
        (["{folder}/none", "http://127.0.0.1:1"], "none is no folder"),
        (["--help", "http://127.0.0.1:1"], "--help is no folder"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_in_words(given: list[str], said: str, tmp_path: Path) -> None:
    code, words = run(*(one.replace("{folder}", str(tmp_path)) for one in given))
    assert (code, words.startswith("follow: "), said in words, words.count("\n")) == (2, True, True, 1), words
    assert list(tmp_path.iterdir()) == []


@NEEDS_CURL
def test_a_named_graph_has_its_name_in_full(oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path) -> None:
    """Also with characters that mean something to sed."""
    oxigraph.change("DROP ALL")
    name = "http://example.com/lineage?of=a&b=$1*.&amp;(2)/'c'"
    assert follow(grown[1], oxigraph, GRAPH=name, APPLIED=str(tmp_path / "applied")) == (0, "")
    assert oxigraph.triples(name) == triples(grown[1])


@NEEDS_CURL
def test_the_record_of_the_current_folder_is_beside_it(
    oxigraph: Endpoint, grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """In it, the next update would refuse the folder."""
    shutil.copytree(grown[0], tmp_path / "out")
    oxigraph.change("DROP ALL")
    assert run(".", oxigraph.update, cwd=tmp_path / "out") == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.applied"]
    assert run(f"{tmp_path}/out/", oxigraph.update) == (0, "")


def test_a_missing_curl_is_reported(tmp_path: Path) -> None:
    """And the store is not blamed for it."""
    (tmp_path / "bash").symlink_to(shutil.which("bash") or "bash")
    command = [str(tmp_path / "bash"), str(FOLLOW), str(tmp_path), "http://127.0.0.1:1"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "follow: curl is not installed\n")


@NEEDS_CURL
def test_without_changes_nothing_is_sent(oxigraph: Endpoint, tmp_path: Path) -> None:
    given = exports.ndjson(exports.all_rows()[:3], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    code, words = follow(tmp_path / "out", oxigraph)
    assert (code, "has no changes" in words) == (2, True)


@NEEDS_CURL
def test_the_script_of_every_day_gives_a_store_what_is_new(oxigraph: Endpoint, tmp_path: Path) -> None:
    """And a backend that takes nothing keeps nothing from the store."""
    day = tmp_path / "rows" / "2026-11-21"
    day.mkdir(parents=True)
    exports.ndjson(exports.all_rows()[:3], day / "access_history.ndjson")
    oxigraph.change("DROP ALL")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE_", "EXPORTER_"))}
    environ |= {"PATH": f"{Path(sys.executable).parent}:{environ['PATH']}", "EXPORTER_ENGINE": "local"}
    environ |= {"ROWS": f"{tmp_path}/rows", "LINEAGE": f"{tmp_path}/lineage", "EXPORTER_ACCOUNT": exports.ACCOUNT}
    command = [FOLLOW.with_name("daily"), "2026-11-21"]
    with Hostile(lambda _: Reply(403, "{}")) as backend:
        environ |= {"SPARQL_UPDATE_URL": oxigraph.update, "OPENLINEAGE_URL": backend.url}
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert oxigraph.triples() == triples(tmp_path / "lineage") != set()
