"""Classes of nodes that vary by row: of objects by their kind, of settings by the property that they set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("ah:Table",),
    "view": ("ah:View",),
    "stage": ("ah:Stage",),
    "table-stage": ("ah:TableStage", "ah:Stage"),
    "user-stage": ("ah:UserStage", "ah:Stage"),
    "stream": ("ah:Stream",),
    "function": ("ah:Function",),
    "procedure": ("ah:Procedure",),
    "sequence": ("ah:Sequence",),
    "database": ("ah:Database",),
    "schema": ("ah:Schema",),
    "tag": ("ah:Tag", "skos:ConceptScheme"),
    "masking-policy": ("ah:MaskingPolicy", "ah:Policy"),
    "row-access-policy": ("ah:RowAccessPolicy", "ah:Policy"),
    "share": ("ah:Share",),
    "listing": ("ah:Listing",),
    "role": ("ah:Role",),
    "database-role": ("ah:DatabaseRole", "ah:Role"),
    "warehouse": ("ah:Warehouse",),
    "location": ("ah:Location",),
}
"""The classes of an object by its kind; a kind that is not here (or ends in ``-policy``) is an ah:SnowflakeObject
(ah:Policy)."""

DOMAIN_CLASSES: Final[Mapping[str, str]] = {
    "EXTERNAL TABLE": "ah:ExternalTable",
    "DYNAMIC TABLE": "ah:DynamicTable",
    "ICEBERG TABLE": "ah:IcebergTable",
    "HYBRID TABLE": "ah:HybridTable",
    "EVENT TABLE": "ah:EventTable",
    "TRANSIENT TABLE": "ah:TransientTable",
    "TEMPORARY TABLE": "ah:TemporaryTable",
    "MATERIALIZED VIEW": "ah:MaterializedView",
    "SECURE VIEW": "ah:SecureView",
    "EXTERNAL FUNCTION": "ah:ExternalFunction",
    "TABLE FUNCTION": "ah:TableFunction",
    "AGGREGATE FUNCTION": "ah:AggregateFunction",
}
"""The more exact class for domains that are special cases of their kind."""

SETTING_CLASSES: Final[Mapping[str, str]] = {
    "tags": "ah:TagSetting",
    "maskingPolicies": "ah:PolicySetting",
    "rowAccessPolicies": "ah:PolicySetting",
    "columns": "ah:ColumnSetting",
    "allowedValues": "ah:AllowedValueSetting",
}
"""The class of a setting by the property that it sets; an atomic property is an ah:PropertySetting, another compound
one an ah:Setting."""

VERSION_CLASSES: Final[Mapping[bool, tuple[str, ...]]] = {
    True: ("ah:Version", "prov:Entity"),
    False: ("ah:UnrecordedVersion", "ah:Version", "prov:Entity"),
}
"""The classes of a version. True: a recorded query made it. False: it is only known to have existed."""

COLUMN_VERSION_CLASSES: Final[Mapping[bool, tuple[str, ...]]] = {
    True: ("ah:ColumnVersion", "prov:Entity"),
    False: ("ah:UnrecordedColumnVersion", "ah:ColumnVersion", "prov:Entity"),
}
"""The classes of a version of a column, with the same two cases."""
