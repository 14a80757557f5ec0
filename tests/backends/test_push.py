"""The push with servers that accept, refuse, fail, hang and break: which events arrive, are set aside, and are left."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import Counter
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.backends import command, http
from exporter.backends.attempts import TRIES
from exporter.backends.delivery import MOST_SUSPECTS
from exporter.backends.secrecy import AnswerKind
from exporter.cli import main
from tests.backends.hostile import Asked, Hostile, Reply, dataset, folder, history, run_id
from tests.backends.pushing import counted, kept, push, texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUNS: Final = 50
EVENTS: Final = history(RUNS)
ALL: Final = len(EVENTS)
POISON: Final = run_id("q000037")
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", EVENTS, files=3)


# --- all is well ------------------------------------------------------------------------------------------------------


def test_everything_arrives_once_and_a_second_push_sends_nothing(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile() as server:
        assert push(events, server.url, capsys)[:2] == (0, counted(delivered=ALL))
        assert texts(server.taken) == texts(EVENTS)
        assert server.connections <= 8 + 1, "connections are kept open, but for the question what the backend is"
        assert push(events, server.url, capsys)[:2] == (0, counted(already_delivered=ALL))
        assert len(server.asked) == ALL


def test_order_for_each_run_job_and_dataset(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile(lambda asked: Reply(hang=0.02 * (asked.number % 3))) as server:
        push(events, server.url, capsys)
    kinds = ["run" in event for event in server.taken]
    assert kinds == sorted(kinds), "events of datasets first"
    by_job: dict[str, list[tuple[str, bool]]] = {}
    for event in server.taken[kinds.index(True) :]:
        by_job.setdefault(event["job"]["name"], []).append((event["eventTime"], event["eventType"] == "COMPLETE"))
    assert len(by_job) == 10
    assert all(told == sorted(told) for told in by_job.values())


def test_the_ledger_is_each_backends_own(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as one, Hostile() as other:
        push(events, one.url, capsys)
        assert push(events, other.url, capsys)[1] == counted(delivered=ALL)


def test_a_rate_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "few", [dataset(f"T{n}") for n in range(15)])
    with Hostile() as server:
        begun = time.monotonic()
        assert push(where, server.url, capsys, "--rate", "40")[0] == 0
        assert time.monotonic() - begun >= 14 / 40


@pytest.mark.parametrize("line", ["", "[1]", "{}", '{"run": {}}', '{"eventTime": 1', '"text"', "null"])
def test_what_is_no_event_is_named_by_file_and_line(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "bad", EVENTS[:2])
    file = where / "events" / "part-00000.ndjson"
    file.write_text(file.read_text("utf-8") + line + "\n", "utf-8")
    with Hostile() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        code = main(["push", str(where)])
    said = capsys.readouterr()
    assert (code, server.taken == []) == ((2, True) if line else (0, False))
    assert not line or f"{file}, line 3: " in said.err


# --- one event is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 413, 422, 404, 405, 500, 501, 502, 504, 301, 307])
def test_one_run_of_many_is_set_aside_with_the_answer_and_the_others_arrive(
    status: int, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(status, "no\n such\x00 thing " + "x" * 9999) if asked.run == POISON else Reply()

    with Hostile(reply) as server:
        code, counts, _ = push(events, server.url, capsys)
        assert (code, counts) == (3, counted(delivered=ALL - 2, set_aside=2))
        poison = [event for event in EVENTS if "run" in event and event["run"]["runId"] == POISON]
        aside = kept(events)
        assert texts([one["event"] for one in aside]) == texts(poison)
        assert all(one["answer"].startswith(str(status)) and len(one["answer"]) < 600 for one in aside)
        assert status < 400 or r"no\n such\x00 thing" in aside[0]["answer"]
        tries = Counter(asked.run for asked in server.asked)[POISON]
        assert tries == (2 if status in (400, 413, 422, 404, 405, 301, 307) else sum(one["tries"] for one in aside))
        assert tries <= 2 * max(TRIES.values())
        assert texts(server.taken) == texts([event for event in EVENTS if event not in poison])


@pytest.mark.parametrize(
    ("harm", "words"), [(Reply(resets=True), "Connection reset by peer"), (Reply(hang=600.0), "timed out")]
)
def test_one_run_that_breaks_or_hangs_the_backend_is_set_aside(
    harm: Reply, words: str, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "READ", 0.4)  # another event fails only if it gets no answer so long, four times
    with Hostile(lambda asked: harm if asked.run == POISON else Reply()) as server:
        assert push(events, server.url, capsys)[:2] == (3, counted(delivered=ALL - 2, set_aside=2))
    assert all(words in one["answer"] for one in kept(events))


def test_events_that_were_set_aside_are_sent_again_and_what_has_to_follow(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last event about the table that the run wrote is a later run of its job (test_push_overtaken.py)."""
    is_ill = True
    with Hostile(lambda asked: Reply(422) if is_ill and asked.run == POISON else Reply()) as server:
        push(events, server.url, capsys)
        is_ill, before = False, len(server.asked)
        assert push(events, server.url, capsys)[:2] == (0, counted(already_delivered=ALL - 3, delivered=3))
        *again, follower = server.taken[before - 2 :]
        assert [one["run"]["runId"] for one in again] == [POISON, POISON]
        assert follower == next(one for one in EVENTS if one.get("outputs") == again[1]["outputs"]), "newest first"
        assert kept(events) == []


