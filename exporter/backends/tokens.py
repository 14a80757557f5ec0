"""Tokens from a token endpoint (``auth`` of the types ``jwt`` and ``oauth2``), asked for as events are sent.

The client's own request follows redirects, with the key in its body, and reads an answer however long it is. So what
the client's provider asks for is asked for here: no redirect is followed, and size and time of the answer are limited.
Providers of other types (a fixed key, a class of your own) make their tokens themselves.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

import urllib3
from openlineage.client.transport.http import (
    HttpConfig,
    JwtTokenProvider,
    OAuth2ClientCredentialsTokenProvider,
    TokenProvider,
)
from urllib3.exceptions import HTTPError, SSLError

from exporter.backends.connections import End, content_of, pool, words_of
from exporter.backends.secrecy import AnswerKind, BackendAnswer, Secrets, of_status, place_of

_WAIT: Final = 10.0
"""Seconds for a token, as those of the client, where the user's patience is not less."""
_LONGEST: Final = 1 << 20
"""Bytes of an answer; the longest tokens have some thousands."""
_PASSING: Final = (AnswerKind.SILENT, AnswerKind.BUSY)
_ADDRESS: Final = "give the address that gives tokens (tokenEndpoint)"
_log: Final = logging.getLogger(__name__)


class NoToken(Exception):  # noqa: N818 - an answer, not a fault
    """There is no token, and ``answer`` is what becomes of the event: it is tried again if the reason may pass."""

    def __init__(self, kind: AnswerKind, reason: str, wait: float | None = None) -> None:
        super().__init__(f"no token: {reason}")
        self.answer = BackendAnswer(kind, str(self), wait)


def bounded(provider: TokenProvider, secrets: Secrets, patience: float) -> TokenProvider:
    """The provider, or one of ours in its place. ``patience``: of the user, in seconds."""
    is_own_class = type(provider) not in (JwtTokenProvider, OAuth2ClientCredentialsTokenProvider)
    if isinstance(provider, JwtTokenProvider | OAuth2ClientCredentialsTokenProvider) and not is_own_class:
        return EndpointTokens(provider, secrets, min(_WAIT, patience or _WAIT))
    return provider


