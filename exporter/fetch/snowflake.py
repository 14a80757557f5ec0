"""Snowflake as a fetch sees it: the connection, the views and their SQL, and its errors in words.

A connection has a name in connections.toml; answers are batches of Arrow. Two or three views are read, only the columns
that an export reads, one day at a time. The list of columns follows from what the rest of the program reads: a column
that it learns to read is fetched too. A column that a view does not have (editions and accounts differ) is left out of
the SQL.

Errors say what was being done, what Snowflake answered, what to do. Those that the user can correct (a name, a
privilege, a warehouse, a server that is not Snowflake) are exit 2. Errors of the network and of Snowflake itself are
exit 4: starting again may help.
No message has a secret: of a file of connections only the names are shown, Snowflake does not repeat credentials, and
of the addresses in errors of a library neither users nor queries are shown.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import ExporterError, UsageError
from exporter.input import aggregates, find
from exporter.input.query_history import HISTORY_COLUMNS
from exporter.input.row import STRUCTURED, Row
from exporter.model.account_identifier import normalized

if TYPE_CHECKING:
    import pyarrow as pa

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
_UNEXPECTED: Final = ("invalid snowflake response", "missing response field")
"""Texts of version 5 for an answer that it cannot read; version 4 raises KeyError. The number is that of a login."""
_LONGEST: Final = 300


@contextmanager
def errors_as_messages(doing: str, grant: str = "") -> Iterator[None]:
    """Turns the connector's errors into messages. ``doing``: what was being done; ``grant``: what gives the
    privilege.
    """
    from snowflake.connector import errors  # noqa: PLC0415 - an extra, and slow to import

    try:
        yield
    except errors.Error as error:
        raise _as_message(error, doing, grant) from None
    except KeyError as error:  # version 4 looks a field up that the answer does not have
        raise _unexpected(doing, f"the answer has no field {error}") from None
    except OSError as error:
        if not _is_of_network(error):
            raise
        raise _no_answer(doing, _first_line(error)) from None


def _is_of_network(error: OSError) -> bool:
    """Whether the error is one of a connection and not of a disk: the connector passes some on from its libraries."""
    is_of_library = type(error).__module__.partition(".")[0] in {"requests", "snowflake", "urllib3"}
    return is_of_library or isinstance(error, ConnectionError | TimeoutError)


def _no_answer(doing: str, text: str) -> ExporterError:
    return ExporterError(
        f"{doing}: Snowflake does not answer: {text}. Look at the network, a proxy (https_proxy) and the name of the "
        "account in the connection, and start it again"
    )


def _unexpected(doing: str, text: str) -> UsageError:
    from snowflake import connector  # noqa: PLC0415 - an extra, and slow to import

    return UsageError(
        f"{doing}: what answers does not speak Snowflake's protocol as the connector {connector.__version__} does: "
        f"{text}. What to do: check account and host in the connection, and whether a proxy answers in Snowflake's "
        f"place; this program takes the versions of the connector in '{_PACKAGE}'"
    )


def _as_message(error: Exception, doing: str, grant: str) -> ExporterError:
    number = getattr(error, "errno", None) or -1
    text = _first_line(error)
    is_network = type(error).__name__ in {"OperationalError", "InterfaceError"} or number in _NETWORK
    if any(mark in text.lower() for mark in _UNEXPECTED):
        return _unexpected(doing, text)
    if number in _BY_NUMBER:
        return UsageError(f"{doing}: Snowflake says: {text}. What to do: {_BY_NUMBER[number].format(grant=grant)}")
    if is_network and not any(word in text.lower() for word in _REFUSED):
        return _no_answer(doing, text)
    if number in _NETWORK or 390000 <= number < 400000:
        advice = next(advice for mark, advice in _LOGIN.items() if mark in text.lower())
        return UsageError(f"{doing}: Snowflake refuses the login: {text}. What to do: {advice}")
    return UsageError(f"{doing}: Snowflake says: {text}")


def _first_line(error: Exception) -> str:
    """The first line of the error's message; a whole statement may follow it."""
    lines = [line.strip() for line in str(getattr(error, "msg", None) or error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.endswith("SQL compilation error:")), lines[0] if lines else "")
    text = _IN_ADDRESS.sub(r"\1***", text)
    return (text[:_LONGEST] or type(error).__name__).rstrip(".")


