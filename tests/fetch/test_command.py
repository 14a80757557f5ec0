"""``exporter fetch``: its output, and its error messages."""

from __future__ import annotations

import builtins
import json
import os
import re
import shlex
import subprocess
import tomllib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from snowflake.connector.config_manager import CONFIG_MANAGER
from snowflake.connector.errors import ConfigSourceError

from exporter.cli import main
from exporter.fetch.snowflake import ACCESS_HISTORY, GRANTS, QUERY_HISTORY
from exporter.system.folders import held
from tests import exports
from tests.fetch.snow import Snow, month
from tests.input.bad_rows import GOOD
from tests.pages import BLOCK, read, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning")
TODAY = datetime.now(UTC).date()
YESTERDAY = TODAY - timedelta(days=1)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command on the days since yesterday: its exit code, and what it printed on both streams."""

    def run(*arguments: str, since: str = str(YESTERDAY)) -> tuple[int, str, str]:
        capsys.readouterr()
        usual = {"--connection": "lineage", "--out": str(tmp_path / "rows"), "--since": since}
        given = [word for name, value in usual.items() if name not in arguments for word in (name, value)]
        code = main(["fetch", *given, *arguments])
        printed = capsys.readouterr()
        of_server = re.compile(r"^INFO: .*\n", re.MULTILINE)
        return code, of_server.sub("", printed.out), of_server.sub("", printed.err)

    return run


def of_yesterday(number: int) -> list[dict[str, Any]]:
    """Rows of the example that start yesterday."""
    return [{**row, "query_start_time": f"{YESTERDAY} 08:00:0{at}+00:00"} for at, row in enumerate(month()[:number])]


def test_the_summary_says_what_came_and_how_to_go_on(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    snowflake.put(ACCESS_HISTORY, of_yesterday(3))
    code, out, err = run()
    rows = tmp_path / "rows"
    assert code == 0
    assert out.splitlines() == [
        f"  access_history             3 rows of 2 days ({YESTERDAY} to {TODAY})",
        f"  query_history              0 rows of 2 days ({YESTERDAY} to {TODAY})",
        "",
        f"Written to {rows}",
        f"Export it: exporter export {rows} --out lineage --update",
    ]
    assert err == f"exporter: SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY has no row from {YESTERDAY} to {TODAY}\n"
    _, again, _ = run()
    assert "0 rows; 2 days asked for again, nothing new" in again


def test_a_folder_in_an_export_is_refused(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """The next update would find files there that no export wrote."""
    assert exports.export([exports.ndjson([GOOD], tmp_path / "one.ndjson")], tmp_path / "lineage") == 0
    there = sorted(tmp_path.rglob("*"))
    code, _, err = run("--out", str(tmp_path / "lineage" / "rows"))
    assert (code, f"is in {tmp_path}/lineage, the folder of another export" in err) == (2, True), err
    assert sorted(tmp_path.rglob("*")) == there


def test_json_is_one_object(snowflake: Snow, run: Callable[..., tuple[int, str, str]]) -> None:
    snowflake.put(ACCESS_HISTORY, of_yesterday(3))
    code, out, _ = run("--json", "--no-query-history", "--until", str(TODAY))
    told = json.loads(out)
    assert (code, told["rows"], told["account"]) == (0, {"access_history": {str(YESTERDAY): 3}}, "fakesnow")
    assert set(told) == {"out", "account", "rows", "same", "left_out", "removed", "not_read", "left"}
    assert told["left"] == {"access_history": 3}


def test_a_dry_run_prints_the_sql_and_asks_nobody(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", "")
    code, out, err = run("--dry-run", "--until", str(TODAY), "--view", "governance.lineage")
    assert (code, err) == (0, "")
    statements = out.splitlines()
    assert [one.partition(" from ")[2].partition(" ")[0] for one in statements] == [
        *["GOVERNANCE.LINEAGE.ACCESS_HISTORY"] * 2,
        *["GOVERNANCE.LINEAGE.QUERY_HISTORY"] * 2,
    ]
    assert f"start_time < to_timestamp_ltz('{TODAY} 00:00:00 +0000');" in statements[-1]
    assert "query_text" not in out
    assert not (tmp_path / "rows").exists()


def test_a_view_without_rows_may_be_that_of_standard_edition(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]]
) -> None:
    assert snowflake
    code, _, err = run("--no-query-history")
    assert code == 0
    assert "ACCESS_HISTORY has no row from" in err
    assert "it needs Enterprise Edition" in err


def test_where_keep_leaves_no_row_nothing_is_to_be_exported(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Neither the summary nor an export of the folder promises rows. A view that has none any more is not read."""
    old = TODAY - timedelta(days=9)
    row = {**month()[0], "query_start_time": f"{old} 08:00:00+00:00"}
    snowflake.put(ACCESS_HISTORY, [row])
    snowflake.put(QUERY_HISTORY, [{"query_id": row["query_id"], "start_time": f"{old} 08:00:00+00:00"}])
    assert run(since=str(old))[0] == 0
    rows = tmp_path / "rows"
    code, out, err = run("--keep", "5", since=str(YESTERDAY))
    assert (code, out.splitlines()[-1]) == (0, f"Written to {rows}")
    assert f"{rows} has no row of ACCESS_HISTORY, so there is nothing to export: --keep 5 removed 4 days (" in err
    assert main(["export", str(rows), "--out", str(tmp_path / "lineage"), "--engine", "local"]) == 2
    snowflake.put(ACCESS_HISTORY, of_yesterday(2))
    _, out, err = run("--keep", "5", "--overlap", "4")
    assert (f"Export it: exporter export {rows}" in out, "nothing to export" in err) == (True, False)
    assert not any((rows / "query_history").iterdir())
    assert main(["export", str(rows), "--out", str(tmp_path / "lineage"), "--engine", "local"]) == 0


