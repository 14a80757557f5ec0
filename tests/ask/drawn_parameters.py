"""Parameters for questions to random histories: most of them have an answer."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.ask.questions import find
from tests.ask import drawn
from tests.ask.plain_answers import columns_of
from tests.ask.plain_history import History
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.ask.parameters import Parameter

ASKED: Final = 4
"""How often a question with parameters is asked of one history."""
ASKED_LESS: Final = {
    **dict.fromkeys(("changes", "end-up", "tag-reach"), 2),
    **dict.fromkeys(("column-copies", "exposure", "policy-coverage", "root-cause", "unmasked-copies"), 4),
}
"""The engine plans these for 5 to 160 ms each time, also for an empty graph. Of the dense histories, which are many,
they are asked half as often.
"""
PLANNED_LONG: Final = frozenset(("changes", "column-copies", "end-up", "root-cause", "tag-reach", "unmasked-copies"))
"""Those that are planned for more than 15 ms: asked once with drawn values where the same histories are only told in
another way (as days, or as calls), for test_questions_random.py asks these questions of more of them.
"""
AT_A_TIME: Final = frozenset(("exposure", "policy-coverage", "tag-reach"))
"""Asked for the last time alone, too: other values together leave hardly an answer after the end of something."""
ASKED_TOGETHER: Final = frozenset(
    (
        "agent-reads",
        "column-copies",
        "column-lineage",
        "downstream-users",
        "exposure",
        "policy-coverage",
        "root-cause",
        "sensitive-data-movement",
        "tag-reach",
        "unmasked-copies",
        "unmasked-reads",
    )
)
"""The engine plans these for longer, 5 to 95 ms, than it then takes to answer them. So they are asked of several
accounts at once. The others are asked of each alone: the few names in their answers are often the same, or they tell
nothing apart that has one name in two accounts.
"""
Given = dict[str, list[str]]
T = TypeVar("T")
found = cache(find)
"""A question, looked for once."""


@cache
def history(case: str) -> History:
    told = drawn.named()[case]
    return History(told.rows, told.ends, told.truncated, told.deleted)


@cache
def _values_of(case: str) -> dict[str, list[str]]:
    return values_of(history(case))


def drawn_parameters(question: str, case: str) -> list[Given]:
    """With nothing that may be left out, and then with values that the rows have: one of each, or several."""
    is_one_of_many = case.startswith("dense-") and case not in drawn.TOLD_OF_A_FAULT
    asked = ASKED_LESS.get(question, ASKED)
    if is_one_of_many and question in ASKED_LESS:
        asked //= 2
    values = _values_of(case)
    every = given_of(question, case, values, asked)
    if question in AT_A_TIME:
        every.append({"at": [max(values["time"])]})
    return every


def drawn_of_several(question: str, cases: Sequence[str]) -> list[Given]:
    """The same for a graph of several cases: with the first values of each, or of some of them."""
    every: list[Given] = []
    for case in whose(question, cases):
        every += (given for given in given_of(question, case, _values_of(case), 1) if given not in every)
    if question in AT_A_TIME:
        every.append({"at": [max(_values_of(cases[0])["time"])]})
    return every


def whose(question: str, cases: Sequence[T]) -> Sequence[T]:
    """Of several accounts those whose values are asked for: of every other one, where that is planned long, but tags,
    which few have, are asked for by all.
    """
    return cases[::2] if question in PLANNED_LONG - {"tag-reach"} else cases


def given_of(question: str, case: str, values: dict[str, list[str]], asked: int) -> list[Given]:
    """The same with values of any history."""
    parameters = found(question).parameters
    rng = Random(f"{question} {case}")
    every = [
        {
            one.name: [
                _spelled(rng, one.kind, rng.choice(values[_kind(question, one.name)])) for _ in range(_how_many(rng))
            ]
            for one in parameters
            if one.name in _given(rng, parameters)
        }
        for _ in range(asked if parameters else 1)
    ]
    least = {} if any(one.required or one.instead for one in parameters) else [{}]
    # Asked for nothing, it would tell of databases and schemas too, which rows name in the names of others alone.
    return [*least, *(one for one in every if one or question != "former-names")]


def _given(rng: Random, parameters: Sequence[Parameter]) -> set[str]:
    """Those that are needed, of two that stand for one another one or both, and some of the others."""
    given = {one.name for one in parameters if one.required or rng.random() < 0.3}
    for one in parameters:
        if one.instead and one.name in given and rng.random() < 0.7:
            given.discard(one.instead)
    return given


def _how_many(rng: Random) -> int:
    return rng.choice((1, 1, 1, 1, 2, 3))


def _spelled(rng: Random, kind: str, value: str) -> str:
    """Names in other letters, or in quotes that say nothing; a user's in quotes as it is, or in other letters."""
    if kind == "user" and rng.random() < 0.3:
        doubled = value.replace('"', '""')
        return f'"{doubled}"' if rng.random() < 0.7 else f'"{doubled.swapcase()}"'
    if kind not in {"object", "column", "user"} or '"' in value or rng.random() < 0.7:
        return value
    return value.lower() if rng.random() < 0.6 else ".".join(f'"{part.upper()}"' for part in value.split("."))


