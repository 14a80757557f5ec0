"""``exporter validate DIR`` compares the files with the manifest, and names those that differ."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import Graph
from exporter.ask.stores import opened_store
from exporter.cli import main
from exporter.errors import UsageError
from exporter.publish import manifest
from exporter.system import folders
from tests import exports
from tests.input.bad_rows import GOOD
from tests.publish.test_publication_steps import NEW, OLD, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manifest")
    assert exports.export([exports.ndjson([GOOD], folder / "rows.ndjson")], folder / "out") == 0
    return folder / "out"


@pytest.fixture
def out(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path / "out")
    return tmp_path / "out"


def change(path: Path) -> None:
    """One byte, of the same size."""
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def _set(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_what_an_export_left_and_a_push_added_is_right(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out / "push" / "backend").mkdir(parents=True)
    (out / "push" / "backend" / "ledger.txt").touch()
    assert main(["validate", str(out), "--by", "compiled"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda out: (out / "events/part-00000.ndjson").unlink(), "events/part-00000.ndjson: is missing"),
        (lambda out: (out / "graph/part-00000.ttl").unlink(), "graph/part-00000.ttl: is missing"),
        (lambda out: change(out / "events/part-00000.ndjson"), "events/part-00000.ndjson: has been changed"),
        (lambda out: (out / "report.json").write_bytes(b""), "report.json: has 0 bytes, but"),
        (lambda out: (out / "graph/part-00000.ttl").write_text("<a"), "graph/part-00000.ttl: has 2 bytes, but"),
        (lambda out: (out / "graph/more.ttl").touch(), "graph/more.ttl: is not in manifest.json"),
        (lambda out: (out / "manifest.json").unlink(), "manifest.json: is missing"),
        (lambda out: (out / "manifest.json").write_text("{"), "manifest.json: is damaged"),
        (lambda out: (out / "manifest.json").write_text('{"files": [1]}'), "manifest.json: is damaged"),
        (lambda out: (out / "manifest.json").write_text("[" * 100_000), "manifest.json: is damaged"),
        (lambda out: _set(out / "manifest.json", format="other"), "manifest.json: is damaged"),
        (lambda out: _set(out / "manifest.json", version=None), "manifest.json: is damaged"),
    ],
)
def test_each_damage_is_named_and_exit_1(
    damage: Callable[[Path], object], said: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(out)
    assert main(["validate", str(out), "--by", "compiled", "--json"]) == 1
    printed = capsys.readouterr()
    assert f"exporter: {out}/{said}" in printed.err
    assert "Traceback" not in printed.err
    assert set(json.loads(printed.out)) == {"conforms", "violations", "counted", "results"}


def test_all_damage_is_reported_at_once(out: Path) -> None:
    for name in ("report.json", "shacl-report.ttl"):
        change(out / name)
    (out / "more").touch()
    assert len(manifest.problems(out)) == 3


def test_turtle_that_no_export_left_has_no_manifest(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported / "graph", tmp_path / "turtle")
    assert main(["validate", str(tmp_path / "turtle"), "--by", "compiled"]) == 0
    assert main(["validate", str(exported / "graph" / "part-00000.ttl"), "--by", "compiled"]) == 0


def test_an_unchanged_file_of_an_update_is_not_read_again(out: Path, tmp_path: Path) -> None:
    new, carried = tmp_path / "new", "events/part-00000.ndjson"
    for name in (carried, "report.json"):
        (new / name).parent.mkdir(parents=True, exist_ok=True)
    os.link(out / carried, new / carried)
    (new / "report.json").write_text("{}")
    told = json.loads((out / "manifest.json").read_text())
    for one in told["files"]:
        one["sha256"] = "as the manifest has it"
    (out / "manifest.json").write_text(json.dumps(told))
    sums = {one["path"]: one["sha256"] for one in manifest.file_entries(new, out)}
    assert sums == {carried: "as the manifest has it", "report.json": hashlib.sha256(b"{}").hexdigest()}


def test_a_folder_that_is_replaced_meanwhile_is_looked_at_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, times = manifest._difference, list[int]()

    def replaced(*given: Any) -> str | None:
        if not times:
            times.append(1)
            publish(out, NEW)
        return wrong(*given)

    monkeypatch.setattr(manifest, "_difference", replaced)
    assert manifest.problems(out) == []
    assert (out / "events" / "part-00000.ndjson").read_text() == "new\n"


def test_what_reads_several_files_reads_those_of_one_export(tmp_path: Path) -> None:
    out, times = tmp_path / "out", list[int]()
    publish(out, OLD)

    def read() -> list[str]:
        texts = [(out / "events" / "part-00000.ndjson").read_text()]
        if not times:
            times.append(1)
            publish(out, {**NEW, "graph/part-00000.ttl": "new\n"})
        return [*texts, (out / "graph" / "part-00000.ttl").read_text()]

    assert folders.steady(out, read) == ["new\n", "new\n"]
    times.clear()
    with pytest.raises(FileNotFoundError):
        folders.steady(out, (out / "nothing").read_text)


def test_a_file_that_is_gone_with_the_old_export_is_no_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(out, OLD)

    def read() -> str:
        path = out / "graph" / "part-00000.ttl"
        if path.exists():
            publish(out, NEW)
            return path.read_text()
        return "the new one has no graph"

    assert folders.steady(out, read) == "the new one has no graph"


_LOST: Final = {
    "removed": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}
"""What can happen to a file of an export after it was written."""
_SAID: Final = {"removed": "is missing", "a folder": "is not a file"}


_CONTRACT: Final = """
apiVersion: v3.1.0
kind: DataContract
servers: [{server: dw, type: snowflake, account: MYORG-MYACCOUNT, database: D, schema: S}]
schema: [{name: T, properties: [{name: C, transformSourceObjects: [D.S.U.C]}]}]
"""


def _lost_in_update(tmp_path: Path) -> Path:
    """An export by day of two queries on two days, and of a row that is quarantined."""
    later = {**GOOD, "query_id": "01bf0918-0000-0000-0000-000000000002", "query_start_time": "2026-09-02T10:00:00Z"}
    rows = exports.ndjson([GOOD, {**later, "user_name": "LATER"}, {"query_id": 5}], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--update") == 0
    return tmp_path / "out"


@pytest.mark.parametrize("how", _LOST)
@pytest.mark.parametrize(
    ("pattern", "commands"),
    [
        (
            "graph/**/*.ttl",
            [
                ["query", "user-history", "{out}", "--user-name", "LATER"],
                ["query", "who-accessed", "{out}", "--object-name", "D.S.T"],
                ["report", "{out}", "--out", "{out}.html"],
                ["serve", "{out}", "--port", "0"],
                ["mcp", "{out}"],
                ["reconcile", "{out}", "{out}.yaml"],
            ],
        ),
        ("events/**/*.ndjson", [["push", "{out}"], ["push", "{out}", "--dry-run"]]),
        ("quarantine/**/*.ndjson", [["quarantine", "{out}"], ["quarantine", "{out}", "--rows"], ["log", "{out}"]]),
        ("log.json", [["quarantine", "{out}"], ["log", "{out}"]]),
        ("export.ttl", [["query", "user-history", "{out}", "--user-name", "LATER"]]),
        ("state/rows/**/*.parquet", [["quarantine", "{out}"], ["quarantine", "{out}", "--rows"]]),
    ],
)
def test_nothing_is_read_from_an_export_that_lacks_a_file(
    how: str,
    pattern: str,
    commands: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    out = _lost_in_update(tmp_path)
    (tmp_path / "out.yaml").write_text(_CONTRACT, encoding="utf-8")
    damaged = max(out.glob(pattern))
    _LOST[how](damaged)
    capsys.readouterr()
    for command in commands:
        assert main([word.replace("{out}", str(out)) for word in command]) == 2, command
        printed = capsys.readouterr()
        assert f"{damaged}: {_SAID.get(how, 'has ')}" in printed.err, command
        assert printed.out == "", command
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("damage", ["", "x", "[]", "{}", '{"format": "access-history-exporter", "files": null}'])
def test_nothing_is_read_where_the_manifest_is_damaged(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _lost_in_update(tmp_path)
    (out / "manifest.json").write_text(damage, encoding="utf-8")
    for command in (["query", "who-accessed", str(out), "--object-name", "D.S.T"], ["push", str(out), "--dry-run"]):
        capsys.readouterr()
        assert main(command) == 2
        assert f"{out}/manifest.json: is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["removed", "a folder", "a link to nothing"])
@pytest.mark.parametrize("beside", ["all", "export.ttl", "log.json", "report.json"])
def test_nothing_is_read_from_a_copy_that_has_no_manifest_yet(
    beside: str, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _lost_in_update(tmp_path)
    (out / "manifest.json").unlink()
    if way == "a folder":
        (out / "manifest.json").mkdir()
    elif way == "a link to nothing":
        (out / "manifest.json").symlink_to("nothing")
    for name in ("export.ttl", "log.json", "report.json"):
        if beside not in {"all", name}:
            (out / name).unlink()
    for command in (["query", "who-accessed", str(out), "--object-name", "D.S.T"], ["push", str(out), "--dry-run"]):
        capsys.readouterr()
        assert main(command) == 2
        printed = capsys.readouterr()
        assert f"{out}/manifest.json: is missing or cannot be read" in printed.err
        assert printed.out == ""


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("graph/more.ttl", [["query", "user-history", "{out}", "--user-name", "LATER"], ["mcp", "{out}"]]),
        ("graph/day=2026-09-02/more.ttl.gz", [["query", "user-history", "{out}", "--user-name", "LATER"]]),
        ("events/more.ndjson", [["push", "{out}"], ["push", "{out}", "--dry-run"]]),
        ("quarantine/more.ndjson", [["quarantine", "{out}"], ["quarantine", "{out}", "--rows"], ["log", "{out}"]]),
    ],
)
def test_what_the_manifest_does_not_name_is_not_read_as_a_part_of_the_export(
    name: str,
    commands: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    out = _lost_in_update(tmp_path)
    (out / name).touch()
    for command in commands:
        capsys.readouterr()
        assert main([word.replace("{out}", str(out)) for word in command]) == 2, command
        printed = capsys.readouterr()
        assert f"{out / name}: is not in manifest.json, so it is not part of the export" in printed.err, command
        assert printed.out == "", command


@pytest.mark.parametrize("command", [["log", "{out}"], ["query", "user-history", "{out}"], ["quarantine", "{out}"]])
@pytest.mark.parametrize(
    ("name", "why"), [("log.json", "is not in manifest.json"), ("report.json", "has 2 bytes, but")]
)
def test_counts_of_another_export_are_not_read(
    name: str, why: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export without ``--update`` has no log: one of another export tells of its runs."""
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out) == 0
    (out / name).write_text("{}", encoding="utf-8")
    capsys.readouterr()
    code = main([word.replace("{out}", str(out)) for word in command])
    if (name, command[0]) == ("log.json", "query"):
        assert code == 0  # which does not read it
    else:
        assert code == 2
        assert f"{out / name}: {why}" in capsys.readouterr().err


