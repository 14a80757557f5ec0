"""The sender for HTTP: it keeps connections open, and uses the settings of the client's own HTTP transport.

A backend's answer decides what becomes of the event that was sent. Secrets of the client's settings are removed from
everything that is written or shown.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage.client.transport.async_http import AsyncHttpConfig
    from openlineage.client.transport.http import HttpConfig
    from urllib3.response import BaseHTTPResponse

_SECRET_KEY: Final = re.compile(r"auth|key|token|secret|passw|credential|header|cookie|sasl|jaas|bearer", re.IGNORECASE)
_NO_SECRET: Final = re.compile(r"message_?key|type$|endpoint|path$|method$|mechanism", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"//[^/@\s]+@")
_SHORTEST: Final = 4
"""A shorter value is not taken for a secret: to hide it would make every text unreadable."""
HIDDEN: Final = "***"


@dataclass(frozen=True)
class Secrets:
    """``values``: the secrets, longest first, in every encoding in which an answer may repeat them."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Any, environ: Mapping[str, str]) -> Secrets:
        """The values that may be secret in the settings (nested dicts and lists) and in OPENLINEAGE variables."""
        variables = {name: value for name, value in environ.items() if name.startswith("OPENLINEAGE")}
        texts = set(_secret_texts(settings, secret=False)) | set(_secret_texts(variables, secret=False))
        spellings = {spelling for value in texts for spelling in _spellings(value)}
        return cls(tuple(sorted((text for text in spellings if len(text) >= _SHORTEST), key=len, reverse=True)))

    def hide(self, text: str) -> str:
        """The text with ``***`` in the place of secrets."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return _USER_INFO.sub(f"//{HIDDEN}@", text)


def _secret_texts(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            is_secret = bool(_SECRET_KEY.search(str(key))) and not _NO_SECRET.search(str(key))
            yield from _secret_texts(item, secret=is_secret or (secret and not _NO_SECRET.search(str(key))))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_texts(item, secret=secret)
    elif isinstance(value, str):
        if secret:
            yield value
        yield from _secrets_in_json(value, secret=secret)
        yield from _secrets_in_address(value)


def _secrets_in_json(value: str, *, secret: bool) -> Iterator[str]:
    """The secrets in a text of JSON: environment variables can hold whole tables as JSON."""
    if value.lstrip().startswith(("{", "[")):
        try:
            yield from _secret_texts(json.loads(value), secret=secret)
        except ValueError:
            return


def _secrets_in_address(value: str) -> Iterable[str]:
    if "://" not in value:
        return ()
    try:
        parts = urlsplit(value)
        texts = [text for text in (parts.password, parts.username) if text]
        return [*texts, *(text for _, text in parse_qsl(parts.query))]
    except ValueError:
        return ()


def _spellings(value: str) -> Iterator[str]:
    plain = value.strip()
    yield from (value, plain, quote(plain, safe=""), quote_plus(plain), unquote(plain))
    yield from (json.dumps(value)[1:-1], repr(value)[1:-1])
    yield base64.b64encode(plain.encode()).decode()
    if plain.lower().startswith(("bearer ", "basic ")):
        yield plain.split(" ", 1)[1].strip()


def without_secrets(url: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class Kind(Enum):
    """TAKEN: delivered. REFUSED: the backend will never accept this event. MISPLACED: the address seems to accept no
    events at all. SICK: an error, which may pass, or may be the backend's way to refuse. SILENT: no connection, no
    answer in time, or a gateway that reports this. BUSY: the backend asks to send later. DENIED: it does not accept who
    sends. FORBIDDEN: the same, or it forbids this event alone, which only its answers to other events can show.
    """

    TAKEN = "taken"
    REFUSED = "refused"
    MISPLACED = "misplaced"
    SICK = "sick"
    SILENT = "silent"
    BUSY = "busy"
    DENIED = "denied"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True)
class BackendAnswer:
    """``text``: for people, without secrets. ``wait``: seconds that the backend asks to wait, None where it does
    not.
    """

    kind: Kind
    text: str = ""
    wait: float | None = None


TAKEN: Final = BackendAnswer(Kind.TAKEN)
_BY_STATUS: Final = {
    401: Kind.DENIED,
    403: Kind.FORBIDDEN,
    404: Kind.MISPLACED,
    405: Kind.MISPLACED,
    407: Kind.DENIED,
    408: Kind.SILENT,
    425: Kind.SILENT,
    429: Kind.BUSY,
    502: Kind.SILENT,
    503: Kind.SILENT,
    504: Kind.SILENT,
}
LONGEST_TEXT: Final = 500


def of_status(status: int, text: str, retry_after: str | None = None) -> BackendAnswer:
    """The answer for an HTTP status; ``text``: the response's body, of any length; ``retry_after``: its header."""
    wait = seconds(retry_after)
    if 200 <= status < 300:
        return TAKEN
    fallback = Kind.MISPLACED if status < 400 else Kind.REFUSED if status < 500 else Kind.SICK
    kind = _BY_STATUS.get(status, fallback)
    if status == 503 and wait is not None:
        kind = Kind.BUSY
    return BackendAnswer(kind, f"{status} {shortened(text)}".strip(), wait)


