"""A user's sh:pattern gives what Python's ``re`` gives, and ends."""

from __future__ import annotations

import pickle
import re
import threading
from random import Random
from typing import TYPE_CHECKING

import pytest

from exporter.cli import main
from exporter.errors import UsageError
from exporter.graph.shapes import literals
from exporter.graph.shapes.literals import Expression
from exporter.system import faults
from tests import exports
from tests.graph.test_own_shapes import IN_CAPITALS, PREFIXES
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

PARTS = (
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    r"\d",
    r"\s",
    r"\w",
    "^",
    "$",
    "(a|b)",
    "(?:ab)",
    r"\.",
    "ü",
    "[*+]",
    "{",
    r"\{",
)
TIMES = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "+?")


def drawn(rng: Random) -> str:
    return "".join(rng.choice(PARTS) + rng.choice(TIMES) for _ in range(rng.randint(1, 5)))


@pytest.mark.parametrize("flags", [0, re.IGNORECASE, re.MULTILINE])
def test_the_answer_is_that_of_re(flags: int) -> None:
    rng, compared, limited = Random(11), 0, 0
    for _ in range(3000):
        pattern = drawn(rng)
        try:
            plain = re.compile(pattern, flags)
        except re.error:
            with pytest.raises(re.error):
                Expression(pattern, flags)
            continue
        one = Expression(pattern, flags)
        limited += one.is_limited
        for _ in range(3):
            text = "".join(rng.choice("abAB1 ü.\n{*") for _ in range(rng.choice((0, 3, 17, 30))))
            assert one.found(text) == (plain.search(text) is not None), (pattern, text)
            compared += 1
    assert compared > 3000
    assert limited > 300


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(.*a){40}", r"^(a*)*\1$", "^((a*)b?)*$"])
def test_a_search_without_end_is_ended(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "LIMIT", 0.02)
    one = pickle.loads(pickle.dumps(Expression(pattern, 0)))
    with pytest.raises(UsageError, match="has no answer after 0 seconds for a value of 61 characters"):
        one.found("a" * 60 + "!")
    assert one.found("a" * 60) in (True, False) if pattern == "^(a+)+$" else True


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?:a?){40}a{40}", "a" * 45),
        ("(?:a?){30}a{30}b", "a" * 45),
        ("(?:a|a){40}b", "a" * 45),
        ("a?" * 40 + "b{2}", "a" * 45),
        ("(|a)" * 40 + "b", "a" * 45),
        ("(?:a?){400}b", "a" * 16),
    ],
)
def test_choices_without_repetitions_are_limited_too(pattern: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has more ways to be tried than there is time for, also in a short text."""
    monkeypatch.setattr(literals, "LIMIT", 0.02)
    with pytest.raises(UsageError, match="has no answer after 0 seconds"):
        Expression(pattern, 0).found(text)


def test_what_may_be_slow_is_limited() -> None:
    """Each of these takes more than proportional time on some text."""
    for pattern in (
        "(a+)+",
        "a*b",
        "^a*a*b",
        "^(a|a)*b",
        r"^(a)\1+",
        "^a|b+c",
        "^.*.*=",
        "(?P<x>a+)(?P=x)",
        "^[a]]*b+",
        "(?:a?){40}a{40}",
        "(?:a|a){40}b",
        "a(|a)(|a)(|a)(|a)(|a)(|a)b",
        "a?a?a?aaa",
    ):
        assert Expression(pattern, 0).is_limited, pattern
    for pattern in ("^[a-z]*$", "R", "^snowflake", r"^[\]*]+$", r"^a\+b*"):
        assert not Expression(pattern, 0).is_limited, pattern


def test_another_thread_searches_without_a_limit() -> None:
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(Expression("(a+)+b", 0).found("a" * 20 + "b")))
    thread.start()
    thread.join()
    assert answers == [True]


def test_an_export_says_which_pattern_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(literals, "LIMIT", 0.02)
    shape = IN_CAPITALS.replace("^[^a-z]+$", "^(A+)+$").replace("SEVERITY", "Violation")
    (tmp_path / "own.ttl").write_text(PREFIXES + shape)
    rows = exports.ndjson([{**GOOD, "user_name": "A" * 60 + "!"}], tmp_path / "rows.ndjson")
    given = ["--engine", "local", "--shapes", str(tmp_path / "own.ttl"), "--out", str(tmp_path / "out")]
    assert main(["export", str(rows), *given]) == 2
    assert "sh:pattern takes too long: '^(A+)+$' has no answer" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


GRAPH = """
@prefix : <https://my.example/> .
:a :p "AAAAAAAAAAAAAAAAAAAAAA!" ; :q :AAAAAAAAAAAA- .
"""
SLOW = """
@prefix : <https://my.example/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
:Own a sh:NodeShape ; sh:targetNode :a ; SHAPE .
"""


@pytest.mark.parametrize("engine", ["pyshacl", "compiled"])
@pytest.mark.parametrize(
    "shape",
    [
        'sh:property [ sh:path :p ; sh:pattern "^(A+)+$" ]',
        'sh:property [ sh:path :p ; sh:pattern "^(a+)+$" ; sh:flags "i" ]',
        'sh:property [ sh:path :q ; sh:pattern "^https:(.+)+=$" ]',
        'sh:property [ sh:path :q ; sh:nodeKind sh:IRI ; sh:node [ sh:pattern "^https:(.+)+=$" ] ]',
        'sh:property [ sh:path ( :q [ sh:inversePath :q ] :p ) ; sh:pattern "^(A+)+$" ]',
        'sh:property [ sh:path [ sh:alternativePath ( :p :q ) ] ; sh:or ( [ sh:pattern "^(A+)+$" ] ) ]',
    ],
)
def test_a_search_without_end_is_ended_by_both_engines(
    shape: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(literals, "LIMIT", 0.02)
    (tmp_path / "graph.ttl").write_text(GRAPH)
    (tmp_path / "own.ttl").write_text(SLOW.replace("SHAPE", shape))
    given = ["validate", str(tmp_path / "graph.ttl"), "--shapes", str(tmp_path / "own.ttl"), "--by", engine]
    assert main(given) == 2
    said = capsys.readouterr()
    assert "sh:pattern takes too long: '^" in said.err
    assert said.out == ""


def test_values_that_a_pattern_is_not_asked_for_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(literals, "LIMIT", 0.02)
    (tmp_path / "graph.ttl").write_text(GRAPH)
    (tmp_path / "own.ttl").write_text(SLOW.replace("SHAPE", 'sh:property [ sh:path :q ; sh:pattern "^(A+)+$" ]'))
    assert main(["validate", str(tmp_path / "graph.ttl"), "--shapes", str(tmp_path / "own.ttl")]) == 1
    assert "pattern" in capsys.readouterr().out


def test_an_error_of_a_worker_is_recognised() -> None:
    said = faults.words(RuntimeError(f"PythonException … UsageError: {literals.TOO_SLOW}: …"), "nothing was published")
    assert said is not None
    assert "a sh:pattern of your shapes takes too long for a value" in said