def test_what_is_not_read_may_lie_beside(tmp_path: Path) -> None:
    out = _lost_in_update(tmp_path)
    for name in ("README.txt", "graph/README.txt", "graph/.part-00000.ttl.crc", "more.ttl"):
        (out / name).write_text("notes", encoding="utf-8")
    with Graph(out) as graph:
        assert graph.ask("user-history", user_name="LATER").rows


def test_graph_and_export_node_without_the_export_can_be_asked(tmp_path: Path) -> None:
    out = _lost_in_update(tmp_path)
    shutil.copytree(out / "graph", tmp_path / "turtle")
    shutil.copy(out / "export.ttl", tmp_path / "turtle")
    with Graph(tmp_path / "turtle") as graph:
        assert graph.ask("user-history", user_name="LATER").rows


def test_rows_in_the_state_that_are_damaged_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _lost_in_update(tmp_path)
    again = {"query_id": GOOD["query_id"], "query_start_time": "x", "user_name": "U"}
    assert exports.export([exports.ndjson([again], tmp_path / "again.ndjson")], out, "--update", "--allow-empty") == 0
    rows = min(out.glob("state/rows/**/*.parquet"))
    rows.write_bytes(b"PAR1" + b"x" * (rows.stat().st_size - 8) + b"PAR1")
    capsys.readouterr()
    assert main(["quarantine", str(out)]) == 2
    assert f"{rows}: is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("settings", [None, [1]])
