"""Updates with a user's own shapes: what is published follows one set of shapes, whichever runs had which."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from exporter.cli import main
from tests import exports
from tests.engines.test_updates import Drawn, applied, at, line, triples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.histories import Json

AT_MOST: Final = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ah: <https://w3id.org/access-history#> .
<https://example.org/shapes#AtMostNUMBER> a sh:NodeShape ;
    sh:targetClass ah:Query ;
    sh:property [ sh:path ah:totalElapsedTime ; sh:maxInclusive NUMBER ; sh:message "takes too long" ] .
"""
"""Refuses queries that took longer, by their line of QUERY_HISTORY."""
DAYS: Final = ("2026-03-01", "2026-03-02", "2026-03-03")


def shapes(path: Path, most: int) -> str:
    path.write_text(AT_MOST.replace("NUMBER", str(most)), encoding="utf-8")
    return str(path)


def times(rows: Sequence[Json]) -> list[Json]:
    """A line of QUERY_HISTORY for each query ``took-N-…``, which took N milliseconds."""
    return [
        {**line(row, 0), "total_elapsed_time": int(row["query_id"].split("-")[1])}
        for row in rows
        if row["query_id"].startswith("took-")
    ]


def given(rows: Sequence[Json], out: Path, *options: str) -> int:
    """The exit code of an export of these rows and their lines of QUERY_HISTORY."""
    of_rows = exports.ndjson(rows, out.with_suffix(".rows.ndjson"))
    of_lines = exports.ndjson(times(rows), out.with_suffix(".lines.ndjson"))
    history = ["--query-history", str(of_lines)] if times(rows) else []
    return exports.export([of_rows], out, *history, "--force", "--allow-empty", *options)


def queries(out: Path) -> set[str]:
    return {
        one.partition("/query/")[2].partition(">")[0]
        for one in triples(out)
        if "/query/" in one.partition(" ")[0] and "startedAtTime" in one
    }


def aside(out: Path) -> list[str]:
    return sorted(json.loads(entry["as_it_came"])["query_id"] for entry in exports.quarantine(out))


FIRST: Final = [at("took-5-a", 1), at("took-20-a", 1), at("took-20-b", 2), at("plain", 3)]
LATE: Final = [at("took-50-new", 3), at("new", 3)]


