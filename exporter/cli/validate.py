"""``exporter validate``: validates Turtle with the shapes, and compares the files of an export with its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from exporter.cli.commands import FILE, LOCAL_FOLDER, Argument, Command, as_json, option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOTHING: Final = '{"conforms": false, "violations": 0, "counted": null, "results": []}'


def _run(path: Path, *, shapes: Sequence[Path], by: str, as_json: bool | None) -> int:
    from exporter.cli import messages
    from exporter.errors import UsageError
    from exporter.graph.validate import validate
    from exporter.publish import manifest
    from exporter.system.progress import Progress

    progress = Progress()
    with progress.stage("comparing the files with the manifest"):
        damaged = manifest.problems(path)
    messages.warn(damaged)
    try:
        with progress.stage("validating"):
            is_valid, text = validate(path, by=by, shapes_dirs=tuple(shapes), as_json=bool(as_json))
    except UsageError as error:
        if not damaged:
            raise
        # The files differ from what the export wrote: that is the result, and it explains why the graph cannot be read.
        messages.warn([str(error)])
        is_valid, text = False, NOTHING if as_json else "The graph cannot be validated"
    print(text)
    return 0 if is_valid and not damaged else 1


COMMAND = Command(
    "validate",
    _run,
    "validate Turtle with the SHACL shapes, and the files of an export with its manifest",
    "exporter validate lineage",
    {
        "Options": [
            Argument("path", "DIR|FILE", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
            option("--shapes", "DIR", "your own shapes in addition to ours", multiple=True, **FILE),
            click.Option(
                ["--by"],
                type=click.Choice(("pyshacl", "compiled")),
                default="pyshacl",
                help="the reference engine (default), or ours",
            ),
            as_json("print the results as JSON"),
        ]
    },
)
