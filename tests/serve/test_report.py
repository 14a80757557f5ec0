"""``exporter report``: one file, that loads nothing, with what the command answers."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import cli
from exporter.serve import server
from tests import exports
from tests.aggregates import calls, thing
from tests.pages import as_shown
from tests.serve.conftest import sited
from tests.serve.test_pages import Page

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.serve.site import Site


def part(text: str, title: str) -> str:
    return next(one for one in text.split("<section")[1:] if f">{title}</h2>" in one).partition("</section>")[0]


def rows(text: str, title: str) -> list[list[str]]:
    return Page(part(text, title)).rows[1:]


def notes(text: str, title: str) -> str:
    """What a part says, and the notes on several parts that name it."""
    common = part(text, "Notes on several parts").split("<li>")[1:] if ">Notes on several parts<" in text else []
    its = [note for note in common if re.search(rf"[(,] ?{re.escape(title)}[,)]", note)]
    assert len(its) == len(
        re.findall(r"\d+", "".join(re.findall(r"Notes? on several parts: ([\d, ]+)\.", part(text, title))))
    )
    return Page("".join((part(text, title), *its))).text


@pytest.fixture(scope="module")
def made(month_graph: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("report") / "report.html"
    assert cli.main(["report", str(month_graph), "--out", str(out), "--since", "2026-09-20"]) == 0
    return out.read_text("utf-8")


def test_it_is_one_file_that_loads_nothing(made: str) -> None:
    page = Page(made)
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "link", "a", "form", "base"}
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert not re.search(r"url\(|@import", made)
    assert len(made) < 200_000


def test_its_parts_are_the_answers_of_the_command(made: str, month: Site) -> None:
    since = {"since": "2026-09-20T00:00:00Z"}
    for title, question, params in (
        ("What changed", "changes", since),
        ("Unmasked reads", "unmasked-reads", since),
        ("Copies of masked columns that are read without a mask", "unmasked-copies", {}),
        ("Unused objects", "unused-objects", since),
        ("Exposure", "exposure", {}),
    ):
        answer = month.ask(question, params)
        most = sum(few([str(row[0]) for row in answer.rows]).values()) if question == "changes" else 40
        assert len(rows(made, title)) == min(len(answer.rows), most), title
        assert all(as_shown(note) in notes(made, title) for note in answer.notes if "max-rows" not in note)
    assert "From 2026-09-20 to 2026-09-30" in made
    readers = rows(made, "Top readers")
    assert [int(row[1]) for row in readers] == sorted((int(row[1]) for row in readers), reverse=True)
    users = {row[0] for row in month.ask("user-history", since, 10_000).rows if row[3]}
    assert {row[0] for row in readers} == users


def test_a_note_is_written_once(made: str) -> None:
    told = Page(part(made, "Notes on several parts")).text
    assert Page(made).text.count("No row records which tags, policies and grants came with a CLONE") == 1
    assert "Exposure" in told
    for numbers in re.findall(r"Notes? on several parts: ([\d, ]+)\.", made):
        assert (its := [int(number) for number in numbers.split(", ")]) == sorted(its)


OPENING: Final = ("grant made", "unset", "body changed")


def few(kinds: list[str]) -> dict[str, int]:
    """How many rows of each kind of change the report shows: all that open data, up to 40, and 8 of each other kind."""
    return {kind: min(count, 40 if kind.endswith(OPENING) else 8) for kind, count in Counter(kinds).items()}


def test_what_changed_has_a_few_of_each_kind_with_what_opens_data_first(made: str, month: Site) -> None:
    answer = month.ask("changes", {"since": "2026-09-20T00:00:00Z"})
    kinds = [str(row[answer.columns.index("change")]) for row in answer.rows]
    counts, of_kind = Counter(kinds), few(kinds)
    shown = [row[0] for row in rows(made, "What changed")]
    assert Counter(shown) == of_kind
    order = [
        (0 if kind.endswith(OPENING) else 1 if kind.endswith((" set", "revoked")) else 2 if "dropped" in kind else 3,
         counts[kind])
        for kind in shown
    ]  # fmt: skip
    assert order == sorted(order)
    assert {0, 2, 3} <= {group for group, _ in order}
    told = Page(part(made, "What changed")).text
    for kind, count in counts.items():
        number = count if of_kind[kind] == count else f"{of_kind[kind]} of {count}"
        assert f"{kind} ({number})" in told


def test_many_changes_of_one_kind_do_not_hide_others(tmp_path: Path) -> None:
    """Twelve helpers are made and dropped; a column is renamed before and after."""
    helper = [("CREATE", n, f"D.S.T{n}", {}) for n in range(1, 13)]
    rename = [("ALTER", 99, "D.S.A", {"columns": {a: {"subOperationType": "ALTER", "objectName": {"value": b}}}})
              for a, b in (("B", "C"), ("C", "B"))]  # fmt: skip
    done = [rename[0], *helper, *[("DROP", n, name, {}) for _, n, name, _ in helper], rename[1]]
    rows_ = [
        {
            "query_id": f"q{n}",
            "query_start_time": f"2026-10-01 09:{n:02}:00 +0000",
            "user_name": "ANA",
            "object_modified_by_ddl": {
                "objectDomain": "Table", "objectId": number, "objectName": name, "operationType": what,
                "properties": properties,
            },
        }
        for n, (what, number, name, properties) in enumerate(done)
    ]  # fmt: skip
    given, out = exports.ndjson(rows_, tmp_path / "rows.ndjson"), tmp_path / "r.html"
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    assert cli.main(["report", str(tmp_path / "out"), "--out", str(out)]) == 0
    text = out.read_text("utf-8")
    expected = [("object dropped", 8), ("column renamed", 2), ("object made", 8)]
    assert list(Counter(row[0] for row in rows(text, "What changed")).items()) == expected
    told = Page(part(text, "What changed")).text
    assert all(words in told for words in ("object dropped (8 of 12)", "column renamed (2)", "object made (8 of 12)"))


def test_what_loads_repeat_does_not_hide_what_people_did(tmp_path: Path) -> None:
    """Each night a load makes, fills and drops a helper, and masks the target anew. ANA drops a table on the fourth
    day, and at the end copies two masked columns into one.
    """

    def table(number: int, name: str) -> dict[str, Any]:
        return {"objectDomain": "Table", "objectId": number, "objectName": f"D.S.{name}"}

    def ddl(what: str, thing: dict[str, Any], **properties: Any) -> dict[str, Any]:
        return {"object_modified_by_ddl": {**thing, "operationType": what, "properties": properties}}

    def read(thing: dict[str, Any], *columns: str) -> dict[str, Any]:
        reads = [{**thing, "columns": [{"columnName": column} for column in columns]}]
        return {"direct_objects_accessed": reads, "base_objects_accessed": reads}

    def copy(source: dict[str, Any], columns: str, target: dict[str, Any]) -> dict[str, Any]:
        sources = [{**source, "columnName": column} for column in columns]
        filled = {"columnName": "C", "baseSources": sources, "directSources": sources}
        return {**read(source, *columns), "objects_modified": [{**target, "columns": [filled]}]}

    policy = {"policies": [{"policyName": "P.S.M", "policyId": 9, "policyKind": "MASKING_POLICY"}]}
    enforced = [{"columnName": column, **policy} for column in "AB"]
    mask = {"columns": {"C": {"maskingPolicies": {"P.S.M": {"subOperationType": "ADD"}}}}}
    source, target, mine = table(1, "R"), table(2, "T"), table(4, "MINE")
    done = [("01 01", "EVE", {**read(source, "A", "B"), "policies_referenced": [{**source, "columns": enforced}]})]
    for day in range(1, 13):
        helper = table(100 + day, "T__DBT_TMP")
        night = (ddl("CREATE", helper), copy(source, "AB", helper), copy(helper, "C", target), ddl("DROP", helper),
                 ddl("ALTER", target, **mask))  # fmt: skip
        done += [(f"{day:02} {hour:02}", "LOADER", what) for hour, what in enumerate(night, 2)]
    done += [("04 01", "ANA", ddl("DROP", table(3, "OLD"))), ("12 07", "ANA", copy(source, "AB", mine)),
             ("12 08", "ANA", read(mine, "C"))]  # fmt: skip
    rows_ = [
        {"query_id": f"q{n}", "query_start_time": f"2026-10-{time}:00:00 +0000", "user_name": user, **what}
        for n, (time, user, what) in enumerate(done)
    ]
    given, out = exports.ndjson(rows_, tmp_path / "rows.ndjson"), tmp_path / "r.html"
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    assert cli.main(["report", str(tmp_path / "out"), "--out", str(out)]) == 0
    text = out.read_text("utf-8")
    shown = [(*row[:4], row[5][5:13], row[6]) for row in rows(text, "What changed")]
    assert shown == [
        ("masking policy set", "D.S.T", "C", "LOADER", "10-12 06", "12"),
        ("object dropped", "D.S.OLD", "", "ANA", "10-04 01", "1"),
        ("new copy", "D.S.MINE", "C", "ANA", "10-12 07", "1"),
        ("new copy", "D.S.T", "C", "LOADER", "10-01 04", "1"),
        ("new reader", "D.S.MINE", "", "ANA", "10-12 08", "1"),
        ("new reader", "D.S.R", "", "ANA", "10-12 07", "1"),
        ("new reader", "D.S.R", "", "LOADER", "10-01 03", "1"),
        ("new reader", "D.S.R", "", "EVE", "10-01 01", "1"),
    ]
    # It was made and dropped 12 times, and was new once as a copy, and once as something read.
    assert "26 changes of helpers (what loads fill, read and drop) are left out" in part(text, "What changed")
    title = "Copies of masked columns that are read without a mask"
    copies = [tuple(row[3:]) for row in rows(text, title)]
    assert (len(copies), len(set(copies))) == (4, 2), "each copy has two sources"
    assert f"<b>2</b> c{title[1:]}" in text
    assert "<b>8</b> different changes" in text
    with sited(tmp_path / "out") as site:
        client = server.make(site, "127.0.0.1").test_client()
        home = next(page for _ in range(50) if "not ready" not in (page := Page(client.get("/").text).text))
    assert f"{title} (2)" in home


def test_agents_have_a_row_for_each_column_and_mask(made: str, month: Site) -> None:
    reads = month.ask("agent-reads", {"since": "2026-09-20T00:00:00Z"}).dicts()
    words = {"CLEAR": "unmasked", "MASKED": "masked", None: ""}
    ids: dict[tuple[str | None, ...], set[str | None]] = {}
    for read in reads:
        key = read["agent_name"], read["object_name"], read["column_name"], words[read["mask"]]
        ids.setdefault(key, set()).add(read["query_id"])
    shown = rows(made, "Reads by software agents")
    assert {tuple(row[:4]): int(row[4]) for row in shown} == {key: len(each) for key, each in ids.items()}
    clear = {key[1:3] for key in ids if key[3] == "unmasked"}
    assert len(clear) > 1
    assert f"<b>{len(clear)}</b> columns read by agents without a mask" in made


def test_gaps_are_of_the_tags_that_the_settings_name(made: str, month_graph: Path, tmp_path: Path) -> None:
    title = "Sensitive columns without a policy"
    assert rows(made, title) == []
    assert "sets such a tag on what no policy covers at the end of the record" in notes(made, title)
    (tmp_path / "settings.toml").write_text("[serve]\nsensitive_tags = 'owner'\n")
    out = str(tmp_path / "report.html")
    assert cli.main(["report", str(month_graph), "--out", out, "--config", str(tmp_path / "settings.toml")]) == 0
    text = (tmp_path / "report.html").read_text("utf-8")
    assert [row[2] for row in rows(text, title)] == ["GOVERNANCE.TAGS.OWNER = crm-team"]
    assert "From 2026-09-01 to 2026-09-30" in text, "30 days before the last query are before the first one"


def test_periods_begin_with_a_day(tmp_path: Path) -> None:
    """EARLY read before the hour of the last query, 30 days before it; later readers have the mask."""
    table = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": [{"columnName": "C"}]}
    mask = {"policies": [{"policyName": "P.S.M", "policyId": 9, "policyKind": "MASKING_POLICY"}]}
    rows = [
        {
            "query_id": user,
            "query_start_time": f"2026-10-{time}:00:00 +0000",
            "user_name": user,
            "direct_objects_accessed": [table],
            "base_objects_accessed": [table],
            "policies_referenced": [{**table, "columns": [{"columnName": "C", **mask}]}] if masked else [],
        }
        for user, time, masked in (("EARLY", "01 07", False), ("BEN", "02 10", True), ("CLEO", "31 15", True))
    ]
    given, out = exports.ndjson(rows, tmp_path / "rows.ndjson"), tmp_path / "r.html"
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    assert cli.main(["report", str(tmp_path / "out"), "--out", str(out)]) == 0
    text = out.read_text("utf-8")
    assert "From 2026-10-01 to 2026-10-31" in text
    assert "EARLY" in Page(part(text, "Unmasked reads")).text
    assert cli.main(["report", str(tmp_path / "out"), "--out", str(out), "--since", "2026-10-01T08:00:00Z"]) == 0
    told = Page(part(out.read_text("utf-8"), "Unmasked reads")).text
    assert "No row from 2026-10-01 08:00:00 to 2026-10-31 shows one" in told
    with sited(tmp_path / "out") as site:
        home = unescape(server.make(site, "127.0.0.1").test_client().get("/").text)
    assert {"2026-10-24T00%3A00%3A00Z", "2026-10-17T00%3A00%3A00Z"} <= set(re.findall(r"since=([\w%.-]+)", home))


@pytest.mark.parametrize(("reads", "queries"), [("full", "114"), ("daily", "0")])
def test_calls_that_are_added_up_are_queries_of_the_record(reads: str, queries: str, tmp_path: Path) -> None:
    """Reads by day are not: how many queries they are is not known, and a note says so."""
    told = [calls(f"2026-09-0{day}T23:58", "APP", f"h{day}", number, [thing(1, "D.S.T", "A")])
            for day, number in ((1, 40), (2, 74))]  # fmt: skip
    given = ["--aggregate", str(exports.ndjson(told, tmp_path / "calls.ndjson"))]
    assert exports.export([], tmp_path / "out", *given, "--outputs", "graph", "--reads", reads) == 0
    assert cli.main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "report.html")]) == 0
    text = (tmp_path / "report.html").read_text("utf-8")
    assert f"The record has {queries} queries of 1 user from" in text
    assert ("queries that only read are not among the queries" in text) == (reads == "daily")


def test_a_report_on_the_last_day_does_not_speak_of_the_whole_record(month_graph: Path, tmp_path: Path) -> None:
    """Before the last day there were unmasked reads."""
    out = tmp_path / "report.html"
    assert cli.main(["report", str(month_graph), "--out", str(out), "--since", "2026-09-30T20:00:00Z"]) == 0
    text = out.read_text("utf-8")
    assert rows(text, "Unmasked reads") == []
    told = notes(text, "Unmasked reads")
    assert "from 2026-09-01 to" not in told
    assert "No row records which tags, policies and grants came with a CLONE" in told, "what may be missing is said"


def test_names_that_are_made_to_break_out_stay_text(hostile_graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert cli.main(["report", str(hostile_graph), "--out", str(out)]) == 0
    page = Page(out.read_text("utf-8"))
    assert not page.tags & {"script", "img", "iframe", "svg", "link", "a"}
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]


def test_what_cannot_be_used(month_graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(month_graph), "--out", str(tmp_path / "no" / "r.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert cli.main(["report", str(month_graph), "--out", str(tmp_path / "r.html"), "--since", "soon"]) == 2
    assert "not a time" in capsys.readouterr().err
    assert cli.main(["report", str(month_graph), "--out", str(tmp_path / "r.html"), "--since", "2027-01-01"]) == 2
    assert "--since 2027-01-01: the record ends at 2026-09-30T" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
