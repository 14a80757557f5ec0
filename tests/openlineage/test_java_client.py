"""The official Java client of OpenLineage reads every event and writes it again without loss.

Its jars come from Maven Central; the JVM is started and called through py4j, which Spark brings, so that no compiler of
Java is needed.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from tests import jars
from tests.openlineage import told

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
CLIENT = "io.openlineage.client.OpenLineage"
KINDS = {"RunEvent": "run", "DatasetEvent": "dataset"}
pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """The classes of a JVM with the client on its class path."""
    client = jars.class_path("openlineage-java")
    (bridge,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    options = {
        "jarpath": str(bridge),
        "java_path": jars.java(),
        "javaopts": ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"],
    }
    port = launch_gateway(classpath=client, die_on_exit=True, **options)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()


def told_again(jvm: Any, kind: str, events: list[Json], scratch: Path) -> list[Json]:
    """The events as the client's objects of one kind write themselves: in one call, because each takes its time."""
    mapper = jvm.io.openlineage.client.OpenLineageClientUtils.newObjectMapper()
    java = jvm.java.lang.Class
    every = mapper.getTypeFactory().constructCollectionType(java.forName("java.util.ArrayList"), java.forName(kind))
    given, written = scratch / "given.json", scratch / "written.json"
    given.write_text(json.dumps(events, ensure_ascii=False), encoding="utf-8")
    mapper.writeValue(jvm.java.io.File(str(written)), mapper.readValue(jvm.java.io.File(str(given)), every))
    return list(json.loads(written.read_text(encoding="utf-8")))


def same_time(event: Json) -> Json:
    """Java writes a time with as few digits as it needs."""
    return {**event, "eventTime": datetime.fromisoformat(event["eventTime"])}


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_comes_back_whole(kind: str, jvm: Any, tmp_path: Path) -> None:
    events = [event for event in told.events() if KINDS[kind] in event]
    back = told_again(jvm, f"{CLIENT}${kind}", events, tmp_path)
    assert len(events) > 50
    assert [same_time(event) for event in back] == [same_time(event) for event in events]


def test_the_clients_own_calls_give_the_same(jvm: Any) -> None:
    utils = jvm.io.openlineage.client.OpenLineageClientUtils
    for event in list(told.runs().values())[:20]:
        run = utils.runEventFromJson(json.dumps(event, ensure_ascii=False))
        assert run.getRun().getRunId().toString() == event["run"]["runId"]
        assert [one.getName() for one in run.getOutputs()] == [one["name"] for one in event["outputs"]]
        assert same_time(json.loads(utils.toJson(run))) == same_time(event)


def test_what_the_specification_names_becomes_a_class_of_its_own(jvm: Any) -> None:
    """A reader that took our facets for unknown ones would give them back whole and understand nothing."""
    utils = jvm.io.openlineage.client.OpenLineageClientUtils
    event = next(
        one for one in told.runs().values() if any("columnLineage" in output["facets"] for output in one["outputs"])
    )
    output = next(one for one in event["outputs"] if "columnLineage" in one["facets"])
    run = utils.runEventFromJson(json.dumps(event, ensure_ascii=False))
    (read,) = [one for one in run.getOutputs() if one.getName() == output["name"]]
    fields = read.getFacets().getColumnLineage().getFields().getAdditionalProperties()
    assert sorted(fields) == sorted(output["facets"]["columnLineage"]["fields"])
    assert [one.getName() for one in read.getFacets().getSchema().getFields()] == [
        one["name"] for one in output["facets"]["schema"]["fields"]
    ]
    assert run.getRun().getFacets().getExternalQuery().getSource() == "snowflake"
