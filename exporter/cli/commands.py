"""What commands are made of: the program, a command with its options in groups, the types of their values. At the end
are the commands that show these: ``exporter help`` and ``exporter completion``.

Click reads the words of a command line, completes them in shells and finds the nearest name for a wrong one. What it
shows to people passes through :mod:`exporter.system.terminal`, so a help is printed here and not by Click.

A command imports what it needs only when it runs, so that no command waits for Spark without using it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import (
    CompletionItem,
    FishComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from exporter.cli.messages import say
from exporter.system import faults, private

_N = TypeVar("_N", int, float)
_SETTINGS: Final = {"max_content_width": 110}


@dataclass
class ProgramRun:
    """A run of the program. ``is_program``: started by a shell, not called by another program, which has its own
    threads and files. ``if_stopped``: the state of DIR, for the message where the command is interrupted or fails.
    """

    is_program: bool
    if_stopped: str = ""


class Argument(click.Argument):
    """An argument with its name for people, and with a text as an option has."""

    def __init__(self, name: str, display_name: str, text: str, **attributes: Any) -> None:
        super().__init__([name], **attributes)
        self.display_name, self.text = display_name, text

    def make_metavar(self, ctx: click.Context) -> str:
        """As it is written: ``[DIR]`` where it may be left out, ``[INPUT]...`` for any number."""
        name = self.display_name if self.required else f"[{self.display_name}]"
        return name if self.nargs == 1 else f"{name}..."

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return self.display_name

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self.display_name, f"{self.text}  [required]" if self.required else self.text


class Option(click.Option):
    """An option. If it takes one value and is given several, the last counts, as usual; a word says so, since what the
    others ask for is lost.
    """

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Lets Click's parser keep every value."""
        if self.multiple or self.is_flag:
            super().add_to_parser(parser, ctx)
        else:
            parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=self.nargs)

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """The one value. ``value``: the list of the parser, or a default."""
        if self.multiple or not isinstance(value, list):
            return super().type_cast_value(ctx, value)
        if len(set(value)) > 1 and not ctx.resilient_parsing:
            how = ". Give all of its values with commas between them" if self.metavar == "LIST" else ""
            say(f"{self.opts[-1]} is given {len(value)} times: the last value counts{how}")
        return super().type_cast_value(ctx, value[-1])


