"""``exporter serve``: pages for people and a SPARQL endpoint for programs."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from exporter.cli.commands import HERE, Argument, Command, option
from exporter.errors import UsageError
from exporter.system.terminal import message

if TYPE_CHECKING:
    from pathlib import Path

_INTERRUPTED: Final = 130
_PACKAGES: Final = ("flask", "waitress", "dash", "dash_cytoscape")


def _run(folder: Path, *, host: str, port: int) -> int:
    try:
        from exporter.serve.listening import is_loopback
        from exporter.serve.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        install = "pip install 'access-history-exporter[serve]'"
        raise UsageError(f"exporter serve needs packages that are not installed ({error.name}): {install}") from error
    if not is_loopback(host):
        _say(
            f"warning: other machines can reach {host}. There is no login: everyone who can reach it can "
            "read who queried what, and SQL text if it was exported."
        )
    serve(folder, host, port, partial(print, flush=True), _say)
    return _INTERRUPTED


def _say(what: str) -> None:
    print(f"exporter: {message(what)}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 65535:
            return int(text)
    raise click.BadParameter(f"{text} is not a port: a whole number from 0 to 65535")


COMMAND = Command(
    "serve",
    _run,
    "show an export as pages, and answer SPARQL at /sparql",
    "exporter serve lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **HERE),
            option("--host", "ADDRESS", "address to listen on (default 127.0.0.1)", default="127.0.0.1"),
            option("--port", "N", "port to listen on (default 7878; 0 for any free one)", type=_port, default=7878),
        ]
    },
)
