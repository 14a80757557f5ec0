"""What a backend refuses is reported before sending, and events that are too large are split into parts that add up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.backends.fit import Fit
from exporter.backends.index import Item
from exporter.backends.profiles import PROFILES, BackendProfile, leaves_out, problems
from exporter.cli import main
from tests import golden
from tests.backends.hostile import SPACE, Hostile, dataset, folder, run
from tests.backends.pushing import counted, kept, push

Json = dict[str, Any]
ITEM: Final = Item(0, 0, 0, "", is_run=True, runs=None, first=None, last=None)


def line(event: Json) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()


def found(event: Json, name: str) -> list[str]:
    return problems(event, line(event), PROFILES[name])


def end(**told: Any) -> Json:
    return run("q", 1, **told)[1]


def with_namespace(space: str) -> Json:
    event = end(reads=["S"], writes=["T"])
    event["inputs"][0]["namespace"] = space
    return event


def with_unlisted() -> Json:
    event = end(reads=["S", "R"], writes=["T"])
    return {**event, "inputs": event["inputs"][:1]}


REFUSED: Final = [
    ("marquez", with_namespace("s3://a b"), "'s3://a b' has characters"),
    ("marquez", with_namespace("abfss://é"), "openlineage.namespaces"),
    ("marquez", with_namespace("s" * 1025), "or too many"),
    ("marquez", end(writes=["a\0b"]), "NUL"),
    ("marquez", dataset("T", ["c" * 256]), "256 characters, more than 255"),
    ("dataplex", end(reads=["n" * (4000 - len(SPACE))], writes=["T"]), "4,001 characters, more than 4,000"),
    ("snowflake", with_unlisted(), "R is the source of a column but no input"),
]
TAKEN: Final = [
    ("marquez", with_namespace("wasbs://box@acc.dfs.core.windows.net")),
    ("marquez", with_namespace("s" * 1024)),
    ("marquez", end(writes=["a\\u0000b"])),
    ("marquez", dataset("T", ["c" * 255])),
    ("marquez", end(writes=["é 'n' \n"])),
    ("dataplex", end(reads=["n" * (3999 - len(SPACE))], writes=["T"])),
    ("snowflake", end(reads=["S"], writes=["T"])),
    ("any", with_namespace("s3://a b")),
]


@pytest.mark.parametrize(("name", "event", "why"), REFUSED)
def test_refused(name: str, event: Json, why: str) -> None:
    (reason,) = found(event, name)
    assert why in reason
    assert found(event, "any") == []


@pytest.mark.parametrize(("name", "event"), TAKEN)
def test_taken(name: str, event: Json) -> None:
    assert found(event, name) == []


def test_a_key_that_is_given_twice() -> None:
    twice = b'{"run": {"runId": "r"}, "job": {"namespace": "n", "name": "j", "name": "k"}}'
    assert problems(json.loads(twice), twice, PROFILES["datahub"]) == ["an object has the key 'name' twice"]


BOTH: Final = {"reads": ["S"], "writes": ["T"]}


@pytest.mark.parametrize(
    ("name", "event", "what"),
    [
        ("snowflake", dataset("T"), "events of datasets"),
        ("snowflake", run("q", 1)[0], "START events"),
        ("snowflake", end(reads=["S"]), "runs that do not both read and write"),
        ("snowflake", end(**BOTH), None),
        ("openmetadata", end(writes=["T"]), "runs that do not both read and write"),
        ("openmetadata", end(**BOTH), None),
        ("datazone", dataset("T"), "events of datasets"),
        ("datazone", run("q", 1)[0], None),
        ("dataplex", dataset("T"), "events of datasets"),
        ("datahub", dataset("T"), "events of datasets"),
        ("marquez", dataset("T"), None),
        ("marquez", end(reads=["S"]), None),
        ("any", dataset("T"), None),
    ],
)
def test_left_out(name: str, event: Json, what: str | None) -> None:
    assert leaves_out(event, PROFILES[name]) == what


def test_every_profile_has_a_page_and_no_other() -> None:
    pages = {page.stem for page in (golden.ROOT / "docs" / "backends").glob("*.md")}
    own, profiles = pages - {"atlan", "egeria", "kafka", "file", "index"}, set(PROFILES) - {"any"}
    assert profiles - own == set(), "write a page docs/backends/NAME.md for each of these"
    assert own - profiles == set(), "pages in docs/backends without a profile"


@pytest.mark.parametrize("page", sorted((golden.ROOT / "docs" / "backends").glob("*.md")), ids=lambda page: page.stem)
def test_every_page_says_what_it_was_tried_with(page: Path) -> None:
    """A version, or that it was not."""
    _, title, told = page.read_text(encoding="utf-8").partition("\n## Tried\n")
    assert title, f"give {page.name} a section Tried, which says with what version it was tried, or that it was not"
    assert re.search(r"[Nn]ot (tried|with a running)|\d+\.\d+", told)


# --- splitting --------------------------------------------------------------------------------------------------------


def edges(events: list[Json]) -> set[tuple[str, str]]:
    return {(i["name"], o["name"]) for event in events for i in event["inputs"] for o in event["outputs"]}


def columns(events: list[Json]) -> set[tuple[str, str, str, str]]:
    told = [
        (source["name"], source["field"], output["name"], column)
        for event in events
        for output in event["outputs"]
        for column, field in output["facets"].get("columnLineage", {}).get("fields", {}).items()
        for source in field["inputFields"]
    ]
    assert len(told) == len(set(told)), "an edge goes out once"
    return set(told)


def wide(inputs: int, outputs: int, fields: int) -> Json:
    """Every output's every column comes from every input."""
    event = end(reads=[f"S{n}" for n in range(inputs)], writes=[f"T{n}" for n in range(outputs)])
    for output in event["outputs"]:
        sources = [{"namespace": SPACE, "name": one["name"], "field": "A"} for one in event["inputs"]]
        told = {f"C{n}": {"inputFields": sources} for n in range(fields)}
        lineage = {f"C{n}": {"inputs": [{"type": "DATASET", **one} for one in sources]} for n in range(fields)}
        datasets = [{"type": "DATASET", "namespace": SPACE, "name": one["name"]} for one in event["inputs"]]
        output["facets"] = {"columnLineage": {"fields": told}, "lineage": {"inputs": datasets, "fields": lineage}}
    return event


