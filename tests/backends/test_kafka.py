"""A real Kafka broker accepts every event and returns it unchanged."""

from __future__ import annotations

import json
import shutil
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer

from exporter.cli import main
from tests import exports
from tests.backends import kafka_broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from confluent_kafka import Message

TOPIC = "lineage"
SECONDS = 60
pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with kafka_broker.started(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events of the examples and of random histories, in a folder to push from."""
    copy = tmp_path_factory.mktemp("pushed") / "out"
    shutil.copytree(exports.everything() / "events", copy / "events")
    return copy


def push(folder: Path, broker: str, monkeypatch: pytest.MonkeyPatch) -> int:
    settings = folder.parent / "openlineage.yml"
    transport = {"type": "kafka", "topic": TOPIC, "config": {"bootstrap.servers": broker, "linger.ms": 1}}
    settings.write_text(json.dumps({"transport": transport}), encoding="utf-8")
    monkeypatch.delenv("OPENLINEAGE_URL", raising=False)
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(settings))
    return main(["push", str(folder), "--json"])


def received(broker: str, count: int) -> list[Message]:
    """The first ``count`` messages, and whatever comes within half a second after them."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "tests", "auto.offset.reset": "earliest"})
    found: list[Message] = []
    try:
        consumer.subscribe([TOPIC])
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            come = consumer.consume(1000, timeout=0.5)
            assert [one.error() for one in come if one.error()] == []
            found += come
            if len(found) >= count and not come:
                break
    finally:
        consumer.close()
    return found


def canonical(event: str | bytes) -> str:
    return json.dumps(json.loads(event), sort_keys=True)


def test_every_event_comes_back_equal_and_in_order(
    broker: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = exports.events(folder)
    assert push(folder, broker, monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"events": len(sent), "delivered": len(sent), "already_delivered": 0, "set_aside": 0, "left": 0}
    assert push(folder, broker, monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["already_delivered"] == len(sent)

    messages = received(broker, len(sent))
    assert sorted(canonical(one.value()) for one in messages) == sent
    partitions: dict[bytes, set[int]] = defaultdict(set)
    runs: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for one in messages:
        partitions[one.key()].add(one.partition())
        event = json.loads(one.value())
        if "run" in event:
            runs[event["run"]["runId"]].append((one.offset(), event["eventType"]))
    assert len(partitions) > 10
    assert all(len(ones) == 1 for ones in partitions.values()), "one key, one partition"
    assert {tuple(kind for _, kind in sorted(told)) for told in runs.values()} == {("START", "COMPLETE")}
