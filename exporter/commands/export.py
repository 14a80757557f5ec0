"""Rows to events and graph: the main job."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from exporter.commands import command


def add(commands: Any) -> None:
    """Declare it."""
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
        "--out", required=True, metavar="DIR", help="the folder to write, or its URI; it appears whole or not at all"
    )
    parser.add_argument(
        "--account",
        metavar="ORG-ACCOUNT",
        help="the account the rows are from: names are below snowflake://ORG-ACCOUNT",
    )
    parser.add_argument(
        "--query-history",
        metavar="PATH",
        help="rows of QUERY_HISTORY, in the same forms: ends, roles, warehouses, counts",
    )
    parser.add_argument("--outputs", metavar="LIST", help="events,graph (default), catalog, facts, or some of them")
    parser.add_argument("--graph-format", metavar="LIST", help="turtle (default), ntriples, nquads, jsonld, or several")
    parser.add_argument(
        "--reads",
        choices=("full", "daily"),
        help="daily: of reads one node a user, role, object and day in the graph, for stores that cannot hold all",
    )
    parser.add_argument(
        "--compress", choices=("none", "gzip"), help="gzip: events and graph as .ndjson.gz and .ttl.gz (default none)"
    )
    parser.add_argument(
        "--base", metavar="IRI", help="what the graph's IRIs begin with (default snowflake://ORG-ACCOUNT/)"
    )
    parser.add_argument(
        "--query-text", action="store_true", default=None, help="keep SQL text, which can hold personal data"
    )
    parser.add_argument(
        "--engine", choices=("spark", "local"), help="spark (default); local: some MB of files, without Spark and Java"
    )
    parser.add_argument(
        "--shapes", action="append", metavar="DIR", help="your own SHACL shapes beside the shipped ones; several times"
    )
    parser.add_argument("--since", metavar="TIME", help="leave out queries that started before: a day or a time, UTC")
    parser.add_argument("--until", metavar="TIME", help="leave out queries that started then or later")
    parser.add_argument(
        "--pseudonyms", metavar="KEYFILE", help="pseudonyms in the place of user names, made with the key in this file"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")
    parser.add_argument("--strict", action="store_true", default=None, help="exit 1 where any row was quarantined")
    parser.add_argument(
        "--replace", action="store_true", default=None, help="put the new output in place of an older one"
    )
    parser.add_argument(
        "--update", action="store_true", default=None, help="add the rows to what is in DIR; the first run makes it"
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
        help="do everything but publish: say what the export would come to",
    )
    parser.add_argument(
        "--allow-empty", action="store_true", default=None, help="publish even where no row can be exported"
    )
    parser.add_argument(
        "--min-rows",
        type=int,
        metavar="N",
        help="publish N exported rows or more (default: half of what --replace replaces)",
    )
    parser.add_argument("--force", action="store_true", default=None, help="publish whatever the number of rows")
    parser.add_argument(
        "--forget-user",
        action="append",
        metavar="NAME",
        help="with --update: take all rows of this user out of DIR; several times",
    )
    parser.add_argument(
        "--forget-before", metavar="DAY", help="with --update: take all rows from before this day (UTC) out of DIR"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON on standard output")
    parser.add_argument("--no-validate", action="store_false", dest="validate", default=None, help=argparse.SUPPRESS)


def _run(arguments: argparse.Namespace) -> int:
    from exporter import configuration, terminal
    from exporter.pipeline import export
    from exporter.progress import Progress

    given = {
        name: getattr(arguments, name)
        for name in (
            "out",
            "account",
            "query_history",
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
            "validate",
            "engine",
            "shapes",
            "since",
            "until",
            "pseudonyms",
        )
    }
    chosen = configuration.load({**given, "inputs": tuple(arguments.inputs)}, arguments.config)
    terminal.warn(terminal.advice(chosen))
    report = export(chosen, Progress(), lambda line: terminal.warn([line]))
    print(report.json() if arguments.json else terminal.summary(report, chosen))
    return 1 if report.violations or (chosen.strict and report.quarantined) else 0
