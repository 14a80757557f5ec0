"""Every question on random histories, compared with a plain reading of the same rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import movement, tag_stops
from exporter.ask.lookups import Lookups
from exporter.ask.parameters import bind
from exporter.ask.questions import ask, questions, select, with_objects_found
from tests.ask import drawn
from tests.ask.drawn_parameters import ASKED_TOGETHER, drawn_of_several, drawn_parameters, found, history
from tests.ask.plain_answers import ANSWERS, answers
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Store

    from tests.ask.drawn_parameters import Given
    from tests.ask.plain_answers import Row

TIMES: Final = ("query_start_time", "policy_changed_time", "last_read", "first_time", "valid_from", "valid_until")


def answered(question: str, store: Store, given: Given) -> list[Row]:
    """What the graph answers, as ``exporter query`` would."""
    asked = found(question)
    if question == movement.QUESTION:
        rows: Iterable[Row] = movement.rows(Lookups(store), asked, given, limit=10**6)[0]
        return [tuple(row) for row in rows]
    if question == tag_stops.QUESTION and tag_stops.PARAMETER in given:
        return list(ask(store, asked, given).rows)  # the paths that stop are followed again behind the query
    answer = select(store, with_objects_found(store, bind(asked.query, asked.parameters, given)), question)
    return [tuple(_typed(name, cell) for name, cell in zip(answer.columns, row, strict=True)) for row in answer.rows]


def _typed(column: str, cell: str | None) -> Any:
    return plain.time(cell) if column in TIMES and cell else cell


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_has_the_answer_of_a_plain_reading(question: str) -> None:
    full = 0
    is_together = question in ASKED_TOGETHER
    for cases in drawn.GROUPS if is_together else [(case,) for case in drawn.ALONE]:
        store, histories = drawn.store_of(cases), [history(case) for case in cases]
        for given in drawn_of_several(question, cases) if is_together else drawn_parameters(question, cases[0]):
            told, each = answered(question, store, given), [answers(question, one, given) for one in histories]
            expected = set().union(*each)
            words = f"{question} {given} of {cases}"
            # Rows look alike only if they are of different accounts.
            alike = [row for row, count in Counter(told).items() if count > max(1, sum(row in one for one in each))]
            assert alike == [], f"doubles: {words}"
            assert sorted(set(told) - expected, key=str) == [], f"too much: {words}"
            assert sorted(expected - set(told), key=str) == [], f"missing: {words}"
            full += sum(map(bool, each))
    assert full >= 10, "hardly any history has an answer"


def test_every_question_has_a_plain_answer() -> None:
    shipped = {question.name for question in questions()}
    assert shipped - set(ANSWERS) == set(), "add these to ANSWERS in tests/ask/plain_answers.py"
    assert set(ANSWERS) - shipped == set(), "ANSWERS in tests/ask/plain_answers.py has questions that do not exist"