UNRESOLVED: Final = '"unresolvedDatasets": [{"namespace": "snowflake://ORG-ACC", "name": "S7", "reason": "notFound"}]'
"""As OpenMetadata says it since 2026."""


@pytest.mark.parametrize(
    "body",
    [
        f'{{"status": "failure", "message": "No lineage edges created", {UNRESOLVED}}}',
        '{"status": "failure", "unresolvedDatasets": [' + '{"name": "S"}, ' * 5_000 + "]}",
        '{"message": "not kept", "status": "ERROR"}',
        '{"message": "' + "x" * 200_000 + '", "status": "failure"}',
        '[{"status": "failure"}]',
        "\ufeff" + '{"message": "not kept", "status": "failure"}',
    ],
    ids=["short", "long", "another", "long before", "list of one", "byte order mark"],
)
def test_what_a_backend_did_not_take_though_it_answers_200_is_set_aside(
    body: str, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(lambda asked: Reply(200, body) if asked.run == POISON else Reply()) as server:
        assert push(events, server.url, capsys)[:2] == (3, counted(delivered=ALL - 2, set_aside=2))
        assert all(one["answer"].startswith("200 ") for one in kept(events))
        assert len(server.asked) == ALL


def test_an_answer_that_is_longer_than_is_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "few", [dataset("T0"), dataset("T1")])
    body = '{"message": "' + "x" * (5 << 20) + '", "status": "failure"}'
    with Hostile(lambda asked: Reply(200, body) if asked.number == 1 else Reply()) as server:
        code, counts, said = push(where, server.url, capsys)
    assert (code, counts) == (0, counted(delivered=2))
    assert "1 event was sent without some parts, or not taken in full as far as is known" in said
    (left,) = kept(where, "reduced.ndjson")
    assert "longer than is read" in left["left_away"][0]


