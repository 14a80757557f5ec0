"""The OpenLineage output: facts -> events, checked, and sent to a backend."""

from exporter.openlineage.events import EVENT_COLUMNS, events
from exporter.openlineage.settings import OpenLineageSettings

__all__ = ["EVENT_COLUMNS", "OpenLineageSettings", "events"]
