"""The addresses of queries: the buckets to which objects send their datasets."""

from __future__ import annotations

import pytest

from exporter.pipeline.messages import Addresses, bucket, query_key, statement_of
from tests.input.bad_rows import GOOD
from tests.model.told import row_of


@pytest.mark.parametrize(("partitions", "most"), [(1, 16), (2, 16), (32, 256), (33, 4_096), (10_000, 65_536)])
def test_there_are_about_eight_buckets_for_each_partition(partitions: int, most: int) -> None:
    addresses = Addresses(partitions)
    rows = [row_of({**GOOD, "objects_modified": [{"objectDomain": "Table", "objectId": n}]}) for n in range(1_000)]
    buckets = {bucket(addresses.of(row.content)) for row in rows}
    assert min(most, 1_000) * 0.6 < len(buckets) <= most


@pytest.mark.parametrize("partitions", [1, 10_000])
def test_runs_of_a_statement_have_one_address_until_they_are_many(partitions: int) -> None:
    addresses, row = Addresses(partitions), row_of(GOOD)
    keys = [query_key(addresses.of(row.content), "A", str(number)) for number in range(1_001)]
    assert len({statement_of(key) for key in keys}) == 3
