"""What the steward does: policies with their bodies, tags, what is set on which column."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from company import CUSTOMERS, EMAIL_MASK, FACT, PHONE_MASK, PII, REGION_FILTER
from statements import Account, Json, set_or_unset

Statement = Callable[[Account, datetime], object]

EMAIL_BODIES: Final = (
    "case when current_role() in ('MARKETING', 'STEWARD') then val else '*****' end",
    "case when current_role() = 'STEWARD' then val else '*****' end",
    "case when current_role() = 'STEWARD' then val when current_role() = 'SUPPORT' "
    "then regexp_replace(val, '.+@', '***@') else '*****' end",
)


def policy_body(policy: str, operation: str, body: str) -> Statement:
    def statement(account: Account, at: datetime) -> object:
        kind = "ROW_ACCESS_POLICY" if policy == REGION_FILTER else "MASKING_POLICY"
        sql = f"{operation.lower()} {kind.lower().replace('_', ' ')} {policy} ... -> {body}"
        change = account.change(policy, operation, {"policyBody": {"value": body}})
        return account.ddl(at, "PRIYA_STEWARD", f"{operation}_{kind}", change, sql)

    return statement


def mask_column(table: str, column: str, policy: str, operation: str = "ADD") -> Statement:
    def statement(account: Account, at: datetime) -> object:
        set_columns = {column: {"maskingPolicies": set_or_unset(policy, operation)}}
        change = account.change(table, "ALTER", {"columns": set_columns})
        key = (account.relations[table].object_id, column)
        account.masks |= {key: policy} if operation == "ADD" else {}
        if operation == "DROP":
            del account.masks[key]
        verb = "set" if operation == "ADD" else "unset"
        sql = f"alter table {table} modify column {column} {verb} masking policy {policy}"
        return account.ddl(at, "PRIYA_STEWARD", "ALTER_TABLE_MODIFY_COLUMN", change, sql)

    return statement


def tag_column(user: str, column: str, value: str | None) -> Statement:
    """Set (or, without a value, unset) the tag PII on a column of the customers."""

    def statement(account: Account, at: datetime) -> object:
        said = set_or_unset(PII, "ADD" if value else "DROP", value)
        change = account.change(CUSTOMERS, "ALTER", {"columns": {column: {"tags": said}}})
        key = (account.relations[CUSTOMERS].object_id, column)
        account.tagged.pop(key, None)
        account.tagged |= {key: PII} if value else {}
        verb = f"set tag {PII} = '{value}'" if value else f"unset tag {PII}"
        return account.ddl(
            at, user, "ALTER_TABLE_MODIFY_COLUMN", change, f"alter table {CUSTOMERS} modify column {column} {verb}"
        )

    return statement


def allowed(operation: str, **values: str) -> Statement:
    def statement(account: Account, at: datetime) -> object:
        said = {"allowedValues": {value: {"subOperationType": sub} for value, sub in values.items()}}
        sql = f"{operation.lower()} tag {PII} allowed_values ..."
        return account.ddl(at, "PRIYA_STEWARD", f"{operation}_TAG", account.change(PII, operation, said), sql)

    return statement


def mask_on_tag(account: Account, at: datetime) -> object:
    account.mask_of_tag[PII] = EMAIL_MASK
    change = account.change(PII, "ALTER", {"maskingPolicies": set_or_unset(EMAIL_MASK, "ADD")})
    return account.ddl(at, "PRIYA_STEWARD", "ALTER_TAG", change, f"alter tag {PII} set masking policy {EMAIL_MASK}")


def filter_rows(account: Account, at: datetime) -> object:
    account.filters[account.relations[FACT].object_id] = REGION_FILTER
    change = account.change(FACT, "ALTER", {"rowAccessPolicies": set_or_unset(REGION_FILTER, "ADD")})
    sql = f"alter table {FACT} add row access policy {REGION_FILTER} on (region)"
    return account.ddl(at, "PRIYA_STEWARD", "ALTER_TABLE", change, sql)


def altered(
    user: str, name: str, operation: str, properties: Json, sql: str, domain: str = "", number: int = 0
) -> Statement:
    """DDL that changes nothing that later statements depend on."""

    def statement(account: Account, at: datetime) -> object:
        kind = sql.split(maxsplit=1)[0].upper()
        return account.ddl(at, user, kind, account.change(name, operation, properties, domain, number), sql)

    return statement


def drop_phone_mask(account: Account, at: datetime) -> object:
    change = account.change(PHONE_MASK, "DROP", {})
    return account.ddl(at, "PRIYA_STEWARD", "DROP", change, f"drop masking policy {PHONE_MASK}")
