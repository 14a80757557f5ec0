"""Kills runs (kill -9) at random moments, and tests whether the next run continues from what they left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from benchmarks import push
from benchmarks.generate import Sizes, write
from exporter.backends.ledger import fingerprint
from exporter.cli import main
from exporter.publish import manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

ROOT: Final = Path(__file__).parents[1]
EXPORTER: Final = [sys.executable, "-m", "exporter"]
ANSWER: Final = 0.003
"""Seconds that the backend takes for an event, so that a push takes about as long as an export."""
Files = dict[str, str]


class BrokenPromiseError(Exception):
    """The result differs from docs/faults.md."""


@dataclass
class Killed:
    """``found``: how often DIR was the old, the new or no output after a kill; ``untold``: how often there was no
    message, because Python was still starting; ``twice``: events that arrived twice.
    """

    kills: int = 0
    found: Counter[str] = field(default_factory=Counter)
    untold: int = 0
    twice: int = 0

    def told(self) -> str:
        found = ", ".join(f"{count} {what}" for what, count in sorted(self.found.items()))
        twice = f"; {self.twice} events came twice" if self.twice else ""
        return f"{self.kills} kills: {found}{twice}; all taken up by the next run"


def command(*given: str | Path) -> list[str]:
    return [*EXPORTER, *map(str, given)]


def export(rows: Path, out: Path, *options: str, engine: str = "local") -> list[str]:
    return command("export", rows, "--account", "ACME-FAULTS", "--engine", engine, "--out", out, *options)


def run(given: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run(given, env=env, capture_output=True, text=True, check=False)


def must(given: list[str], **environ: str) -> float:
    """Runs it to its end; returns the seconds."""
    begun = time.monotonic()
    done = run(given, **environ)
    promise(done.returncode == 0, f"exit {done.returncode} of {' '.join(given)}: {done.stderr}")
    return time.monotonic() - begun


def here(given: list[str]) -> None:
    """The same in this process, which starts in no time: for exports that are not to be killed."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(given[len(EXPORTER) :])
    promise(code == 0, f"exit {code} of {' '.join(given)}: {said.getvalue()}")


def promise(kept: object, words: str) -> None:
    if not kept:
        raise BrokenPromiseError(words)


def drawn(whole: float, random: Random) -> float:
    """Seconds after which to kill a run that takes ``whole`` seconds; about half of them are in its last third."""
    return random.uniform(random.choice((0, whole * 2 / 3)), whole)


def killed(given: list[str], seconds: float, **environ: str) -> bool | None:
    """Kills it after so many seconds; returns whether a message reported it, None where it had already ended."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    with subprocess.Popen(given, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        said = process.communicate()[1]
    promise("Traceback" not in said, said)
    return "was killed, or memory has run out" in said if process.returncode == -signal.SIGKILL else None


# --- export and update ------------------------------------------------------------------------------------------------


def output(out: Path) -> Files:
    """The files of events and graph with their checksums, complete by the manifest; empty where there is no DIR."""
    if not out.exists():
        return {}
    found = manifest.problems(out)
    promise(not found, "; ".join(found))
    told = json.loads((out / manifest.NAME).read_text("utf-8"))["files"]
    return {one["path"]: one["sha256"] for one in told if one["path"].startswith(("events/", "graph/"))}


def rows(folder: Path, count: int) -> tuple[Path, Path]:
    """Two files of rows: the first two thirds of a period, and the rest."""
    write(Sizes.of(count), 1, folder / "all.ndjson")
    lines = (folder / "all.ndjson").read_text("utf-8").splitlines(keepends=True)
    cut = len(lines) * 2 // 3
    for name, part in (("first", lines[:cut]), ("rest", lines[cut:])):
        (folder / f"{name}.ndjson").write_text("".join(part), "utf-8")
    return folder / "first.ndjson", folder / "rest.ndjson"


def writing(folder: Path, before: list[list[str]], given: list[str], kills: int, random: Random) -> Killed:
    """Kills ``given``, which writes ``folder/out``, at random moments, each time after ``before`` was run."""
    out, made = folder / "out", folder / "made"
    for one in before:
        here(one)
    old = output(out)
    if old:
        shutil.copytree(out, made)
    whole = must(given)
    new, seen = output(out), Killed()
    while seen.kills < kills:
        shutil.rmtree(out, ignore_errors=True)
        if old:
            shutil.copytree(made, out)
        told = killed(given, drawn(whole, random))
        if told is None:
            continue
        there = output(out)
        promise(there in (old, new), "DIR is neither the old nor the new output")
        seen.kills += 1
        seen.untold += not told
        seen.found["no output yet" if not there else "old" if there == old else "new"] += 1
        here(given if old or not there else [*given, "--replace"])
        promise(output(out) == new, "the next run made something else")
        left = {path.name for path in folder.iterdir()} - {"out", "made", "all.ndjson", "first.ndjson", "rest.ndjson"}
        promise(not left, f"the next run left {left}")
    shutil.rmtree(out)
    shutil.rmtree(made, ignore_errors=True)
    return seen


# --- push -------------------------------------------------------------------------------------------------------------


def pushing(folder: Path, kills: int, random: Random) -> Killed:
    """Kills pushes at random moments, until all events have arrived; then starts again with an empty ledger."""
    out, seen = folder / "pushed", Killed()
    events = push.write(out, 150, 30)
    with backend() as (url, arrived):
        given = command("push", out, "--json")
        whole = must(given, OPENLINEAGE_URL=url)
        while seen.kills < kills:
            shutil.rmtree(out / "push")
            arrived.clear()
            began = seen.kills
            while seen.kills < kills:
                told = killed(given, drawn(whole, random), OPENLINEAGE_URL=url)
                if told is None:
                    break
                seen.kills += 1
                seen.untold += not told
            must(given, OPENLINEAGE_URL=url)
            promise(len(arrived) == events, f"{events - len(arrived)} events did not arrive")
            twice = sum(arrived.values()) - events
            promise(twice <= 8 * (seen.kills - began), f"{twice} events came twice")
            seen.twice += twice
            seen.found["then all events had arrived"] = seen.kills
    return seen


@contextmanager
def backend() -> Iterator[tuple[str, Counter[str]]]:
    """A backend that accepts everything: its URL, and how often each event has arrived."""
    arrived = Counter[str]()

    class Taking(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        log_message: Callable[..., None] = lambda *_: None

        def do_POST(self) -> None:
            arrived[fingerprint(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))] += 1
            time.sleep(ANSWER)
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    server.handle_error = lambda *_: None  # a push that is killed breaks its connections
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", arrived
    finally:
        server.shutdown()
        server.server_close()
