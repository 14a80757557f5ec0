"""The answers of things to a query: everything that it needs beside its own facts.

An object answers each query that uses it. The end of a version or a setting is known only later, so it is a
separate answer. A *state* is the path of a version without its object: ``version/QUERY``; ``before/QUERY`` for the
state before the first recorded query that uses the object; ``version-after-drop/QUERY`` if an object is read that
was last dropped. The version of a column is ``STATE/column/NAME``.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from exporter.model.identifiers import segment

SettingKey = tuple[str | None, str, str | None]
"""Column, property, element: a later setting with the same key replaces the earlier one."""


SettingOfChange = tuple[str, str | None, str, str | None]
"""Change, column, property, element: what distinguishes the settings of one query."""


class SettingOfQuery(NamedTuple):
    """A setting that a query made: its change, column (None: the object itself), property and element (the key of the
    tag or policy). ``names``: of the element; empty if the setting is unset. ``values``: of a tag, by each name; empty
    if none has one. Grants are settings too (:func:`exporter.model.grants.setting_of_grant`): their names are the key
    of the granted object, and the places of the revokes that also end the grant
    (:func:`exporter.model.grants.covering_revokes`).
    """

    change_key: str
    column: str | None
    property_name: str
    element: str | None
    names: tuple[str, ...]
    values: tuple[str | None, ...]

    @property
    def key(self) -> SettingKey:
        """What a later setting has to share to replace this one."""
        return self[1:4]

    @property
    def of_change(self) -> SettingOfChange:
        """What distinguishes it from the other settings of its query."""
        return self[:4]


Tag = tuple[str, str, str | None]
"""Name and value of a tag (empty if it has none), and the column that it is on (None: the object itself)."""


class CarriedSetting(NamedTuple):
    """A setting that follows its renamed column: the query that made it, the setting before and after, and since when
    it holds under the new name (microseconds since 1970).
    """

    query_id: str
    before: SettingOfQuery
    now: SettingOfQuery
    since: int


ObjectSpelling = tuple[str, str | None, str | None]
"""An object key, with the object's name and account as in the row."""


def state_made_by(query_id: str) -> str:
    """The state that a query made: ``version/QUERY``."""
    return f"version/{segment(query_id)}"


def state_before(query_id: str) -> str:
    """The state before the first recorded query that uses the object: ``before/QUERY``."""
    return f"before/{segment(query_id)}"


def state_after_drop(query_id: str) -> str:
    """The state of an object that is used after a query dropped it: ``version-after-drop/QUERY``."""
    return f"version-after-drop/{segment(query_id)}"


def is_recorded(state: str) -> bool:
    """Whether a query made the state."""
    return state.startswith("version/")


class Ending(Struct, frozen=True, gc=False):
    """The end of a version. ``until``: when the next version was made or the object was dropped. ``query_id``, ``at``:
    the DROP that ended it, None if it was not dropped. Times in microseconds since 1970, UTC.
    """

    until: int | None = None
    query_id: str | None = None
    at: int | None = None


class HelperWindow(Struct, array_like=True, frozen=True, gc=False):
    """A table's time from its CREATE to its DROP by the same session or request, on one day. ``start``: of the query
    that created it; ``end``: of the one that dropped it (microseconds since 1970). ``session``, ``request``: empty if
    they differ.
    """

    start: int
    end: int
    session: str
    request: str


class HelperSigns(Struct, array_like=True, frozen=True, gc=False):
    """What shows, beside its name, that an object may be a helper. ``temporary``: when it was first created as
    TEMPORARY; ``windows``: the times in which one session or request created and dropped it.
    """

    temporary: int | None
    windows: tuple[HelperWindow, ...]


class Dataset(Struct, frozen=True, gc=False):
    """The OpenLineage dataset of an object, for one of its spellings. ``facets``: a JSON object with the facets that
    every event has for the dataset (schema, type, hierarchy, data source). ``signs``: that the object may be a helper,
    None without any.
    """

    namespace: str
    name: str
    facets: bytes
    signs: HelperSigns | None = None


ColumnSource = tuple[str, str, str, bool]
"""A column's source: namespace and name of the dataset, its column, whether it lies beneath a view (a base source)."""


class HelperContent(Struct, array_like=True, frozen=True, gc=False):
    """What a helper held: the sources of its columns, each sorted; and the datasets that it was filled from, as
    namespace, name and facets (see :class:`Dataset`), sorted.
    """

    columns: dict[str, list[ColumnSource]] = {}
    inputs: list[tuple[str, str, bytes]] = []


class Bridge(Struct, array_like=True, frozen=True, gc=False):
    """What a query's event says in place of helpers. All are sorted; datasets are namespace and name.

    ``read``     the tables that it read, with what they held, and whether that is all; if not, the table stays an input
    ``views``    the views that it read; its own row names what is behind them
    ``hidden``   the helpers that are no outputs
    ``moved``    the datasets that got the place of a helper by RENAME or SWAP, with the helper and what it held
    """

    read: list[tuple[str, str, HelperContent, bool]] = []
    views: list[tuple[str, str]] = []
    hidden: list[tuple[str, str]] = []
    moved: list[tuple[str, str, HelperContent]] = []


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
    ``carried``       object key -> settings that follow its renamed columns
    ``kept_masks``    (object key, new name of a column that it renames) -> masking policies that were enforced under
                      the former name and go on, though no row says since when they are set
    ``tags``          object key -> the tags in force after the query, of an object that it wrote or changed by DDL;
                      absent if there are none
    ``chains``        object key -> a number that increases when the object or a column is made anew, for objects read
    ``datasets``      (object key, name, account) as in the row -> the dataset
    ``bridge``        what its event says in place of helpers; None if it has to do with none
    ``parent_job``, ``root_job``  names of the jobs of the parent and the root query; None if they have no row
    """

    states: dict[str, str] = field(default_factory=dict)
    columns: dict[tuple[str, str], str] = field(default_factory=dict)
    priors: dict[str, str] = field(default_factory=dict)
    column_priors: dict[tuple[str, str], str] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    settings: dict[SettingOfChange, int] = field(default_factory=dict)
    carried: dict[str, list[CarriedSetting]] = field(default_factory=dict)
    kept_masks: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    tags: dict[str, list[Tag]] = field(default_factory=dict)
    chains: dict[str, int] = field(default_factory=dict)
    datasets: dict[ObjectSpelling, Dataset] = field(default_factory=dict)
    bridge: Bridge | None = None
    parent_job: str | None = None
    root_job: str | None = None
