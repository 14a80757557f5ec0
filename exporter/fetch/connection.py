"""Snowflake's connector: a connection by its name in connections.toml, and answers as batches of Arrow."""

from __future__ import annotations

import difflib
import sys
import warnings
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Final

from exporter.account import spelled
from exporter.errors import UsageError
from exporter.fetch import words
from exporter.fetch.views import GRANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

_SESSION: Final = {"TIMEZONE": "UTC", "TIMESTAMP_INPUT_FORMAT": "AUTO", "QUERY_TAG": "access-history-exporter"}
"""Days are days of UTC, whatever the account's settings; the tag distinguishes the fetch from other queries."""
_PACKAGE: Final = "snowflake-connector-python>=4,<6"
"""The requirement for pip; it is the same wherever the program was installed from."""
_LOGIN_TIMEOUT: Final = 60
"""Seconds, where the connection sets no other limit: a server that does not answer is reported within a minute."""
_OWN: Final = "select current_organization_name(), current_account_name()"


class SnowflakeSession:
    """An open connection; see :class:`exporter.fetch.run.Session`. ``schema``: the schema of the views."""

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection, self._schema = connection, schema
        self.account = self._account()

    def columns(self, sql: str) -> list[str]:
        with self._asked(sql) as cursor:
            return [column[0] for column in cursor.description]

    def number(self, sql: str, parameters: dict[str, str]) -> int:
        with self._asked(sql, parameters) as cursor:
            return int(cursor.fetchone()[0])

    def batches(self, sql: str, parameters: dict[str, str]) -> Iterator[pa.Table]:
        with self._asked(sql, parameters) as cursor:
            yield from cursor.fetch_arrow_batches()

    def _account(self) -> str:
        """ORG-ACCOUNT; where the server does not give it, the account in the connection's settings."""
        from snowflake.connector.errors import ProgrammingError  # noqa: PLC0415 - an extra

        with self._connection.cursor() as cursor:
            try:
                organization, account = cursor.execute(_OWN).fetchone()
            except ProgrammingError:
                organization, account = None, None
        told = str(getattr(self._connection, "account", None) or "")
        return spelled(f"{organization}-{account}" if organization and account else told)

    @contextmanager
    def _asked(self, sql: str, parameters: Mapping[str, str] | None = None) -> Iterator[Any]:
        """A cursor with the answer to a statement, which is closed afterwards."""
        view = sql.partition(" from ")[2].split(" ")[0]
        grant = GRANTS.get(self._schema, f"grant select on {view} to role ROLE")
        with words.told(view, grant), self._connection.cursor() as cursor:
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
    with _warnings_told():
        named, settings = _chosen(name)
    session = {**settings.get("session_parameters", {}), **_SESSION}
    with words.told(f"connection {named}"):
        # A login in the browser prints to standard output, which has to stay free for the command's own output.
        with _warnings_told(), redirect_stdout(sys.stderr):
            connection = connector.connect(
                connection_name=named,
                session_parameters=session,
                client_session_keep_alive=True,
                login_timeout=settings.get("login_timeout", _LOGIN_TIMEOUT),
            )
        try:
            yield SnowflakeSession(connection, schema)
        finally:
            connection.close()


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Writes the connector's warnings (for example that others can read its file) to standard error, one line each. Its
    deprecation warnings are left out: the user cannot do anything about them.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        if not issubclass(one.category, FutureWarning | DeprecationWarning):
            sys.stderr.write(f"exporter: {' '.join(str(one.message).split())}\n")


def _chosen(name: str | None) -> tuple[str, Mapping[str, Any]]:
    """The connection's name, and its settings in the connector's files."""
    from snowflake.connector.config_manager import CONFIG_MANAGER  # noqa: PLC0415 - an extra

    manager: Any = CONFIG_MANAGER
    with words.unread(_file()):
        manager.read_config()  # the files may have changed since they were read in this process
        known: dict[str, dict[str, Any]] = dict(manager["connections"])
        chosen = name or str(manager["default_connection_name"])
    if chosen not in known:
        near = difflib.get_close_matches(chosen, list(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
        raise UsageError(
            f"--connection {chosen}: the connector's connections.toml ({_file()}) has no such connection; {hint}"
        )
    return chosen, known[chosen]


def _file() -> str:
    from snowflake.connector.constants import CONNECTIONS_FILE  # noqa: PLC0415 - an extra

    return str(CONNECTIONS_FILE)
