"""``exporter report``: what a steward sends on, as one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command, here
from exporter.cli.configuration import load_serve
from exporter.cli.serve import needed, say

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    text, example = "write a report for stewards as one file of HTML", "exporter report lineage --out report.html"
    parser = command(commands, "report", _run, text, example)
    parser.add_argument("dir", metavar="DIR", type=here, help="what export wrote, or a folder or file of Turtle")
    parser.add_argument("--out", required=True, type=here, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--since", metavar="TIME", help="the first day or time (UTC); by default 30 days before the last"
    )
    parser.add_argument("--config", type=here, metavar="FILE", help="settings in TOML, of the table [serve]")


def _run(arguments: argparse.Namespace) -> int:
    with needed("report"):
        from exporter.serve.report import write
    sensitive = load_serve(arguments.config) if arguments.config else ()
    write(arguments.dir, arguments.out, arguments.since, sensitive, say)
    print(arguments.out)
    return 0
