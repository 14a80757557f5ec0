"""The cache of Spark's classes: who writes it, who uses it, and when there is none."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Final

import pyspark
import pytest

from exporter.engines import session

ROOT: Final = Path(__file__).parents[2]
JAVA_HOME: Final = os.environ.get("JAVA_HOME", "")
"""Of the machine."""
WRITES: Final = "-XX:ArchiveClassesAtExit="
USES: Final = "-XX:SharedArchiveFile="


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A Java by name, a folder for caches, and a user without settings of Spark."""
    for name in session.OWN_CLASSES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    found = tmp_path / "java" / "bin" / "java"
    found.parent.mkdir(parents=True)
    found.write_text("")
    found.chmod(0o700)
    return found


def archive(options: str) -> Path:
    """The file that the options name."""
    return Path(options.rpartition("=")[2])


def written() -> Path:
    """A cache that another process has written."""
    file = archive(session.options())
    file.write_bytes(b"classes")
    return file


def test_the_first_session_writes_the_cache_and_later_ones_use_it(tmp_path: Path) -> None:
    first = session.options()
    assert WRITES in first
    file = archive(first)
    assert file.parent == tmp_path / "caches" / "access-history-exporter"
    assert file.parent.stat().st_mode & 0o777 == 0o700
    file.write_bytes(b"classes")
    assert session.options().endswith(f" {USES}{file}")


def test_javas_warnings_do_not_go_to_standard_output() -> None:
    first = session.options()
    assert "-Xlog:disable -Xlog:all=warning:stderr " in first
    archive(first).write_bytes(b"classes")
    assert "-Xlog:disable -Xlog:all=warning:stderr " in session.options()


def test_one_process_writes_and_the_others_wait_a_day_for_it() -> None:
    file = archive(session.options())
    assert session.options() == ""
    a_day_ago = time.time() - 86_401
    os.utime(file.with_suffix(".begun"), (a_day_ago, a_day_ago))
    assert WRITES in session.options()


def test_another_java_has_its_own_file(java: Path) -> None:
    file = written()
    java.write_text("another version")
    assert archive(session.options()) != file


def test_another_spark_has_its_own_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = written()
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "spark" / "__init__.py"))
    assert archive(session.options()) != file


def test_what_was_not_written_for_a_month_is_removed_when_another_one_is_written(java: Path) -> None:
    file = written()
    month_ago = time.time() - 31 * 86_400
    for one in (file, file.with_suffix(".begun")):
        os.utime(one, (month_ago, month_ago))
    java.write_text("another version")
    new = archive(session.options())
    assert list(file.parent.iterdir()) == [new.with_suffix(".begun")]


@pytest.mark.parametrize("name", session.OWN_CLASSES)
def test_there_is_none_beside_settings_of_the_user(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "anything")
    assert session.options() == ""


def test_there_is_none_without_java(java: Path) -> None:
    java.unlink()
    assert session.options() == ""
    session.forget()


def test_there_is_none_where_others_may_write(tmp_path: Path) -> None:
    """They could put their own classes there, and Java would run them."""
    written()
    (tmp_path / "caches" / "access-history-exporter").chmod(0o777)
    assert session.options() == ""


def test_there_is_none_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert session.options() == ""


@pytest.mark.parametrize("name", ["a space", 'a"quote', "a:colon", "a\\backslash"])
def test_there_is_none_in_a_folder_that_an_option_cannot_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    assert session.options() == ""


def test_without_a_folder_for_caches_it_is_in_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The standard ignores folders that are not absolute."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for told in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", told)
        file = archive(session.options())
        assert file.parent == tmp_path / ".cache" / "access-history-exporter"
        file.with_suffix(".begun").unlink()


def test_a_cache_with_which_java_does_not_start_is_forgotten() -> None:
    file = written()
    session.forget()
    assert not file.exists()
    session.forget()


@pytest.mark.parametrize("content", [b"", b"\0" * 100])
def test_a_file_that_was_not_finished_is_written_again_after_a_day(content: bytes) -> None:
    """Java writes the first bytes last."""
    file = archive(session.options())
    file.write_bytes(content)
    assert session.options() == ""
    file.with_suffix(".begun").unlink()
    assert WRITES in session.options()


@pytest.mark.jvm
def test_java_takes_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes the file when it ends, maps it the next time, and writes nothing of its own to standard output."""
    monkeypatch.setenv("JAVA_HOME", JAVA_HOME)
    java = str(Path(JAVA_HOME, "bin", "java")) if JAVA_HOME else "java"
    (jar,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")

    def run() -> tuple[str, str]:
        """What the options are, and what is mapped into a process with them."""
        options = session.options()
        command = [java, *options.split(), "-cp", str(jar), "py4j.GatewayServer", "--die-on-broken-pipe", "0"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin
            assert process.stdout
            port = process.stdout.readline()
            maps = Path(f"/proc/{process.pid}/maps").read_text()
            process.stdin.close()
            assert process.stdout.read() == ""
        assert port.strip().isdigit()
        return options, maps

    options, maps = run()
    assert WRITES in options
    assert str(archive(options)) not in maps
    options, maps = run()
    assert USES in options
    assert str(archive(options)) in maps

    content = archive(options).read_bytes()
    archive(options).unlink()
    archive(options).write_bytes(content[: len(content) // 2].ljust(len(content), b"\0"))
    options, _ = run()  # Java verifies the file, and starts without it
    assert USES in options


def test_the_variables_that_exclude_it_are_documented() -> None:
    documented = (ROOT / "docs" / "setup.md").read_text()
    assert [name for name in session.OWN_CLASSES if f"`{name}`" not in documented] == []
