"""What the steps of an export need to know: the settings that mean something to them, and what earlier steps found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exporter.compressed import GZIP
from exporter.openlineage.settings import OpenLineageSettings
from exporter.settings import DAILY
from exporter.steps.screening import Screen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.settings import Settings


@dataclass(frozen=True)
class Job:
    """``account``, ``base``: of the export. ``events``, ``graph`` …: which outputs are asked for; ``syntaxes`` of the
    graph. ``compress``: whether the files of events and graph are. ``validate``: whether nodes are validated;
    ``shapes``: folders of a user's own. ``in_order``: whether texts are put in an order for people, one by one;
    where they are many, they are written as they come. ``begun``: when each account's first query started
    (microseconds), and ``load``, a digest of the queries: known once all rows are read. ``turn``: another text each
    time that the rounds are made, so that what a process remembers of one is not taken for another's. ``run``: the
    number of this run where it adds to what earlier ones left; 0 where it stands alone. ``day``: the one that is
    made, where they are made one after the other, and ``until`` when it lasts (microseconds). ``forget_users``,
    ``forget_before``: whose rows of earlier runs go, and those from before which day. ``screen``: filters and
    pseudonyms, which are for the first step alone; None without.
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
    load: int = 0
    turn: str = ""
    run: int = 0
    day: str = ""
    until: int = 0
    forget_users: tuple[str, ...] = ()
    forget_before: str = ""
    screen: Screen | None = None

    @property
    def forgets(self) -> bool:
        """Whether rows of earlier runs are to go."""
        return bool(self.forget_users or self.forget_before)

    @classmethod
    def of(cls, settings: Settings) -> Job:
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
            forget_users=settings.forgotten,
            forget_before=settings.forget_before or "",
            openlineage=settings.openlineage,
            screen=Screen.of(settings.privacy, query_text=settings.query_text),
        )
