"""Shells complete commands, options, questions and values: by the script that ``exporter completion`` prints."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from exporter.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

_ASKS: Final = {
    "bash": """
source {script}
COMP_WORDS=({words} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_WORDS[COMP_CWORD]='{begun}'
_exporter_completion exporter 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
autoload -Uz compinit; compinit -u -D
source {script}
_describe() {{ print -rl -- ${{(P)3}} }}
compadd() {{ print -rl -- ${{(P)argv[-1]}} }}
words=({words} '{begun}'); CURRENT=${{#words}}
_exporter_completion
""",
    "fish": """
source {script}
complete -C '{words} {begun}'
""",
}
"""Shell -> how it completes what is ``begun`` after ``words``, without a terminal. ``script``: what the program printed
for it, which takes as long as to complete.
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a shell's script."""
    folder = tmp_path_factory.mktemp("completion")

    @cache
    def of(shell: str) -> Path:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert main(["completion", shell]) == 0
        (folder / shell).write_text(out.getvalue(), encoding="utf-8")
        return folder / shell

    return of


@pytest.mark.parametrize("shell", _ASKS)
@pytest.mark.parametrize(
    ("words", "begun", "completed"),
    [
        ("exporter", "qu", {"query", "queries", "quarantine"}),
        ("exporter query", "who", {"who-accessed"}),
        ("exporter query who-accessed lineage", "--obj", {"--object-name", "--object-id"}),
        ("exporter query --graph lineage", "tag", {"tag-history", "tag-reach"}),
        ("exporter query user-history lineage", "--user", {"--user-name"}),
        ("exporter export --engine", "", {"spark", "local"}),
        ("exporter push lineage --profile", "data", {"datahub", "dataplex", "datazone"}),
        ("exporter completion", "", {"bash", "zsh", "fish"}),
    ],
)
def test_a_shell_completes(
    shell: str, words: str, begun: str, completed: set[str], printed: Callable[[str], Path], tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    script = _ASKS[shell].format(words=words, begun=begun, script=printed(shell))
    done = subprocess.run([shell, "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    # zsh and fish show what each one means beside it.
    lines = done.stdout.replace("\t", ":").splitlines()
    assert {line.partition(":")[0] for line in lines if line} == completed, done


@pytest.mark.parametrize("arguments", [[], ["tcsh"]])
def test_a_shell_that_is_not_known(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", *arguments]) == 2
    said = capsys.readouterr().err
    assert [shell for shell in _ASKS if shell not in said] == []