def shortened(text: str) -> str:
    """A backend's message on one line of limited length, without control characters."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text).strip()
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} …"


def seconds(retry_after: str | None, now: datetime | None = None) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110, 10.2.3: seconds or a date); None if it is invalid."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


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
        self._longest_wait = patience or READ
        self._url, self._headers = _split(address, dict(config.custom_headers))
        self._is_zipped = config.compression == HttpCompression.GZIP
        for name, value in self._headers.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(str(value)):
                raise UsageError(f"the OpenLineage client's custom_headers: {name!r} or its value {_NO_HEADER}")
        if self._is_zipped:
            self._headers["Content-Encoding"] = "gzip"
        self._pool = _pool(self._url, config, connections)

    def send(self, body: bytes) -> BackendAnswer:
        """One request. Does not raise for errors of the backend or the network."""
        headers = self._auth_headers()
        if isinstance(headers, BackendAnswer):
            return headers
        payload = gzip.compress(body, compresslevel=3) if self._is_zipped else body
        limit = self._limit(len(body))
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=payload,
                headers=headers,
                timeout=limit,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, OSError) as error:
            return self._of_error(error)
        return self._read(response, float(limit.read_timeout or READ))

    def _auth_headers(self) -> dict[str, str] | BackendAnswer:
        """The headers of a request; an answer of the kind DENIED where the settings give no usable token."""
        try:
            bearer = self._config.auth.get_bearer()
        except Exception as error:  # noqa: BLE001 - token providers may be anybody's
            return BackendAnswer(Kind.DENIED, self._secrets.hide(f"no token: {error}"))
        if bearer and not _VALUE.fullmatch(bearer):
            return BackendAnswer(Kind.DENIED, f"no token: what the settings give as one {_NO_HEADER}")
        return {"Authorization": bearer, **self._headers} if bearer else self._headers

    def _of_error(self, error: Exception) -> BackendAnswer:
        if isinstance(error, SSLError):
            hint = "check the certificate, or give sslContext.caCertPath in the settings"
            return BackendAnswer(Kind.DENIED, self._secrets.hide(f"TLS: {_message_of(error)}: {hint}"))
        return BackendAnswer(Kind.SILENT, self._secrets.hide(_message_of(error)))

    @property
    def has_marquez_api(self) -> bool:
        """Whether the address is one that Marquez' API could be read beside."""
        return self._url.endswith(_OF_MARQUEZ)

    def is_at(self, path: str) -> bool:
        """Whether the address ends with this path, so that the API beside it can be read."""
        return self._url.endswith(path)

    def read(
        self, path: Sequence[str], query: Mapping[str, str], beside: str = "/lineage", body: Any = None
    ) -> tuple[BackendAnswer, Any]:
        """One request for what a backend's API shows, by the same settings as events; ``path``: its parts, as they are,
        in the place of ``beside`` at the end of the address. ``body``: a question in JSON that is posted, None to get.
        The JSON is an empty object where the answer is not TAKEN. MISPLACED: it is not there.
        """
        headers = self._auth_headers()
        if isinstance(headers, BackendAnswer):
            return headers, {}
        address = "/".join((self._url.removesuffix(beside), *(quote(part, safe="") for part in path)))
        options: dict[str, Any] = {"headers": headers, "timeout": self._limit(0), "retries": False, "redirect": False}
        try:
            if body is None:
                answer = self._pool.request("GET", address, fields=dict(query), **options)
            else:
                payload = json.dumps(body).encode()
                answer = self._pool.request(
                    "POST", address, body=gzip.compress(payload) if self._is_zipped else payload, **options
                )
            if answer.status == 200:
                document = answer.json()
                if isinstance(document, dict | list):
                    return TAKEN, document
                return BackendAnswer(Kind.SICK, "no JSON object or list"), {}
            text = self._secrets.hide(answer.data.decode("utf-8", "replace"))
            return of_status(answer.status, text, answer.headers.get("Retry-After")), {}
        except ValueError:
            return BackendAnswer(Kind.SICK, "200 and no JSON"), {}
        except (HTTPError, OSError) as error:
            return self._of_error(error), {}

    def _limit(self, size: int) -> urllib3.Timeout:
        if self._timeout is not None:
            return urllib3.Timeout(connect=self._timeout, read=self._timeout)
        connect, read = min(CONNECT, self._longest_wait), min(READ, self._longest_wait)
        return urllib3.Timeout(connect=connect, read=read + size / _BYTES_A_SECOND)

    def _read(self, response: BaseHTTPResponse, limit: float) -> BackendAnswer:
        """The answer; the status counts, even if the rest of the response never arrives."""
        text, is_whole = _text(response, time.monotonic() + limit)
        if is_whole:
            response.release_conn()
        else:
            response.close()
        status, is_page = response.status, text.lstrip()[:9].lower().startswith(("<!doctype", "<html"))
        if 300 <= status < 400:
            location = without_secrets(response.headers.get("Location", "nowhere"))
            text = f"a redirect to {location}, not followed: give the address that takes events"
        elif 200 <= status < 300 and is_page:
            return BackendAnswer(Kind.MISPLACED, f"{status} and a web page: give the address of the API")
        elif 200 <= status < 300:
            status = _related_code(text)
            if status < 400:
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
        namespaces = self._json_at(address)
        if namespaces is None or isinstance(namespaces.get("namespaces"), list):
            return None if namespaces is None else True
        return (self._json_at(f"{address}/default") or {}).get("name") == "default"

    def _json_at(self, address: str) -> dict[str, Any] | None:
        """The JSON object at an address; empty where there is none, None without an answer."""
        try:
            bearer = self._config.auth.get_bearer()
            headers = {"Authorization": bearer, **self._headers} if bearer else self._headers
            timeout = min(_ASKING, self._longest_wait)
            limit = urllib3.Timeout(connect=timeout, read=timeout)
            answer = self._pool.request("GET", address, headers=headers, timeout=limit, retries=False, redirect=False)
            document = answer.json() if answer.status == 200 else None
        except (NewConnectionError, ProtocolError, TimeoutError):
            return None
        except Exception:  # noqa: BLE001 - token providers may be anybody's, and an answer may be anything: not Marquez
            return {}
        if answer.status in _AWAY:
            return None
        return document if isinstance(document, dict) else {}

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
        return urllib3.PoolManager(**options)
    proxy_url = proxy if "://" in proxy else f"http://{proxy}"
    parts = urlsplit(proxy_url)
    basic = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    headers = urllib3.make_headers(proxy_basic_auth=basic) if basic else None
    return urllib3.ProxyManager(proxy_url, proxy_headers=headers, **options)


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


def _related_code(text: str) -> int:
    """The status that Egeria gives in the body of its answers, which are all 200; 200 where there is none
    (docs/backends/egeria.md).
    """
    if '"relatedHTTPCode"' in text:
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(text)
            code = body.get("relatedHTTPCode") if isinstance(body, dict) else None
            if isinstance(code, int):
                return code
    return 200


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


def _message_of(error: Exception) -> str:
    """The message of a connection error, without the objects that urllib3 names in it."""
    text = str(error).rpartition(": ")[2]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