def test_an_update_of_a_manifest_without_settings_is_refused(
    settings: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _lost_in_update(tmp_path)
    _set(out / "manifest.json", settings=settings)
    capsys.readouterr()
    assert exports.export([exports.ndjson([GOOD], tmp_path / "more.ndjson")], out, "--update") == 2
    assert "manifest.json is damaged" in capsys.readouterr().err


def test_a_folder_of_turtle_may_have_a_manifest_of_its_own(tmp_path: Path) -> None:
    out = _lost_in_update(tmp_path)
    shutil.copytree(out / "graph", tmp_path / "turtle")
    (tmp_path / "turtle" / "manifest.json").write_text("[]", encoding="utf-8")
    with Graph(tmp_path / "turtle") as graph:
        assert graph.ask("user-history", user_name="LATER").rows


def test_scripts_are_told_too_and_can_ask_what_is_left(tmp_path: Path) -> None:
    out = _lost_in_update(tmp_path)
    next((out / "graph/day=2026-09-02").glob("*.ttl")).unlink()
    with pytest.raises(UsageError, match=r"day=2026-09-02/part-00000\.ttl: is missing, so answers would lack"):
        Graph(out)
    with Graph(out / "graph") as graph:
        assert graph.ask("user-history", user_name=GOOD["user_name"]).rows


def test_a_store_made_before_the_loss_does_not_hide_it(tmp_path: Path) -> None:
    out = _lost_in_update(tmp_path)
    with opened_store(out, lambda _: None):
        pass
    next((out / "graph/day=2026-09-02").glob("*.ttl")).unlink()
    with pytest.raises(UsageError, match="is missing"), opened_store(out, lambda _: None):
        pass
