"""One file with a result (``report --out``, ``reconcile --out``) costs nobody a file."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path
from typing import Final

import pytest

from exporter.cli import main
from exporter.errors import ExporterError, UsageError
from exporter.publish import result_file

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
MANIFEST: Final = EXAMPLES / "reconcile" / "manifest.json"
CONTRACT: Final = EXAMPLES / "reconcile" / "orders.odcs.yaml"
THESIS: Final = b"my thesis\n"


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("month") / "lineage"
    rows = EXAMPLES / "company-month" / "access_history.ndjson"
    assert main(["export", str(rows), "--account", "ACME-RETAIL", "--engine", "local", "--out", str(out)]) == 0
    return out


def words(kind: str, month: Path, out: Path) -> list[str]:
    if kind == "report":
        return ["report", str(month), "--out", str(out)]
    return ["reconcile", str(month), str(CONTRACT if out.suffix == ".yaml" else MANIFEST), "--out", str(out)]


CASES: Final = [("report", "r.html"), ("reconcile", "d.ttl"), ("reconcile", "d.nq"), ("reconcile", "d.yaml")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_file_of_somebody_else_stays(
    kind: str, name: str, month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / name
    out.write_bytes(THESIS)
    assert main(words(kind, month, out)) == 2
    assert f"--out {out}: is there already and is not" in capsys.readouterr().err
    assert out.read_bytes() == THESIS
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_its_own_file_is_replaced_also_by_a_link_and_is_private(
    kind: str, name: str, month: Path, tmp_path: Path
) -> None:
    out, link = tmp_path / name, tmp_path / f"link{Path(name).suffix}"
    out.touch(0o644)
    assert main(words(kind, month, out)) == 0, "an empty file is nobody's"
    first = out.read_bytes()
    out.chmod(0o644)
    link.symlink_to(out)
    assert main(words(kind, month, link)) == 0
    assert link.is_symlink()
    assert len(out.read_bytes()) == len(first) > 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {name, link.name}, "nothing is left beside it"


@pytest.mark.parametrize(
    "name", ["report.json", "graph/part-00000.ttl", "manifest.json", "new.html", "new.ttl", "new.yaml"]
)
@pytest.mark.parametrize("kind", ["report", "reconcile"])
def test_the_folder_of_an_export_is_not_written_into(
    kind: str, name: str, month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither that of the graph that is read, nor, by a link, that of another export."""
    if kind == "reconcile" and Path(name).suffix not in (".ttl", ".yaml"):
        return
    before = {path: path.read_bytes() for path in month.rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(month)
    turtle = tmp_path / "graph.ttl"
    turtle.write_bytes((month / "graph" / "part-00000.ttl").read_bytes())
    for graph, out in ((month, month / name), (turtle, tmp_path / "link" / name)):
        assert main(words(kind, graph, out)) == 2
        said = capsys.readouterr().err
        assert "the folder of another export" in said or "which is not changed" in said
    assert {path: path.read_bytes() for path in month.rglob("*") if path.is_file()} == before


def test_an_input_is_no_output(month: Path, tmp_path: Path) -> None:
    given = tmp_path / "manifest.ttl"
    given.write_bytes(MANIFEST.read_bytes())
    assert main(["reconcile", str(month), str(given), "--out", str(given)]) == 2
    assert given.read_bytes() == MANIFEST.read_bytes()


def test_another_contract_is_not_replaced_and_the_contract_itself_is(month: Path, tmp_path: Path) -> None:
    own, other = tmp_path / "own.yaml", tmp_path / "other.yaml"
    own.write_bytes(CONTRACT.read_bytes())
    other.write_text(CONTRACT.read_text("utf-8").replace("id: orders", "id: customers"), "utf-8")
    before = other.read_bytes()
    assert main(["reconcile", str(month), str(own), "--out", str(other)]) == 2
    assert other.read_bytes() == before
    assert main(["reconcile", str(month), str(own), "--out", str(own)]) == 0
    assert own.read_bytes() != CONTRACT.read_bytes()


def test_a_pipe_a_folder_and_a_link_to_itself(month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "circle.html").symlink_to("circle.html")
    for name, said in (("pipe", "a pipe or a device"), ("folder", "is a folder"), ("circle", "a pipe or a device")):
        assert main(words("report", month, tmp_path / f"{name}.html")) == 2
        assert said in capsys.readouterr().err


def test_a_page_whose_head_does_not_name_the_program_is_refused(
    month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert main(words("report", month, out)) == 0
    assert main(words("report", month, out)) == 0
    text = out.read_text("utf-8").replace('<meta name="generator" content="exporter report">\n', "")
    out.write_text(text, "utf-8")
    capsys.readouterr()
    assert main(words("report", month, out)) == 2
    assert "is there already and is not a report of exporter report. Remove it" in capsys.readouterr().err
    assert out.read_text("utf-8") == text


def test_a_full_disk_is_no_wrong_option(tmp_path: Path) -> None:
    """Exit code 4, as for an export; nothing is left. A limit of the user is much like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(ExporterError, match=r"d\.ttl: cannot be written: File too large") as raised:
            result_file.save(tmp_path / "d.ttl", "a" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not isinstance(raised.value, UsageError)
    assert [*tmp_path.iterdir()] == []
