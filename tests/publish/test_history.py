"""``exporter log`` and ``exporter quarantine``: the runs of a DIR; and what an update refuses."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from exporter.ask import stores
from exporter.cli import main
from exporter.publish.earlier import runs
from exporter.publish.quarantine import reasons
from tests import exports, golden

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [row for folder in golden.folders() for row in golden.rows(folder)][:3]
BAD = {"query_id": "bad"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A DIR of three runs: a row and one that cannot be read; the same again with another; the last one, mended."""
    mended = {**BAD, "query_start_time": "2026-03-01 00:00:00 +0000", "user_name": "U"}
    for given in ([ROWS[0], BAD], [ROWS[0], ROWS[1]], [mended]):
        rows = exports.ndjson(given, tmp_path / "rows.ndjson")
        assert exports.export([rows], tmp_path / "out", "--update") == 0
    return tmp_path / "out"


def test_the_account_adds_up_over_the_whole_life(out: Path) -> None:
    told = [(one["run"], one["rows_in"], one["exported"], one["duplicates"], one["quarantined"]) for one in runs(out)]
    assert told == [(1, 2, 1, 0, 1), (2, 2, 1, 1, 0), (3, 1, 1, 0, 0)]


def test_the_log_is_shown_with_its_sums(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", str(out)]) == 0
    head, *rows, sums = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "at", "rows", "in", "exported", "duplicates", "quarantined", "days", "written"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3"]
    assert sums.split() == ["all", "5", "3", "1", "1"]


@pytest.mark.parametrize("options", [[], ["--update"]])
def test_each_run_has_its_time(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/interface.md, "exporter log": when. That of a run without ``--update`` is in its report."""
    rows = exports.ndjson(ROWS, tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", *options) == 0
    capsys.readouterr()
    assert main(["log", str(tmp_path / "out"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert run["at"] == exports.report(tmp_path / "out")["at"]
    assert main(["log", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["1", run["at"]]


def test_rows_that_contradict_those_of_an_earlier_run_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/input.md, "Quarantine": nothing tells which is right, so both are quarantined. docs/updates.md: a
    further row does not take the place of one that was read.
    """
    contradicts = {**ROWS[0], "user_name": "SOMEBODY"}
    for given in ([ROWS[0], ROWS[1]], [contradicts, BAD], [ROWS[2]]):
        rows = exports.ndjson(given, tmp_path / "rows.ndjson")
        assert exports.export([rows], tmp_path / "out", "--update", "--allow-empty") == 0
    capsys.readouterr()
    assert main(["log", str(tmp_path / "out")]) == 0
    *_, sums, now = capsys.readouterr().out.splitlines()
    assert sums.split() == ["all", "5", "3", "0", "2"]
    assert now.startswith("3 rows are in quarantine now")
    assert {(one["rows"], one["kept"]) for one in reasons(tmp_path / "out")} == {(2, 2), (1, 0)}
    assert main(["quarantine", str(tmp_path / "out")]) == 0
    assert "2 rows could be read and are kept" in capsys.readouterr().out


def test_a_folder_that_was_not_added_to_has_one_run(tmp_path: Path) -> None:
    assert exports.export([exports.ndjson(ROWS, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    assert [(one["run"], one["rows_in"]) for one in runs(tmp_path / "out")] == [(1, 3)]


def test_quarantined_rows_are_listed_by_reason(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = reasons(out)
    assert (one["rows"], one["example"]["line"], json.loads(one["example"]["as_it_came"])) == (1, 2, BAD)
    assert main(["quarantine", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "query_start_time is missing" in shown
    assert "rows.ndjson, line 2" in shown


def aside(out: Path) -> list[tuple[int, int, str]]:
    return [
        (one["rows"], one["given_again"], json.loads(one["example"]["as_it_came"])["query_id"]) for one in reasons(out)
    ]


@pytest.mark.parametrize("is_anew", [False, True])
def test_a_row_that_was_corrected_is_listed_as_given_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_anew: bool
) -> None:
    """Also where all rows were kept anew since: here, because a row moves its query to another day."""
    good = {"query_start_time": "2026-03-02 00:00:00 +0000", "user_name": "U"}
    runs_of: list[list[dict[str, Any]]] = [
        [BAD, {"query_id": "other"}, {**good, "query_id": "known"}, {"query_id": "known"}],
        [{**BAD, **good}],
    ]
    if is_anew:
        runs_of.append([{**BAD, **good, "query_start_time": "2026-03-01 00:00:00 +0000"}])
    for given in runs_of:
        assert exports.export([exports.ndjson(given, tmp_path / "rows.ndjson")], tmp_path / "out", "--update") == 0
    assert aside(tmp_path / "out") == [(3, 1, "other")], "a row that came together with the bad one mends nothing"
    capsys.readouterr()
    assert main(["quarantine", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "3 rows: query_start_time is missing" in shown
    assert "(a later run exported 1 of them)" in shown
    assert f"exporter quarantine {tmp_path / 'out'} --rows > rows.ndjson" in shown
    assert "--update" in shown


def test_where_all_was_given_again_there_is_nothing_to_do(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aside(out) == [(1, 1, "bad")]
    assert main(["quarantine", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "(a later run exported its query)" in shown
    assert "nothing is left to correct" in shown


def test_an_empty_quarantine_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exports.export([exports.ndjson(ROWS, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    capsys.readouterr()
    assert main(["quarantine", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == "Nothing was quarantined.\n"


@pytest.mark.parametrize("command", ["log", "quarantine"])
def test_a_folder_that_no_export_left_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path)]) == 2
    assert "was not made by an export" in capsys.readouterr().err


def exported(tmp_path: Path, *options: str, **row: Any) -> int:
    rows, key = exports.ndjson([{**ROWS[0], **row}], tmp_path / "rows.ndjson"), tmp_path / "key"
    key.write_text("k" * 40, encoding="utf-8")
    key.chmod(0o600)
    given = [str(key) if option == "KEY" else option for option in options]
    return main(["export", str(rows), "--out", str(tmp_path / "out"), "--engine", "local", *given])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (["--account", "A-B"], ["--account", "A-B", "--update"], "was made without --update"),
        (
            ["--account", "A-B", "--update"],
            ["--account", "A-C", "--update"],
            "made with account A-B, but now it is A-C",
        ),
        (
            ["--account", "A-B", "--update"],
            ["--account", "A-B", "--update", "--outputs", "graph"],
            'made with outputs ["events", "graph"], but now it is ["graph"]',
        ),
        (
            ["--account", "A-B", "--update"],
            ["--account", "A-B", "--update", "--pseudonyms", "KEY"],
            "was made without pseudonyms, and this run has pseudonyms: what DIR has would stay as it is",
        ),
        (
            ["--account", "A-B", "--update", "--pseudonyms", "KEY"],
            ["--account", "A-B", "--update"],
            "but this run has none: the new content would not fit the old; give the same pseudonyms, or export all",
        ),
    ],
)
def test_other_settings_are_refused_and_leave_all_as_it_was(
    first: list[str], second: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path, *first) == 0
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    assert exported(tmp_path, *second, query_id="another") == 2
    assert words in capsys.readouterr().err
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--outputs", "graph,catalog"], "catalog cannot be made by an update"),
        (["--outputs", "graph,facts"], "facts cannot be made by an update"),
        (["--graph-format", "nquads"], "with --update use ntriples"),
    ],
)
def test_outputs_about_all_rows_at_once_are_refused(
    option: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path, "--account", "A-B", "--update", *option) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_reasons_why_nothing_can_be_added_are_those_of_this_run(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exports.ndjson([{**ROWS[0], "query_id": None}], tmp_path / "more.ndjson")
    capsys.readouterr()
    assert exports.export([rows], out, "--update") == 2
    printed = capsys.readouterr().err
    assert f"reasons: query_id is missing ({rows}, line 1). Give --allow-empty" in printed


def test_a_dry_run_says_what_would_be_new_and_writes_nothing(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.relative_to(out) for path in out.rglob("*"))
    rows = exports.ndjson([ROWS[0], ROWS[2]], tmp_path / "rows.ndjson")
    capsys.readouterr()
    assert exports.export([rows], out, "--update", "--dry-run") == 0
    told = capsys.readouterr().out
    assert "(1 new row)" in told
    assert "Nothing was written" in told
    assert sorted(path.relative_to(out) for path in out.rglob("*")) == before


def words(out: Path, begin: str) -> set[str]:
    """The words in any file that begin so."""
    found: set[str] = set()
    for path in out.rglob("*"):
        if path.is_file():
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found |= {one.decode() for one in re.findall(rb"%b[A-Z_]*" % begin.encode(), data)}
        if path.suffix == ".parquet":
            found |= set(re.findall(f"{begin}[A-Z_]*", str(parquet.read_table(path).to_pylist())))
    return found


def users(out: Path) -> set[str]:
    return words(out, "KEEP_ME") | words(out, "FORGET_ME")


@pytest.fixture
def of_two_users(tmp_path: Path) -> Path:
    """A DIR of two users over three days, in two runs; one row of each cannot be read."""
    rows = [
        {
            **ROWS[0],
            "query_id": f"{user}-{day}",
            "user_name": user,
            "query_start_time": f"2026-03-0{day} 10:00:00 +0000",
        }
        for user in ("KEEP_ME", "FORGET_ME")
        for day in (1, 2, 3)
    ]
    bad = [{"query_id": "x", "user_name": user} for user in ("KEEP_ME", "FORGET_ME")]
    for given in ([*rows[:4], bad[1]], [*rows[4:], bad[0]]):
        assert exports.export([exports.ndjson(given, tmp_path / "rows.ndjson")], tmp_path / "out", "--update") == 0
    return tmp_path / "out"


def forget(out: Path, *options: str) -> int:
    return main(["export", "--account", exports.ACCOUNT, "--out", str(out), "--engine", "local", "--update", *options])


def test_a_user_is_forgotten_in_every_file(of_two_users: Path) -> None:
    assert users(of_two_users) == {"KEEP_ME", "FORGET_ME"}
    assert forget(of_two_users, "--forget-user", "FORGET_ME") == 0
    assert users(of_two_users) == {"KEEP_ME"}
    (last,) = runs(of_two_users)[-1:]
    assert (last["rows_in"], last["exported"], last["made"]) == (0, 0, ["2026-03-01", "2026-03-02", "2026-03-03"])


def test_forgetting_says_that_it_removed_quarantined_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/updates.md, "Forgetting": rows in quarantine may name anybody, so each such run removes them."""
    out = tmp_path / "out"
    rows = [*rows_of("KEEP_ME", "FORGET_ME"), BAD]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], out, "--update") == 0
    assert forget(out, "--forget-user", "FORGET_ME") == 0
    capsys.readouterr()
    removed = (
        "Run 2 forgot a user or days: it removed from quarantine what earlier runs could not read, and what it forgot."
    )
    assert main(["quarantine", str(out)]) == 0
    assert capsys.readouterr().out == f"Nothing is in quarantine. {removed}\n"
    assert main(["log", str(out)]) == 0
    *_, told, last = capsys.readouterr().out.splitlines()
    assert told == "Run 2 forgot 1 query of earlier runs (1 row), which these still count."
    assert last == f"0 rows are in quarantine now. {removed}"
    assert forget(out, "--forget-before", "2020-01-01") == 0
    assert runs(out)[-1]["forgotten"]["rows"] == 0


@pytest.fixture
def of_spellings(tmp_path: Path) -> Path:
    """A DIR with rows of users whose names differ in letter case."""
    out = tmp_path / "out"
    assert exports.export([exports.ndjson(rows_of(*SPELLINGS), tmp_path / "rows.ndjson")], out, "--update") == 0
    return out


@pytest.mark.parametrize(
    ("given", "near"),
    [("jonas", "JONAS_SCIENTIST, JONAS_B"), ("Tom", "tom.analyst@x.com, TOMASZ"), ("scientist", "JONAS_SCIENTIST")],
)
def test_a_part_of_a_name_finds_it(given: str, near: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/updates.md, "Which user is meant": the nearest users. Most give the first name."""
    out = tmp_path / "out"
    rows = rows_of("JONAS_SCIENTIST", "JONAS_B", "tom.analyst@x.com", "TOMASZ", "ROBOT")
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], out, "--update") == 0
    assert forget(out, "--forget-user", given) == 1
    said = capsys.readouterr().err
    each = said.partition("(did you mean ")[2].partition("?)")[0].split(", ")
    assert set(each) >= set(near.split(", "))


SPELLINGS = ("JSMITH", "jsmith", "KMiller", "m@x.com", "N@X.COM", "SYSTEM")


def rows_of(*names: str) -> list[dict[str, Any]]:
    return [{**ROWS[0], "query_id": f"of {place}", "user_name": name} for place, name in enumerate(names)]


def users_in_state(out: Path) -> set[str]:
    texts = [
        row["body"]
        for path in (out / "state" / "rows").rglob("*.parquet")
        for row in parquet.read_table(path).to_pylist()
        if row["to"].startswith("2")  # the receivers of rows are days
    ]
    return {name for name in SPELLINGS for text in texts if f'"{name}"'.encode() in text}


@pytest.mark.parametrize(
    ("given", "forgotten"),
    [
        (["jsmith"], {"JSMITH"}),
        (["JSmith"], {"JSMITH"}),
        (['"jsmith"'], {"jsmith"}),
        (['"JSMITH"'], {"JSMITH"}),
        (['"KMiller"'], {"KMiller"}),
        (["M@X.com"], {"m@x.com"}),
        (["n@x.com"], {"N@X.COM"}),
        (["jsmith", "system"], {"JSMITH", "SYSTEM"}),
    ],
)
def test_a_user_to_forget_is_named_by_the_rule_of_letter_case(
    given: list[str], forgotten: set[str], of_spellings: Path
) -> None:
    assert users_in_state(of_spellings) == set(SPELLINGS)
    assert forget(of_spellings, *(part for name in given for part in ("--forget-user", name))) == 0
    assert users_in_state(of_spellings) == set(SPELLINGS) - forgotten


@pytest.mark.parametrize("given", ["M@X.COM", "m@x.com", "M@x.com"])
def test_an_address_is_the_user_in_all_letter_cases(given: str, tmp_path: Path) -> None:
    """docs/updates.md, "Which user is meant". Only in quotes it is one of them."""
    out, names = tmp_path / "out", ("M@X.COM", "m@x.com", "M@X.com", "KEEP_ME")
    assert exports.export([exports.ndjson(rows_of(*names), tmp_path / "rows.ndjson")], out, "--update") == 0
    assert forget(out, "--forget-user", f'"{given}"') == (0 if given in names else 1)
    assert forget(out, "--forget-user", given) == 0
    assert exports.report(out)["forgotten"]["queries"] == (2 if given in names else 3)
    assert users(out) == {"KEEP_ME"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["JSMIHT"], 'JSMIHT (did you mean JSMITH, "jsmith"?)'),
        (['"kmiller"'], '"kmiller" (did you mean "KMiller"?)'),
        (["KMiller"], 'KMiller (did you mean "KMiller"?)'),
        (["jsmith", "nobody_like_this"], "nobody_like_this. Nothing was changed"),
        (["XYZ", "JSMITHS"], 'XYZ; JSMITHS (did you mean JSMITH, "jsmith"?). Nothing was changed'),
    ],
)
def test_a_user_that_dir_does_not_have_is_reported_with_the_nearest(
    given: list[str], said: str, of_spellings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in of_spellings.rglob("*") if path.is_file()}
    assert forget(of_spellings, *(part for name in given for part in ("--forget-user", name))) == 1
    told = capsys.readouterr().err
    assert f"--forget-user: {of_spellings} has no rows of {said}" in told
    assert "Rows in quarantine are not looked at" in told
    assert {path: path.read_bytes() for path in of_spellings.rglob("*") if path.is_file()} == before


def user_nodes(out: Path) -> set[str]:
    return {name for _, term, name in exports.triples(out) if term.endswith("#userName>")}


@pytest.mark.parametrize("given", ["jsmith", "JSMITH", '"jsmith"', "kmiller", "M@X.com", "system"])
def test_with_pseudonyms_a_user_is_found_by_name(given: str, tmp_path: Path) -> None:
    key, out = tmp_path / "key", tmp_path / "out"
    key.write_text("k" * 32)
    names = ("JSMITH", "jsmith", "KMILLER", "m@x.com", "SYSTEM")
    options = ("--update", "--pseudonyms", str(key))
    assert exports.export([exports.ndjson(rows_of(*names), tmp_path / "rows.ndjson")], out, *options) == 0
    assert len(user_nodes(out)) == 5
    forgotten = ("--pseudonyms", str(key), "--forget-user", given)
    assert forget(out, *forgotten) == 0
    assert len(user_nodes(out)) == 4
    assert forget(out, *forgotten) == 1


@pytest.mark.parametrize("stored", ["Jane.Doe@Example.com", "JANE.DOE@example.com", "jane.doe@EXAMPLE.com"])
def test_with_pseudonyms_an_address_is_found_in_the_usual_letter_cases(
    stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be known is said."""
    key, out = tmp_path / "key", tmp_path / "out"
    key.write_text("k" * 32)
    options = ("--pseudonyms", str(key))
    rows = exports.ndjson(rows_of(stored, "jAnE@x.com", "JSMITH"), tmp_path / "rows.ndjson")
    assert exports.export([rows], out, "--update", *options) == 0
    assert forget(out, *options, "--forget-user", '"jane.doe@example.com"') == 1, "quotes: only this letter case"
    said = "with pseudonyms the letter case of other names has to be as in the rows"
    assert said not in capsys.readouterr().err
    assert forget(out, *options, "--forget-user", "jane.doe@example.com") == 0
    assert len(user_nodes(out)) == 2
    assert forget(out, *options, "--forget-user", "jane@x.com") == 1
    assert said in capsys.readouterr().err
    assert forget(out, *options, "--forget-user", "jAnE@x.com") == 0
    assert len(user_nodes(out)) == 1


def test_a_long_address_is_found_with_pseudonyms(tmp_path: Path) -> None:
    key, out = tmp_path / "key", tmp_path / "out"
    key.write_text("k" * 32)
    options = ("--pseudonyms", str(key))
    rows = exports.ndjson(rows_of("Ann.Mary-Jo.Of.The.Hill@mail.example.co.uk", "JSMITH"), tmp_path / "rows.ndjson")
    assert exports.export([rows], out, "--update", *options) == 0
    assert forget(out, *options, "--forget-user", "ann.mary-jo.of.the.hill@MAIL.example.co.uk") == 0
    assert len(user_nodes(out)) == 1


def test_the_summary_says_what_was_removed_and_made_again(
    of_two_users: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert forget(of_two_users, "--forget-user", "forget_me") == 0
    files = len([path for path in of_two_users.rglob("*") if path.is_file()])
    said = f"forgotten{3:>15}   queries removed; {files} files written again without them"
    assert said in capsys.readouterr().out
    assert exports.report(of_two_users)["forgotten"] == {"rows": 3, "queries": 3, "files": files}


def test_a_dir_without_rows_has_no_user(tmp_path: Path) -> None:
    assert forget(tmp_path / "out", "--forget-user", "JSMITH") == 1
    assert not (tmp_path / "out").exists()


def test_lines_of_queries_without_a_row_do_not_say_whose_they_are(tmp_path: Path) -> None:
    """QUERY_HISTORY has more queries than ACCESS_HISTORY; their lines are kept for rows that come late."""
    row = {**ROWS[0], "query_id": "kept", "user_name": "KEEP_ME", "query_start_time": "2026-03-02 10:00:00 +0000"}
    lines = [
        {"query_id": "kept", "end_time": "2026-03-02 10:00:01 +0000", "query_tag": "TAG_KEPT"},
        {"query_id": "late", "end_time": "2026-03-02 10:00:01 +0000", "query_tag": "TAG_LATE"},
        {"query_id": "early", "end_time": "2026-03-01 10:00:01 +0000", "query_tag": "TAG_EARLY"},
        {"query_id": "no time", "query_tag": "TAG_NO_TIME"},
    ]
    given = exports.ndjson([row], tmp_path / "rows.ndjson"), exports.ndjson(lines, tmp_path / "lines.ndjson")
    out = tmp_path / "out"
    assert exports.export([given[0]], out, "--query-history", str(given[1]), "--update") == 0
    assert words(out, "TAG_") == {"TAG_KEPT", "TAG_LATE", "TAG_EARLY", "TAG_NO_TIME"}
    assert forget(out, "--forget-before", "2026-03-02") == 0
    assert words(out, "TAG_") == {"TAG_KEPT", "TAG_LATE"}
    other = {**row, "query_id": "other", "user_name": "FORGET_ME"}
    assert exports.export([exports.ndjson([other], tmp_path / "rows.ndjson")], out, "--update") == 0
    assert forget(out, "--forget-user", "FORGET_ME") == 0
    assert words(out, "TAG_") == {"TAG_KEPT"}


@pytest.mark.parametrize("options", [("--forget-user", "FORGET_ME"), ("--forget-before", "2026-03-02")])
def test_a_store_with_forgotten_data_is_removed(options: tuple[str, ...], of_two_users: Path) -> None:
    """``exporter serve`` and ``query`` find it beside DIR; it has the graph as it was."""
    with stores.opened_store(of_two_users, lambda _: None) as store:
        pass
    assert forget(of_two_users, *options, "--dry-run") == 0
    assert store.exists()
    assert forget(of_two_users, *options) == 0
    assert not store.exists()


def test_the_store_of_a_replaced_export_is_removed_or_reported_if_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, out = exports.ndjson(ROWS, tmp_path / "rows.ndjson"), tmp_path / "out"
    assert exports.export([rows], out) == 0
    with stores.opened_store(out, lambda _: None) as store:
        assert exports.export([rows], out, "--replace", "--force") == 0
        assert f"{store} holds an earlier export: a server shows it" in capsys.readouterr().err
        assert store.exists()
    assert not store.exists()


def test_what_is_left_is_what_an_export_without_the_user_says(of_two_users: Path, tmp_path: Path) -> None:
    assert forget(of_two_users, "--forget-user", "FORGET_ME") == 0
    rows = [{**ROWS[0], "query_id": f"KEEP_ME-{day}", "user_name": "KEEP_ME",
             "query_start_time": f"2026-03-0{day} 10:00:00 +0000"} for day in (1, 2, 3)]  # fmt: skip
    assert exports.export([exports.ndjson(rows, tmp_path / "left.ndjson")], tmp_path / "left") == 0
    assert exports.triples(of_two_users) == exports.triples(tmp_path / "left")


def test_what_another_user_did_in_a_query_of_both_is_kept(tmp_path: Path) -> None:
    """The rows contradict each other, so the query was in quarantine; without the one user it is the other's."""
    of = {user: {**ROWS[0], "query_id": "both", "user_name": user} for user in ("KEEP_ME", "FORGET_ME")}
    lines = exports.ndjson([{"query_id": "both", "query_tag": "TAG_OF_BOTH"}], tmp_path / "lines.ndjson")
    other = {**ROWS[0], "query_id": "other", "user_name": "OTHER"}
    out, given = tmp_path / "out", exports.ndjson([*of.values(), other], tmp_path / "rows.ndjson")
    assert exports.export([given], out, "--query-history", str(lines), "--update") == 0
    assert exports.report(out)["quarantined"] == 2
    assert forget(out, "--forget-user", "FORGET_ME") == 0
    assert exports.report(out)["forgotten"]["rows"] == 1
    assert words(out, "TAG_") == words(out, "FORGET_ME") == set()
    left = exports.ndjson([of["KEEP_ME"], other], tmp_path / "left.ndjson")
    assert exports.export([left], tmp_path / "left") == 0
    assert exports.triples(out) == exports.triples(tmp_path / "left")


def test_everything_is_forgotten_only_if_asked_for(of_two_users: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A day after the last row is more likely a slip of the keys: the view keeps a year, so older rows are gone."""
    before = exports.triples(of_two_users)
    assert forget(of_two_users, "--forget-before", "2027-01-01") == 2
    assert "all 6 queries of" in capsys.readouterr().err
    assert exports.triples(of_two_users) == before
    assert forget(of_two_users, "--forget-before", "2027-01-01", "--allow-empty") == 0
    assert not (of_two_users / "events").exists()


def test_days_are_forgotten(of_two_users: Path, tmp_path: Path) -> None:
    assert forget(of_two_users, "--forget-before", "2026-03-02") == 0
    assert sorted(path.name for path in (of_two_users / "events").iterdir()) == ["day=2026-03-02", "day=2026-03-03"]
    rows = [{**ROWS[0], "query_id": f"{user}-{day}", "user_name": user,
             "query_start_time": f"2026-03-0{day} 10:00:00 +0000"}
            for user in ("KEEP_ME", "FORGET_ME") for day in (2, 3)]  # fmt: skip
    assert exports.export([exports.ndjson(rows, tmp_path / "left.ndjson")], tmp_path / "left") == 0
    assert exports.triples(of_two_users) == exports.triples(tmp_path / "left")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--forget-before", "yesterday"], "is not a day such as 2026-11-21"),
        ([], "give the files, folders or table"),
    ],
)
def test_what_cannot_be_forgotten_is_reported(
    options: list[str], words: str, of_two_users: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert forget(of_two_users, *options) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("options", [("--forget-user", "FORGET_ME"), ("--forget-before", "2026-03-02")])
def test_a_folder_that_was_kept_beside_the_export_is_named(
    options: tuple[str, ...], of_two_users: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has files that somebody changed in DIR, perhaps with the user in them (docs/updates.md, docs/safety.md)."""
    rows = exports.ndjson(rows_of("KEEP_ME", "FORGET_ME"), tmp_path / "rows.ndjson")
    changed = next(of_two_users.rglob("*.ttl"))
    changed.write_text(f"{changed.read_text(encoding='utf-8')}# mine, of FORGET_ME\n", encoding="utf-8")
    assert exports.export([rows], of_two_users, "--update", "--replace", "--force") == 0
    [kept] = tmp_path.glob("out.kept-*")
    (tmp_path / "out.kept-by-me").mkdir()
    capsys.readouterr()
    assert forget(of_two_users, *options, "--allow-empty") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "out.kept" in line]
    assert [str(kept) in line for line in said] == [True]
    assert [path.name for path in kept.rglob("*.ttl")] == [changed.name]
    assert exports.export([rows], of_two_users, "--update", "--force") == 0
    assert str(kept) not in capsys.readouterr().err, "only where somebody is forgotten"
