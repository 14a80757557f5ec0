"""Errors of Snowflake and its connector as messages: what was being done, what Snowflake answered, what to do.

Errors that the user can correct (a name, a privilege, a warehouse) are exit 2. Errors of the network and of Snowflake
itself are exit 4: starting again may help. No message has a secret: of a file of connections only the names are shown,
and Snowflake does not repeat credentials.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from exporter.errors import ExporterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_RIGHTS: Final = (
    "the role has no privilege on it, or it does not exist: {grant}, or name another role in the connection"
)
_WAREHOUSE: Final = (
    "name a warehouse in the connection that the role may use (grant usage on warehouse W to role ROLE), and let it "
    "start by itself (alter warehouse W set auto_resume = true)"
)
_KEY: Final = "the key of the connection does not match the user's public key: alter user NAME set rsa_public_key = '…'"
_ROLE: Final = "name a role in the connection that the user has: grant role ROLE to user NAME"
_POLICY: Final = (
    "the account's network policy does not allow this machine's address: have it allowed, or use another machine"
)
_BY_NUMBER: Final = {
    606: _WAREHOUSE,  # no active warehouse
    2003: _RIGHTS,  # does not exist or not authorized
    2043: _RIGHTS,
    3001: _RIGHTS,  # insufficient privileges
    90073: "the resource monitor of the warehouse has no credit left: raise it, or name another warehouse",
    290403: "the account or its region is misspelt in the connection, or a proxy does not let the request through",
    290404: "there is no such account: check account in the connection (ORG-ACCOUNT)",
    390144: _KEY,
    390189: _ROLE,
    390422: _POLICY,
    394508: "the token of the connection has expired: make a new one",
    630: "the statement timed out: raise STATEMENT_TIMEOUT_IN_SECONDS, or take a larger warehouse",
}
_LOGIN: Final = {
    "jwt": _KEY,
    "role": _ROLE,
    "not allowed to access snowflake": _POLICY,
    "": "check account, user, role and authenticator in the connection",
}
"""A text in the message of a refused login -> what to do; the first that fits is used."""
_NETWORK: Final = frozenset({14, 250001, 250003, 250005, 251011, 251012, 252010, 290400, 290503, 290504})
"""Error numbers of the connector for which nothing answered; 250001 is also used for refused logins."""
_REFUSED: Final = ("incorrect username", "password", "jwt", "token", "role", "user", "mfa", "not allowed", "saml")
"""Texts that show a refused login, where its error number is that of a server that does not answer."""
_LONGEST: Final = 300


@contextmanager
def told(doing: str, grant: str = "") -> Iterator[None]:
    """Turns the connector's errors into messages. ``doing``: what was being done; ``grant``: what gives the
    privilege.
    """
    from snowflake.connector import errors  # noqa: PLC0415 - an extra, and slow to import

    try:
        yield
    except errors.Error as error:
        raise _in_words(error, doing, grant) from None
    except OSError as error:
        if not _is_of_network(error):
            raise
        raise _silent(doing, _said(error)) from None


def _is_of_network(error: OSError) -> bool:
    """Whether the error is one of a connection and not of a disk: the connector passes some on from its libraries."""
    below = type(error).__module__.partition(".")[0] in {"requests", "snowflake", "urllib3"}
    return below or isinstance(error, ConnectionError | TimeoutError)


def _silent(doing: str, said: str) -> ExporterError:
    return ExporterError(
        f"{doing}: Snowflake does not answer: {said}. Look at the network, a proxy (https_proxy) and the name of the "
        "account in the connection, and start it again"
    )


@contextmanager
def unread(file: str) -> Iterator[None]:
    """Turns the connector's error about its file of connections into a message."""
    from snowflake.connector import errors  # noqa: PLC0415 - an extra, and slow to import

    try:
        yield
    except errors.Error as error:
        raise UsageError(
            f"{file}: the connector does not read its connections: {_said(error)}. What to do: check that the "
            f"file is valid TOML, and that nobody else can write it (chmod 600 {file})"
        ) from None


def _in_words(error: Exception, doing: str, grant: str) -> ExporterError:
    number = getattr(error, "errno", None) or -1
    said = _said(error)
    is_network = type(error).__name__ in {"OperationalError", "InterfaceError"} or number in _NETWORK
    if number in _BY_NUMBER:
        return UsageError(f"{doing}: Snowflake says: {said}. What to do: {_BY_NUMBER[number].format(grant=grant)}")
    if is_network and not any(word in said.lower() for word in _REFUSED):
        return _silent(doing, said)
    if number in _NETWORK or 390000 <= number < 400000:
        helps = next(helps for mark, helps in _LOGIN.items() if mark in said.lower())
        return UsageError(f"{doing}: Snowflake refuses the login: {said}. What to do: {helps}")
    return UsageError(f"{doing}: Snowflake says: {said}")


def _said(error: Exception) -> str:
    """The first line of the error's message; a whole statement may follow it."""
    lines = [line.strip() for line in str(getattr(error, "msg", None) or error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.endswith("SQL compilation error:")), lines[0] if lines else "")
    return (text[:_LONGEST] or type(error).__name__).rstrip(".")
