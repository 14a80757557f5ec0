"""``exporter mcp``: a graph for assistants, by the Model Context Protocol."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.cli.commands import command, here
from exporter.errors import UsageError
from exporter.system.terminal import message

if TYPE_CHECKING:
    import argparse

_PACKAGES: Final = ("mcp", "anyio", "starlette", "uvicorn")


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(commands, "mcp", _run, "let an assistant ask a graph (MCP)", "exporter mcp lineage")
    parser.add_argument("dir", metavar="DIR", type=here, help="what export wrote, or a folder or file of Turtle")
    parser.add_argument("--http", action="store_true", help="listen for HTTP in place of standard input and output")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="with --http: address to listen on (default 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=_port, default=7879, metavar="N", help="with --http: port (default 7879; 0 for any free one)"
    )


def _run(arguments: argparse.Namespace) -> int:
    try:
        from exporter.mcp.server import INTERRUPTED, on_http, on_streams
        from exporter.serve.listening import is_loopback
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        install = "pip install 'access-history-exporter[mcp]'"
        raise UsageError(f"exporter mcp needs packages that are not installed ({error.name}): {install}") from error
    if not arguments.http:
        on_streams(arguments.dir, _say)
        return 0
    if not is_loopback(arguments.host):
        _say(
            f"warning: other machines can reach {arguments.host}. There is no login: everyone who can reach it can "
            "read who queried what, and SQL text if it was exported."
        )
    on_http(arguments.dir, arguments.host, arguments.port, partial(print, flush=True), _say)
    return INTERRUPTED


def _port(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text) <= 65535:
            return int(text)
    raise ArgumentTypeError(f"{text} is not a port: a whole number from 0 to 65535")


def _say(what: str) -> None:
    print(f"exporter: {message(what)}", file=sys.stderr, flush=True)
