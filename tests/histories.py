"""Small random histories of difficult rows, for property tests and differential tests.

Every row is valid: an exporter must not quarantine any of them. Rows that cannot be read are in ``BAD_ROWS``;
``write_form`` writes the same rows in every format in which they leave Snowflake.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random

from hypothesis import strategies as st

from tests.hard_ddl import DDL_ROWS
from tests.hard_objects import Json, World
from tests.hard_rows import ACCESS_ROWS
from tests.input.bad_rows import BAD_NESTED_ROWS, BAD_ROWS
from tests.input.input_forms import FORMS, write_form

__all__ = ["BAD_NESTED_ROWS", "BAD_ROWS", "FORMS", "Json", "histories", "random_history", "write_form"]


def random_history(seed: int, rows: int) -> list[Json]:
    """About ``rows`` rows (a statement may have up to three), always the same for the same arguments."""
    return history(Random(seed), rows)


@st.composite
def histories(draw: st.DrawFn, max_rows: int = 12) -> list[Json]:
    """A history of up to about ``max_rows`` rows, whose every choice Hypothesis can shrink."""
    return history(draw(st.randoms(use_true_random=False)), draw(st.integers(1, max_rows)))


def history(rng: Random, rows: int) -> list[Json]:
    """Statements over one small world, then exact duplicates, then the order in which they were delivered."""
    world, told = World.build(rng), list[Json]()
    while len(told) < rows:
        told += rng.choice(rng.choice((ACCESS_ROWS, ACCESS_ROWS, DDL_ROWS)))(rng, world)
    told += [deepcopy(rng.choice(told)) for _ in range(rng.randint(0, 1 + rows // 10))]
    rng.shuffle(told)
    return told
