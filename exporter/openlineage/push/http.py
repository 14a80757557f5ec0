"""The sender for HTTP: it keeps connections open, and uses the settings of the client's own HTTP transport."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
from openlineage.client.transport.http import HttpCompression
from requests.utils import DEFAULT_CA_BUNDLE_PATH, get_environ_proxies, select_proxy
from urllib3.exceptions import (
    HTTPError,
    InsecureRequestWarning,
    NewConnectionError,
    ProtocolError,
    SSLError,
    TimeoutError,  # noqa: A004 - urllib3's own
)

from exporter import __version__
from exporter.errors import UsageError
from exporter.openlineage.push.answers import TAKEN, Answer, Kind, of_status
from exporter.openlineage.push.secrets import without_secrets

if TYPE_CHECKING:
    from openlineage.client.transport.async_http import AsyncHttpConfig
    from openlineage.client.transport.http import HttpConfig
    from urllib3.response import BaseHTTPResponse

    from exporter.openlineage.push.secrets import Secrets

CONNECT: Final = 10.0
READ: Final = 30.0
"""Seconds, where the settings give none. The client's own 5 are too few: a Marquez took 12 for one event."""
_OF_MARQUEZ: Final = "/api/v1/lineage"
_BYTES_A_SECOND: Final = 50_000
"""A large event gets one more second for each so many bytes."""
_ASKING: Final = 5.0
"""Seconds to find out what the backend is."""
_AWAY: Final = (502, 503, 504)
"""What a gateway answers while the backend behind it does not."""
_LONGEST_ANSWER: Final = 1 << 16
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
        self._config, self._timeout, self._secrets = config, timeout, secrets
        self._longest = patience or READ
        self._url, self._headers = _split(address, dict(config.custom_headers))
        self._is_zipped = config.compression == HttpCompression.GZIP
        for name, value in self._headers.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(str(value)):
                raise UsageError(f"the OpenLineage client's custom_headers: {name!r} or its value {_NO_HEADER}")
        if self._is_zipped:
            self._headers["Content-Encoding"] = "gzip"
        self._pool = _pool(self._url, config, connections)

    def send(self, body: bytes) -> Answer:
        """One request. Does not raise for errors of the backend or the network."""
        try:
            bearer = self._config.auth.get_bearer()
        except Exception as error:  # noqa: BLE001 - token providers may be anybody's
            return Answer(Kind.DENIED, self._secrets.hide(f"no token: {error}"))
        if bearer and not _VALUE.fullmatch(bearer):
            return Answer(Kind.DENIED, f"no token: what the settings give as one {_NO_HEADER}")
        headers = {"Authorization": bearer, **self._headers} if bearer else self._headers
        sent = gzip.compress(body, compresslevel=3) if self._is_zipped else body
        limit = self._limit(len(body))
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=sent,
                headers=headers,
                timeout=limit,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except SSLError as error:
            hint = "check the certificate, or give sslContext.caCertPath in the settings"
            return Answer(Kind.DENIED, self._secrets.hide(f"TLS: {_words(error)}: {hint}"))
        except (HTTPError, OSError) as error:
            return Answer(Kind.SILENT, self._secrets.hide(_words(error)))
        return self._read(response, float(limit.read_timeout or READ))

    def _limit(self, size: int) -> urllib3.Timeout:
        if self._timeout is not None:
            return urllib3.Timeout(connect=self._timeout, read=self._timeout)
        connect, read = min(CONNECT, self._longest), min(READ, self._longest)
        return urllib3.Timeout(connect=connect, read=read + size / _BYTES_A_SECOND)

    def _read(self, response: BaseHTTPResponse, limit: float) -> Answer:
        """The answer; the status counts, even if the rest of the response never arrives."""
        text, is_whole = _text(response, time.monotonic() + limit)
        if is_whole:
            response.release_conn()
        else:
            response.close()
        status, is_page = response.status, text.lstrip()[:9].lower().startswith(("<!doctype", "<html"))
        if 300 <= status < 400:
            to = without_secrets(response.headers.get("Location", "nowhere"))
            text = f"a redirect to {to}, not followed: give the address that takes events"
        elif 200 <= status < 300 and is_page:
            return Answer(Kind.MISPLACED, f"{status} and a web page: give the address of the API")
        elif 200 <= status < 300:
            return TAKEN
        return of_status(status, self._secrets.hide(text), response.headers.get("Retry-After"))

    def is_marquez(self) -> bool | None:
        """Whether the backend answers as Marquez does: its API has namespaces beside the address for events. Its events
        go to the same path as those of other backends, so the address alone does not show it. None: no answer.

        It cannot list them any more once anybody sent it a namespace that it refuses; then the one that every Marquez
        has shows it.
        """
        if not self._url.endswith(_OF_MARQUEZ):
            return False
        address = f"{self._url.removesuffix('/lineage')}/namespaces"
        listed = self._told(address)
        if listed is None or isinstance(listed.get("namespaces"), list):
            return None if listed is None else True
        return (self._told(f"{address}/default") or {}).get("name") == "default"

    def _told(self, address: str) -> dict[str, Any] | None:
        """The JSON object at an address; empty where there is none, None without an answer."""
        try:
            bearer = self._config.auth.get_bearer()
            headers = {"Authorization": bearer, **self._headers} if bearer else self._headers
            asking = min(_ASKING, self._longest)
            limit = urllib3.Timeout(connect=asking, read=asking)
            answer = self._pool.request("GET", address, headers=headers, timeout=limit, retries=False, redirect=False)
            told = answer.json() if answer.status == 200 else None
        except (NewConnectionError, ProtocolError, TimeoutError):
            return None
        except Exception:  # noqa: BLE001 - token providers may be anybody's, and an answer may be anything: not Marquez
            return {}
        if answer.status in _AWAY:
            return None
        return told if isinstance(told, dict) else {}

    def close(self) -> str | None:
        """Closes the connections; no request is pending."""
        self._pool.clear()
        return None


