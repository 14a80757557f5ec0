"""The sender for HTTP: it keeps connections open, and uses the settings of the client's own HTTP transport.

An answer has to be complete in time. A timeout of a socket is that of one packet: a backend that sends a byte at a time
is never too late. Here the whole answer has a time, its status and headers too. It gets more of it only for what has
come.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

import urllib3
from openlineage.client.transport.http import HttpCompression
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import DecodeError, HTTPError, InsecureRequestWarning, LocationParseError, SSLError
from urllib3.exceptions import TimeoutError as TimeoutException

from exporter.backends.secrecy import TAKEN, AnswerKind, BackendAnswer, Secrets, of_status
from exporter.errors import UsageError
from exporter.version import __version__

if TYPE_CHECKING:
    import socket

    from openlineage.client.transport.async_http import AsyncHttpConfig
    from openlineage.client.transport.http import HttpConfig
    from typing_extensions import Buffer
    from urllib3.response import BaseHTTPResponse

# --- connections ------------------------------------------------------------------------------------------------------


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


# --- the sender -------------------------------------------------------------------------------------------------------


CONNECT: Final = 10.0
READ: Final = 30.0
"""Seconds, where the settings give none. The client's own 5 are too few: a Marquez took 12 for one event."""
MARQUEZ_PATH: Final = "/api/v1/lineage"
"""Where the address for a Marquez ends; that of others may, too."""
_ASKING: Final = 5.0
"""Seconds to find out what the backend is."""
_LONGEST_ANSWER: Final = 4 << 20
"""Bytes of an answer to an event that are read: what it says of the event may stand behind a long list."""
_LONGEST_ERROR: Final = 1 << 16
"""Bytes of an answer of which only the beginning is shown."""
_LONGEST_DOCUMENT: Final = 64 << 20
"""Bytes of a document of the backend's API; a longer one is not read."""
_NAME: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""The valid names and values of headers: RFC 9110, 5.1 and 5.5."""
_NO_HEADER: Final = "has characters that are not allowed in a header; look for line breaks, quotes, dashes"


class HttpSender:
    """Posts events. ``timeout``: seconds from the settings, None where they give none. ``patience``: of the user, in
    seconds; an answer is not waited for any longer, except where it is 0, which asks for no further tries.

    Raises UsageError for invalid headers in the settings.
    """

    parallel = True

    def __init__(  # noqa: PLR0913, PLR0917 - where to, and how long
        self,
        address: str,
        config: HttpConfig | AsyncHttpConfig,
        timeout: float | None,
        connections: int,
        secrets: Secrets,
        patience: float = 0,
    ) -> None:
        self._config, self._timeout, self.secrets = config, timeout, secrets
        self._longest_wait = patience or READ
        self._url, self._headers = _split(address, dict(config.custom_headers))
        self._is_zipped = config.compression == HttpCompression.GZIP
        for name, value in self._headers.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(str(value)):
                raise UsageError(f"the OpenLineage client's custom_headers: {name!r} or its value {_NO_HEADER}")
        self._pool = _pool(self._url, config, connections)

    def send(self, body: bytes) -> BackendAnswer:
        """One request. Does not raise for errors of the backend or the network."""
        limit = self._limit(len(body))
        response = self._response("POST", self._url, limit, body)
        if isinstance(response, BackendAnswer):
            return response
        status = response.status
        if 200 <= status < 300:
            return self._of_success(response, limit)
        return self._of_status(response, status, _beginning(response, limit))

    def _of_success(self, response: BaseHTTPResponse, limit: urllib3.Timeout) -> BackendAnswer:
        """What an answer with a status of success says: it can be a refusal."""
        status = response.status
        content, end = _content(response, limit, _LONGEST_ANSWER)
        if end is _End.BROKEN:
            return BackendAnswer(AnswerKind.SILENT, f"{status}, and the connection broke off within the answer")
        text = _decoded(content)
        if text.lstrip()[:9].lower().startswith(("<!doctype", "<html")):
            return BackendAnswer(AnswerKind.MISPLACED, f"{status} and a web page: give the address of the API")
        related, outcome = _in_body(text)
        if related >= 400:
            return self._of_status(response, related, text[:_LONGEST_ERROR])
        if outcome:
            return BackendAnswer(outcome, f"{status} {self.secrets.shown(text[:_LONGEST_ERROR])}")
        unseen = "" if end is _End.WHOLE else f"{status}, and what the answer says was not seen: {end.value}"
        return BackendAnswer(AnswerKind.TAKEN, unseen)

    def _of_status(self, response: BaseHTTPResponse, status: int, text: str) -> BackendAnswer:
        headers = response.headers
        return of_status(status, text, headers.get("Retry-After"), self.secrets, headers.get("Location"))

    def _response(
        self, method: str, address: str, limit: urllib3.Timeout, body: bytes | None = None, **options: Any
    ) -> BaseHTTPResponse | BackendAnswer:
        """The response to a request, whatever its status, without its body; or why there is none."""
        try:
            bearer = self._config.auth.get_bearer()
        except Exception as error:  # noqa: BLE001 - token providers may be anybody's
            return BackendAnswer(AnswerKind.DENIED, f"no token: {self.secrets.shown(str(error))}")
        if bearer and not _VALUE.fullmatch(bearer):
            return BackendAnswer(AnswerKind.DENIED, f"no token: what the settings give as one {_NO_HEADER}")
        self.secrets.add(bearer or "")  # a token endpoint may have given it just now
        headers = {"Authorization": bearer, **self._headers} if bearer else self._headers
        if body is not None and self._is_zipped:
            body, headers = gzip.compress(body, compresslevel=3), {**headers, "Content-Encoding": "gzip"}
        options |= {"body": body, "headers": headers, "timeout": limit, "retries": False, "redirect": False}
        options["preload_content"] = False
        try:
            return self._pool.request(method, address, **options)
        except SSLError as error:
            hint = "check the certificate, or give sslContext.caCertPath in the settings"
            return BackendAnswer(AnswerKind.DENIED, f"TLS: {self._message_of(error)}: {hint}")
        except (HTTPError, OSError) as error:
            return BackendAnswer(AnswerKind.SILENT, self._message_of(error))

    def _message_of(self, error: Exception) -> str:
        """The message of a connection error, without the objects that urllib3 names in it, and the errors around it."""
        cause: BaseException = error
        while cause.args and isinstance(cause.args[-1], BaseException):
            cause = cause.args[-1]
        text = self.secrets.shown(str(cause).rpartition(": ")[2])
        return f"{type(error).__name__}: {text}" if text else type(error).__name__

    def _limit(self, size: int) -> urllib3.Timeout:
        if self._timeout is not None:
            return urllib3.Timeout(connect=self._timeout, read=self._timeout)
        connect, read = min(CONNECT, self._longest_wait), min(READ, self._longest_wait)
        return urllib3.Timeout(connect=connect, read=read + size / BYTES_A_SECOND)

    def is_at(self, path: str) -> bool:
        """Whether the address ends with this path, so that the API beside it can be read."""
        return self._url.endswith(path)

    def read(
        self,
        path: Sequence[str],
        query: Mapping[str, str],
        beside: str,
        body: Any = None,
        limit: urllib3.Timeout | None = None,
    ) -> tuple[BackendAnswer, Any]:
        """One request for what a backend's API shows, by the same settings as events; ``path``: its parts, as they are,
        in the place of ``beside`` at the end of the address. ``body``: a question in JSON that is posted, None to get.
        The JSON is an empty object where the answer is not TAKEN. MISPLACED: it is not there.
        """
        address = "/".join((self._url.removesuffix(beside), *(quote(part, safe="") for part in path)))
        limit = limit or self._limit(0)
        if body is None:
            response = self._response("GET", address, limit, fields=dict(query))
        else:
            response = self._response("POST", address, limit, json.dumps(body).encode())
        if isinstance(response, BackendAnswer):
            return response, {}
        if response.status != 200:
            return self._of_status(response, response.status, _beginning(response, limit)), {}
        return _document(*_content(response, limit, _LONGEST_DOCUMENT))

    def is_marquez(self) -> bool | None:
        """Whether the backend answers as Marquez does: its API has namespaces beside the address for events. Its events
        go to the same path as those of other backends, so the address alone does not show it. None: no answer.

        It cannot list them any more once anybody sent it a namespace that it refuses; then the one that every Marquez
        has shows it.
        """
        if not self.is_at(MARQUEZ_PATH):
            return False
        timeout = min(_ASKING, self._longest_wait)
        limit = urllib3.Timeout(connect=timeout, read=timeout)
        answer, namespaces = self.read(["namespaces"], {}, "/lineage", limit=limit)
        if answer.kind in (AnswerKind.SILENT, AnswerKind.BUSY):
            return None
        if isinstance(namespaces, dict) and isinstance(namespaces.get("namespaces"), list):
            return True
        _, namespace = self.read(["namespaces", "default"], {}, "/lineage", limit=limit)
        return isinstance(namespace, dict) and namespace.get("name") == "default"

    def close(self) -> str | None:
        """Closes the connections; no request is pending."""
        self._pool.clear()
        return None


def _split(address: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The address without user and password, and the headers, with these two as basic authentication."""
    parts = urlsplit(address)
    standard = {"Content-Type": "application/json", "User-Agent": f"access-history-exporter/{__version__}"}
    if parts.username and not any(name.lower() == "authorization" for name in headers):
        basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        standard |= {name.title(): value for name, value in urllib3.make_headers(basic_auth=basic).items()}
    netloc = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=netloc).geturl(), {**standard, **headers}


