"""The engines write the same lines for every order and partitioning of messages, with Spark and without."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.engines import export as run
from exporter.engines import local, on_spark, updates
from exporter.engines.local import LocalEngine
from exporter.engines.spark import SparkEngine
from exporter.graph.terms import SYNTAXES
from exporter.input import find
from exporter.input.reading import Record
from exporter.model.fact_tables import FACTS
from exporter.pipeline import rounds
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import BUCKET_END, Message, To, is_text
from exporter.pipeline.read import read
from exporter.system import files as compressed
from exporter.system.progress import NoProgress
from tests import exports, golden
from tests.ask.test_clones import drawn_history as clones
from tests.engines.test_updates import BASE, UPDATE, applied, line, over_days, triples
from tests.histories import Json, histories, random_history
from tests.input.bad_rows import BAD_NESTED_ROWS, BAD_ROWS, GOOD
from tests.odd_rows import OddRows
from tests.openlineage import loads
from tests.pipeline import test_held_back
from tests.stewards import MY, RULES, history, turtle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from exporter.pipeline.rounds import Exported, Step

JOB: Final = ExportJob("ACME-PROD", "snowflake://ACME-PROD/", catalog=True, facts=True, syntaxes=("turtle", "nquads"))
COMPRESS: Final = ("--compress", "gzip", "--reads", "daily")
ALL_OUTPUTS: Final = ("--outputs", "events,graph,catalog,facts", "--graph-format", ",".join(SYNTAXES), *COMPRESS)
SHAPES: Final = "https://w3id.org/access-history/shapes#"
ACCOUNTS: Final[tuple[Json, ...]] = (
    {},
    {"organization_name": "ORG", "account_name": "ONE", "account_locator": "XY1"},
    {"organization_name": "ORG", "account_name": "TWO"},
)
WITH_CLONES: Final = (5, 6, 8, 23, 38)
"""Seeds of histories in which something is inferred of a clone, 14 times in all; in most of the others nothing is."""
SPOILT: Final = ("own parent", "two users", "ends before it starts")


OWN_SHAPES: Final = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix my: <https://example.org/shapes#> .
my:UsersInCapitals a sh:NodeShape ;
    sh:targetClass ah:User ;
    sh:property my:UserInCapitals .
my:UserInCapitals a sh:PropertyShape ;
    sh:path ah:userName ;
    sh:pattern "^[^a-z]+$" ;
    sh:severity sh:Violation ;
    sh:message "users are written in capitals" .
my:ReadNames a sh:NodeShape ;
    sh:targetClass ah:Access ;
    sh:property my:ReadName .
my:ReadName a sh:PropertyShape ;
    sh:path ah:objectName ;
    sh:maxLength 20 ;
    sh:severity sh:Warning .
"""
AROUND: Final = turtle(
    RULES["what was copied from a tagged table is tagged"], RULES["a column that is tagged is masked"]
) + turtle(RULES["a policy that is set has a body on record"], RULES["a table has a tag"], severity="Warning")
"""Rules that look around objects: two refuse statements, two warn."""


@dataclass(frozen=True)
class Drawn:
    """Records of rows and of QUERY_HISTORY, each in a file of its own: so its place is the same in whatever order."""

    records: list[Record]

    def shuffled(self, random: Random) -> list[Record]:
        return random.sample(self.records, len(self.records))


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    """A history of several accounts; some of its statements recur, some of its queries have a line of QUERY_HISTORY,
    some are refused, some rows cannot be read.
    """
    rows = [{**row, **draw(st.sampled_from(ACCOUNTS))} for row in draw(histories())]
    rows += [
        {**rows[at], "query_id": f"{rows[at]['query_id']}-{again}", "query_start_time": f"2026-03-0{again} 09:00:00Z"}
        for at in draw(st.sets(st.integers(0, len(rows) - 1), max_size=3))
        for again in range(1, 5)
    ]
    has_history = draw(st.booleans())
    ids = sorted({row["query_id"] for row in rows})
    wrong = draw(st.dictionaries(st.sampled_from(ids), st.sampled_from(SPOILT), max_size=2))
    listed = draw(st.sets(st.sampled_from(ids))) if has_history else set()
    lines = [json.dumps(row) for row in chain.from_iterable(_spoilt(row, wrong.get(row["query_id"])) for row in rows)]
    lines += [line for line, _ in draw(st.lists(st.sampled_from(BAD_ROWS), max_size=2))]
    told = [json.dumps(_told(one, wrong.get(one))) for one in sorted(listed | {*wrong}) if has_history]
    records = [Record(f"/row-{number:03}", 0, "line", line) for number, line in enumerate(lines)]
    return Drawn(records + [Record("/history", 0, "line", line, is_history=True) for line in told])


