"""The documents are true: their commands run and print what they show, and they name exactly what exists.

A command with the example's folder, out/company-month, is run on one export of the example, and the text of a console
block must be its output (``...`` stands for anything on its line). Other commands are only parsed. The export itself is
run by the local engine, for all other commands; as on the page, on Spark, ``tests/test_packaging.py`` runs it.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest
from pyoxigraph import RdfFormat, parse

from exporter import cli, errors
from exporter.ask.questions import questions
from exporter.cli import configuration
from exporter.graph.terms import SYNTAXES
from exporter.openlineage.facets import SCHEMAS
from exporter.publish.report import Report
from tests.cli.tries import visible_params
from tests.pages import BLOCK, EXAMPLE, PAGES, ROOT, Command, commands, named, read, sections, text

COMMANDS: Final = [command for page in PAGES for command in commands(page)]
EXPORT: Final = next(one for one in COMMANDS if one.page.name == "README.md" and one.arguments[0] == "export")
INTERFACE: Final = sections(text("docs/interface.md"))


def run(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and standard output of a command in this process, with ``folder`` as the example's."""
    files = [str(ROOT / word) if "/" in word and (ROOT / word).is_file() else word for word in arguments]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = cli.main([str(folder) if word == EXAMPLE else word for word in files])
    return code, out.getvalue().replace(str(folder), EXAMPLE)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the README's export leaves, and what it prints; without Spark."""
    folder = tmp_path_factory.mktemp("docs") / "company-month"
    code, printed = run([*EXPORT.arguments, "--engine", "local"], folder)
    assert code == 0
    return folder, printed


def assert_shows(shown: str, printed: str) -> None:
    pattern = "[^\n]*".join(re.escape(part) for part in shown.rstrip("\n").split("..."))
    if not re.fullmatch(pattern, printed.rstrip("\n")):
        assert printed == shown


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: f"{one.page.name}: {one.line[:60]}")
def test_commands(command: Command, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for word in command.arguments:
        if word.endswith(".rq"):  # a question of the reader
            Path(tmp_path, word).touch()
    with contextlib.chdir(tmp_path):
        read(command.arguments)
    assert command.is_on_the_example or command.shown is None, (
        "a console block is run: let it name the example's folder"
    )
    if command.is_on_the_example:
        folder, printed = request.getfixturevalue("example")
        code, said = (0, printed) if command.arguments[0] == "export" else run(command.arguments, folder)
        assert code == 0
        assert_shows(said if command.shown is None else command.shown, said)


def test_the_first_block_holds_the_two_commands() -> None:
    assert BLOCK.findall(text("README.md"))[0] == ("bash", "bin/example\nbin/test\n")


def test_the_example_is_run_as_the_readme_shows_it() -> None:
    script = text("bin/example").replace("\\\n", "")
    started = next(line for line in script.splitlines() if "bin/exporter export" in line)
    words = [word for word in shlex.split(started.partition("bin/exporter ")[2]) if word != "$@"]
    assert sorted(words) == sorted(EXPORT.arguments)


# --- what the README shows of the output ------------------------------------------------------------------------------


def part_of(small: Any, large: Any) -> bool:
    """Whether everything in one JSON value is in another; an element of a list anywhere in the other's."""
    if isinstance(small, dict):
        return isinstance(large, dict) and all(key in large and part_of(small[key], large[key]) for key in small)
    if isinstance(small, list):
        return isinstance(large, list) and all(any(part_of(one, other) for other in large) for one in small)
    return bool(small == large)


def shown(kind: str) -> str:
    return "".join(body for name, body in BLOCK.findall(text("README.md")) if name == kind)


def test_the_event_of_the_readme_is_one(example: tuple[Path, str]) -> None:
    lines = [line for file in (example[0] / "events").iterdir() for line in file.read_text("utf-8").splitlines()]
    assert any(part_of(json.loads(shown("json")), json.loads(line)) for line in lines)


def test_the_turtle_of_the_readme_is_in_the_graph(example: tuple[Path, str]) -> None:
    page = {one.triple for one in parse(shown("turtle"), RdfFormat.TURTLE)}
    graph = {one.triple for file in (example[0] / "graph").iterdir() for one in parse(path=file)}
    assert len(page) > 10
    assert page - graph == set()


def test_the_page_of_the_questions_counts_them() -> None:
    assert f"one of {len(questions())} shipped questions" in text("docs/questions.md")


# --- the interface ----------------------------------------------------------------------------------------------------


def test_every_command_is_documented() -> None:
    assert {title.removeprefix("exporter ") for title in INTERFACE if title.startswith("exporter ")} == set(
        cli.PROGRAM.commands
    )


@pytest.mark.parametrize("name", cli.PROGRAM.commands)
def test_every_option_is_documented_and_every_documented_one_is_there(name: str) -> None:
    shown = visible_params(name)
    listed = {cell.split()[0] for cell in named(INTERFACE[f"exporter {name}"])}
    assert set(shown) - listed == set(), f"give each of these a line in docs/interface.md, exporter {name}"
    assert listed - set(shown) == set(), f"options in docs/interface.md that exporter {name} does not have"
    for param in shown.values():
        for choice in getattr(param.type, "choices", ()):
            assert f"`{choice}`" in INTERFACE[f"exporter {name}"], (
                f"name {choice} in docs/interface.md, exporter {name}"
            )


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("page", ["docs/graph.md", "docs/interface.md"])
def test_every_syntax_of_the_graph_is_named(page: str, syntax: str) -> None:
    (line,) = re.findall(r"^(?:\| )?`--graph-format .*", text(page), re.MULTILINE)
    assert re.search(rf"\b{syntax}\b", line), f"name {syntax} in this line of {page}"


def test_every_facet_of_ours_is_in_the_table_of_custom_facets() -> None:
    ours = {name.rpartition(" ")[2] for name in SCHEMAS if name.startswith("accessHistory_")}
    listed = named(sections(text("docs/openlineage.md"))["Custom facets"])
    assert ours - listed == set(), "add these to the table of custom facets in docs/openlineage.md"


def test_exit_codes() -> None:
    kinds: list[type[errors.ExporterError]] = [errors.ExporterError, *errors.ExporterError.__subclasses__()]
    raised = {kind.exit_code for kind in kinds}
    assert {int(code) for code in named(INTERFACE["Exit codes"])} == raised | {0, 3, 130}, "3 is what a push returns"


def test_settings() -> None:
    of_file = set(configuration.SETTINGS)
    of_tables = {f"{table}.{one}" for table, known in configuration.TABLES.items() for one in known}
    known, listed = of_file | of_tables, named(INTERFACE["Settings"])
    assert known - listed == set(), "give each of these a line in docs/interface.md, Settings"
    assert listed - known == set(), "settings in docs/interface.md that do not exist"
    modules = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "exporter").rglob("*.py"))
    in_code = set(re.findall(r"EXPORTER_[A-Z_]*[A-Z]\b", modules))
    documented = set(re.findall(r"EXPORTER_\w+", INTERFACE["Environment variables"]))
    read_from_environment = in_code | {f"EXPORTER_{name.upper()}" for name in of_file}
    assert read_from_environment - documented == set(), "name these in docs/interface.md, Environment variables"
    assert documented - read_from_environment == set(), "variables in docs/interface.md that nothing reads"


