"""Names for DataHub: they are valid in its URNs, and the same as those of its Snowflake source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.backends import spelling
from exporter.backends.event import without_datasets
from exporter.backends.spelling import AS_EXPORTED, Spelling
from tests import exports, golden
from tests.backends.hostile import SPACE, Hostile, folder, run
from tests.backends.pushing import kept, push

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("alone")
Json = dict[str, Any]
DATAHUB: Final = Spelling(lower=True, urns=True)
MONTH: Final = golden.EXAMPLES / "company-month"


def jobs(event: Json) -> Iterator[tuple[str, str]]:
    """The jobs that an event names: its own, its parent's, its root's."""
    parent = event["run"].get("facets", {}).get("parent")
    for job in [event["job"], *([parent["job"], parent["root"]["job"]] if parent else [])]:
        yield job["namespace"], job["name"]


def datasets(event: Json) -> Iterator[tuple[str, str]]:
    for one in [*event.get("inputs", ()), *event.get("outputs", ())]:
        yield one["namespace"], one["name"]


def is_urn_of(kind: str, *parts: str) -> bool:
    """Whether DataHub reads a URN as it was meant (UrnValidationUtil): no part holds what parts them, 512 bytes."""
    urn = f"urn:li:{kind}:({','.join(parts)})"
    return not any(sign in part for part in parts for sign in ",()\u241f") and len(quote_plus(urn, safe="*")) <= 512


def is_job(namespace: str, name: str) -> bool:
    return name.partition(".")[0] == spelling.FLOW and is_urn_of("dataJob", "snowflake", spelling.FLOW, namespace, name)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    out = tmp_path_factory.mktemp("month") / "out"
    rows, history = MONTH / "access_history.ndjson", MONTH / "query_history.csv"
    assert exports.export([rows], out, "--query-history", str(history), "--outputs", "events") == 0
    return [event for event in map(json.loads, exports.events(out)) if "run" in event]


def test_every_name_of_the_example_is_a_urn(month: list[Json]) -> None:
    before = {job for event in month for job in jobs(event)}
    assert sum(not is_urn_of("dataJob", name) for _, name in before) > 1, "names that DataHub cannot read as they are"
    after = [DATAHUB.spelled(event) for event in month]
    names = {job for event in after for job in jobs(event)}
    assert len(names) == len(before)
    assert [name for name in names if not is_job(*name)] == []
    assert {name for event in after for _, name in jobs(event)} == {event["job"]["name"] for event in after}
    objects = {name for event in after for space, name in datasets(event) if space.startswith("snowflake:")}
    assert len(objects) > 20
    assert [name for name in objects if name != name.lower() or '"' in name] == []
    assert [DATAHUB.unfit(event) for event in month if DATAHUB.unfit(event)] == []


names = st.text(st.sampled_from("aB (),.%~\u241f\u00e9\U0001f996"), min_size=1, max_size=400)


@given(names, names)
def test_jobs_of_any_name_are_urns_and_stay_apart(one: str, other: str) -> None:
    hashed = [f"write {name} [{number:010x}]" for number, name in enumerate((one, other))]
    for names_given in (hashed, [f"write {name}" for name in sorted({one, other})]):
        spelled = [spelling.job_name("snowflake://ACME-PROD", name) for name in names_given]
        assert all(is_job("snowflake://ACME-PROD", name) for name in spelled)
        assert len(set(spelled)) == len(names_given)


def test_a_name_that_fits_is_only_put_into_the_flow() -> None:
    assert spelling.job_name("ns", "write DB.S.T [0f1e2d3c4b]") == "access_history.write DB.S.T [0f1e2d3c4b]"
    assert spelling.job_name("ns", "call F(A, B) [0f1e2d3c4b]") == "access_history.call F[A; B] [0f1e2d3c4b]"
    assert spelling.job_name("ns", "read DB.S.T") == "access_history.read DB.S.T"


def test_a_name_without_a_hash_gets_one_where_it_would_look_like_another() -> None:
    one, other = "call DB.S.F(A NUMBER)", "call DB.S.F[A NUMBER]"
    assert spelling.job_name("ns", one).startswith("access_history.call DB.S.F[A NUMBER] [")
    assert spelling.job_name("ns", other) == f"access_history.{other}"


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("DB.S.T", "db.s.t"),
        ('DB.S."MixedCase"', "db.s.mixedcase"),
        ('"my-db".S."a.b"', "my-db.s.a.b"),
        ('DB.S."say ""hi"""', 'db.s.say "hi"'),
    ],
)
def test_objects_are_named_as_its_snowflake_source_names_them(name: str, spelled: str) -> None:
    told = DATAHUB.spelled(run("q", 1, reads=[name], writes=["T"])[1])
    assert (told["inputs"][0]["name"], told["outputs"][0]["name"]) == (spelled, "t")


