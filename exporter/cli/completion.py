"""``exporter completion bash``: the script by which a shell completes commands, options and their values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from exporter.cli.commands import Argument, Command

if TYPE_CHECKING:
    from exporter.cli.commands import Program

VARIABLE: Final = "_EXPORTER_COMPLETE"
"""The environment variable by which the script asks the program for completions."""
SHELLS: Final = ("bash", "zsh", "fish")


class _Fish(FishComplete):
    """fish shows the description of a completion only up to the first comma."""

    def format_completion(self, item: CompletionItem) -> str:
        text = item.help and item.help.replace(",", ";")
        return super().format_completion(CompletionItem(item.value, item.type, text))


add_completion_class(_Fish)


def answer_shell(program: Program) -> int | None:
    """Answers the script of a shell; the exit code, or None where no completion script started the program."""
    instruction = os.environ.get(VARIABLE)
    return shell_complete(program, {}, "exporter", VARIABLE, instruction) if instruction else None


def _run(shell: str) -> int:
    completion = get_completion_class(shell)
    assert completion is not None, "Click has these shells"
    program = click.get_current_context().find_root().command
    print(completion(program, {}, "exporter", VARIABLE).source())
    return 0


COMMAND = Command(
    "completion",
    _run,
    "print a script for a shell, which then completes commands and options",
    'eval "$(exporter completion bash)"    # in ~/.bashrc; zsh: in ~/.zshrc, after compinit\n'
    "  exporter completion fish > ~/.config/fish/completions/exporter.fish",
    {"Options": [Argument("shell", "SHELL", ", ".join(SHELLS), type=click.Choice(SHELLS))]},
)
