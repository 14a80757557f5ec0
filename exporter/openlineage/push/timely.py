"""Connections on which an answer has to be complete in time.

A timeout of a socket is that of one packet: a backend that sends a byte at a time is never too late. Here the whole
answer has a time, its status and headers too. It gets more of it only for what has come.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    import socket

    from typing_extensions import Buffer

BYTES_A_SECOND: Final = 50_000
"""A large event, and a large answer, gets one more second for each so many bytes."""


class _TimedSocket(io.RawIOBase):
    """What a socket receives, until the time of its timeout is over. Raises TimeoutError after it."""

    def __init__(self, socket: socket.socket, file: io.IOBase) -> None:
        self._socket, self._file = socket, file
        seconds = socket.gettimeout()
        self._until = None if seconds is None else time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left)
        count = self._socket.recv_into(memoryview(buffer))
        if self._until is not None:
            self._until += count / BYTES_A_SECOND
        return count

    def close(self) -> None:
        self._file.close()  # or the socket would stay open
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, socket: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(socket, *args, **options)
        self.fp = io.BufferedReader(_TimedSocket(socket, self.fp))


class _Connection(HTTPConnection):
    response_class = _TimedResponse


class _TlsConnection(HTTPSConnection):
    response_class = _TimedResponse


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


POOLS: Final[Mapping[str, type[HTTPConnectionPool]]] = {"http": _Pool, "https": _TlsPool}
"""For ``pool_classes_by_scheme`` of a PoolManager."""
