"""The daily script adds a day's rows once, and fails for a day without rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parents[1]
EXAMPLE: Final = ROOT / "examples" / "01-view-example" / "access_history.json"


def daily(folder: Path, *day: str) -> subprocess.CompletedProcess[str]:
    """The script, with the rows and the lineage in a folder."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE_", "EXPORTER_"))}
    environ |= {"PATH": f"{Path(sys.executable).parent}:{environ['PATH']}", "EXPORTER_ENGINE": "local"}
    environ |= {"ROWS": f"{folder}/rows", "LINEAGE": f"{folder}/lineage", "EXPORTER_ACCOUNT": "A-B"}
    command = ["bash", str(ROOT / "deploy" / "daily"), *day]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_a_day_is_added_once_however_often_it_is_given(tmp_path: Path) -> None:
    day = tmp_path / "rows" / "2026-11-21"
    day.mkdir(parents=True)
    (day / "access_history_0.json").write_bytes(EXAMPLE.read_bytes())
    (day / "access_history_1.json").write_bytes(EXAMPLE.read_bytes())
    done = [daily(tmp_path, "2026-11-21") for _ in range(2)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    assert "  exported               0 " in done[1].stdout
    assert list((tmp_path / "lineage" / "graph").rglob("*.ttl"))


@pytest.mark.parametrize("day", [["2026-11-20"], []])
def test_a_day_without_rows_fails(tmp_path: Path, day: list[str]) -> None:
    done = daily(tmp_path, *day)
    assert done.returncode == 2
    assert "access_history*: no file matches it" in done.stderr


def pins(lock: Path) -> dict[str, str]:
    """Each pin of a lock file, with the hashes of its files."""
    blocks = [one for one in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8")) if "==" in one.partition("\n")[0]]
    return {re.split(r"[ ;\\]", one)[0]: " ".join(re.findall(r"sha256:[0-9a-f]{64}", one)) for one in blocks}


def test_the_image_has_the_packages_of_the_lock_by_their_hashes() -> None:
    image, every = pins(ROOT / "deploy" / "requirements.lock"), pins(ROOT / "requirements.lock")
    assert {name: every.get(name) for name in image} == image
    assert all(image.values())
    names, todo = {one.partition("==")[0] for one in image}, ["snowflake-connector-python"]
    todo += [
        Requirement(one).name for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    ]
    seen = set[str]()
    while todo:  # everything that these need on this machine
        name = canonicalize_name(todo.pop())
        if name not in seen:
            seen.add(name)
            needed = map(Requirement, metadata.requires(name) or ())
            todo += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    assert seen <= names
    assert not names & {"pytest", "mypy", "playwright", "fakesnow"}


def test_the_image_downloads_no_package_without_its_hash() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = [
        one for line in text.splitlines() if line.startswith("RUN") for one in line.split("&&") if " pip " in one
    ]
    assert len(commands) == 5
    for one in commands:
        assert {"--require-hashes", "--no-index", "check"} & {*one.split()} or "--no-deps" in one, one
        assert "--no-build-isolation" in one or "pip wheel" not in one, "what builds a package is pinned too"


def test_the_image_is_pinned_by_digest_without_an_argument() -> None:
    """Both stages are built on it, and compose.yaml names no other."""
    lines = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").splitlines()
    named = [line.removeprefix("ARG PYTHON=") for line in lines if line.startswith("ARG PYTHON=")]
    assert len(named) == 1
    assert re.fullmatch(r"docker\.io/library/python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", named[0])
    assert lines.index(f"ARG PYTHON={named[0]}") < min(i for i, line in enumerate(lines) if line.startswith("FROM"))
    assert {line.split()[1] for line in lines if line.startswith("FROM")} == {"$PYTHON"}
    assert "PYTHON" not in (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("image", "status"), [("python:3.11-slim-bookworm", 1), ("", 1), (f"python:3.11@sha256:{'0' * 64}", 0)]
)
def test_the_image_is_built_on_a_digest_alone(image: str, status: int) -> None:
    """A tag is another image next week."""
    lines = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8").splitlines()
    check = next(line for line in lines if line.startswith("RUN ")).removeprefix("RUN ")
    done = subprocess.run(["sh", "-c", check], env={"PYTHON": image}, capture_output=True, text=True, check=False)
    assert (done.returncode, "deploy/README.md" in done.stderr) == (status, bool(status))
