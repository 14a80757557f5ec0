"""Spark Connect: what can be said before its client is asked, which calls a server that is not there for a quarter of
an hour.
"""

from __future__ import annotations

import os
import socket
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from exporter.errors import UsageError

_PORT: Final = 15002  # of a URL that names none: Spark's documentation, "Client Connection String"
_PATIENCE: Final = 10.0  # seconds
_PROXIES: Final = {"grpc", "http", "https"}
"""Where one is set, gRPC calls the server through it, and nothing is known without."""


def check() -> None:
    """Raise UsageError where nobody listens at the address that SPARK_REMOTE names."""
    remote = os.environ.get("SPARK_REMOTE", "")
    if not remote.startswith("sc://") or _PROXIES & getproxies().keys():
        return
    try:
        server = urlsplit(remote)
        host, port = server.hostname or "", server.port or _PORT
    except ValueError:  # Spark's own client says what is wrong with it
        return
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"Spark does not answer: nobody listens at {host}:{port}, which SPARK_REMOTE names ({error})"
        ) from None


def remedy(error: Exception) -> str:
    """What to do where the client's packages are not installed, after what PySpark said of it; else nothing."""
    if "PACKAGE_NOT_INSTALLED" not in str(error):
        return ""
    return " Spark Connect needs more packages: pip install 'access-history-exporter[connect]'"
