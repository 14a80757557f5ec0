"""Rows from Snowflake to files (``exporter fetch``), from files to events and a graph (``exporter export``, the main
command), and the events to a backend (``exporter push``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exporter.backends.profiles import LETTER_CASES, PROFILES
from exporter.cli import messages
from exporter.cli.commands import (
    EXPORTED,
    FILE,
    FILES,
    FOLDER,
    LOCAL_FOLDER,
    Argument,
    Command,
    as_json,
    choice,
    flag,
    number,
    option,
)
from exporter.cli.messages import say, warn
from exporter.errors import UsageError
from exporter.graph.terms import SYNTAXES
from exporter.system.progress import Progress
from exporter.system.terminal import print_result


def _fetch(  # noqa: PLR0913 - the options of the command
    out: Path,
    *,
    connection: str | None,
    since: str | None,
    until: str | None,
    view: str,
    overlap: int,
    keep: int | None,
    query_text: bool | None,
    no_query_history: bool | None,
    aggregate: bool | None,
    dry_run: bool | None,
    as_json: bool | None,
) -> int:
    from datetime import UTC, datetime

    from exporter.fetch import run, snowflake

    first, end = (text and run.day_of(text, name) for text, name in ((since, "--since"), (until, "--until")))
    options = run.FetchOptions(
        out,
        run.Period(first or None, end or None, overlap, keep),
        snowflake.schema_of(view),
        query_text=bool(query_text),
        query_history=not no_query_history,
        aggregate=bool(aggregate),
    )
    if dry_run:
        statements = [f"{statement};" for statement in run.planned(options, datetime.now(UTC))]
        print(json.dumps(statements, indent=1) if as_json else "\n".join(statements))
        return 0
    try:
        fetched = run.fetch(options, lambda: snowflake.opened(connection, options.schema), Progress())
    except KeyboardInterrupt:
        say(f"interrupted; the days that are complete are in {out}, and the next fetch continues after them")
        return 130
    warn(run.advice(fetched, options))
    text = json.dumps(fetched.json(), indent=1) if as_json else run.summary(fetched)
    print_result(text, f"the rows were fetched into {out}")
    return 0


_days = number(int, lambda days: 0 <= days <= 100_000, "a number of days")

FETCH = Command(
    "fetch",
    _fetch,
    "fetch the rows of ACCESS_HISTORY and QUERY_HISTORY from Snowflake",
    "exporter fetch --connection lineage --out rows",
)
FETCH.group(
    "Common options",
    option("--out", "ROWS", "the folder to write or to continue", required=True, **LOCAL_FOLDER),
    option("--connection", "NAME", "a connection of connections.toml (default: the connector's default)"),
    option("--since", "DAY", "the first day, UTC (default: the first in ROWS, or a year ago)"),
    option("--until", "DAY", "the day after the last one (default: tomorrow)"),
    flag("--dry-run", "print the SQL, and do not connect"),
    as_json("print what was fetched as JSON on standard output"),
)
FETCH.group(
    "What is fetched",
    option(
        "--view",
        "VIEW",
        "account (default), organization, or DATABASE.SCHEMA with views of these names",
        default="account",
    ),
    flag("--query-text", "also fetch SQL text, which can hold personal data"),
    flag("--no-query-history", "fetch only ACCESS_HISTORY"),
    flag("--aggregate", "also fetch AGGREGATE_ACCESS_HISTORY: short queries on hybrid tables"),
)
FETCH.group(
    "Overlap and retention",
    option(
        "--overlap",
        "DAYS",
        "read a day again until so many days after its end, for late rows (default 3)",
        type=_days,
        default=3,
    ),
    option("--keep", "DAYS", "remove older days from ROWS (default: keep all)", type=_days),
)


def _export(inputs: Sequence[str], *, config: Path | None, as_json: bool | None, **options: Any) -> int:
    from exporter.cli.configuration import load, other_variables
    from exporter.engines.export import export

    lists = {name: list(options[name]) or None for name in ("query_history", "aggregate", "shapes", "forget_user")}
    settings = load({**options, **lists, "inputs": tuple(inputs)}, config)
    warn(other_variables())
    progress = Progress()

    def warn_below(line: str) -> None:
        progress.clear()
        say(line)

    report = export(settings, progress, warn_below, hints=options["engine"] is None)
    text = report.json() if as_json else messages.summary(report, settings)
    published = f"the export was published in {settings.out}"
    print_result(text, "nothing was published, as --dry-run asks" if settings.dry_run else published)
    is_doubtful = report.quarantined or report.not_understood or (report.query_history or {}).get("unreadable")
    return 1 if report.violations or (settings.strict and is_doubtful) else 0


EXPORT = Command(
    "export",
    _export,
    "convert rows to OpenLineage events and a graph, and validate them",
    "exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage",
    is_watched=True,
    if_stopped="nothing was published",
)
EXPORT.group(
    "Common options",
    Argument(
        "inputs",
        "INPUT",
        "files, folders and globs of NDJSON, JSON, CSV, Parquet (also .gz), or a Spark table",
        nargs=-1,
        required=False,
        **FILES,
    ),
    option(
        "--out", "DIR", "the folder to write, or its URI; it appears complete or not at all", required=True, **FOLDER
    ),
    option("--account", "ORG-ACCOUNT", "the account that the rows are from; names begin with snowflake://ORG-ACCOUNT"),
    option(
        "--query-history",
        "PATH",
        "rows of QUERY_HISTORY, in the same formats: ends, roles, warehouses and counts; can be repeated",
        multiple=True,
        **FILES,
    ),
    choice(["--engine"], ("spark", "local"), "spark (default); local: for files on this machine, without Java"),
    flag("--update", "add the rows to the export in DIR; created if missing"),
    flag("--replace", "put the new output in place of an older one"),
    option("--config", "FILE", "settings in TOML", **FILE),
    flag("--dry-run", "do everything except publish, and report what the export would be"),
    as_json("print the report as JSON on standard output"),
)
EXPORT.group(
    "Which rows",
    option("--since", "TIME", "only queries that started at this day or time (UTC) or later"),
    option("--until", "TIME", "only queries that started before this day or time (UTC)"),
    option(
        "--aggregate",
        "PATH",
        "rows of AGGREGATE_ACCESS_HISTORY, in the same formats; short queries on hybrid tables; can be repeated",
        multiple=True,
        **FILES,
    ),
)
EXPORT.group(
    "What is written",
    option("--outputs", "LIST", "any of events,graph,catalog,facts (default events,graph)"),
    option("--graph-format", "LIST", f"any of {','.join(SYNTAXES)} (default turtle)"),
    choice(
        ["--reads"],
        ("full", "daily"),
        "daily: the graph has one node for all reads of a user, role, object and day (default full)",
    ),
    choice(["--compress"], ("none", "gzip"), "gzip: events and graph as .ndjson.gz and .ttl.gz (default none)"),
    option("--base", "IRI", "the beginning of the graph's IRIs (default snowflake://ORG-ACCOUNT/)"),
    flag("--no-changes", "with --update: do not write what changed to changes/", names=("changes",), flag_value=False),
)
EXPORT.group(
    "Personal data",
    flag("--query-text", "keep SQL text, which can hold personal data"),
    option("--pseudonyms", "KEYFILE", "replace user names by pseudonyms, made with the key in this file", **FILES),
    option("--mode", "MODE", "who may read DIR, in octal digits: 0750 opens it to the group (default 0700)"),
    option(
        "--forget-user", "NAME", "with --update: remove all rows of this user from DIR; can be repeated", multiple=True
    ),
    option("--forget-before", "DAY", "with --update: remove all rows from before this day (UTC) from DIR"),
)
EXPORT.group(
    "Checks before publishing",
    flag("--strict", "exit 1 if any row was quarantined or not understood, or one of QUERY_HISTORY could not be read"),
    option("--shapes", "DIR", "your own SHACL shapes in addition to ours; can be repeated", multiple=True, **FOLDER),
    option(
        "--min-rows",
        "N",
        "do not publish fewer exported rows (default: half of those that --replace replaces)",
        type=int,
    ),
    flag("--allow-empty", "publish even if no row can be exported"),
    flag("--force", "publish whatever the number of rows"),
    flag("--no-validate", "", names=("validate",), flag_value=False, hidden=True),
)


def _push(  # noqa: PLR0913 - the options of the command
    folder: Path,
    *,
    config: Path | None,
    dry_run: bool | None,
    verify: bool | None,
    sample: str | None,
    as_json: bool | None,
    **options: Any,
) -> int:
    from exporter.backends.command import preview, push
    from exporter.backends.verify import sample_size
    from exporter.cli.configuration import load_push, other_variables

    if dry_run and verify:
        raise UsageError("--dry-run connects to nothing, and --verify reads from the backend: give one of them")
    if sample is not None and not verify:
        raise UsageError("--sample says how much --verify looks at: give --verify too")
    size, choices = sample_size(sample) if verify else None, load_push(options, config)
    warn(other_variables())
    if dry_run:
        return preview(folder, choices, as_json=bool(as_json))
    return push(folder, choices, as_json=bool(as_json), sample=size)


PUSH = Command(
    "push",
    _push,
    "send the events of a folder to a backend",
    "OPENLINEAGE_URL=http://localhost:5000 exporter push lineage",
    is_watched=True,
)
PUSH.group(
    "Options",
    EXPORTED,
    choice(["--runs"], ("all", "latest"), "every run (default), or the latest of each job"),
    choice(["--profile"], PROFILES, "adapt the events to this backend (default: by its address)"),
    option("--config", "FILE", "settings in TOML; its table [push] is read", **FILE),
    flag("--dry-run", "print what would be sent, and to which backend; connect to nothing"),
    flag("--verify", "after the push, read back what was sent and list what is missing"),
    option("--sample", "N|all", "how many datasets, jobs and runs --verify looks at, of each (default 1000)"),
    as_json("print the counts as JSON on standard output"),
)
PUSH.group(
    "How it is sent",
    choice(
        ["--letter-case"], LETTER_CASES, "send names in lower case, or as they were exported (default: by the profile)"
    ),
    option("--concurrency", "N", "the most events at once (default 8)", type=int),
    option("--rate", "N", "the most events a second (default: no limit)", type=float),
    option("--patience", "S", "seconds to try again while the backend does not answer (default 60)", type=float),
)
