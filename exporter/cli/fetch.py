"""``exporter fetch``: rows from Snowflake to files for an export."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.commands import LOCAL_FOLDER, Command, as_json, flag, option

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.fetch.run import FetchOptions


def _run(out: Path, *, connection: str | None, dry_run: bool | None, as_json: bool | None, **options: Any) -> int:
    from datetime import UTC, datetime

    from exporter.cli.messages import warn
    from exporter.fetch import run, snowflake
    from exporter.system.progress import Progress

    fetch_options = _options(out, **options)
    if dry_run:
        statements = [f"{statement};" for statement in run.planned(fetch_options, datetime.now(UTC))]
        print(json.dumps(statements, indent=1) if as_json else "\n".join(statements))
        return 0
    try:
        fetched = run.fetch(fetch_options, lambda: snowflake.opened(connection, fetch_options.schema), Progress())
    except KeyboardInterrupt:
        warn([f"interrupted; {run.what_remains(fetch_options.out)}"])
        return 130
    warn(run.advice(fetched, fetch_options))
    print(json.dumps(fetched.json(), indent=1) if as_json else run.summary(fetched))
    return 0


def _options(  # noqa: PLR0913 - the options of the command, by name
    out: Path,
    *,
    since: str | None,
    until: str | None,
    view: str,
    overlap: int,
    keep: int | None,
    query_text: bool | None,
    no_query_history: bool | None,
    aggregate: bool | None,
) -> FetchOptions:
    from exporter.fetch import run, snowflake

    period = run.Period(
        run.day_of(since, "--since") if since else None,
        run.day_of(until, "--until") if until else None,
        overlap,
        keep,
    )
    return run.FetchOptions(
        out,
        period,
        snowflake.schema_of(view),
        query_text=bool(query_text),
        query_history=not no_query_history,
        aggregate=bool(aggregate),
    )


def _days(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 100_000:
            return int(text)
    raise click.BadParameter(f"{text} is not a number of days")


COMMAND = Command(
    "fetch",
    _run,
    "fetch the rows of ACCESS_HISTORY and QUERY_HISTORY from Snowflake",
    "exporter fetch --connection lineage --out rows",
    {
        "Needed by most": [
            option("--out", "ROWS", "the folder to write or to continue", required=True, **LOCAL_FOLDER),
            option("--connection", "NAME", "a connection of connections.toml (default: the connector's default)"),
            option("--since", "DAY", "the first day, UTC (default: the first in ROWS, or a year ago)"),
            option("--until", "DAY", "the day after the last one (default: tomorrow)"),
            flag("--dry-run", "print the SQL, and do not connect"),
            as_json("print what was fetched as JSON on standard output"),
        ],
        "What is fetched": [
            option(
                "--view",
                "VIEW",
                "account (default), organization, or DATABASE.SCHEMA with views of these names",
                default="account",
            ),
            flag("--query-text", "also fetch SQL text, which can hold personal data"),
            flag("--no-query-history", "fetch only ACCESS_HISTORY"),
            flag("--aggregate", "also fetch AGGREGATE_ACCESS_HISTORY: short queries on hybrid tables"),
        ],
        "Which days again, and which no more": [
            option(
                "--overlap",
                "DAYS",
                "read a day again until so many days after its end, for late rows (default 3)",
                type=_days,
                default=3,
            ),
            option("--keep", "DAYS", "remove older days from ROWS (default: keep all)", type=_days),
        ],
    },
)
