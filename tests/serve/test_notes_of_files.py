"""Notes on an answer that is loaded as a file: in a header, as the command prints them and the picture shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import pytest

from exporter import cli
from exporter.serve import server
from exporter.serve.tables import note as note_on_page
from exporter.serve.tables import notes_header
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

    from flask.testing import FlaskClient
    from werkzeug.test import TestResponse

    from exporter.serve.site import Site

HEADER: Final = "Exporter-Notes"
MOMENT: Final = {"since": "2026-09-30T07:00:00Z", "until": "2026-09-30T07:00:01Z"}
"""When no query of the example ran."""


@pytest.fixture(scope="module")
def client(month: Site) -> FlaskClient:
    return server.make(month, "127.0.0.1").test_client()


def _notes(answer: TestResponse) -> list[str]:
    assert answer.status_code == 200
    header = answer.headers[HEADER]
    assert header.isascii()
    assert header.isprintable()
    notes: list[str] = json.loads(header)
    return notes


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize(
    ("question", "params", "said"),
    [
        ("who-accessed", {"object_name": "NOPE"}, "There is no object NOPE"),
        ("who-accessed", {"object_name": "RAW.CRM.CUSTOMERS", "since": "2027-01-01"}, "The record covers 2026-09-01"),
        ("user-history", {"user_name": "ZO\u00cb"}, "There is no user ZO\u00cb"),
        ("joins", MOMENT, "No row from 2026-09-30T07:00:00Z to 2026-09-30T07:00:01Z has"),
        ("unmasked-reads", {}, "cut by Snowflake"),
    ],
)
def test_a_file_has_the_notes_of_the_command(
    question: str, params: dict[str, str], said: str, kind: str,
    client: FlaskClient, month_graph: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """But for the sentence that the command has below every answer without rows, and each page in its last line."""
    answer = client.get(f"/ask/{question}.{kind}?{urlencode({'ask': '1', **params})}")
    given = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    assert cli.main(["query", question, str(month_graph), *given, "--format", kind]) == 0
    printed = capsys.readouterr()
    assert answer.text == printed.out
    notes = [line for line in printed.err.splitlines() if not line.startswith("Snowflake does not record everything")]
    assert _notes(answer) == notes
    assert any(said in note for note in notes)


def test_a_file_of_an_export_that_left_rows_out_says_so(client: FlaskClient, month_graph: Path) -> None:
    """Also beside rows."""
    path = "/ask/former-names.csv?object_name=RAW.CRM.CUSTOMERS"
    assert HEADER not in client.get(path).headers
    manifest = month_graph / "manifest.json"
    before = manifest.read_text("utf-8")
    told = json.loads(before)
    told["settings"]["since"] = "2026-09-01"
    try:
        manifest.write_text(json.dumps(told), "utf-8")
        with sited(month_graph) as site:
            (note,) = _notes(server.make(site, "127.0.0.1").test_client().get(path))
    finally:
        manifest.write_text(before, "utf-8")
    assert note == "The settings of this export leave out rows or objects: since 2026-09-01. Answers lack them."


@pytest.mark.parametrize("narrowed", ["day=2020-01-01", "since=2027-01-01"])
def test_a_lineage_without_lines_says_why(narrowed: str, client: FlaskClient) -> None:
    path = f"lineage.csv?id=table/1029&{narrowed}"
    answer = client.get(f"/lineage/{path}")
    assert len(answer.text.splitlines()) == 1
    page = client.get(f"/lineage/?id=table/1029&{narrowed}").text
    assert narrowed.partition("=")[2] in answer.headers[HEADER]
    with client.application.test_request_context():
        assert all(str(note_on_page(note)) in page for note in _notes(answer))
    whole = client.get("/lineage/lineage.csv?id=table/1029")
    assert narrowed.partition("=")[2] not in whole.headers.get(HEADER, "")


def test_notes_that_are_too_long_are_counted() -> None:
    """Each character of another script takes six of the header."""
    long, short = "\u00e4" * 400, 'no "x"\r\n\x7f'
    (header,) = notes_header([short, long, long + "1", short]).values()
    assert json.loads(header) == [
        short, long, "1 more note is too long for a header: the page with this answer has all of them.",
    ]  # fmt: skip
    assert header.isascii()
    assert header.isprintable()
    assert len(header) < 3_000
    assert json.loads(notes_header([long * 2, short])[HEADER]) == [
        "2 more notes are too long for a header: the page with this answer has all of them."
    ]
    assert notes_header([]) == {}
