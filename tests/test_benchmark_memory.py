"""The memory that the benchmarks report: each page once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import memory

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SESSION = 7


def process(proc: Path, number: int, parent: int, command: str, kilobytes: int, session: int = SESSION) -> None:
    folder = proc / str(number)
    folder.mkdir()
    (folder / "stat").write_text(f"{number} (a name) S {parent} 1 {session} 0 0", encoding="utf-8")
    (folder / "cmdline").write_text(command.replace(" ", "\0"), encoding="utf-8")
    (folder / "smaps_rollup").write_text(f"Rss: 999 kB\nPss: {kilobytes} kB\n", encoding="utf-8")


def test_a_process_that_java_starts_is_not_counted_as_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shares Java's memory and command until it runs its own program."""
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    process(tmp_path, 10, 1, "/bin/python -m exporter export", 100)
    process(tmp_path, 11, 10, "/bin/java org.apache.spark.deploy.SparkSubmit", 1500)
    process(tmp_path, 12, 11, "/bin/java org.apache.spark.deploy.SparkSubmit", 1500)
    process(tmp_path, 13, 11, "/bin/python -m pyspark.daemon", 30)
    process(tmp_path, 14, 13, "/bin/python -m pyspark.daemon", 400)
    process(tmp_path, 15, 1, "/bin/java another.Program", 5000, session=8)
    assert memory.by_kind(SESSION) == {
        memory.PYTHON: 100 * 1024,
        memory.JVM: 1500 * 1024,
        memory.WORKERS: 430 * 1024,
    }
