"""``exporter push --verify``: what is taken away from a Marquez after the push is found and named, and nothing else.

On the fake Marquez single edges, columns and runs are taken out of its memory. On both, an event that arrives behind
the push takes something away, as another producer's would.
"""

from __future__ import annotations

import copy
import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest

from exporter.backends import attempts
from exporter.backends.verify_marquez import UNKEPT
from exporter.cli import main
from tests import exports, golden
from tests.backends import hostile
from tests.backends.hostile import SPACE, Hostile
from tests.marquez import exported, rows, standin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.marquez.api import Marquez
    from tests.marquez.kept import Dataset, Field, Job, Kept, Run

Json = dict[str, Any]
PART = 3
"""One row of so many of the company's month: they have every kind of thing that a backend can lose."""
KINDS = ("datasets", "columns", "column edges", "jobs", "job edges", "runs")
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings but a test's own, and short waits between tries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENLINEAGE_CONFIG", raising=False)
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0.01)


class Read(NamedTuple):
    """``verified``: of the one backend, empty where there is none; ``missing``: kind and what; ``said``: all words."""

    code: int
    verified: Json
    missing: set[tuple[str, str]]
    counts: Json
    said: str


def verify(folder: Path, url: str, capsys: pytest.CaptureFixture[str], *options: str) -> Read:
    """``exporter push DIR --verify --json``."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", url)
        code = main(["push", str(folder), "--verify", "--json", "--patience", "0", *options])
    printed = capsys.readouterr()
    told = json.loads(printed.out) if printed.out else {}
    (verified,) = told.pop("verified", None) or [{}]
    missing = {(one["kind"], one["what"]) for one in verified.get("listed", [])}
    return Read(code, verified, missing, told, printed.out + printed.err)


# --- the month of the company, pushed once to the fake Marquez --------------------------------------------------------


class Month(NamedTuple):
    folder: Path
    server: standin.Server
    lineage: rows.Lineage


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    where, example = tmp_path_factory.mktemp("verify"), golden.EXAMPLES / "company-month"
    told = (example / "access_history.ndjson").read_text("utf-8").splitlines()[::PART]
    given = exports.ndjson(map(json.loads, told), where / "rows.ndjson")
    options = ["--query-history", str(example / "query_history.csv"), "--account", exports.ACCOUNT]
    assert exports.export([str(given)], where / "out", *options, "--outputs", "events") == 0
    lineage = rows.read(map(json.loads, told), exports.ACCOUNT)
    with standin.started() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(where / "out")]) == 0
        yield Month(where / "out", server, lineage)


@pytest.fixture
def month(pushed: Month) -> Iterator[Month]:
    """With what it has restored afterwards."""
    before, pushed.server.kept = pushed.server.kept, copy.deepcopy(pushed.server.kept)
    yield pushed
    pushed.server.kept = before


def named(name: tuple[str, str]) -> str:
    return " ".join(name)


def test_what_arrived_is_found_and_counted_as_the_rows_have_it(
    month: Month, capsys: pytest.CaptureFixture[str]
) -> None:
    read = verify(month.folder, month.server.url, capsys)
    assert (read.code, read.missing, read.verified["known"]) == (0, set(), {})
    assert read.counts["delivered"] == 0
    statements = month.lineage.statements
    columns = {edge for one in statements.values() for edge in one.columns}
    found = read.verified["found"]
    assert found == read.verified["looked_at"]
    assert found["datasets"] == len(month.lineage.fields)
    assert found["columns"] == sum(map(len, month.lineage.fields.values()))
    assert found["column edges"] == len(columns)
    assert found["runs"] == len(statements)
    assert found["jobs"] == len(month.server.kept.jobs)


Taken = tuple[str, str, "Callable[[], Any]"]


def _everything(kept: Kept) -> list[Taken]:
    """Everything that can be taken away alone: its kind, how it is named, and how to take it away."""
    found = [one for dataset in kept.datasets.values() for one in _of_dataset(dataset)]
    found += [one for job in kept.jobs.values() for one in _of_job(job)]
    return found + [one for run in kept.runs.values() for one in _of_run(kept, run)]


def _of_dataset(dataset: Dataset) -> Iterator[Taken]:
    name = named(dataset.names[0])
    for key, (read, _) in dataset.edges.items():
        what = f"{named(read.names[0])} {key[1].name} -> {name} {key[0].name}"
        yield "column edges", what, partial(dataset.edges.pop, key)
    assert dataset.current
    for column in dataset.current.fields:
        yield "columns", f"{name} {column.name}", partial(_without, dataset, column)


def _without(dataset: Dataset, column: Field) -> None:
    assert dataset.current
    dataset.current.fields = [one for one in dataset.current.fields if one is not column]


def _of_job(job: Job) -> Iterator[Taken]:
    """An edge is taken from the graph or from the job, which shows what its latest run has where it has none."""
    name = named((job.namespace, job.name))
    for side in ("inputs", "outputs"):
        for one in job.linked[side]:
            ends = (named(one.names[0]), name)
            what = " -> ".join(ends if side == "inputs" else ends[::-1])
            yield "job edges", what, partial(job.linked[side].remove, one)
            if len(job.shown[side]) > 1:
                yield "job edges", what, partial(job.shown[side].remove, one)


def _of_run(kept: Kept, run: Run) -> Iterator[Taken]:
    yield "runs", run.run_id, partial(kept.runs.pop, run.run_id)
    yield "runs", run.run_id, partial(setattr, run, "state", "RUNNING")


@pytest.mark.parametrize("kind", ["column edges", "columns", "job edges", "runs"])
def test_one_thing_that_is_taken_away_is_named_alone(
    kind: str, month: Month, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next test does it with everything."""
    every = [one for one in _everything(month.server.kept) if one[0] == kind]
    _, what, take = every[len(every) // 2]
    take()
    read = verify(month.folder, month.server.url, capsys)
    assert (read.code, read.missing) == (1, {(kind, what)})
    assert read.verified["missing"] == {one: int(one == kind) for one in KINDS}
    assert read.verified["looked_at"][kind] == read.verified["found"][kind] + 1


def test_everything_that_is_taken_away_is_named(month: Month, capsys: pytest.CaptureFixture[str]) -> None:
    taken = set()
    for kind, what, take in _everything(month.server.kept)[::7]:
        if (kind, what) not in taken:
            take()
            taken.add((kind, what))
    read = verify(month.folder, month.server.url, capsys)
    assert (read.code, read.missing) == (1, taken)
    assert {kind for kind, _ in taken} == {"column edges", "columns", "job edges", "runs"}


@pytest.mark.parametrize("kind", ["datasets", "jobs"])
def test_a_dataset_or_job_that_is_gone_is_named_with_all_that_it_had(
    kind: str, month: Month, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = month.server.kept
    name = (f"snowflake://{exports.ACCOUNT}", "MART.SALES.FCT_ORDERS")
    if kind == "jobs":
        name = next(key for key, job in kept.jobs.items() if job.linked["outputs"])
    gone: Any = kept.datasets.pop(name) if kind == "datasets" else kept.jobs.pop(name)
    kinds = {kind}
    if kind == "datasets":
        own = {named(name) + " " + column.name for column in gone.current.fields}
        kinds |= {"columns", "column edges"}
    else:
        own = {named(one.names[0]) + " -> " + named(name) for one in gone.linked["inputs"]}
        kinds |= {"job edges"}
    read = verify(month.folder, month.server.url, capsys)
    assert read.code == 1
    assert (kind, named(name)) in read.missing
    assert own <= {what for _, what in read.missing}
    assert {one for one, _ in read.missing} == kinds


def test_a_sample_is_the_same_each_time_and_says_of_how_many(month: Month, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Json] = []
    for _ in range(2):
        read = verify(month.folder, month.server.url, capsys, "--sample", "9")
        asked.append(read.verified | {"seconds": 0})
        assert [read.verified["looked_at"][kind] for kind in ("datasets", "jobs", "runs")] == [9, 9, 9]
        assert read.verified["sent"]["runs"] == len(month.lineage.statements)
    assert asked[0] == asked[1]
    for kind, what, take in _everything(month.server.kept):
        if kind == "runs":
            take()
            month.server.kept.runs.pop(what, None)
    read = verify(month.folder, month.server.url, capsys, "--sample", "9")
    assert read.verified["missing"]["runs"] == 9
    few = read.missing
    assert few < verify(month.folder, month.server.url, capsys, "--sample", "all").missing


def test_a_person_reads_the_first_twenty_and_how_many_more(month: Month, capsys: pytest.CaptureFixture[str]) -> None:
    month.server.kept.runs.clear()
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", month.server.url)
        assert main(["push", str(month.folder), "--verify", "--sample", "100"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (runs,) = (line.split() for line in lines if line.startswith("  runs "))
    assert runs == ["runs", "100", "0", "100", "of", str(len(month.lineage.statements))]
    assert sum("missing, runs: " in line for line in lines) == 20
    assert lines[-2:] == [
        "  and 80 more; --json lists all",
        f"If a backend was emptied: remove {month.folder / 'push'}, which says what was delivered, and push again",
    ]


# --- on the fake and on a real Marquez --------------------------------------------------------------------------------


@pytest.fixture
def dbt(marquez: Marquez, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, str, list[Json]]:
    """The dbt run of the examples, of an account that no Marquez knows: pushed, read back and complete."""
    account = f"VERIFY-{uuid4().hex[:12].upper()}"
    exported.dbt_run(tmp_path / "out", account)
    read = verify(tmp_path / "out", marquez.url, capsys)
    assert (read.code, read.missing, read.counts["left"]) == (0, set(), 0)
    assert read.verified["looked_at"]["column edges"] == 7
    assert verify(tmp_path / "out", marquez.url, capsys).counts["delivered"] == 0
    return tmp_path / "out", f"snowflake://{account}", list(map(json.loads, exports.events(tmp_path / "out")))


def _last_run(events: list[Json], table: str) -> Json:
    """The last event of a run that writes a table and reads others."""
    return [one for one in events if one.get("inputs") and table in [out["name"] for out in one.get("outputs") or ()]][
        -1
    ]


def test_a_later_event_with_fewer_columns(
    dbt: tuple[Path, str, list[Json]], marquez: Marquez, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, space, events = dbt
    told = next(one for one in events if one.get("dataset", {}).get("name") == "SHOP.MARTS.REVENUE")
    told = copy.deepcopy(told)
    lost = told["dataset"]["facets"]["schema"]["fields"].pop()["name"]
    assert marquez.post(told) == 201
    read = verify(folder, marquez.url, capsys)
    assert (read.code, read.missing) == (1, {("columns", f"{space} SHOP.MARTS.REVENUE {lost}")})


def test_a_later_drop(dbt: tuple[Path, str, list[Json]], marquez: Marquez, capsys: pytest.CaptureFixture[str]) -> None:
    folder, space, events = dbt
    told = copy.deepcopy(next(one for one in events if one.get("dataset", {}).get("name") == "SHOP.MARTS.REVENUE"))
    facet = {"_producer": told["producer"], "_schemaURL": "https://example.com/s", "lifecycleStateChange": "DROP"}
    told["dataset"]["facets"]["lifecycleStateChange"] = facet
    assert marquez.post(told) == 201
    read = verify(folder, marquez.url, capsys)
    assert (read.code, read.missing) == (1, {("datasets", f"{space} SHOP.MARTS.REVENUE")})
    assert "it is shown as deleted" in read.said


def test_a_later_run_of_the_job_with_fewer_inputs_and_a_run_that_begins_again(
    dbt: tuple[Path, str, list[Json]], marquez: Marquez, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, space, events = dbt
    told = copy.deepcopy(_last_run(events, "SHOP.MARTS.REVENUE"))
    begun = {**told, "eventType": "START", "inputs": [], "outputs": []}
    lost, job = told["inputs"].pop()["name"], told["job"]["name"]
    told["run"] = {"runId": str(uuid4())}
    told["inputs"].append({"namespace": space, "name": "SHOP.RAW.OTHER", "facets": {}})
    assert marquez.post(begun) == 201
    assert marquez.post(told) == 201
    read = verify(folder, marquez.url, capsys)
    expected = {("job edges", f"{space} {lost} -> {space} {job}"), ("runs", begun["run"]["runId"])}
    assert (read.code, read.missing) == (1, expected)
    assert "its state is RUNNING and not COMPLETED" in read.said


def test_what_marquez_is_known_not_to_keep_is_counted_apart(
    marquez: Marquez, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An edge from a column that no event lists, a run that never ends, a column that is named no more, and a job whose
    graph cannot be requested.
    """
    unique = uuid4().hex
    events = hostile.run(f"a{unique}", 1, reads=["S"], writes=["T"], column="UNLISTED", job="one")
    events += [hostile.dataset("U", ("A", "B"), 2), hostile.dataset("U", ("A",), 90_000)]
    events += hostile.run(f"b{unique}", 3, reads=["U"], writes=["V"], job="two")[:1]
    events += hostile.run(f"c{unique}", 4, writes=["W"], job="3 of them")
    text = json.dumps(events).replace(SPACE, f"snowflake://VERIFY-{unique.upper()}")
    folder = hostile.folder(tmp_path / "out", json.loads(text))
    read = verify(folder, marquez.url, capsys)
    assert (read.code, read.missing) == (0, set())
    assert sorted(read.verified["known"].values()) == [1, 1, 1, 1]
    for words in (
        "graph cannot be requested",
        "column edges whose source is no column",
        "has begun and not ended",
        "only earlier events name",
    ):
        assert any(words in one for one in read.verified["known"])
    assert read.verified["found"] | {"columns": 0} == {
        "datasets": 4, "columns": 0, "column edges": 0, "jobs": 3, "job edges": 3, "runs": 3,
    }  # fmt: skip


def test_a_run_that_marquez_keeps_at_its_first_job(
    marquez: Marquez, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job that it has now has its edges all the same (docs/marquez.md, "With updates")."""
    unique = uuid4().hex

    def told(job: str) -> list[Json]:
        events = [hostile.dataset("S"), *hostile.run(f"q{unique}", 1, reads=["S"], writes=["T"], job=job)]
        text = json.dumps(events).replace(SPACE, f"snowflake://VERIFY-{unique.upper()}")
        return list(json.loads(text))

    folder = hostile.folder(tmp_path / "out", told("first"))
    assert verify(folder, marquez.url, capsys).verified["known"].keys() == {UNKEPT}
    exports.ndjson(told("second"), folder / "events" / "part-00000.ndjson")
    read = verify(folder, marquez.url, capsys)
    assert (read.code, read.missing) == (0, set())
    assert read.verified["found"]["job edges"] == 2
    assert "runs with another job than when they were delivered" in read.said


# --- what cannot be read back -----------------------------------------------------------------------------------------


@pytest.fixture
def events(tmp_path: Path) -> Path:
    told = [hostile.dataset("S"), hostile.dataset("T"), *hostile.run("q", 1, reads=["S"], writes=["T"])]
    return hostile.folder(tmp_path / "out", told)


@pytest.mark.parametrize("kind", ["any", "file", "dataplex", "--profile any", "--profile datahub"])
def test_another_backend_is_refused_in_words_before_anything_is_sent(
    kind: str, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"/api/v1/namespaces": '{"namespaces": []}'} if kind == "--profile any" else {}
    with Hostile(told=told) as server:
        http: Json = {"type": "http", "url": server.url}
        file = {"type": "file", "log_file_path": "sent.ndjson", "append": True}
        (tmp_path / "openlineage.yml").write_text(json.dumps({"transport": file if kind == "file" else http}))
        options = kind.split() if kind.startswith("-") else ["--profile", kind] if kind == "dataplex" else []
        assert main(["push", str(events), "--verify", "--patience", "0", *options]) == 2
        assert server.taken == []
    assert not list(tmp_path.glob("sent*"))
    said = capsys.readouterr().err
    assert "--verify reads back from Marquez, OpenMetadata and DataHub alone" in said
    assert "Nothing was sent" in said
    assert kind != "--profile datahub" or "does not end with /openlineage/api/v1/lineage" in said


def test_one_of_several_backends_is_refused_before_any_is_sent_to(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standin.started() as server:
        parts: list[Json] = [{"type": "http", "url": server.url}, {"type": "console"}]
        (tmp_path / "openlineage.yml").write_text(json.dumps({"transport": {"type": "composite", "transports": parts}}))
        assert main(["push", str(events), "--verify", "--patience", "0"]) == 2
        assert server.posts == 0
    assert "console" in capsys.readouterr().err


@pytest.mark.parametrize("profile", [(), ("--profile", "marquez")])
@pytest.mark.parametrize("is_delivered", [False, True])
def test_a_backend_that_does_not_answer(
    profile: tuple[str, ...], events: Path, capsys: pytest.CaptureFixture[str], *, is_delivered: bool
) -> None:
    with standin.started() as server:
        if is_delivered:
            assert verify(events, server.url, capsys).code == 0
    read = verify(events, server.url, capsys, *profile)
    assert read.code == 3
    if not profile:
        assert "does not answer, so nothing was sent and nothing was read back" in read.said
    elif is_delivered:
        assert read.verified["stopped"]
        assert read.missing == set()
    else:
        assert (read.verified, read.counts["left"]) == ({}, 4)
        assert "was not read back" in read.said


def test_a_backend_that_is_started_again_meanwhile(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standin.started() as server:
        server.away = 3
        read = verify(events, server.url, capsys, "--profile", "marquez", "--concurrency", "1")
        assert (read.code, read.verified["stopped"], read.missing) == (0, None, set())
        server.away = 10_000
        read = verify(events, server.url, capsys, "--profile", "marquez")
        assert (read.code, read.missing) == (3, set())
        assert "503" in read.verified["stopped"]


def test_what_was_set_aside_is_not_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = [hostile.dataset("S"), hostile.dataset("T"), *hostile.run("q", 1, reads=["S"], writes=["T"])]
    told += hostile.run("r", 2, reads=["S"], writes=["x" * 300])
    told[-1]["outputs"][0]["facets"]["schema"] = {"fields": [{"name": "y" * 300, "type": "UNKNOWN"}]}
    folder = hostile.folder(tmp_path / "out", told)
    with standin.started() as server:
        read = verify(folder, server.url, capsys)
    assert (read.code, read.counts["set_aside"], read.missing) == (3, 1, set())
    assert read.verified["found"]["runs"] == 2
    assert [count for why, count in read.verified["known"].items() if "has begun and not ended" in why] == [1]


def test_a_token_is_used_and_never_shown(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "s3cr3t-T0ken"
    with standin.started() as server:
        auth = {"type": "api_key", "apiKey": token}
        transport = {"type": "http", "url": server.url, "auth": auth}
        (tmp_path / "openlineage.yml").write_text(json.dumps({"transport": transport}))
        assert main(["push", str(events), "--verify"]) == 0
        server.kept.datasets.clear()
        assert main(["push", str(events), "--verify"]) == 1
    printed = capsys.readouterr()
    assert token not in printed.out + printed.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dry-run", "--verify"], "--dry-run connects to nothing"),
        (["--sample", "5"], "give --verify too"),
        (["--verify", "--sample", "0"], "must be all or a number"),
        (["--verify", "--sample", "many"], "must be all or a number"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], words: str, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with standin.started() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE_URL", server.url)
        assert main(["push", str(events), *options]) == 2
        assert server.posts == 0
    assert words in capsys.readouterr().err
