"""``--compress gzip``: the same outputs, smaller, and readable for every command and for other stores."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from exporter.backends.index import Index
from exporter.cli import main
from tests import exports
from tests.histories import random_history
from tests.input.bad_rows import BAD_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

MONTH: Final = Path(__file__).parents[2] / "examples" / "company-month"
OPTIONS: Final = ("--graph-format", "turtle,ntriples,jsonld", "--outputs", "events,graph,catalog")
QUESTION: Final = ("masking-policies", "--format", "json")


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same rows, plain and compressed, some of which cannot be read."""
    folder = tmp_path_factory.mktemp("compressed")
    rows = exports.ndjson(random_history(4, 40), folder / "rows.ndjson")
    with rows.open("a", encoding="utf-8") as file:
        file.write(f"{BAD_ROWS[0][0]}\n")
    plain, packed = folder / "plain", folder / "packed"
    assert exports.export([rows], plain, *OPTIONS) == 0
    assert exports.export([rows], packed, *OPTIONS, "--compress", "gzip") == 0
    return plain, packed


def test_events_and_graph_have_the_same_bytes_and_all_else_is_plain(outs: tuple[Path, Path]) -> None:
    plain, packed = ({path.relative_to(out): path for path in out.rglob("*.*") if path.is_file()} for out in outs)
    gz = {path for path in packed if path.suffix == ".gz"}
    assert {path.parts[0] for path in gz} == {"events", "graph"}
    assert {path.with_suffix("") if path in gz else path for path in packed} == set(plain)
    assert {path.parts[0] for path in plain} >= {"quarantine", "catalog.ttl", "tags.jsonld"}
    for path in gz:
        assert gzip.decompress(packed[path].read_bytes()) == plain[path.with_suffix("")].read_bytes(), path


def test_the_same_rows_give_the_same_bytes_at_any_time(outs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "again"
    assert exports.export([outs[0].parent / "rows.ndjson"], out, *OPTIONS, "--compress", "gzip") == 0
    for path in outs[1].rglob("*.gz"):
        assert path.read_bytes() == (out / path.relative_to(outs[1])).read_bytes()


def test_every_command_reads_it(outs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for out in outs:
        given = (["query", *QUESTION, "--graph", out], ["validate", out, "--json"], ["log", out], ["quarantine", out])
        for arguments in given:
            assert main([*map(str, arguments)]) == 0, arguments
        written = json.loads((out / "report.json").read_text(encoding="utf-8"))["at"]
        said.append(capsys.readouterr().out.replace("packed", "plain").replace(written, "AT"))
    assert said[0] == said[1]
    assert json.loads(said[0].partition("]")[0] + "]"), "the question has an answer"


def test_one_file_of_any_syntax_is_a_graph(outs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    said = set()
    for ending in ("ttl", "nt", "jsonld"):
        file = outs[1] / "graph" / f"part-00000.{ending}.gz"
        assert main(["query", *QUESTION, "--graph", str(file)]) == 0
        said.add(capsys.readouterr().out)
    assert len(said) == 1


def test_a_push_sends_the_same_events_in_the_same_order(outs: tuple[Path, Path]) -> None:
    @cache
    def sent(out: Path) -> list[bytes]:
        with Index(out, lambda _: None) as index:
            return [index.line(item) for item in index.items()]

    assert sent(outs[0]) == sent(outs[1])
    assert len(sent(outs[0])) > 40


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _no_gzip(content: bytes) -> bytes:
    return gzip.decompress(content)


def _spoilt(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(255 - one for one in content[middle : middle + 40]) + content[middle + 40 :]


@pytest.mark.parametrize("harm", [_cut, _no_gzip, _spoilt])
@pytest.mark.parametrize("command", ["query", "validate", "push"])
def test_what_is_damaged_is_named(
    command: str,
    harm: Callable[[bytes], bytes],
    outs: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "events/part-00000.ndjson.gz" if command == "push" else "graph/part-00000.ttl.gz"
    file = tmp_path / name
    file.parent.mkdir()
    file.write_bytes(harm((outs[1] / name).read_bytes()))
    monkeypatch.setenv("OPENLINEAGE_URL", "http://localhost:1")
    given = {"query": [*QUESTION, "--graph", tmp_path], "validate": [tmp_path], "push": [tmp_path, "--patience", "0"]}[
        command
    ]
    assert main([command, *map(str, given)]) == 2
    said = capsys.readouterr().err
    assert str(file) in said
    assert "Traceback" not in said


def test_another_value_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('compress = "zip"', encoding="utf-8")
    assert exports.export([MONTH / "access_history.ndjson"], tmp_path / "out", "--config", str(config)) == 2
    assert "compress: zip is not one of none, gzip" in capsys.readouterr().err


def test_the_file_of_settings_says_it(tmp_path: Path) -> None:
    config, out = tmp_path / "settings.toml", tmp_path / "out"
    config.write_text('compress = "gzip"', encoding="utf-8")
    rows = exports.ndjson(random_history(1, 3), tmp_path / "rows.ndjson")
    assert exports.export([rows], out, "--config", str(config)) == 0
    assert [path.name for path in (out / "graph").iterdir()] == ["part-00000.ttl.gz"]
