"""The command line: arguments and exit codes, no logic. Scripts rely on this interface (``docs/interface.md``).

Exit codes: 0 done; 1 the shapes refused the output, or rows were quarantined under --strict; 2 usage or settings; 3 the
backend did not accept all events; 4 a fault of the program; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from exporter import VERSIONS
from exporter.cli import export, fetch, log, push, quarantine, queries, query, report, serve, validate
from exporter.cli import help as help_
from exporter.errors import ExporterError
from exporter.system import faults, private
from exporter.system import terminal as printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_EPILOG: Final = """examples:
  exporter fetch --connection lineage --out rows
  exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage
  exporter export unload/*.parquet --query-history history.csv --account MYORG-MYACCOUNT --out lineage --replace
  exporter queries
  exporter query who-accessed --graph lineage --param object_id=66564
  exporter validate lineage
  OPENLINEAGE_URL=http://localhost:5000 exporter push lineage

exit codes: 0 done; 1 the shapes refused some of the output, or rows were quarantined under --strict; 2 usage, settings
or input that cannot be used; 3 the backend did not accept all events; 4 a fault of the program; 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors are printed, not raised. ``argv``: None for the command line."""
    if argv is None:  # run as a program, not called from another one
        signal.signal(signal.SIGTERM, _ended)
    with printable.guarded():
        return _run(argv)


def _ended(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM, which schedulers and cluster managers send, as an interruption by the user: nothing is left."""
    interrupt = signal.getsignal(signal.SIGINT)  # with a Spark session it is PySpark's, which ends the jobs
    (interrupt if callable(interrupt) else signal.default_int_handler)(number, frame)


def _run(argv: Sequence[str] | None) -> int:
    left = ""
    try:
        arguments = _parser().parse_args(argv)
        left = arguments.left
        command: Callable[[argparse.Namespace], int] = arguments.command
        # Only if run as a program: another program has its own threads and files.
        with private.made(), faults.report_when_killed() if argv is None and arguments.is_watched else nullcontext():
            return command(arguments)
    except ExporterError as error:
        print(f"exporter: {printable.message(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"exporter: interrupted{left and f'; {left}'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - any fault ends in a message, not in a traceback
        return _fault(error, left)


def _fault(error: Exception, left: str) -> int:
    if os.environ.get("EXPORTER_DEBUG"):
        raise error
    try:
        from exporter.cli import messages

        text: str | None = messages.fault(error, left)
    except (MemoryError, ImportError):  # what makes the message needs memory, too
        text = faults.words(
            MemoryError(), f"{left}, and existing output is unchanged" if left else "there is no result"
        )
    print(f"exporter: {text}", file=sys.stderr)
    return 4


class _Parser(argparse.ArgumentParser):
    """Shows arguments in its errors on one line."""

    def error(self, message: str) -> NoReturn:
        super().error(printable.visible(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="exporter",
        description="Rows of Snowflake's ACCESS_HISTORY to OpenLineage events and a PROV graph, validated with SHACL.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"exporter {VERSIONS}")
    parser.set_defaults(command=partial(_without_command, parser), left="", is_watched=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module_type in (fetch, export, validate, push, query, queries, serve, report, quarantine, log):
        module_type.add(commands)
    help_.add(commands, parser)
    return parser


def _without_command(program: argparse.ArgumentParser, _: argparse.Namespace) -> int:
    """``exporter`` alone: an error for a script, and for a person the commands that there are."""
    program.print_help(sys.stderr)
    return 2
