"""Check the server of Spark Connect before its client is used: the client tries a missing server for 15 minutes."""

from __future__ import annotations

import os
import socket
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from exporter.errors import UsageError

_PORT: Final = 15002  # the default port: Spark's documentation, "Client Connection String"
_PATIENCE: Final = 10.0  # seconds
_PROXIES: Final = {"grpc", "http", "https"}
"""Schemes of proxies that gRPC uses; if one is set, the server cannot be checked directly."""


def check() -> None:
    """Raise UsageError if no server listens at the address in SPARK_REMOTE."""
    remote = os.environ.get("SPARK_REMOTE", "")
    if not remote.startswith("sc://") or _PROXIES & getproxies().keys():
        return
    try:
        server = urlsplit(remote)
        host, port = server.hostname or "", server.port or _PORT
    except ValueError:  # Spark's own client reports what is wrong with it
        return
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"Spark does not answer: no server listens at {host}:{port}, the address in SPARK_REMOTE ({error})"
        ) from None


def remedy(error: Exception) -> str:
    """What to do if PySpark's error says that packages of the client are missing; empty for other errors."""
    if "PACKAGE_NOT_INSTALLED" not in str(error):
        return ""
    return " Spark Connect needs more packages: pip install 'access-history-exporter[connect]'"
