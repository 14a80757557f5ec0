from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# A first Spark job takes seconds, whatever the example: time says nothing about a property.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the Spark session starts a JVM; other tests that start one say so by the same mark.

    In several processes, the JVM's tests are one process's, and the others stay with their module. First of all hooks:
    pytest-xdist reads the groups in a hook of the same name, and would find none.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.jvm)
        is_jvm = item.get_closest_marker("jvm") is not None
        item.add_marker(pytest.mark.xdist_group("jvm" if is_jvm else item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, as the program starts it for a small input."""
    from exporter.engine import session  # noqa: PLC0415 - the other tests do not wait for Spark

    os.environ["TZ"] = "UTC"
    time.tzset()
    started = session.start(0, app_name="tests")
    yield started
    started.stop()


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.jvm)])
def engine(request: pytest.FixtureRequest) -> str:
    """Both engines, by what ``--engine`` calls them."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)
