"""The sender for HTTP: it keeps connections open, and uses the settings of the client's own HTTP transport."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit

import urllib3
from openlineage.client.transport.http import HttpCompression
from urllib3.exceptions import HTTPError, SSLError

from exporter.backends.connections import BYTES_A_SECOND, READ, End, content_of, pool, words_of
from exporter.backends.secrecy import TAKEN, AnswerKind, BackendAnswer, Secrets, of_status
from exporter.backends.tokens import EndpointTokens, NoToken
from exporter.errors import UsageError
from exporter.version import __version__

if TYPE_CHECKING:
    from openlineage.client.transport.async_http import AsyncHttpConfig
    from openlineage.client.transport.http import HttpConfig
    from urllib3.response import BaseHTTPResponse

CONNECT: Final = 10.0
"""Seconds, where the settings give none."""
MARQUEZ_PATH: Final = "/api/v1/lineage"
"""Where the address for a Marquez ends; that of others may, too."""
_SERVER_ERROR, _NOT_IMPLEMENTED = 500, 501
"""From the first one on the backend itself failed, which says nothing of what it is; but the second is of one that has
no GET (RFC 9110, 15.6).
"""
_ASKING: Final = 5.0
"""Seconds to find out what the backend is."""
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons, of several versions, where the answer is no record of TLS."""
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
        self._pool = pool(self._url, config, connections)

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
        content, end = content_of(response, limit, _LONGEST_ANSWER)
        if end is End.BROKEN:
            return BackendAnswer(AnswerKind.SILENT, f"{status}, and the connection broke off within the answer")
        text = _decoded(content)
        if text.lstrip()[:9].lower().startswith(("<!doctype", "<html")):
            return BackendAnswer(AnswerKind.MISPLACED, f"{status} and a web page: give the address of the API")
        related, outcome, is_read = _in_body(text)
        if related >= 400:
            return self._of_status(response, related, text[:_LONGEST_ERROR])
        if outcome:
            return BackendAnswer(outcome, f"{status} {self.secrets.shown(text[:_LONGEST_ERROR])}")
        why = end.value if end is not End.WHOLE else "" if is_read else "its JSON cannot be read"
        unseen = f"{status}, and what the answer says was not seen: {why}" if why else ""
        return BackendAnswer(AnswerKind.TAKEN, unseen)

    def _of_status(self, response: BaseHTTPResponse, status: int, text: str) -> BackendAnswer:
        headers = response.headers
        return of_status(status, text, headers.get("Retry-After"), self.secrets, headers.get("Location"))

    def _response(
        self, method: str, address: str, limit: urllib3.Timeout, body: bytes | None = None, **options: Any
    ) -> BaseHTTPResponse | BackendAnswer:
        """The response to a request, whatever its status, without its body; or why there is none. After 401 to a token
        that has served, the request is sent once more, with another one.
        """
        bearer, tokens = self._bearer(), self._config.auth
        if isinstance(bearer, BackendAnswer):
            return bearer
        response = self._response_to(bearer, method, address, limit, body, **options)
        if isinstance(response, BackendAnswer) or not isinstance(tokens, EndpointTokens):
            return response
        if 200 <= response.status < 300:
            tokens.served()
        if response.status != 401 or not tokens.renew(bearer or ""):
            return response
        response.close()
        other = self._bearer()
        if isinstance(other, BackendAnswer):
            return other
        return self._response_to(other, method, address, limit, body, **options)

    def _bearer(self) -> str | BackendAnswer | None:
        """What the provider of tokens gives; or why there is none."""
        try:
            bearer = self._config.auth.get_bearer()
        except NoToken as error:
            return error.answer
        except Exception as error:  # noqa: BLE001 - token providers may be anybody's
            return BackendAnswer(AnswerKind.DENIED, f"no token: {self.secrets.shown(str(error))}")
        if bearer and not _VALUE.fullmatch(bearer):
            return BackendAnswer(AnswerKind.DENIED, f"no token: what the settings give as one {_NO_HEADER}")
        self.secrets.add(bearer or "")  # a token endpoint may have given it just now
        return bearer

    def _response_to(
        self,
        bearer: str | None,
        method: str,
        address: str,
        limit: urllib3.Timeout,
        body: bytes | None,
        **options: Any,
    ) -> BaseHTTPResponse | BackendAnswer:
        headers = {"Authorization": bearer, **self._headers} if bearer else self._headers
        if body is not None and self._is_zipped:
            body, headers = gzip.compress(body, compresslevel=3), {**headers, "Content-Encoding": "gzip"}
        options |= {"body": body, "headers": headers, "timeout": limit, "retries": False, "redirect": False}
        options["preload_content"] = False
        try:
            return self._pool.request(method, address, **options)
        except SSLError as error:
            is_plain = any(reason in str(error) for reason in _NO_TLS)
            hint = "what answers there does not speak TLS; if it is HTTP, the address begins with http://"
            hint = hint if is_plain else "check the certificate, or give sslContext.caCertPath in the settings"
            return BackendAnswer(AnswerKind.DENIED, f"TLS: {self._message_of(error)}: {hint}")
        except (HTTPError, OSError) as error:
            return BackendAnswer(AnswerKind.SILENT, self._message_of(error))

    def _message_of(self, error: Exception) -> str:
        return self.secrets.shown(words_of(error))

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
        return _document(*content_of(response, limit, _LONGEST_DOCUMENT))

    def is_marquez(self) -> bool | BackendAnswer:
        """Whether the backend answers as Marquez does: its API has namespaces beside the address for events. Its events
        go to the same path as those of other backends, so the address alone does not show it. One that is silent, asks
        to wait, or answers with an error that may pass, such as a Marquez without its database, has not answered: that
        is returned.

        It cannot list them any more once anybody sent it a namespace that it refuses; then the one that every Marquez
        has shows it.
        """
        if not self.is_at(MARQUEZ_PATH):
            return False
        timeout = min(_ASKING, self._longest_wait)
        limit = urllib3.Timeout(connect=timeout, read=timeout)
        answer, namespaces = self.read(["namespaces"], {}, "/lineage", limit=limit)
        if answer.kind in (AnswerKind.SILENT, AnswerKind.BUSY):
            return answer
        if isinstance(namespaces, dict) and isinstance(namespaces.get("namespaces"), list):
            return True
        answer, namespace = self.read(["namespaces", "default"], {}, "/lineage", limit=limit)
        is_away = (answer.status or 0) >= _SERVER_ERROR and answer.status != _NOT_IMPLEMENTED
        if is_away or answer.kind in (AnswerKind.SILENT, AnswerKind.BUSY):
            return answer
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


