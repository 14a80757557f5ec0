"""What happens every day or week: loads, the nightly transformations, dashboards, support, agents, the lakehouse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from statements import Account, Json, Lineage

Event = tuple[datetime, Callable[[Account, datetime], object]]

FIRST: Final = datetime(2026, 9, 1, tzinfo=UTC)
DAYS: Final = 30
FX_MODEL_SINCE: Final = FIRST.replace(day=8)
CUSTOMER: Final = ("CUSTOMER_ID", "FULL_NAME", "EMAIL", "PHONE", "REGION")
ORDER: Final = ("ORDER_ID", "CUSTOMER_ID", "ORDER_DATE", "AMOUNT", "CURRENCY")


def same(source: str, columns: tuple[str, ...]) -> Lineage:
    """Each column from the column of the same name."""
    return {column: [(source, column)] for column in columns}


def load(stage: str, table: str, path: str) -> Callable[[Account, datetime], object]:
    """COPY INTO a table from a stage: the stage is read, the table's columns are written, no column sources."""

    def statement(account: Account, at: datetime, user: str = "ETL_LOADER") -> object:
        columns: Lineage = {column: [] for column in account.relations[table].columns}
        sql = f"copy into {table} from @{stage}/{path}/{at:%Y/%m/%d}/".lower()
        return account.write(at, user, "COPY", {table: columns}, {stage: ()}, sql, seconds=21.4, rows_inserted=4_200)

    return statement


def tag_of(model: str) -> str:
    return json.dumps({"app": "dbt", "model": model})


def stage_customers(account: Account, at: datetime) -> object:
    source, target = "RAW.CRM.CUSTOMERS", "STAGING.DBT.STG_CUSTOMERS"
    sql = f"merge into {target} t using {source} s on t.customer_id = s.customer_id when matched then update ..."
    lineage = {target: same(source, CUSTOMER)}
    tag = tag_of("stg_customers")
    return account.write(at, "DBT_CLOUD", "MERGE", lineage, {source: CUSTOMER}, sql, query_tag=tag, rows_updated=37)


def stage_orders(account: Account, at: datetime) -> object:
    """INSERT ALL into two tables from a stream: two targets in one row."""
    source = "RAW.SHOP.ORDERS_STREAM"
    good, bad = "STAGING.DBT.STG_ORDERS", "STAGING.DBT.REJECTED_ORDERS"
    targets = {good: same(source, ORDER), bad: same(source, ("ORDER_ID", "AMOUNT", "CURRENCY"))}
    sql = f"insert all when amount >= 0 then into {good} else into {bad}\nselect * from {source}"
    reads = {source: (*ORDER, "METADATA$ACTION")}
    tag = tag_of("stg_orders")
    return account.write(at, "DBT_CLOUD", "MULTI_TABLE_INSERT", targets, reads, sql, seconds=9.7, query_tag=tag)


def orders_fact(account: Account, at: datetime) -> object:
    """The fact table; since the 8th the revenue is converted with the exchange rates."""
    orders, customers, rates = "STAGING.DBT.STG_ORDERS", "STAGING.DBT.STG_CUSTOMERS", "RAW.SHOP.FX_RATES"
    converted = at >= FX_MODEL_SINCE
    revenue = [(orders, "AMOUNT"), *([(rates, "RATE")] if converted else [])]
    lineage = {**same(orders, ORDER[:3]), "REGION": [(customers, "REGION")], "REVENUE_EUR": revenue}
    reads: dict[str, tuple[str, ...]] = {
        orders: ORDER if converted else ORDER[:4],
        customers: ("CUSTOMER_ID", "REGION"),
    }
    reads |= {rates: ("CURRENCY", "RATE_DATE", "RATE")} if converted else {}
    sql = f"merge into MART.SALES.FCT_ORDERS using (select ... from {' join '.join(reads)}) ..."
    more: Json = {"seconds": 34.2, "query_tag": tag_of("fct_orders"), "join": "LEFT_OUTER_JOIN"}
    return account.write(at, "DBT_CLOUD", "MERGE", {"MART.SALES.FCT_ORDERS": lineage}, reads, sql, **more)


def customer_dimension(account: Account, at: datetime) -> object:
    source, target = "STAGING.DBT.STG_CUSTOMERS", "MART.SALES.DIM_CUSTOMER"
    sql = f"merge into {target} t using {source} s on t.customer_id = s.customer_id when matched then update ..."
    lineage, tag = {target: same(source, CUSTOMER)}, tag_of("dim_customer")
    return account.write(at, "DBT_CLOUD", "MERGE", lineage, {source: CUSTOMER}, sql, seconds=6.1, query_tag=tag)


