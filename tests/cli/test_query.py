"""``exporter query NAME DIR --option value``: the parameters of a question are its options."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from exporter.ask.shipped import grouped, names, questions
from exporter.cli import main
from tests import golden
from tests.pages import text

if TYPE_CHECKING:
    from pathlib import Path

GRAPH: Final = str(golden.EXAMPLES / "01-view-example" / "graph.ttl")
OWN: Final = """# Who has this name, and what is asked by words that the command has?
# param user_name (user): the user
# param format?: a parameter that is called like an option
SELECT ?user_name ?format {
  VALUES ?user_name { UNDEF }  # param user_name
  VALUES ?format { UNDEF }  # param format
  ?query <https://w3id.org/access-history#userName> ?user_name
}
"""


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["query", *words])
    return code, *capsys.readouterr()


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (["--param", "object_id=66564"], ["--object-id", "66564"]),
        (["--param", "object_name=governance.tables.t1"], ["--object-name=governance.tables.t1"]),
        (["--param", "object_id=66564", "--param", "object_id=4711"], ["--object-id", "66564", "--object-id", "4711"]),
        (
            ["--param", "object_id=66564", "--param", "since=2100-01-01"],
            ["--object-id", "66564", "--since", "2100-01-01"],
        ),
    ],
)
def test_both_forms_mean_the_same(older: list[str], newer: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = asked(capsys, "who-accessed", "--graph", GRAPH, *older)
    assert asked(capsys, "who-accessed", GRAPH, *newer) == before
    assert asked(capsys, *newer, "who-accessed", GRAPH) == before, "an option may come before the question"
    assert asked(capsys, "--graph", GRAPH, *older, "who-accessed") == before
    assert asked(capsys, "who-accessed", "--graph", GRAPH, *newer) == before, "the forms may be mixed"


def test_values_of_both_forms_are_added(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("who-accessed", GRAPH, "--json", "--param", "object_id=4711", "--object-id", "66564")
    assert json.loads(asked(capsys, *words)[1]) == [{"user_name": "JSMITH"}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["who-acessed", GRAPH, "--object-name", "T"], "Did you mean who-accessed?"),
        (["who-accessed", GRAPH, "--object-nam", "T"], "Did you mean"),
        (["who-accessed", GRAPH, "--object_name", "T"], "'--object-name'"),
        (["--fail-on-row", "who-accessed", GRAPH], "'--fail-on-rows'"),
        (["who-accessed", GRAPH, "--column-name", "C"], "No such option '--column-name'"),
        (["who-accessed", GRAPH, "--object-name"], "requires an argument"),
        (["who-accessed", GRAPH, "--object-id", "T1"], "--object-id T1 is not an id"),
        (
            ["who-accessed", GRAPH],
            "who-accessed needs --object-id VALUE or --object-name VALUE. exporter query who-acc",
        ),
        (["who-accessed", "--graph", GRAPH], "who-accessed needs --param object_id=VALUE or"),
        (["who-accessed", "--graph", GRAPH, "--param", "object_id=T1"], "--param object_id=T1 is not an id"),
        (["who-accessed", GRAPH, "--until"], "exporter query who-accessed --help shows all options"),
        (["who-accessed", GRAPH, "--object-name", ""], "--object-name: is empty"),
        (["who-accessed", "--graph", GRAPH, "--param", "object_name="], "--param object_name: is empty"),
        (["who-accessed", "--object-id", "1"], "DIR is missing"),
        (["who-accessed", GRAPH, "--graph", GRAPH, "--object-id", "1"], "DIR is given twice"),
        (["who-accessed", GRAPH, GRAPH], "unexpected extra argument"),
        (["who-accessed", GRAPH, "--object-id", "1", "--json", "--format", "csv"], "--json and --format csv"),
        (["who-accessed", GRAPH, "--format", "xml"], "'table', 'csv', 'json'"),
        (["nowhere.rq", GRAPH], "nowhere.rq cannot be read"),
        ([], "NAME|FILE.rq is missing"),
    ],
)
def test_what_is_wrong_is_said_in_words(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = asked(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("ident", ["066564", "66564.0"])
def test_the_answer_and_its_notes_mean_one_id(ident: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "who-accessed", GRAPH, "--object-id", ident) == asked(
        capsys, "who-accessed", GRAPH, "--object-id", "66564"
    )


def test_a_question_of_a_reader_has_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A parameter that is called like an option is given by --param."""
    (tmp_path / "own.rq").write_text(OWN, encoding="utf-8")
    own = str(tmp_path / "own.rq")
    words = (own, GRAPH, "--user-name", "jsmith", "--param", "format=x", "--format", "json")
    assert json.loads(asked(capsys, *words)[1])[0] == {"user_name": "JSMITH", "format": "x"}
    _, shown, _ = asked(capsys, own, "--help")
    assert "Who has this name" in shown
    assert "--user-name USER" in shown
    assert f"exporter query {own} lineage --user-name JSMITH" in shown


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("name", names())
def test_the_example_of_a_help_can_be_asked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = asked(capsys, name, "--help")[1]
    example = shown.partition("Example:\n")[2].split()
    assert example[:4] == ["exporter", "query", name, "lineage"]
    assert asked(capsys, name, GRAPH, *example[4:])[0] == 0


def test_the_groups_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    on_page: dict[str, list[str]] = {}
    title = ""
    for line in text("docs/questions.md").splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line.startswith("### ") and line.removeprefix("### ") in names():
            on_page.setdefault(title, []).append(line.removeprefix("### "))
    groups = {title: [question.name for question in some] for title, some in grouped(questions()).items()}
    assert groups == {title: sorted(some) for title, some in on_page.items()}
    assert list(groups) == list(on_page)
    assert main(["queries"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in on_page] == list(on_page)
    assert [line.strip() for line in lines if line.strip() in names()] == [
        one for some in groups.values() for one in some
    ]
    assert main(["queries", "--json"]) == 0
    told = {one["name"]: one["group"] for one in json.loads(capsys.readouterr().out)}
    assert told == {name: title for title, group in on_page.items() for name in group}
    assert list(told) == [one.name for one in questions()]


@pytest.mark.parametrize("words", ["--help", "--version", "query --help", "query who-accessed --help", "push --help"])
def test_a_help_waits_for_no_library_of_the_work(words: str) -> None:
    program = "import sys; from exporter.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program, *words.split()], capture_output=True, text=True, check=True)
    slow = {"pyspark", "pyarrow", "rdflib", "pyshacl", "openlineage", "requests", "urllib3", "orjson", "flask"}
    assert slow & {name.partition(".")[0] for name in done.stderr.split()} == set()
