"""Causes the faults of docs/faults.md: ``python -m benchmarks.faults --kills 30`` prints one line for each.

Exports, updates and pushes are killed at random moments; a worker of Spark, and Spark itself, are killed; a disk is
full and another is read-only (in a separate mount namespace, which needs a Linux that allows it); memory is limited.
After each fault, DIR has to be the complete old or new output by its manifest, and the next run has to continue from
it. If not, the program ends with an error that says what was found. docs/faults.md has the promises and the results.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.kills import EXPORTER, ROOT, backend, export, here, output, promise, pushing, rows, writing
from benchmarks.victims import DAEMON, JAVA, kill

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY: Final = tuple(range(40, 260, 20))
"""MB of memory that an export may use."""


def main() -> None:
    arguments = _arguments()
    random = Random(arguments.seed)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        first, rest = rows(folder, arguments.rows)
        out = folder / "out"
        faults: dict[str, Callable[[], str]] = {
            "export --replace, killed": lambda: writing(
                folder, [export(first, out)], export(rest, out, "--replace", "--force"), arguments.kills, random
            ).told(),
            "first export, killed": lambda: writing(folder, [], export(first, out), arguments.kills, random).told(),
            "update, killed": lambda: writing(
                folder, [export(first, out, "--update")], export(rest, out, "--update"), arguments.kills, random
            ).told(),
            "push, killed": lambda: pushing(folder, arguments.kills, random).told(),
            "memory cut short": lambda: memory(first, out),
            "disk full": lambda: disk_full(first, folder),
            "disk read-only": lambda: read_only(first, folder),
            "a worker of Spark killed": lambda: spark(first, out, DAEMON),
            "Spark killed": lambda: spark(first, out, JAVA),
        }
        for name, fault in faults.items():
            if re.search(arguments.only, name):
                print(f"| {name} | {fault()} |", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PATTERN", help="the faults whose names have this")
    return parser.parse_args()


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What a person read; it is one line of words."""
    promise("Traceback" not in done.stderr, done.stderr)
    # Python itself may complain before it where no memory is left, and does not end its line.
    found = re.search(r"exporter: (.+)", done.stderr)
    promise(found is not None, f"exit {done.returncode} without a word: {done.stderr}")
    return found[1].split(";")[0].split(". ")[0] if found else ""


# --- memory -----------------------------------------------------------------------------------------------------------


def memory(given: Path, out: Path) -> str:
    """An export with a limit of memory."""
    here(export(given, out))
    old, ends = output(out), dict[str, int]()
    for megabytes in MEMORY:
        done = _limited(export(given, out, "--replace"), megabytes << 20)
        words = "done" if not done.returncode else said(done)
        ends[words] = ends.get(words, 0) + 1
        promise(output(out) == old, f"DIR has changed with {megabytes} MB")
    here(export(given, out, "--replace"))
    return ", ".join(f"{count}: {words}" for words, count in ends.items())


def _limited(command: list[str], size: int) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, preexec_fn=limit)


# --- disks ------------------------------------------------------------------------------------------------------------


def disk_full(given: Path, folder: Path) -> str:
    """Export and push to a full disk, and again when it has room."""
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    with backend() as (url, arrived):
        script = f"""
            mount -t tmpfs -o size=64m tmpfs {disk} || exit 77
            {_words(export(given, disk / "out"))} > {disk}/said || exit 1
            room=$(df -k {disk} | awk 'END {{ print $4 - 300 }}')
            head -c ${{room}}k /dev/zero > {disk}/fill
            {_words(export(given, disk / "out", "--replace"))}; echo "export $?"
            ls -A {disk}; {_words([*EXPORTER, "validate", disk / "out", "--by", "compiled"])} > /dev/null || exit 1
            head -c 1m /dev/zero >> {disk}/fill
            {_words([*EXPORTER, "push", disk / "out"])}; echo "push $?"
            rm {disk}/fill
            {_words([*EXPORTER, "push", disk / "out"])} || exit 1
            {_words(export(given, disk / "out", "--replace"))} > /dev/null || exit 1
            echo "left $(ls -A {disk} | tr '\\n' ' ')"
        """
        done = _apart(script, OPENLINEAGE_URL=url)
        promise(max(arrived.values(), default=1) <= 2, "an event came more than twice")
    if done.returncode == 77:
        return "not tried: no disk can be mounted here"
    promise(done.returncode == 0, done.stdout + done.stderr)
    promise("export 4" in done.stdout and "push 4" in done.stdout, done.stdout)
    promise("left out said" in done.stdout, done.stdout)
    shown = [line for line in done.stderr.splitlines() if "disk is full" in line]
    promise(len(shown) == 2, done.stderr)
    return "export and push: exit 4, the disk is full; taken up when there was room"


def read_only(given: Path, folder: Path) -> str:
    """Export to a disk that cannot be written."""
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    done = _apart(f"""
        mount -t tmpfs tmpfs {disk} || exit 77
        {_words(export(given, disk / "out"))} > /dev/null || exit 1
        mount -o remount,ro {disk}
        {_words(export(given, disk / "out", "--replace"))}; echo "export $?"
        {_words([*EXPORTER, "push", disk / "out"])}; echo "push $?"
        {_words([*EXPORTER, "validate", disk / "out", "--by", "compiled"])} > /dev/null || exit 1
    """, OPENLINEAGE_URL="http://127.0.0.1:9")  # fmt: skip
    if done.returncode == 77:
        return "not tried: no disk can be mounted here"
    promise(done.returncode == 0 and "export 2" in done.stdout and "push 2" in done.stdout, done.stdout + done.stderr)
    promise(done.stderr.count("Read-only file system") == 2, done.stderr)
    return "export and push: exit 2, cannot be written: Read-only file system"


def _apart(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script that can mount disks which no other process sees; exit code 77 where that is not allowed, for
    example in a container.
    """
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 77)
    return subprocess.CompletedProcess(command, 77) if done.stderr.startswith("unshare: ") else done


def _words(command: list[str | Path] | list[str]) -> str:
    return " ".join(map(str, command))


# --- Spark ------------------------------------------------------------------------------------------------------------


def spark(given: Path, out: Path, victim: str) -> str:
    """Kills a process that works for an export on Spark, while the outputs are written."""
    here(export(given, out, "--replace"))
    old = output(out)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = export(given, out, "--replace", engine="spark")
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        kill(process.pid, victim, out)
        words = process.communicate()[1]
    promise(process.returncode == 4, f"exit {process.returncode}: {words}")
    told = said(subprocess.CompletedProcess(command, 4, "", words))
    promise(output(out) == old, "DIR has changed")
    here(export(given, out, "--replace"))
    promise([path.name for path in out.parent.iterdir() if path.name.startswith(f".{out.name}")] == [], "work was left")
    return f"exit 4, {told}"


if __name__ == "__main__":
    main()
