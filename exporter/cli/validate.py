"""``exporter validate``: validates Turtle with the shapes, and compares the files of an export with its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.commands import command, here

if TYPE_CHECKING:
    import argparse

NOTHING: Final = '{"conforms": false, "violations": 0, "results": []}'


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands,
        "validate",
        _run,
        "validate Turtle with the SHACL shapes, and the files of an export with its manifest",
        "exporter validate lineage",
    )
    parser.add_argument("path", type=here, metavar="DIR|FILE", help="what export wrote, or a folder or file of Turtle")
    parser.add_argument(
        "--shapes", action="append", default=[], type=Path, metavar="DIR", help="your own shapes in addition to ours"
    )
    parser.add_argument(
        "--by", choices=("pyshacl", "compiled"), default="pyshacl", help="the reference engine (default), or ours"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.cli import messages
    from exporter.errors import UsageError
    from exporter.graph.validate import validate
    from exporter.publish import manifest

    damaged = manifest.problems(arguments.path)
    messages.warn(damaged)
    try:
        is_valid, text = validate(
            arguments.path, by=arguments.by, shapes_dirs=tuple(arguments.shapes), as_json=arguments.json
        )
    except UsageError as error:
        if not damaged:
            raise
        # The files differ from what the export wrote: that is the result, and it explains why the graph cannot be read.
        messages.warn([str(error)])
        is_valid, text = False, NOTHING if arguments.json else "The graph cannot be validated"
    print(text)
    return 0 if is_valid and not damaged else 1