def test_what_a_backend_took_in_part_is_delivered_and_told(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = f'{{"status": "partial_success", "message": "Created 1 lineage edge(s)", {UNRESOLVED}}}'
    with Hostile(lambda asked: Reply(200, body) if asked.run == POISON else Reply()) as server:
        code, counts, said = push(events, server.url, capsys)
        assert (code, counts) == (0, counted(delivered=ALL))
        assert "2 events were sent without some parts, or not taken in full as far as is known: see reduced" in said
    left = [one["left_away"] for one in kept(events, "reduced.ndjson")]
    assert len(left) == 2
    assert all("partial_success" in text and "S7" in text for (text,) in left)


def test_a_start_that_is_refused_leaves_the_end_as_it_is(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once it is taken, the end has to follow: else a run that is over would be a running one."""

    def reply(asked: Asked) -> Reply:
        return Reply(400) if asked.run == POISON and asked.event["eventType"] == "START" else Reply()

    with Hostile(reply) as server:
        assert push(events, server.url, capsys)[1] == counted(delivered=ALL - 1, set_aside=1)
        before = len(server.asked)
        assert push(events, server.url, capsys)[:2] == (3, counted(already_delivered=ALL - 1, set_aside=1))
        assert [asked.event["eventType"] for asked in server.asked[before:]] == ["START"]


def test_a_start_is_not_sent_after_an_end_that_said_something_else(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That one could be refused, as it is here."""

    def changed(event: Any) -> Any:
        of_poison = "run" in event and event["run"]["runId"] == POISON and event["eventType"] == "COMPLETE"
        return {**event, "eventTime": event["eventTime"].replace("Z", "1Z")} if of_poison else event

    def first(asked: Asked) -> Reply:
        return Reply(400) if asked.run == POISON and asked.event["eventType"] == "START" else Reply()

    def second(asked: Asked) -> Reply:
        return Reply(400) if asked.run == POISON and asked.event["eventType"] == "COMPLETE" else Reply()

    def reply(asked: Asked) -> Reply:
        return replies[-1](asked)

    replies = [first]
    with Hostile(reply) as server:
        assert push(events, server.url, capsys)[1] == counted(delivered=ALL - 1, set_aside=1)
        shutil.rmtree(events / "events")
        folder(events, [changed(event) for event in EVENTS])
        replies.append(second)
        before = len(server.asked)
        assert push(events, server.url, capsys).counts["set_aside"] == 1
        again = [asked.event["eventType"] for asked in server.asked[before:] if asked.run == POISON]
    assert again == ["COMPLETE"]


# --- the backend is ill for a while -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "harm",
    [
        Reply(500),
        Reply(502),
        Reply(503),
        Reply(504),
        Reply(429),
        Reply(429, headers={"Retry-After": "0"}),
        Reply(503, headers={"Retry-After": "0"}),
        Reply(resets=True),
    ],
    ids=["500", "502", "503", "504", "429", "429 later", "503 later", "reset"],
)
def test_what_fails_once_is_tried_again(harm: Reply, events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile(lambda asked: harm if asked.tries == 1 and asked.number % 5 == 0 else Reply()) as server:
        assert push(events, server.url, capsys)[:2] == (0, counted(delivered=ALL))
        assert texts(server.taken) == texts(EVENTS)


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_holds_for_all_requests(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where, asked_at = folder(tmp_path / "few", [dataset(f"T{n}") for n in range(10)]), list[float]()

    def reply(asked: Asked) -> Reply:
        asked_at.append(time.monotonic())
        later = "0.9" if form == "seconds" else formatdate(time.time() + 1.9, usegmt=True)
        return Reply(429, headers={"Retry-After": later}) if asked.number == 1 else Reply()

    with Hostile(reply) as server:
        assert push(where, server.url, capsys, "--concurrency", "1")[:2] == (0, counted(delivered=10))
    assert asked_at[1] - asked_at[0] >= 0.85
    assert asked_at[-1] - asked_at[1] < 0.8, "once is enough"


def test_a_backend_that_takes_few_a_second_gets_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = history(20)
    where, last = folder(tmp_path / "out", few), [0.0]

    def reply(_: Asked) -> Reply:
        now = time.monotonic()
        if now - last[0] < 0.005:
            return Reply(429, headers={"Retry-After": "0"})
        last[0] = now
        return Reply()

    with Hostile(reply) as server:
        assert push(where, server.url, capsys, "--concurrency", "32")[:2] == (0, counted(delivered=len(few)))
        assert len(server.asked) < 4 * len(few), "it goes slower then"  # at full speed it is asked six times for each


# --- the backend as a whole is ill ------------------------------------------------------------------------------------

WHOLE: Final[dict[str, tuple[Reply, Callable[[Any], bool]]]] = {
    "500": (Reply(500), lambda counts: counts["left"] == ALL),
    "404": (Reply(404), lambda counts: counts["left"] == ALL),
    "redirect": (
        Reply(302, headers={"Location": "https://login.example.com/?to=x"}),
        lambda counts: counts["left"] == ALL,
    ),
    "page": (Reply(200, "<!DOCTYPE html><html>"), lambda counts: counts["left"] == ALL),
    "Egeria's 404": (
        Reply(200, '{"class": "VoidResponse", "relatedHTTPCode": 404}'),
        lambda counts: counts["left"] == ALL,
    ),
    "Egeria's 403": (
        Reply(200, '{"class": "VoidResponse", "relatedHTTPCode": 403}'),
        lambda counts: counts["left"] == ALL,
    ),
    "503": (Reply(503), lambda counts: counts["left"] == ALL),
    "429": (Reply(429, headers={"Retry-After": "0"}), lambda counts: counts["left"] == ALL),
    "429 for long": (Reply(429, headers={"Retry-After": "86400"}), lambda counts: counts["left"] == ALL),
    "401": (Reply(401), lambda counts: counts["left"] == ALL),
    "reset": (Reply(resets=True), lambda counts: counts["left"] == ALL),
    "hang": (Reply(hang=600.0), lambda counts: counts["left"] == ALL),
    "400": (Reply(400), lambda counts: counts["set_aside"] == ALL),
}


@pytest.mark.parametrize("ill", WHOLE)
def test_a_backend_that_takes_nothing_ends_the_push_in_bounded_time(
    ill: str, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, is_right = WHOLE[ill]
    monkeypatch.setattr(http, "READ", 0.1)
    with Hostile(lambda _: reply) as server:
        code, counts, said = push(events, server.url, capsys)
        assert code == 3
        assert is_right(counts), counts
        assert len(server.asked) <= TRIES[AnswerKind.ERROR] * (MOST_SUSPECTS + 8), (
            "as many as go at once may come after the last"
        )
        assert ill == "400" or "are left for the next push" in said
    with Hostile() as server:
        assert push(events, server.url, capsys)[:2] == (0, counted(delivered=ALL))


@pytest.mark.parametrize(
    "text",
    [
        '{"relatedHTTPCode": 200}',
        '{"relatedHTTPCode": "no"}',
        '["relatedHTTPCode"]',
        '{"relatedHTTPCode"',
        '{"status": "success", "unresolvedDatasets": []}',
        '{"run": {"status": "failure"}}',
        '{"status": ["failure"]}',
        '"status": "failure"',
        "",
        "ok",
    ],
)
def test_an_answer_of_200_that_says_nothing_else_is_a_delivery(
    text: str, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(lambda _: Reply(200, text)) as server:
        assert push(events, server.url, capsys)[:2] == (0, counted(delivered=ALL))


def test_one_after_the_other_it_ends_too(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile(lambda _: Reply(resets=True)) as server:
        assert push(events, server.url, capsys, "--concurrency", "1")[:2] == (3, counted(left=ALL))


def test_a_backend_that_ends_in_the_middle_keeps_what_it_took(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile(lambda asked: Reply() if asked.number <= 50 else Reply(503)) as server:
        code, counts, said = push(events, server.url, capsys)
        assert (code, counts["delivered"], counts["set_aside"]) == (3, 50, 0)
        assert "503" in said
        assert len(server.taken) == 50
    assert counts["left"] == ALL - 50


def test_no_server_at_all(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as gone:
        pass
    code, counts, said = push(events, gone.url, capsys)
    assert (code, counts) == (3, counted(left=ALL))
    assert "refused" in said


def test_a_response_that_never_ends_is_abandoned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "READ", 0.1)
    where = folder(tmp_path / "few", [dataset(f"T{n}") for n in range(4)])
    with Hostile(lambda _: Reply(trickles=True)) as server:
        assert push(where, server.url, capsys)[:2] == (0, counted(delivered=4))


def test_only_events_that_always_fail_are_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "few", [dataset("T0")])
    with Hostile(lambda _: Reply(500, "ERROR: invalid byte sequence")) as server:
        assert push(where, server.url, capsys)[:2] == (3, counted(set_aside=1))
        assert len(server.asked) == TRIES[AnswerKind.ERROR]
    assert kept(where)[0]["answer"] == "500 ERROR: invalid byte sequence"


# --- words ------------------------------------------------------------------------------------------------------------


def test_no_settings_at_all_is_an_error_that_says_how(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["push", str(events), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "OPENLINEAGE_URL" in said.err
    assert "openlineage.yml" in said.err


def test_no_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(tmp_path)]) == 2
    assert "holds no events" in capsys.readouterr().err


def test_a_summary_for_people(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ill = Hostile(lambda asked: Reply(422, "namespace") if asked.run == POISON else Reply())
    with ill as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events)]) == 3
    printed = capsys.readouterr().out
    target, *lines = printed.splitlines()
    assert target == f"To http {server.url}/api/v1/lineage (profile any)"
    rows = dict(line.rsplit(maxsplit=1) for line in lines[:5])
    assert rows == {
        "  events": str(ALL),
        "  delivered": str(ALL - 2),
        "  already delivered": "0",
        "  set aside": "2",
        "  left": "0",
    }
    assert "422 namespace" in printed
    (summary,) = (events / "push").rglob("summary.json")
    told = json.loads(summary.read_text("utf-8"))
    assert (told["delivered"], told["refusals"]) == (ALL - 2, {"422 namespace": 2})


def test_a_push_that_would_take_hours_says_so_early(
    events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_FIRST_LOOK", 0.0)
    monkeypatch.setattr(command, "_LONG", 0.0)
    monkeypatch.setattr(command, "_GAP", 0.0)
    with Hostile() as server:
        said = push(events, server.url, capsys)[2]
        assert said.count("--runs latest sends about 40 ") == 1
        assert "\x1b" not in said
        assert "--runs latest" not in push(events, server.url, capsys, "--runs", "latest")[2].replace(
            "--runs latest leaves", ""
        )


def test_two_pushes_at_once_do_not_send_twice(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile(lambda _: Reply(hang=0.03)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        codes: list[int] = []
        first = threading.Thread(target=lambda: codes.append(main(["push", str(events)])))
        first.start()
        while not server.asked:
            time.sleep(0.01)
        assert main(["push", str(events)]) == 2
        assert "another push" in capsys.readouterr().err
        first.join()
    assert codes == [0]