def _split(address: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The address without user and password, and the headers, with these two as basic authentication."""
    parts = urlsplit(address)
    told = {"Content-Type": "application/json", "User-Agent": f"access-history-exporter/{__version__}"}
    if parts.username and not any(name.lower() == "authorization" for name in headers):
        basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        told |= {name.title(): value for name, value in urllib3.make_headers(basic_auth=basic).items()}
    netloc = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=netloc).geturl(), {**told, **headers}


def _pool(url: str, config: HttpConfig | AsyncHttpConfig, connections: int) -> urllib3.PoolManager:
    """Connections by the settings, through the proxy that the environment has for this address, if any."""
    options: dict[str, Any] = {"maxsize": connections, "block": False, **_tls(config)}
    proxies: dict[str, str] = dict(get_environ_proxies(url))
    proxy = select_proxy(url, proxies)
    if not proxy:
        return urllib3.PoolManager(**options)
    named = proxy if "://" in proxy else f"http://{proxy}"
    parts = urlsplit(named)
    basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    headers = urllib3.make_headers(proxy_basic_auth=basic) if basic else None
    return urllib3.ProxyManager(named, proxy_headers=headers, **options)


def _tls(config: HttpConfig | AsyncHttpConfig) -> dict[str, Any]:
    """Certificates are checked unless the settings say ``verify: false``."""
    context = getattr(config, "ssl_context", None)
    told: dict[str, Any] = {}
    if context and context.client_cert_path:
        told = {"cert_file": context.client_cert_path, "key_file": context.client_key_path}
    authorities = context.ca_cert_path if context and context.ca_cert_path else config.verify
    if authorities is False:
        urllib3.disable_warnings(InsecureRequestWarning)
        return {**told, "cert_reqs": "CERT_NONE"}
    if not isinstance(authorities, str):
        authorities = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or DEFAULT_CA_BUNDLE_PATH
    folder = os.path.isdir(authorities)  # noqa: PTH112 - it may be any text
    return {**told, "cert_reqs": "CERT_REQUIRED", "ca_cert_dir" if folder else "ca_certs": authorities}


def _text(response: BaseHTTPResponse, until: float) -> tuple[str, bool]:
    """The beginning of the body, and whether it is complete. Reading stops at the time ``until``, however slow it
    is.
    """
    chunks: list[bytes] = []
    size = 0
    with contextlib.suppress(HTTPError, OSError):
        while size < _LONGEST_ANSWER and time.monotonic() < until:
            chunk = response.read1(_LONGEST_ANSWER - size)
            if not chunk:
                return b"".join(chunks).decode("utf-8", "replace"), True
            chunks.append(chunk)
            size += len(chunk)
    return b"".join(chunks).decode("utf-8", "replace"), False


def _words(error: Exception) -> str:
    """The message of a connection error, without the objects that urllib3 names in it."""
    words = str(error).rpartition(": ")[2]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
