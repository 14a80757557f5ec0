"""``exporter query``: answers a question from the graph; ``exporter queries``: the list of shipped questions.

The options of a question are its parameters, so which there are follows from the first word: the command looks for it
before the options are read. ``--graph DIR --param name=value`` means the same.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from exporter.cli.commands import LOCAL_FOLDER, Argument, Command, as_json, choice, flag, number, option
from exporter.errors import RefusedError, UsageError
from exporter.system.progress import Progress
from exporter.system.terminal import bare, counted, message

if TYPE_CHECKING:
    from exporter.ask.shipped import Question

_LONGEST: Final = 7 * 86_400.0
"""Seconds: a week."""
_NOT_RECORDED: Final = "Snowflake does not record everything; docs/not-recorded.md lists what an answer can lack."
"""Shown with an answer without rows, except to a check, whose good answer has none."""
FORMATS: Final = ("table", "csv", "json")


def _query(  # noqa: PLR0913 - a question, and how it is asked
    question: str,
    folder: Path | None,
    *,
    graph: Path | None,
    param: Sequence[str],
    format_: str | None,
    as_json: bool | None,
    timeout: float,
    max_rows: int,
    fail_on_rows: bool | None,
    sql: bool | None,
    **options: Sequence[str],
) -> int:
    from exporter.ask import tag_sql
    from exporter.ask.answers import render
    from exporter.ask.pool import TooLongError, answer

    if sql and question != tag_sql.QUESTION:
        raise UsageError(f"--sql writes statements for {tag_sql.QUESTION} alone, and the question is {question}")
    if sql and (format_ or as_json):
        raise click.UsageError("--sql is a format of its own; give it without --format and --json")
    if as_json and format_ not in (None, "json"):
        raise click.UsageError(f"--json and --format {format_} contradict each other; give one of them")
    where, fmt = _graph_path(folder, graph), "json" if as_json else format_ or FORMATS[0]
    try:
        parameters = _parameters(question, param, options)
        with Progress().stage(f"answering {question}"):
            found_answer = answer(question, where, parameters, timeout, max_rows, of_page=bool(sql))
    except TooLongError as error:
        raise UsageError(f"{question}: {error} --timeout gives it more time.") from None
    except UsageError as error:
        raise (error if param or folder is None else UsageError(_error_about_options(str(error), question))) from None
    for note in found_answer.notes:
        print(message(note), file=sys.stderr)
    if not found_answer.rows and not fail_on_rows:
        print(_NOT_RECORDED, file=sys.stderr)
    _write(tag_sql.statements(found_answer) if sql else render(found_answer, fmt), fmt)
    if fail_on_rows and found_answer.rows:
        sys.stdout.flush()
        raise RefusedError(f"{question} has {counted(len(found_answer.rows), 'row')}, which --fail-on-rows forbids.")
    return 0


def _error_about_options(words: str, question: str) -> str:
    """An error about parameters in the words of options, for a user who gave options.

    >>> _error_about_options("q needs --param object_name=VALUE. Its parameters: object_name, [since].", "q")
    'q needs --object-name VALUE. exporter query q --help shows its options.'
    """
    renamed = _PARAMETER.sub(lambda match: f"--{match[1].replace('_', '-')} ", words)
    return _ITS_PARAMETERS.sub(f"exporter query {shlex.quote(question)} --help shows its options.", renamed)


_PARAMETER: Final = re.compile(r"--param (\w+)=")
_ITS_PARAMETERS: Final = re.compile(r"Its parameters: .*\Z")


def _graph_path(folder: Path | None, graph: Path | None) -> Path:
    """The graph, which is given after the question or by --graph. Raises Click's UsageError for none and for two."""
    if folder is not None and graph is not None:
        raise click.UsageError(f"DIR is given twice, as {folder} and as --graph {graph}; give one of them")
    where = folder or graph
    if where is None:
        text = "DIR is missing: give what export wrote after the question, as in exporter query NAME DIR"
        raise click.UsageError(text, click.get_current_context())
    return where