def _pool(url: str, config: HttpConfig | AsyncHttpConfig, connections: int) -> urllib3.PoolManager:
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


def _in_body(text: str) -> tuple[int, AnswerKind | None]:
    """What a body says that comes with a status of success: the status that Egeria gives in it (its answers are all
    200; 200 where there is none; docs/backends/egeria.md), and of OpenMetadata whether the event made no edge, or not
    all, as it does not know some dataset; None where it says no such thing (docs/backends/openmetadata.md).
    """
    match = _STATUS.match(text)  # also where the rest of a long list of datasets is missing
    outcome = _OUTCOMES.get(match[1].lower()) if match else None
    if '"relatedHTTPCode"' in text or '"status"' in text:
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(text)
            if isinstance(body, list) and len(body) == 1:
                body = body[0]
            if isinstance(body, dict):
                code = body.get("relatedHTTPCode")
                outcome = _OUTCOMES.get(str(body.get("status")).lower())
                return code if isinstance(code, int) else 200, outcome
    return 200, outcome


_STATUS: Final = re.compile(r'\s*\{\s*"status"\s*:\s*"(\w+)"')
_OUTCOMES: Final = {
    **dict.fromkeys(("failure", "failed", "error"), AnswerKind.REFUSED),
    "partial_success": AnswerKind.TAKEN,
}


