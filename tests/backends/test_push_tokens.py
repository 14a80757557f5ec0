"""Tokens from a token endpoint: what is asked for, where the key goes, and answers that are none."""

from __future__ import annotations

import base64
import json
import socket
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import pytest

from tests.backends.hostile import Asked, Hostile, Reply, folder, run
from tests.backends.listening import Listener
from tests.backends.pushing import counted, kept, push, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("alone")
KEY: Final = "k3y-of-9b27f4e1"
TOKEN: Final = "t0ken-5d81c0aa7"
EVENTS: Final = [event for n in range(3) for event in run(f"q{n}", n, reads=["S"], writes=[f"T{n}"])]
JWT: Final = {"type": "jwt", "apiKey": KEY}
OAUTH2: Final = {"type": "oauth2", "clientId": "me", "clientSecret": KEY}
POST: Final = {**OAUTH2, "clientAuthMethod": "client_secret_post", "scope": "a b"}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", EVENTS)


class Endpoint(Listener):
    """A token endpoint: what it was asked, each request as text, and ``answer`` to each: bytes, a byte at a time after
    the first if it ``drips``.
    """

    def __init__(self, answer: Callable[[int], bytes], *, more: bytes = b"", drips: bool = False) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._answer, self._more, self._drips = answer, more, drips

    def serve(self, client: socket.socket) -> None:
        text = b""
        while KEY.encode() not in text and b"client_credentials" not in text:
            text += client.recv(1 << 16)
        self.asked.append(text.decode())
        client.sendall(self._answer(len(self.asked)))
        while self._more and not self.ended.wait(0.1 if self._drips else 0):
            client.sendall(self._more)


def reply(status: int = 200, body: Any = None, headers: str = "") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\n{headers}Connection: close\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


@pytest.fixture
def backend() -> Iterator[Hostile]:
    """It takes the events that come with the token."""

    def answer(asked: Asked) -> Reply:
        return Reply(201 if asked.headers.get("Authorization") == f"Bearer {TOKEN}" else 400)

    with Hostile(answer) as server:
        yield server


GIVEN: Final = [
    (JWT, {"token": TOKEN, "expires_in": 3600}),
    (JWT, {"Access_Token": TOKEN, "expiresIn": 3600}),
    (OAUTH2, {"access_token": TOKEN, "expires_in": "3600"}),
    (OAUTH2, {"access_token": TOKEN, "expires_in": 60}),  # less than the time before the end at which one is renewed
    ({**POST, "tokenFields": ["bearer"], "expiresInField": "ends"}, {"bearer": TOKEN, "ends": 3600}),
]


