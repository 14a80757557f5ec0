"""Hostile files: gzip bombs, links, pipes, odd names, settings with unknown keys."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.cli import configuration, main
from exporter.errors import UsageError
from exporter.input import files, formats, limits
from exporter.input.files import records
from exporter.input.find import InputOfViews, Inputs, find
from exporter.input.limits import unpacked
from tests import exports
from tests.input.bad_rows import GOOD
from tests.input.plain_rows import DAMAGED

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 1 << 20
ROW: Final = (json.dumps(GOOD) + "\n").encode()


# --- what is packed ---------------------------------------------------------------------------------------------------


def bomb(path: Path, what: bytes, size: int) -> Path:
    """``what`` so often that it has ``size`` bytes, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(ROW))
        for _ in range(size // len(what)):
            file.write(packer.compress(what))
        file.write(packer.flush())
    return path


BOMBS: Final = {
    "blank lines": ("rows.ndjson.gz", b"\n" * MIB, "unpacks to more than 64 MiB"),
    "the same row": ("rows.ndjson.gz", ROW * 1000, "unpacks to more than 8"),
    "a CSV": ("rows.csv.gz", b"\n,,\n" * 100_000, "unpacks to more than 64 MiB"),
    "a document": ("rows.json.gz", b" " * MIB, "unpacks to more than 64 MiB"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_gzip_bomb_is_refused_when_that_is_known(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, what, words = BOMBS[name]
    path = bomb(tmp_path / file, what, 100 * MIB)
    assert path.stat().st_size < MIB
    assert exports.export([path], tmp_path / "out") == 2
    assert words in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == [file]


def test_no_more_is_uncompressed_than_it_takes_to_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE", 4 * MIB)
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b"\n" * (8 * MIB)) + b"this is no gzip any more")
    with pytest.raises(UsageError, match="unpacks to more than 4 MiB, over 200 times its size"):
        unpacked(path)


def test_many_small_ones_in_one_file_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size that a gzip file says of itself is that of its last part."""
    monkeypatch.setattr(limits, "FREE", 4 * MIB)
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(b"\n" * MIB) * 5)
    with pytest.raises(UsageError, match="a gzip bomb"):
        unpacked(path)


def test_rows_that_repeat_themselves_are_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(ROW * 20_000))
    assert path.stat().st_size * limits.RATIO < unpacked(path) == 20_000 * len(ROW)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_LINE", 3 * MIB)
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(ROW + b"x" * (3 * MIB) + b"\n" + b"x" * (3 * MIB)))
    assert unpacked(path) > 6 * MIB
    path.write_bytes(gzip.compress(ROW + b"x" * (5 * MIB)))
    with pytest.raises(UsageError, match="has a line of more than 3 MiB"):
        unpacked(path)


def test_so_is_one_of_a_file_that_is_not_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_LINE", 3 * MIB)
    path = tmp_path / "a.ndjson"
    path.write_bytes(ROW + b"x" * (3 * MIB) + b"\n" + ROW)
    assert find([str(path)]).sources[0].form == formats.NDJSON
    path.write_bytes(ROW + b"x" * (5 * MIB) + b"\n" + ROW)
    with pytest.raises(UsageError, match="has a line of more than 3 MiB"):
        find([str(path)])


def test_files_that_are_read_as_a_whole_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "DOCUMENT_LIMIT", 10_000)
    (tmp_path / "a.csv").write_text("query_id,query_start_time,user_name\n" + "1,2026-03-01 08:00:00,u\n" * 1000)
    with pytest.raises(UsageError, match="too much to read into memory"):
        list(records(find([str(tmp_path / "a.csv")]).sources[0]))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"[" + b",".join([ROW] * 100) + b"]"))
    with pytest.raises(UsageError, match="a JSON document larger than"):
        find([str(tmp_path / "a.json.gz")])


def test_parquet_that_holds_more_rows_than_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_ROWS_FREE", 1000)
    same = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), pa.array(["q"]))
    pq.write_table(pa.table({"query_id": same}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="has 50,000 rows in fewer bytes"):
        find([str(tmp_path / "a.parquet")])


def test_parquet_whose_rows_share_one_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FREE", MIB)
    same = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["x" * (64 << 10)]))
    columns = {"query_id": [str(n) for n in range(500)], "query_start_time": ["2026-03-01"] * 500, "user_name": same}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(UsageError, match="over 1,000 times its size as text"):
        list(records(find([str(tmp_path / "a.parquet")]).sources[0]))


# --- bytes that are no text -------------------------------------------------------------------------------------------


def test_bytes_that_are_not_utf_8_in_every_form(engine: str, tmp_path: Path) -> None:
    """One user of a file each has a byte of Latin-1; the next one is a right row. A file can say of its texts that they
    are UTF-8 where they are not.
    """
    header, time = ["query_id", "query_start_time", "user_name"], "2026-03-01 08:00:00"
    lines = [json.dumps(dict(zip(header, (str(n), time, "M@LLER"), strict=True))).encode() for n in range(2)]
    lines[0] = lines[0].replace(b"@", b"\xdc")
    (tmp_path / "a.ndjson").write_bytes(b"\n".join(lines))
    (tmp_path / "a.json").write_bytes(b"[\n" + b",\n".join(lines) + b"]")
    cells = [f"{n},{time},M@LLER".encode() for n in range(2)]
    (tmp_path / "a.csv").write_bytes(b"\n".join([",".join(header).encode(), cells[0].replace(b"@", b"\xdc"), cells[1]]))
    users = pa.array([b"M\xdcLLER", b"M@LLER"], pa.binary())
    for name, column in (("bytes", users), ("text", pa.Array.from_buffers(pa.string(), 2, users.buffers()))):
        table = pa.table({"query_id": ["0", "1"], "query_start_time": [time] * 2, "user_name": column})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = sorted(tmp_path.iterdir())
    assert exports.export(files, tmp_path / "out", engine=engine) == 0
    aside = {one["file"].rpartition("/")[2]: one["reason"] for one in exports.quarantine(tmp_path / "out")}
    assert aside == dict.fromkeys((path.name for path in files), f"user_name {DAMAGED}")
    report = exports.report(tmp_path / "out")
    assert (report["rows_in"], report["exported"] + report["duplicates"]) == (10, 5)


# Packed at no time: the content names the test, and all processes that run the tests have to name it alike.
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.ndjson", b'{"a":' + b"[" * 60_000 + b"\nx\n"),
        ("a.csv", b"a" * 300_000),
        ("a.csv", b"query_id,\0\n"),
        ("a.csv", b'query_id,query_start_time,user_name\n"' + b"x,\n" * 1000),
        ("a.ndjson", b"\0" * 100_000),
        ("a.ndjson.gz", gzip.compress(gzip.compress(ROW, mtime=0), mtime=0)),
        ("a.ndjson.gz", gzip.compress(ROW, mtime=0)[:-9] + b"\0" * 9),
        ("a.ndjson.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 100),
    ],
)
def test_random_bytes_end_in_a_message(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert exports.export([tmp_path / name], tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert told.startswith("exporter: ")
    assert "fault of the program" not in told


def test_a_header_of_a_hundred_thousand_columns(tmp_path: Path) -> None:
    names = ",".join(f"c{n}" for n in range(100_000))
    cells = ",".join("x" for _ in range(100_000))
    rows = f"query_id,query_start_time,user_name,{names}\n1,2026-03-01 08:00:00,u,{cells}\n"
    (tmp_path / "a.csv").write_text(rows)
    assert exports.export([tmp_path / "a.csv"], tmp_path / "out") == 0
    report = exports.report(tmp_path / "out")
    assert (report["exported"], len(report["not_understood"]) < 200) == (1, True)


# --- links, pipes and names -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that somebody else may write into, with a row; and one beside it, with a secret."""
    (tmp_path / "secret").mkdir()
    exports.ndjson([{**GOOD, "user_name": "SECRET"}], tmp_path / "secret" / "s.ndjson")
    (tmp_path / "in").mkdir()
    exports.ndjson([GOOD], tmp_path / "in" / "a.ndjson")
    return tmp_path / "in"


def _read(*names: Path | str) -> tuple[list[str], set[str]]:
    """The names of files that are read, and of those that are not."""
    found = find(map(str, names))
    paths = [path for source in found.sources for path in source.paths]
    return sorted(path.rpartition("/")[2] for path in paths), {path.rpartition("/")[2] for path in found.skipped}


def test_links_do_not_lead_out_of_a_folder(folder: Path) -> None:
    (folder / "out.ndjson").symlink_to("../secret/s.ndjson")
    (folder / "passwd.ndjson").symlink_to("/etc/passwd")
    (folder / "within.ndjson").symlink_to("_b.ndjson")
    (folder / "again.ndjson").symlink_to("within.ndjson")
    exports.ndjson([GOOD], folder / "_b.ndjson")
    (folder / "folder").symlink_to("../secret")
    (folder / "circle").symlink_to(".")
    (folder / "nowhere.ndjson").symlink_to("gone")
    (folder / "itself.ndjson").symlink_to("itself.ndjson")
    os.mkfifo(folder / "pipe.ndjson")
    skipped = {"out.ndjson", "passwd.ndjson", "folder", "circle", "nowhere.ndjson", "itself.ndjson", "pipe.ndjson"}
    assert _read(folder) == (["a.ndjson", "again.ndjson"], skipped), "a file is read once"


def test_what_is_not_read_of_a_view_is_listed_once(folder: Path) -> None:
    (folder / "out.ndjson").symlink_to("../secret/s.ndjson")
    found = find([str(folder)])
    nothing = Inputs(found.sources, (), 0)
    for given in (InputOfViews(nothing, history=found), InputOfViews(found, found, found)):
        assert given.skipped == (str(folder / "out.ndjson"),)


def test_patterns_do_not_follow_cycles(folder: Path) -> None:
    for name in ("one", "two", "three"):
        (folder / name).symlink_to(".")
    (folder / "deep").mkdir()
    exports.ndjson([GOOD], folder / "deep" / "b.ndjson")
    exports.ndjson([GOOD], folder / ".hidden.ndjson")
    assert _read(folder / "**" / "*.ndjson") == (["a.ndjson", "b.ndjson"], set())
    assert _read(folder / "*.ndjson") == (["a.ndjson"], set())


def test_what_a_person_names_is_read(folder: Path) -> None:
    (folder / "out.ndjson").symlink_to("../secret/s.ndjson")
    assert _read(folder / "out.ndjson")[0] == ["out.ndjson"]
    assert _read(folder / ".." / "in" / "." / "a.ndjson")[0] == ["a.ndjson"]


@pytest.mark.parametrize("name", ["pipe.ndjson", "nowhere.ndjson", "itself.ndjson", "only"])
def test_what_cannot_be_read_is_refused_at_once(name: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe.ndjson")
    (folder / "nowhere.ndjson").symlink_to("gone")
    (folder / "itself.ndjson").symlink_to("itself.ndjson")
    (folder / "only").mkdir()
    (folder / "only" / "link.ndjson").symlink_to("../../secret/s.ndjson")
    with pytest.raises(UsageError, match=rf"{name}: ") as refused:
        find([str(folder / name)])
    assert "did you mean" not in str(refused.value)


NAMES: Final = (
    b"esc\x1b[31mred\x07.ndjson", b"new\nline.ndjson", b"latin\xff.ndjson", b"[a].ndjson", b"%41 #?&.ndjson",
    b"a:b.ndjson", "\u202egnp.ndjson".encode(), b"-dash.ndjson", b"back\\slash.ndjson", b"quote'\".ndjson",
)  # fmt: skip


def test_files_may_have_any_name(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    names = [name for name in NAMES if engine == "local" or b"\xff" not in name]
    for number, name in enumerate(names):
        rows = [json.dumps({**GOOD, "query_id": str(number)}).encode(), b"no row"]
        (tmp_path / "in" / os.fsdecode(name)).write_bytes(b"\n".join(rows))
    (tmp_path / "in" / os.fsdecode(b"notes\x1b[2J\xff.txt")).write_bytes(b"hello")
    assert exports.export([tmp_path / "in"], tmp_path / "out", engine=engine) == 0
    assert "notes\\x1b[2J\\udcff.txt" in capsys.readouterr().out
    aside = {one["file"].rpartition("/in/")[2]: one["line"] for one in exports.quarantine(tmp_path / "out")}
    assert aside == dict.fromkeys((name.decode("utf-8", "backslashreplace") for name in names), 2)


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_a_name_that_java_cannot_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = exports.ndjson([GOOD], tmp_path / os.fsdecode(b"latin\xff.ndjson"))
    assert exports.export([path], tmp_path / "out", engine="spark") == 2
    assert "latin\\udcff.ndjson: Spark cannot read a file whose name is not UTF-8" in capsys.readouterr().err


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'acount = "A-B"', "there is no setting acount; did you mean account?"),
        (b'"\\u001b[2J" = 1', "there is no setting \\x1b[2J; known settings are account"),
        (b"[filtr]\ndeny_users = 1", "there is no setting filtr; did you mean filter?"),
        (b"[openlineage]\nnamspace = 1", "there is no setting openlineage.namspace"),
        (b'account = "A-B\xff"', "is not UTF-8"),
        (b"account = 1", "account must be a text, but is 1"),
        (b"a = " + b"[" * 50_000, "is not TOML: maximum recursion depth"),
        (b"[" + b"a." * 5_000 + b"a]", "is not TOML: maximum recursion depth"),
        (b"[" + b"a." * 100_000 + b"a]", "is larger than 64 KiB"),
        (b'account = "${NOBODY_SET_THIS}"', "the environment variable NOBODY_SET_THIS is not set"),
    ],
)
def test_unknown_settings(content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_bytes(content)
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    given = [
        "export",
        str(rows),
        "--out",
        str(tmp_path / "out"),
        "--engine",
        "local",
        "--config",
        str(tmp_path / "s.toml"),
    ]
    assert main(given) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_same_of_a_push(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[push]\nratee = 1\n")
    with pytest.raises(UsageError, match=r"there is no setting push.ratee; did you mean push.rate\?"):
        configuration.load_push({}, tmp_path / "s.toml", {})


def test_a_misspelt_table_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[pushs]\n")
    with pytest.raises(UsageError, match=r"there is no setting pushs; did you mean push\?"):
        configuration.load_push({}, tmp_path / "s.toml", {})
    (tmp_path / "s.toml").write_text("[sevre]\n")
    with pytest.raises(UsageError, match=r"there is no setting sevre; did you mean serve\?"):
        configuration.load_serve(tmp_path / "s.toml", {})
