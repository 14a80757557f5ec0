"""``exporter queries``: the list of shipped questions."""

from __future__ import annotations

from exporter.cli.commands import Command, as_json


def _run(*, as_json: bool | None) -> int:
    from exporter.ask.shipped import questions
    from exporter.cli.questions import as_json as in_json
    from exporter.cli.questions import questions_as_text

    print(in_json(questions()) if as_json else questions_as_text(questions()))
    return 0


COMMAND = Command(
    "queries",
    _run,
    "list the shipped questions",
    "exporter queries",
    {"Options": [as_json("print the list as JSON")]},
)