def _in_body(text: str) -> tuple[int, AnswerKind | None, bool]:
    """What a body says that comes with a status of success: the status that Egeria gives in it (its answers are all
    200; 200 where there is none; docs/backends/egeria.md), and of OpenMetadata whether the event made no edge, or not
    all, as it does not know some dataset; None where it says no such thing (docs/backends/openmetadata.md); and whether
    it could be read as far as that.
    """
    match = _STATUS.match(text)  # also where the rest of a long list of datasets is missing
    outcome = _OUTCOMES.get(match[1].lower()) if match else None
    if '"relatedHTTPCode"' not in text and '"status"' not in text:
        return 200, outcome, True
    try:
        body = json.loads(text, parse_int=float)  # an integer may have any number of digits
    except (ValueError, RecursionError):
        return 200, outcome, bool(match)
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if isinstance(body, dict):
        code = body.get("relatedHTTPCode")
        outcome = _OUTCOMES.get(str(body.get("status")).lower())
        status = int(code) if isinstance(code, float) and 100 <= code < 600 else 200
        return status, outcome, True
    return 200, outcome, True


_STATUS: Final = re.compile(r'\s*\{\s*"status"\s*:\s*"(\w+)"')
_OUTCOMES: Final = {
    **dict.fromkeys(("failure", "failed", "error"), AnswerKind.REFUSED),
    "partial_success": AnswerKind.TAKEN,
}


def _document(content: bytes, end: End) -> tuple[BackendAnswer, Any]:
    """The answer that the body of a response is, and its JSON, an object or a list; else an empty object."""
    if end is End.LONG:
        return BackendAnswer(AnswerKind.ERROR, f"200 and more than {_LONGEST_DOCUMENT >> 20} MiB"), {}
    if end in (End.BROKEN, End.LATE):
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
    return _decoded(content_of(response, limit, _LONGEST_ERROR)[0])


def _decoded(content: bytes) -> str:
    """The text, in UTF-8, UTF-16 or UTF-32, as its first bytes show, with or without a byte order mark."""
    return content.decode(json.detect_encoding(content), "replace")
