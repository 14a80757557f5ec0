"""``exporter serve``: how it starts and ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter import cli
from tests.graph.shape_graphs import VALID

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


def children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(tmp_path: Path, by: signal.Signals) -> None:
    with served(tmp_path) as (server, address):
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}health", timeout=10) as answer:
            assert json.load(answer) == {"status": "ok"}
        workers = [Path("/proc", pid) for pid in children(server.pid)]
        server.send_signal(by)
        assert server.wait(20) == 130
        assert server.stdout.read() == ""
        assert "Traceback" not in (said := server.stderr.read())
        assert "warning" not in said
        until = time.monotonic() + 60
        while [path for path in workers if path.exists()]:
            assert time.monotonic() < until, "a process of the server goes on"
            time.sleep(0.05)


def test_an_address_that_others_can_reach_causes_a_warning(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as (server, address):
        assert address.startswith("http://0.0.0.0:")
        server.send_signal(signal.SIGINT)
        assert "no login" in server.stderr.read()


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
    monkeypatch.setattr("exporter.cli.serve._PACKAGES", ("exporter",))
    assert cli.main(["serve", str(tmp_path)]) == 2
    assert "pip install 'access-history-exporter[serve]'" in capsys.readouterr().err
