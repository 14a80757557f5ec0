"""Backends that are started again, forbid everything, are Marquez without saying so, or cannot hold a name."""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from openlineage.client.transport.http import HttpConfig

from exporter.backends.connections import READ
from exporter.backends.http import HttpSender
from exporter.backends.secrecy import AnswerKind, Secrets
from exporter.cli import main
from tests.backends.hostile import Asked, Hostile, Reply, dataset, folder, history, run, run_id
from tests.backends.pushing import counted, kept, push
from tests.stores.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("alone")
EVENTS: Final = history(20)
LISTED: Final = {"/api/v1/namespaces": json.dumps({"namespaces": [{"name": "default", "ownerName": "anonymous"}]})}
BROKEN_LIST: Final = {"/api/v1/namespaces/default": json.dumps({"name": "default", "ownerName": "anonymous"})}
"""What a Marquez tells that was sent a namespace that it refuses."""


@pytest.mark.parametrize("reply", [Reply(resets=True), Reply(502), Reply(503)])
def test_events_are_sent_again_until_a_backend_is_back(
    reply: Reply, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A push used to give up after four tries without an answer, which took four seconds."""
    where = folder(tmp_path / "out", EVENTS[:1])
    with Hostile(lambda asked: reply if asked.tries <= 5 else Reply()) as server:
        code, counts, said = push(where, server.url, capsys, "--patience", "60")
    assert (code, counts) == (0, counted(delivered=1))
    assert said.count("does not answer") == 1
    assert "trying again for 1 min (--patience)" in said


def test_a_backend_that_answers_now_and_then_is_told_of_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", EVENTS[:6])
    with Hostile(lambda asked: Reply(resets=True) if asked.tries == 1 else Reply()) as server:
        code, counts, said = push(where, server.url, capsys, "--patience", "60")
    assert (code, counts) == (0, counted(delivered=6))
    assert said.count("does not answer") == 1


def test_patience_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(lambda _: Reply(resets=True)) as server:
        code, counts, _ = push(where, server.url, capsys, "--patience", "1")
    assert (code, counts) == (3, counted(left=len(EVENTS)))
    assert kept(where) == []


def test_a_backend_that_always_cuts_its_answers_is_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS)
    begun = time.monotonic()
    with Hostile(lambda _: Reply(200, '{"sta', cuts=True)) as server:
        code, counts, said = push(where, server.url, capsys, "--patience", "1")
    assert (code, counts) == (3, counted(left=len(EVENTS)))
    assert time.monotonic() - begun < 20
    assert "did not accept all events: 200, and the connection broke off within the answer" in said
    with Hostile(lambda asked: Reply(200, '{"sta', cuts=True) if asked.tries == 1 else Reply()) as server:
        assert push(where, server.url, capsys)[:2] == (0, counted(delivered=len(EVENTS)))


def test_a_slow_answer_is_waited_for() -> None:
    """A Marquez took 12 seconds for one event."""
    assert READ > 12


@pytest.mark.parametrize(("patience", "waits"), [(0.2, 0.2), (2, 2), (60, READ), (0, READ)])
def test_no_answer_is_waited_for_longer_than_the_patience(patience: float, waits: float) -> None:
    """A backend that accepts the connection and never answers."""
    url = "http://127.0.0.1:1/"
    sender = HttpSender(url, HttpConfig(url=url), None, 1, Secrets.of({}, {}), patience)
    assert sender._limit(0).read_timeout == waits
    own = HttpSender(url, HttpConfig(url=url), 7.0, 1, Secrets.of({}, {}), patience)
    assert own._limit(0).read_timeout == 7


def test_a_backend_that_is_silent_is_no_longer_waited_for() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        answer = HttpSender(url, HttpConfig(url=url), None, 1, Secrets.of({}, {}), 0.2).send(b"{}")
    assert answer.kind is AnswerKind.SILENT
    assert "read timeout=0.2" in answer.text


def test_a_backend_that_forbids_everything_ends_the_push_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", EVENTS)

    def forbid(_: Asked) -> Reply:
        time.sleep(0.02)  # as over a network: here both ends share a processor, and answers come before they are judged
        return Reply(403, "no such permission")

    with Hostile(forbid) as server:
        code, counts, said = push(where, server.url, capsys, "--concurrency", "1")
        assert (code, counts) == (3, counted(left=len(EVENTS)))
        assert len(server.asked) < 10
    assert "403 no such permission" in said
    assert kept(where) == []


def test_one_event_that_is_forbidden_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(lambda asked: Reply(403 if asked.run == run_id("q000007") else 201)) as server:
        code, counts, _ = push(where, server.url, capsys, "--concurrency", "1")
    assert (code, counts) == (3, counted(delivered=len(EVENTS) - 2, set_aside=2))


@pytest.mark.parametrize("address", ["htp://h:5000", "ftp://h/x", "file:///x", "localhost:5000", "//h:5000"])
def test_an_address_that_is_no_http_is_refused(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = folder(tmp_path / "out", EVENTS[:1])
    monkeypatch.setenv("OPENLINEAGE_URL", address)
    assert main(["push", str(where)]) == 2
    assert "It has to begin with http:// or https://" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/api/v1/lineage", "/api/v1/lineage/", "/api/v1", "/api/v1/"])
def test_an_address_with_the_path_that_the_client_adds_is_refused(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = folder(tmp_path / "out", EVENTS[:1])
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{free_port()}{path}")
    assert main(["push", str(where), "--patience", "0"]) == 2
    said = capsys.readouterr().err
    assert "the client adds the path api/v1/lineage, which the address has already" in said
    assert "such as http://host:5000" in said


# --- Marquez ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [LISTED, BROKEN_LIST])
@pytest.mark.parametrize(("away", "status"), [(0, 503), (2, 503), (2, 429)])
def test_marquez_is_recognised_by_its_answer(
    told: dict[str, str], away: int, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also while it is started again, or asks to wait: its first events decide which jobs its runs have."""
    where = folder(tmp_path / "out", run("q", 1, reads=["S"], writes=["T"], parent="p"))
    with Hostile(told=told, away=away, away_as=status) as server:
        said = push(where, server.url, capsys, "--patience", "60").said
        facets = [event["run"]["facets"].keys() for event in server.taken]
    assert "answers as Marquez does: profile marquez" in said
    assert all("parent" not in one and "accessHistory_parent" in one for one in facets)
    assert said.count("does not answer what it is; asking again for 1 min") == bool(away)


@pytest.mark.parametrize("status", [429, 503])
def test_it_is_not_asked_again_before_it_wants_to_be(
    status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Retry-After (RFC 9110, section 10.2.3)."""
    where = folder(tmp_path / "out", EVENTS[:1])
    with Hostile(told=LISTED, away=1, away_as=status, away_for="2") as server:
        assert "profile marquez" in push(where, server.url, capsys, "--patience", "60").said
        first, second = server.got[:2]
    assert second - first >= 2


def test_one_whose_database_is_away_is_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Marquez answers 500 to both questions then, and takes events some seconds later."""
    where = folder(tmp_path / "out", run("q", 1, reads=["S"], writes=["T"], parent="p"))
    with Hostile(told=LISTED, away=2, away_as=500) as server:
        assert "profile marquez" in push(where, server.url, capsys, "--patience", "60").said
        assert all("parent" not in event["run"]["facets"] for event in server.taken)


@pytest.mark.parametrize(("status", "away_for"), [(500, ""), (503, ""), (429, ""), (429, "3600")])
def test_one_that_never_says_what_it_is_gets_nothing(
    status: int, away_for: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could be a Marquez that takes events in the next moment, and would name jobs by their parents for good."""
    events = run("q", 1, reads=["S"], writes=["T"], parent="p")
    where = folder(tmp_path / "out", events)
    with Hostile(away=99, away_as=status, away_for=away_for) as server:
        code, counts, said = push(where, server.url, capsys, "--patience", "0.2")
        assert (code, counts) == (3, counted(left=len(events)))
        assert server.asked == []
        assert f"it does not answer what it is ({status}" in said
        assert "--profile NAME sends them without asking; 2 are left for the next push" in said
        assert kept(where) == []
        assert push(where, server.url, capsys, "--profile", "any")[:2] == (0, counted(delivered=len(events)))


def test_one_that_has_no_get_is_no_marquez(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """501: the method is not implemented, for good (RFC 9110, 15.6.2)."""
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(away=2, away_as=501) as server:
        assert push(where, server.url, capsys)[:2] == (0, counted(delivered=len(EVENTS)))


@pytest.mark.parametrize("away_for", ["2", ""])
def test_one_that_does_not_tell_its_only_namespace_yet_is_asked_again(
    away_for: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It cannot list its namespaces, and then asks to wait: that does not say that it is no Marquez."""
    where = folder(tmp_path / "out", EVENTS[:1])
    with Hostile(told=BROKEN_LIST, away=2, away_as=(404, 429), away_for=away_for) as server:
        assert "profile marquez" in push(where, server.url, capsys, "--patience", "60").said


def test_one_that_wants_to_wait_for_long_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", EVENTS[:1])
    begun = time.monotonic()
    with Hostile(lambda _: Reply(429, headers={"Retry-After": "3600"}), away=9, away_as=429, away_for="3600") as server:
        assert push(where, server.url, capsys, "--patience", "60")[:2] == (3, counted(left=1))
        assert len(server.got) == 1
    assert time.monotonic() - begun < 30


def test_the_patience_is_not_used_up_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once to learn what the backend is, and then again for each event."""
    where = folder(tmp_path / "out", EVENTS[:1])
    monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{free_port()}")
    assert main(["push", str(where), "--patience", "0.1"]) == 3
    said = capsys.readouterr().err
    assert said.count("asking again for") == 1
    assert "trying again for" not in said


def test_a_folder_that_could_not_be_read_is_pushed_when_it_is_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by the same program, as a script does: what failed holds the folder no longer."""
    where = folder(tmp_path / "out", EVENTS[:1])
    (file,) = (where / "events").glob("*.ndjson")
    events = file.read_bytes()
    with Hostile() as server:
        file.write_bytes(events[:-9])
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(where)]) == 2
        file.write_bytes(events)
        code, counts, _ = push(where, server.url, capsys)
    assert (code, counts) == (0, counted(delivered=1))


@pytest.mark.parametrize("listed", [None, "{}", "[]", '{"namespaces": 1}', '{"name": "other"}', "<html>", "\x00"])
def test_another_backend_is_not(listed: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", run("q", 1, reads=["S"], writes=["T"], parent="p"))
    paths = ("/api/v1/namespaces", "/api/v1/namespaces/default")
    with Hostile(told={path: listed for path in paths if listed is not None}) as server:
        assert "Marquez" not in push(where, server.url, capsys).said
        assert all("parent" in event["run"]["facets"] for event in server.taken)


def test_a_profile_that_is_given_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", run("q", 1, reads=["S"], writes=["T"], parent="p"))
    with Hostile(told=LISTED) as server:
        assert "Marquez" not in push(where, server.url, capsys, "--profile", "any").said
        assert all("parent" in event["run"]["facets"] for event in server.taken)


BROKEN: Final = ("\n", "\r", "\t", "\x00", "\x1f", "\x7f", "\x85", "\u2028")


@pytest.mark.parametrize("mark", BROKEN)
def test_a_name_that_breaks_the_pages_of_marquez_is_left_out_with_a_reason(
    mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = f"D.S.{mark}BAD"
    whole = run("q", 1, reads=[bad, "D.S.GOOD"], writes=["D.S.T", f"D.S.T{mark}"], job=f"write{mark}T")
    where = folder(tmp_path / "out", [*whole, dataset(bad), dataset("D.S.GOOD", ["A", f"B{mark}C"])])
    with Hostile() as server:
        code, counts, said = push(where, server.url, capsys, "--profile", "marquez")
        assert (code, counts) == (0, counted(delivered=3)), kept(where)
        assert [name for name in _names(server.taken) if mark in name] == []
        assert {"D.S.GOOD", "D.S.T", "A"} <= set(_names(server.taken))
    assert "events of datasets that the backend cannot hold" in said
    reasons = [reason for one in kept(where, "reduced.ndjson") for reason in one["left_away"]]
    assert any(reason.startswith("the dataset ") for reason in reasons)
    assert any(reason.startswith("the column ") for reason in reasons)


def _names(thing: Any) -> list[str]:
    """Every text in events that names something."""
    if isinstance(thing, dict):
        own = [one for key, one in thing.items() if key in {"name", "field"}] + list(thing.get("fields") or ())
        below = [name for one in thing.values() for name in _names(one)]
        return [one for one in (*own, *below) if isinstance(one, str)]
    return [name for one in thing for name in _names(one)] if isinstance(thing, list) else []
