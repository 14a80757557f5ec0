"""``exporter serve``: how it starts and ends."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pytest
from werkzeug.security import generate_password_hash

from exporter import cli
from exporter.serve.login import check_of
from exporter.serve.server import make
from exporter.system import files
from tests.graph.shape_graphs import VALID
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server and its address."""
    graph = folder / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    command = [sys.executable, "-m", "exporter", "serve", str(graph), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            server.kill()


ENDLESS: Final = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
DEADLINE: Final = 40
"""Seconds; a process that computes an answer goes on for more than a minute by itself."""


def children(process: int) -> list[str]:
    """The processes that any thread of a process has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [child for children in lists for child in children.read_text().split()]


def stat(process: str) -> list[str]:
    """The fields of proc(5)'s ``stat`` from the state on; empty if the process is gone."""
    with suppress(OSError):
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
    return []


def wait_until_gone(processes: list[str]) -> None:
    until = time.monotonic() + DEADLINE
    while [process for process in processes if stat(process)[:1] not in ([], ["Z"])]:
        assert time.monotonic() < until, "a process goes on"
        time.sleep(0.05)


def working_child(process: int) -> str:
    """A process that ``process`` has started, once it has worked for 0.6 seconds: longer than it takes to start."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        for child in children(process):
            used = stat(child)[11:12]
            if used and int(used[0]) > 0.6 * os.sysconf("SC_CLK_TCK"):
                return child
        time.sleep(0.05)
    raise AssertionError("no process computes an answer")


def test_a_process_that_computes_an_answer_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    with served(tmp_path) as (server, address):
        asked = Thread(target=read, args=(f"{address}sparql?query={quote(ENDLESS)}",))
        asked.start()
        child = working_child(server.pid)
        server.kill()
        wait_until_gone([child])
        asked.join()


def read(url: str) -> None:
    with suppress(OSError):
        urllib.request.urlopen(url, timeout=DEADLINE).close()


def test_a_process_that_computes_an_answer_ends_with_a_query_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "endless.rq").write_text(ENDLESS)
    command = [sys.executable, "-m", "exporter", "query", str(tmp_path / "endless.rq"), "--graph", str(VALID)]
    with subprocess.Popen([*command, "--timeout", "600"], stderr=subprocess.DEVNULL) as query:
        child = working_child(query.pid)
        query.kill()
        wait_until_gone([child])


def test_a_process_that_watches_for_its_parent_late_ends_with_it() -> None:
    code = "from exporter.ask import worker; worker.confine(1 << 30); worker._end_with_parent()\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            time.sleep(1)
            process.stdin.close()
            assert process.wait(DEADLINE) == 1
        finally:
            process.kill()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(tmp_path: Path, by: signal.Signals) -> None:
    with served(tmp_path) as (server, address):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}health", timeout=10) as answer:
            assert json.load(answer) == {"status": "ok"}
        workers = children(server.pid)
        server.send_signal(by)
        assert server.wait(20) == 130
        assert server.stdout.read() == ""
        assert "Traceback" not in (said := server.stderr.read())
        assert "warning" not in said
        wait_until_gone(workers)


def test_the_queries_of_clients_that_have_left_are_ended(tmp_path: Path) -> None:
    """Six of them held both processes of /sparql and all places before them, for a minute."""
    with served(tmp_path) as (_, address):
        port = int(address.rstrip("/").rpartition(":")[2])
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(6)]
        for client in clients:
            client.sendall(f"GET /sparql?query={quote(ENDLESS)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(1)
        ask = f"{address}sparql?query={quote('ASK { ?a ?b ?c }')}"
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(ask, timeout=DEADLINE)
        for client in clients:
            client.close()
        began = time.monotonic()
        while True:
            with suppress(urllib.error.HTTPError), urllib.request.urlopen(ask, timeout=DEADLINE) as answer:
                assert json.load(answer)["boolean"] is True
                break
            assert time.monotonic() - began < DEADLINE
            time.sleep(0.1)
        assert time.monotonic() - began < DEADLINE


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_queries_run_whose_clients_have_left_it_says_nothing(tmp_path: Path, by: signal.Signals) -> None:
    with served(tmp_path) as (server, address):
        port = int(address.rstrip("/").rpartition(":")[2])
        for _ in range(7):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(f"GET /sparql?query={quote(ENDLESS)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(1)
        server.send_signal(by)
        assert server.wait(DEADLINE) == 130
        assert [line for line in server.stderr.read().splitlines() if "Making the store" not in line] == []


def test_an_address_that_others_can_reach_needs_a_login(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    assert cli.main(["serve", str(graph), "--host", "0.0.0.0", "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in ("--auth basic:FILE", "--auth header:NAME", "--no-auth"))


def test_without_a_login_there_is_a_warning(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0", "--no-auth") as (server, address):
        assert address.startswith("http://0.0.0.0:")
        server.send_signal(signal.SIGINT)
        assert "no login" in server.stderr.read()


def test_a_login_by_a_file_of_hashes(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(f"# who may read it\nana:{generate_password_hash('right: one')}\n")
    with served(tmp_path, "--host", "0.0.0.0", "--auth", f"basic:{users}") as (server, address):
        url = address.replace("0.0.0.0", "127.0.0.1") + "questions"

        def asked(name: str | None, password: str = "") -> int:
            request = urllib.request.Request(url)
            if name is not None:
                pair = base64.b64encode(f"{name}:{password}".encode()).decode()
                request.add_header("Authorization", f"Basic {pair}")
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code if "Basic " in error.headers["WWW-Authenticate"] else 0

        assert [asked(None), asked("ana", "wrong"), asked("bob", "right: one"), asked("ana", "")] == [401] * 4
        assert [asked("ana", "right: one"), asked("ana", "right: one")] == [200] * 2
        server.send_signal(signal.SIGINT)
        said = server.stderr.read()
        assert not [word for word in ("right", "scrypt", "wrong", "warning") if word in said]


def test_many_wrong_passwords_at_once_do_not_take_the_threads_of_the_pages(tmp_path: Path) -> None:
    """A check of a password takes long on purpose, here some 0.2 s. 30 at once would take all threads of the pages."""
    slow = generate_password_hash("right", "scrypt:32768:8:3")
    (tmp_path / "users").write_text(f"ana:{slow}\n")
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with sited(graph) as site:
        app = make(site, "127.0.0.1", check_of(f"basic:{tmp_path / 'users'}"))
        assert app.test_client().get("/questions", auth=("ana", "right")).status_code == 200
        answers = list[tuple[int, str | None]]()
        together = Barrier(31)

        def guess(number: int) -> None:
            together.wait()
            answer = app.test_client().get("/questions", auth=("ana", f"wrong {number}"))
            answers.append((answer.status_code, answer.headers.get("Retry-After")))

        guesses = [Thread(target=guess, args=(number,)) for number in range(30)]
        for one in guesses:
            one.start()
        together.wait()
        assert app.test_client().get("/questions", auth=("ana", "right")).status_code == 200
        for one in guesses:
            one.join()
        assert set(answers) == {(401, None), (503, "2")}
        assert app.test_client().get("/questions", auth=("ana", "wrong")).status_code == 401, "checked again afterwards"


def test_a_login_by_a_proxy(tmp_path: Path) -> None:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with sited(graph) as site:
        client = make(site, "0.0.0.0", check_of("header:X-Forwarded-User")).test_client()
        assert (
            client.get("/").status_code == client.get("/sparql", headers={"X-Forwarded-User": " "}).status_code == 403
        )
        for host in ("lineage.acme.example", "127.0.0.1"):
            assert client.get("/questions", headers={"X-Forwarded-User": "ana", "Host": host}).status_code == 200
        elsewhere = {"X-Forwarded-User": "ana", "Origin": "https://evil.example"}
        assert client.post("/sparql", data={"query": "ASK {}"}, headers=elsewhere).status_code == 403


def test_a_load_balancer_asks_for_health_without_a_login(tmp_path: Path) -> None:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    (tmp_path / "users").write_text(f"ana:{generate_password_hash('right')}\n")
    with sited(graph) as site:
        for auth in ("header:X-Forwarded-User", f"basic:{tmp_path / 'users'}"):
            client = make(site, "0.0.0.0", check_of(auth)).test_client()
            assert client.get("/health", headers={"Host": "10.0.0.7"}).json == {"status": "ok"}
            for path in ("/", "/sparql?query=ASK{}", "/.well-known/void", "/health/", "//health", "/static/style.css"):
                assert client.get(path).status_code in {401, 403}, path
            elsewhere = {"Origin": "https://evil.example"}
            assert client.post("/health", headers=elsewhere).status_code == 403


def test_settings_of_pages_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.ttl").write_bytes(VALID.read_bytes())
    for text, words in (("[serve]\nsensitive_tag = 'x'", "sensitive_tags"), ("serve = 1", "[serve]")):
        (tmp_path / "settings.toml").write_text(text)
        command = ["serve", str(tmp_path / "small.ttl"), "--port", "0", "--config", str(tmp_path / "settings.toml")]
        assert cli.main(command) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        ("basic:", "basic:FILE"),
        ("basic:nowhere", "nowhere"),
        ("basic:plain", "plain, line 2"),
        ("basic:empty", "has no user"),
        ("basic:/dev/zero", "it is a device"),
        ("basic:pipe", "nobody wrote and closed within 0 seconds"),
        ("header:host", "every client sends host"),
        ("header:User-Agent", "every client sends User-Agent"),
        ("header:X Y", "header:NAME"),
        ("ldap:x", "basic:FILE"),
        ("basic:ana:secret", "basic:FILE"),
        ("ana:secret", "basic:FILE"),
        ("secret", "basic:FILE"),
    ],
)
def test_a_login_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, auth: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    (tmp_path / "small.ttl").write_bytes(VALID.read_bytes())
    (tmp_path / "plain").write_text("# users\nana:secret\n")
    (tmp_path / "empty").write_text("# nobody\n")
    os.mkfifo(tmp_path / "pipe")
    assert cli.main(["serve", "small.ttl", "--port", "0", "--auth", auth]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "secret" not in told
    assert cli.main(["serve", "small.ttl", "--port", "0", "--auth", "header:X", "--no-auth"]) == 2


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["serve", str(graph), "--port", str(port)]) == 2
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_no_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str) -> None:
    (tmp_path / "empty").mkdir()
    assert cli.main(["serve", str(tmp_path / folder)]) == 2
    assert str(tmp_path / folder) in capsys.readouterr().err


def test_without_the_packages_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "exporter.serve.server", None)
    monkeypatch.setitem(sys.modules, "exporter.serve.server", None)
    monkeypatch.setattr("exporter.cli.folder._PACKAGES", {"serve": ("exporter",)})
    assert cli.main(["serve", str(tmp_path)]) == 2
    assert "pip install 'access-history-exporter[serve]'" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["no-such-folder", "empty"])
@pytest.mark.parametrize("command", [["serve"], ["mcp"], ["report", "--out", "report.html"]])
def test_where_there_is_no_graph_nothing_is_left(
    command: list[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert cli.main([command[0], folder, *command[1:]]) == 2
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]
