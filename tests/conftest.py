from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# A first Spark job takes seconds, whatever the example: time says nothing about a property.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


SHARED = ("tests/fetch/", "tests/mcp/", "tests/serve/", "tests/stores/")
"""Folders whose tests share a server or an export, which one process makes once."""
LONGEST = (
    "spark",
    "tests/ask/test_daily_questions.py",
    "tests/ask/test_questions_random.py",
    "tests/ask/test_questions.py",
    "tests/ask/test_jena.py",
    "tests/serve/",
    "tests/stores/",
    "tests/fetch/",
    "tests/mcp/",
    "tests/system/test_faults.py",
    "tests/engines/test_updates.py",
    "tests/graph/test_neighbourhood_exports.py",
    "tests/graph/test_owl.py",
    "tests/backends/test_kafka.py",
    "tests/marquez/",
    "tests/backends/test_push",
    "tests/hostile/",
    "tests/graph/test_differential.py",
    "tests/graph/test_holding.py",
    "tests/engines/test_engines.py",
    "tests/test_generator.py",
    "tests/privacy/test_screen.py",
    "tests/publish/test_publication_steps.py",
    "tests/graph/test_neighbourhood.py",
    "tests/graph/test_constraints.py",
    "tests/graph/test_reasoning.py",
    "tests/test_packaging.py",
    "tests/graph/test_graph.py",
    "tests/privacy/test_exports.py",
    "tests/publish/test_history.py",
    "tests/graph/test_daily",
    "tests/graph/test_interchange.py",
    "tests/graph/test_grants.py",
    "tests/ask/test_questions_benchmark.py",
    "tests/model/test_differential.py",
    "tests/privacy/test_drawn.py",
    "tests/backends/test_verify_catalogs.py",
    "tests/ask/",
    "tests/test_docs.py",
    "tests/publish/",
    "tests/openlineage/test_helpers.py",
    "tests/cli/",
    "tests/input/test_odd_rows.py",
    "tests/system/",
    "tests/privacy/test_lines.py",
    "tests/reconcile/",
    "tests/graph/test_shapes.py",
    "tests/test_",
    "tests/model/test_ddl_forms.py",
    "tests/graph/test_states.py",
    "tests/graph/test_checks.py",
    "tests/input/test_aggregates.py",
    "tests/graph/test_refused_shapes.py",
    "tests/openlineage/test_comments.py",
    "tests/graph/test_view_sources.py",
    "tests/privacy/test_filtered_exports.py",
    "tests/openlineage/test_settings.py",
    "tests/graph/test_report.py",
    "tests/graph/test_validate.py",
    "tests/input/test_input_forms.py",
    "tests/pipeline/test_recurring.py",
    "tests/input/test_hard_lines.py",
    "tests/model/test_histories.py",
    "tests/openlineage/test_client.py",
    "tests/openlineage/test_run_files.py",
)
"""How the names of the groups of tests begin that take longest: nine tenths of the time of all tests without a JVM.
``bin/test --fast`` leaves them out; what remains tests the functions from rows to nodes and events. They begin in this
order, before the others, which follow in the order of their names and are short, so that all processes end at about the
same time.
"""
LONG_ID = 120
"""Characters; longer texts are cut in the names of tests."""


def pytest_configure() -> None:
    let_programs_be_interrupted()


def let_programs_be_interrupted() -> None:
    """Background jobs of a shell ignore Ctrl-C, and so do their children: a test that interrupts one would wait until
    its time is up.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without long tests, their modules are not even read, which each process would do for itself."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    is_left_out = "not long" in config.option.markexpr and name.endswith(".py") and name.startswith(LONGEST)
    return True if is_left_out else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the Spark session starts a JVM; other tests that start one say so by the same mark.

    In several processes, a group of tests is run by one of them. First of all hooks: pytest-xdist reads the groups in a
    hook of the same name, and would find none. bin/test tells it to keep the order of the groups.
    """
    places = {}
    for item in items:
        name = group(item)
        places[item] = next((at for at, one in enumerate(LONGEST) if name.startswith(one)), len(LONGEST))
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.jvm)
        if places[item] < len(LONGEST):
            item.add_marker(pytest.mark.long)
        item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=places.__getitem__)


def group(item: pytest.Item) -> str:
    """All that use the Spark session; what shares something in a folder; the tests of a module."""
    drawn = getattr(item, "callspec", None)
    if "spark" in getattr(item, "fixturenames", ()) or (drawn and drawn.params.get("engine") == "spark"):
        return "spark"
    module = item.nodeid.partition("::")[0]
    return next((folder for folder in SHARED if module.startswith(folder)), module)


def pytest_collection_finish() -> None:
    """What the tests have imported stays until the end: the garbage collector need not look at it again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason why tests were skipped, with their number."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, times in sorted(reasons.items()):
        terminalreporter.write_line(f"{times} skipped: {reason}")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Short names for tests of long texts: pytest writes the name of each test into its environment, and
    pytest-xdist sends it from process to process.
    """
    if isinstance(val, str | bytes) and len(val) > LONG_ID:
        return f"{val[: LONG_ID // 2]!r} and {len(val) - LONG_ID // 2} more"
    return None


@pytest.fixture(scope="session", autouse=True)
def _without_waiting_for_the_disk() -> Iterator[None]:
    """What the tests write need not survive a power failure, which takes a millisecond and more for each file."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def answers_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """``exporter query`` answers in a process of its own, which takes longer to start than to answer. The answer is the
    same: only tests of the process need it.
    """
    from exporter.ask import pool  # noqa: PLC0415 - the other tests do not wait for the questions
    from tests.ask import asked  # noqa: PLC0415 - it imports the questions, which the other tests do not wait for

    monkeypatch.setattr(pool, "answer", asked.as_the_command)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, as the program starts it for a small input."""
    from exporter.engines import session  # noqa: PLC0415 - the other tests do not wait for Spark

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
