"""An account has one spelling, whatever the spelling in the settings or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.cli import configuration, main
from exporter.errors import UsageError
from exporter.settings import advice, spelled
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "given",
    [
        "ACME-DATA_PROD", "acme-data_prod", "acme-data-prod", "Acme-Data_Prod", "ACME.DATA_PROD", " acme-data-prod ",
        "acme-data-prod.snowflakecomputing.com", "https://acme-data-prod.snowflakecomputing.com/",
        "acme-data-prod.privatelink.snowflakecomputing.com", "snowflake://ACME-DATA_PROD",
        "https://app.snowflake.com/acme/data_prod/#/data/databases", "ACME-DATA_PROD.snowflakecomputing.cn",
    ],
)  # fmt: skip
def test_an_account_by_its_name(given: str) -> None:
    assert spelled(given) == "ACME-DATA_PROD"


@pytest.mark.parametrize(
    ("given", "one"),
    [
        ("XY12345", "xy12345"),
        ("xy12345.us-east-2", "xy12345.us-east-2.aws"),
        ("XY12345.US-EAST-2.AWS", "xy12345.us-east-2.aws"),
        ("xy12345.us-gov-west-1", "xy12345.us-gov-west-1.aws"),
        ("xy12345.fhplus.us-gov-west-1.aws", "xy12345.fhplus.us-gov-west-1.aws"),
        ("xy12345.us-central1", "xy12345.us-central1.gcp"),
        ("xy12345.east-us-2", "xy12345.east-us-2.azure"),
        ("xy12345.west-europe.azure", "xy12345.west-europe.azure"),
        ("https://xy12345.eu-central-1.snowflakecomputing.com", "xy12345.eu-central-1.aws"),
        ("local-account", "local-account"),
    ],
)
def test_an_account_by_its_locator(given: str, one: str) -> None:
    assert spelled(given) == one
    assert spelled(one) == one


@pytest.mark.parametrize(
    "given", ["", "-", "acme-", "-prod", "acme prod", "acme/prod", "acme-prod.us-east-1", "é-prod"]
)
def test_what_is_no_account_is_refused_with_where_to_find_it(given: str) -> None:
    with pytest.raises(UsageError, match="CURRENT_ORGANIZATION_NAME"):
        spelled(given)


def test_ambiguous_names_cause_a_warning() -> None:
    assert (advice("ACME-PROD"), advice("xy12345.us-east-2.aws")) == (None, None)
    assert "all names begin with snowflake://local-account" in str(advice("local-account"))
    assert "locator without a region" in str(advice("xy12345"))


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
