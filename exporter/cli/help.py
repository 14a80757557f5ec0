"""``exporter help export``: the help of a command, for those who do not try --help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.commands import Argument, Command, Program, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence


def _run(names: Sequence[str], *, as_json: bool | None) -> int:
    ctx = click.get_current_context()
    program = ctx.find_root().command
    assert isinstance(program, Program)
    if as_json:
        commands = [program.resolve_command(ctx, list(names))[1]] if names else list(program.commands.values())
        print(
            json.dumps([_command_json(command, ctx) for command in commands if isinstance(command, Command)], indent=1)
        )
        return 0
    with program.make_context("exporter", [*names, "--help"]) as help_context:  # without a name it ends here
        return int(program.invoke(help_context))


def _command_json(command: Command, ctx: click.Context) -> dict[str, Any]:
    command_context = click.Context(command, parent=ctx.find_root(), info_name=command.name)
    options = [
        {"option": param.opts[-1], "group": title, "help": param.help}
        for title, group in command.groups_of(command_context).items()
        for param in group
        if isinstance(param, click.Option) and not param.hidden
    ]
    return {"name": command.name, "does": command.text, "example": command.example, "options": options}


def _complete_name(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[click.shell_completion.CompletionItem]:
    program = ctx.find_root().command
    assert isinstance(program, Program)
    return [
        click.shell_completion.CompletionItem(name, help=command.short_help)
        for name, command in program.commands.items()
        if name.startswith(incomplete)
    ]


COMMAND = Command(
    "help",
    _run,
    "show the commands, or what one of them does",
    "exporter help export",
    {
        "Options": [
            Argument(
                "names",
                "COMMAND",
                "a command, also with a question: query who-accessed. Without it all commands are listed",
                nargs=-1,
                shell_complete=_complete_name,
            ),
            as_json("print the commands with their options as JSON"),
        ]
    },
)