class EndpointTokens(TokenProvider):
    """Tokens by the settings of a provider of the client. Thread-safe; a token is used until shortly before its end.
    ``wait``: the seconds in which an answer has to come.
    """

    def __init__(
        self, provider: JwtTokenProvider | OAuth2ClientCredentialsTokenProvider, secrets: Secrets, wait: float
    ) -> None:
        super().__init__({})
        self._of, self._secrets = provider, secrets
        self._where = place_of(provider.token_endpoint)
        self._limit = urllib3.Timeout(connect=wait, read=wait)
        self._pool = pool(provider.token_endpoint, HttpConfig(url=provider.token_endpoint), 1)
        self._lock, self._token, self._renewed = threading.Lock(), "", 0.0
        self._has_served = False
        self._failed: NoToken | None = None
        self._failed_at = 0.0

    def get_bearer(self) -> str:
        """Raises NoToken."""
        asked = time.monotonic()
        with self._lock:
            if self._failed and self._failed_at > asked:  # while this thread waited for its turn
                raise self._failed
            if not self._token or time.time() >= self._renewed:
                try:
                    self._ask()
                except NoToken as error:
                    self._failed, self._failed_at = error, time.monotonic()
                    raise
            return f"Bearer {self._token}"

    def served(self) -> None:
        """An event was taken with the token."""
        self._has_served = True

    def renew(self, bearer: str) -> bool:
        """After 401 to a token: whether to try another one, which the next :meth:`get_bearer` gives. A token that has
        served may have been revoked before its end; one that never has would not be followed by a better one.
        """
        with self._lock:
            if bearer != f"Bearer {self._token}":  # another thread has renewed it
                return True
            if self._has_served:
                self._token = ""
            return self._has_served

    def _ask(self) -> None:
        form, headers = _request(self._of)
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        options: dict[str, Any] = {"timeout": self._limit, "retries": False, "redirect": False}
        try:
            response = self._pool.request(
                "POST",
                self._of.token_endpoint,
                body=urlencode(form),
                headers=headers,
                preload_content=False,
                **options,
            )
        except (HTTPError, OSError, ValueError) as error:
            will_last = isinstance(error, ValueError | SSLError)  # no address, or a certificate that is not trusted
            kind = AnswerKind.DENIED if will_last else AnswerKind.SILENT
            raise NoToken(kind, self._secrets.shown(f"{words_of(error)} ({self._where})")) from None
        content, end = content_of(response, self._limit, _LONGEST)
        status, found = response.status, response.headers
        if 300 <= status < 400:
            to = self._secrets.shown(place_of(found.get("Location")))
            raise NoToken(AnswerKind.DENIED, f"{status} a redirect to {to}, not followed: {_ADDRESS}")
        if status != 200:
            text = content.decode("utf-8", "replace")
            answer = of_status(status, text, found.get("Retry-After"), self._secrets)
            kind = answer.kind if answer.kind in _PASSING else AnswerKind.DENIED
            raise NoToken(kind, answer.text or str(status), answer.wait)
        if end is not End.WHOLE:
            kind = AnswerKind.DENIED if end is End.LONG else AnswerKind.SILENT
            raise NoToken(kind, f"the answer of {self._where} was not read: {end.value}")
        self._take(content)

    def _take(self, content: bytes) -> None:
        answer: Any = None
        with suppress(ValueError, RecursionError):
            answer = json.loads(content, parse_int=float)
        fields = {_plain(key): value for key, value in answer.items()} if isinstance(answer, dict) else {}
        tokens = (fields.get(_plain(str(name))) for name in self._of.token_fields)
        token = next((token for token in tokens if isinstance(token, str) and token), None)
        if token is None:
            names = ", ".join(map(str, self._of.token_fields))
            raise NoToken(AnswerKind.DENIED, f"200 and no JSON object with one of {names} (tokenFields)")
        self._secrets.add(token)
        lifetime = fields.get(_plain(self._of.expires_in_field))
        until, now = None, time.time()
        with suppress(TypeError, ValueError):
            until = now + float(lifetime) if lifetime else _end_of_jwt(token)
        if until is None:
            _log.warning(
                "the token endpoint does not say how long a token is valid, so each event asks for one; set "
                "expiresInField to the name of the field that says it"
            )
        # One that is valid for less than the buffer (two minutes, unless the settings say more) is used, too.
        renewed = 0.0 if until is None else max(until - self._of.token_refresh_buffer, (now + until) / 2)
        self._token, self._renewed, self._has_served = token, renewed, False


def _request(of: JwtTokenProvider | OAuth2ClientCredentialsTokenProvider) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers that ask for a token."""
    if isinstance(of, JwtTokenProvider):
        return {"grant_type": of.grant_type, "response_type": of.response_type, "apikey": of.api_key}, {}
    form = {"grant_type": "client_credentials", **({"scope": str(of.scope)} if of.scope else {})}
    if of.client_auth_method == "client_secret_post":
        return {**form, "client_id": of.client_id, "client_secret": of.client_secret}, {}
    basic = f"{quote_plus(of.client_id)}:{quote_plus(of.client_secret)}"  # encoded first: RFC 6749, 2.3.1
    return form, {"Authorization": "Basic " + base64.b64encode(basic.encode()).decode()}


def _plain(name: str) -> str:
    """The name of a field in one spelling: ``expiresIn`` and ``expires_in`` are the same."""
    return name.lower().replace("_", "")


def _end_of_jwt(token: str) -> float | None:
    """When a JWT (RFC 7519) ends; None where it does not say. Raises ValueError and TypeError for what is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    end = claims.get("exp") if isinstance(claims, dict) else None
    return None if end is None else float(end)
