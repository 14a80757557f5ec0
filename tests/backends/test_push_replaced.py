"""Delivered events are recognized by their content, also after another export has replaced the folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.backends.ledger import TAKEN, Ledger, fingerprint
from exporter.cli import main
from exporter.errors import UsageError
from tests import exports, golden
from tests.backends.hostile import Asked, Hostile, Reply, dataset, history, run
from tests.backends.pushing import counted, push, settings, texts
from tests.publish.test_publication_steps import publish

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
pytestmark = pytest.mark.usefixtures("alone")
EVENTS: Final = history(50)


def replaced(out: Path, events: Iterable[Json]) -> Path:
    lines = "".join(json.dumps(event) + "\n" for event in events)
    publish(out, {"report.json": "{}", "events/part-00000.ndjson": lines})
    return out


def without_versions(value: Any) -> Any:
    """What an exporter of another version writes of the same."""
    if isinstance(value, dict):
        told = reversed(value.items())
        return {key: "https://example.com/2" if key.endswith("roducer") else without_versions(one) for key, one in told}
    return [without_versions(one) for one in value] if isinstance(value, list) else value


def test_an_export_of_the_same_rows_sends_nothing_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson(golden.rows(golden.folders()[0]), tmp_path / "rows.ndjson")
    out = tmp_path / "out"
    assert exports.export([rows], out) == 0
    with Hostile() as server:
        first = push(out, server.url, capsys).counts
        (tmp_path / "settings.toml").write_text('[openlineage]\nproducer = "https://example.com/other"\n')
        for more in ([], ["--config", str(tmp_path / "settings.toml")]):
            assert exports.export([rows], out, "--replace", *more) == 0
            assert push(out, server.url, capsys).counts == counted(already_delivered=first["events"])
    assert len(server.taken) == first["delivered"] == first["events"] > 2


def test_only_what_is_new_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, more = tmp_path / "out", history(60)
    with Hostile() as server:
        push(replaced(out, EVENTS), server.url, capsys)
        told = push(replaced(out, map(without_versions, more)), server.url, capsys).counts
        assert told == counted(already_delivered=len(EVENTS), delivered=len(more) - len(EVENTS))
        assert push(replaced(out, EVENTS[:10]), server.url, capsys).counts == counted(already_delivered=10)
        assert push(replaced(out, EVENTS), server.url, capsys).counts == counted(already_delivered=len(EVENTS))


def test_another_backend_gets_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    with Hostile() as one, Hostile() as other:
        push(replaced(out, EVENTS), one.url, capsys)
        assert push(replaced(out, EVENTS), other.url, capsys).counts == counted(delivered=len(EVENTS))


def test_answers_of_a_backend_are_removed_with_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They can hold what the new output leaves out."""
    out = tmp_path / "out"
    with Hostile(lambda _: Reply(422, "no")) as server:
        push(replaced(out, EVENTS[:3]), server.url, capsys)
    assert list(out.glob("push/*/set-aside.ndjson"))
    replaced(out, EVENTS[:3])
    assert {path.name for path in (out / "push").rglob("*") if path.is_file()} == {"ledger.txt"}


def test_a_running_push_continues_and_its_deliveries_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = replaced(tmp_path / "out", EVENTS)

    def reply(asked: Asked) -> Reply:
        if asked.number == 20:
            replaced(out, EVENTS)
        return Reply()

    with Hostile(reply) as server:
        assert push(out, server.url, capsys).counts == counted(delivered=len(EVENTS))
        assert push(out, server.url, capsys).counts == counted(already_delivered=len(EVENTS))
    assert texts(server.taken) == texts(EVENTS)


