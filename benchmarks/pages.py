"""Times the pages of ``exporter serve`` on a large lineage: ``python -m benchmarks.pages [--objects N] [--edges N]``.

It generates 5,000 tables, each written from earlier ones, until there are 50,000 edges between tables, and as many
between columns. One table, the hub, is a source of a tenth of all. In one of 500 tables a
column is tagged and masked, and the table is opened to a share. The local engine exports the rows, the pages are served
as ``exporter serve`` does, and each page is requested as a browser does: once before it was ever requested, and then
five times. The time to draw it in the browser is not counted. Fails if a page takes too long.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS: Final = 2.0
"""The most seconds for a page, also the first time."""
AGAIN: Final = 5
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS: Final = ("ID", "AMOUNT", "EMAIL", "NOTE")
GOVERNED: Final = 500
"""One table in so many has a tag and a masking policy on EMAIL, and a share that opens it."""
POLICY: Final = {"policyName": "GOVERNANCE.POLICIES.EMAIL_MASK", "policyId": 2, "policyKind": "MASKING_POLICY"}
Json = dict[str, Any]


def table(number: int, columns: list[Json] | None = None) -> Json:
    named = {"objectDomain": "Table", "objectId": number + 1, "objectName": f"DB.S{number % 40}.T{number:05}"}
    return {**named, "columns": columns if columns is not None else [column(number, name) for name in COLUMNS]}


def column(number: int, name: str) -> Json:
    return {"columnId": number * 10 + COLUMNS.index(name), "columnName": name}


def source(number: int, name: str) -> Json:
    named = {key: value for key, value in table(number).items() if key != "columns"}
    return {**named, "columnName": name}


def rows(objects: int, edges: int, seed: int = 1) -> Iterator[Json]:
    """For each table, a write from earlier ones, and a read by one of forty users."""
    random = Random(seed)
    for number in range(objects):
        wanted = min(number, max(1, round(edges * (number + 1) / objects) - round(edges * number / objects)))
        sources = {random.randrange(max(0, number - 300), number) for _ in range(wanted)} if number else set()
        sources |= {0} if number and number % 10 == 0 else set()
        while len(sources) < wanted:
            sources.add(random.randrange(number))
        moment = START + timedelta(minutes=number)
        yield _write(number, sorted(sources), moment)
        if number % GOVERNED == 0:
            yield from _governed(number, moment)
        yield _query(f"read-{number:06}", f"USER_{number % 40}", moment + timedelta(seconds=30), [table(number)], [])


def _write(number: int, sources: list[int], moment: datetime) -> Json:
    filled = [
        {
            **column(number, name),
            "directSources": (found := [source(one, name) for one in sources[place :: len(COLUMNS)]]),
            "baseSources": found,
        }
        for place, name in enumerate(COLUMNS)
    ]
    read = [table(one) for one in sources]
    return _query(f"write-{number:06}", "LOADER", moment, read, [table(number, filled)])


def _governed(number: int, moment: datetime) -> Iterator[Json]:
    """The statements of a steward who protects EMAIL of a new table, and opens the table to a share; and a read."""
    thing = {key: value for key, value in table(number).items() if key != "columns"}
    tag = {"subOperationType": "ADD", "objectId": {"value": 1}, "tagValue": {"value": "yes"}}
    mask = {"subOperationType": "ADD", "objectId": {"value": POLICY["policyId"]}}
    on_table = {f"SECURABLE_OBJECT_{key.removeprefix('object').upper()}": value for key, value in thing.items()}
    share = {"objectDomain": "Share", "objectId": 3, "objectName": "PARTNERS"}
    changes = (
        {**thing, "operationType": "ALTER", "properties": _of_email("tags", {"GOVERNANCE.TAGS.PII": tag})},
        {**thing, "operationType": "ALTER", "properties": _of_email("maskingPolicies", {POLICY["policyName"]: mask})},
        {**share, "operationType": "GRANT", "properties": {"grant": {"value": {"PRIVILEGES": ["SELECT"], **on_table}}}},
    )
    for place, change in enumerate(changes):
        row = _query(f"steward-{number:06}-{place}", "STEWARD", moment + timedelta(seconds=10 + place), [], [])
        yield {**row, "object_modified_by_ddl": change}
    enforced = [{**thing, "columns": [{**column(number, "EMAIL"), "policies": [POLICY]}]}]
    row = _query(f"masked-{number:06}", "ANALYST", moment + timedelta(seconds=20), [table(number)], [])
    yield {**row, "policies_referenced": enforced}


def _of_email(name: str, given: Json) -> Json:
    return {"columns": {"EMAIL": {name: given}}}


def _query(query_id: str, user: str, moment: datetime, read: list[Json], modified: list[Json]) -> Json:
    return {
        "query_id": query_id,
        "query_start_time": f"{moment:%Y-%m-%d %H:%M:%S.000 +0000}",
        "user_name": user,
        "direct_objects_accessed": read,
        "base_objects_accessed": read,
        "objects_modified": modified,
    }


def exported(objects: int, edges: int, folder: Path) -> Path:
    source_file, out = folder / "rows.ndjson", folder / "large"
    with source_file.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(objects, edges))
    command = [sys.executable, "-m", "exporter", "export", str(source_file), "--account", "BENCH-PAGES", "--engine",
               "local", "--outputs", "graph", "--out", str(out)]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


@contextmanager
def served(graph: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "exporter", "serve", str(graph), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def got(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=120) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:  # a page that says that there is no answer is slow, too
        body = error.read()
    return body


def pages(address: str, objects: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    middle, last = objects // 2, objects - 1
    name = quote(table(middle)["objectName"])
    for what, path in (
        ("first page", ""),
        ("search, 5 found", "search?q=T0123"),
        ("search, all found", "search?q=DB."),
        ("object, the hub", "object?id=table/1"),
        ("object, by name", f"object?name={name}"),
        ("column", f"column?name={name}&column=EMAIL"),
        ("query", f"query?id=write-{middle:06}"),
        ("question: writers, by id", f"ask/writers?object_id={middle + 1}&domain=Table"),
        ("question: writers, by name", f"ask/writers?object_name={name}&domain=Table"),
        ("question: column-lineage of one", f"ask/column-lineage?target_object_name={name}"),
        ("user", "user?name=USER_1"),
        ("picture: the hub, hundreds of targets", "lineage/?id=table/1"),
        ("picture: in the middle", f"lineage/?id=table/{middle}"),
        ("picture: in the middle, as pages link to it", f"lineage/?id=table/{middle + 1}&steps=3"),
        ("picture: in the middle, with columns", f"lineage/?id=table/{middle}&columns=table/{middle}"),
        ("picture: in the middle, as of a day", f"lineage/?id=table/{middle}&day=2026-01-03"),
        ("picture: the last, all steps up", f"lineage/?id=table/{last + 1}&steps=20"),
        ("picture: a column in the middle", f"lineage/?id=table/{middle}&column=EMAIL&steps=3"),
        ("picture: as SVG", f"lineage/picture.svg?id=table/{middle}"),
    ):
        yield what, lambda path=path: got(address + path)
    for what, path in (  # last, since the server goes on with these after it has told that they are still being asked
        ("question: downstream-users of the hub", "ask/downstream-users?object_id=1&domain=Table"),
        ("question: end-up of the hub", "ask/end-up?object_id=1&domain=Table"),
        ("question: changes, everything", f"ask/changes?since={START:%Y-%m-%d}"),
        ("question: unmasked-copies", "ask/unmasked-copies?ask=1"),
    ):
        yield what, lambda path=path: got(address + path)


def timed(ask: Callable[[], bytes]) -> tuple[float, int]:
    began = time.perf_counter()
    size = len(ask())
    return time.perf_counter() - began, size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5_000)
    parser.add_argument("--edges", type=int, default=50_000)
    parser.add_argument("--graph", type=Path, help="what an earlier run exported, with the same numbers")
    parser.add_argument("--keep", type=Path, help="a folder for the rows and the export")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        graph = arguments.graph or exported(arguments.objects, arguments.edges, arguments.keep or Path(temporary))
        slow = measured(graph, arguments.objects)
    for what in slow:
        print(f"too slow: {what}", file=sys.stderr)
    return 1 if slow else 0


def measured(graph: Path, objects: int) -> list[str]:
    """Print the times; the pages that take too long."""
    slow = []
    for start in ("first start, which makes the store", "second start"):
        began = time.perf_counter()
        with served(graph) as address:
            got(f"{address}health")
            print(f"{start}: {time.perf_counter() - began:.1f} s", flush=True)
    with served(graph) as address:
        print("\n| page | KB | first, ms | again, ms |\n|---|---|---|---|")
        for what, ask in pages(address, objects):
            first, size = timed(ask)
            again = statistics.median(timed(ask)[0] for _ in range(AGAIN))
            print(f"| {what} | {size / 1000:,.0f} | {first * 1000:,.0f} | {again * 1000:,.0f} |", flush=True)
            slow += [what] if first > SECONDS else []
    return slow


if __name__ == "__main__":
    sys.exit(main())
