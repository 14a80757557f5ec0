"""Terminals show control characters in printed names and never execute them."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from exporter.ask.answers import Answer, render
from exporter.backends.plan import say
from exporter.cli import main, messages, query
from exporter.system import terminal as printable
from exporter.system.progress import Progress
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "\x1b]0;evil\x07\x1b[2J\x9b31m\u202e\u2066\u2028\u200b\x08\x7f"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "letter",
    [*map(chr, range(32)), "\x7f", "\x80", "\x9b", "\u202e", "\u2066", "\u2028", "\ufeff", "\udcff", "\U000e0041"],
)
def test_control_characters_are_shown_escaped(letter: str) -> None:
    assert printable.visible(f"a{letter}b") == f"a{ascii(letter)[1:-1]}b"
    assert printable.visible_text(f"a{letter}b") == (f"a{letter}b" if letter in "\n\t" else f"a{ascii(letter)[1:-1]}b")


def test_letters_of_all_languages_stay() -> None:
    text = "Größe naïve 名前\u3000表 имя שם اسم می\u200cخواهم क्\u200dष 👩\u200d👧 🦖 €\u00a0"  # noqa: RUF001 - letters of all languages
    assert printable.visible(text) == text


def test_what_the_commands_print_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with printable.guarded():
        print(EVIL)  # noqa: T201 - this is what is tested
        say(EVIL)
        messages.warn([EVIL])
    print(EVIL[-1])  # noqa: T201 - this is what is tested
    assert out.getvalue() == f"{printable.visible(EVIL)}\n\x7f\n", "and the stream is what it was, behind it"
    assert err.getvalue().count(printable.visible(EVIL)) == 2


def test_a_command_whose_output_is_closed_does_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``exporter export … >&-``: then Python has no such stream."""
    monkeypatch.setattr(sys, "stdout", None)
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert main(["export", str(rows), "--account", "A", "--engine", "local", "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "manifest.json").exists()
    assert main(["query", "user-history", str(tmp_path / "out")]) == 0
    assert main(["quarantine", str(tmp_path / "out"), "--rows"]) == 0


def test_messages_to_a_closed_stream_are_not_among_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with ``exporter query … --json 2>&-``."""
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert main(["export", str(rows), "--account", "A", "--engine", "local", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["query", "user-history", str(tmp_path / "out"), "--user-name", "NOBODY", "--json"]) == 0
    assert capsys.readouterr().out == "[]\n"


def test_progress_still_moves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    with printable.guarded(), Progress().stage("read"):
        pass
    assert "\r\x1b[K" in err.getvalue()


def test_arguments_in_messages_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", f"{tmp_path}/{EVIL}", "--out", str(tmp_path / "out"), "--engine", "local"]) == 2
    assert main(["query", "who-accessed", ".", f"--{EVIL}"]) == 2
    assert main(["query", EVIL, "."]) == 2
    assert main([EVIL]) == 2
    told = capsys.readouterr().err
    assert printable.visible(EVIL) in told
    assert printable.visible_text(told) == told


def test_no_name_makes_a_message_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", f"{tmp_path}/x\nexporter: all is well", "--out", "o", "--engine", "local"]) == 2
    assert [line for line in capsys.readouterr().err.split("\n") if line.startswith("exporter: all")] == []


FORGED = "exporter: all events were refused"


def test_no_name_of_a_row_adds_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in notes and tables of answers, nor in the list of quarantined rows, nor in the summary of an export."""
    name = f'D.S."B\n{FORGED}"'
    thing = {"objectDomain": "Table", "objectId": 1, "objectName": name, "columns": [{"columnName": f"C\n{FORGED}"}]}
    stage = {"objectDomain": "Stage", "objectId": 2, "objectName": "D.S.X", f"new\n{FORGED}": 1}
    row = {**GOOD, "user_name": f"U\n{FORGED}", "direct_objects_accessed": [thing, stage]}
    bad = {**GOOD, "query_id": "bad", "query_start_time": f"x\n{FORGED}"}
    out = tmp_path / f"out\n{FORGED}"
    assert exports.export([exports.ndjson([row, bad], tmp_path / "rows.ndjson")], out) == 0
    assert main(["quarantine", str(out)]) == 0
    asked = ["query", "--graph", str(out)]
    for object_name in ("D.S.NOPE", name, f"D\n{FORGED}"):
        assert main([*asked, "who-accessed", "--param", f"object_name={object_name}"]) == 0
    assert main([*asked, "column-readers", "--param", f"object_name={name}", "--param", "column_name=NOPE"]) == 0
    assert main([*asked, "when-accessed", "--param", f"object_name=D\n{FORGED}", "--param", "since=x"]) == 2
    told = capsys.readouterr()
    lines = (told.out + told.err).splitlines()
    assert FORGED in told.out
    assert FORGED in told.err
    assert [line for line in lines if line.strip().startswith(FORGED)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"No B\n{FORGED}", f"No B\\n{FORGED}"),
        ("No B. There is:\n  Table 7\n  View 8", "No B. There is:\n  Table 7\n  View 8"),
        ("a\tb\x1b[31m", "a\\tb\\x1b[31m"),
    ],
)
def test_a_message_has_further_lines_only_as_a_list(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    messages.warn([text])
    say(text)
    assert capsys.readouterr().err == f"exporter: {shown}\n" * 2


def test_a_terminal_of_another_encoding_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    with printable.guarded():
        print("Größe 🦖")  # noqa: T201 - this is what is tested
    assert raw.getvalue() == b"Gr\\xf6\\xdfe \\U0001f996\n"


def test_json_is_the_same_with_other_letters() -> None:
    text = render(Answer(("a",), [(EVIL,)]), "json")
    assert printable.visible_text(text) == text
    assert json.loads(text) == [{"a": EVIL}]


def test_csv_is_data_for_a_program_and_text_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in ((Terminal(), printable.visible_text(EVIL)), (io.StringIO(), EVIL)):
        monkeypatch.setattr(sys, "stdout", stream)
        with printable.guarded():
            query._write(EVIL, "csv")
        assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+1", "+1"), ("-1.5", "-1.5"), ("-1e-5", "-1e-5"),
        ("-1+1", "'-1+1"), ("-", "'-"), ("\t=1", '"\'\t=1"'), ("\r", '"\'\r"'),
        ("'=1", "''=1"), ("''=1", "'''=1"), ("'quoted'", "'quoted'"), ("a=1", "a=1"),
        ("a;=1", '"a;=1"'), ("a\t=1", '"a\t=1"'),
        ("\uff1d1", "'\uff1d1"), ('=a"b', '"\'=a""b"'), (None, ""),
    ],
)  # fmt: skip
def test_a_cell_of_csv_is_no_formula(cell: str | None, written: str) -> None:
    assert render(Answer(("a",), [(cell,)]), "csv") == f"a\n{written}\n"


def test_reasons_and_places_are_printed_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is told of rows that were set aside, with their text, and of nodes that shapes refuse."""
    bad = [{**GOOD, "query_start_time": EVIL}, {**GOOD, "user_name": None, "query_id": EVIL}]
    source = exports.ndjson([*bad, GOOD], tmp_path / f"{EVIL}.ndjson")
    assert exports.export([source], tmp_path / "out") == 0
    assert main(["quarantine", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert printable.visible_text(told.out + told.err) == told.out + told.err
