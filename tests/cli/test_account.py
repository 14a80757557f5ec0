"""An account is one, whatever the form of its identifier in settings and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.cli import configuration, main
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_two_spellings_are_one_export(tmp_path: Path) -> None:
    """Also of what other settings name: a namespace to be mapped."""
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    (tmp_path / "s.toml").write_text('[openlineage]\nnamespaces = { "snowflake://acme-prod" = "snowflake://other" }\n')
    chosen = configuration.load({"inputs": ("x",), "out": "y"}, tmp_path / "s.toml", {})
    assert chosen.openlineage.namespaces == {"snowflake://ACME-PROD": "snowflake://other"}
    given = ["--out", str(tmp_path / "out"), "--engine", "local", "--update"]
    assert main(["export", str(rows), *given, "--account", "acme-prod"]) == 0
    assert main(["export", str(rows), *given, "--account", "https://ACME-PROD.snowflakecomputing.com"]) == 0
    assert exports.report(tmp_path / "out")["account"] == "ACME-PROD"


def test_an_update_takes_the_account_of_dir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the beginning of its IRIs, also if both were given."""
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    for out, options in (("plain", []), ("based", ["--base", "https://example.org/"])):
        given = ["export", str(rows), "--out", str(tmp_path / out), "--engine", "local", "--update", *options]
        assert main([*given, "--account", "acme-prod"]) == 0
        capsys.readouterr()
        assert main(given) == 0
        assert capsys.readouterr().err == ""
        assert exports.report(tmp_path / out)["account"] == "ACME-PROD"


def test_an_update_of_another_account_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    given = ["export", str(rows), "--out", str(tmp_path / "out"), "--engine", "local", "--update"]
    assert main([*given, "--account", "acme-prod"]) == 0
    assert main([*given, "--account", "acme-other"]) == 2
    said = capsys.readouterr().err
    assert "was made with account ACME-PROD, but now it is ACME-OTHER" in said
    assert "leave out --account, then it is that of DIR" in said


def test_the_first_update_warns_that_no_account_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert main(["export", str(rows), "--out", str(tmp_path / "out"), "--engine", "local", "--update"]) == 0
    assert "no --account was given" in capsys.readouterr().err
