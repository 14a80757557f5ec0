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
    """Settings, which a person gives:

    ``account``        the account of rows that name none
    ``base``           the beginning of all IRIs
    ``events``, ``graph``, ``catalog``, ``facts``   whether this output is wanted
    ``syntaxes``       the syntaxes in which the graph is written
    ``compress``       whether the files of events and graph are compressed
    ``daily``          whether the graph has one read for all of a user's reads of an object on a day
    ``query_text``     whether SQL text is exported
    ``validate``       whether nodes are validated before they are written
    ``shapes``         folders with shapes of the user, besides those of the program
    ``openlineage``    how events name datasets and jobs
    ``forget_asked``   the users whose rows are to be removed from DIR, as they were given
    ``forget_before``  the day before which rows are removed from DIR; empty if none are

    This run, as an engine sets it up:

    ``screen``         leaves rows out and puts pseudonyms in the place of names while rows are read; None where nothing
                       is to be left out or replaced, and in all later steps
    ``in_order``       whether texts are sorted, so that people can read and compare them; only of small inputs
    ``partitions``     into how many parts messages are divided, each of which one worker processes
    ``run``            the number of this update of DIR, from 1; 0 if it is no update
    ``day``            the day that an update makes now; empty if it is no update
    ``day_end``        the end of this day, in microseconds since 1970; 0 if it is no update
    ``turn``           a text that no other turn has. If shapes refuse a query, all is made again without it, in another
                       turn, which must not use what is cached of this one

    Known after reading, once all rows were read:

    ``forget_users``   the users in DIR whom ``forget_asked`` means
    ``first_starts``   the start of the first query of each account, in microseconds since 1970
    ``query_digest``   a digest of the ids of all queries, from which the load gets its name
    ``has_container_clones``   whether a schema or database was cloned, in these rows or on an earlier day
    ``has_container_ends``     whether a schema or database was dropped, replaced or restored in these rows
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
    shapes: tuple[str, ...] = ()
    openlineage: OpenLineageSettings = field(default_factory=OpenLineageSettings)
    forget_asked: tuple[ForgottenUser, ...] = ()
    forget_before: str = ""

    screen: Screen | None = None
    in_order: bool = True
    partitions: int = 1
    run: int = 0
    day: str = ""
    day_end: int = 0
    turn: str = ""

    forget_users: tuple[str, ...] = ()
    first_starts: Mapping[str, int] = field(default_factory=dict)
    query_digest: int = 0
    has_container_clones: bool = False
    has_container_ends: bool = False

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
