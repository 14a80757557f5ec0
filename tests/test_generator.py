"""The benchmarks: the generator is deterministic, has the mix of a real account, and stays within its size and time;
programs are measured with all their processes, results compared with requirements, and parts of the page kept.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections import Counter
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pyoxigraph
import pytest

from benchmarks import page, plot, rdflib_loop, run, steps
from benchmarks.asked import TIMES_THE_COPY, TIMES_THE_LOOP, Asked, Figure
from benchmarks.generate import EVEN, HOT, Generator, Sizes, write
from benchmarks.measured import Program, Result, Run, measured
from benchmarks.memory import JVM, PYTHON, WORKERS, Sampler
from benchmarks.parts import PARTS, Section
from benchmarks.query_history import HISTORY
from exporter.input.reading import read_line
from exporter.pipeline.job import ExportJob

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 20_000


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return [row.line for row in Generator(Sizes.of(ROWS), 1).rows()]


@pytest.fixture(scope="module")
def rows(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(Sizes.of(300), 5, tmp_path / name, tmp_path / f"{name}.csv")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    write(Sizes.of(300), 6, tmp_path / "seed 6")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "seed 6").read_bytes()


def test_it_writes_as_many_rows_as_asked_for(lines: list[str]) -> None:
    assert len(lines) == ROWS
    assert 1_500 < sum(map(len, lines)) / ROWS < 2_500


def test_two_thousand_rows_take_less_than_five_seconds() -> None:
    started = time.monotonic()
    assert sum(1 for _ in Generator(Sizes.of(2_000), 1).rows()) == 2_000
    assert time.monotonic() - started < 5


def test_a_query_id_is_used_once_but_for_duplicates_and_swaps(rows: list[dict[str, Any]]) -> None:
    ids = Counter(row["query_id"] for row in rows)
    repeated = [[r for r in rows if r["query_id"] == query_id] for query_id, count in ids.items() if count > 1]
    assert repeated
    for several in repeated:
        swap = all("swapTargetId" in json.dumps(row["object_modified_by_ddl"]) for row in several)
        assert swap or all(row == several[0] for row in several)


def test_the_mix_is_that_of_a_working_account(rows: list[dict[str, Any]]) -> None:
    reads = sum(bool(row["direct_objects_accessed"]) and not row["objects_modified"] for row in rows)
    ddl = sum(bool(row["object_modified_by_ddl"]) and not row["direct_objects_accessed"] for row in rows)
    assert 0.55 < reads / ROWS < 0.75
    assert 0.03 < ddl / ROWS < 0.06


@pytest.mark.parametrize(
    "mark",
    [
        "Stage",
        "location",
        "policies",
        "policyBody",
        "swapTargetName",
        "UNDROP",
        "maskingPolicies",
        "rowAccessPolicies",
        "tagValue",
        "comment",
        "joinType",
        "PROCEDURE",
        "FUNCTION",
        "TRUNCATED",
        "agentName",
        "horizon_irc",
        "directSources",
    ],
)
def test_everything_that_an_account_does_occurs(mark: str, lines: list[str]) -> None:
    assert any(mark in line for line in lines)


def test_several_targets_and_children_occur(rows: list[dict[str, Any]]) -> None:
    assert any(len(row["objects_modified"]) > 1 for row in rows)
    known = {row["query_id"] for row in rows}
    children = [row for row in rows if row["parent_query_id"]]
    assert children
    assert all(row["root_query_id"] in known for row in children)
    assert any(row["parent_query_id"] != row["root_query_id"] for row in children)


def test_an_object_keeps_its_id_and_a_column_its_own(rows: list[dict[str, Any]]) -> None:
    columns: dict[int, set[tuple[int, str]]] = {}
    for row in rows:
        for element in row["direct_objects_accessed"] + row["base_objects_accessed"]:
            for column in element.get("columns", ()):
                columns.setdefault(column["columnId"], set()).add((element["objectId"], column["columnName"]))
    columns.pop(-1)
    assert all(len(owners) == 1 for owners in columns.values())


def test_job_shapes_grow_more_slowly_than_rows() -> None:
    assert Sizes.of(400_000).shapes < 3 * Sizes.of(100_000).shapes
    assert Sizes.of(100_000, tables=50, users=7, shapes=500) == Sizes(100_000, 50, 7, 500)


def test_few_shapes_give_few_sets_of_inputs_and_outputs() -> None:
    def ends(line: str) -> str:
        row = json.loads(line)
        return json.dumps(
            [[e.get("objectId") for e in row[n]] for n in ("direct_objects_accessed", "objects_modified")]
        )

    rows = Generator(Sizes.of(5_000, tables=200, shapes=100), 1).rows()
    assert len({ends(row.line) for row in rows}) <= 110


def test_every_query_has_a_line_of_query_history(tmp_path: Path) -> None:
    write(Sizes.of(2_000), 1, tmp_path / "rows", tmp_path / "queries.csv")
    ids = {json.loads(line)["query_id"] for line in (tmp_path / "rows").read_text().splitlines()}
    queries = list(csv.DictReader((tmp_path / "queries.csv").read_text().splitlines()))
    assert [name.lower() for name in queries[0]] == list(HISTORY)
    assert sorted(query["QUERY_ID"] for query in queries) == sorted(ids)
    assert all(query["START_TIME"] < query["END_TIME"] for query in queries)


@pytest.mark.parametrize("form", ["turtle", "nt"])
def test_the_baseline_writes_a_graph_that_others_read(form: str, lines: list[str]) -> None:
    out = io.BytesIO()
    rows, triples = rdflib_loop.run(lines[:200], out, form)
    read = list(pyoxigraph.parse(out.getvalue(), pyoxigraph.RdfFormat.TURTLE))
    kinds = {str(triple.object.value).rpartition("#")[2] for triple in read if "type" in triple.predicate.value}
    assert (rows, triples) == (200, len(read))
    assert {"Query", "User", "Version", "Access", "Column", "ColumnDerivation", "PolicyEnforcement", "Change"} <= kinds


def test_a_loop_over_the_first_rows_counts_for_all_of_them() -> None:
    """Its start once, its rows in proportion."""
    loop = Result("loop", 10, (Run(3.0, 1.0), Run(2.0, 0.5), Run(9.0, 8.0)), all_rows=100)
    assert (loop.whole, loop.net) == (3.0, 1.0)
    assert loop.for_all == 2.0 + 10.0
    assert loop.rate == pytest.approx(100 / 12)
    assert Result("export", 10).rate is None


@pytest.mark.parametrize(
    ("seen", "asked", "line"),
    [
        (9.5, TIMES_THE_LOOP, "| what | at least 8 | 12 | 9.50 |"),
        (7.5, TIMES_THE_LOOP, "| what | at least 8 | 12 | 7.50 (not met) |"),
        (9.5, TIMES_THE_COPY, "| what | at most 8 | 5 | 9.50 (not met) |"),
        (None, TIMES_THE_COPY, "| what | at most 8 | 5 | not measured |"),
        (250.0, None, "| what |  |  | 250 |"),
    ],
)
def test_a_figure_has_its_requirement_and_whether_it_is_met(seen: float | None, asked: Asked | None, line: str) -> None:
    assert Figure("what", seen, asked).line() == line
    assert Figure("what", seen, asked).is_met == (line.endswith((" 9.50 |", " 250 |")))


def test_parts_of_the_page_that_are_not_measured_again_stay() -> None:
    first, second = list(PARTS)[:2]
    old = page.with_parts("", {second: ([("export", 5, 2.5)], "as it was\n"), first: ([], "old\n")})
    new = page.parts_of(page.with_parts(old, {first: ([("copy", 7, 1.5)], "new\n")}))
    assert list(new) == [first, second]
    assert new == {first: ([("copy", 7, 1.5)], "new\n"), second: ([("export", 5, 2.5)], "as it was\n")}


def test_a_part_of_the_page_shows_medians_memory_and_what_made_it() -> None:
    results = [
        Result("an export", 1_000, (Run(2.0, 1.5, {JVM: 7_000_000}, 0.25), Run(4.0, 2.5, {JVM: 1_000_000}, 0.75)))
    ]
    told = page.text(
        Section("A title", "Words.", [Figure("what", 1.0)], results), "two cores", "python -m benchmarks.run"
    )
    assert "| an export | 1,000 | 3.00 (2.00 to 4.00) | 2.00 | 0.50 | 333 | 7.00 | 7.00 | - | - |" in told.splitlines()
    assert told.endswith("Measured by `python -m benchmarks.run`: two cores.\n")


def test_the_plot_has_a_line_for_each_program_in_the_order_of_its_rows() -> None:
    points = [("copy", 1_000, 50_000.0), ("export", 10**6, 3_000.0), ("export", 1_000, 500.0), ("loop", 1_000, 190.0)]
    drawn = ET.fromstring(plot.svg(points))
    lines = [one.attrib["points"].split() for one in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(line) for line in lines] == [1, 2, 1]
    (x, y), (right, up) = (map(float, place.split(",")) for place in lines[1])
    assert x < right
    assert y > up


def test_the_page_and_its_plot_are_written(tmp_path: Path) -> None:
    run.write(tmp_path / "page.md", {"small": ([("export", 1_000, 500.0)], "measured\n")})
    assert "measured\n" in (tmp_path / "page.md").read_text()
    assert ">1,000<" in (tmp_path / "benchmarks.svg").read_text()


def test_the_command_of_a_part_names_no_folder_of_the_machine() -> None:
    parser = run._parser()
    given = parser.parse_args(["--rows", "20000,5000", "--parts", "local,small", "--work", "/somewhere", "--runs", "1"])
    assert run.command_of(given, parser) == "python -m benchmarks.run --parts small,local --rows 5000,20000"


# --- histories of a kind ----------------------------------------------------------------------------------------------

ARRAYS = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")


def of_kind(**kind: Any) -> Iterator[dict[str, Any]]:
    return (json.loads(row.line) for row in Generator(Sizes.of(5_000, **kind), 1).rows())


def most(rows: list[dict[str, Any]], column: str) -> tuple[int, float]:
    """The object that most rows have in a column, and the part of the rows that do."""
    counts = Counter(number for row in rows for number in {one.get("objectId") for one in row[column]})
    ((number, times),) = counts.most_common(1)
    return number, times / len(rows)


def test_one_table_is_read_by_nine_rows_of_ten_and_written_by_one_of_twenty() -> None:
    rows = list(of_kind(reads=HOT))
    table, reads = most(rows, "base_objects_accessed")
    written, writes = most(rows, "objects_modified")
    assert table == written
    assert 0.87 < reads < 0.93
    assert 0.03 < writes < 0.07


def test_an_even_history_has_the_same_kinds_of_statements_and_no_such_table() -> None:
    even, hot = list(of_kind(reads=EVEN)), list(of_kind(reads=HOT))
    assert most(even, "base_objects_accessed")[1] < 0.1
    for column in ARRAYS:
        assert abs(sum(bool(row[column]) for row in even) - sum(bool(row[column]) for row in hot)) < 100
    sizes = [sum(len(json.dumps(row)) for row in rows) for rows in (even, hot)]
    assert 0.9 < sizes[0] / sizes[1] < 1.1


def test_with_as_many_shapes_as_rows_no_statement_comes_twice() -> None:
    rows = [read_line(row.line.rstrip()) for row in Generator(Sizes.of(5_000, shapes=5_000), 1).rows()]
    assert len({row.content for row in rows}) == len(rows) == 5_000
    assert any(row.parent_query_id for row in rows)


# --- what is measured -------------------------------------------------------------------------------------------------


def test_programs_run_in_turn_and_one_that_fails_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = "open('out', 'w'); print('{\"seconds\": 3}')", "raise SystemExit('no rows')"
    out = tmp_path / "out"
    programs = [
        Program("good", 10, (sys.executable, "-c", good), tmp_path, out, lambda told: told["seconds"]),
        Program("bad", 10, (sys.executable, "-c", bad), tmp_path),
    ]
    results = measured(programs, 2)
    assert [len(result.runs) for result in results] == [2, 0]
    assert (results[0].net, results[1].whole) == (3, None)
    assert not out.exists()
    said = [line for line in capsys.readouterr().err.splitlines() if "rows" in line]
    assert said == ["good: 10 rows", "bad: 10 rows", "not measured: bad: exit code 1: no rows", "good: 10 rows"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_the_memory_of_all_processes_is_seen(tmp_path: Path) -> None:
    hold = "import sys; held = bytearray(b'x') * 50_000_000; print('held', flush=True); sys.stdin.read()"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}, 'pyspark.daemon'])"
    command = [sys.executable, "-c", start]
    with Popen(command, cwd=tmp_path, stdin=PIPE, stdout=PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with Sampler(process.pid) as memory:
            until = time.monotonic() + 120
            while not memory.peak and time.monotonic() < until:
                time.sleep(0.05)
        process.communicate(b"")
    assert memory.peak[WORKERS] > 50_000_000
    assert 1_000_000 < memory.peak[PYTHON] < 50_000_000
    assert JVM not in memory.peak


def test_the_steps_are_those_of_the_engine(lines: list[str]) -> None:
    rows, engine = steps.run(lines[:200], ExportJob("ACME-PROD", "snowflake://ACME-PROD/", in_order=False))
    names = [line.split(" | ")[0].removeprefix("| ") for line in steps.table(rows, engine).splitlines()[2:]]
    told = [name for name in names if name[0] not in "&*_"]
    assert told == [
        "read",
        "extract",
        "merge_profiles",
        "resolve_names",
        "resolve_datasets",
        "answer",
        "name_jobs",
        "write",
        "unchanged",
        "pieces of files",
    ]
    inside = {name.removeprefix("&nbsp; ") for name in names[names.index("write") :] if name.startswith("&")}
    assert inside >= {"facts", "nodes", "checks", "text", "events", "the rest"}
