"""The client's settings: each transport, headers, tokens, TLS; and no secret in any output."""

from __future__ import annotations

import base64
import html
import json
import os
import resource
import socket
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

import pytest
from openlineage.client.serde import Serde
from openlineage.client.transport import Config, Transport
from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport

from exporter.backends import backend
from exporter.backends.secrecy import LONGEST_TEXT, WITHHELD, AnswerKind, Secrets, of_status, seconds
from exporter.backends.transports import KafkaSender, as_event
from exporter.cli import main
from tests import exports, golden
from tests.backends.hostile import Hostile, Reply, dataset, folder, history, run
from tests.backends.pushing import counted, kept, push, settings, texts
from tests.input.bad_rows import GOOD
from tests.stores.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]
TOKEN: Final = "s3cr3t/T0ken+xyz"
EVENTS: Final = [dataset("S"), dataset("T"), *run("q", 1, reads=["S"], writes=["T"], parent="p"), *run("p", 0)]
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return folder(tmp_path / "out", EVENTS)


# --- http -------------------------------------------------------------------------------------------------------------


def test_http_as_a_file_has_it(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as server:
        settings(
            tmp_path,
            type="http",
            url=server.url,
            endpoint="in/here?tenant=a",
            auth={"type": "api_key", "apiKey": TOKEN},
            compression="gzip",
            custom_headers={"X-Team": "data"},
        )
        assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    asked = server.asked[0]
    assert asked.path == "/in/here?tenant=a"
    assert asked.headers["Authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["Content-Encoding"] == "gzip"
    assert (asked.headers["X-Team"], asked.headers["Content-Type"]) == ("data", "application/json")


@pytest.mark.parametrize("kind", ["http", "async_http"])
def test_http_as_the_environment_has_it(
    kind: str, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile(lambda asked: Reply(422 if "dataset" in asked.event else 200)) as server:
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", kind)
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", server.url)
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__AUTH", json.dumps({"type": "api_key", "apiKey": TOKEN}))
        assert push(events, None, capsys)[:2] == (3, counted(delivered=4, set_aside=2))
    assert server.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_user_and_password_of_an_address_go_as_basic_authentication(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile() as server:
        url = server.url.replace("//", "//eve:p%40ss@")
        assert push(events, url, capsys).code == 0
    assert server.asked[0].headers["Authorization"] == "Basic ZXZlOnBAc3M="


def test_the_timeout_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for timeout, hang, fewest in ((120, 0.5, 2), (0.2, 600.0, 4)):
        where = folder(tmp_path / str(timeout), EVENTS[:2])
        with Hostile(lambda asked, hang=hang: Reply(hang=hang if asked.tries == 1 else 0)) as server:
            settings(tmp_path, type="http", url=server.url, timeout=timeout)
            assert push(where, None, capsys, "--patience", "60").code == 0
            assert len(server.asked) == fewest if hang < timeout else len(server.asked) >= fewest


def test_a_token_that_cannot_be_had_ends_the_push(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(lambda _: Reply(403, f"no {TOKEN}")) as tokens, Hostile() as server:
        auth = {"type": "oauth2", "clientId": "me", "clientSecret": TOKEN, "tokenEndpoint": "http://127.0.0.1:1/token"}
        settings(tmp_path, type="http", url=server.url, auth=auth)
        code, counts, said = push(events, None, capsys)
    assert (code, counts) == (3, counted(left=6))
    assert "no token" in said
    assert TOKEN not in said
    assert tokens.asked == server.asked == []


@pytest.mark.parametrize("harm", ["\n", "\r\nX-Other: 1", "\x00", "\u2014", "\u017f"])
def test_a_token_or_a_header_that_no_request_can_have_is_named_without_it(
    harm: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile() as server:
        settings(tmp_path, type="http", url=server.url, auth={"type": "api_key", "apiKey": TOKEN + harm})
        code, counts, said = push(events, None, capsys)
        assert (code, counts) == (3, counted(left=6))
        assert "no token: " in said
        settings(tmp_path, type="http", url=server.url, custom_headers={"X-Api": f"{TOKEN}{harm}1"})
        assert main(["push", str(events)]) == 2
        named = capsys.readouterr().err
        assert "custom_headers: 'X-Api'" in named
        settings(tmp_path, type="http", url=server.url, custom_headers={f"X{harm}": "1"})
        assert main(["push", str(events)]) == 2
    assert server.asked == []
    assert TOKEN not in said + named


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", str(tmp_path / "ca.pem")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl, which makes the certificate, is not installed")
    file.write_text(file.read_text() + (tmp_path / "ca.pem").read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[Hostile]:
    server = Hostile()
    with server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
        server.url = server.url.replace("http:", "https:")
        yield server


def test_certificates_are_checked(
    secure: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, counts, said = push(events, secure.url, capsys)
    assert (code, counts) == (3, counted(left=6))
    assert "certificate" in said
    settings(tmp_path, type="http", url=secure.url, sslContext={"caCertPath": str(tmp_path / "ca.pem")})
    assert push(events, None, capsys)[:2] == (0, counted(delivered=6))


def test_https_where_http_answers_is_told(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as server:
        code, counts, said = push(events, server.url.replace("http:", "https:"), capsys)
    assert (code, counts) == (3, counted(left=6))
    assert "does not speak TLS; if it is HTTP, the address begins with http://" in said


def test_certificates_are_not_checked_where_the_settings_say_so(
    secure: Hostile, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, type="http", url=secure.url, verify=False)
    assert push(events, None, capsys)[:2] == (0, counted(delivered=6))


def test_redirects_are_not_followed(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hostile() as other:
        to = f"{other.url}/there?token={TOKEN}"
        with Hostile(lambda _: Reply(307, headers={"Location": to})) as server:
            assert push(events, server.url, capsys)[:2] == (3, counted(set_aside=6))
    assert other.asked == []
    assert (
        kept(events)[0]["answer"]
        == f"307 a redirect to {other.url}/there, not followed: give the address that takes events"
    )


def test_a_folder_that_is_gone_is_said_to_be(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export that replaces the folder in which a shell is leaves it in one that is not there any more."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    assert main(["push", str(events)]) == 2
    said = capsys.readouterr().err
    assert "the folder in which this was started was removed or replaced; nothing was sent" in said
    assert "(cd) and start it again" in said


@pytest.mark.parametrize("name", ["OPENLINEAGE_API_KEY", "OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT"])
def test_settings_with_bytes_that_are_not_utf_8_are_no_fault_of_the_program(
    name: str, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hostile() as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setenv(name, f"{os.environ.get(name, 'secret')}/a\udcffb")
        code = main(["push", str(events), "--patience", "0"])
    assert code == 2
    assert f"{name}: has bytes that are not UTF-8" in capsys.readouterr().err
    assert server.asked == []


# --- the others -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("append", [True, False])
def test_file(*, append: bool, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings(tmp_path, type="file", log_file_path=str(tmp_path / "lineage"), append=append)
    assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    files = sorted(tmp_path.glob("lineage*"))
    assert len(files) == (1 if append else 6)
    assert texts(json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()) == texts(EVENTS)
    assert push(events, None, capsys)[:2] == (0, counted(already_delivered=6))


def test_a_file_is_in_the_order_of_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where events of one dataset follow each other: a START waits for none of them."""
    settings(tmp_path, type="file", log_file_path=str(tmp_path / "lineage"), append=True)
    assert push(folder(tmp_path / "out", history(30, jobs=2)), None, capsys)[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "lineage").read_text("utf-8").splitlines()]
    ends = [(line["eventTime"], line["eventType"] == "COMPLETE") for line in lines if "run" in line]
    assert len(ends) == 60
    assert ends == sorted(ends)


@pytest.mark.parametrize("part", [1, 100, -1], ids=["first byte", "within", "without its end"])
def test_a_file_has_whole_lines_after_a_full_disk(
    part: int, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/faults.md: exit 4, and the next push continues. docs/backends/file.md: one event a line."""
    file = tmp_path / "lineage"
    before = json.dumps({"x": "y" * (2 << 20)}) + "\n"
    file.write_text(before + Serde.to_json(EVENTS[0])[:50], "utf-8")  # which a push that was killed left
    settings(tmp_path, type="file", log_file_path=str(file), append=True)
    line = min(len(Serde.to_json(event)) + 1 for event in EVENTS)
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + part % line, former[1]))
    try:
        assert main(["push", str(events)]) == 4
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert f"{file}: a file has become larger than the system allows" in capsys.readouterr().err
    assert file.read_text("utf-8") == before
    assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    lines = file.read_text("utf-8").splitlines()[1:]
    assert texts(map(json.loads, lines)) == texts(EVENTS)


@pytest.mark.parametrize("last", ['{"of": "another program"}', "my last line", '{"of": "anoth'])
def test_a_last_line_of_somebody_else_is_kept_and_ended(
    last: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lineage"
    file.write_text(f"first\n{last}", "utf-8")
    settings(tmp_path, type="file", log_file_path=f"file://{file}", append=True)
    assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
    lines = file.read_text("utf-8").splitlines()
    assert lines[:2] == ["first", last]
    assert texts(map(json.loads, lines[2:])) == texts(EVENTS)


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.parametrize("name", ["manifest.json", "events/part-00000.ndjson", "events/mine"])
def test_a_file_in_an_export_is_refused(
    name: str, *, append: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert exports.export([exports.ndjson([GOOD], tmp_path / "rows.ndjson")], out) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    settings(tmp_path, type="file", log_file_path=str(out / name), append=append)
    assert main(["push", str(out)]) == 2
    assert f"{out / name}: is in {out}" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
@pytest.mark.parametrize("name", ["nowhere/lineage", "folder", "pipe"])
def test_file_that_cannot_be_written(
    name: str, options: list[str], events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told at once: no further try would help."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    settings(tmp_path, type="file", log_file_path=str(tmp_path / name), append=True)
    assert main(["push", str(events), *options]) == 2
    assert f"log_file_path {tmp_path / name}: " in capsys.readouterr().err


def test_standard_output_is_a_file_though_it_is_a_pipe(events: Path, tmp_path: Path) -> None:
    settings(tmp_path, type="file", log_file_path="/dev/stdout", append=True)
    done = subprocess.run(
        [sys.executable, "-m", "exporter", "push", str(events)],
        env={**os.environ, "PYTHONPATH": str(golden.ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert texts(map(json.loads, lines)) == texts(EVENTS)


def test_console(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings(tmp_path, type="console")
    code, counts, said = push(events, None, capsys)
    assert (code, counts) == (0, counted(delivered=6))
    assert texts(json.loads(line) for line in said.splitlines() if line.startswith("{")) == texts(EVENTS)


def test_each_part_of_a_composite_is_pushed_to_by_itself(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client takes an event for delivered where one of them took it."""
    with Hostile() as one, Hostile(lambda asked: Reply(500) if "dataset" in asked.event else Reply()) as other:
        parts = {name: {"type": "http", "url": server.url} for name, server in (("a", one), ("b", other))}
        settings(tmp_path, type="composite", transports=parts)
        assert push(events, None, capsys)[:2] == (3, counted(delivered=10, set_aside=2))
        assert texts(one.taken) == texts(EVENTS)
        assert len(other.taken) == 4
        assert push(events, None, capsys)[:2] == (3, counted(already_delivered=10, set_aside=2))
        assert len(one.asked) == 6


def test_a_fallback_composite_is_left_to_the_client(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hostile(lambda _: Reply(500)) as one, Hostile() as other:
        parts = [{"type": "http", "url": server.url, "retry": {"total": 0}} for server in (one, other)]
        settings(tmp_path, type="composite", transports=parts, continue_on_success=False)
        assert push(events, None, capsys)[:2] == (0, counted(delivered=6))
        assert len(other.taken) == 6


class Own(Transport):
    """A user's own, that refuses what reads."""

    kind = "own"
    config_class = Config
    got: ClassVar[list[Any]] = []

    def __init__(self, _: Config) -> None:
        """As the client makes it."""

    def emit(self, event: Any) -> None:
        if getattr(event, "inputs", None):
            raise ValueError(f"no inputs, says {TOKEN}")
        self.got.append(event)


def test_a_users_own_gets_the_clients_objects(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Own.got.clear()
    settings(tmp_path, type=f"{__name__}.Own", api_key=TOKEN)
    assert push(events, None, capsys)[:2] == (3, counted(delivered=5, set_aside=1))
    assert kept(events)[0]["answer"] == f"ValueError: {WITHHELD}"
    assert {type(one).__name__ for one in Own.got} == {"RunEvent", "DatasetEvent"}


class Talkative(Own):
    """Says more than is shown, with a secret where it is cut off."""

    def emit(self, _: Any) -> None:
        raise ValueError("x" * (LONGEST_TEXT - 5) + TOKEN)


def test_a_long_message_is_not_cut_within_a_secret(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, type=f"{__name__}.Talkative", api_key=TOKEN)
    assert push(events, None, capsys)[:2] == (3, counted(set_aside=6))
    assert kept(events)[0]["answer"] == f"ValueError: {WITHHELD}"


def test_each_part_of_a_composite_has_its_own_settings_and_secrets(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts without a URL got those of the last one: an answer could show a secret, and a dry run named another one."""
    settings(
        tmp_path, type="composite", transports=[{"type": f"{__name__}.Own", "api_key": TOKEN}, {"type": "console"}]
    )
    assert main(["push", str(events), "--dry-run"]) == 0
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("To ")]
    assert named == ['To own {"api_key": "***"} (profile any)', "To console {} (profile any)"]
    assert main(["push", str(events)]) == 3
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("To ")] == named
    assert kept(events)[0]["answer"] == f"ValueError: {WITHHELD}"


def test_an_event_as_the_clients_object_and_back() -> None:
    for event in EVENTS:
        assert without_empty(json.loads(Serde.to_json(as_event(event)))) == without_empty(event)


def without_empty(value: Any) -> Any:
    """The client's objects have empty facets; its facet of the parent has the schema of its own version."""
    if isinstance(value, dict):
        told = {key: without_empty(one) for key, one in value.items() if key != "_schemaURL"}
        return {key: one for key, one in told.items() if one not in ({}, [], None)}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


class Producer:
    """Kafka's, as far as a push uses it: each message gets the next of the words."""

    def __init__(self, *words: Any) -> None:
        self.words, self.sent, self.waiting = list(words), list[Json](), list[Any]()

    def produce(self, *, on_delivery: Any, **message: Any) -> None:
        self.sent.append(message)
        self.waiting.append(on_delivery)

    def poll(self, _: float) -> None:
        for one in self.waiting:
            one(self.words.pop(0), None)
        self.waiting.clear()

    def flush(self, _: float) -> int:
        return len(self.waiting)


def test_kafka_counts_what_the_broker_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaTransport, "_setup_producer", lambda *_: None)
    transport = KafkaTransport(KafkaConfig(config={}, topic="lineage"))
    producer = Producer(None, f"broker says {TOKEN}")
    transport.producer = producer
    sender = KafkaSender(transport, Secrets(TOKEN))
    child = EVENTS[3]
    assert sender.send(json.dumps(child).encode()).kind is AnswerKind.TAKEN
    assert (producer.sent[0]["topic"], json.loads(producer.sent[0]["value"])) == ("lineage", child)
    assert producer.sent[0]["key"] == "run:snowflake://ORG-ACC/job of p", "the parent's, so that both keep their order"
    refused = sender.send(json.dumps(child).encode())
    assert (refused.kind, refused.text) == (AnswerKind.ERROR, WITHHELD)


def test_kafka_without_its_library(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    settings(tmp_path, type="kafka", topic="t", config={"bootstrap.servers": "127.0.0.1:1", "sasl.password": TOKEN})
    assert main(["push", str(events), "--json"]) == 2
    said = capsys.readouterr().err
    assert "openlineage-python[kafka]" in said
    assert TOKEN not in said


# --- settings that are none, and what a client's settings want beside -------------------------------------------------


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        ({"type": "noop"}, "nothing would be sent"),
        ({"type": "htp", "url": "http://x"}, "Failed to import htp. It is the type of the transport: http, kafka"),
        ({"type": "http"}, "settings cannot be used"),
        (
            {"type": "http", "url": f"no address {TOKEN}", "auth": {"type": "api_key", "apiKey": TOKEN}},
            "cannot be used",
        ),
        ({"type": "composite", "transports": [{"url": "http://x"}]}, "settings cannot be used"),
        ({"url": "http://x"}, "The transport of openlineage.yml has no type, such as http, so it is not used"),
    ],
)
def test_settings_that_send_nowhere(
    transport: Json, words: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, **transport)
    assert main(["push", str(events)]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""


def test_a_file_of_settings_that_is_not_there_is_named(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "nope.yml"))
    assert main(["push", str(events)]) == 2
    assert f"OPENLINEAGE_CONFIG names {tmp_path / 'nope.yml'}, which is not a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "setting",
    [
        {"timeout": "soon"},
        {"timeout": 0},
        {"timeout": -1},
        {"custom_headers": TOKEN},
        {"custom_headers": [TOKEN]},
        {"endpoint": 5},
        {"url": [TOKEN]},
    ],
)
def test_settings_of_http_without_sense(
    setting: Json, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, **{"type": "http", "url": "http://127.0.0.1:9", **setting})
    for words in ([], ["--dry-run"]):
        assert main(["push", str(events), *words]) == 2
        said = capsys.readouterr().err
        assert "settings cannot be used" in said
        assert TOKEN not in said


def test_a_disabled_client_is_an_error(
    events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    with Hostile() as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events)]) == 2
    assert "OPENLINEAGE_DISABLED" in capsys.readouterr().err


def test_filters_tags_and_variables_of_the_settings(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM", "data")
    with Hostile() as server:
        told = {
            "transport": {"type": "http", "url": server.url},
            "filters": [{"type": "regex", "regex": "write T from S.*"}],
            "tags": {"job": {"tier": "gold"}},
            "facets": {"environment_variables": ["TEAM"]},
        }
        (tmp_path / "openlineage.yml").write_text(json.dumps(told))
        code, counts, said = push(events, None, capsys)
    assert (code, counts) == (0, counted(delivered=4))
    assert "2 events of jobs that the client's filters leave out" in said
    (end,) = (one for one in server.taken if one.get("eventType") == "COMPLETE")
    assert end["job"]["facets"]["tags"]["tags"][0]["value"] == "gold"
    variables = end["run"]["facets"]["environmentVariables"]["environmentVariables"]
    assert variables == [{"name": "TEAM", "value": "data"}]


@pytest.mark.parametrize("own", [{"tags": {"job": {"tier": "gold"}, "run": {"Env": "prod"}}}, {"facets": {}}])
def test_tags_of_the_settings_are_added_to_those_of_an_event(
    own: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export gives each run and job tags of its own (user, role, warehouse); one of the same key is replaced."""
    monkeypatch.setenv("TEAM", "data")
    mine = [{"key": "user", "value": "A", "source": "SNOWFLAKE"}, {"key": "env", "value": "x", "source": "SNOWFLAKE"}]
    facet = {"_producer": "https://example.com/p", "_schemaURL": "https://example.com/s", "tags": mine}
    events = run("q", 0, reads=["S"], writes=["T"])
    for event in events:
        event["run"]["facets"]["tags"] = event["job"]["facets"]["tags"] = facet
    where = folder(tmp_path / "out", events)
    with Hostile() as server:
        told = {"transport": {"type": "http", "url": server.url}, "facets": {"environment_variables": ["TEAM"]}, **own}
        told["facets"] = {"environment_variables": ["TEAM"]}
        (tmp_path / "openlineage.yml").write_text(json.dumps(told))
        assert push(where, None, capsys)[:2] == (0, counted(delivered=2))
    has_tags = "tags" in own
    for event in server.taken:
        of_job, of_run = event["job"]["facets"]["tags"], event["run"]["facets"]["tags"]
        assert of_job["_producer"] == of_run["_producer"] == facet["_producer"]
        assert "TagsRunFacet" in of_run["_schemaURL"]
        tags = {tag["key"]: (tag["value"], tag["source"]) for tag in of_run["tags"]}
        assert tags.pop("openlineage_client_version")[1] == "OPENLINEAGE_CLIENT"
        assert tags == {"user": ("A", "SNOWFLAKE"), "env": ("prod", "USER") if has_tags else ("x", "SNOWFLAKE")}
        extra = [{"key": "tier", "value": "gold", "source": "USER"}] if has_tags else []
        assert of_job["tags"] == [*mine, *extra]
        assert event["run"]["facets"]["externalQuery"]["externalQueryId"] == "q"


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
def test_no_secret_is_written_or_shown_even_where_the_backend_repeats_it(
    status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    where = folder(tmp_path / "out", EVENTS)
    with Hostile(lambda asked: Reply(status, json.dumps(asked.headers) + asked.path)) as server:
        settings(
            tmp_path,
            type="http",
            url=server.url.replace("//", "//someone:hunter22@"),
            endpoint=f"in?key={TOKEN.replace('/', '%2F').replace('+', '%2B')}",
            auth={"type": "api_key", "apiKey": f"{TOKEN}-2"},
            custom_headers={"X-Api": "0therSecret", "Cookie": "c00kie=1"},
        )
        assert main(["push", str(where), "--patience", "1"]) == 3
    said = capfd.readouterr()
    files = [file.read_text("utf-8", "replace") + str(file) for file in (where / "push").rglob("*") if file.is_file()]
    assert files
    for text in [said.out, said.err, *files]:
        for secret in (TOKEN, TOKEN.replace("/", "%2F"), "hunter22", "someone", "0therSecret", "c00kie"):
            assert secret not in text


@pytest.mark.parametrize(
    "address",
    [
        "http://ana:zq/wx@127.0.0.1:9",
        "http://ana:zq#wx@127.0.0.1:9",
        "http://ana:zq?wx@127.0.0.1:9",
        "http://ana:zq wx@127.0.0.1:9/",
        "http://ana:zqwx@[::1",
        "http://ana:zqwx@127.0.0.1:99999",
        "htp://ana:zq/wx@127.0.0.1",
        "ana:zqwx@127.0.0.1:9",
    ],
)
def test_an_address_that_is_none_is_not_repeated(
    address: str, events: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where its user ends, nothing can say."""
    monkeypatch.setenv("OPENLINEAGE_URL", address)
    for words in ([], ["--dry-run"], ["--verify"]):
        main(["push", str(events), "--patience", "0", *words])
        told = "".join(capsys.readouterr())
        assert told
        assert not [part for part in ("ana", "zq", "wx") if part in told], told


def test_what_is_secret() -> None:
    told = {"auth": {"type": "api_key", "apiKey": "abcdef", "tokenFields": ["access_token"]}, "acks": "all-of"}
    told |= {
        "config": {"sasl.password": "pass/word"},
        "custom_headers": {"Accept": "application/json", "X-Pin": 31415926},
    }
    environ = {"OPENLINEAGE__X__TOKEN": "fromenv", "OPENLINEAGE__A__AUTH": '{"type": "api_key", "apiKey": "inJson"}'}
    environ |= {"https_proxy": "nobody:bypass@proxy:1", "AWS_SESSION_TOKEN": "ofAmazon", "GIT_AUTHOR_NAME": "a person"}
    secrets = Secrets.of({**told, "url": "https://u53r:pw=12@host/?q=v4lue"}, environ)
    for text in (
        "abcdef",
        "pass%2Fword",
        "31415926",
        "fromenv",
        "injson",
        "bypass",
        "ofAmazon",
        "u53r",
        "pw=12",
        "v4lue",
    ):
        assert secrets.shown(f"<{text}>") == WITHHELD, text
    for text in ("no access_token", "bad apiKey", "api_key", "application/json", "all-of", "a person, host"):
        assert secrets.shown(text) == text
    assert secrets.shown("at https://x:y@z") == "at https://***@z"
    assert secrets.masked("abcdef pass%2Fword all-of u53r") == "*** *** all-of ***"


LONG: Final = 'Zx9/Qw+7-kTm_5Lp&8"r<Vb3'
SPELLED: Final[dict[str, Callable[[str], str]]] = {
    "whole": str,
    "within": lambda secret: f"xx{secret}yy",
    "without the ends": lambda secret: secret[3:-3],
    "its beginning": lambda secret: f"begins with {secret[:12]}...",
    "its end": lambda secret: f"ends with ..{secret[-10:]}",
    "six of it": lambda secret: secret[7:13],
    "lines": lambda secret: "\n".join(secret[at : at + 10] for at in range(0, len(secret), 10)),
    "spaces": " ".join,
    "dashes": "-".join,
    "upper case": str.upper,
    "lower case": str.lower,
    "backwards": lambda secret: secret[::-1],
    "Python": repr,
    "bytes": lambda secret: repr(secret.encode()),
    "JSON": json.dumps,
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret)),
    "slashes": lambda secret: secret.replace("/", "\\/"),
    "numbers": lambda secret: "".join(f"\\u{ord(sign):04x}" for sign in secret),
    "numbers in part": lambda secret: "".join(f"\\u{ord(s):04X}" if n % 3 else s for n, s in enumerate(secret)),
    "HTML": html.escape,
    "HTML in part": lambda secret: "".join(f"&#{ord(s)};" if n % 3 else s for n, s in enumerate(secret)),
    "HTML's lines": "<br/>".join,
    "URL": lambda secret: quote(secret, safe=""),
    "URL in URL": lambda secret: quote(quote(secret, safe=""), safe=""),
    "hex": lambda secret: secret.encode().hex(),
    "hex, a part": lambda secret: secret[5:14].encode().hex(" ").upper(),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of a header": lambda secret: base64.b64encode(f"Bearer {secret}".encode()).decode(),
    "base64 of another": lambda secret: base64.urlsafe_b64encode(f"n: {secret}".encode()).decode().rstrip("="),
    "base64, a part": lambda secret: base64.b64encode(secret[4:16].encode()).decode(),
}


@pytest.mark.parametrize("secret", [LONG, "hunter22", "a\"b\\c\nd'e", "!?#$%^&*()=", "päss-wörd"])
@pytest.mark.parametrize("how", SPELLED)
def test_a_text_with_a_part_of_a_secret_is_not_shown(how: str, secret: str) -> None:
    spelled = SPELLED[how](secret)
    is_part = how in {"without the ends", "six of it", "its end", "hex, a part", "base64, a part"}
    if is_part and len(secret) < len(LONG):
        pytest.skip("too short to have such a part")
    if (how == "dashes" and sum(map(str.isalnum, secret)) < 6) or (how.endswith("in part") and "\\" in secret):
        pytest.skip("then nothing says which marks are its own")
    assert Secrets(f"Bearer {secret}").shown(f"it was: {spelled}") == WITHHELD


def test_other_texts_are_shown() -> None:
    secrets = Secrets(LONG, "8c5e0d6f4b7a49e1a2d3c4b5a6978877")
    for text in (
        "422 no such dataset D.S.ORDERS: expected '/' or '+' & <nothing>",
        "no token ending in Vb3; id 6f1c2a9e-77d0-4f5e-9a61-2b8f0c1d3e4f at 2026-11-26T05:27:56.123Z",
        f"the last four are {LONG[-4:]}",
        "https://example.com/api/v1/lineage?a=%20b \\u00e4 " + "x" * 300,
    ):
        assert secrets.shown(text) == text


@pytest.mark.parametrize("status", [302, 422, 429, 500])
def test_no_backend_of_a_composite_shows_the_secret_of_another(
    status: int, events: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor in a header; the status and what it means are kept."""
    headers = {"Location": f"http://{LONG[8:]}/", "Retry-After": "2718281828"}
    with Hostile(lambda _: Reply(status, f"no {LONG[2:-2]}", headers)) as one, Hostile() as other:
        parts = [
            {"type": "http", "url": one.url, "custom_headers": {"X-Pin": "2718281828"}},
            {"type": "http", "url": other.url, "auth": {"type": "api_key", "apiKey": LONG}},
        ]
        settings(tmp_path, type="composite", transports=parts)
        assert main(["push", str(events), "--patience", "0"]) == 3
    said = capfd.readouterr()
    texts = [said.out, said.err, *(file.read_text("utf-8") for file in (events / "push").rglob("*") if file.is_file())]
    assert not [text for text in texts if LONG[8:14] in text or "2718281828" in text or "2,718,281,828" in text]
    meant = {302: "302 a redirect to (not", 422: f"422 Unprocessable Entity {WITHHELD}"}
    assert any(meant.get(status, f"{status} ") in text for text in texts)


def test_what_a_library_logs_is_no_way_around(events: Path, tmp_path: Path) -> None:
    """Python prints it where nobody has set up logging, so this is a program of its own."""
    with Hostile(lambda _: Reply(500)) as server:
        part = {"type": f"{__name__}.Own", "api_key": TOKEN}
        transports = [part, {"type": "http", "url": server.url, "retry": {"total": 0}}]
        settings(tmp_path, type="composite", transports=transports, continue_on_success=False)
        command = [sys.executable, "-m", "exporter", "push", str(events), "--patience", "0"]
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        pushed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environ)
    assert pushed.returncode == 3
    assert "openlineage.client.transport.composite: " in pushed.stderr
    assert TOKEN not in pushed.stdout + pushed.stderr


def test_a_kafka_broker_that_is_down_is_waited_for_as_long_as_the_patience_says(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the four tries waited for 20 seconds."""
    settings(tmp_path, type="kafka", topic="t", config={"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    begun = time.monotonic()
    assert push(events, None, capsys, "--patience", "0.2")[:2] == (3, counted(left=6))
    assert time.monotonic() - begun < 30
    assert kept(events) == []


@pytest.mark.parametrize("servers", ["127.0.0.1", "localhost"])
def test_a_kafka_broker_that_is_down_is_not_waited_for_without_patience(
    servers: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/interface.md: no further tries. It took 108 seconds: four times 20 and those in which the client closes."""
    settings(tmp_path, type="kafka", topic="t", config={"bootstrap.servers": f"{servers}:{free_port()}"})
    begun = time.monotonic()
    code, counts, said = push(events, None, capsys, "--patience", "0")
    assert (code, counts) == (3, counted(left=6))
    assert time.monotonic() - begun < 15
    assert "no broker" in said
    assert kept(events) == []


def test_a_kafka_broker_that_is_only_slow_is_waited_for_without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the connection and does not answer: that is no broker that is down."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config = {"bootstrap.servers": f"127.0.0.1:{silent.getsockname()[1]}"}
        monkeypatch.setattr(backend, "KAFKA_WAIT", 3.0)
        told = {"type": "kafka", "topic": "t", "config": config}
        sender = backend.Backend.of(told, None, Secrets.of({}, {})).sender(1, 0)
        begun = time.monotonic()
        event = {"eventTime": "2026-01-01T00:00:00Z", "producer": "p", "job": {"namespace": "n", "name": "j"}}
        assert sender.send(json.dumps(event).encode()).kind is AnswerKind.SILENT
        assert time.monotonic() - begun > 2.5
        sender.close()


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7.0),
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("3000000000", 1e9),
        ("9" * 400, 1e9),
        (None, None),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("Mon, 99 Foo", None),
    ],
)
def test_retry_after(header: str | None, wait: float | None) -> None:
    assert seconds(header) == wait


def test_retry_after_as_a_date() -> None:

    now = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    assert seconds("Sat, 21 Nov 2026 12:00:30 GMT", now) == 30.0
    assert seconds("Sat, 21 Nov 2026 11:00:00 GMT", now) == 0.0


@pytest.mark.parametrize("later", [None, "soon", "0", "Sat, 21 Nov 2020 11:00:00 GMT"])
def test_a_time_that_is_past_is_no_reason_to_give_up(later: str | None) -> None:
    """The backend asks for no time, so it is a backend that does not answer, and the patience counts."""
    answer = of_status(503, "", later, Secrets())
    assert (answer.kind, answer.wait) == (AnswerKind.SILENT, None)


def test_control_characters_of_a_backend_are_shown_escaped() -> None:
    """docs/safety.md, terminals."""
    answer = of_status(422, "no\x1b[31m\r\nrow\u202e", None, Secrets())
    assert answer.text == r"422 no\x1b[31m\r\nrow\u202e"


class WithoutLibrary(Transport):
    """A transport that loads its library with the first event, as the client's own for Google does."""

    kind = "without_library"
    config_class = Config

    def __init__(self, config: Config) -> None:
        pass

    def emit(self, event: Any) -> None:  # noqa: ARG002 - the client's own signature
        raise ModuleNotFoundError("No module named 'google.cloud'", name="google.cloud")


def test_a_transport_without_its_library_ends_the_push(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(tmp_path, type=f"{__name__}.WithoutLibrary")
    begun = time.monotonic()
    code, counts, said = push(events, None, capsys, "--patience", "1")
    assert (code, counts) == (3, counted(left=6))
    assert time.monotonic() - begun < 5
    assert "No module named 'google.cloud': install it beside the exporter" in said
    assert kept(events) == []


@pytest.mark.parametrize(
    "proxy", ["p:S3CRET@127.0.0.1:x", "http://p:S3CRET@127.0.0.1:99999", "http://p:S3/CRET@h:1", "ftp://p:S3CRET@h:1"]
)
def test_a_proxy_that_cannot_be_used(
    proxy: str, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a setting of the user: exit 2, without its password."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("OPENLINEAGE_URL", "http://backend.invalid")
    assert main(["push", str(events), "--patience", "0"]) == 2
    said = capsys.readouterr().err
    assert "the proxy of the environment" in said
    assert "CRET" not in said


def test_a_proxy_that_does_not_answer_is_told_in_whole_words(
    events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")
    code, counts, said = push(events, "http://backend.invalid", capsys)
    assert (code, counts) == (3, counted(left=6))
    assert "(ProxyError: [Errno 111] Connection refused)" in said