def parts(event: Json, rules: BackendProfile) -> list[Json]:
    fitted = Fit(rules).fit(event, line(event), ITEM)
    assert fitted.refused is None
    assert fitted.lost == ()
    return [json.loads(body) for body in fitted.bodies]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(4_000, 20_000), st.integers(1, 10))
def test_parts_are_small_enough_and_add_up(inputs: int, outputs: int, fields: int, size: int, links: int) -> None:
    event = wide(inputs, outputs, fields)
    split = parts(event, BackendProfile("p", max_bytes=size, max_links=links))
    assert all(len(line(one)) <= size * 1.2 for one in split)
    assert all(len(one["inputs"]) * len(one["outputs"]) <= links for one in split)
    assert edges(split) == edges([event])
    assert columns(split) == columns([event])
    assert all((one["run"], one["job"], one["eventType"]) == (event["run"], event["job"], "COMPLETE") for one in split)
    for one in split:
        listed = {source["name"] for source in one["inputs"]}
        assert {source for source, *_ in columns([one])} <= listed
        for output in one["outputs"]:
            assert {source["name"] for source in output["facets"]["lineage"]["inputs"]} == listed


def test_a_small_event_is_sent_unchanged() -> None:
    event = wide(2, 2, 2)
    assert Fit(PROFILES["dataplex"]).fit(event, line(event), ITEM).bodies == (line(event),)


def test_the_run_events_of_the_example_are_within_the_limits_of_dataplex(tmp_path: Path) -> None:
    """Google's page "Integrate with OpenLineage": 5 MB, names of 4,000 characters, links in groups of 100."""
    rows = Path(__file__).parents[2] / "examples" / "company-month" / "access_history.ndjson"
    assert main(["export", str(rows), "--engine", "local", "--outputs", "events", "--out", str(tmp_path / "out")]) == 0
    lines = [one for file in (tmp_path / "out" / "events").rglob("*.ndjson") for one in file.read_bytes().splitlines()]
    events = [(one, event) for one in lines if "run" in (event := json.loads(one))]
    assert len(events) > 500
    for one, event in events:
        assert problems(event, one, PROFILES["dataplex"]) == []
        assert len(one) <= 5_000_000
        assert len(event.get("inputs") or ()) * len(event.get("outputs") or ()) <= 100
        names = [
            f"{each['namespace']}:{each['name']}" for key in ("inputs", "outputs") for each in event.get(key) or ()
        ]
        assert max(map(len, names), default=0) <= 4_000


