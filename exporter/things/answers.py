"""The answers of things to a query: everything that it needs beside its own facts.

An object answers each query that mentions it. The end of a version or a setting is known only later, so it is a
separate answer. A *state* is the path of a version without its object: ``version/QUERY``; ``before/QUERY`` for the
state before the first recorded query that mentions the object; ``version-after-drop/QUERY`` if an object is read that
was last dropped. The version of a column is ``STATE/column/NAME``.
"""

from __future__ import annotations

from msgspec import Struct, field

Spelled = tuple[str, str | None, str | None]
"""An object key, with the object's name and account as in the row."""


class Ending(Struct, frozen=True, gc=False):
    """The end of a version. ``until``: when the next version was made or the object was dropped. ``query_id``, ``at``:
    the DROP that ended it, None if it was not dropped. Times in microseconds since 1970, UTC.
    """

    until: int | None = None
    query_id: str | None = None
    at: int | None = None


class Dataset(Struct, frozen=True, gc=False):
    """The OpenLineage dataset of an object, for one of its spellings. ``facets``: a JSON object with the facets that
    every event has for the dataset (schema, type, hierarchy, data source).
    """

    namespace: str
    name: str
    facets: bytes


class Answers(Struct, gc=False):
    """All answers to one query.

    ``states``        object key -> the version in force when the query started, for objects that it read and policies
    ``columns``       (object key, column) -> the state that wrote the column's data, for source columns, and (at the
                      query's end) for columns that it renames
    ``priors``        object key -> the state before the version that the query made; absent if it created the object
    ``column_priors`` (object key, column) -> the same for a column that it wrote; absent if the column is new
    ``endings``       object key -> the end of the version that the query made; absent while it is in force
    ``settings``      (change key, column, property, element key) of a tag or policy that it set or unset -> when that
                      setting ended (microseconds since 1970); absent while it holds
    ``lives``         object key -> a number that increases when the object or a column is made anew, for objects read
    ``datasets``      (object key, name, account) as in the row -> the dataset
    ``parent_job``, ``root_job``  names of the jobs of the parent and the root query; None if they have no row
    """

    states: dict[str, str] = field(default_factory=dict)
    columns: dict[tuple[str, str], str] = field(default_factory=dict)
    priors: dict[str, str] = field(default_factory=dict)
    column_priors: dict[tuple[str, str], str] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    settings: dict[tuple[str, str | None, str, str | None], int] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    datasets: dict[Spelled, Dataset] = field(default_factory=dict)
    parent_job: str | None = None
    root_job: str | None = None
