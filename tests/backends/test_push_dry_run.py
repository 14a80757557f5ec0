"""``exporter push --dry-run``: what would be sent, and to which backend; nothing is sent, connected to or written."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests.backends.hostile import Hostile, Reply, dataset, folder, run
from tests.backends.pushing import settings

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
TOKEN: Final = "s3cr3t-T0ken"
EVENTS: Final = [dataset("S"), *run("q", 1, reads=["S"], writes=["T"]), *run("p", 0)]
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", EVENTS)


def preview(events: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[Json], str]:
    """What a dry run prints as JSON, and what it says; DIR is as before."""
    before = sorted(events.rglob("*"))
    capsys.readouterr()
    assert main(["push", str(events), "--dry-run", "--json", *options]) == 0
    printed = capsys.readouterr()
    assert sorted(events.rglob("*")) == before
    return json.loads(printed.out), printed.out + printed.err


@pytest.mark.parametrize("kind", ["http", "async_http", "composite", "environment", "file"])
def test_the_push_that_follows_does_what_was_said(
    kind: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile() as server:
        http = {"type": "http", "url": server.url, "auth": {"type": "api_key", "apiKey": TOKEN}}
        written = {"type": "file", "log_file_path": "sent.ndjson", "append": True}
        if kind == "environment":
            monkeypatch.setenv("OPENLINEAGE_URL", server.url.replace("//", f"//eve:{TOKEN}@"))
            monkeypatch.setenv("OPENLINEAGE_API_KEY", TOKEN)
            monkeypatch.setenv("OPENLINEAGE_ENDPOINT", f"in/here?token={TOKEN}")
        elif kind == "composite":
            settings(tmp_path, type="composite", transports=[http, written])
        else:
            settings(tmp_path, **(written if kind == "file" else {**http, "type": kind}))
        told, said = preview(events, capsys)
        assert server.asked == []
        assert not list(tmp_path.glob("sent*"))
        assert TOKEN not in said
        assert main(["push", str(events)]) == 0
        printed = capsys.readouterr().out
        pushed = _summaries(events)
    assert {one["backend"] for one in told} == set(pushed)
    assert len(told) == (2 if kind == "composite" else 1)
    for one in told:
        assert one["would_send"] == pushed[one["backend"]]["delivered"] == len(EVENTS)
        assert f"To {one['backend']} (profile any)" in printed
    assert TOKEN not in printed
    again, _ = preview(events, capsys)
    assert {(one["already_delivered"], one["would_send"]) for one in again} == {(len(EVENTS), 0)}


def _summaries(events: Path) -> dict[str, Json]:
    told = [json.loads(path.read_text("utf-8")) for path in (events / "push").rglob("summary.json")]
    return {one["backend"]: one for one in told}


def test_what_a_backend_refused_would_be_sent_again(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refuses = Hostile(lambda asked: Reply(422 if "dataset" in asked.event else 200))
    with refuses as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events), "--profile", "any"]) == 3
        asked = len(server.asked)
        (told,), _ = preview(events, capsys, "--profile", "any")
        assert len(server.asked) == asked
    assert (told["already_delivered"], told["would_send"]) == (len(EVENTS) - 1, 1)


def test_kafka_is_not_connected_to(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(1)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        config = {"bootstrap.servers": address, "sasl.password": TOKEN}
        settings(tmp_path, type="kafka", topic="lineage", config=config)
        (told,), said = preview(events, capsys)
        assert told["backend"] == f"kafka {address}/lineage"
        assert TOKEN not in said
        with pytest.raises(TimeoutError):
            server.accept()


def test_it_says_what_only_an_answer_shows(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Events for Marquez are sent as its own, and only an answer shows that a backend is one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
        assert "if it answers as Marquez does" in preview(events, capsys)[1]
        assert "Marquez" not in preview(events, capsys, "--profile", "datahub")[1]
        assert main(["push", str(events), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "To http http://127.0.0.1:1/api/v1/lineage (profile any)"
    assert lines[-1] == "Nothing was sent: this was a dry run."


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        (None, "no backend is set up"),
        ({"type": "noop"}, "nothing would be sent"),
        ({"type": "http", "url": "ftp://host"}, "http:// or https://"),
    ],
)
def test_settings_that_no_push_can_use(
    transport: Json | None, words: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if transport:
        settings(tmp_path, **transport)
    assert main(["push", str(events), "--dry-run"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "transport",
    [
        {"type": "htp", "url": "http://127.0.0.1:1"},
        {"type": "no.such.Class"},
        {"type": "gcplineage"},
        {"type": "kafka", "config": {}},
    ],
)
def test_settings_that_the_push_refuses_are_refused(
    transport: Json, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, **transport)
    assert main(["push", str(events)]) == 2
    of_push = capsys.readouterr().err
    assert main(["push", str(events), "--dry-run"]) == 2
    assert capsys.readouterr().err == of_push
    assert "settings cannot be used" in of_push
