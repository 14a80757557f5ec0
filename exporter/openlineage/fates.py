"""The last change of a dataset, which the dataset's own event repeats: a backend takes each event for the present
state, and would otherwise forget that a table was renamed or created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.openlineage.objects import is_rename, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.queries.facts import QueryFacts
    from exporter.things.lives import Fate, Profile


def note(profiles: Mapping[tuple[str, str], Profile], facts: QueryFacts) -> None:
    """Records the change in the objects that the query writes or changes, under the names that they have as its
    outputs.

    ``profiles``: by account and object key; they are changed in place.
    """
    content = facts.content
    if not content.writes and not content.changes:
        return
    former = {(one.thing.key, one.new_name): one.thing.name for one in content.changes if is_rename(one)}
    at = max(facts.start, facts.end)
    for one in written(content):
        name = one.thing.name
        if name is not None:
            fates = profiles[facts.account, one.thing.key].fates
            before = former.get((one.thing.key, name)) if one.state == "RENAME" else None
            fate: Fate = (at, facts.query_id, one.state or "", before or "")
            fates[name] = max(fates.get(name, fate), fate)