@pytest.mark.parametrize("options", [[], ["--forget-user", "NOBODY"], ["--no-validate", "--shapes", "RULES"]])
def test_an_update_without_the_shapes_of_dir_is_refused(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise what the shapes refused would be published, because an option was forgotten."""
    rules, out = shapes(tmp_path / "rules.ttl", 10), tmp_path / "out"
    assert given(FIRST, out, "--update", "--shapes", rules) == 1
    before = (out / "manifest.json").read_bytes()
    capsys.readouterr()
    rows = [] if "--forget-user" in options else [exports.ndjson(LATE, tmp_path / "late.ndjson")]
    assert exports.export(rows, out, "--update", *[rules if one == "RULES" else one for one in options]) == 2
    said = capsys.readouterr().err
    assert f"was made with shapes of your own ({rules})" in said
    assert "leave out --no-validate" in said if "RULES" in options else f"give --shapes {rules}" in said
    assert "--update and --replace" in said
    assert (out / "manifest.json").read_bytes() == before


def test_without_shapes_all_rows_are_given_again(tmp_path: Path) -> None:
    """As the message says."""
    rules, out = shapes(tmp_path / "rules.ttl", 10), tmp_path / "out"
    assert given(FIRST, out, "--update", "--shapes", rules) == 1
    assert given([*FIRST, *LATE], out, "--update", "--replace") == 0
    assert queries(out) == {row["query_id"] for row in [*FIRST, *LATE]}
    assert given([at("more", 3)], out, "--update") == 0
    assert exports.report(out)["other_shapes"] is None


def test_a_user_is_forgotten_with_the_shapes(tmp_path: Path) -> None:
    rules, out = shapes(tmp_path / "rules.ttl", 10), tmp_path / "out"
    assert given([*FIRST, {**at("hers", 2), "user_name": "HER"}], out, "--update", "--shapes", rules) == 1
    assert exports.export([], out, "--update", "--forget-user", "HER", "--shapes", rules) == 1
    assert queries(out) == {"took-5-a", "plain"}
    assert aside(out) == ["took-20-a", "took-20-b"]


def exported(rows: Sequence[Json], out: Path, *options: str) -> int:
    of_rows = exports.ndjson(rows, out.with_suffix(".rows.ndjson"))
    of_lines = exports.ndjson(times(rows), out.with_suffix(".lines.ndjson"))
    return exports.export([of_rows], out, "--update", "--query-history", str(of_lines), *options)


def test_an_update_that_leaves_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong shape would empty DIR, of which no query is left in the rows that are given again."""
    out, every = tmp_path / "out", [at("took-5-a", 1), at("took-20-b", 2)]
    assert exported(every, out) == 0
    before, rules = (out / "manifest.json").read_bytes(), shapes(tmp_path / "rules.ttl", 1)
    assert exported(every[:1], out, "--shapes", rules) == 2
    assert "would be left without queries: the shapes refuse all" in capsys.readouterr().err
    assert (out / "manifest.json").read_bytes() == before
    assert exported(every[:1], out, "--shapes", rules, "--allow-empty") == 1
    assert (queries(out), exports.report(out)["period"]) == (set(), None)
    assert exported(every[:1], out, "--shapes", rules) == 0, "no query is lost: DIR has none"
    assert exported([*every[:1], at("took-1-c", 3)], out, "--shapes", rules) == 0
    assert exports.report(out)["period"] == {"first": "2026-03-03T10:00:00Z", "last": "2026-03-03T10:00:00Z"}


def test_what_the_shapes_refuse_is_not_left_when_all_others_are_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rules = tmp_path / "out", shapes(tmp_path / "rules.ttl", 10)
    assert exported([{**at("took-5-hers", 1), "user_name": "HER"}, at("took-20-b", 2)], out, "--shapes", rules) == 1
    forget = ("--update", "--shapes", rules, "--forget-user", "HER")
    assert exports.export([], out, *forget) == 2
    assert "1 would be removed, the shapes refuse the others" in capsys.readouterr().err
    assert queries(out) == {"took-5-hers"}
    assert exports.export([], out, *forget, "--allow-empty") == 1
    assert exports.report(out)["period"] is None, "the times of her queries are forgotten, too"
    assert "2026-03-01" not in (out / "export.ttl").read_text(encoding="utf-8").partition("generated")[0]


@pytest.mark.parametrize(
    ("before", "now", "refused", "back"),
    [(None, 10, 2, 0), (10, 30, 0, 2), (10, 4, 1, 0), (30, 10, 2, 0), (10, 10, None, None)],
    ids=["first shapes", "wider", "narrower", "narrower than those that refused nothing", "the same"],
)
def test_with_other_shapes_all_days_are_made_again(
    before: int | None,
    now: int,
    refused: int | None,
    back: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """docs/updates.md: the graph has the triples that one export of all the rows has, with the shapes of the last
    run. ``refused``, ``back``: how many queries of the first run are refused now and were not, and the reverse.
    """
    out, once = tmp_path / "out", tmp_path / "once"
    first = ["--shapes", shapes(tmp_path / "first.ttl", before)] if before else []
    given(FIRST, out, "--update", *first)
    capsys.readouterr()
    own = shapes(tmp_path / "now.ttl", now)
    assert given(LATE, out, "--update", "--shapes", own) == 1
    said = capsys.readouterr().out
    given([*FIRST, *LATE], once, "--shapes", own)
    assert triples(out) == triples(once) == applied(out)
    assert exports.events(out) == exports.events(once)
    assert aside(out) == aside(once)
    report = exports.report(out)
    assert (report["rows_in"], report["exported"], report["quarantined"]) == (2, 1, 1)
    if refused is None:  # the same content in another file
        assert report["made"] == ["2026-03-03"]
        assert report["other_shapes"] is None
        assert "since the shapes" not in said
        return
    assert report["made"] == list(DAYS)
    assert report["other_shapes"] == {"quarantined": refused, "exported": back}
    (told,) = [one for one in said.splitlines() if one.startswith("  other shapes")]
    assert told.split()[2] == str(refused)
    assert f"; {back} refused before, and exported now" in told
    assert "follow from them" not in said


def test_shapes_change_without_new_rows(tmp_path: Path) -> None:
    """An empty file as INPUT, and ``--allow-empty``; or any rows that DIR has."""
    out, again = tmp_path / "out", tmp_path / "again"
    for each in (out, again):
        assert given(FIRST, each, "--update", "--shapes", shapes(tmp_path / "rules.ttl", 10)) == 1
    wider = shapes(tmp_path / "rules.ttl", 30)
    assert given([], out, "--update", "--shapes", wider) == 0
    assert exports.export([tmp_path / "again.rows.ndjson"], again, "--update", "--shapes", wider) == 0
    for each in (out, again):
        assert queries(each) == {row["query_id"] for row in FIRST}
        assert exports.report(each)["other_shapes"] == {"quarantined": 0, "exported": 2}


def test_several_files_of_shapes_are_one_set(tmp_path: Path) -> None:
    """In any order, and in any folders: their paths differ between machines."""
    one, two, out = shapes(tmp_path / "one.ttl", 10), shapes(tmp_path / "two.ttl", 30), tmp_path / "out"
    given(FIRST, out, "--update", "--shapes", one, "--shapes", two)
    (tmp_path / "both").mkdir()
    for number, most in enumerate((30, 10)):
        shapes(tmp_path / "both" / f"{number}.ttl", most)
    given([at("more", 3)], out, "--update", "--shapes", str(tmp_path / "both"))
    assert exports.report(out)["made"] == ["2026-03-03"]
    given([at("another", 3)], out, "--update", "--shapes", one)
    assert exports.report(out)["made"] == list(DAYS)
    assert exports.report(out)["other_shapes"] == {"quarantined": 0, "exported": 0}


def test_a_dir_of_an_earlier_build_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that kept only the paths of shapes, by the form of its state."""
    rules, out = shapes(tmp_path / "rules.ttl", 10), tmp_path / "out"
    refused = given(FIRST, out, "--update", "--shapes", rules)
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["shapes_sha256"]
    (out / "manifest.json").write_text(json.dumps({**manifest, "state": 6}))
    assert given(LATE, out, "--update", "--shapes", rules) == 2
    told = capsys.readouterr().err
    assert "keeps its state in another form; make it again with all rows, --update and --replace" in told
    assert given(FIRST, out, "--update", "--replace", "--shapes", rules) == refused != 2


def test_what_is_given_again_stays_in_quarantine_and_the_summary_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of these rows are in quarantine; others of DIR are given again, too."""
    own, out = ["--shapes", shapes(tmp_path / "rules.ttl", 10)], tmp_path / "out"
    given(FIRST, out, "--update", *own)
    capsys.readouterr()
    assert main(["quarantine", str(out)]) == 0
    said = capsys.readouterr().out
    assert "2 rows could be read and are kept in the output" in said
    assert "export rows.ndjson" not in said
    exports.export([exports.ndjson(FIRST, tmp_path / "again.ndjson")], out, "--update", *own)
    (told,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("  duplicates")]
    assert told.split()[1] == "4"
    assert told.endswith("dropped; 2 of them in quarantine, and stay there: exporter quarantine")
    assert exports.report(out)["stay_quarantined"] == 2
    exports.export([exports.ndjson(FIRST[:1], tmp_path / "again.ndjson")], out, "--update", *own)
    assert "in quarantine" not in capsys.readouterr().out


def test_rows_that_contradict_each_other_stay_too(tmp_path: Path) -> None:
    """Of another query with two rows that do not, one is given again."""
    out, row = tmp_path / "out", at("q", 1)
    rows = [row, {**row, "user_name": "OTHER"}, at("fine", 1, user_tags=None), at("fine", 1, extra=1), at("x", 2)]
    for stay in (0, 2):
        exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], out, "--update")
        assert exports.report(out)["stay_quarantined"] == stay
    assert exports.report(out)["duplicates"] == 5


