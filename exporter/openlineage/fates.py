"""The last change and the comment of a dataset, which later events repeat: a backend takes each event for the present
state, and would otherwise forget that a table was renamed or created, or what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.openlineage.objects import is_rename, written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.queries.facts import Change, QueryFacts
    from exporter.things.lives import Comment, Fate, Profile


def note(profiles: Mapping[tuple[str, str], Profile], facts: QueryFacts) -> None:
    """Records the change in the objects that the query writes or changes, under the names that they have as its
    outputs, and the comments that it sets. Of two comments of one query the greater is taken.

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
    for change in content.changes:
        text = _comment_after(change)
        if text is not None:
            profile = profiles[facts.account, change.thing.key]
            comment: Comment = (at, facts.query_id, text)
            profile.comment = max(profile.comment or comment, comment)


def _comment_after(change: Change) -> str | None:
    """The comment that the object has after a change, empty for none; None where the change leaves it as it was."""
    if change.comment is not None:
        return change.comment
    is_taken = any(
        one.property == "comment" and one.column_name is None and one.element is None for one in change.settings
    )
    return "" if is_taken or change.operation in {"CREATE", "REPLACE"} else None
