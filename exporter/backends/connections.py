"""Connections by HTTP, for events and for tokens, and the reading of answers, which have to be whole and in time.

A timeout of a socket is that of one packet: a backend that sends a byte at a time is never too late. Here the whole
answer has a time, its status and headers too. Its body gets more of it only for what has come. An answer that breaks
off is a broken connection, wherever it does; one that is only of the time before (102, 103) is read over.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from enum import Enum
from http.client import HTTPResponse, RemoteDisconnected
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import DecodeError, HTTPError, InsecureRequestWarning, LocationParseError
from urllib3.exceptions import TimeoutError as TimeoutException

from exporter.errors import UsageError

if TYPE_CHECKING:
    import socket

    from openlineage.client.transport.async_http import AsyncHttpConfig
    from openlineage.client.transport.http import HttpConfig
    from typing_extensions import Buffer
    from urllib3.response import BaseHTTPResponse

READ: Final = 30.0
"""Seconds in which an answer has to come, where the settings give none. The client's own 5 are too few: a Marquez took
12 for one event.
"""
BYTES_A_SECOND: Final = 50_000
"""A large event, and a large answer, gets one more second for each so many bytes."""


class _TimedSocket(io.RawIOBase):
    """What a socket receives, until the time of its timeout is over. Raises TimeoutError after it. ``is_body``: from
    now on, what comes gives it more time. ``has_ended``: nothing more can come.
    """

    def __init__(self, socket: socket.socket, file: io.IOBase) -> None:
        self._socket, self._file = socket, file
        self.is_body, self.has_ended = False, False
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
        self.has_ended = not count
        if self._until is not None and self.is_body:
            self._until += count / BYTES_A_SECOND
        return count

    def close(self) -> None:
        self._file.close()  # or the socket would stay open
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, socket: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(socket, *args, **options)
        self._timed = _TimedSocket(socket, self.fp)
        self.fp = io.BufferedReader(self._timed)

    def begin(self) -> None:
        """Reads the status and the headers of the final answer (RFC 9110, 15.2: others can come before it; Python reads
        over 100 alone). Lines are read as they come, so the end is only met where one is missing.
        """
        super().begin()
        while 100 <= self.status < 200 and not self._timed.has_ended:
            self.headers = self.msg = None  # type: ignore[assignment] # as it is before the first begin()
            super().begin()
        if self._timed.has_ended:
            raise RemoteDisconnected("the connection broke off within the status or the headers of an answer")
        self._timed.is_body = True


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


def pool(url: str, config: HttpConfig | AsyncHttpConfig, connections: int) -> urllib3.PoolManager:
    """Connections by the settings, through the proxy that the environment has for this address, if any."""
    options: dict[str, Any] = {"maxsize": connections, "block": False, **_tls(config)}
    proxies: dict[str, str] = dict(get_environ_proxies(url))
    proxy = select_proxy(url, proxies)
    if not proxy:
        return _timely(urllib3.PoolManager(**options))
    proxy_url = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(proxy_url)
        urllib3.util.parse_url(proxy_url)
        is_usable = parts.port != 0 and parts.scheme in {"http", "https"} and bool(parts.hostname)
    except (ValueError, LocationParseError):
        is_usable = False
    if not is_usable:  # it may have a user and a password, so it is not shown
        raise UsageError(
            "the proxy of the environment (http_proxy, https_proxy, all_proxy) cannot be used: its address has to be "
            "http://HOST:PORT or https://HOST:PORT; in a user and a password, /, #, ? and @ are percent-encoded"
        )
    basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    headers = urllib3.make_headers(proxy_basic_auth=basic) if basic else None
    return _timely(urllib3.ProxyManager(proxy_url, proxy_headers=headers, **options))


def _timely(manager: urllib3.PoolManager) -> urllib3.PoolManager:
    manager.pool_classes_by_scheme = dict(POOLS)
    return manager


def _tls(config: HttpConfig | AsyncHttpConfig) -> dict[str, Any]:
    """Certificates are checked unless the settings say ``verify: false``."""
    context = getattr(config, "ssl_context", None)
    certificate: dict[str, Any] = {}
    if context and context.client_cert_path:
        certificate = {"cert_file": context.client_cert_path, "key_file": context.client_key_path}
    authorities = context.ca_cert_path if context and context.ca_cert_path else config.verify
    if authorities is False:
        urllib3.disable_warnings(InsecureRequestWarning)
        return {**certificate, "cert_reqs": "CERT_NONE"}
    if not isinstance(authorities, str):
        authorities = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or DEFAULT_CA_BUNDLE_PATH
    folder = os.path.isdir(authorities)  # noqa: PTH112 - it may be any text
    return {**certificate, "cert_reqs": "CERT_REQUIRED", "ca_cert_dir" if folder else "ca_certs": authorities}


def words_of(error: Exception) -> str:
    """A connection error in words, without the objects that urllib3 names in it, and the errors around it."""
    cause: BaseException = error
    while cause.args and isinstance(cause.args[-1], BaseException):
        cause = cause.args[-1]
    text = str(cause).rpartition(": ")[2]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class End(Enum):
    """How the reading of a body ended, in words. WHOLE: it was read to its end. BROKEN: the connection broke before."""

    WHOLE = "it is whole"
    BROKEN = "the connection broke off"
    LONG = "it is longer than is read"
    LATE = "it does not come to its end in time"
    UNREADABLE = "it is not packed as its headers say"


def content_of(response: BaseHTTPResponse, limit: urllib3.Timeout, most: int) -> tuple[bytes, End]:
    """The first ``most`` bytes of the body, and how their reading ended. It stops when its time is over, however slow
    the body comes. The connection is used again if all was read, else closed.
    """
    until = time.monotonic() + float(limit.read_timeout or READ)
    chunks: list[bytes] = []
    size, end = 0, End.LONG
    try:
        while size < most:
            if time.monotonic() >= until + size / BYTES_A_SECOND:
                end = End.LATE
                break
            chunk = response.read1(most - size)
            if not chunk:
                response.release_conn()
                return b"".join(chunks), End.WHOLE
            chunks.append(chunk)
            size += len(chunk)
    except DecodeError:
        end = End.UNREADABLE
    except (TimeoutError, TimeoutException):
        end = End.LATE
    except (HTTPError, OSError):
        end = End.BROKEN
    response.close()
    return b"".join(chunks), end