def test_a_missing_column_is_reported(snowflake: Snow, run: Callable[..., tuple[int, str, str]]) -> None:
    gone = ("agents_info", "organization_name", "account_name")
    snowflake.make(ACCESS_HISTORY, [name for name in ACCESS_HISTORY.columns if name not in gone])
    snowflake.put(ACCESS_HISTORY, of_yesterday(1))
    _, _, err = run("--no-query-history")
    assert err == "exporter: SNOWFLAKE.ACCOUNT_USAGE.ACCESS_HISTORY has no agents_info: left out\n"


def test_a_view_that_is_not_there_names_the_grant(snowflake: Snow, run: Callable[..., tuple[int, str, str]]) -> None:
    """Snowflake says the same where a right is missing, so that nobody learns what is there."""
    snowflake.drop(QUERY_HISTORY)
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("exporter: SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY: Snowflake says: 002003 (42S02)")
    assert "grant database role SNOWFLAKE.GOVERNANCE_VIEWER to role ROLE" in err
    code, _, err = run("--view", "governance.lineage")
    assert code == 2
    assert "grant select on GOVERNANCE.LINEAGE.ACCESS_HISTORY to role ROLE" in err


def test_another_view_is_reported(snowflake: Snow, run: Callable[..., tuple[int, str, str]]) -> None:
    snowflake.run("create or replace table SNOWFLAKE.ACCOUNT_USAGE.ACCESS_HISTORY (USER_NAME varchar, CALLS number)")
    code, _, err = run()
    assert code == 2
    assert "ACCESS_HISTORY: has no column query_id, query_start_time, so it is not ACCESS_HISTORY" in err


