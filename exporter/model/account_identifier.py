"""Identifiers of Snowflake's accounts in canonical form, so that different exports and producers use the same names.

Snowflake accepts an identifier in any letter case and in several forms, and people copy it from addresses. The
canonical form is ``ORG-ACCOUNT`` in upper case, as in the views. If only the account's locator is given, it is
``locator.region.cloud`` in lower case, as in its address. Sources: Snowflake's documentation, "Account identifiers";
OpenLineage's naming page (spec/Naming.md), "Snowflake".
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from exporter.errors import UsageError

UNNAMED_ACCOUNT: Final = "local-account"
"""Stands for the account where none was named. No account has this name, and no IRI of an account is made from it."""
_HOW: Final = "in Snowflake, SELECT CURRENT_ORGANIZATION_NAME() || '-' || CURRENT_ACCOUNT_NAME() returns the name"

_scheme: Final = re.compile(r"\A(?:https?|snowflake)://")
_host: Final = re.compile(r"(?:\.privatelink)?(?:\.snowflakecomputing\.(?:com|cn))?[:/]*\Z")
_page: Final = re.compile(r"app\.snowflake\.com/([a-z]\w*)/(\w+)(?:/.*)?").fullmatch
_by_name: Final = re.compile(r"([a-z][a-z0-9]*)-(\w[\w-]*)", re.ASCII).fullmatch
_by_name_in_sql: Final = re.compile(r"([a-z][a-z0-9]*)\.([a-z]\w*)", re.ASCII).fullmatch
_by_locator: Final = re.compile(
    r"(?P<locator>\w+)(?P<compliance>\.fhplus|\.dod)?(?:\.(?P<region>[a-z]+-[a-z0-9-]+)(?:\.(?P<cloud>aws|azure|gcp))?)?",
    re.ASCII,
).fullmatch
_is_of_aws: Final = re.compile(r"[a-z]{2}-(?:[a-z]+-)+\d").fullmatch
_is_of_gcp: Final = re.compile(r"[a-z]+-[a-z]+\d").fullmatch


def normalized(account: str) -> str:
    """The canonical form of an account identifier. Raises UsageError if the text is not one.

    >>> normalized("acme-prod"), normalized("ACME.DATA_PROD")
    ('ACME-PROD', 'ACME-DATA_PROD')
    >>> normalized("https://acme-data-prod.snowflakecomputing.com/")
    'ACME-DATA_PROD'
    >>> normalized("XY12345"), normalized("xy12345.us-east-2"), normalized("XY12345.West-Europe")
    ('xy12345', 'xy12345.us-east-2.aws', 'xy12345.west-europe.azure')
    """
    if account == UNNAMED_ACCOUNT:
        return account
    plain = _host.sub("", _scheme.sub("", account.strip().lower()))
    if match := _by_name(plain) or _page(plain) or _by_name_in_sql(plain):
        # In addresses the underscores of an account name are written as hyphens; the name itself has no hyphen.
        return f"{match[1]}-{match[2].replace('-', '_')}".upper()
    if match := _by_locator(plain):
        region = match["region"]
        place = f".{region}.{match['cloud'] or _cloud(region)}" if region else ""
        return f"{match['locator']}{match['compliance'] or ''}{place}"
    raise UsageError(
        f"account: {account!r} is not an account identifier. Give ORG-ACCOUNT, such as MYORG-MYACCOUNT ({_HOW}), or a "
        "locator with its region, such as xy12345.us-east-2.aws"
    )


def normalized_if_account(account: str) -> str:
    """The canonical form of an account identifier; a text that is none stays as it is."""
    with suppress(UsageError):
        return normalized(account)
    return account


def _cloud(region: str) -> str:
    """The cloud of a region: ``us-east-2`` is AWS, ``us-central1`` is Google, ``west-europe`` is Azure."""
    return "aws" if _is_of_aws(region) else "gcp" if _is_of_gcp(region) else "azure"


def ambiguity_warning(account: str) -> str | None:
    """A warning if the account identifier is not unique, so that the names of two accounts may be equal; else None."""
    if account == UNNAMED_ACCOUNT:
        return (
            f"no --account was given, so all names begin with snowflake://{account}, and names of different accounts "
            f"cannot be distinguished. Give ORG-ACCOUNT: {_HOW}"
        )
    if "-" in account:
        return None
    return (
        f"{account} is a locator without a region, which two accounts can share; give the account as ORG-ACCOUNT, as "
        f"the views and other producers do: {_HOW}"
    )