def refresh(account: Account, at: datetime) -> object:
    """A dynamic table refreshes itself."""
    source, target = "MART.SALES.FCT_ORDERS", "MART.SALES.DAILY_REVENUE"
    columns = ("ORDER_DATE", "REGION", "REVENUE_EUR")
    sql = f"alter dynamic table {target} refresh"
    return account.write(at, "SYSTEM", "INSERT", {target: same(source, columns)}, {source: columns}, sql, seconds=12.0)


def dashboard(account: Account, at: datetime) -> object:
    name = "MART.SALES.V_ORDERS" if at.day % 2 else "MART.SALES.DAILY_REVENUE"
    return account.read(at, "BI_SERVICE", {name: ("ORDER_DATE", "REGION", "REVENUE_EUR")}, seconds=1.2)


def supplier_board(account: Account, at: datetime) -> object:
    return account.read(at, "BI_SERVICE", {"MART.SALES.V_SUPPLIER_SALES": ("SUPPLIER", "SKU", "QUANTITY")})


def support(account: Account, at: datetime) -> object:
    view = "MART.MARKETING.V_CUSTOMER_CONTACTS"
    sql = f"select full_name, email, phone from {view} where customer_id = {40_000 + at.day}"
    return account.read(at, "LENA_SUPPORT", {view: ("CUSTOMER_ID", "FULL_NAME", "EMAIL", "PHONE")}, sql, seconds=0.8)


def controlling(account: Account, at: datetime) -> object:
    fact, customers = "MART.SALES.FCT_ORDERS", "MART.SALES.DIM_CUSTOMER"
    reads = {fact: ("CUSTOMER_ID", "ORDER_DATE", "REVENUE_EUR"), customers: ("CUSTOMER_ID", "REGION")}
    return account.read(at, "TOM_ANALYST", reads, join="INNER_JOIN", seconds=4.4)


def assistant(account: Account, at: datetime) -> object:
    """A question to the sales agent: it runs as the one who asks."""
    agents = [{"agentType": "CORTEX_AGENT", "agentId": 910, "agentName": "MART.SALES.SALES_ASSISTANT"}]
    reads = {"MART.SALES.V_ORDERS": ("REGION", "REVENUE_EUR")}
    return account.read(at, "TOM_ANALYST", reads, agents_info=agents, seconds=2.9)


def lakehouse(event: str) -> Callable[[Account, datetime], object]:
    """A call to the Iceberg REST catalog: no SQL, so nothing in QUERY_HISTORY."""

    def call(account: Account, at: datetime) -> object:
        table = {"RAW.LAKE.CLICKSTREAM": ("SESSION_ID", "CUSTOMER_ID", "URL", "CLICKED_AT")}
        known: Json = {"event_source": "horizon_irc", "additional_properties": {"irc_event_type": event}}
        if event == "UpdateTable":
            known["objects_modified"] = [account.element("RAW.LAKE.CLICKSTREAM")]
        account.read(at, "SPARK_LAKEHOUSE", {} if event == "UpdateTable" else table, "-", **known)
        return account.queries.pop()

    return call


def month() -> Iterator[Event]:
    """The recurring statements of all thirty days."""
    jitter = Random(2026)
    for day in (FIRST + timedelta(days=number) for number in range(DAYS)):
        for hour, minute, statement in (*_nightly(day), *_daytime(day)):
            at = day + timedelta(hours=hour, minutes=minute, seconds=jitter.randint(0, 9))
            yield at + timedelta(milliseconds=jitter.randint(0, 999)), statement


Slot = tuple[int, int, Callable[[Account, datetime], object]]


def _nightly(day: datetime) -> Iterator[Slot]:
    yield 2, 10, load("RAW.STAGES.S3_SHOP", "RAW.SHOP.ORDERS", "orders")
    yield 2, 12, load("RAW.STAGES.S3_SHOP", "RAW.SHOP.ORDER_LINES", "lines")
    yield 2, 14, load("RAW.STAGES.S3_CRM", "RAW.CRM.CUSTOMERS", "customers")
    if day.weekday() == 0 or day == FIRST:
        yield 2, 16, load("RAW.STAGES.S3_SHOP", "RAW.SHOP.PRODUCTS", "products")
    if day.weekday() < 5:
        yield from ((3, 5, stage_customers), (3, 6, stage_orders), (3, 10, orders_fact), (3, 14, customer_dimension))
    if day.weekday() in (0, 3):
        yield 3, 30, refresh


def _daytime(day: datetime) -> Iterator[Slot]:
    weekday = day.weekday()
    if weekday < 5:
        yield 7, 30, dashboard
    if weekday == 0:
        yield from ((7, 40, supplier_board), (22, 0, lakehouse("UpdateTable")))
    if weekday in (0, 2, 4):
        yield 10, 5, support
    if weekday == 1:
        yield 13, 20, controlling
    if weekday == 2:
        yield from ((15, 45, assistant), (22, 10, lakehouse("LoadTable")), (22, 11, lakehouse("PlanTableScan")))
