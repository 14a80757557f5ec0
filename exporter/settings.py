"""The settings of an export: their meaning, their allowed values, and their form in the manifest.

:mod:`exporter.cli.configuration` reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any, Final

from exporter.errors import UsageError
from exporter.graph.iri import STORAGE_SCHEMES
from exporter.graph.terms import SYNTAXES
from exporter.input.formats import is_remote
from exporter.model.account_identifier import UNNAMED_ACCOUNT, normalized
from exporter.openlineage.settings import HELPERS, OpenLineageSettings
from exporter.privacy.filters import Privacy
from exporter.system.files import KINDS as COMPRESSIONS

DEFAULT_ACCOUNT: Final = UNNAMED_ACCOUNT
OUTPUTS: Final = ("events", "graph", "catalog", "facts")
DEFAULT_OUTPUTS: Final = OUTPUTS[:2]
ENGINES: Final = ("spark", "local")
GRAPH_FORMATS: Final = tuple(SYNTAXES)
FULL, DAILY = "full", "daily"
READS: Final = (FULL, DAILY)
_MODE: Final = re.compile(r"0?7[057][057]")
_BASE: Final = re.compile(r"[a-z][a-z0-9+.-]*:[^\s<>\"{}|\\^`%?#]*/")


@dataclass(frozen=True)
class Settings:
    """``inputs``: files, folders, globs or tables. ``out``: the folder to write, a path or a URI. ``account``:
    ORG-ACCOUNT, for rows without an account. ``base``: the beginning of IRIs, ``snowflake://ACCOUNT/`` by default.
    ``query_history``, ``aggregate``: as ``inputs``, with the rows of these views.
    ``compress``: compression of events and graph. ``query_text``: whether SQL text, which can contain personal data,
    is exported. ``strict``: whether a quarantined row gives exit code 1. ``update``: whether rows are added to DIR.
    ``changes``: whether an update writes ``changes/``. ``dry_run``: whether nothing is published. ``forget_user``,
    ``forget_before``: users whose rows, and the day before which rows, are removed from DIR. ``engine``: ``spark`` or
    ``local``. ``shapes``: folders with the user's SHACL shapes. ``allow_empty``: whether an export without rows is
    published. ``min_rows``: fewer exported rows are not published; None means half of the rows in the old output.
    ``force``: publish any number of rows. ``mode``: of DIR's folders, in octal digits; files have it without
    execution. ``privacy``: pseudonyms and filters.
    """

    inputs: tuple[str, ...]
    out: str
    account: str = DEFAULT_ACCOUNT
    base: str = ""
    query_history: tuple[str, ...] = ()
    aggregate: tuple[str, ...] = ()
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
    mode: str = "0700"
    validate: bool = True
    engine: str = ENGINES[0]
    shapes: tuple[str, ...] = ()
    openlineage: OpenLineageSettings = field(default_factory=OpenLineageSettings)
    privacy: Privacy = field(default_factory=Privacy)

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not allowed; the message names the setting."""
        object.__setattr__(self, "account", normalized(self.account))
        if not self.base:
            object.__setattr__(self, "base", f"snowflake://{self.account}/")
        if not _BASE.fullmatch(self.base) or self.base.split(":", 1)[0] in STORAGE_SCHEMES:
            raise UsageError(
                f"base: {self.base!r} must be an IRI that ends in / and does not begin like a storage location"
            )
        for key, texts, known in (
            ("outputs", self.outputs, OUTPUTS),
            ("graph_format", self.graph_format, GRAPH_FORMATS),
            ("engine", (self.engine,), ENGINES),
            ("reads", (self.reads,), READS),
            ("compress", (self.compress,), COMPRESSIONS),
        ):
            wrong = [name for name in texts if name not in known]
            if wrong or not texts:
                raise UsageError(f"{key}: {', '.join(wrong) or 'none'} is not one of {', '.join(known)}")
        if self.min_rows is not None and self.min_rows < 0:
            raise UsageError(f"min_rows: {self.min_rows} is not a number of rows; give 0 or more")
        if self.query_text and self.privacy.filters.of_objects:
            raise UsageError(
                "query_text: SQL text can name objects that the lists of databases or schemas leave out, so it must "
                "not be exported with them; remove query_text, or the lists in [filter]"
            )
        if not _MODE.fullmatch(self.mode):
            raise UsageError(
                f"mode: {self.mode!r} is not a mode such as 0750, in octal digits: 7 for the owner, then for the group "
                "and for others, each 0, 5 (may read) or 7 (may write too)"
            )
        self._check_forgotten()
        if self.engine == "local" and is_remote(self.out):
            raise UsageError(f"out: {self.out}: without Spark only a folder on this machine can be written")

    def _check_forgotten(self) -> None:
        asked = self.forget_user or self.forget_before
        if asked and not self.update:
            raise UsageError("forget: rows can be removed only from a DIR made with --update, so give --update too")
        if not asked and not self.inputs and not self.aggregate:
            raise UsageError("INPUT: give the files, folders or table with the rows")
        if self.forget_before is not None:
            try:
                date.fromisoformat(self.forget_before)
            except ValueError:
                raise UsageError(f"forget_before: {self.forget_before!r} is not a day such as 2026-11-21") from None

    def of_account(self, account: str) -> Settings:
        """The same settings for another account, with its own beginning of IRIs unless another one was given."""
        is_own = self.base == f"snowflake://{self.account}/"
        return replace(self, account=account, base="" if is_own else self.base)

    def for_manifest(self) -> dict[str, Any]:
        """The settings for the manifest, without secrets and without the names of users to be forgotten. With
        pseudonyms also without texts that may have the names of users in them and are in no event.
        """
        apart = ("openlineage", "out", "privacy", "forget_user")
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in apart}
        for view in ("query_history", "aggregate"):  # a text or null, as scripts know it, unless there are several
            plain[view] = plain[view] if len(plain[view]) > 1 else next(iter(plain[view]), None)
        events = {one.name: getattr(self.openlineage, one.name) for one in fields(self.openlineage)}
        shown = self.privacy.as_digits
        events["helpers"] = [text if text in HELPERS else shown(text) for text in self.openlineage.helpers]
        events["namespaces"] = {shown(text): instead for text, instead in self.openlineage.namespaces.items()}
        return {**plain, "openlineage": events, **self.privacy.for_manifest()}