def test_a_connection_that_is_not_there_names_the_nearest(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    assert snowflake
    code, _, err = run("--connection", "linage")
    assert code == 2
    assert "has no such connection; did you mean lineage?" in err
    code, _, err = run("--connection", "x")
    assert code == 2
    assert "there are: lineage, staging" in err
    assert not (tmp_path / "rows").exists()


def test_no_answer_is_not_a_fault_of_the_program(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    snowflake.connections(monkeypatch, port=9, login_timeout=1, password="s3cret-pass")
    code, out, err = run()
    assert (code, out) == (4, "")
    assert "connection lineage: Snowflake does not answer" in err
    assert "start it again" in err
    assert "s3cret-pass" not in err
    assert "Traceback" not in err


def test_a_connections_file_that_cannot_be_read_is_reported(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses() -> None:
        raise ConfigSourceError("file 'connections.toml' is writable by group or others")

    monkeypatch.setattr(CONFIG_MANAGER, "read_config", refuses)
    code, _, err = run()
    assert code == 2
    assert "connections.toml: the connector does not read its connections: file" in err
    assert "chmod 600" in err


def test_an_interrupted_fetch_says_what_it_leaves(
    snowflake: Snow, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    snowflake.put(ACCESS_HISTORY, of_yesterday(3))
    monkeypatch.setattr("exporter.fetch.state.write_day", interrupted)
    code, out, err = run()
    assert (code, out) == (130, "")
    kept = f"the days that are complete are in {tmp_path / 'rows'}, and the next fetch continues after them"
    assert err == f"exporter: interrupted; {kept}\n"


def test_two_fetches_do_not_write_one_folder(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    with held(tmp_path / "rows" / ".lock", "rows"):
        code, _, err = run()
    assert code == 2
    assert "another run is writing it" in err


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/production.md"])
def test_the_lines_of_cron_are_commands_that_there_are(page: str) -> None:
    lines = [line for kind, body in BLOCK.findall(text(page)) if kind == "crontab" for line in body.splitlines()]
    parts = [part.strip(" {") for line in lines for part in re.split(r"&&|\|\||;", line)]
    commands = [part for part in parts if part.startswith("exporter ")]
    assert len(commands) >= 2
    for one in commands:
        read(shlex.split(one)[1:])


@pytest.mark.parametrize(("code", "is_pushed"), [(0, True), (1, True), (2, False), (4, False)])
def test_what_the_shapes_did_not_refuse_is_pushed_by_the_line_of_cron(
    code: int, tmp_path: Path, *, is_pushed: bool
) -> None:
    """An export with exit 1 has published the rest (docs/interface.md, "Exit codes")."""
    (line,) = (one for one in text("docs/production.md").splitlines() if one.startswith("15 6 * * *  lineage  cd "))
    program = tmp_path / "exporter"
    program.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/ran\ntest "$1" != export || exit {code}\n', encoding="utf-8")
    program.chmod(0o755)
    command = line.partition("cd /srv/lineage && ")[2]
    subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
    ran = (tmp_path / "ran").read_text(encoding="utf-8").split()
    assert ran == ["fetch", "export", *(["push"] if is_pushed else [])]


def test_the_grants_of_the_page_are_those_of_the_messages() -> None:
    page = text("docs/fetch.md").lower()
    assert [one for one in GRANTS.values() if one.lower().partition(" to role")[0] not in page] == []


def test_without_the_connector_it_says_what_to_install(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "snowflake":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    code, _, err = run()
    assert code == 2
    (package,) = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]["snowflake"]
    assert f"pip install '{package}'" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--view", "everything"], "--view everything: is not account, organization or DATABASE.SCHEMA"),
        (["--until", "2026-11-21T08:00"], "--until 2026-11-21T08:00: is not a day such as 2026-11-21"),
        (["--until", str(YESTERDAY)], "there is no day between them"),
        (["--keep", "2"], "keep 4 days or more"),
        (["--out", "s3://bucket/rows"], "is not on this machine"),
        (["--overlap", "-1"], "is not a number of days"),
    ],
)
def test_arguments_that_cannot_be_right(
    run: Callable[..., tuple[int, str, str]], arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code, _, err = run(*arguments)
    except SystemExit as ended:  # an argument's own check
        code, err = int(str(ended.code)), capsys.readouterr().err
    assert code == 2
    assert words in err


S3CRET = "S3CRETcanary9Xq"
ADDRESS = 'account = "a"\nhost = "127.0.0.1"\nport = 9\nprotocol = "http"\nlogin_timeout = 2\nuser = "u"\n'


@pytest.mark.parametrize(
    ("connections", "said"),
    [
        (f'[lineage]\n{ADDRESS}authenticator = "SNOWFLAKE_JWT"\nprivate_key_file = "nope"\n', "nope"),
        (f'[lineage]\n{ADDRESS}authenticator = "SNOWFLAKE_JWT"\nprivate_key = "{S3CRET}"\n', "connection lineage"),
        (
            f'[lineage]\n{ADDRESS}password = "x"\nsession_parameters = "{S3CRET}"\n',
            "session_parameters must be a table",
        ),
        (f'lineage = "{S3CRET}"\n', "is not a table"),
        (f'[lineage\n{ADDRESS}password = "{S3CRET}"\n', "valid TOML"),
        (f'[lineage]\npassword = "{S3CRET}', "valid TOML"),
    ],
)
def test_settings_of_a_connection_that_cannot_be_used(
    connections: str, said: str, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the user's to correct: exit 2, and no value of them is shown."""
    monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", connections)
    code, _, err = run()
    assert code == 2, err
    assert said in err
    assert "fault of the program" not in err
    assert S3CRET not in err


def test_the_query_of_an_address_in_an_error_is_not_shown(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/fetch.md: no secret is in a message. The address of a token may have one, and a library shows it."""
    url = f'oauth_token_request_url = "http://u:{S3CRET}@127.0.0.1:9/t?k={S3CRET}"\n'
    client = 'authenticator = "OAUTH_CLIENT_CREDENTIALS"\noauth_client_id = "i"\noauth_client_secret = "x"\n'
    monkeypatch.setenv("SNOWFLAKE_CONNECTIONS", f"[lineage]\n{ADDRESS}{client}{url}")
    code, out, err = run()
    assert code in (2, 4)
    assert "/t?***" in err
    assert S3CRET not in out + err
