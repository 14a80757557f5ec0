"""``exporter export``: from rows to events and graph, the main command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exporter.cli.commands import FILE, FILES, FOLDER, Argument, Command, as_json, flag, option
from exporter.graph.terms import SYNTAXES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def _run(inputs: Sequence[str], *, config: Path | None, as_json: bool | None, **options: Any) -> int:
    from exporter.cli import configuration, messages
    from exporter.engines.export import continued, export
    from exporter.system.progress import Progress

    lists = {name: list(options[name]) or None for name in ("shapes", "forget_user")}
    settings = continued(configuration.load({**options, **lists, "inputs": tuple(inputs)}, config))
    messages.warn(messages.advice(settings))
    progress = Progress()

    def say(line: str) -> None:
        progress.clear()
        messages.warn([line])

    report = export(settings, progress, say, hints=options["engine"] is None)
    print(report.json() if as_json else messages.summary(report, settings))
    return 1 if report.violations or (settings.strict and (report.quarantined or report.not_understood)) else 0


COMMAND = Command(
    "export",
    _run,
    "convert rows to OpenLineage events and a graph, and validate them",
    "exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage",
    {
        "Needed by most": [
            Argument(
                "inputs",
                "INPUT",
                "files, folders and globs of NDJSON, JSON, CSV, Parquet (also .gz), or a Spark table",
                nargs=-1,
                required=False,
                **FILES,
            ),
            option(
                "--out",
                "DIR",
                "the folder to write, or its URI; it appears complete or not at all",
                required=True,
                **FOLDER,
            ),
            option(
                "--account",
                "ORG-ACCOUNT",
                "the account that the rows are from; names begin with snowflake://ORG-ACCOUNT",
            ),
            option(
                "--query-history",
                "PATH",
                "rows of QUERY_HISTORY, in the same formats; they add ends, roles, warehouses and counts",
                **FILES,
            ),
            click.Option(
                ["--engine"],
                type=click.Choice(("spark", "local")),
                help="spark (default); local: for some MB of files, without Java",
            ),
            flag("--update", "add the rows to the export in DIR; created if missing"),
            flag("--replace", "put the new output in place of an older one"),
            option("--config", "FILE", "settings in TOML", **FILE),
            flag("--dry-run", "do everything except publish, and report what the export would be"),
            as_json("print the report as JSON on standard output"),
        ],
        "Which rows": [
            option("--since", "TIME", "only queries that started at this day or time (UTC) or later"),
            option("--until", "TIME", "only queries that started before this day or time (UTC)"),
            option(
                "--aggregate",
                "PATH",
                "rows of AGGREGATE_ACCESS_HISTORY, in the same formats; they add short queries on hybrid tables",
                **FILES,
            ),
        ],
        "What is written": [
            option("--outputs", "LIST", "any of events,graph,catalog,facts (default events,graph)"),
            option("--graph-format", "LIST", f"any of {','.join(SYNTAXES)} (default turtle)"),
            click.Option(
                ["--reads"],
                type=click.Choice(("full", "daily")),
                help="daily: the graph has one node for all reads of a user, role, object and day (default full)",
            ),
            click.Option(
                ["--compress"],
                type=click.Choice(("none", "gzip")),
                help="gzip: events and graph as .ndjson.gz and .ttl.gz (default none)",
            ),
            option("--base", "IRI", "the beginning of the graph's IRIs (default snowflake://ORG-ACCOUNT/)"),
            flag(
                "--no-changes",
                "with --update: do not write what changed to changes/",
                names=("changes",),
                flag_value=False,
            ),
        ],
        "Personal data": [
            flag("--query-text", "keep SQL text, which can hold personal data"),
            option(
                "--pseudonyms",
                "KEYFILE",
                "replace user names by pseudonyms, made with the key in this file",
                **FILES,
            ),
            option("--mode", "MODE", "who may read DIR, in octal digits: 0750 opens it to the group (default 0700)"),
            option(
                "--forget-user",
                "NAME",
                "with --update: remove all rows of this user from DIR; can be repeated",
                multiple=True,
            ),
            option("--forget-before", "DAY", "with --update: remove all rows from before this day (UTC) from DIR"),
        ],
        "When it is refused": [
            flag("--strict", "exit 1 if any row was quarantined or not understood"),
            option(
                "--shapes",
                "DIR",
                "your own SHACL shapes in addition to ours; can be repeated",
                multiple=True,
                **FOLDER,
            ),
            option(
                "--min-rows",
                "N",
                "do not publish fewer exported rows (default: half of those that --replace replaces)",
                type=int,
            ),
            flag("--allow-empty", "publish even if no row can be exported"),
            flag("--force", "publish whatever the number of rows"),
            flag("--no-validate", "", names=("validate",), flag_value=False, hidden=True),
        ],
    },
    is_watched=True,
    if_stopped="nothing was published",
)
