from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from exporter import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# A first Spark job takes seconds, whatever the example: time says nothing about a property.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, as the program starts it for a small input."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    started = session.start(0, app_name="tests", master="local[2]")
    yield started
    started.stop()