class _End(Enum):
    """How the reading of a body ended, in words. WHOLE: it was read to its end. BROKEN: the connection broke before."""

    WHOLE = "it is whole"
    BROKEN = "the connection broke off"
    LONG = "it is longer than is read"
    LATE = "it does not come to its end in time"
    UNREADABLE = "it is not packed as its headers say"


def _document(content: bytes, end: _End) -> tuple[BackendAnswer, Any]:
    """The answer that the body of a response is, and its JSON, an object or a list; else an empty object."""
    if end is _End.LONG:
        return BackendAnswer(AnswerKind.ERROR, f"200 and more than {_LONGEST_DOCUMENT >> 20} MiB"), {}
    if end in (_End.BROKEN, _End.LATE):
        return BackendAnswer(AnswerKind.SILENT, "the answer does not come to its end"), {}
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return BackendAnswer(AnswerKind.ERROR, "200 and no JSON"), {}
    if isinstance(document, dict | list):
        return TAKEN, document
    return BackendAnswer(AnswerKind.ERROR, "no JSON object or list"), {}


def _beginning(response: BaseHTTPResponse, limit: urllib3.Timeout) -> str:
    """The beginning of the body, for a status that counts even if the rest never arrives."""
    return _decoded(_content(response, limit, _LONGEST_ERROR)[0])


def _decoded(content: bytes) -> str:
    """The text, in UTF-8, UTF-16 or UTF-32, as its first bytes show, with or without a byte order mark."""
    return content.decode(json.detect_encoding(content), "replace")


def _content(response: BaseHTTPResponse, limit: urllib3.Timeout, most: int) -> tuple[bytes, _End]:
    """The first ``most`` bytes of the body, and how their reading ended. It stops when its time is over, however slow
    the body comes. The connection is used again if all was read, else closed.
    """
    until = time.monotonic() + float(limit.read_timeout or READ)
    chunks: list[bytes] = []
    size, end = 0, _End.LONG
    try:
        while size < most:
            if time.monotonic() >= until + size / BYTES_A_SECOND:
                end = _End.LATE
                break
            chunk = response.read1(most - size)
            if not chunk:
                response.release_conn()
                return b"".join(chunks), _End.WHOLE
            chunks.append(chunk)
            size += len(chunk)
    except DecodeError:
        end = _End.UNREADABLE
    except (TimeoutError, TimeoutException):
        end = _End.LATE
    except (HTTPError, OSError):
        end = _End.BROKEN
    response.close()
    return b"".join(chunks), end
