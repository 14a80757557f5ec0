"""The mix of an account's work: kinds of jobs with their share of the rows; the rest is DDL."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from benchmarks.account import Account
from benchmarks.shapes import (
    Shape,
    agent_select,
    call,
    get,
    iceberg,
    load,
    multi_write,
    put,
    select,
    truncated,
    udf_select,
    udf_write,
    unload,
    write,
)

Kind = Callable[[Random, Account], Shape]
WORKING: Final[dict[Kind, float]] = {
    select: 0.62,
    write: 0.17,
    load: 0.07,
    udf_select: 0.02,
    multi_write: 0.01,
    udf_write: 0.01,
    unload: 0.01,
    put: 0.01,
    get: 0.005,
    call: 0.015,
    agent_select: 0.01,
    iceberg: 0.01,
    truncated: 0.003,
}
"""A working account."""
READING: Final[dict[Kind, float]] = {
    **WORKING,
    select: 0.67,
    write: 0.21,
    load: 0.01,
    put: 0.004,
    get: 0.003,
    call: 0.004,
}
"""A mix in which nearly every statement reads a table."""