_IN_ADDRESS: Final = re.compile(r"((?:://|/)[^\s?]*\?)[^\s'\")]+")
"""The query of an address; libraries show it in their errors."""
_SESSION: Final = {"TIMEZONE": "UTC", "TIMESTAMP_INPUT_FORMAT": "AUTO", "QUERY_TAG": "access-history-exporter"}
"""Days are days of UTC, whatever the account's settings; the tag distinguishes the fetch from other queries."""
_PACKAGE: Final = "snowflake-connector-python>=4,<5"
"""The requirement for pip; it is the same wherever the program was installed from."""
_LOGIN_TIMEOUT: Final = 60
"""Seconds, where the connection sets no other limit: a server that does not answer is reported within a minute."""
_OWN: Final = "select current_organization_name(), current_account_name()"


class SnowflakeSession:
    """An open connection. Failures are raised as ExporterError, with a message for people. ``schema``: the schema of
    the views; ``account``: ORG-ACCOUNT, as ``export --account`` takes it.
    """

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection, self._schema = connection, schema
        self.account = self._account()

    def columns(self, sql: str) -> list[str]:
        """The names of the columns of a result."""
        with self._executed(sql) as cursor:
            return [column[0] for column in cursor.description]

    def number(self, sql: str, parameters: dict[str, str]) -> int:
        """The single number of a result."""
        with self._executed(sql, parameters) as cursor:
            return int(cursor.fetchone()[0])

    def batches(self, sql: str, parameters: dict[str, str]) -> Iterator[pa.Table]:
        """The rows of a result, batch by batch."""
        with self._executed(sql, parameters) as cursor:
            yield from cursor.fetch_arrow_batches()

    def _account(self) -> str:
        """ORG-ACCOUNT; where the server does not give it, the account in the connection's settings."""
        from snowflake.connector.errors import ProgrammingError  # noqa: PLC0415 - an extra

        with self._connection.cursor() as cursor:
            try:
                organization, account = cursor.execute(_OWN).fetchone()
            except ProgrammingError:
                organization, account = None, None
        text = str(getattr(self._connection, "account", None) or "")
        return normalized(f"{organization}-{account}" if organization and account else text)

    @contextmanager
    def _executed(self, sql: str, parameters: Mapping[str, str] | None = None) -> Iterator[Any]:
        """A cursor with the answer to a statement, which is closed afterwards."""
        view = sql.partition(" from ")[2].split(" ")[0]
        grant = GRANTS.get(self._schema, f"grant select on {view} to role ROLE")
        with errors_as_messages(view, grant), self._connection.cursor() as cursor:
            yield cursor.execute(sql, parameters)


@contextmanager
def opened(name: str | None, schema: str) -> Iterator[SnowflakeSession]:
    """A session of the connection with this name, None for the connector's default. Raises UsageError where there is no
    such connection, where Snowflake refuses it, and where the connector is not installed; ExporterError where nothing
    answers.
    """
    try:
        from snowflake import connector  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise UsageError(f"fetch: Snowflake's connector is not installed: pip install '{_PACKAGE}'") from None
    with _warnings_shown():
        connection_name, settings = _connection_settings(name)
    session = {**_session_parameters(connection_name, settings), **_SESSION}
    with errors_as_messages(f"connection {connection_name}"):
        # A login in the browser prints to standard output, which has to stay free for the command's own output.
        with _warnings_shown(), redirect_stdout(sys.stderr), _settings_in_words(connection_name):
            connection = connector.connect(
                connection_name=connection_name,
                session_parameters=session,
                client_session_keep_alive=True,
                login_timeout=settings.get("login_timeout", _LOGIN_TIMEOUT),
            )
        try:
            yield SnowflakeSession(connection, schema)
        finally:
            connection.close()


