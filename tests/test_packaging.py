"""The wheel holds every package and every file that the installed program reads."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from exporter import resources

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]


def test_every_package_is_named() -> None:
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "exporter").rglob("*.py")}
    named = {name for name in SETTINGS["packages"] if not name.startswith("exporter.data.")}
    assert {".".join(path.parts) for path in packages} == named


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "exporter", "ontology", "shapes", "examples"):
        if (ROOT / name).exists():
            subprocess.run(["cp", "-R", str(ROOT / name), str(copy)], check=True)
    (copy / "README.md").touch()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-w", str(folder), str(copy)], check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_has_the_files_beside_the_code(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    for name, folder, pattern in (
        ("shapes", resources.shapes_dir(), "*.ttl"),
        ("ontology", resources.ontology_dir(), "*.ttl"),
        ("queries", resources.queries_dir(), "*.rq"),
    ):
        files = {f"exporter/data/{name}/{path.name}" for path in folder.glob(pattern)}
        assert files
        assert files <= packed


def test_the_unpacked_wheel_finds_its_own_files(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = "from exporter.resources import *; print(shapes_dir(), ontology_dir(), queries_dir(), sep='\\n')"
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split("\n")
    data = tmp_path / "exporter" / "data"
    assert shown == [str(data / "shapes"), str(data / "ontology"), str(data / "queries"), ""]
