"""``exporter fetch``: rows from Snowflake to files for an export."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command, here

if TYPE_CHECKING:
    import argparse

    from exporter.fetch.run import Wanted


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands, "fetch", _run, "fetch the rows of ACCESS_HISTORY and QUERY_HISTORY from Snowflake",
        "exporter fetch --connection lineage --out rows",
    )  # fmt: skip
    parser.add_argument(
        "--connection", metavar="NAME", help="a connection of connections.toml (default: the connector's default)"
    )
    parser.add_argument("--out", required=True, type=here, metavar="ROWS", help="the folder to write or to continue")
    parser.add_argument("--since", metavar="DAY", help="the first day, UTC (default: the first in ROWS, or a year ago)")
    parser.add_argument("--until", metavar="DAY", help="the day after the last one (default: tomorrow)")
    parser.add_argument(
        "--view",
        default="account",
        metavar="VIEW",
        help="account (default), organization, or DATABASE.SCHEMA with views of these names",
    )
    parser.add_argument(
        "--overlap",
        type=_days,
        default=3,
        metavar="DAYS",
        help="read a day again until so many days after its end, for late rows (default 3)",
    )
    parser.add_argument("--keep", type=_days, metavar="DAYS", help="remove older days from ROWS (default: keep all)")
    parser.add_argument("--query-text", action="store_true", help="also fetch SQL text, which can hold personal data")
    parser.add_argument("--no-query-history", action="store_true", help="fetch only ACCESS_HISTORY")
    parser.add_argument(
        "--aggregate", action="store_true", help="also fetch AGGREGATE_ACCESS_HISTORY: short queries on hybrid tables"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the SQL, and do not connect")
    parser.add_argument("--json", action="store_true", help="print what was fetched as JSON on standard output")


def _run(arguments: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from exporter.cli.messages import warn
    from exporter.fetch import run, snowflake
    from exporter.fetch import run as told
    from exporter.system.progress import Progress

    wanted = _wanted(arguments)
    if arguments.dry_run:
        for statement in run.planned(wanted, datetime.now(UTC)):
            print(f"{statement};")
        return 0
    try:
        done = run.fetch(wanted, lambda: snowflake.opened(arguments.connection, wanted.schema), Progress())
    except KeyboardInterrupt:
        warn([f"interrupted; {told.what_remains(wanted.out)}"])
        return 130
    warn(told.advice(done, wanted))
    print(json.dumps(done.json(), indent=1) if arguments.json else told.summary(done))
    return 0


def _wanted(arguments: argparse.Namespace) -> Wanted:
    from exporter.fetch import run, snowflake
    from exporter.fetch import run as windows

    since, until = arguments.since, arguments.until
    period = windows.Period(
        windows.day_of(since, "--since") if since else None,
        windows.day_of(until, "--until") if until else None,
        arguments.overlap,
        arguments.keep,
    )
    return run.Wanted(
        arguments.out,
        period,
        snowflake.schema_of(arguments.view),
        query_text=arguments.query_text,
        query_history=not arguments.no_query_history,
        aggregate=arguments.aggregate,
    )


def _days(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 100_000:
            return int(text)
    raise ArgumentTypeError(f"{text} is not a number of days")
