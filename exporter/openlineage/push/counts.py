"""The results of a push in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counts:
    """``events = delivered + already_delivered + set_aside + left``."""

    events: int = 0
    delivered: int = 0
    already_delivered: int = 0
    set_aside: int = 0
    left: int = 0
