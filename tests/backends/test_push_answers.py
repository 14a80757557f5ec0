"""Answers in several parts, cut off, or with values that programs rarely meet: none is taken for another."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.backends.hostile import Hostile, Reply, folder, history, run
from tests.backends.listening import Listener
from tests.backends.pushing import Json, counted, kept, push

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("alone")
TAKEN: Final = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
REFUSED: Final = b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno"


class Speaker(Listener):
    """A server that keeps connections open, and says so many texts for each event, with a pause between two; each
    connection ends after a text that is no whole answer. ``events``: those that it got.
    """

    def __init__(self, texts: Callable[[Json, int], Sequence[bytes]], pause: float = 0.0) -> None:
        super().__init__()
        self.events: list[Json] = []
        self._texts, self._pause, self._lock = texts, pause, threading.Lock()

    def serve(self, client: socket.socket) -> None:
        with client.makefile("rb") as file:
            while file.readline():
                size = 0
                while (header := file.readline()) != b"\r\n":
                    name, _, value = header.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                event = json.loads(file.read(size)) if size else {}
                with self._lock:
                    self.events.append(event)
                    texts = self._texts(event, self.events.count(event))
                for text in texts:
                    time.sleep(self._pause)
                    client.sendall(text)
                if not text.endswith((b"\r\n\r\n", b"no")):
                    return


INTERIM: Final = {
    "102": [b"HTTP/1.1 102 Processing\r\n\r\n"],
    "103": [b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"],
    "several": [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 P\r\n\r\n", b"HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n"],
}


@pytest.mark.parametrize("how", INTERIM)
def test_an_answer_that_comes_before_the_final_one_is_none(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RFC 9110, 15.2. Each event has the final answer to itself: every COMPLETE is refused here, and no other."""
    events = history(10)
    ends = [event for event in events if event.get("eventType") == "COMPLETE"]

    def texts(event: Json, _: int) -> list[bytes]:
        return [*INTERIM[how], REFUSED if event.get("eventType") == "COMPLETE" else TAKEN]

    where = folder(tmp_path / "out", events)
    with Speaker(texts, pause=0.02) as server:
        code, counts, _ = push(where, server.url, capsys)
    assert (code, counts) == (3, counted(delivered=len(events) - len(ends), set_aside=len(ends)))
    aside = kept(where)
    assert {record["answer"] for record in aside} == {"400 no"}
    assert {record["event"]["eventType"] for record in aside} == {"COMPLETE"}


@pytest.mark.parametrize("text", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_answers_before_a_final_one_that_never_comes_have_an_end(
    text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", run("q", 0, writes=["T"])[1:])
    begun = time.monotonic()

    def texts(_: Json, __: int) -> list[bytes]:
        return [text * 1_000] * 3_000

    with Speaker(texts) as server:
        code, counts, _ = push(where, server.url, capsys, "--patience", "1")
    assert time.monotonic() - begun < 30
    assert (code, counts) == (3, counted(left=1))


CUT: Final = [b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nX: 1\r\n"]


@pytest.mark.parametrize("cut", [*CUT, b"HTTP/1.1 103 Early Hints\r\n\r\n" + CUT[0]])
def test_an_answer_that_breaks_off_before_its_body_is_a_broken_connection(
    cut: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/openlineage.md: broken connections are retried."""
    where = folder(tmp_path / "out", run("q", 0, writes=["T"])[1:])
    with Speaker(lambda _, tries: [cut if tries < 3 else TAKEN]) as server:
        assert push(where, server.url, capsys)[:2] == (0, counted(delivered=1))
    assert len([event for event in server.events if event]) == 3


@pytest.mark.parametrize(
    ("body", "delivered"),
    [
        ('{"id": %s, "status": "failure"}' % ("9" * 6_000), 0),
        ('{"relatedHTTPCode": 404, "id": %s}' % ("9" * 6_000), 0),
        (f'{{"a": {"[" * 5_000}0{"]" * 5_000}, "status": "failure"}}', 1),
        ('{"id": "status" "failure"}', 1),
    ],
    ids=["digits", "digits of Egeria", "depth", "no JSON"],
)
def test_what_an_answer_says_is_read_or_said_to_be_unread(
    body: str, delivered: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", [*run("q", 0, writes=["T"])[1:], *run("r", 1, writes=["U"])[1:]])

    def reply(asked: Json) -> str:
        return body if asked["job"]["name"].startswith("write T") else "{}"

    with Hostile(lambda asked: Reply(200, reply(asked.event))) as server:
        code, counts, _ = push(where, server.url, capsys)
    assert counts == counted(delivered=1 + delivered, set_aside=1 - delivered)
    assert code == (0 if delivered else 3)
    assert len(kept(where, "reduced.ndjson")) == delivered
