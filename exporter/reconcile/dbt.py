"""The lineage that dbt declares: its ``manifest.json``, of which each node says what it depends on.

A manifest has no column lineage, so what it declares is compared table by table. A model, seed or snapshot is a
relation of Snowflake (``relation_name``, with the quotes that it has in SQL). A node that is no relation is replaced by
its parents: ephemeral models are parts of the statements of others, functions are called by them, and metrics and
semantic models stand between an exposure and its models.
An exposure is a dashboard or another thing outside of Snowflake. Tests and analyses fill nothing.

Source: dbt's documentation, "Manifest JSON file": nodes, sources, exposures, parent_map, depends_on, relation_name,
resource_type, config.materialized, metadata.generated_at, metadata.adapter_type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw, Struct

from exporter.ask.answers import first_of
from exporter.errors import UsageError
from exporter.input.times import parse_time
from exporter.reconcile.declared import DeclaredDataset, DeclaredEdge, FilledDataset, Item, dataset

FORM: Final = "dbt manifest"
_SNOWFLAKE: Final = "snowflake"
_RELATIONS: Final = frozenset(("model", "seed", "snapshot", "source"))
_FILL_NOTHING: Final = frozenset(("test", "unit_test", "analysis", "operation", "sql_operation", "rpc"))
_VIEWS: Final = frozenset(("view", "materialized_view"))
_EPHEMERAL: Final = "ephemeral"
_NAMED: Final = 3
"""The most names in a note."""


class Metadata(Struct):
    """The part of a manifest that says what it is. ``adapter_type``: the database that the project runs in."""

    dbt_schema_version: str = ""
    generated_at: str | None = None
    adapter_type: str | None = None
    project_name: str | None = None


class Manifest(Struct):
    """A manifest, whose nodes are read one by one, so that an error names the node."""

    metadata: Metadata
    nodes: dict[str, Raw]
    sources: dict[str, Raw] | None = None
    exposures: dict[str, Raw] | None = None
    metrics: dict[str, Raw] | None = None
    semantic_models: dict[str, Raw] | None = None
    saved_queries: dict[str, Raw] | None = None
    functions: dict[str, Raw] | None = None
    parent_map: dict[str, list[str]] | None = None

    @property
    def at(self) -> int | None:
        """When it was made, in microseconds since 1970 (UTC)."""
        return parse_time(self.metadata.generated_at) if self.metadata.generated_at else None


class _DependsOn(Struct):
    nodes: list[str] | None = None


class _Config(Struct):
    materialized: str | None = None


class _Node(Struct):
    resource_type: str = ""
    name: str = ""
    database: str | None = None
    schema: str | None = None
    alias: str | None = None
    identifier: str | None = None
    relation_name: str | None = None
    depends_on: _DependsOn | None = None
    config: _Config | None = None

    @property
    def materialized(self) -> str:
        return (self.config and self.config.materialized) or ""

    @property
    def relation(self) -> str | None:
        """The name in SQL; None for what is no relation."""
        if self.resource_type not in _RELATIONS or self.materialized == _EPHEMERAL:
            return None
        parts = (self.database, self.schema, self.identifier or self.alias or self.name)
        return self.relation_name or (".".join(map(str, parts)) if all(parts) else None)


_node: Final = msgspec.json.Decoder(_Node).decode


def items(manifest: Manifest, name: str, left_out: list[str]) -> Iterator[Item]:
    """What the manifest declares, in the order of its nodes. ``name``: of the file, for errors. ``left_out``: gets what
    of it is not declared, for people. Raises UsageError.
    """
    nodes = {
        key: _read(key, raw, kind, name)
        for kind in ("nodes", "sources", "exposures", "metrics", "semantic_models", "saved_queries", "functions")
        for key, raw in (getattr(manifest, kind) or {}).items()
    }
    project = manifest.metadata.project_name or "project"
    adapter = manifest.metadata.adapter_type or _SNOWFLAKE
    datasets_or_none = {key: _dataset(node, key, adapter, project, name) for key, node in nodes.items()}
    datasets = {key: node_dataset for key, node_dataset in datasets_or_none.items() if node_dataset is not None}
    filling = (key for key, node in nodes.items() if node.resource_type not in _FILL_NOTHING)
    missing = sorted({parent for key in filling for parent in _depends_on(key, nodes, manifest)} - nodes.keys())
    if missing:
        left_out.append(f"what goes through {first_of(missing, _NAMED)}, which nodes depend on and the manifest lacks")
    for key, target in datasets.items():
        node = nodes[key]
        if node.resource_type == "source":
            continue
        if node.resource_type != "exposure":
            yield FilledDataset(target, manifest.at, node.materialized in _VIEWS)
        for parent, via in _parents(key, nodes, datasets, manifest):
            yield DeclaredEdge(datasets[parent], target, name_time=manifest.at, job=key, via=via)


def _read(key: str, raw: Raw, kind: str, name: str) -> _Node:
    try:
        return _node(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{name}: {kind}, {key[:200]}: {error}. Give manifest.json as dbt wrote it") from None


def _dataset(node: _Node, key: str, adapter: str, project: str, name: str) -> DeclaredDataset | None:
    """The dataset that a node is; None for a node that is no relation."""
    if node.resource_type == "exposure":
        return dataset(f"dbt://{project}", key, name)
    relation = node.relation
    if relation is None:
        return None
    return dataset("" if adapter == _SNOWFLAKE else adapter, relation, f"{name}: {key[:200]}")


def _parents(
    key: str, nodes: dict[str, _Node], datasets: dict[str, DeclaredDataset], manifest: Manifest
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The relations that a node is filled from, each once, and by way of which nodes that are no relations."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(key, ())]
    visited = {key}
    while waiting:
        ancestor, via = waiting.pop(0)
        for parent in _depends_on(ancestor, nodes, manifest):
            if parent in visited or parent not in nodes or nodes[parent].resource_type in _FILL_NOTHING:
                continue
            visited.add(parent)
            if parent in datasets:
                yield parent, via
            else:
                waiting.append((parent, (*via, parent)))


def _depends_on(key: str, nodes: dict[str, _Node], manifest: Manifest) -> list[str]:
    depends_on = nodes[key].depends_on
    if depends_on is not None and depends_on.nodes is not None:
        return depends_on.nodes
    return (manifest.parent_map or {}).get(key, [])
