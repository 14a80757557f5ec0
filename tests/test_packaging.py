"""A built wheel contains the whole program: installed in a separate environment, it runs in another folder.

The environment uses the installed packages and not the checkout, so no network is needed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from exporter.system import files as resources
from exporter.version import VERSIONS
from tests.exports import without_progress
from tests.pages import EXAMPLE
from tests.test_docs import EXPORT, assert_shows
from tests.test_left_behind import left, wait_until_empty

ROOT: Final = Path(__file__).parents[1]
SETTINGS: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
ROWS: Final = ROOT / "examples" / "01-view-example" / "access_history.json"
PIP: Final = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def test_every_package_is_named() -> None:
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "exporter").rglob("*.py")}
    named = {name for name in SETTINGS["packages"] if not name.startswith("exporter.data.")}
    assert {".".join(path.parts) for path in packages} == named


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "exporter", "ontology", "shapes", "examples", "docs"):
        subprocess.run(["cp", "-R", str(ROOT / name), str(copy)], check=True)
    command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(copy)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    # A path alone: what a .pth file in that folder adds, the checkout among it, is not added.
    packages = next((folder / "lib").glob("python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return folder / "bin"


def ended(installed: Path, folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """How the installed program ends in a folder."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | environ
    command = [str(installed / "exporter"), *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def run(installed: Path, folder: Path, *arguments: str) -> str:
    """What the installed program prints in a folder; it must end well and say nothing else."""
    done = ended(installed, folder, *arguments)
    assert (done.returncode, without_progress(done.stderr)) == (0, ""), done.stdout
    return done.stdout


def test_the_wheel_has_the_files_beside_the_code(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    for name, folder, pattern in (
        ("shapes", resources.shapes_dir(), "*.ttl"),
        ("ontology", resources.ontology_dir(), "*.*"),
        ("queries", resources.queries_dir(), "*.rq"),
    ):
        files = {f"exporter/data/{name}/{path.name}" for path in folder.glob(pattern)}
        assert files
        assert files <= packed
    assert {f"exporter/data/docs/{name}.md" for name in ("graph", "questions", "not-recorded")} <= packed
    code = {path for path in (ROOT / "exporter").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {str(path.relative_to(ROOT)) for path in code} <= packed


def test_the_installed_program_has_nothing_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    program = "import exporter, sys\nfrom exporter.system.files import *\n"
    program += "print(exporter.__file__, shapes_dir(), ontology_dir(), queries_dir(), *sys.path, sep='\\n')"
    command = [str(installed / "python"), "-c", program]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {Path(line).is_relative_to(installed.parent) for line in shown[:4]} == {True}
    assert str(ROOT) not in shown
    assert run(installed, tmp_path, "--version") == f"exporter {VERSIONS}\n"


def test_the_installed_program_exports_validates_and_answers(installed: Path, tmp_path: Path) -> None:
    account = ["--account", "ACME-RETAIL", "--engine", "local"]
    report = json.loads(run(installed, tmp_path, "export", str(ROWS), *account, "--out", "out", "--json"))
    assert report["rows_in"] == report["exported"] > 0
    assert report["nodes"] > 0
    assert json.loads(run(installed, tmp_path, "validate", "out", "--json"))["conforms"] is True
    questions = {one["name"] for one in json.loads(run(installed, tmp_path, "queries", "--json"))}
    assert questions == {path.stem for path in (ROOT / "examples" / "queries").glob("*.rq")}
    assert json.loads(run(installed, tmp_path, "query", "user-history", "--graph", "out", "--format", "json"))


@pytest.mark.jvm
def test_the_installed_program_runs_the_export_of_the_readme_on_spark_and_prints_what_it_shows(
    installed: Path, tmp_path: Path
) -> None:
    """As a person runs it: in a process of its own, which leaves the output and nothing else. Without Spark it leaves
    the same.
    """
    for name in ("temporary", "home"):
        (tmp_path / name).mkdir()
    environ = {
        "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(tmp_path / "temporary"),
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.devnull),
    }
    before = _of_nobody_else(ROOT)
    arguments = [str(tmp_path / "spark") if word == EXAMPLE else word for word in EXPORT.arguments]
    done = ended(installed, ROOT, *arguments, **environ)
    assert done.returncode == 0, done.stderr
    assert EXPORT.shown is not None
    assert_shows(EXPORT.shown, done.stdout.replace(str(tmp_path / "spark"), EXAMPLE))
    said = without_progress(done.stderr)
    assert re.fullmatch(r"exporter: the input is small \(\d+ kB\): --engine local .*\n", said)
    wait_until_empty(tmp_path / "temporary")
    assert left(tmp_path / "home") == []
    assert left(tmp_path) == ["home", "spark", "temporary"]
    arguments = [str(tmp_path / "local") if word == EXAMPLE else word for word in EXPORT.arguments]
    run(installed, ROOT, *arguments, "--engine", "local")
    assert _of_nobody_else(ROOT) == before
    for kind in ("events", "graph"):
        one, other = (sorted((tmp_path / engine / kind).iterdir()) for engine in ("local", "spark"))
        assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def _of_nobody_else(folder: Path) -> list[str]:
    """What is in a folder in which other tests are run at the same time: their caches have a dot before their names."""
    return [name for name in left(folder) if not name.startswith(".")]


def test_without_pyspark_a_message_says_what_to_do(installed: Path, tmp_path: Path) -> None:
    (hidden := next((installed.parent / "lib").glob("python*/site-packages")) / "pyspark.py").write_text(
        "raise ModuleNotFoundError('No module', name='pyspark')\n", encoding="utf-8"
    )
    try:
        done = ended(installed, tmp_path, "export", str(ROWS), "--account", "A-B", "--out", "out")
    finally:
        hidden.unlink()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exporter: PySpark is not in this Python's environment.")
    assert "--engine local" in done.stderr
    assert list(tmp_path.iterdir()) == []