def _parameters(name: str, pairs: Sequence[str], options: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The values of each parameter, in the order in which they were given: those of --param first."""
    from exporter.ask.parameters import refuse_empty
    from exporter.ask.shipped import find
    from exporter.cli.questions import values_of_options

    parameters = dict[str, list[str]]()
    for pair in pairs:
        parameter, equals, value = pair.partition("=")
        if not equals or not parameter:
            raise UsageError(f"--param {pair}: write it as name=value")
        refuse_empty(f"--param {parameter}", [value])
        parameters.setdefault(parameter, []).append(value)
    for parameter, values in values_of_options(find(name), options).items():
        parameters.setdefault(parameter, []).extend(values)
    return parameters


def _write(text: str, fmt: str) -> None:
    """Prints an answer. CSV is data, so control characters are replaced only where a terminal shows it."""
    stream = sys.stdout if fmt != "csv" or sys.stdout.isatty() else bare(sys.stdout)
    stream.write(text)


_seconds = number(float, lambda value: 0 < value <= _LONGEST, "a number of seconds above 0 (and up to a week)")
_rows = number(int, lambda value: value > 0, "a whole number above 0")


def _complete_name(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of questions; files where none begins so."""
    from exporter.ask.shipped import questions

    names = [
        CompletionItem(question.name, help=question.asks)
        for question in questions()
        if question.name.startswith(incomplete)
    ]
    return names or [CompletionItem(incomplete, type="file")]


class _Query(Command):
    """The command, with the options of the question that is asked."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Looks for the question first. Raises UsageError where there is no such question."""
        from exporter.ask.shipped import find
        from exporter.cli.questions import options_of

        name = next(self._names(args), None)
        if name is not None:
            try:
                question = find(name)
            except UsageError:
                if not ctx.resilient_parsing:  # a shell completes what is not written yet
                    raise
            else:
                used_options = [option for param in self.get_params(ctx) for option in param.opts]
                ctx.meta[_ASKED] = question, options_of(question, used_options)
                ctx.info_name = f"{self.name} {shlex.quote(name)}"  # for the usage, and for where to find a help
        return super().parse_args(ctx, args)

    def _names(self, args: Sequence[str]) -> Iterator[str]:
        """The words that are no option and no value of one."""
        from exporter.ask.shipped import names

        options = {
            name: click_option
            for click_option in self.params
            if isinstance(click_option, click.Option)
            for name in click_option.opts
        }
        words = iter(args)
        for word in words:
            if word == "--":
                yield from words
            elif not word.startswith("-") or word == "-":
                yield word
            elif word in ("-h", "--help") or "=" in word or (word in options and options[word].is_flag):
                continue
            else:
                value = next(words, "")
                if word not in options and (value in names() or value.endswith(".rq")):  # a flag that is misspelt
                    yield value

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_asked(ctx)[1]]

    def groups_of(self, ctx: click.Context) -> Mapping[str, Sequence[click.Parameter]]:
        question, of_question = _asked(ctx)
        if question is None:
            return self.groups
        (title, (_, *options)), *other_groups = self.groups.items()  # without the first argument, which is known
        return {f"Options of {question.name}": of_question, title: options, **dict(other_groups)}

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        pieces = super().collect_usage_pieces(ctx)
        return [pieces[0], pieces[-1]] if _ASKED in ctx.meta else pieces

    def example_of(self, ctx: click.Context) -> str:
        from exporter.cli.questions import example

        question, _ = _asked(ctx)
        return example(question) if question else self.example

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the question in words, if one is given, and its columns."""
        question, _ = _asked(ctx)
        if question is None:
            super().format_help_text(ctx, formatter)
            return
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text(question.asks)
            formatter.write_paragraph()
            formatter.write_text(f"Columns of the answer: {', '.join(question.columns)}.")


_ASKED: Final = "exporter.cli.query.asked"


def _asked(ctx: click.Context) -> tuple[Question | None, list[click.Option]]:
    """The question and its options; None and none where no question is named, and while a shell completes its name."""
    asked: tuple[Question | None, list[click.Option]] = ctx.meta.get(_ASKED, (None, []))
    return asked


QUERY = _Query(
    "query",
    _query,
    "answer a question from the graph",
    "exporter query who-accessed lineage --object-name DB.SCHEMA.NAME --since 2026-09-01",
)
QUERY.group(
    "Options",
    Argument(
        "question",
        "NAME|FILE.rq",
        "a shipped question, as exporter queries lists them, or a file of SPARQL. exporter query NAME --help "
        "shows the options of one",
        shell_complete=_complete_name,
    ),
    Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER, required=False),
    choice(["--format", "format_"], FORMATS, "table (default) for people; csv and json for programs"),
    as_json("the same as --format json"),
    flag("--sql", "of tag-reach: write the statements that set the tags, to read and run"),
    option("--timeout", "SECONDS", "how long the answer may take (default 60)", type=_seconds, default=60.0),
    option("--max-rows", "N", "the most rows of the answer (default 1000000)", type=_rows, default=1_000_000),
    flag("--fail-on-rows", "for checks: exit 1 if the answer has rows"),
)
QUERY.group(
    "Alternative syntax",
    option("--graph", "DIR", "DIR, instead of after the question", **LOCAL_FOLDER),
    option(
        "--param",
        "name=value",
        "a parameter of the question, instead of its own option; given several times, it has several values",
        multiple=True,
    ),
)


def _queries(*, as_json: bool | None) -> int:
    from exporter.ask.shipped import questions
    from exporter.cli.questions import questions_as_json, questions_as_text

    print(questions_as_json(questions()) if as_json else questions_as_text(questions()))
    return 0


QUERIES = Command("queries", _queries, "list the shipped questions", "exporter queries")
QUERIES.group("Options", as_json("print the list as JSON"))
