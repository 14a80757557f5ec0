"""DIR appears complete or not at all; an older one is replaced only on request; the manifest lists all files."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from exporter.cli import main
from exporter.engines import export as pipeline
from exporter.model.account_identifier import normalized
from exporter.model.fact_tables import FACTS
from exporter.publish.places import LocalPlace
from exporter.publish.publication import Publication
from exporter.version import __version__
from tests import exports, golden
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return exports.ndjson([GOOD], tmp_path / "rows.ndjson")


def files(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, hidden ones too, with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_the_folder_holds_what_the_interface_says() -> None:
    out = exports.everything()
    tops = {path.name for path in out.iterdir()}
    assert tops == {"events", "graph", "facts", "export.ttl", "report.json", "shacl-report.ttl", "manifest.json"}
    assert {path.name for path in (out / "facts").iterdir()} == set(FACTS)
    endings = {path.split("/")[0]: path.rsplit(".", 1)[-1] for path in files(out) if "/" in path}
    assert endings == {"events": "ndjson", "graph": "ttl", "facts": "parquet"}


def test_the_manifest_is_right() -> None:
    out = exports.everything()
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    listed = {one["path"]: (one["bytes"], one["sha256"]) for one in manifest["files"]}
    there = {
        path: (len(content), hashlib.sha256(content).hexdigest())
        for path, content in files(out).items()
        if path != "manifest.json"
    }
    assert listed == there
    assert manifest["version"] == __version__
    assert manifest["rows_in"] == len(exports.all_rows())
    assert manifest["settings"]["account"] == exports.ACCOUNT
    assert manifest["input"] == [str(out.parent / "rows.ndjson")]


def test_an_existing_folder_is_refused_and_replaced_on_demand(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(exports.everything(), out)
    before = files(out)
    assert exports.export([rows], out) == 2
    assert "--replace" in capsys.readouterr().err
    assert files(out) == before
    assert exports.export([rows], out, "--replace", "--force", "--outputs", "graph") == 0
    assert exports.report(out)["rows_in"] == 1
    assert not (out / "events").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.ndjson"]


def test_a_folder_of_somebody_else_is_never_replaced(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work", encoding="utf-8")
    assert exports.export([rows], out, "--replace") == 2
    assert "was not made by an export" in capsys.readouterr().err
    assert files(out) == {"thesis.txt": b"years of work"}
    assert exports.export([rows], out / "thesis.txt", "--replace") == 2


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError("full"), OSError(28, "No space left on device")])
def test_a_run_that_ends_early_leaves_the_old_folder_and_nothing_else(
    failure: BaseException,
    rows: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert exports.export([rows], out) == 0
    before = files(out)

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(pipeline, "summarise", fail)  # when all texts are written
    assert exports.export([rows], out, "--replace") == (130 if isinstance(failure, KeyboardInterrupt) else 4)
    assert "nothing was published" in capsys.readouterr().err
    assert files(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.ndjson"]


def test_the_old_folder_is_readable_until_the_new_one_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("old", "new"):
        with Publication(LocalPlace(str(out)), replace=True) as place:
            place.text("report.json", text)
            assert text == "old" or files(out)["report.json"] == b"old"
            place.publish({"version": "x"})
    assert files(out)["report.json"] == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_the_same_rows_give_the_same_folder(rows: Path, tmp_path: Path) -> None:
    """All but the seconds, when it was made, and where it is."""
    for name in ("one", "two"):
        assert exports.export([rows], tmp_path / name, "--outputs", "events,graph,facts,catalog") == 0
    one, two = (files(tmp_path / name) for name in ("one", "two"))
    for folder in (one, two):
        del folder["report.json"], folder["manifest.json"]
        about = folder["export.ttl"].splitlines()
        (made,) = [line for line in about if b"generatedAtTime" in line]
        folder["export.ttl"] = b"\n".join(about[: about.index(made) - 1] + about[about.index(made) + 1 :])
    assert one.keys() >= {"graph/part-00000.ttl", "events/part-00000.ndjson", "shacl-report.ttl", "catalog.ttl"}
    assert one == two


def test_the_example_of_a_reader_is_the_export(tmp_path: Path) -> None:
    """``graph.ttl`` of an example is what the plain command writes, to the letter."""
    folder = golden.folders()[0]
    out = tmp_path / "out"
    account = golden.account(folder)
    given = [str(folder / "access_history.json"), "--account", account, "--out", str(out)]
    assert main(["export", *given, "--engine", "local"]) == 0
    told = (folder / "graph.ttl").read_text("utf-8").replace(folder.name, normalized(account).partition("-")[2])
    assert (out / "graph" / "part-00000.ttl").read_text("utf-8") == told
