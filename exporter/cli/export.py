"""``exporter export``: from rows to events and graph, the main command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from exporter.cli.commands import command
from exporter.graph.terms import SYNTAXES


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands, "export", _run, "convert rows to OpenLineage events and a graph, and validate them",
        "exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage",
    )  # fmt: skip
    parser.set_defaults(is_watched=True, left="nothing was published")
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="files, folders and globs of NDJSON, JSON, CSV, Parquet (also .gz), or a Spark table",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the folder to write, or its URI; it appears complete or not at all"
    )
    parser.add_argument(
        "--account",
        metavar="ORG-ACCOUNT",
        help="the account that the rows are from; names begin with snowflake://ORG-ACCOUNT",
    )
    parser.add_argument(
        "--query-history",
        metavar="PATH",
        help="rows of QUERY_HISTORY, in the same formats; they add ends, roles, warehouses and counts",
    )
    parser.add_argument(
        "--aggregate",
        metavar="PATH",
        help="rows of AGGREGATE_ACCESS_HISTORY, in the same formats; they add short queries on hybrid tables",
    )
    parser.add_argument("--outputs", metavar="LIST", help="any of events,graph,catalog,facts (default events,graph)")
    parser.add_argument("--graph-format", metavar="LIST", help=f"any of {','.join(SYNTAXES)} (default turtle)")
    parser.add_argument(
        "--reads",
        choices=("full", "daily"),
        help="daily: the graph has one node for all reads of a user, role, object and day (default full)",
    )
    parser.add_argument(
        "--compress", choices=("none", "gzip"), help="gzip: events and graph as .ndjson.gz and .ttl.gz (default none)"
    )
    parser.add_argument(
        "--base", metavar="IRI", help="the beginning of the graph's IRIs (default snowflake://ORG-ACCOUNT/)"
    )
    parser.add_argument(
        "--query-text", action="store_true", default=None, help="keep SQL text, which can hold personal data"
    )
    parser.add_argument(
        "--engine", choices=("spark", "local"), help="spark (default); local: for some MB of files, without Java"
    )
    parser.add_argument(
        "--shapes", action="append", metavar="DIR", help="your own SHACL shapes in addition to ours; can be repeated"
    )
    parser.add_argument("--since", metavar="TIME", help="only queries that started at this day or time (UTC) or later")
    parser.add_argument("--until", metavar="TIME", help="only queries that started before this day or time (UTC)")
    parser.add_argument(
        "--pseudonyms", metavar="KEYFILE", help="replace user names by pseudonyms, made with the key in this file"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")
    parser.add_argument(
        "--strict", action="store_true", default=None, help="exit 1 if any row was quarantined or not understood"
    )
    parser.add_argument(
        "--replace", action="store_true", default=None, help="put the new output in place of an older one"
    )
    parser.add_argument(
        "--update", action="store_true", default=None, help="add the rows to the export in DIR; created if missing"
    )
    parser.add_argument(
        "--no-changes",
        action="store_false",
        dest="changes",
        default=None,
        help="with --update: do not write what changed to changes/",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        default=None,
        help="do everything except publish, and report what the export would be",
    )
    parser.add_argument(
        "--allow-empty", action="store_true", default=None, help="publish even if no row can be exported"
    )
    parser.add_argument(
        "--min-rows",
        type=int,
        metavar="N",
        help="do not publish fewer exported rows (default: half of those that --replace replaces)",
    )
    parser.add_argument("--force", action="store_true", default=None, help="publish whatever the number of rows")
    parser.add_argument(
        "--mode", metavar="MODE", help="who may read DIR, in octal digits: 0750 opens it to the group (default 0700)"
    )
    parser.add_argument(
        "--forget-user",
        action="append",
        metavar="NAME",
        help="with --update: remove all rows of this user from DIR; can be repeated",
    )
    parser.add_argument(
        "--forget-before", metavar="DAY", help="with --update: remove all rows from before this day (UTC) from DIR"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON on standard output")
    parser.add_argument("--no-validate", action="store_false", dest="validate", default=None, help=argparse.SUPPRESS)


def _run(arguments: argparse.Namespace) -> int:
    from exporter.cli import configuration, messages
    from exporter.engines.export import export
    from exporter.system.progress import Progress

    given = {
        name: getattr(arguments, name)
        for name in (
            "out",
            "account",
            "query_history",
            "aggregate",
            "outputs",
            "graph_format",
            "reads",
            "compress",
            "base",
            "query_text",
            "strict",
            "replace",
            "update",
            "changes",
            "dry_run",
            "forget_user",
            "forget_before",
            "allow_empty",
            "min_rows",
            "force",
            "mode",
            "validate",
            "engine",
            "shapes",
            "since",
            "until",
            "pseudonyms",
        )
    }
    chosen = configuration.load({**given, "inputs": tuple(arguments.inputs)}, arguments.config)
    messages.warn(messages.advice(chosen))
    report = export(chosen, Progress(), lambda line: messages.warn([line]))
    print(report.json() if arguments.json else messages.summary(report, chosen))
    return 1 if report.violations or (chosen.strict and (report.quarantined or report.not_understood)) else 0
