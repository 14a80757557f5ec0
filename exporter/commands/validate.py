"""Turtle against the shapes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.commands import command

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare it."""
    parser = command(commands, "validate", _run, "validate Turtle with the shapes", "exporter validate lineage")
    parser.add_argument("path", type=Path, metavar="DIR|FILE", help="what export wrote, or a folder or file of Turtle")
    parser.add_argument(
        "--shapes", action="append", default=[], type=Path, metavar="DIR", help="your own, beside the shipped ones"
    )
    parser.add_argument(
        "--by", choices=("pyshacl", "compiled"), default="pyshacl", help="the reference engine (default), or our own"
    )
    parser.add_argument("--json", action="store_true", help="print conforms and the results as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.graph.validate import validate

    conforms, text = validate(
        arguments.path, by=arguments.by, shapes_dirs=tuple(arguments.shapes), as_json=arguments.json
    )
    print(text)
    return 0 if conforms else 1