def _session_parameters(connection_name: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises UsageError where they are no table."""
    parameters = settings.get("session_parameters", {})
    if not isinstance(parameters, Mapping):
        raise UsageError(f"connection {connection_name}: session_parameters must be a table of names and values")
    return parameters


@contextmanager
def _settings_in_words(connection_name: str) -> Iterator[None]:
    """Turns what Python raises when the connector uses its settings into a UsageError. No value is shown but the path
    of a file: others may be secret.
    """
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"it raises {type(error).__name__}. Check the kinds of the values, and the form of the private key"
    except OSError as error:
        if _is_of_network(error) or not isinstance(error.filename, str):
            raise
        problem = f"{error.filename}: {error.strerror}"
    else:
        return
    raise UsageError(f"connection {connection_name}: the connector cannot use its settings: {problem}")


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Writes the connector's warnings (for example that others can read its file) to standard error, one line each. Its
    deprecation warnings are left out: the user cannot do anything about them.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning_message in caught:
        if not issubclass(warning_message.category, FutureWarning | DeprecationWarning):
            sys.stderr.write(f"exporter: {' '.join(str(warning_message.message).split())}\n")


def _connection_settings(name: str | None) -> tuple[str, Mapping[str, Any]]:
    """The connection's name, and its settings in the connector's files."""
    from snowflake.connector import errors  # noqa: PLC0415 - an extra, and slow to import
    from snowflake.connector.config_manager import CONFIG_MANAGER  # noqa: PLC0415 - an extra
    from snowflake.connector.constants import CONNECTIONS_FILE  # noqa: PLC0415 - an extra

    manager: Any = CONFIG_MANAGER
    try:
        manager.read_config()  # the files may have changed since they were read in this process
        connections: dict[str, Any] = dict(manager["connections"])
        connection_name = name or str(manager["default_connection_name"])
    except errors.Error as error:
        raise UsageError(
            f"{CONNECTIONS_FILE}: the connector does not read its connections: {_first_line(error)}. What to do: check "
            f"that the file is valid TOML, and that nobody else can write it (chmod 600 {CONNECTIONS_FILE})"
        ) from None
    except (TypeError, ValueError) as error:  # TOML is not read before: the connector shows the line, and what is in it
        raise UsageError(
            f"{CONNECTIONS_FILE}, or the variable SNOWFLAKE_CONNECTIONS: the connector does not read its connections "
            f"({type(error).__name__}). What to do: check that it is valid TOML, with a table for each connection"
        ) from None
    if connection_name not in connections:
        similar = difflib.get_close_matches(connection_name, list(connections), n=1)
        hint = f"did you mean {similar[0]}?" if similar else f"there are: {', '.join(connections) or 'none'}"
        raise UsageError(
            f"--connection {connection_name}: the connector's connections.toml ({CONNECTIONS_FILE}) has no such "
            f"connection; {hint}"
        )
    settings = connections[connection_name]
    if not isinstance(settings, Mapping):
        raise UsageError(
            f"--connection {connection_name}: is not a table in the connector's connections.toml ({CONNECTIONS_FILE}); "
            f"write [{connection_name}], and its settings below"
        )
    return connection_name, settings


_NAMED: Final = frozenset({"query_id", "start", "user_name", "content", "unknown_columns"})
_OF_CALLS: Final = frozenset({"calls", "interval_end", "query_parameterized_hash"})
"""Fields of a row whose columns have other names, listed below, and those that AGGREGATE_ACCESS_HISTORY alone has."""
_PART: Final = r'(?:[A-Za-z_][A-Za-z0-9_$]*|"(?:[^"%\x00-\x1f]|"")+")'
_SCHEMA: Final = re.compile(rf"{_PART}\.{_PART}", re.ASCII)

SCHEMAS: Final = {"account": "SNOWFLAKE.ACCOUNT_USAGE", "organization": "SNOWFLAKE.ORGANIZATION_USAGE"}
"""The names for Snowflake's own schemas in ``--view``."""
GRANTS: Final = {
    SCHEMAS["account"]: "grant database role SNOWFLAKE.GOVERNANCE_VIEWER to role ROLE",
    SCHEMAS["organization"]: "grant application role SNOWFLAKE.ORGANIZATION_GOVERNANCE_VIEWER to role ROLE",
}
"""The smallest grant that lets a role read both views of a schema."""
QUERY_TEXT: Final = "query_text"
OF_ORGANIZATION: Final = frozenset(
    {
        "organization_name",
        "account_name",
        "account_locator",
        "provider_base_objects_accessed",
        "provider_policies_referenced",
    }
)
"""Columns that only ORGANIZATION_USAGE has."""


@dataclass(frozen=True)
class View:
    """``time``: the column that decides the day of a row; ``columns``: those that an export reads, in the order of the
    SELECT; ``required``: columns that the view has to have.
    """

    name: str
    time: str
    columns: tuple[str, ...]
    required: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The folder of its days below ROWS."""
        return self.name.lower()


_OF_ROWS: Final = find.REQUIRED[find.ACCESS_HISTORY]
ACCESS_HISTORY: Final = View(
    find.ACCESS_HISTORY,
    "query_start_time",
    (*_OF_ROWS, *STRUCTURED, *(name for name in Row.__struct_fields__ if name not in _NAMED | _OF_CALLS)),
    _OF_ROWS,
)
QUERY_HISTORY: Final = View(
    find.QUERY_HISTORY,
    "start_time",
    ("query_id", "start_time", "user_name", *HISTORY_COLUMNS),
    ("query_id", "start_time"),
)
AGGREGATE: Final = View(
    find.AGGREGATE_ACCESS_HISTORY,
    "interval_start_time",
    (
        *(*aggregates.COLUMNS, "user_name", "direct_objects_accessed", "base_objects_accessed", "objects_modified"),
        *("policies_referenced", "object_modified_by_ddl", "organization_name", "account_name", "account_locator"),
    ),
    aggregates.REQUIRED,
)


def schema_of(view: str) -> str:
    """``account``, ``organization`` or DATABASE.SCHEMA -> the schema for the SQL, in upper case where it has no quotes.
    Raises UsageError for anything else.
    """
    schema = SCHEMAS.get(view.lower())
    if schema is None and not _SCHEMA.fullmatch(view):
        raise UsageError(f"--view {view}: is not account, organization or DATABASE.SCHEMA")
    return schema or (view if '"' in view else view.upper())


def columns_to_read(view: View, present: Iterable[str], *, query_text: bool) -> tuple[str, ...]:
    """The columns to ask for, of those that are ``present``; SQL text only where it is wanted."""
    names = {name.lower() for name in present}
    return tuple(name for name in view.columns if name in names and (query_text or name != QUERY_TEXT))


def columns_sql(schema: str, view: View) -> str:
    """The SQL for the names of a view's columns; it returns no rows."""
    return f"select * from {schema}.{view.name} limit 0"  # noqa: S608 - see schema_of


def count_sql(schema: str, view: View) -> str:
    """The SQL for the number of rows of a day; its parameters are :func:`bounds`."""
    return rows_sql(schema, view, ["count(*)"])


def rows_sql(schema: str, view: View, columns: Iterable[str]) -> str:
    """The SQL for the rows of a day; its parameters are :func:`bounds`."""
    of_day = f"{view.time} >= to_timestamp_ltz(%(since)s) and {view.time} < to_timestamp_ltz(%(until)s)"
    return f"select {', '.join(columns)} from {schema}.{view.name} where {of_day}"  # noqa: S608 - see schema_of


def bounds(day: date) -> dict[str, str]:
    """The parameters of a day: the midnights of UTC at its beginning and its end."""
    return {"since": f"{day} 00:00:00 +0000", "until": f"{day + timedelta(days=1)} 00:00:00 +0000"}
