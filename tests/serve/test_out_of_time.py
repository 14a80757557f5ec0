"""The start page after its questions ran out of time, as on a machine that was busy when the server started."""

from __future__ import annotations

from contextlib import closing
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from exporter.ask import stores
from exporter.ask.answers import Answer
from exporter.ask.pool import Pool, TooLongError
from exporter.serve import background, overview, server
from exporter.serve.overview import TOPICS
from exporter.serve.site import PAGE_QUESTIONS, Site
from exporter.serve.tables import NOT_READY
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACT = "There is no answer after 60 s."


class _Busy(Pool):
    """Has no answer as long as it is busy."""

    is_busy, asked = True, 0

    def answer(self, *args: Any, **options: Any) -> Answer:
        self.asked += 1
        if self.is_busy:
            raise TooLongError("There is no answer after 60 s", "ask for less (LIMIT)")
        return super().answer(*args, **options)


@pytest.fixture
def busy_site(tmp_path: Path) -> Iterator[tuple[Site, _Busy]]:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with (
        stores.opened_store(graph, lambda _: None) as store,
        closing(Pool(store, PAGE_QUESTIONS, 2, 120.0)) as pages,
        closing(_Busy(store, PAGE_QUESTIONS, 2, 120.0)) as busy,
        closing(Site(graph, pages, pages, busy)) as site,
    ):
        yield site, busy


def test_the_start_page_asks_again_later(busy_site: tuple[Site, _Busy], monkeypatch: pytest.MonkeyPatch) -> None:
    site, busy = busy_site
    client = server.make(site, "127.0.0.1").test_client()
    assert client.get("/").text.count(FACT) == len(TOPICS) == busy.asked
    assert client.get("/").text.count(FACT) == len(TOPICS) == busy.asked  # at once, it is not asked again
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
    busy.is_busy = False
    assert FACT not in [client.get("/").text for _ in TOPICS][-1]
    assert busy.asked == 2 * len(TOPICS)


def test_it_asks_again_less_and_less(busy_site: tuple[Site, _Busy], monkeypatch: pytest.MonkeyPatch) -> None:
    site, busy = busy_site
    client, now = server.make(site, "127.0.0.1").test_client(), 1_000.0
    monkeypatch.setattr(background, "monotonic", lambda: now)
    for _ in range(600):  # a visit each minute for ten hours
        client.get("/")
        now += 60
    assert len(TOPICS) * 2 < busy.asked < len(TOPICS) * 20


def test_one_question_is_asked_again_at_a_time(busy_site: tuple[Site, _Busy], monkeypatch: pytest.MonkeyPatch) -> None:
    site, busy = busy_site
    client, goes_on = server.make(site, "127.0.0.1").test_client(), Event()
    client.get("/")
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(overview, "_WAIT", 0.0)
    monkeypatch.setattr(busy, "answer", lambda *_, **__: goes_on.wait(60) and Answer(("user_name",), []))
    texts = [client.get("/").text for _ in TOPICS]
    goes_on.set()
    assert {(text.count(FACT), text.count(NOT_READY)) for text in texts} == {(len(TOPICS) - 1, 1)}


def test_what_can_be_done_is_something_that_can(busy_site: tuple[Site, _Busy]) -> None:
    text = server.make(busy_site[0], "127.0.0.1").test_client().get("/").text
    assert "LIMIT" not in text
    assert "asks again if you come back" in text
