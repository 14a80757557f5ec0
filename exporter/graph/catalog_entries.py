"""What the catalog is made from: an :class:`Entry` for each object, and :class:`Remark`s of queries on objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from exporter.graph.nodes.changes import is_set
from exporter.graph.nodes.objects import domain_label, label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exporter.queries.facts import QueryFacts, Setting
    from exporter.things.answers import Answers
    from exporter.things.lives import Life, Profile

HOLDS_DATA: Final = ("table", "view", "stream", "stage", "table-stage", "user-stage", "location")
TAG: Final = "tag"


class Entry(Struct, frozen=True):
    """An object that holds data, or a tag. ``label``: its name, else its place; ``domain``: what kind of object it is,
    for people to read; ``former``: its earlier names; ``columns``: column name -> ids. All are sorted.
    """

    account: str
    key: str
    label: str | None
    domain: str
    former: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def title(self) -> str:
        return self.key if self.label is None else self.label

    @property
    def is_tag(self) -> bool:
        return self.key.startswith(f"{TAG}/")


class Remark(Struct, frozen=True):
    """What one query, or several, recorded about the object ``key``. ``modified``: when the last query that wrote it
    started (microseconds since 1970, UTC; None: no write is known); ``themes``: the tags that queries set and that are
    still set: column (None: the object itself), key of the tag, value; ``values``: values that a tag was set to, or
    allows.
    """

    key: str
    modified: int | None = None
    themes: frozenset[tuple[str | None, str, str]] = frozenset()
    values: frozenset[str] = frozenset()


def entry(profile: Profile, life: Life) -> Entry | None:
    """The entry of an object; None where the catalog does not show it."""
    if profile.kind not in {*HOLDS_DATA, TAG}:
        return None
    return Entry(
        profile.account,
        profile.key,
        label_of(profile, life),
        domain_label(profile.kind),
        tuple(sorted({named.name for named in life.names if named.until is not None})),
        tuple(sorted(profile.locations)),
        tuple((name, tuple(sorted(ids))) for name, ids in sorted(profile.columns.items())),
    )


def remarks(facts: QueryFacts, answers: Answers) -> list[Remark]:
    """What a query recorded about objects, sorted by their keys."""
    drafts: dict[str, _Draft] = {}
    for write in facts.content.writes:
        drafts.setdefault(write.thing.key, _Draft()).modified = facts.start
    for change in facts.content.changes:
        for setting in change.settings:
            _note(setting, answers, drafts)
    return [draft.remark(key) for key, draft in sorted(drafts.items())]


def _note(setting: Setting, answers: Answers, drafts: dict[str, _Draft]) -> None:
    tag = setting.element_key
    if setting.property == "allowedValues" and setting.object_key.startswith(f"{TAG}/"):
        if setting.element is not None:
            drafts.setdefault(setting.object_key, _Draft()).values.add(setting.element)
    elif setting.property == "tags" and tag is not None and setting.value is not None:
        drafts.setdefault(tag, _Draft()).values.add(setting.value)
        is_over = (setting.change_key, setting.column_name, setting.property, tag) in answers.settings
        if is_set(setting) and not is_over:
            draft = drafts.setdefault(setting.object_key, _Draft())
            draft.themes.add((setting.column_name, tag, setting.value))


class _Draft(Struct):
    """A :class:`Remark` while its values are collected."""

    modified: int | None = None
    themes: set[tuple[str | None, str, str]] = field(default_factory=set)
    values: set[str] = field(default_factory=set)

    def remark(self, key: str) -> Remark:
        return Remark(key, self.modified, frozenset(self.themes), frozenset(self.values))


def by_key(said: Iterable[Remark]) -> Mapping[str, Remark]:
    """All remarks on an object merged into one, by the object's key. The order of the remarks does not matter."""
    drafts: dict[str, _Draft] = {}
    for remark in said:
        draft = drafts.setdefault(remark.key, _Draft())
        if remark.modified is not None:
            draft.modified = remark.modified if draft.modified is None else max(draft.modified, remark.modified)
        draft.themes |= remark.themes
        draft.values |= remark.values
    return {key: draft.remark(key) for key, draft in sorted(drafts.items())}


def shown(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of objects that hold data."""
    return (one for one in entries if not one.is_tag)