@pytest.mark.parametrize(
    ("namespace", "name", "why"),
    [
        ("snowflake://A-B", "db.s.t", None),
        ("snowflake://A-B", "db.s.été-漢", None),
        ("snowflake://A-B", "db.s.my table", "' '"),
        ("snowflake://A-B", 'db.s.say"hi', "'\"'"),
        ("snowflake://A-B", "db.s.%t", "'%'"),
        ("snowflake://A-B", "db.s.t(1)", "'('"),
        ("snowflake://A-B", f"db.s.{'t' * 500}", "too long"),
        ("s3://bucket", "a/b.csv", None),
        ("s3://bucket", "a b.csv", "' '"),
        ("s3://bucket", "a#b.csv", "'#'"),
        ("s3://bucket", "a,b.csv", "','"),
        ("file", "/home/a b.csv", None),
    ],
)
def test_names_that_no_urn_or_uri_can_hold(namespace: str, name: str, why: str | None) -> None:
    found = spelling.unfit(namespace, name)
    assert (found is None) if why is None else (found is not None and why in found)


def written(columns: dict[str, list[tuple[str, str]]]) -> Json:
    """A run that writes columns, each from columns of datasets."""
    event = run("q", 1, reads=sorted({name for each in columns.values() for name, _ in each}), writes=["T"])[1]
    fields = {
        column: {"inputFields": [{"namespace": SPACE, "name": name, "field": field} for name, field in sources]}
        for column, sources in columns.items()
    }
    facets = event["outputs"][0].setdefault("facets", {})
    facets["columnLineage"] = {"fields": fields}
    facets["schema"] = {"fields": [{"name": column, "type": "UNKNOWN"} for column in columns]}
    facets["tags"] = {"tags": [{"key": "k", "value": "v", "field": column} for column in columns]}
    facets["lifecycleStateChange"] = {"previousIdentifier": {"namespace": SPACE, "name": "OLD"}}
    return event


def test_columns_are_spelled_too_and_two_that_become_one_have_the_sources_of_both() -> None:
    facets = DATAHUB.spelled(written({"A": [("R", "X")], "a": [("S", "Y")], "B": [("S", "Y")]}))["outputs"][0]["facets"]
    sources = {
        column: [(one["name"], one["field"]) for one in told["inputFields"]]
        for column, told in facets["columnLineage"]["fields"].items()
    }
    assert sources == {"a": [("r", "x"), ("s", "y")], "b": [("s", "y")]}
    assert [one["name"] for one in facets["schema"]["fields"]] == ["a", "b"]
    assert [one["field"] for one in facets["tags"]["tags"]] == ["a", "a", "b"]
    assert facets["lifecycleStateChange"]["previousIdentifier"]["name"] == "old"


def test_nothing_is_changed_where_names_are_kept() -> None:
    event = written({"A": [("R", "X")]})
    assert AS_EXPORTED.spelled(event) is event
    assert Spelling(urns=True).spelled(event)["outputs"][0]["facets"] == event["outputs"][0]["facets"]


def test_a_dataset_that_cannot_be_is_left_out_with_its_columns() -> None:
    event = written({"A": [("R", "X"), ('"my table"', "Y")], "B": [('"my table"', "Y")]})
    told = without_datasets(event, DATAHUB.unfit(event))
    assert [one["name"] for one in told["inputs"]] == ["R"]
    fields = told["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {column: [one["name"] for one in of["inputFields"]] for column, of in fields.items()} == {"A": ["R"]}


def test_a_push_reports_what_is_left_out_before_it_sends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = folder(tmp_path / "out", run("q", 1, reads=["R", '"my table"'], writes=["T"]))
    with Hostile() as server:
        code, counts, said = push(where, server.url, capsys, "--profile", "datahub")
    assert (code, counts["delivered"], counts["set_aside"]) == (0, 2, 0)
    assert [one["name"] for event in server.taken for one in event.get("inputs", ())] == ["r"]
    assert "1 dataset left out of the events (profile datahub)" in said.splitlines()[0]
    assert "\"my table\": its name has ' '" in said.splitlines()[0]
    assert {one["left_away"][0] for one in kept(where, "reduced.ndjson")} == {
        "the dataset \"my table\": its name has ' ', which a URI cannot have"
    }


@pytest.mark.parametrize(
    ("options", "config", "name"),
    [
        (["--profile", "datahub"], "", "t"),
        (["--profile", "datahub", "--letter-case", "keep"], "", "T"),
        (["--profile", "datahub"], 'letter_case = "keep"', "T"),
        (["--profile", "any"], "", "T"),
        (["--profile", "any", "--letter-case", "lower"], "", "t"),
        (["--letter-case", "keep"], 'letter_case = "lower"', "T"),
    ],
)
def test_the_letter_case_is_the_profiles_unless_told_otherwise(
    options: list[str], config: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(f"[push]\n{config}\n", encoding="utf-8")
    where = folder(tmp_path / "out", run("q", 1, writes=["T"]))
    with Hostile() as server:
        assert push(where, server.url, capsys, *options, "--config", str(tmp_path / "s.toml"))[0] == 0
    assert {event["outputs"][0]["name"] for event in server.taken if event.get("outputs")} == {name}