def test_an_event_that_cannot_be_split_loses_facets_and_records_them() -> None:
    event = end(**BOTH)
    event["run"]["facets"]["accessHistory_query"] = {"text": "x" * 3_000}
    event["run"]["facets"]["accessHistory_joins"] = {"text": "x" * 30}
    fitted = Fit(BackendProfile("p", max_bytes=3_000)).fit(event, line(event), ITEM)
    assert fitted.lost == ("the facet accessHistory_query",)
    (body,) = fitted.bodies
    assert set(json.loads(body)["run"]["facets"]) == {"externalQuery", "accessHistory_joins"}


def test_what_cannot_be_made_small_is_refused() -> None:
    event = end(writes=["T" * 5_000])
    fitted = Fit(BackendProfile("p", max_bytes=3_000)).fit(event, line(event), ITEM)
    assert fitted.bodies == ()
    assert re.search(r"cannot be made small enough: 1?\d,\d+ bytes", fitted.refused or "")


# --- in a push --------------------------------------------------------------------------------------------------------

pytestmark = pytest.mark.usefixtures("alone")


def test_a_push_by_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = wide(60, 4, 3)
    events = [
        dataset("T"),
        *run("r", 1, reads=["S"]),
        run("q", 2)[0],
        large,
        *run("n", 3, reads=["n" * 4001], writes=["T"]),
    ]
    where = folder(tmp_path / "out", events)
    with Hostile() as server:
        code, counts, said = push(where, server.url, capsys, "--profile", "dataplex")
    assert (code, counts) == (3, counted(delivered=5, set_aside=1))
    assert "1 events of datasets are not sent (profile dataplex)" in said
    split = [one for one in server.taken if len(one["inputs"]) > 1]
    assert len(split) == 4
    assert edges(split) == edges([large])
    (aside,) = kept(where)
    assert aside["answer"].startswith("not sent: the name")
    assert aside["tries"] == 0


def test_removed_facets_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    event = end(**BOTH)
    event["run"]["facets"]["accessHistory_query"] = {"text": "x" * 400_000}
    where = folder(tmp_path / "out", [event])
    with Hostile() as server:
        code, counts, said = push(where, server.url, capsys, "--profile", "datazone")
    assert (code, counts) == (0, counted(delivered=1))
    assert "1 event was sent without some parts" in said
    (told,) = kept(where, "reduced.ndjson")
    assert told["left_away"] == ["the facet accessHistory_query"]
    assert told["run"] == event["run"]["runId"]


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [
        ("openapi/openlineage/api/v1/lineage", "datahub"),
        ("api/v1/openlineage/lineage", "openmetadata"),
        ("api/v2/lineage/external-lineage", "snowflake"),
        ("api/v1/lineage", "any"),
    ],
)
def test_an_address_gives_its_backend_away(
    endpoint: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = folder(tmp_path / "out", [dataset("T"), end(**BOTH)])
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", endpoint)
    with Hostile() as server:
        assert push(where, server.url, capsys).counts["events"] == (2 if name == "any" else 1)
        assert server.asked[0].path == f"/{endpoint}"
    (summary,) = (where / "push").rglob("summary.json")
    assert json.loads(summary.read_text("utf-8"))["profile"] == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[push]\nprofile = "marques"', "there is no profile marques"),
        ("[push]\nrate = 0", "push.rate must be more than 0"),
        ("[push]\nconcurrency = 0", "push.concurrency must be from 1"),
        ('[push]\nconcurrency = "8"', "push.concurrency must be a whole number, but is '8'"),
        ("[push]\nrate = true", "push.rate must be a number"),
        ('[push]\nruns = "newest"', "push.runs must be all or latest"),
        ("[push]\nprofil = 1", "did you mean push.profile?"),
        ("push = 1", "push must be a table"),
    ],
)
def test_wrong_settings(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.toml").write_text(text)
    assert main(["push", "nowhere", "--config", str(tmp_path / "settings.toml")]) == 2
    assert words in capsys.readouterr().err


def test_settings_of_a_file_and_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.toml").write_text(
        'account = "A-B"\n[push]\nprofile = "snowflake"\nruns = "latest"\nrate = 500'
    )
    where = folder(tmp_path / "out", [dataset("T"), *run("q", 1, **BOTH)])
    with Hostile() as server:
        config = ("--config", str(tmp_path / "settings.toml"))
        assert push(where, server.url, capsys, *config).counts["events"] == 1
        assert push(where, server.url, capsys, *config, "--profile", "any").counts["events"] == 3
