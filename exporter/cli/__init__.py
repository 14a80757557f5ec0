"""The command line: arguments and exit codes, no logic. Scripts rely on this interface (``docs/interface.md``).

``docs/interface.md`` has the exit codes, too.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Final

import click

from exporter.cli import export, folder, messages, query
from exporter.cli.commands import COMPLETION, HELP, Argument, Program, ProgramRun, answer_shell, shown
from exporter.errors import ExporterError
from exporter.system import faults, terminal
from exporter.version import VERSIONS

_EPILOG: Final = """Examples:
  exporter fetch --connection lineage --out rows
  exporter export rows.ndjson.gz --account MYORG-MYACCOUNT --out lineage
  exporter export unload/*.parquet --query-history history.csv --account MYORG-MYACCOUNT --out lineage --replace
  exporter queries
  exporter query who-accessed lineage --object-name DB.SCHEMA.NAME --since 2026-09-01
  exporter validate lineage
  OPENLINEAGE_URL=http://localhost:5000 exporter push lineage

Exit codes: 0 done; 1 a check failed (shapes, --strict, --fail-on-rows, --fail-on, validate, --verify, or no rows of
the user to forget); 2 options, settings or input that cannot be used; 3 the backend did not accept all events; 4 a
fault of the program or of its environment; 130 interrupted"""


PROGRAM: Final = Program(
    "exporter",
    "Rows of Snowflake's ACCESS_HISTORY to OpenLineage events and a PROV graph, validated with SHACL.",
    {
        "Rows to events and a graph": [export.FETCH, export.EXPORT],
        "Ask and show": [query.QUERY, query.QUERIES, folder.SERVE, folder.REPORT, folder.MCP, folder.RECONCILE],
        "Send": [export.PUSH],
        "Look after a folder": [folder.VALIDATE, folder.QUARANTINE, folder.LOG],
        "Help": [HELP, COMPLETION],
    },
    _EPILOG,
)
PROGRAM.params.append(
    shown("--version", (), "show the versions of the program and of its model", lambda _: f"exporter {VERSIONS}")
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors are printed, not raised. ``argv``: None for the command line."""
    if argv is None:  # run as a program, not called from another one
        exit_code = answer_shell(PROGRAM)
        if exit_code is not None:
            return exit_code
        signal.signal(signal.SIGTERM, _interrupt)
    with terminal.guarded():
        exit_code = _run(sys.argv[1:] if argv is None else list(argv), ProgramRun(is_program=argv is None))
        try:
            sys.stdout.flush()  # which Python would do at its exit
        except BrokenPipeError:  # its reader is gone: no fault of the program, and no other exit code
            _discard_output()
        except OSError as error:  # such as a full disk
            _discard_output()
            return exit_code or _fault(error, "")
        return exit_code


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM, which schedulers and cluster managers send, as an interruption by the user: nothing is left."""
    interrupt = signal.getsignal(signal.SIGINT)  # with a Spark session it is PySpark's, which ends the jobs
    (interrupt if callable(interrupt) else signal.default_int_handler)(number, frame)


def _run(argv: list[str], program_run: ProgramRun) -> int:
    try:
        return _read_and_run(argv, program_run)
    except ExporterError as error:
        messages.say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        print(f"exporter: interrupted{program_run.if_stopped and f'; {program_run.if_stopped}'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        return 0
    except Exception as error:  # noqa: BLE001 - any fault ends in a message, not in a traceback
        return _fault(error, program_run.if_stopped)


def _read_and_run(argv: list[str], program_run: ProgramRun) -> int:
    try:
        with PROGRAM.make_context("exporter", argv, obj=program_run) as ctx:
            if argv:
                return int(PROGRAM.invoke(ctx))
            print(ctx.get_help(), file=sys.stderr)  # an error for a script, and for a person what there is
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        _say_usage(error)
    return 2


def _say_usage(error: click.UsageError) -> None:
    """Prints how the command is used, what is wrong, and how to list all options."""
    text, param = error.format_message(), error.param if isinstance(error, click.MissingParameter) else None
    if isinstance(param, Argument):
        text = f"{param.display_name} is missing: {param.text}"
    elif isinstance(param, click.Option):
        text = f"{param.opts[-1]} is missing: {param.help}"
    if error.ctx is not None:
        print(terminal.visible(error.ctx.get_usage()), file=sys.stderr)
        hint = "lists the commands" if error.ctx.command is PROGRAM else "shows all options"
        text = f"{text}\n  {error.ctx.command_path} --help {hint}"
    messages.say(text)


def _fault(error: Exception, if_stopped: str) -> int:
    if os.environ.get("EXPORTER_DEBUG"):
        traceback.print_exception(error)
    try:
        text = messages.fault(error, if_stopped)
    except MemoryError:  # what makes the message needs memory, too
        text = faults.words(MemoryError(), messages.state_left(if_stopped)) or ""
    print(f"exporter: {text}", file=sys.stderr)
    return faults.kind(error).exit_code
