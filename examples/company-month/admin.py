"""What the administrator does once: renames, a swap, a clone, a new dimension, first loads."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from company import AUDIENCE, DIMENSION, NEW_DIMENSION, RATES, STAGED_CUSTOMERS
from rhythm import CUSTOMER, load, same

if TYPE_CHECKING:
    from datetime import datetime

    from governance import Statement
    from statements import Account, Json, Lineage


def rename_discounts(account: Account, at: datetime) -> object:
    old, new = "MART.FINANCE.DISCOUNTS", "MART.FINANCE.DISCOUNTS_2025"
    change = account.change(old, "ALTER", {"objectName": {"value": new}})
    account.rename(old, new)
    return account.ddl(at, "OLGA_DBA", "RENAME_TABLE", change, f"alter table {old} rename to {new}")


def rename_score(account: Account, at: datetime) -> object:
    said = {"SCORE": {"objectName": {"value": "LOYALTY"}, "subOperationType": "ALTER"}}
    columns = account.relations[AUDIENCE].columns
    change = account.change(
        AUDIENCE, "ALTER", {"columns": {"SCORE": {"objectId": {"value": columns["SCORE"]}, **said["SCORE"]}}}
    )
    columns["LOYALTY"] = columns.pop("SCORE")
    return account.ddl(
        at, "OLGA_DBA", "RENAME_COLUMN", change, f"alter table {AUDIENCE} rename column score to loyalty"
    )


def build_new_dimension(account: Account, at: datetime) -> object:
    lineage = {**same(STAGED_CUSTOMERS, CUSTOMER), "SEGMENT": [(STAGED_CUSTOMERS, "REGION")]}
    sql = f"create table {NEW_DIMENSION} as select *, segment_of(region) as segment from STAGING.DBT.STG_CUSTOMERS"
    return account.create_as(at, "OLGA_DBA", NEW_DIMENSION, lineage, {STAGED_CUSTOMERS: CUSTOMER}, sql)


def swap_dimensions(account: Account, at: datetime) -> object:
    """Two rows with one query id; afterwards the names have changed places, the ids have not."""
    rows: list[Json] = []
    for one, other in ((DIMENSION, NEW_DIMENSION), (NEW_DIMENSION, DIMENSION)):
        target = account.relations[other]
        said: Json = {"swapTargetDomain": {"value": "Table"}, "swapTargetId": {"value": target.object_id}}
        rows.append(account.change(one, "ALTER", {**said, "swapTargetName": {"value": other}}))
    done = account.ddl(at, "OLGA_DBA", "ALTER", rows[0], f"alter table {DIMENSION} swap with {NEW_DIMENSION}")
    account.rows.append({**deepcopy(account.rows[-1]), "object_modified_by_ddl": rows[1]})
    account.swap(DIMENSION, NEW_DIMENSION)
    return done


def discounts(account: Account, at: datetime) -> object:
    source, target = "RAW.SHOP.PRODUCTS", "MART.FINANCE.DISCOUNTS"
    lineage: Lineage = {"SKU": [(source, "SKU")], "DISCOUNT": [], "VALID_UNTIL": []}
    sql = f"create table {target} as select sku, 0.05 as discount, '2025-12-31'::date as valid_until from {source}"
    return account.create_as(at, "TOM_ANALYST", target, lineage, {source: ("SKU",)}, sql)


def old_visits(account: Account, at: datetime) -> object:
    return load("RAW.STAGES.S3_CRM", "RAW.CRM.STORE_VISITS_2019", "archive")(account, at)


def first_rates(account: Account, at: datetime) -> object:
    return load("RAW.STAGES.S3_SHOP", RATES, "fx")(account, at)


def clone(user: str, source: str, target: str) -> Statement:
    def statement(account: Account, at: datetime) -> object:
        columns = tuple(account.relations[source].columns)
        lineage, sql = same(source, columns), f"create table {target} clone {source}"
        done = account.create_as(at, user, target, lineage, {source: columns}, sql, policies_referenced=[])
        account.rows[-1]["object_modified_by_ddl"]["properties"] |= _made_from(account, source)
        return done

    return statement


def _made_from(account: Account, source: str) -> Json:
    """The creation source. The view records it; the documents do not say under which name: this one is a guess."""
    relation = account.relations[source]
    said = {"Domain": relation.domain, "Id": relation.object_id, "Name": relation.name}
    return {f"cloneSource{key}": {"value": value} for key, value in said.items()}
