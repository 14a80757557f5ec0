"""What things tell a query: all that it needs beside its own facts.

An object answers each query that mentions it; what ends a version or a setting is known later than its start, and comes
as an answer of its own. A *state* is the path of a version without its object: ``version/QUERY``; ``before/QUERY``
for what was there before the first query on record that speaks of the object; ``version-after-drop/QUERY`` where an
object is read that was last seen dropped. The version of a column is ``STATE/column/NAME``.
"""

from __future__ import annotations

from msgspec import Struct, field

Spelled = tuple[str, str | None, str | None]
"""An object key, and the name and account beside it, as a row has them."""


class Ending(Struct, frozen=True, gc=False):
    """What became of a version. ``until``: when the next was made or the object dropped; ``query_id``, ``at``: the
    DROP that ended it. Times in microseconds since 1970, UTC.
    """

    until: int | None = None
    query_id: str | None = None
    at: int | None = None


class Dataset(Struct, frozen=True, gc=False):
    """The dataset that an object is under one of its spellings. ``facets``: JSON text of an object, what every event
    tells of the dataset itself (schema, type, hierarchy, data source).
    """

    namespace: str
    name: str
    facets: bytes


class Answers(Struct, gc=False):
    """All answers to one query.

    ``states``        object key -> the version in force when the query started: of what it read, and of policies
    ``columns``       (object key, column) -> the state that wrote what the column held: of sources, and of columns that
                      the query renames (as of its end)
    ``priors``        object key -> the state before the version that the query made; absent where it created the object
    ``column_priors`` (object key, column) -> the same of a column that it wrote; absent where the column is new
    ``endings``       object key -> what became of the version that the query made; absent while it is in force
    ``settings``      (change key, column, property, element key) of a tag or policy that it set or unset -> when the
                      next setting of the same came (microseconds); absent while it holds
    ``lives``         object key -> a number that counts up where the object, or a column, begins anew; of what it read
    ``datasets``      (object key, name, account) as the row spells them -> the dataset
    ``parent_job``, ``root_job``  names of the jobs of the parent and the root, None where there is none on record
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