@pytest.mark.parametrize(("auth", "body"), GIVEN)
def test_a_token_is_asked_for_once_and_sent_with_each_event(
    auth: dict[str, Any],
    body: dict[str, Any],
    backend: Hostile,
    events: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """RFC 6749, 4.4 and 2.3.1, and the client's documentation of ``jwt``."""
    with Endpoint(lambda _: reply(body=body)) as tokens:
        settings(tmp_path, type="http", url=backend.url, auth={**auth, "tokenEndpoint": f"{tokens.url}/token"})
        assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    (asked,) = tokens.asked
    head, _, form = asked.partition("\r\n\r\n")
    assert head.startswith("POST /token HTTP/1.1\r\n")
    assert "application/x-www-form-urlencoded" in head
    fields = {name: value for name, (value,) in parse_qs(form).items()}
    basic = f"Basic {base64.b64encode(f'me:{KEY}'.encode()).decode()}"
    assert (basic in head) == (auth is OAUTH2)
    if auth["type"] == "jwt":
        kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        assert fields == {"grant_type": kind, "response_type": "token", "apikey": KEY}
    elif auth is OAUTH2:
        assert fields == {"grant_type": "client_credentials"}
    else:
        own = {"client_id": "me", "client_secret": KEY, "scope": "a b"}
        assert fields == {"grant_type": "client_credentials", **own}


@pytest.mark.parametrize("concurrency", ["1", "8"])
def test_a_token_that_ends_before_its_time_is_asked_for_again(
    concurrency: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was revoked, or the clocks differ: after the third event only another one is good."""
    taken: list[str] = []

    def answer(asked: Asked) -> Reply:
        is_good = asked.headers.get("Authorization") == f"Bearer {TOKEN}-{1 if len(taken) < 3 else 2}"
        taken.extend([TOKEN] if is_good else ())
        return Reply(201 if is_good else 401)

    body = {"expires_in": 3600}
    with Hostile(answer) as server, Endpoint(lambda n: reply(body={**body, "token": f"{TOKEN}-{n}"})) as tokens:
        settings(tmp_path, type="http", url=server.url, auth={**JWT, "tokenEndpoint": tokens.url})
        told = push(events, None, capsys, "--concurrency", concurrency)
    assert told[:2] == (0, counted(delivered=6))
    assert len(tokens.asked) == 2


def test_a_token_that_was_never_good_ends_the_push(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        Hostile(lambda _: Reply(401)) as server,
        Endpoint(lambda n: reply(body={"expires_in": 3600, "token": f"{TOKEN}-{n}"})) as tokens,
    ):
        settings(tmp_path, type="http", url=server.url, auth={**JWT, "tokenEndpoint": tokens.url})
        assert push(events, None, capsys, "--concurrency", "1")[:2] == (3, counted(left=6))
    assert len(tokens.asked) == 1


@pytest.mark.parametrize(
    ("where", "auth", "status"),
    [
        *(("backend", auth, status) for auth in (JWT, OAUTH2, POST) for status in (302, 307, 308)),
        *((where, JWT, 307) for where in ("composite", "transform", "async")),
    ],
)
def test_no_redirect_is_followed_with_a_key(
    where: str,
    auth: dict[str, Any],
    status: int,
    backend: Hostile,
    events: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """docs/openlineage.md: redirects are not followed. The key would go to whom the endpoint names."""
    with Endpoint(lambda _: reply(body={"token": TOKEN})) as thief:
        to = f"Location: {thief.url}/steal?key=1\r\n"
        with Endpoint(lambda _: reply(status, headers=to)) as tokens:
            kind = "async_http" if where == "async" else "http"
            http = {"type": kind, "url": backend.url, "auth": {**auth, "tokenEndpoint": tokens.url}}
            composite = {"type": "composite", "continue_on_success": False, "transports": [http]}
            of_transform = "openlineage.client.transport.transform.JobNamespaceReplaceTransformer"
            properties = {"new_job_namespace": "other"}
            transform = {"type": "transform", "transport": http, "transformer_class": of_transform}
            transform["transformer_properties"] = properties
            chosen = {"backend": http, "transform": transform}.get(where, composite)
            settings(tmp_path, **chosen)
            code, counts, said = push(events, None, capsys)
        assert thief.asked == []
        assert tokens.asked
    assert (code, counts["delivered"]) == (3, 0)
    assert backend.asked == []
    assert KEY not in said
    if where == "backend":
        assert counts == counted(left=6)
        assert f"no token: {status} a redirect to {thief.url}/steal, not followed" in said


@pytest.mark.parametrize("kind", ["http", "async_http"])
def test_no_redirect_is_followed_within_a_composite(
    kind: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile() as thief, Hostile(lambda _: Reply(307, headers={"Location": f"{thief.url}/steal"})) as server:
        http = {"type": kind, "url": server.url, "custom_headers": {"X-Api": KEY}}
        settings(tmp_path, type="composite", continue_on_success=False, transports=[http])
        assert push(events, None, capsys).code == 3
    assert server.asked
    assert thief.asked == []


@pytest.mark.parametrize(
    ("begin", "more", "drips"),
    [
        (b'HTTP/1.1 200 OK\r\n\r\n{"a":"', b"y" * 100_000, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" ", True),
        (b"HTTP/1.1 200 OK\r\nX-A: ", b"b", True),
        (b"HTTP/1.1 500 No\r\n\r\n", b"y" * 100_000, False),
    ],
    ids=["size", "time", "headers", "error"],
)
def test_an_answer_without_an_end_is_not_waited_for(
    begin: bytes,
    more: bytes,
    drips: bool,  # noqa: FBT001 - a parameter of pytest
    backend: Hostile,
    events: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """docs/interface.md: no answer is waited for longer than the patience."""
    begun = time.monotonic()
    with Endpoint(lambda _: begin, more=more, drips=drips) as tokens:
        auth = {**JWT, "tokenEndpoint": tokens.url}
        settings(tmp_path, type="http", url=backend.url, auth=auth)
        code, counts, said = push(events, None, capsys, "--patience", "0.3", "--concurrency", "2")
    assert time.monotonic() - begun < 30
    assert (code, counts) == (3, counted(left=6))
    assert "no token" in said


@pytest.mark.parametrize(
    "passing",
    [
        reply(503),
        reply(429, headers="Retry-After: 1\r\n"),
        b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"token":"',
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"",
    ],
    ids=["503", "429", "broken", "broken head", "nothing"],
)
def test_what_may_pass_is_asked_again(
    passing: bytes, backend: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = reply(body={"token": TOKEN, "expires_in": 3600})
    with Endpoint(lambda number: passing if number == 1 else good) as tokens:
        settings(tmp_path, type="http", url=backend.url, auth={**JWT, "tokenEndpoint": tokens.url})
        assert push(events, None, capsys)[:2] == (0, counted(delivered=6))


@pytest.mark.parametrize("patience", ["0", "0.1", "60"])
def test_a_token_endpoint_is_not_asked_again_before_it_wants_to_be(
    patience: str, backend: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Retry-After (RFC 9110, section 10.2.3), also where the first token is for the question what the backend is."""
    asked = list[float]()

    def answer(number: int) -> bytes:
        asked.append(time.monotonic())
        return reply(429, headers="Retry-After: 2\r\n") if number == 1 else reply(body={"token": TOKEN})

    with Endpoint(answer) as tokens:
        settings(tmp_path, type="http", url=backend.url, auth={**JWT, "tokenEndpoint": tokens.url})
        assert push(events, None, capsys, "--patience", patience)[:2] == (0, counted(delivered=6))
    assert asked[1] - asked[0] >= 2


@pytest.mark.parametrize(
    "body",
    [[TOKEN], {"token": ""}, {"token": None}, {"token": 5}, {"other": TOKEN}, "text"],
)
def test_an_answer_without_a_token_ends_the_push(
    body: Any, backend: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Endpoint(lambda _: reply(body=body)) as tokens:
        settings(tmp_path, type="http", url=backend.url, auth={**JWT, "tokenEndpoint": tokens.url})
        code, counts, said = push(events, None, capsys)
    assert (code, counts) == (3, counted(left=6))
    assert "no token: 200 and no JSON object with one of token, access_token (tokenFields)" in said
    assert backend.asked == []


@pytest.mark.parametrize("lifetime", [None, "soon", float("inf"), -5, [1]])
def test_a_token_whose_end_is_not_known_is_asked_for_each_time(
    lifetime: Any, backend: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Endpoint(lambda _: reply(body={"token": TOKEN, "expires_in": lifetime})) as tokens:
        settings(tmp_path, type="http", url=backend.url, auth={**JWT, "tokenEndpoint": tokens.url})
        assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    assert len(tokens.asked) == 1 if lifetime == float("inf") else len(tokens.asked) >= 6
    assert kept(events, "reduced.ndjson") == []
