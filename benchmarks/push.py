"""Measures how fast events are sent: ``python -m benchmarks.push`` prints a Markdown table, all from one run.

It measures a simple loop of POST requests over one connection, then ``exporter push`` of the same events, of the latest
runs only, and with nothing new to send. Each runs in a separate process and sends to a server that accepts everything
(one more process), or to ``--url``. Seconds are those of the process, with reading and ordering; the rate is that of
sending alone. The events are generated: ``--runs`` queries of ``--jobs`` jobs, START and COMPLETE, and the datasets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import urllib3

if TYPE_CHECKING:
    from collections.abc import Iterator

SPACE: Final = "snowflake://BENCH-PUSH"
PRODUCER: Final = "https://example.com/benchmark"
SPEC: Final = "https://openlineage.io/spec"
COLUMNS: Final = 8


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as work:
        bare, whole = Path(work) / "bare", Path(work) / "whole"
        count = write(bare, arguments.runs, arguments.jobs)
        write(whole, arguments.runs, arguments.jobs)
        server = None if arguments.url else _server()
        url = arguments.url or f"http://127.0.0.1:{server.stdout.readline().strip()}"
        try:
            rows = list(_measured(bare, whole, url, min(count, arguments.loop)))
        finally:
            if server:
                server.kill()
    print(f"{count:,} events of {arguments.runs:,} runs of {arguments.jobs:,} jobs, {os.cpu_count()} cores\n")
    print("| | sent | seconds | sending | events/s | to the loop | peak MB |\n|---|---|---|---|---|---|---|")
    loop = rows[0]["delivered"] / rows[0]["net"]
    for row in rows:
        rate = row["delivered"] / row["net"]
        cells = (
            f"{row['delivered']:,}",
            f"{row['seconds']:.1f}",
            f"{row['net']:.1f}",
            f"{rate:,.0f}",
            f"{rate / loop:.2f}",
            f"{row['peak']:,.0f}",
        )
        print(f"| {row['name']} | {' | '.join(cells)} |")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--loop", type=int, default=5_000, help="events of the bare loop, at most")
    parser.add_argument("--url", help="a backend to push to, instead of the server that takes everything")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--post", nargs=3, metavar=("FILE", "URL", "COUNT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(_serve())
    if arguments.post:
        _post(Path(arguments.post[0]), arguments.post[1], int(arguments.post[2]))
        sys.exit()
    return arguments


def _measured(bare: Path, whole: Path, url: str, loop: int) -> Iterator[dict[str, Any]]:
    own, push = (sys.executable, "-m", "benchmarks.push"), (sys.executable, "-m", "exporter", "push", "--json")
    (file,) = (bare / "events").glob("*.ndjson")
    yield {"name": "bare loop of posts", **_run([*own, "--post", str(file), url, str(loop)], url)}
    yield {"name": "push --runs latest", **_run([*push, "--runs", "latest", str(bare)], url)}
    yield {"name": "push", **_run([*push, str(whole)], url)}
    again = _run([*push, str(whole)], url)
    assert again["delivered"] == 0
    yield {"name": "push again, nothing new", **again}


def _run(command: list[str], url: str) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    begun = time.perf_counter()
    done = subprocess.run(
        command, env={**os.environ, "OPENLINEAGE_URL": url}, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        sys.exit(f"{command[2]} ended with {done.returncode}: {done.stderr[-300:]}")
    peak = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    told = json.loads(done.stdout)
    net = told.get("net") or _summary(Path(command[-1]))["seconds"]
    return {**told, "seconds": seconds, "net": max(net, 0.05), "peak": peak}


def _summary(folder: Path) -> dict[str, Any]:
    (file,) = (folder / "push").glob("*/summary.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def _post(file: Path, url: str, count: int) -> None:
    pool = urllib3.PoolManager(maxsize=1)
    headers, posted, begun = {"Content-Type": "application/json"}, 0, time.perf_counter()
    with file.open("rb") as lines:
        for posted, line in enumerate(lines, start=1):
            answer = pool.request("POST", f"{url}/api/v1/lineage", body=line, headers=headers, retries=False)
            assert answer.status < 300
            if posted == count:
                break
    print(json.dumps({"events": posted, "delivered": posted, "net": time.perf_counter() - begun}))


# --- a server that takes everything -----------------------------------------------------------------------------------


def _server() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "benchmarks.push", "--serve"], stdout=subprocess.PIPE, text=True)


async def _serve() -> None:
    server = await asyncio.start_server(_take, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            break
        lengths = (line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(next(lengths, b"0")))  # none: the push asks what the backend is
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
    writer.close()


# --- events -----------------------------------------------------------------------------------------------------------


def write(folder: Path, runs: int, jobs: int) -> int:
    """A folder of events as a push reads it; returns how many."""
    (folder / "events").mkdir(parents=True)
    count = 0
    with (folder / "events" / "part-00000.ndjson").open("w", encoding="utf-8") as file:
        for event in _events(runs, jobs):
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
            count += 1
    return count


def _events(runs: int, jobs: int) -> Iterator[dict[str, Any]]:
    for n in range(jobs + 1):
        yield {**_base(0, "DatasetEvent"), "dataset": _dataset(n)}
    for n in range(runs):
        job = n % jobs
        run = {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"run {n}")), "facets": {}}
        told = {"run": run, "job": {"namespace": SPACE, "name": f"write T{job + 1} from T{job}", "facets": {}}}
        yield {**_base(n, "RunEvent"), **told, "eventType": "START", "inputs": [], "outputs": []}
        ends = {"inputs": [_dataset(job)], "outputs": [_written(job)]}
        yield {**_base(n, "RunEvent"), **told, "eventType": "COMPLETE", **ends}


def _base(second: int, kind: str) -> dict[str, Any]:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(1_700_000_000 + second))
    return {"eventTime": stamp, "producer": PRODUCER, "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/{kind}"}


def _facet(file: str, **told: Any) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/facets/{file}", **told}


def _dataset(n: int) -> dict[str, Any]:
    fields = [{"name": f"C{column}", "type": "UNKNOWN"} for column in range(COLUMNS)]
    schema = _facet("1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet", fields=fields)
    return {"namespace": SPACE, "name": f"DB.S.T{n}", "facets": {"schema": schema}}


def _written(job: int) -> dict[str, Any]:
    source = {"namespace": SPACE, "name": f"DB.S.T{job}"}
    fields = {f"C{column}": {"inputFields": [{**source, "field": f"C{column}"}]} for column in range(COLUMNS)}
    lineage = _facet("1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet", fields=fields)
    told = _dataset(job + 1)
    return {**told, "facets": {**told["facets"], "columnLineage": lineage}}


if __name__ == "__main__":
    main()
