"""Help: ``exporter help export``, for those who do not try --help, and ``exporter completion bash``, the script by
which a shell completes commands, options and their values.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from exporter.cli.commands import Argument, Command, Program, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

_VARIABLE: Final = "_EXPORTER_COMPLETE"
"""The environment variable by which the script asks the program for completions."""
_SHELLS: Final = ("bash", "zsh", "fish")


def _help(names: Sequence[str], *, as_json: bool | None) -> int:
    ctx = click.get_current_context()
    program = _program(ctx)
    if as_json:
        commands = [program.resolve_command(ctx, list(names))[1]] if names else list(program.commands.values())
        print(
            json.dumps([_command_json(command, ctx) for command in commands if isinstance(command, Command)], indent=1)
        )
        return 0
    with program.make_context("exporter", [*names, "--help"]) as help_context:  # without a name it ends here
        return int(program.invoke(help_context))


def _program(ctx: click.Context) -> Program:
    program = ctx.find_root().command
    assert isinstance(program, Program)
    return program


def _command_json(command: Command, ctx: click.Context) -> dict[str, Any]:
    command_context = click.Context(command, parent=ctx.find_root(), info_name=command.name)
    options = [
        {"option": param.opts[-1], "group": title, "help": param.help}
        for title, group in command.groups_of(command_context).items()
        for param in group
        if isinstance(param, click.Option) and not param.hidden
    ]
    return {"name": command.name, "does": command.text, "example": command.example, "options": options}


def _complete_name(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    commands = _program(ctx).commands.items()
    return [CompletionItem(name, help=one.short_help) for name, one in commands if name.startswith(incomplete)]


HELP = Command("help", _help, "show the commands, or what one of them does", "exporter help export")
HELP.group(
    "Options",
    Argument(
        "names",
        "COMMAND",
        "a command, also with a question: query who-accessed. Without it all commands are listed",
        nargs=-1,
        shell_complete=_complete_name,
    ),
    as_json("print the commands with their options as JSON"),
)


class _Fish(FishComplete):
    """fish shows the description of a completion only up to the first comma."""

    def format_completion(self, item: CompletionItem) -> str:
        text = item.help and item.help.replace(",", ";")
        return super().format_completion(CompletionItem(item.value, item.type, text))


add_completion_class(_Fish)


def answer_shell(program: Program) -> int | None:
    """Answers the script of a shell; the exit code, or None where no completion script started the program."""
    instruction = os.environ.get(_VARIABLE)
    return shell_complete(program, {}, "exporter", _VARIABLE, instruction) if instruction else None


def _completion(shell: str) -> int:
    completion = get_completion_class(shell)
    assert completion is not None, "Click has these shells"
    print(completion(_program(click.get_current_context()), {}, "exporter", _VARIABLE).source())
    return 0


COMPLETION = Command(
    "completion",
    _completion,
    "print a script for a shell, which then completes commands and options",
    'eval "$(exporter completion bash)"    # in ~/.bashrc; zsh: in ~/.zshrc, after compinit\n'
    "  exporter completion fish > ~/.config/fish/completions/exporter.fish",
)
COMPLETION.group("Options", Argument("shell", "SHELL", ", ".join(_SHELLS), type=click.Choice(_SHELLS)))