def _kind(question: str, parameter: str) -> str:
    if parameter == "object_name" and question == "sensitive-data-movement":
        return "source"
    if question == "tag-history" and parameter in {"object_name", "column_name"}:
        return f"tagged_{parameter}"
    return {"since": "time", "until": "time", "at": "time", "target_object_name": "object_name"}.get(
        parameter, parameter
    )


def values_of(read: History) -> dict[str, list[str]]:
    """What to ask for: names, ids, columns and times of the history, and now and then of none."""
    times = sorted({query.start for query in read.queries.values()})
    shown = [key for query in read.queries.values() for _, key in query.shown]
    names = [
        name for key, turns in read.names.held.items() if key.split("/")[0] in ("table", "view") for name, _, _ in turns
    ]
    stages = [name for key, turns in read.names.held.items() if "stage" in key.split("/")[0] for name, _, _ in turns]
    columns = [name for query in read.queries.values() for _, named in query.shown.values() for name in sorted(named)]
    tags = [name for key, turns in read.names.held.items() if key.startswith("tag/") for name, _, _ in turns]
    tagged = [
        (change["objectName"], column)
        for _, _, change in read.changes
        for column, said in columns_of(change).items()
        if plain.said(column) and said.get("tags") and change.get("objectName")
    ]
    return {
        "tagged_object_name": [*(name for name, _ in tagged), "no.such.name"],
        "tagged_column_name": [*(column for _, column in tagged), "NO_SUCH_COLUMN"],
        "time": [*(f"{time:%Y-%m-%dT%H:%M:%S.%fZ}" for time in times), "3000-01-01T00:00:00Z"],
        "object_id": [*(key.split("/")[1] for key in shown if key.split("/")[1].isdigit()), "4711"],
        "object_name": [*names, *names, *stages, "no.such.name"],
        "source": [*stages, *stages, *stages, *names, "no.such.name"],
        "column_name": [*columns, "NO_SUCH_COLUMN"],
        "tag_name": [*tags, "NO.SUCH.TAG"],
        "domain": ["Table", "TABLE", "View", "Stage"],
        "stop_at": ["masks"],  # aggregates are in SQL text, which tests/ask/test_tag_stops.py has
        "helpers": ["shown"],  # what is bridged, tests/openlineage/test_helpers.py reads
        "user_name": [query.user for query in read.queries.values()],
        "agent_name": [
            *(
                agent["agentName"]
                for row in read.rows
                for agent in row.get("agents_info") or []
                if agent.get("agentName")
            ),
            "NO.SUCH.AGENT",
        ],
        "query_id": [*read.queries, *(query.parent for query in read.queries.values() if query.parent)],
    }
