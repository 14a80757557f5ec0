"""What analysts, scientists and support do once: reads, a copy, an upload, an unload, a wide table, a procedure."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from company import AUDIENCE, BY_REGION, CONTACTS, COPY, EXPORT, FACT, FEATURES, RATES, SCORE, UPLOADS, WEATHER
from rhythm import same

if TYPE_CHECKING:
    from datetime import datetime

    from governance import Statement
    from statements import Account, Json, Lineage


def reads(user: str, sql: str = "", join: str = "", **columns: str) -> Statement:
    """A SELECT; columns are given as ``DB__SCHEMA__OBJECT="A B C"``."""
    named = {name.replace("__", "."): tuple(shown.split()) for name, shown in columns.items()}
    return lambda account, at: account.read(at, user, named, sql, join=join)


def copy_emails(account: Account, at: datetime) -> object:
    columns = ("CUSTOMER_ID", "EMAIL")
    sql = f"create table {COPY} as select customer_id, email from {CONTACTS}"
    return account.create_as(at, "MARIA_ANALYST", COPY, same(CONTACTS, columns), {CONTACTS: columns}, sql)


def create_audience(account: Account, at: datetime) -> object:
    change = account.change(
        AUDIENCE, "CREATE", {"columns": account.added(AUDIENCE, account.relations[AUDIENCE].columns)}
    )
    return account.ddl(at, "MARIA_ANALYST", "CREATE_TABLE", change, f"create table {AUDIENCE} (...)")


def make_audience(account: Account, at: datetime) -> object:
    """INSERT through a UDF: the function is a source of SCORE beside the columns it is given."""
    lineage = {
        **same(COPY, ("CUSTOMER_ID", "EMAIL")),
        "SCORE": [(SCORE, ""), (FACT, "ORDER_ID"), (FACT, "REVENUE_EUR")],
    }
    needed = {COPY: ("CUSTOMER_ID", "EMAIL"), FACT: ("ORDER_ID", "CUSTOMER_ID", "REVENUE_EUR"), SCORE: ()}
    sql = f"insert into {AUDIENCE}\nselect c.customer_id, c.email, {SCORE}(count(o.order_id), sum(o.revenue_eur)) ..."
    return account.write(at, "MARIA_ANALYST", "INSERT", {AUDIENCE: lineage}, needed, sql, join="INNER_JOIN")


def unload_twice(account: Account, at: datetime) -> object:
    """An unload; its row is delivered twice, letter by letter."""
    done = account.write(
        at,
        "MARIA_ANALYST",
        "UNLOAD",
        {EXPORT: {}},
        {COPY: ("CUSTOMER_ID", "EMAIL")},
        f"copy into @{EXPORT}/autumn/ from {COPY}",
    )
    account.rows.append(deepcopy(account.rows[-1]))
    return done


def transfer(user: str, kind: str, source: str, target: str, sql: str) -> Statement:
    """PUT and GET: a place on somebody's machine at one end."""
    return lambda account, at: account.write(at, user, kind, {target: {}}, {source: ()}, sql)


def upload_rates(account: Account, at: datetime) -> object:
    copy: Lineage = {column: [] for column in account.relations[RATES].columns}
    sql = f"copy into {RATES} from @{UPLOADS}/fx_fixed.csv"
    return account.write(at, "TOM_ANALYST", "COPY", {RATES: copy}, {UPLOADS: ()}, sql, rows_inserted=31)


def delete(user: str, table: str, columns: tuple[str, ...], condition: str) -> Statement:
    def statement(account: Account, at: datetime) -> object:
        whole: Lineage = {column: [] for column in account.relations[table].columns}
        counts = {"rows_inserted": None, "rows_deleted": 31}
        sql = f"delete from {table} where {condition}"
        return account.write(at, user, "DELETE", {table: whole}, {table: columns}, sql, **counts)

    return statement


def churn_features(account: Account, at: datetime) -> object:
    """A wide table: the row was too large, and its column lineage and columns were cut."""
    lineage: Lineage = {"CUSTOMER_ID": [(FACT, "CUSTOMER_ID")], "REVENUE_EUR": [(FACT, "REVENUE_EUR")]}
    needed = {
        FACT: ("CUSTOMER_ID", "ORDER_ID", "REVENUE_EUR"),
        COPY: ("CUSTOMER_ID", "EMAIL"),
        WEATHER: ("REGION", "RAIN_MM"),
    }
    sql = f"create table {FEATURES} as select ... 2 000 columns ..."
    done = account.create_as(at, "JONAS_SCIENTIST", FEATURES, lineage, needed, sql, seconds=310.0)
    row = account.rows[-1]
    cut = [{"columnId": -1, "columnName": "TRUNCATED"}]
    for name in ("objects_modified", "policies_referenced", "base_objects_accessed"):
        row[name] = [{**element, "columns": cut} if "columns" in element else element for element in row[name]]
    return done


def close_month(account: Account, at: datetime) -> object:
    """A procedure that calls another for each region, which writes: parents and one root."""
    month, close_region = "MART.FINANCE.CLOSE_MONTH", "MART.FINANCE.CLOSE_REGION"
    root = account.read(at, "TOM_ANALYST", {month: ()}, f"call {month}('{at:%Y-%m-01}')", kind="CALL", seconds=40.0)
    for place, region in enumerate(("NORTH", "SOUTH")):
        called = at.replace(second=10 + 14 * place)
        above = {"parent_query_id": root, "root_query_id": root}
        sql = f"call {close_region}('{at:%Y-%m-01}', '{region}')"
        parent = account.read(called, "TOM_ANALYST", {close_region: ()}, sql, kind="CALL", seconds=12.0, **above)
        insert_region(
            account,
            called.replace(second=called.second + 2),
            region,
            {"parent_query_id": parent, "root_query_id": root},
        )
    return root


def insert_region(account: Account, at: datetime, region: str, above: Json) -> object:
    lineage = {"MONTH": [(FACT, "ORDER_DATE")], **same(FACT, ("REGION", "REVENUE_EUR"))}
    needed = {FACT: ("ORDER_DATE", "REGION", "REVENUE_EUR")}
    sql = f"insert into {BY_REGION} select date_trunc(month, order_date), ... from {FACT} where region = '{region}'"
    return account.write(at, "TOM_ANALYST", "INSERT", {BY_REGION: lineage}, needed, sql, seconds=8.0, **above)
