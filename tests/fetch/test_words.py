"""Errors of the connector become messages, and the exit code says whether starting again may help."""

from __future__ import annotations

import tomllib

import pytest
import requests
from snowflake.connector import errors

from exporter.errors import ExporterError, UsageError
from exporter.fetch.snowflake import errors_as_messages
from tests import golden

GRANT = "grant database role SNOWFLAKE.GOVERNANCE_VIEWER to role ROLE"

PROJECT = tomllib.loads((golden.EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRA = PROJECT["optional-dependencies"]["snowflake"][0].removeprefix("snowflake-connector-python")

RIGHT = f"the role has no privilege on it, or it does not exist: {GRANT}, or name another role in the connection"


def words(error: Exception) -> tuple[type[ExporterError], str]:
    with pytest.raises(ExporterError) as raised, errors_as_messages("A.B.ACCESS_HISTORY", GRANT):
        raise error
    return raised.type, str(raised.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            errors.ProgrammingError(
                "SQL compilation error:\nDatabase 'SNOWFLAKE' does not exist or not authorized.", 2003, "02000"
            ),
            f"Snowflake says: Database 'SNOWFLAKE' does not exist or not authorized. What to do: {RIGHT}",
        ),
        (
            errors.ProgrammingError("No active warehouse selected in the current session.", 606, "57P03"),
            "alter warehouse W set auto_resume = true",
        ),
        (
            errors.DatabaseError("Failed to connect to DB: Incorrect username or password was specified.", 250001),
            "Snowflake refuses the login",
        ),
        (errors.DatabaseError("JWT token is invalid.", 390144), "set rsa_public_key"),
        (errors.DatabaseError("Role 'X' specified in the connect string does not exist.", 390189), "grant role ROLE"),
        (errors.DatabaseError("IP is not allowed to access Snowflake.", 390422), "network policy"),
        (errors.DatabaseError("Failed to connect to DB: x:443. JWT token is invalid.", 250001), "set rsa_public_key"),
        (
            errors.DatabaseError(
                "Failed to connect to DB: x:443. IP 192.0.2.1 is not allowed to access Snowflake.", 250001
            ),
            "network policy",
        ),
        (errors.InterfaceError("404 Not Found: post x:443/session/v1/login-request", 290404), "no such account"),
        (errors.ProgrammingError("Something new", 999), "Snowflake says: 000999: Something new"),
    ],
)
def test_errors_that_the_user_can_correct(error: Exception, said: str) -> None:
    kind, text = words(error)
    assert kind is UsageError
    assert said in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "error",
    [
        errors.OperationalError("Could not connect to Snowflake backend after 2 attempt(s).", 250001),
        errors.OperationalError("login timed out after 60s", 14),
        errors.InterfaceError("HTTP 503: Service Unavailable", 290503),
        errors.OperationalError("Failed to get the response. Hanging?", 250003),
        requests.ConnectionError("Connection broken: 17 bytes read"),
        ConnectionResetError("Connection reset by peer"),
    ],
)
def test_errors_that_may_pass(error: Exception) -> None:
    kind, text = words(error)
    assert kind is ExporterError
    assert "Snowflake does not answer" in text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.DatabaseError("Failed to login: Missing response field: master token", 250001), "field: master token"),
        (errors.DatabaseError("Failed to login: Invalid Snowflake response. expected value", 250001), "expected value"),
        (KeyError("data"), "the answer has no field 'data'"),
    ],
)
def test_an_answer_of_another_protocol_is_no_refused_login(error: Exception, said: str) -> None:
    kind, text = words(error)
    assert kind is UsageError
    assert said in text
    assert "does not speak Snowflake's protocol" in text
    assert f"snowflake-connector-python{EXTRA}" in text
    assert "refuses the login" not in text


def test_what_is_no_error_of_snowflake_is_left_alone() -> None:
    with pytest.raises(OSError, match="disk"), errors_as_messages("here"):
        raise OSError("disk")
