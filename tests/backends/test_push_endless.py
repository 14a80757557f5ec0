"""Backends whose answers never end: to a question of the API, in the headers, in a chunk."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from openlineage.client.transport.http import HttpConfig

from exporter.backends.http import HttpSender
from exporter.backends.secrecy import AnswerKind, Secrets
from tests.backends.hostile import folder, history
from tests.backends.listening import Listener
from tests.backends.pushing import counted, push

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("alone")
PATIENCE: Final = 1.0
ENDS: Final = 4 * PATIENCE
"""Seconds in which one answer is given up: the connection, the question and the answer have the patience each."""
MEMORY: Final = 1 << 30
"""Bytes that a process may take beyond what it has."""
GIFT: Final = b"y" * (1 << 20)
ENDLESS: Final = {
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
    "body without a length": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"x"),
    "headers": (b"HTTP/1.1 200 OK\r\nX-A: ", b"b"),
    "size of a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    "huge body": (b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", GIFT),
    "huge error": (b"HTTP/1.1 500 No\r\nContent-Length: 10000000000\r\n\r\n", GIFT),
}
"""How an answer begins, and how it goes on: a byte after the other, or as fast as it can."""


class Endless(Listener):
    """A server that answers every GET so, and takes every event; with ``of_events``, answers them so, too."""

    def __init__(self, how: str, *, of_events: bool = False) -> None:
        super().__init__()
        self._begin, self._more = ENDLESS[how]
        self._of_events = of_events

    def serve(self, client: socket.socket) -> None:
        with client.makefile("rb") as file:
            while line := file.readline():
                size = 0
                while (header := file.readline()) not in (b"\r\n", b""):
                    name, _, value = header.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                file.read(size)
                if line.startswith(b"POST") and not self._of_events:
                    client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
                    continue
                client.sendall(self._begin)
                until = time.monotonic() + 2 * ENDS  # so that the test fails and does not hang
                while not self.ended.is_set() and time.monotonic() < until:
                    client.sendall(self._more)
                    if self._more is not GIFT:
                        self.ended.wait(PATIENCE / 5)
                return


@pytest.fixture(autouse=True)
def _no_more_memory() -> Iterator[None]:
    """An endless answer ends the test, and not the machine."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    former = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, former[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, former)


def sender(url: str) -> HttpSender:
    return HttpSender(url, HttpConfig(url=url), None, 1, Secrets.of({}, {}), PATIENCE)


@pytest.mark.parametrize("how", ENDLESS)
def test_an_answer_of_the_api_without_an_end_is_not_waited_for(how: str) -> None:
    """docs/interface.md: no answer is waited for longer than the patience, and one second more for each 50 kB."""
    begun = time.monotonic()
    with Endless(how) as server:
        answer, document = sender(server.url).read(["namespaces"], {}, "")
    assert time.monotonic() - begun < ENDS
    assert document == {}
    assert answer.kind is (AnswerKind.ERROR if how.startswith("huge") else AnswerKind.SILENT)


@pytest.mark.parametrize("how", ENDLESS)
def test_an_answer_to_an_event_without_an_end_is_not_waited_for(how: str) -> None:
    begun = time.monotonic()
    with Endless(how, of_events=True) as server:
        answer = sender(server.url).send(b"{}")
    assert time.monotonic() - begun < ENDS
    if how == "headers":
        assert answer.kind is AnswerKind.SILENT
    else:  # the status counts
        assert answer.kind is (AnswerKind.ERROR if how == "huge error" else AnswerKind.TAKEN)


FAILURE: Final = '{"status": "failure", "message": "no table"}'
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def answered(*answers: bytes) -> list[AnswerKind]:
    """What became of events, the connection of each of which ends after such an answer."""

    def answer(listener: socket.socket) -> None:
        for text in answers:
            client, _ = listener.accept()
            with client:
                client.recv(1 << 16)
                client.sendall(text)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,), daemon=True)
        thread.start()
        to = sender(f"http://127.0.0.1:{listener.getsockname()[1]}")
        kinds = [to.send(b"{}").kind for _ in answers]
        thread.join(ENDS)
    return kinds


@pytest.mark.parametrize(
    "cut",
    [
        b'Content-Length: 45\r\n\r\n{"sta',
        b"Content-Length: 45\r\n\r\n",
        b'Transfer-Encoding: chunked\r\n\r\n20\r\n{"sta',
        b"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n",
    ],
    ids=["length", "nothing of it", "within a chunk", "between chunks"],
)
def test_an_answer_that_breaks_off_is_a_broken_connection(cut: bytes) -> None:
    """docs/openlineage.md: broken connections are retried. What the answer says of the event has not arrived."""
    whole = b"Content-Length: 2\r\n\r\n{}"
    assert answered(OK + cut, OK + whole) == [AnswerKind.SILENT, AnswerKind.TAKEN]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_what_an_answer_says_is_read_in_any_encoding_of_json(encoding: str) -> None:
    body = FAILURE.encode(encoding)
    assert answered(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body) == [AnswerKind.REFUSED]


@pytest.mark.parametrize("how", ["body", "headers", "huge body", "huge error"])
def test_a_push_does_not_wait_for_what_a_backend_is(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It sends nothing until it knows, unless it is told."""
    where = folder(tmp_path / "out", history(5))
    begun = time.monotonic()
    with Endless(how) as server:
        code, counts, said = push(where, server.url, capsys, "--patience", str(PATIENCE))
        assert time.monotonic() - begun < 4 * ENDS
        is_known = how == "huge body"  # no JSON: it is no Marquez
        events = len(history(5))
        assert (code, counts) == ((0, counted(delivered=events)) if is_known else (3, counted(left=events)))
        assert ("it does not answer what it is" in said) == (not is_known)
        assert push(where, server.url, capsys, "--profile", "any").code == 0


def test_a_large_answer_that_comes_is_read() -> None:
    """It gets the time that it needs: a second for each 50 kB."""
    names = json.dumps({"namespaces": [f"name {number}" for number in range(20_000)]}).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(names)

    def slowly(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            client.recv(1 << 16)
            client.sendall(answer)
            for start in range(0, len(names), 50_000):
                time.sleep(PATIENCE / 3)
                client.sendall(names[start : start + 50_000])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=slowly, args=(listener,), daemon=True).start()
        found, document = sender(f"http://127.0.0.1:{listener.getsockname()[1]}").read(["namespaces"], {}, "")
    assert found.kind is AnswerKind.TAKEN
    assert len(document["namespaces"]) == 20_000