def _spoilt(row: Json, how: str | None) -> list[Json]:
    if how == "own parent":
        return [{**row, "parent_query_id": row["query_id"]}]
    return [row, {**row, "user_name": "SOMEBODY ELSE"}] if how == "two users" else [row]


def _told(query_id: str, how: str | None) -> Json:
    year = 1999 if how == "ends before it starts" else 2998
    return {"query_id": query_id, "end_time": f"{year}-01-01 00:00:00 +0000", "role_name": "R", "rows_inserted": 3}


@settings(max_examples=30)
@given(drawn(), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_the_records_changes_no_byte(
    history: Drawn,
    random: Random,
    daily: bool,  # noqa: FBT001 - drawn
) -> None:
    job = replace(JOB, daily=daily)
    assert list(local.export_records(history.shuffled(random), job)) == list(local.export_records(history.records, job))


@settings(max_examples=20)
@given(drawn(), st.booleans())
def test_a_large_input_has_the_same_lines(history: Drawn, daily: bool) -> None:  # noqa: FBT001 - drawn
    """What is not sorted for people is made in another way: statements that recur are filled in."""
    job = replace(JOB, daily=daily, syntaxes=("ntriples", "nquads"))
    small, large = (_lines_by_output(history, replace(job, in_order=one)) for one in (True, False))
    assert small.keys() == large.keys()
    for name, lines in small.items():
        assert large[name] == lines, name


def _lines_by_output(history: Drawn, job: ExportJob) -> dict[str, Counter[bytes]]:
    lines: dict[str, Counter[bytes]] = {}
    for message in local.export_records(history.records, job):
        if not message.to.startswith(To.CATALOG):  # one document
            lines.setdefault(message.to, Counter()).update(message.body.split(b"\n"))
    return lines


class InParts(LocalEngine):
    """Messages meet as they do on Spark: in parts by the bucket of their keys, the same ones in all rounds, some of
    them empty; those that are equal but for their bodies in any order. What has no keys comes in any order.
    """

    def __init__(self, random: Random, parts: int) -> None:
        self._random = random
        self._parts = parts
        self._buckets: dict[str, int] = {}

    def shuffle(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        parts: list[list[Message]] = [[] for _ in range(self._parts)]
        for message in self._shuffled(chain.from_iterable(messages)):
            bucket = message.key.split(BUCKET_END)[0]
            parts[self._buckets.setdefault(bucket, self._random.randrange(self._parts))].append(message)
        in_order = [sorted(part, key=lambda one: one[:3]) for part in parts]
        return [one for part in in_order for one in step(part, job)]

    def together(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        return list(step(sorted(self._shuffled(chain.from_iterable(messages)), key=lambda one: one[:3]), job))

    def map(self, messages: list[Message], step: Step, job: ExportJob) -> list[Message]:
        mixed = self._shuffled(messages)
        parts = [mixed[number :: self._parts] for number in range(self._parts)]
        return [one for part in parts for one in step(part, job)]

    def write_texts(self, messages: Sequence[list[Message]], name: str) -> list[Message]:
        """What is no text loses its key, and its order."""
        every = super().write_texts(messages, name)
        return [one if is_text(one.to) else one._replace(key="", order=b"") for one in every]

    def _shuffled(self, messages: Iterable[Message]) -> list[Message]:
        every = list(messages)
        return self._random.sample(every, len(every))


def exported(engine: LocalEngine, records: list[Record], job: ExportJob) -> Exported[list[Message]]:
    return rounds.export(engine, [list(read(records, job))], job, NoProgress())


def texts(made: Exported[list[Message]]) -> Counter[tuple[str, bytes]]:
    """The lines of all outputs."""
    messages = (one for part in made.outputs for one in part if is_text(one.to))
    return Counter((one.to, line) for one in messages for line in one.body.split(b"\n") if line)


@pytest.fixture(scope="module")
def own_shapes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of shapes: one that refuses users, one that warns of what is read, and those around objects."""
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "own.ttl").write_text(OWN_SHAPES, encoding="utf-8")
    (folder / "around.ttl").write_text(AROUND, encoding="utf-8")
    return str(folder)


@settings(max_examples=30)
@given(drawn(), st.randoms(use_true_random=False), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
def test_parts_change_no_line(
    own_shapes: str,
    history: Drawn,
    random: Random,
    parts: int,
    in_order: bool,  # noqa: FBT001 - drawn
    has_shapes: bool,  # noqa: FBT001 - drawn
    daily: bool,  # noqa: FBT001 - drawn
) -> None:
    """Neither where texts are put in an order, nor where statements that recur are rendered once."""
    job = replace(JOB, shapes=(own_shapes,) if has_shapes else (), daily=daily)
    whole = exported(LocalEngine(), history.records, job)
    made = exported(InParts(random, parts), history.shuffled(random), replace(job, in_order=in_order))
    assert texts(made) == texts(whole)
    assert made.counts == whole.counts
    assert made.refused == whole.refused
    assert _results(made) == _results(whole)


def _results(made: Exported[list[Message]]) -> list[bytes]:
    return sorted(one.body for part in made.results for one in part if one.to == To.RESULT)


def test_random_rows_are_held_back_and_quarantined() -> None:
    """Else the tests above would show less than they say."""
    rows = [*random_history(1, 12), *test_held_back.ROWS]
    lines = [json.dumps(row) for row in rows] + [BAD_ROWS[0][0]]
    records = [Record(f"/row-{number:03}", 0, "line", line) for number, line in enumerate(lines)]
    counts = exported(LocalEngine(), records, JOB).counts.numbers
    assert counts["rows_of_quarantined"] > 0
    assert counts["unreadable"] == 1
    assert counts["exported"] > 12


def test_the_local_engine_loads_nothing_of_spark_or_of_the_validator(tmp_path: Path) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    program = "import sys; from exporter.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    given_ = ["export", str(rows), "--account", "A", "--engine", "local", "--out", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", program, *given_], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "exporter.engines.local" in loaded
    assert {"pyspark", "py4j", "pandas", "pyarrow", "rdflib", "pyshacl"}.isdisjoint(loaded)


# --- whole exports, with Spark and without ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """``files``: lines of each; ``history``: of QUERY_HISTORY; ``refusing``: the shapes that refuse something."""

    files: list[list[str]]
    history: list[Json]
    options: tuple[str, ...] = ()
    refusing: frozenset[str] = frozenset()


def _lines(rows: Iterable[Json]) -> list[str]:
    return [json.dumps(row) for row in rows]


def _of(name: str, rows: Iterable[Json]) -> list[Json]:
    """The rows in an account of their own."""
    return [{**row, "organization_name": "TEST", "account_name": name} for row in rows]


def _everything() -> Case:
    """Histories, clones, queries that are held back, rows that cannot be read, and odd rows with those of a load, whose
    helpers take rounds of their own.
    """
    rows = [row for seed in (3, 5, 8) for row in _of(f"random-{seed}", random_history(seed, 10))]
    ids = sorted({row["query_id"] for row in rows})
    rows += chain(_of("held-back", test_held_back.ROWS), *(clones(seed) for seed in WITH_CLONES))
    bad = [line for line, _ in BAD_ROWS + BAD_NESTED_ROWS]
    lines = [line for both in zip_longest(_lines(rows), bad, fillvalue="") for line in both]
    draws, number = OddRows(Random(8), 80), 150
    odd = _lines([*draws.rows(number), *draws.load()])
    told = [*(_told(one, None) for one in ids[::2]), *test_held_back.HISTORY]
    told += [draws.line() for _ in range(number // 2)]
    files = [lines[::2], lines[1::2], *(odd[start::3] for start in range(3))]
    return Case(files, told, ALL_OUTPUTS, frozenset({f"{SHAPES}QueryNotItsOwnParent"}))


def _own_shapes() -> Case:
    """A user who is refused, and rules around objects."""
    rows = [
        {**row, "user_name": "root"} if number % 5 == 0 else row for number, row in enumerate(random_history(6, 15))
    ]
    refusing = frozenset(
        {"https://example.org/shapes#UserInCapitals", f"{MY}CopyIsTagged", f"{MY}TaggedColumnIsMasked"}
    )
    around = [{**row, "user_name": "ETL"} for row in history(Random(4), 40)]
    lines = _lines([*_of("things", rows), *_of("around", around)])
    return Case([lines], [], ("--shapes", "OWN", "--shapes", "AROUND"), refusing)


CASES: Final[dict[str, Callable[[], Case]]] = {
    "everything, all outputs": _everything,
    "own shapes": _own_shapes,
}


@pytest.fixture
def in_rounds(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spark takes every input for a large one, reads it in blocks of 64 KB, and has two partitions. More tasks take
    longer, and tell nothing that ``test_parts_change_no_line`` does not, which has up to four parts.
    """
    monkeypatch.setattr(find, "SMALL", 0)
    monkeypatch.setattr(on_spark, "_partitions", lambda *_: 2)
    blocks = {"spark.sql.files.maxPartitionBytes": "65536", "spark.sql.files.openCostInBytes": "0"}
    before = {name: spark.conf.get(name) for name in blocks}
    for name, value in blocks.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("in_rounds")
@pytest.mark.parametrize("name", CASES)
def test_spark_in_rounds_gives_what_the_local_engine_gives(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    codes, outs = _by_both(case, tmp_path)
    assert codes == [1 if case.refusing else 0] * 2
    report = exports.report(outs[0])
    assert report["violations"].keys() == case.refusing
    assert report["exported"] > 0
    assert (report["quarantined"] > 0) == bool(case.refusing)
    for what in SAME:
        assert what(outs[0]) == what(outs[1]), what.__name__


def _by_both(case: Case, folder: Path) -> tuple[list[int], list[Path]]:
    inputs, options = written(case, folder)
    outs = [folder / "spark", folder / "local"]
    return [exports.export(inputs, out, *options, engine=out.name) for out in outs], outs


def written(case: Case, folder: Path) -> tuple[list[Path], list[str]]:
    """The files of a case, and its options."""
    (folder / "in").mkdir()
    (folder / "shapes").mkdir()
    (folder / "shapes" / "own.ttl").write_text(OWN_SHAPES, encoding="utf-8")
    (folder / "around.ttl").write_text(AROUND, encoding="utf-8")
    for number, lines in enumerate(case.files):
        (folder / "in" / f"part-{number}.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")
    named = {"OWN": str(folder / "shapes"), "AROUND": str(folder / "around.ttl")}
    options = [named.get(one, one) for one in case.options]
    if case.history:
        options += ["--query-history", str(exports.ndjson(case.history, folder / "history.ndjson"))]
    return [folder / "in"], options


def _report(out: Path) -> Json:
    return {name: value for name, value in exports.report(out).items() if name not in ("seconds", "out", "at")}


def _quarantine(out: Path) -> list[str]:
    return sorted(json.dumps(line, sort_keys=True) for line in exports.quarantine(out))


def _other_graphs(out: Path) -> Counter[str]:
    """What has a statement on each line."""
    files = chain(compressed.find_files(out / "graph", ".nt"), compressed.find_files(out / "graph", ".nq"))
    return Counter(line for file in files for line in compressed.text(file).split("\n") if line)


def _facts(out: Path) -> dict[str, list[str]]:
    tables = FACTS if (out / "facts").is_dir() else ()
    return {name: sorted(json.dumps(row, default=str) for row in exports.facts(out, name)) for name in tables}


def _catalog(out: Path) -> dict[str, str]:
    return {file.name: file.read_text("utf-8") for file in chain(out.glob("catalog.*"), out.glob("tags.*"))}


def _results_in(out: Path) -> str:
    return (out / "shacl-report.ttl").read_text("utf-8")


SAME: Final[tuple[Callable[[Path], Any], ...]] = (
    exports.triples,
    exports.events,
    _quarantine,
    _report,
    _other_graphs,
    _facts,
    _catalog,
    _results_in,
)
"""What two exports of the same rows have in common, whichever engine made them."""


@pytest.mark.usefixtures("in_rounds")
def test_updates_on_spark_give_what_the_local_engine_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open queries, clones of schemas and helpers in rounds, added to what the local engine has left. The state of days
    and runs is put together early.
    """
    monkeypatch.setattr(run, "_LOCAL_UPDATE_BYTES", 0)
    monkeypatch.setattr(updates, "TOGETHER", 1)
    rows, lines = _around_midnight(7)
    load = loads.Rows(loads.drawn(Random(1), 12))
    rows += [{**row, "query_start_time": _sooner(row["query_start_time"])} for row in load.rows]
    lines += [{**one, "end_time": _sooner(one["end_time"])} for one in load.lines]
    for row in chain.from_iterable(clones(seed, hours=1) for seed in WITH_CLONES[:3]):
        rows.append({**row, "query_start_time": row["query_start_time"].replace("2026-01-", "2026-03-")})
    first = rows[::4]
    for engine in ("spark", "local"):
        _added(first, lines, tmp_path / engine, "local")
        _added([row for row in rows if row not in first], lines, tmp_path / engine, engine, "--compress", "gzip")
    made = triples(tmp_path / "spark")
    assert sum("#inferredFrom>" in one for one in made) >= 10
    assert any("#isHelper>" in one for one in made)
    assert made == triples(tmp_path / "local") == applied(tmp_path / "spark")
    assert exports.events(tmp_path / "spark") == exports.events(tmp_path / "local")


@pytest.mark.usefixtures("in_rounds")
def test_spark_forgets_a_user_and_makes_all_days_again_with_other_shapes_as_the_local_engine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one run, which takes as many jobs as either. Also the counts of queries that are refused now, and no longer.
    Of one day: without Spark there are several.
    """
    monkeypatch.setattr(run, "_LOCAL_UPDATE_BYTES", 0)
    users, each = ("U0", "U1", "U2"), {row["query_id"]: row for row in random_history(7, 8)}
    rows = [
        {**row, "user_name": users[number % 3], "query_start_time": "2026-03-01T10:00:00Z"}
        for number, row in enumerate(each.values())
    ]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    for name, user in (("before", users[0]), ("now", users[1])):
        (tmp_path / f"{name}.ttl").write_text(NOT_OF.replace("USER", user), encoding="utf-8")
    queries = {user: sum(row["user_name"] == user for row in rows) for user in users}
    assert all(queries.values())
    for engine in ("spark", "local"):
        out = tmp_path / engine
        own = {name: ("--shapes", str(tmp_path / f"{name}.ttl")) for name in ("before", "now")}
        assert exports.export([given], out, *UPDATE, *own["before"]) == 1
        before = triples(out)
        forget = "--forget-user", users[2].lower()
        assert exports.export([], out, *UPDATE, *own["now"], *forget, engine=engine) == 1
        report = exports.report(out)
        assert report["other_shapes"] == {"quarantined": queries[users[1]], "exported": queries[users[0]]}
        assert report["forgotten"]["queries"] == queries[users[2]]
        assert report["made"] == ["2026-03-01"]
    assert triples(tmp_path / "spark") == triples(tmp_path / "local") == applied(tmp_path / "spark") != before
    assert exports.events(tmp_path / "spark") == exports.events(tmp_path / "local")


NOT_OF: Final = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ah: <https://w3id.org/access-history#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
<https://example.org/shapes#NotOf> a sh:NodeShape ; sh:targetClass ah:Query ;
    sh:property [ sh:path prov:wasAssociatedWith ; sh:not [ sh:pattern "user/USER$" ] ; sh:message "not of this one" ] .
"""


def _around_midnight(seed: int) -> tuple[list[Json], list[Json]]:
    """Rows of two days, and lines of queries of two hours: some are open over the midnight."""
    rng = Random(seed)
    rows = over_days(rng, random_history(seed, 8))
    by_id = {row["query_id"]: BASE + timedelta(hours=rng.choice((23, 25))) for row in rows}
    rows = [{**row, "query_start_time": by_id[row["query_id"]].isoformat()} for row in rows]
    return rows, [line(row, 2) for row in {row["query_id"]: row for row in rows}.values()]


def _added(rows: list[Json], lines: list[Json], out: Path, engine: str, *options: str) -> None:
    files = (
        exports.ndjson(rows, out.with_suffix(".rows.ndjson")),
        exports.ndjson(lines, out.with_suffix(".lines.ndjson")),
    )
    given_ = "--query-history", str(files[1]), "--force", "--reads", "daily", *UPDATE, *options
    assert exports.export([files[0]], out, *given_, engine=engine) == 0
    assert exports.report(out)["made"] == sorted({row["query_start_time"][:10] for row in rows})


def _sooner(time: str) -> str:
    """A time of a load, whose days become the hours around a midnight."""
    return (BASE + timedelta(hours=22) + (datetime.fromisoformat(time) - loads.BEGIN) / 20).isoformat()


COMPANY: Final = golden.EXAMPLES / "company-month"


def test_a_small_input_on_spark_is_the_local_export_to_the_byte(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And needs nobody else's rows: nothing is exchanged between partitions."""
    plans: list[str] = []
    stored = SparkEngine.write_texts

    def noted(engine: Any, messages: Sequence[Any], name: str) -> Any:
        plans.extend(str(one._jdf.queryExecution().executedPlan().toString()) for one in messages)
        return stored(engine, messages, name)

    monkeypatch.setattr(SparkEngine, "write_texts", noted)
    assert spark
    given_ = ["--query-history", str(COMPANY / "query_history.csv"), *ALL_OUTPUTS]
    for engine in ("spark", "local"):
        assert exports.export([COMPANY / "access_history.ndjson"], tmp_path / engine, *given_, engine=engine) == 0
    assert len(plans) == 1
    assert "Exchange" not in plans[0]
    assert _bytes(tmp_path / "spark") == _bytes(tmp_path / "local")
    assert _facts(tmp_path / "spark") == _facts(tmp_path / "local")
    assert _report(tmp_path / "spark") == _report(tmp_path / "local")


def _bytes(out: Path) -> dict[str, bytes]:
    """All files but those that hold seconds and names of Spark's; of packed ones the content."""
    files = (path for path in out.rglob("*") if path.is_file() and path.suffix != ".parquet")
    return {
        str(path.relative_to(out)): gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in files
        if path.name not in ("report.json", "manifest.json", "export.ttl")
    }
