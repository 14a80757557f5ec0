"""The settings of an export: what they are, which values they may have, and what the manifest shows of them.

:mod:`exporter.configuration` reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Final

from exporter.account import spelled
from exporter.compressed import KINDS as COMPRESSIONS
from exporter.errors import UsageError
from exporter.graph.iri import STORAGE_SCHEMES, UNNAMED_ACCOUNT
from exporter.openlineage.settings import OpenLineageSettings
from exporter.privacy.settings import Privacy
from exporter.rows.paths import is_remote

DEFAULT_ACCOUNT: Final = UNNAMED_ACCOUNT
OUTPUTS: Final = ("events", "graph", "catalog", "facts")
DEFAULT_OUTPUTS: Final = OUTPUTS[:2]
ENGINES: Final = ("spark", "local")
GRAPH_FORMATS: Final = ("turtle", "ntriples", "nquads", "jsonld")
FULL, DAILY = "full", "daily"
READS: Final = (FULL, DAILY)
_BASE: Final = re.compile(r"[a-z][a-z0-9+.-]*:[^\s<>\"{}|\\^`%?#]*/")


@dataclass(frozen=True)
class Settings:
    """``inputs``: files, folders, globs or tables. ``account``: ORG-ACCOUNT, for rows that do not name their own.
    ``base``: what IRIs begin with, ``snowflake://ACCOUNT/`` by default. ``compress``: how events and graph are
    compressed. ``query_text``: whether SQL text, which can hold personal data, is kept. ``strict``: whether a
    quarantined row makes the exit code 1. ``out``: the folder to write, a path or a URI. ``update``: whether the rows
    are added to what DIR has; ``changes``: whether what that changes is written beside it; ``dry_run``: whether it is
    only told; ``forget_user``, ``forget_before``: whose rows, and those from before which day, DIR is not to hold
    any more. ``engine``: ``spark``, or ``local`` without it. ``shapes``: folders of the user's own SHACL shapes.
    ``allow_empty``: whether an export of no row is published; ``min_rows``: under so many exported rows it is not,
    None for half of what it replaces; ``force``: in any case. ``privacy``: pseudonyms and filters.
    """

    inputs: tuple[str, ...]
    out: str
    account: str = DEFAULT_ACCOUNT
    base: str = ""
    query_history: str | None = None
    outputs: tuple[str, ...] = DEFAULT_OUTPUTS
    graph_format: tuple[str, ...] = GRAPH_FORMATS[:1]
    reads: str = READS[0]
    compress: str = COMPRESSIONS[0]
    query_text: bool = False
    strict: bool = False
    replace: bool = False
    update: bool = False
    dry_run: bool = False
    changes: bool = True
    forget_user: tuple[str, ...] = ()
    forget_before: str | None = None
    allow_empty: bool = False
    min_rows: int | None = None
    force: bool = False
    validate: bool = True
    engine: str = ENGINES[0]
    shapes: tuple[str, ...] = ()
    openlineage: OpenLineageSettings = field(default_factory=OpenLineageSettings)
    privacy: Privacy = field(default_factory=Privacy)

    def __post_init__(self) -> None:
        """Refuse what cannot be right, naming the setting."""
        object.__setattr__(self, "account", spelled(self.account))
        if not self.base:
            object.__setattr__(self, "base", f"snowflake://{self.account}/")
        if not _BASE.fullmatch(self.base) or self.base.split(":", 1)[0] in STORAGE_SCHEMES:
            raise UsageError(
                f"base: {self.base!r} must be an IRI that ends in / and does not begin like a storage location"
            )
        for key, given, known in (
            ("outputs", self.outputs, OUTPUTS),
            ("graph_format", self.graph_format, GRAPH_FORMATS),
            ("engine", (self.engine,), ENGINES),
            ("reads", (self.reads,), READS),
            ("compress", (self.compress,), COMPRESSIONS),
        ):
            wrong = [name for name in given if name not in known]
            if wrong or not given:
                raise UsageError(f"{key}: {', '.join(wrong) or 'none'} is not one of {', '.join(known)}")
        if self.min_rows is not None and self.min_rows < 0:
            raise UsageError(f"min_rows: {self.min_rows} is no number of rows; give 0 or more")
        if self.query_text and self.privacy.filters.of_objects:
            raise UsageError(
                "query_text: SQL text names the objects that lists of databases or schemas leave out, so it cannot be "
                "kept with them; leave out query_text, or the lists in [filter]"
            )
        self._check_forgotten()
        if self.engine == "local" and is_remote(self.out):
            raise UsageError(f"out: {self.out}: without Spark only a folder of this machine can be written")

    def _check_forgotten(self) -> None:
        asked = self.forget_user or self.forget_before
        if asked and not self.update:
            raise UsageError("forget: rows are taken out of what --update left, so give --update")
        if not asked and not self.inputs:
            raise UsageError("INPUT: give the files, folders or table that hold the rows")
        if self.forget_before is not None:
            try:
                date.fromisoformat(self.forget_before)
            except ValueError:
                raise UsageError(f"forget_before: {self.forget_before!r} is no day like 2026-11-21") from None

    @property
    def forgotten(self) -> tuple[str, ...]:
        """The users whose rows are to go, as the rows name them."""
        key = self.privacy.key
        return self.forget_user if key is None else tuple(key.pseudonym(name) for name in self.forget_user)

    def shown(self) -> dict[str, Any]:
        """The settings for the manifest; none of them is a secret."""
        apart = ("openlineage", "out", "privacy", "forget_user")  # a name that is to be forgotten
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in apart}
        events = {one.name: getattr(self.openlineage, one.name) for one in fields(self.openlineage)}
        return {
            **plain,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "graph_format": list(self.graph_format),
            "shapes": list(self.shapes),
            "openlineage": dict(events),
            **self.privacy.shown(),
        }
