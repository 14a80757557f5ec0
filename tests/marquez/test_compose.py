"""The compose file pins its images and opens ports on loopback only; without Docker the command reports it."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import yaml

from tests.jars import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_images_are_pinned_and_ports_are_on_loopback() -> None:
    services = yaml.safe_load((ROOT / "examples" / "marquez" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    images = [one["image"] for one in services.values()]
    assert len(images) == 3
    assert all(re.fullmatch(r"[a-z/-]+:\d+(\.\d+)+", image) for image in images)
    ports = [port for one in services.values() for port in one.get("ports", [])]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


def marquez(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """``bin/marquez`` where ``docker`` is there and knows nothing of compose."""
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    docker.chmod(0o755)
    told = {name: value for name, value in os.environ.items() if name != "MARQUEZ_URL"}
    told |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", **environment}
    return subprocess.run([ROOT / "bin" / "marquez"], env=told, capture_output=True, text=True, timeout=60, check=False)


def test_without_docker_it_says_so_at_once(tmp_path: Path) -> None:
    ended = marquez(tmp_path)
    assert ended.returncode == 2
    assert "Docker" in ended.stderr
    assert "MARQUEZ_URL" in ended.stderr
    assert ended.stdout == ""
