from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from exporter.backends import attempts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For pushes: no settings but a test's own, and short waits between tries. Answers are waited for as always: on a
    busy machine, one that comes late would be asked for twice.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in os.environ:
        if name.startswith("OPENLINEAGE") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(attempts, "FIRST_WAIT", 0.002)
