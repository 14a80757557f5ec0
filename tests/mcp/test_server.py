"""``exporter mcp``: how it starts, what it writes where, whom it answers, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client, StdioServerParameters

from exporter import cli
from tests.graph.shape_graphs import VALID
from tests.mcp.asked import MODES
from tests.serve.test_command import DEADLINE, ENDLESS, children, wait_until_gone, working_child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]
PROGRAM: Final = (sys.executable, "-m", "exporter", "mcp")
HELLO: Final = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    file = tmp_path / "small.ttl"
    file.write_bytes(VALID.read_bytes())
    return file


@contextmanager
def started(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PROGRAM, *arguments], text=True, **pipes, **options) as server:
        try:
            yield server
        finally:
            server.kill()


def send(server: subprocess.Popen[str], message: Json) -> None:
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def call(tool: str, **arguments: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def greet(server: subprocess.Popen[str]) -> Json:
    send(server, HELLO)
    answer = json.loads(server.stdout.readline())
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return answer


# --- standard input and output ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_client_starts_it_and_asks(graph: Path, mode: str) -> None:
    async def ask() -> tuple[Any, ...]:
        server = StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], str(graph)])
        async with Client(server, mode=mode) as client:
            listed = await client.list_tools()
            resources = await client.list_resources()
            texts = [await client.read_resource(one.uri) for one in resources.resources]
            question = await client.read_resource("access-history://questions/writers")
            return listed, texts, question, await client.call_tool("about", {})

    listed, texts, question, answer = anyio.run(ask)
    assert "sparql" in {tool.name for tool in listed.tools}
    assert all(tool.annotations.read_only_hint for tool in listed.tools)
    assert len(texts) == 5
    assert all(len(text.contents[0].text) > 1_000 for text in texts)
    assert "PREFIX ah:" in question.contents[0].text
    assert answer.structured_content["columns"] == ["first", "last", "queries", "users", "objects"]


def test_standard_output_has_the_protocol_alone(graph: Path) -> None:
    """What the first start says about the store is on standard error. Others cannot read what it makes."""
    with started(str(graph), umask=0) as server:
        assert greet(server)["result"]["serverInfo"]["name"] == "access-history"
        send(server, call("user-history", limit=2))
        answer = json.loads(server.stdout.readline())
        assert answer["result"]["isError"] is False
        modes = {path.stat().st_mode & 0o077 for path in graph.parent.rglob("*") if path != graph}
        assert modes == {0}
        server.stdin.write("no JSON\n")
        server.stdin.flush()
        out, err = server.communicate(timeout=DEADLINE)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert server.returncode == 0
    assert "Making the store" in err
    assert "Traceback" not in err


def test_it_ends_when_the_client_goes_away_also_while_it_answers(graph: Path) -> None:
    with started(str(graph)) as server:
        greet(server)
        send(server, call("sparql", query=ENDLESS))
        child = working_child(server.pid)
        server.stdin.close()
        assert server.wait(DEADLINE) == 0
        wait_until_gone([child])
        assert server.stderr.read().count("\n") == 1, "about the store"


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_interrupted_also_while_it_answers(graph: Path, by: signal.Signals) -> None:
    with started(str(graph)) as server:
        greet(server)
        send(server, call("sparql", query=ENDLESS))
        child = working_child(server.pid)
        server.send_signal(by)
        assert server.wait(DEADLINE) == 130
        wait_until_gone([child])


def test_no_process_outlives_a_server_that_is_killed(graph: Path) -> None:
    with started(str(graph)) as server:
        greet(server)
        send(server, call("sparql", query=ENDLESS))
        child = working_child(server.pid)
        server.kill()
        wait_until_gone([child])


def test_no_graph_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", str(tmp_path / "none")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("exporter: ")


def test_without_its_packages_it_says_what_to_install(
    graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "exporter.mcp.server", raising=False)
    assert cli.main(["mcp", str(graph)]) == 2
    assert "pip install 'access-history-exporter[mcp]'" in capsys.readouterr().err


def test_it_needs_no_packages_of_the_pages() -> None:
    """The extra that its page says to install does not have them."""
    without = "import sys; sys.modules.update(dict.fromkeys(('flask', 'waitress', 'fast_sugiyama')))"
    subprocess.run([sys.executable, "-c", f"{without}; import exporter.mcp.server"], check=True)


# --- HTTP -------------------------------------------------------------------------------------------------------------


@contextmanager
def served(graph: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server and its address."""
    with started(str(graph), "--http", "--port", "0", *options) as server:
        yield server, server.stdout.readline().strip()


@pytest.fixture(scope="module")
def over_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("http") / "small.ttl"
    file.write_bytes(VALID.read_bytes())
    with served(file) as (_, address):
        yield address


@pytest.mark.parametrize("mode", MODES)
def test_clients_ask_by_http(over_http: str, mode: str) -> None:
    async def ask() -> Any:
        async with Client(over_http, mode=mode) as client:
            return await client.call_tool("about", {})

    assert anyio.run(ask).structured_content["rows"]


def posted(address: str, method: str = "POST", **headers: str) -> tuple[int, str]:
    """The status and the text of the answer to a greeting."""
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    data = json.dumps(HELLO).encode() if method == "POST" else None
    request = urllib.request.Request(address, data, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:1"])
def test_addresses_and_own_names_are_answered(over_http: str, host: str) -> None:
    assert posted(over_http, Host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_a_name_that_another_site_pointed_here_is_refused(over_http: str, host: str) -> None:
    status, text = posted(over_http, Host=host)
    assert (status, "Use its address or localhost" in text) == (421, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_pages_of_other_sites_are_refused(over_http: str, headers: dict[str, str]) -> None:
    assert posted(over_http, **headers)[0] == 403


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_other_methods_are_refused_at_once(over_http: str, method: str) -> None:
    assert posted(over_http, method)[0] == 405


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(over_http: str) -> None:
    place = urlsplit(over_http)
    connection = HTTPConnection(place.hostname, place.port, timeout=DEADLINE)
    connection.putrequest("POST", place.path)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(5 << 20))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(("by", "host"), [(signal.SIGINT, "0.0.0.0"), (signal.SIGTERM, "127.0.0.1")])
def test_the_http_server_ends_with_its_processes(graph: Path, by: signal.Signals, host: str) -> None:
    """Of an address that others can reach it has warned."""
    with served(graph, "--host", host) as (server, shown):
        assert shown.startswith(f"http://{host}:")
        assert shown.endswith("/mcp")
        address = shown.replace(host, "127.0.0.1")
        assert posted(address)[0] == 200
        assert posted(address, Host="evil.example")[0] == 421
        message = json.dumps(call("sparql", query=ENDLESS)).encode()
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        place = urlsplit(address)
        asking = HTTPConnection(place.hostname, place.port, timeout=DEADLINE)
        asking.request("POST", place.path, message, given)
        child = working_child(server.pid)
        workers = children(server.pid)
        server.send_signal(by)
        assert server.wait(DEADLINE) == 130
        wait_until_gone([child, *workers])
        asking.close()
        warning = "warning: other machines can reach 0.0.0.0. There is no login"
        assert (warning in server.stderr.read()) == (host == "0.0.0.0")


def test_an_address_that_is_taken_is_told(over_http: str, graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = str(urlsplit(over_http).port)
    assert cli.main(["mcp", str(graph), "--http", "--port", port]) == 2
    assert "give another --host or --port" in capsys.readouterr().err


def test_a_port_is_a_number(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp", str(graph), "--http", "--port", "many"]) == 2
    assert "many is not a port" in capsys.readouterr().err
