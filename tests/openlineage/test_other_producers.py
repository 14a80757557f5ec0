"""Events of dbt, Airflow and Spark about the same tables, made with the client's classes, use the same names as
ours.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.naming.dataset import S3, DatasetNaming, Snowflake
from openlineage.client.serde import Serde

from tests import exports
from tests.input.bad_rows import GOOD
from tests.openlineage import told

if TYPE_CHECKING:
    from pathlib import Path

RUN: Final = "eebd5ee2-26f4-5bb9-a22f-02dbe0bd6c76"
PLACE: Final = S3("acme-landing", "shop/orders")
MODEL: Final = {
    **GOOD,
    "query_id": "model",
    "direct_objects_accessed": [
        {"objectDomain": "Table", "objectId": 7, "objectName": "ANALYTICS.STAGING.STG_ORDERS"},
        {"objectDomain": "Table", "objectId": 8, "objectName": 'ANALYTICS.STAGING."Stg Items"'},
    ],
    "objects_modified": [{"objectDomain": "Table", "objectId": 9, "objectName": "ANALYTICS.MARTS.ORDERS"}],
}
LOAD: Final = {
    **GOOD,
    "query_id": "load",
    "direct_objects_accessed": [{"locations": ["s3://acme-landing/shop/orders/"]}],
    "objects_modified": [{"objectDomain": "Table", "objectId": 7, "objectName": "ANALYTICS.STAGING.STG_ORDERS"}],
}
AS_DBT: Final = """
[openlineage]
letter_case = "lower"
namespaces = { "snowflake://ACME-PROD" = "snowflake://%s" }
"""


def other(inputs: list[DatasetNaming], output: DatasetNaming) -> told.Json:
    """The event of another producer, as it leaves the client."""
    event = RunEvent(
        eventTime="2026-03-01T08:00:00Z",
        eventType=RunState.COMPLETE,
        run=Run(runId=RUN),
        job=Job(namespace="dbt", name="marts.orders"),
        inputs=[InputDataset(namespace=one.get_namespace(), name=one.get_name()) for one in inputs],
        outputs=[OutputDataset(namespace=output.get_namespace(), name=output.get_name())],
    )
    return dict(json.loads(Serde.to_json(event)))


def sent(folder: Path, *options: str) -> dict[str, told.Json]:
    """Our COMPLETE events by query id."""
    rows = exports.ndjson([MODEL, LOAD], folder / "rows.ndjson")
    options = ("--outputs", "events", "--no-validate", *options)
    assert exports.export([rows], folder / "out", *options) == 0
    events = map(json.loads, exports.events(folder / "out"))
    return {told.query_id(event): event for event in events if event.get("eventType") == "COMPLETE"}


def meets(ours: told.Json, theirs: told.Json) -> bool:
    """Whether both name the same datasets, so that a backend draws one graph."""
    return all(set(told.names(ours[side])) == set(told.names(theirs[side])) for side in ("inputs", "outputs"))


def test_airflow_and_spark_use_our_names_without_settings(tmp_path: Path) -> None:
    def table(schema: str, name: str) -> DatasetNaming:
        return Snowflake("ACME", "PROD", "ANALYTICS", schema, name)

    found = sent(tmp_path)
    sources = [table("STAGING", "STG_ORDERS"), table("STAGING", '"Stg Items"')]
    assert meets(found["model"], other(sources, table("MARTS", "ORDERS")))
    assert meets(found["load"], other([PLACE], table("STAGING", "STG_ORDERS")))


@pytest.mark.parametrize("account", ["acme-prod", "xy12345.us-east-1.aws"])
def test_dbt_uses_our_names_with_letter_case_and_namespace(tmp_path: Path, account: str) -> None:
    """dbt spells names as its project does, in lower case, and the account as its profile does, often as a locator."""

    class Dbt(Snowflake):
        def get_namespace(self) -> str:
            return f"snowflake://{account}"

    def model(schema: str, name: str) -> DatasetNaming:
        return Dbt("acme", "prod", "analytics", schema, name)

    settings = tmp_path / "settings.toml"
    settings.write_text(AS_DBT % account, encoding="utf-8")
    found = sent(tmp_path, "--config", str(settings))
    sources = [model("staging", "stg_orders"), model("staging", '"Stg Items"')]
    assert meets(found["model"], other(sources, model("marts", "orders")))
    assert meets(found["load"], other([PLACE], model("staging", "stg_orders")))
    assert not meets(found["model"], other([*sources, model("staging", "stg_other")], model("marts", "orders")))


def test_names_that_differ_in_letter_case_are_different(tmp_path: Path) -> None:
    """What the setting is there for."""
    theirs: Any = other([PLACE], Snowflake("ACME", "PROD", "analytics", "staging", "stg_orders"))
    assert not meets(sent(tmp_path)["load"], theirs)
