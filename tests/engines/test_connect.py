"""Spark Connect: a missing server or a missing client package is reported at once."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from exporter.engines import session
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "getproxies", dict)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def remote(server: socket.socket) -> str:
    return "sc://{}:{}".format(*server.getsockname())


def test_a_server_that_is_there_is_left_to_its_client(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", f"{remote(server)}/;user_id=me")
    session.check()


def test_a_server_that_is_not_there_is_named(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    host, port = server.getsockname()
    server.close()
    monkeypatch.setenv("SPARK_REMOTE", f"sc://{host}:{port}/;token=secret")
    with pytest.raises(UsageError, match=rf"no server listens at {host}:{port}, .*SPARK_REMOTE") as told:
        session.check()
    assert "secret" not in str(told.value)


def test_the_port_is_sparks_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], timeout: float) -> socket.socket:  # noqa: ARG001 - the socket's signature
        asked.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark.example/;use_ssl=true")
    with pytest.raises(UsageError, match=r"spark\.example:15002.*Connection refused"):
        session.check()
    assert asked == [("spark.example", 15002)]


@pytest.mark.parametrize("given", [None, "", "local[2]", "sc://host:port"])
def test_what_is_no_address_of_a_server_is_left_to_spark(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    if given is not None:
        monkeypatch.setenv("SPARK_REMOTE", given)
    session.check()


def test_behind_a_proxy_nothing_is_known(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", remote(server))
    server.close()
    monkeypatch.setattr(session, "getproxies", lambda: {"https": "http://proxy:3128"})
    session.check()


def test_missing_packages_are_reported_with_what_to_do() -> None:
    missing = ImportError("[PACKAGE_NOT_INSTALLED] grpcio >= 1.48.1 must be installed; however, it was not found.")
    assert "pip install 'access-history-exporter[connect]'" in session.remedy(missing)
    assert session.remedy(ImportError("another")) == ""
