"""A fault of the program during a push ends it like every other fault, and no event is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from exporter.backends.fit import Fit
from exporter.backends.http import HttpSender
from exporter.backends.ledger import ENDED, LEFT, SENDING, TAKEN, fingerprint
from exporter.cli import main
from tests.backends.hostile import Hostile, Reply, folder, history, run_id
from tests.backends.pushing import counted, kept, push, texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from exporter.backends.secrecy import BackendAnswer

EVENTS: Final = history(40, jobs=5)
TOKEN: Final = "s3cr3t/T0ken+xyz"
pytestmark = pytest.mark.usefixtures("alone")


class UnexpectedError(Exception):
    """What nobody expects."""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", EVENTS, files=2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """Slow, so that events are on their way when the fault happens."""
    monkeypatch.setenv("OPENLINEAGE_API_KEY", TOKEN)
    monkeypatch.delenv("EXPORTER_DEBUG", raising=False)
    return Hostile(lambda _: Reply(hang=0.02))


def faulty(fault: Callable[[], BaseException]) -> Callable[[HttpSender, bytes], BackendAnswer]:
    """HTTP's way to send, that fails over both events of one run."""
    send = HttpSender.send

    def fails(self: HttpSender, body: bytes) -> BackendAnswer:
        if run_id("q000010") == json.loads(body).get("run", {}).get("runId"):
            raise fault()
        return send(self, body)

    return fails


def lines(where: Path) -> dict[str, str]:
    """Fingerprint -> the last sign that the ledger has for it."""
    (ledger,) = (where / "push").rglob("ledger.txt")
    signs = (line.split() for line in ledger.read_text("ascii").splitlines())
    return {mark: sign for sign, mark in signs if sign != ENDED}


def marks(taken: list[dict[str, object]]) -> set[str]:
    return {fingerprint(event) for event in taken}


@pytest.mark.parametrize("concurrency", ["1", "8"])
def test_a_fault_while_sending_ends_the_push_with_4_and_what_was_delivered_stays_on_record(
    concurrency: str, server: Hostile, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server, monkeypatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        patch.setattr(
            HttpSender, "send", faulty(lambda: UnexpectedError(f"Authorization: Bearer {TOKEN}\nin the second line"))
        )
        assert main(["push", str(events), "--json", "--concurrency", concurrency]) == 4
        said = capsys.readouterr()
        found = lines(events)
        assert {mark for mark, sign in found.items() if sign == TAKEN} == marks(server.taken) != set()
        assert SENDING not in found.values(), "none is on its way any more"
        assert LEFT in found.values()
    assert said.out == ""
    assert said.err.startswith("exporter: a fault of the program: UnexpectedError: (not shown: it repeats a part")
    assert "what was delivered is recorded" in said.err
    for text in (said.err, *(file.read_text("utf-8") for file in (events / "push").rglob("*") if file.is_file())):
        assert TOKEN not in text
        assert "Traceback" not in text
    (summary,) = (events / "push").rglob("summary.json")
    told = json.loads(summary.read_text("utf-8"))
    assert (told["delivered"], told["left"]) == (len(server.taken), len(EVENTS) - len(server.taken))
    assert told["stopped"].startswith("a fault of the program: UnexpectedError: ")
    assert kept(events) == [], "no event is to blame"


def test_the_next_push_sends_the_rest_and_nothing_twice(
    server: Hostile, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server:
        with monkeypatch.context() as patch:
            patch.setenv("OPENLINEAGE_URL", server.url)
            patch.setattr(HttpSender, "send", faulty(UnexpectedError))
            assert main(["push", str(events)]) == 4
        taken = len(server.taken)
        assert push(events, server.url, capsys)[:2] == (
            0,
            counted(already_delivered=taken, delivered=len(EVENTS) - taken),
        )
    assert texts(server.taken) == texts(EVENTS)


def test_a_fault_before_an_event_is_sent(
    server: Hostile, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise UnexpectedError

    monkeypatch.setattr(Fit, "fit", fails)
    with server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events)]) == 4
    assert server.asked == []
    assert "a fault of the program: UnexpectedError" in capsys.readouterr().err


def test_a_fault_where_the_sender_closes_leaves_a_whole_ledger(
    server: Hostile, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: HttpSender) -> None:
        raise UnexpectedError

    monkeypatch.setattr(HttpSender, "close", fails)
    with server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events)]) == 4
    assert set(lines(events).values()) == {TAKEN}
    (summary,) = (events / "push").rglob("summary.json")
    assert json.loads(summary.read_text("utf-8"))["delivered"] == len(EVENTS)


def test_what_ends_a_thread_ends_the_push(server: Hostile, events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that calls ``sys.exit``: the push would wait for ever for that thread's word."""
    monkeypatch.setattr(HttpSender, "send", faulty(SystemExit))
    with server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        with pytest.raises(SystemExit):
            main(["push", str(events)])
    assert {mark for mark, sign in lines(events).items() if sign == TAKEN} == marks(server.taken)


def test_with_its_traceback_where_the_environment_asks_for_it(
    server: Hostile, events: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXPORTER_DEBUG", "1")
    monkeypatch.setattr(HttpSender, "send", faulty(UnexpectedError))
    with server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events)]) == 4
    assert "Traceback" in capsys.readouterr().err