class Command(click.Command):
    """A command. ``groups``: title -> its options and arguments; the first group is what most people need.

    ``run`` is called with the value of each option and returns the exit code. ``is_watched``: whether a second process
    reports it if this one dies. ``if_stopped``: see :class:`ProgramRun`.
    """

    def __init__(  # noqa: PLR0913 - what a command is, in one place
        self,
        name: str,
        run: Callable[..., int],
        text: str,
        example: str,
        *,
        is_watched: bool = False,
        if_stopped: str = "",
    ) -> None:
        self.text, self.example, self.groups = text, example, dict[str, list[click.Parameter]]()
        self.is_watched, self.if_stopped = is_watched, if_stopped
        super().__init__(name, _SETTINGS, run, help=f"{text[0].upper()}{text[1:]}.", short_help=text)

    def group(self, title: str, *params: click.Parameter) -> None:
        """Adds a group."""
        self.groups[title] = [*params]
        self.params += params

    def groups_of(self, ctx: click.Context) -> Mapping[str, Sequence[click.Parameter]]:
        """The groups that the help shows."""
        return self.groups

    def example_of(self, ctx: click.Context) -> str:
        """The example that the help shows."""
        return self.example

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _HELP_OPTION

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the words after the command; an error says of which command they are."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the groups, each with its arguments and options."""
        groups = {title: list(params) for title, params in self.groups_of(ctx).items()}
        next(iter(groups.values())).append(_HELP_OPTION)
        arguments = [param for params in groups.values() for param in params if isinstance(param, Argument)]
        options = {title: [param for param in params if param not in arguments] for title, params in groups.items()}
        sections: dict[str, Sequence[click.Parameter]] = {"Arguments": arguments, **options}
        for title, params in sections.items():
            records = [record for param in params if (record := param.get_help_record(ctx))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write(f"{'':>{formatter.current_indent}}{self.example_of(ctx)}\n")

    def invoke(self, ctx: click.Context) -> int:
        """Runs the command, with files for their owner alone."""
        program_run: ProgramRun = ctx.find_object(ProgramRun) or ProgramRun(is_program=False)
        program_run.if_stopped = self.if_stopped
        is_reported = program_run.is_program and self.is_watched
        with private.made(), faults.report_when_killed() if is_reported else nullcontext():
            return int(super().invoke(ctx))


class Program(click.Group):
    """The program. ``sections``: title -> its commands, in the order of the help."""

    def __init__(self, name: str, text: str, sections: Mapping[str, Sequence[Command]], epilog: str) -> None:
        self.sections, self.epilog_text = sections, epilog
        commands: dict[str, click.Command] = {
            str(command.name): command for group in sections.values() for command in group
        }
        # without arguments Click would raise the help as the text of an error
        super().__init__(name, commands, context_settings=_SETTINGS, help=text, no_args_is_help=False)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _HELP_OPTION

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands by section, in one column."""
        widest = max(map(len, self.commands))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(str(command.name).ljust(widest), str(command.short_help)) for command in commands])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{self.epilog_text}\n")


def flag(name: str, text: str, names: Sequence[str] = (), **attributes: Any) -> click.Option:
    """An option without a value. It is None where it is not given, so that a setting of the file counts. ``names``:
    that of the argument of the command's function, if it is not that of the option.
    """
    return click.Option([name, *names], is_flag=True, default=None, help=text, **attributes)


def shown(name: str, names: Sequence[str], text: str, answer: Callable[[click.Context], str]) -> click.Option:
    """An option that prints an answer, and then the program ends."""

    def show(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value and not ctx.resilient_parsing:
            print(answer(ctx))
            ctx.exit()

    return flag(name, text, names, is_eager=True, expose_value=False, callback=show)


_HELP_OPTION: Final = shown("-h", ["--help"], "show this help", lambda ctx: ctx.get_help())


def as_json(text: str) -> click.Option:
    """The option --json, which a command gets as ``as_json``."""
    return flag("--json", text, names=("as_json",))


def option(name: str, metavar: str, text: str, **attributes: Any) -> click.Option:
    """An option with a value; None where it is not given, and has no default."""
    return Option([name], metavar=metavar, help=text, **attributes)


def choice(names: Sequence[str], values: Iterable[str], text: str, **attributes: Any) -> click.Option:
    """An option whose value is one of several."""
    return Option([*names], type=click.Choice(tuple(values)), help=text, **attributes)


def number(read: Callable[[str], _N], is_allowed: Callable[[_N], bool], expected: str) -> Callable[[str], _N]:
    """The type of an option that is a number; ``expected``: of other texts, a message says that they are not this."""

    def value(text: str) -> _N:
        with suppress(ValueError):
            if is_allowed(read(text)):
                return read(text)
        raise click.BadParameter(f"{text} is not {expected}")

    return value


def local_path(name: str) -> Path:
    """The path of a value that has to be on this machine; a ``file:`` URI is allowed, as for --out."""
    from exporter.input.formats import is_remote, local

    if not name:
        raise click.BadParameter("is empty; perhaps a shell variable is not set")
    if is_remote(name):
        raise click.BadParameter(f"{name} is not on this machine: copy it to a folder here and give that")
    return Path(local(name))


def _completed(kind: str) -> Callable[..., list[CompletionItem]]:
    """The shell itself completes ``kind``: file or dir."""
    return lambda _ctx, _param, incomplete: [CompletionItem(incomplete, type=kind)]


# Click's own type of paths would refuse some of them in other words than the command does.
LOCAL_FOLDER: Final[dict[str, Any]] = {"type": local_path, "shell_complete": _completed("dir")}
"""A folder on this machine, as an argument or the value of an option."""
FOLDER: Final[dict[str, Any]] = {"shell_complete": _completed("dir")}
"""A folder that may be anywhere; its name as it was given."""
FILES: Final[dict[str, Any]] = {"shell_complete": _completed("file")}
"""A file, folder or pattern that may be anywhere; its name as it was given."""
FILE: Final[dict[str, Any]] = {"type": Path, "shell_complete": _completed("file")}
"""A file on this machine."""
EXPORTED: Final = Argument("folder", "DIR", "what export wrote", **LOCAL_FOLDER)
GRAPH: Final = Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER)


# --- help and completion ----------------------------------------------------------------------------------------------

_COMPLETES: Final = "_EXPORTER_COMPLETE"
"""The environment variable by which the script of a shell asks the program for completions."""
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
    return [CompletionItem(name, help=command.short_help) for name, command in commands if name.startswith(incomplete)]


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
    instruction = os.environ.get(_COMPLETES)
    return shell_complete(program, {}, "exporter", _COMPLETES, instruction) if instruction else None


def _completion(shell: str) -> int:
    completion = get_completion_class(shell)
    assert completion is not None, "Click has these shells"
    print(completion(_program(click.get_current_context()), {}, "exporter", _COMPLETES).source())
    return 0


COMPLETION = Command(
    "completion",
    _completion,
    "print a script for a shell, which then completes commands and options",
    'eval "$(exporter completion bash)"    # in ~/.bashrc; zsh: in ~/.zshrc, after compinit\n'
    "  exporter completion fish > ~/.config/fish/completions/exporter.fish",
)
COMPLETION.group("Options", Argument("shell", "SHELL", ", ".join(_SHELLS), type=click.Choice(_SHELLS)))