def test_where_a_file_has_one_name_only_an_export_waits_for_the_push(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = replaced(tmp_path / "out", EVENTS)
    ledger = Ledger(out / "push" / "backend")
    ledger.write("+", fingerprint(EVENTS[0]))

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(UsageError, match="a push is running"):
        replaced(out, EVENTS[:5])
    assert len((out / "events" / "part-00000.ndjson").read_bytes().splitlines()) == len(EVENTS)
    ledger.close({})
    replaced(out, EVENTS[:5])
    assert set(Ledger(out / "push" / "backend").marks(TAKEN)) == {fingerprint(EVENTS[0])}


def test_a_folder_that_is_replaced_while_it_is_opened_is_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, opened = replaced(tmp_path / "out", EVENTS), Path.open

    def late(path: Path, *given: Any, **options: Any) -> Any:
        if path.suffix == ".ndjson":
            monkeypatch.setattr(Path, "open", opened)
            other = Thread(target=replaced, args=(out, EVENTS[:5]))
            other.start()
            other.join()
        return opened(path, *given, **options)

    with Hostile() as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setattr(Path, "open", late)
        assert main(["push", str(out)]) == 2
        assert "was replaced by another export just now" in capsys.readouterr().err
        assert push(out, server.url, capsys).counts == counted(delivered=5)


def test_a_fingerprint_is_of_what_an_event_says() -> None:
    one = run("q1", 1, reads=["S"], writes=["T"])[1]
    assert fingerprint(one) == fingerprint(without_versions(one)) == fingerprint(json.loads(json.dumps(one)))
    assert fingerprint(one) != fingerprint({**one, "eventTime": "2030-01-01T00:00:00Z"})
    told = dataset("T")
    assert fingerprint(told) == fingerprint({**told, "eventTime": "2030-01-01T00:00:00Z"})
    fields = [{"facets": {"columnLineage": {"fields": {name: {"inputFields": []}}}}} for name in ("_producer", "A")]
    assert len({fingerprint({**one, "outputs": [field]}) for field in fields}) == 2


OTHERS: Final = [
    ({"custom_headers": {"X-Tenant": "a"}}, {"custom_headers": {"X-Tenant": "b"}}),
    ({"endpoint": "api/v1/lineage?tenant=a"}, {"endpoint": "api/v1/lineage?tenant=b"}),
    ({}, {"endpoint": "api/v1/lineage?tenant=b"}),
]
SAME: Final = [
    ({"custom_headers": {"X-Api-Key": "0123456789"}}, {"custom_headers": {"X-Api-Key": "9876543210"}}),
    ({"endpoint": "api/v1/lineage?token=0123456789"}, {"endpoint": "api/v1/lineage?token=9876543210"}),
]


@pytest.mark.parametrize(("one", "other", "again"), [*((*both, 2) for both in OTHERS), *((*both, 1) for both in SAME)])
def test_tenants_behind_one_address_have_their_own_ledgers(
    one: Json, other: Json, again: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What tells them apart is sent with each event. A new key does not make another backend."""
    out = replaced(tmp_path / "out", EVENTS)
    with Hostile() as server:
        for more in (one, other):
            settings(tmp_path, type="http", url=server.url, **more)
            assert push(out, None, capsys).code == 0
    assert len(server.taken) == again * len(EVENTS)
    assert len(list((out / "push").iterdir())) == again


@pytest.mark.parametrize("name", ["ledger.txt", "summary.json", "set-aside.ndjson", "reduced.ndjson"])
def test_what_is_no_file_of_a_push_is_refused_before_anything_is_sent(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, other = replaced(tmp_path / "out", EVENTS), tmp_path / "other"
    other.write_text("somebody's")
    with Hostile() as server:
        push(out, server.url, capsys)
        server.taken.clear()
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        (place,) = (out / "push").iterdir()
        (place / name).unlink(missing_ok=True)
        for make, gone in ((os.mkfifo, Path.unlink), (Path.mkdir, Path.rmdir), (lambda at: at.symlink_to(other), None)):
            make(place / name)
            for options in ([], ["--dry-run"]):
                assert main(["push", str(out), *options]) == 2
                assert name in capsys.readouterr().err
            if gone:
                gone(place / name)
    assert server.taken == []
    assert other.read_text() == "somebody's"


def test_a_line_of_a_ledger_that_the_program_did_not_write_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = replaced(tmp_path / "out", EVENTS)
    with Hostile() as server:
        push(out, server.url, capsys)
        (ledger,) = (out / "push").rglob("ledger.txt")
        ledger.write_bytes(ledger.read_bytes() + b"! " + b"\xe9" * 32 + b"\n")
        assert push(out, server.url, capsys)[:2] == (0, counted(already_delivered=len(EVENTS)))
