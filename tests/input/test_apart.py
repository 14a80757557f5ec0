"""Only an export is replaced, known by the content of its manifest. Files that no export wrote are refused by name
before the work, or kept; DIR and the input are apart.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from exporter.cli import main
from exporter.engines import export as pipeline
from exporter.errors import UsageError
from exporter.input.find import OutputFolder
from exporter.publish import manifest
from exporter.publish.places import LocalPlace
from exporter.publish.publication import Publication
from exporter.publish.report import summarise
from exporter.system import folders
from tests import exports
from tests.input.bad_rows import GOOD
from tests.publish.test_publication import files

if TYPE_CHECKING:
    from pathlib import Path

REPLACE, UPDATE = ("--replace",), ("--update",)
LATER = {**GOOD, "query_id": "later"}


_SHAPE = "<urn:s> <http://www.w3.org/ns/shacl#targetNode> <urn:n> ; <http://www.w3.org/ns/shacl#deactivated> true ."


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DIR of --update, and the rows that it is made from."""
    folder = tmp_path_factory.mktemp("apart")
    assert exports.export([exports.ndjson([GOOD], folder / "rows.ndjson")], folder / "out", *UPDATE) == 0
    exports.ndjson([LATER], folder / "later.ndjson")
    return folder


@pytest.fixture
def out(exported: Path, tmp_path: Path) -> Path:
    shutil.copytree(exported, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


def added(out: Path, *options: str) -> int:
    return exports.export([out.parent / "later.ndjson"], out, *options)


def told(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "manifest.json").read_text("utf-8")))


@pytest.mark.parametrize("options", [REPLACE, UPDATE])
@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "{", '{"name": "an extension", "version": "1", "files": []}', '{"version": "1", "files": [1]}',
     "[" * 100_000],
)  # fmt: skip
@pytest.mark.parametrize("name", ["report.json", "manifest.json", "log.json"])
def test_a_folder_with_a_file_of_that_name_is_no_export(
    name: str, content: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / ".git").mkdir(parents=True)
    for path, text in ((".git/HEAD", "ref"), ("thesis.tex", "years"), (name, content)):
        (out / path).write_text(text, encoding="utf-8")
    before = files(out)
    assert exports.export([exports.ndjson([GOOD], tmp_path / "rows.ndjson")], out, *options, "--force") == 2
    assert "was not made by an export" in capsys.readouterr().err
    assert files(out) == before