def test_the_settings_that_are_shown_are_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(next(body for kind, body in BLOCK.findall(INTERFACE["Settings"]) if kind == "toml"))
    read = configuration.load({"inputs": ("rows",), "out": tmp_path}, file, {})
    assert (read.account, read.openlineage.letter_case) == ("ACME-RETAIL", "lower")


def test_the_files_of_an_export(example: tuple[Path, str]) -> None:
    documented = {pattern.replace("TABLE", "*") for pattern in named(INTERFACE["What an export writes"])}
    found = {pattern: set(example[0].glob(pattern)) for pattern in documented}
    only_if_wanted = {f"{name}.{ending}" for name in ("catalog", "tags") for ending in ("ttl", "jsonld")}
    only_if_wanted |= {"facts/*/*.parquet", "pseudonyms.txt"}
    assert {pattern for pattern, files in found.items() if not files} == {"quarantine/*.ndjson", *only_if_wanted}
    assert set().union(*found.values()) == {path for path in example[0].rglob("*") if path.is_file()}


def test_the_keys_of_the_report() -> None:
    assert named(INTERFACE["report.json"]) == {one.name for one in fields(Report)}


# --- examples in docstrings -------------------------------------------------------------------------------------------

EXAMPLED: Final = [
    path for path in sorted((ROOT / "exporter").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", EXAMPLED, ids=lambda path: path.name)
def test_examples_in_docstrings(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


# --- names in docstrings ----------------------------------------------------------------------------------------------

REFERENCE: Final = re.compile(r":(?:mod|data|func|class|meth|attr|exc):`~?([\w.]+)`")


def is_there(name: str, path: Path) -> bool:
    """Whether a name in a module is one of the module, of its classes, or of any module that it says in full."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    package = ".".join(inside[:-1])
    module = importlib.import_module(package if inside[-1] == "__init__" else ".".join(inside))
    if name.startswith("."):
        name = f"{package}{name}"
    if any(has(one, name) for one in (module, *filter(inspect.isclass, vars(module).values()))):
        return True
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(".".join(parts[:end]))
            return has(found, ".".join(parts[end:]))
    return False


def has(value: Any, name: str) -> bool:
    for part in filter(None, name.split(".")):
        if not hasattr(value, part):
            return part in getattr(value, "__annotations__", {})
        value = getattr(value, part)
    return True


def test_names_in_docstrings_are_there() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}, line {number}: there is no {name}"
        for path in sorted((ROOT / "exporter").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for name in REFERENCE.findall(line)
        if not is_there(name, path)
    ]
    assert wrong == [], "say where the name is now, in full if it is in another module"


# --- names of files and modules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_exist(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    folders = "benchmarks|bin|docs|examples|exporter|ontology|shapes|tests"
    spans = re.findall(r"`([^`\n]+)`", BLOCK.sub("", page.read_text(encoding="utf-8")))
    files = [span.rstrip("/") for span in spans if re.fullmatch(rf"({folders})/[\w./*-]*", span)]
    real = [name for name in files if not re.search(r"\b(NAME|NN|CLASS|TABLE|VERSION)\b", name)]
    assert [name for name in real if not list(ROOT.glob(name))] == []


def test_the_architecture_names_every_module_and_no_other() -> None:
    package = ROOT / "exporter"
    spans = set(re.findall(r"`(?:exporter/)?((?:\w+/)*\w+\.py|\w+/)`", text("ARCHITECTURE.md")))
    assert [name for name in spans if not list(package.rglob(name.rstrip("/"))) and not (ROOT / name).exists()] == []
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert modules | {f"{path.parent.name}/" for path in package.glob("*/__init__.py")} <= spans
