"""The parameters of the steps: the settings that they need, and results of earlier steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.openlineage.settings import OpenLineageSettings
from exporter.privacy.forgotten_users import ForgottenUser, asked_for
from exporter.privacy.screen import Screen
from exporter.settings import DAILY, Settings
from exporter.system.files import GZIP


@dataclass(frozen=True)
class ExportJob:
    """``account``, ``base``: of the export. ``events``, ``graph`` …: whether an output is wanted. ``syntaxes``: of
    the graph. ``compress``: whether files of events and graph are compressed. ``daily``: whether reads are added up
    by day. ``query_text``: whether SQL text is exported. ``validate``: whether nodes are validated. ``shapes``:
    folders with the user's shapes. ``in_order``: whether texts are sorted for people (small inputs only).
    ``begun``: start of each account's first query (microseconds since 1970); ``load``: a digest of the queries;
    ``clones``: whether a schema or database was cloned, in these rows or before; ``ends``: whether one
    was dropped, replaced or restored in these rows; all known once all rows are read.
    ``turn``: differs each time that the rounds are run, so that caches are not
    shared between them. ``run``: the number of this run in an update, otherwise 0. ``day``: the day that an update
    currently makes; ``until``: its end (microseconds since 1970). ``forget_asked``: the names of users to forget as
    they were given; ``forget_users``: the users of DIR that they mean, once known; ``forget_before``: the day
    before which rows are removed. ``partitions``: how many parts of the messages a step processes one by one.
    ``screen``: filters and pseudonyms for the first step, None without.
    """

    account: str
    base: str
    events: bool = True
    graph: bool = True
    catalog: bool = False
    facts: bool = False
    syntaxes: tuple[str, ...] = ("turtle",)
    compress: bool = False
    daily: bool = False
    query_text: bool = False
    validate: bool = True
    in_order: bool = True
    shapes: tuple[str, ...] = ()
    openlineage: OpenLineageSettings = field(default_factory=OpenLineageSettings)
    begun: Mapping[str, int] = field(default_factory=dict)
    clones: bool = False
    ends: bool = False
    load: int = 0
    turn: str = ""
    run: int = 0
    day: str = ""
    until: int = 0
    forget_asked: tuple[ForgottenUser, ...] = ()
    forget_users: tuple[str, ...] = ()
    forget_before: str = ""
    partitions: int = 1
    screen: Screen | None = None

    @property
    def forgets(self) -> bool:
        """Whether rows of earlier runs are removed."""
        return bool(self.forget_asked or self.forget_before)

    @classmethod
    def of(cls, settings: Settings) -> ExportJob:
        """The job of an export with these settings."""
        return cls(
            settings.account,
            settings.base,
            events="events" in settings.outputs,
            graph="graph" in settings.outputs,
            catalog="catalog" in settings.outputs,
            facts="facts" in settings.outputs,
            syntaxes=settings.graph_format,
            compress=settings.compress == GZIP,
            daily=settings.reads == DAILY and "graph" in settings.outputs,
            query_text=settings.query_text,
            validate=settings.validate,
            shapes=settings.shapes,
            forget_asked=tuple(asked_for(name, settings.privacy.key) for name in settings.forget_user),
            forget_before=settings.forget_before or "",
            openlineage=settings.openlineage,
            screen=Screen.of(settings.privacy, query_text=settings.query_text),
        )