def test_a_manifest_whose_files_are_elsewhere_makes_no_export(out: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(out / "manifest.json", other)
    (other / "report.json").write_text("my own")
    assert added(other, *REPLACE, "--force") == 2
    assert (other / "report.json").read_text() == "my own"


@pytest.mark.parametrize("options", [REPLACE, UPDATE, (*REPLACE, "--force"), (*REPLACE, *UPDATE)])
@pytest.mark.parametrize(
    "name",
    ["notes.txt", "graph/mine.ttl", "graph/day=2026-03-01/mine.ttl", "state/mine.parquet", "events/.hidden",
     ".git/HEAD", "push/notes.txt",
     "push/backend/notes.txt", "push/backend/more/ledger.txt", "Report.json", "a\nb\x1b[31m"],
)  # fmt: skip
def test_a_file_that_no_export_wrote_is_refused_by_name_before_the_work(
    name: str,
    options: tuple[str, ...],
    out: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("mine")
    before = files(out)
    monkeypatch.setattr(pipeline, "_make_outputs", lambda *_: pytest.fail("the work began"))
    assert added(out, *options) == 2
    said = capsys.readouterr().err
    assert f"files that no export wrote, and replacing the folder would remove them: {ascii(name)[1:-1]}." in said
    assert files(out) == before


@pytest.mark.parametrize("what", ["file", "folder", "nowhere", "pipe"])
def test_links_and_pipes_are_files_of_somebody_else(what: str, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if what == "pipe":
        os.mkfifo(out / "graph" / "mine")
    else:
        targets = {"file": out.parent / "rows.ndjson", "folder": out.parent, "nowhere": out.parent / "nowhere"}
        (out / "graph" / "mine").symlink_to(targets[what])
    assert added(out, *UPDATE) == 2
    assert "remove them: graph/mine." in capsys.readouterr().err


def test_a_folder_of_the_export_that_was_moved_and_linked_is_refused(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "events").rename(out.parent / "elsewhere")
    (out / "events").symlink_to(out.parent / "elsewhere")
    assert added(out, *REPLACE) == 2
    assert "remove them: events." in capsys.readouterr().err
    assert (out.parent / "elsewhere" / "day=2026-03-01").is_dir()


@pytest.mark.parametrize("is_same_size", [True, False])
def test_a_changed_file_is_refused_by_name_and_kept_with_force(
    *, is_same_size: bool, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (out / "report.json").read_text()
    mine = text.replace("ACME", "MINE") if is_same_size else "mine"
    (out / "report.json").write_text(mine)
    for options in (REPLACE, UPDATE, (*UPDATE, "--force")):
        assert added(out, *options) == 2
        assert "were changed since the export wrote them: report.json." in capsys.readouterr().err
    assert added(out, *REPLACE, "--force") == 0
    (kept,) = out.parent.glob("out.kept-*")
    assert files(kept) == {"report.json": mine.encode()}
    assert f"they are in {kept} now" in capsys.readouterr().err
    assert not manifest.problems(out)


def test_a_copy_without_its_times_is_an_export(out: Path) -> None:
    for path in out.rglob("*"):
        os.utime(path)
    assert added(out, *UPDATE) == 0


def test_a_file_older_than_the_manifest_is_not_read(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_file_entry", lambda path, _: pytest.fail(f"{path} was read"))
    for path in out.rglob("*"):
        os.utime(path, (1, 1))
    os.utime(out / "manifest.json", (2, 2))
    found = manifest.diff_folder(out)
    assert found == ([], [], [], True)


def test_an_update_refuses_an_export_with_missing_files_and_a_replacement_takes_it(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = next(path for path in (out / "state").rglob("*.parquet"))
    state.unlink()
    assert added(out, *UPDATE) == 2
    assert f"files of the export are missing: {state.relative_to(out)}." in capsys.readouterr().err
    assert added(out, *REPLACE) == 0


@pytest.mark.parametrize("options", [REPLACE, UPDATE])
def test_files_of_the_program_in_dir_and_beside_it_are_no_obstacle(options: tuple[str, ...], out: Path) -> None:
    backend = out / "push" / "backend"
    backend.mkdir(parents=True)
    for name in ("ledger.txt", "set-aside.ndjson", "reduced.ndjson", "summary.json"):
        (backend / name).write_text("+ x\n")
    for name in (".out.0123456789ab", ".out.store"):
        (out.parent / name).mkdir()
    (out.parent / ".out.lock").touch()
    (out.parent / "out.applied").touch()
    assert added(out, *options) == 0
    assert (backend / "ledger.txt").read_text() == "+ x\n"
    assert not (out.parent / ".out.0123456789ab").exists()


@pytest.mark.parametrize("options", [REPLACE, UPDATE])
def test_an_export_of_a_former_version_is_known_by_the_keys_of_its_manifest(
    options: tuple[str, ...], out: Path
) -> None:
    now = told(out)
    assert now.pop("format") == "access-history-exporter"
    (out / "manifest.json").write_text(json.dumps(now))
    assert added(out, *options) == 0
    for other in ({**now, "format": "of another program"}, {key: now[key] for key in ("version", "files")}):
        (out / "manifest.json").write_text(json.dumps(other))
        assert added(out, *options) == 2


@pytest.mark.parametrize("options", [(), REPLACE, UPDATE])
def test_an_empty_folder_is_filled(options: tuple[str, ...], out: Path) -> None:
    (out.parent / "empty").mkdir()
    assert added(out.parent / "empty", *options) == 0


# --- while the work is done ---


def test_a_file_that_appears_during_the_work_is_kept_and_said(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def meanwhile(*given: Any) -> Any:
        (out / "graph" / "mine.ttl").write_text("mine")
        (out / "report.json").write_text("edited")
        return summarise(*given)

    monkeypatch.setattr(pipeline, "summarise", meanwhile)
    assert added(out, *REPLACE) == 0
    (kept,) = out.parent.glob("out.kept-*")
    assert files(kept) == {"graph/mine.ttl": b"mine", "report.json": b"edited"}
    assert f"{out}: files in it were added or changed while it was replaced; they are in {kept} now" in (
        capsys.readouterr().err
    )
    assert not manifest.problems(out)


def test_the_former_dir_that_a_killed_run_left_loses_no_file_of_the_user(out: Path) -> None:
    """The run was killed after the exchange of the folders, before it removed the former one."""
    left = out.parent / ".out.0123456789ab"
    shutil.copytree(out, left)
    folders.set_mark(left, folders.former_mark(left.name))
    (left / "mine").write_text("mine")
    assert added(out, *UPDATE) == 0
    assert not left.exists()
    assert files(out.parent / "out.kept-0123456789ab") == {"mine": b"mine"}


def test_the_copy_of_an_export_and_other_folders_with_the_name_of_a_work_folder_stay(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A work folder is known by its mark: twelve digits are a time of the day as well."""
    copied, notes, file = (out.with_name(f".out.{name}") for name in ("202609010800", "202609010801", "202609010802"))
    shutil.copytree(out, copied)
    notes.mkdir()
    (notes / "notes.txt").write_text("precious")
    file.write_text("mine")
    before = files(out.parent / copied.name)
    assert added(out, *REPLACE) == 0
    assert files(copied) == before
    assert files(notes) == {"notes.txt": b"precious"}
    assert file.read_text() == "mine"
    said = capsys.readouterr().err
    for path in (copied, notes, file):
        assert f"{path} stays: its name is that of a work folder of a killed export, but nothing in it says" in said


def test_no_folder_of_the_user_becomes_dir(out: Path) -> None:
    """A former DIR is put back if its run was killed while DIR was away; a folder without a mark is none."""
    mine = out.with_name(".new.202609010800.old")
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    assert added(out.with_name("new")) == 0
    assert files(mine) == {"notes.txt": b"mine"}


@pytest.mark.parametrize("options", [REPLACE, UPDATE])
@pytest.mark.parametrize("empty", ["mine/sub", "graph/.x", ".git", "graph/mine"])
def test_an_empty_folder_of_the_user_in_dir_is_refused_by_its_name(
    empty: str, options: tuple[str, ...], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / empty).mkdir(parents=True)
    assert added(out, *options) == 2
    assert f"has folders that no export wrote, and replacing the folder would remove them: {empty}/." in (
        capsys.readouterr().err
    )
    assert (out / empty).is_dir()


def test_empty_folders_of_the_programs_own_are_no_obstacle(out: Path) -> None:
    for name in ("facts", "quarantine", "changes", "push/backend"):
        (out / name).mkdir(parents=True, exist_ok=True)
    assert added(out, *REPLACE) == 0


# --- the input ---


@pytest.mark.parametrize(
    "given", ["out", "out/", "./out/../out", "link", "link/events", "out/events", "out/events/*/*", "out/*/*.ndjson",
              "out/log.json", "file:{}/out/log.json"],
)  # fmt: skip
def test_an_input_in_dir_is_refused(
    given: str, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(out.parent)
    (out.parent / "link").symlink_to(out)
    before = files(out)
    for options in (("rows.ndjson", given.format(out.parent)), ("rows.ndjson", "--query-history", given)):
        if "{" in given and options[1] == "--query-history":
            continue
        assert exports.export(options[:1] if options[1].startswith("--") else options, out, *UPDATE, *(
            options[1:] if options[1].startswith("--") else ()
        )) == 2  # fmt: skip
        assert f"is in {out}, the folder of the output" in capsys.readouterr().err
    assert files(out) == before


@pytest.mark.parametrize("given", [".", "*", "**", "**/*", "**/*.ndjson", "linked", "link*"])
def test_dir_in_an_input_folder_is_left_out_and_said(
    given: str, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(out.parent)
    if given.startswith("link"):
        (out.parent / "linked").mkdir()
        shutil.copy(out.parent / "rows.ndjson", out.parent / "linked")
        (out.parent / "linked" / "events.ndjson").symlink_to(next(out.glob("events/*/*.ndjson")))
        if given == "link*":
            (out.parent / "link-out").symlink_to(out)
    for options in (UPDATE, REPLACE):
        assert exports.export([given], out, *options, "--json", "--force") == 0
        report = json.loads(capsys.readouterr().out)
        assert report["rows_in"] == (1 if given.startswith("link") else 2)
        if given != "linked":
            assert f"{out} (the folder of the output)" in report["skipped_files"]


def test_other_files_that_options_name_are_refused_in_dir(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("settings.toml", ""), ("key", "k" * 32), ("shapes.ttl", _SHAPE)):
        (out / name).write_text(text)
        option = {"settings.toml": "--config", "key": "--pseudonyms", "shapes.ttl": "--shapes"}[name]
        assert added(out, *REPLACE, option, str(out / name)) == 2
        assert f"remove them: {name}." in capsys.readouterr().err
        (out / name).unlink()


@pytest.mark.parametrize(
    ("out", "name", "is_refused"),
    [
        ("s3a://b/lineage", "s3a://b/lineage/events/part-00000.ndjson", True),
        ("s3a://b/lineage", "S3://b//x/../lineage/log.json", True),
        ("s3a://b/lineage/", "s3a://b/*/*.json", True),
        ("s3a://b/lineage", "s3a://b/*/*/*.ndjson", True),
        ("s3a://b/lineage", "s3a://b/l*/*.ndjson", False),
        ("s3a://b/rows.ndjson/lineage", "s3a://b/rows.ndjson", True),
        ("s3a://b/lineage", "s3a://b/lineage-rows/a.ndjson", False),
        ("s3a://b/lineage", "s3a://other/lineage/log.json", False),
        ("s3a://b/lineage", "hdfs://b/lineage/log.json", False),
        ("s3a://b/lineage", "lineage/log.json", False),
        ("lineage", "s3a://b/lineage/log.json", False),
    ],
)
def test_uris(*, out: str, name: str, is_refused: bool) -> None:
    output = OutputFolder(out, lambda: ["log.json", "events/part-00000.ndjson"])
    if is_refused:
        with pytest.raises(UsageError, match="the folder of the output"):
            output.check(name)
    else:
        output.check(name)


# --- names of DIR ---


def test_dir_as_a_link_a_relative_path_or_with_slashes_is_the_same_dir(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(out.parent)
    (out.parent / "link").symlink_to("out")
    for name in ("link", "out/", "./out", "events/../out", "link/"):
        (out / "mine").touch()
        assert main(["export", "rows.ndjson", "--engine", "local", "--out", name, "--update"]) == 2
        assert "remove them: mine." in capsys.readouterr().err
        (out / "mine").unlink()
        assert (
            main(["export", "rows.ndjson", "--engine", "local", "--out", name, "--account", "ACME-PROD", *UPDATE]) == 0
        )
    assert (out.parent / "link").is_symlink()


def test_dir_in_which_the_shell_is_says_so(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(out)
    assert (
        main(["export", "../later.ndjson", "--engine", "local", "--out", ".", "--account", "ACME-PROD", *UPDATE]) == 0
    )
    assert "this shell is still in the former folder" in capsys.readouterr().err
    assert exports.report(out)["exported"] == 1


@pytest.mark.parametrize("options", [(), REPLACE, UPDATE])
def test_dir_in_a_folder_that_was_replaced_is_refused(
    options: tuple[str, ...], out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As by an export to ``.``, called again in the same shell."""
    before, rows = files(out), str(out.parent / "rows.ndjson")
    (out.parent / "gone").mkdir()
    monkeypatch.chdir(out.parent / "gone")
    (out.parent / "gone").rmdir()
    for name in (".", "below"):
        assert main(["export", rows, "--engine", "local", "--out", name, "--account", "ACME-PROD", *options]) == 2
        assert f"{name}: the working folder was removed or replaced" in capsys.readouterr().err
    assert files(out) == before


@pytest.mark.parametrize("name", ["loop", "other", "loop/below"])
def test_links_that_lead_to_themselves_are_refused(name: str, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out.parent / "loop").symlink_to("other")
    (out.parent / "other").symlink_to("loop")
    before = files(out.parent)
    assert exports.export([out.parent / "rows.ndjson"], out.parent / name) == 2
    assert "is a link that leads to itself" in capsys.readouterr().err
    assert files(out.parent) == before


@pytest.mark.parametrize("name", ["/", "//", "/tmp/.."])
def test_the_root_is_refused(name: str, out: Path) -> None:
    assert main(["export", str(out.parent / "rows.ndjson"), "--engine", "local", "--out", name, *REPLACE]) == 2


@pytest.mark.parametrize("options", [(), REPLACE, UPDATE, (*REPLACE, "--force"), ("--dry-run",)])
@pytest.mark.parametrize("name", ["out/new", "out/events", "out/graph/a/b", "link/new", "out/state/../new"])
def test_a_folder_in_another_export_is_refused(
    name: str, options: tuple[str, ...], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next run would find files there that no export wrote."""
    (out.parent / "link").symlink_to(out)
    before = files(out.parent)
    assert exports.export([out.parent / "later.ndjson"], out.parent / name, *options) == 2
    said = f"{out.parent / name}: is in {out}, the folder of another export, which is replaced as a whole"
    assert said in capsys.readouterr().err
    assert files(out.parent) == before
    assert added(out, *UPDATE) == 0


def test_a_folder_beside_other_manifests_is_written(out: Path) -> None:
    """Also below a folder with a manifest of an export that is not there, or of another program."""
    for number, text in enumerate(((out / "manifest.json").read_text(), "{}", "[" * 100_000, "")):
        above = out.parent / str(number)
        (above / "a").mkdir(parents=True)
        (above / "manifest.json").write_text(text)
        assert exports.export([out.parent / "later.ndjson"], above / "a" / "b") == 0


def test_a_hostile_manifest_removes_nothing_outside(out: Path) -> None:
    now, other = told(out), out.parent / "thesis.txt"
    other.write_text("years")
    entry = {"bytes": 5, "sha256": "a" * 64}
    now["files"] += [{"path": "../thesis.txt", **entry}, {"path": str(other), **entry}]
    (out / "manifest.json").write_text(json.dumps(now))
    assert added(out, *REPLACE) == 0
    assert other.read_text() == "years"


def test_a_file_in_the_place_of_dir_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="was not made by an export"):
        Publication(LocalPlace(str(tmp_path / "file")), replace=True, force=True)