def test_the_quarantine_of_an_export_without_updates_gives_no_advice_that_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given(FIRST, out, "--shapes", shapes(tmp_path / "rules.ttl", 10))
    capsys.readouterr()
    assert main(["quarantine", str(out)]) == 0
    said = capsys.readouterr().out
    assert "was made without --update" in said
    assert "export all rows again with --replace" in said


def test_the_log_says_what_other_shapes_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    for most in (10, 30):
        given(FIRST, out, "--update", "--shapes", shapes(tmp_path / "rules.ttl", most))
    capsys.readouterr()
    assert main(["log", str(out)]) == 0
    *_, told, last = capsys.readouterr().out.splitlines()
    assert told.startswith("Run 2 had other shapes. Queries of earlier runs that are refused since then: 0; that were")
    assert told.endswith("exported: 2.")
    assert last.startswith("0 rows are in quarantine now")
    assert main(["quarantine", str(out)]) == 0
    assert capsys.readouterr().out.startswith("Nothing is in quarantine. Run 2 had other shapes")


def timed(drawn: Drawn, rng: Random) -> Drawn:
    """The history with times in its lines, which the shapes refuse or not."""
    for one in drawn.lines:
        one["total_elapsed_time"] = rng.choice((5, 20, 50))
    return drawn


@pytest.mark.parametrize("seed", range(5))
def test_whatever_shapes_the_updates_had_the_graph_is_that_of_one_export_with_the_last(
    seed: int, tmp_path: Path
) -> None:
    """Also of queries that end on a later day, of parents of other days, and of users that are forgotten."""
    rng = Random(seed)
    drawn = timed(Drawn(rng, rng.randint(5, 25)), rng)
    out, once, reads = tmp_path / "out", tmp_path / "once", ("full", "daily")[seed % 2]
    drawn.parts.append((drawn.rows[:1], []))
    rules: list[str] = []
    for number, (rows, lines) in enumerate(drawn.parts):
        if rules or number == len(drawn.parts) - 1 or rng.random() < 0.7:
            rules = ["--shapes", shapes(tmp_path / f"{number}.ttl", rng.choice((4, 10, 30, 60)))]
        with_lines(rows or drawn.rows[:1], lines, out, "--update", "--reads", reads, *rules)
    with_lines(drawn.rows, drawn.lines, once, "--reads", reads, *rules)
    assert triples(out) == triples(once)
    assert triples(out) == applied(out)
    assert readable(out) == readable(once)


def with_lines(rows: list[Json], lines: list[Json], out: Path, *options: str) -> None:
    of_rows = exports.ndjson(rows, out.with_suffix(".rows.ndjson"))
    of_lines = exports.ndjson(lines, out.with_suffix(".lines.ndjson"))
    options = ("--query-history", str(of_lines), "--force", "--allow-empty", *options)
    assert exports.export([of_rows], out, *options) == (1 if exports.report(out)["violations"] else 0)


def readable(out: Path) -> set[tuple[str, str]]:
    """Query and reason of the quarantined rows that could be read: those of others stay from any run."""
    rows = [(json.loads(entry["as_it_came"]), entry["reason"]) for entry in exports.quarantine(out)]
    return {(row["query_id"], reason) for row, reason in rows if row["user_name"] is not None}
