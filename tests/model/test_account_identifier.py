"""An account identifier has one canonical form, whatever the form in settings and rows."""

from __future__ import annotations

import pytest

from exporter.errors import UsageError
from exporter.model.account_identifier import ambiguity_warning, normalized


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
    assert normalized(given) == "ACME-DATA_PROD"


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
    assert normalized(given) == one
    assert normalized(one) == one


@pytest.mark.parametrize(
    "given", ["", "-", "acme-", "-prod", "acme prod", "acme/prod", "acme-prod.us-east-1", "é-prod"]
)
def test_what_is_no_account_is_refused_with_where_to_find_it(given: str) -> None:
    with pytest.raises(UsageError, match="CURRENT_ORGANIZATION_NAME"):
        normalized(given)


def test_ambiguous_names_cause_a_warning() -> None:
    assert (ambiguity_warning("ACME-PROD"), ambiguity_warning("xy12345.us-east-2.aws")) == (None, None)
    assert "all names begin with snowflake://local-account" in str(ambiguity_warning("local-account"))
    assert "locator without a region" in str(ambiguity_warning("xy12345"))
