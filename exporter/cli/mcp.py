"""``exporter mcp``: a graph for assistants, by the Model Context Protocol."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from exporter.cli.commands import LOCAL_FOLDER, Argument, Command, flag, option
from exporter.cli.serve import port_of, say
from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGES: Final = ("mcp", "anyio", "starlette", "uvicorn")


def _run(folder: Path, *, http: bool | None, host: str, port: int) -> int:
    try:
        from exporter.mcp.server import INTERRUPTED, on_http, on_streams
        from exporter.serve.listening import is_loopback
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        install = "pip install 'access-history-exporter[mcp]'"
        raise UsageError(f"exporter mcp needs packages that are not installed ({error.name}): {install}") from error
    if not http:
        on_streams(folder, say)
        return 0
    if not is_loopback(host):
        say(
            f"warning: other machines can reach {host}. There is no login: everyone who can reach it can "
            "read who queried what, and SQL text if it was exported."
        )
    on_http(folder, host, port, partial(print, flush=True), say)
    return INTERRUPTED


COMMAND = Command(
    "mcp",
    _run,
    "let an assistant ask a graph (MCP)",
    "exporter mcp lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
            flag("--http", "listen for HTTP in place of standard input and output"),
            option("--host", "ADDRESS", "with --http: address to listen on (default 127.0.0.1)", default="127.0.0.1"),
            option("--port", "N", "with --http: port (default 7879; 0 for any free one)", type=port_of, default=7879),
        ]
    },
)
