"""The lineage that a data contract declares: ``transformSourceObjects`` of the properties of its schema.

A contract of the Open Data Contract Standard (ODCS, version 3) is YAML. An object of its schema is a table or view of
the contract's server, and a property is a column. What a property lists is a table or a column of one.

Source: Open Data Contract Standard v3, sections "Schema" (name, physicalName, properties, transformSourceObjects) and
"Infrastructure & servers" (server, type, account, database, schema).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from exporter.errors import UsageError
from exporter.model.identifiers import match_name, parts_of
from exporter.reconcile.declared import SNOWFLAKE, Dataset, Declaration, Edge, FilledDataset, dataset
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.reconcile.declared import Item

FORM: Final = "ODCS data contract"
SOURCES: Final = "transformSourceObjects"
LARGEST: Final = 16 << 20
"""The most bytes of a contract."""
_MERGE: Final = "<<"
_CHARACTERS: Final = 60


@dataclass(frozen=True)
class Property:
    """A column of a contract's object. ``column``: in the form in which names are compared; ``sources``: what it lists;
    ``node``: its place in the text.
    """

    of: Dataset
    column: str
    sources: tuple[str, ...]
    node: yaml.MappingNode


@dataclass
class Contract:
    """A contract, with its text, so that it can be filled without a change to anything else. ``objects``: its tables
    and views; ``nested``: how many properties below a column list sources, which rows cannot show.
    """

    path: str
    text: str
    version: str = ""
    objects: list[tuple[Dataset, str]] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)
    nested: int = 0
    _default_names: tuple[str, str, str] = ("", "", "")

    def declaration(self, name: str) -> Declaration:
        """What the contract declares, as what any other file does. ``name``: of the file."""
        declaration = Declaration(name, f"{FORM} {self.version}", self._items(), contract=self)
        if self.nested:
            declaration.left_out.append(
                f"{SOURCES} of {self.nested:,} properties below a column, which rows do not show"
            )
        return declaration

    def _items(self) -> Iterator[Item]:
        for target, physical in self.objects:
            columns = tuple(
                declared_property.column for declared_property in self.properties if declared_property.of == target
            )
            yield FilledDataset(target, is_view="view" in physical.lower(), properties=columns)
        for declared_property in self.properties:
            for text in declared_property.sources:
                source, column = self._source(text)
                yield Edge(source, declared_property.of, column, declared_property.column)

    def _source(self, text: str) -> tuple[Dataset, str | None]:
        """The object and column that a property lists: DATABASE.SCHEMA.NAME, with .COLUMN or not. What is left out at
        the beginning is that of the server.
        """
        if "://" in text:
            scheme, _, rest = text.partition("://")
            host, _, path = rest.partition("/")
            return dataset(f"{scheme}://{host}", path or "/", self.path), None
        parts = parts_of(text)
        column = None
        if len(parts) == 4:
            last = parts.pop()
            inner = last[1:-1].replace('""', '"') if last.startswith('"') else last
            column = last if parts_of(inner) else inner
        namespace, database, schema = self._default_names
        left_out_parts = [part for part in (database, schema) if part][: 3 - len(parts)] if parts else []
        return dataset(namespace, ".".join([*left_out_parts, *parts]) if parts else text, self.path), column

    def read(self, root: yaml.MappingNode, server: str | None) -> None:
        """Reads the contract of a text. ``server``: the name of the server to use, if there are several."""
        root_mapping = _YamlMapping(root, self.path)
        self.version = root_mapping.text("apiVersion")
        if not self.version.startswith("v3."):
            raise UsageError(
                f"{self.path}: apiVersion is {visible(self.version[:_CHARACTERS]) or 'missing'}; contracts of version "
                "3 of the Open Data Contract Standard are read, such as v3.1.0"
            )
        self._default_names = _default_names(list(root_mapping.each("servers")), server, self.path)
        for item in root_mapping.each("schema"):
            target = self._object(item)
            self.objects.append((target, item.text("physicalType")))
            for inner in item.each("properties"):
                self._property(target, inner)
        if not self.objects:
            raise UsageError(f"{self.path}: the contract has no schema, so there is nothing to compare")

    def _object(self, item: _YamlMapping) -> Dataset:
        name = item.text("physicalName") or item.text("name")
        if not name:
            raise UsageError(f"{item.place}: an object of the schema has a name or physicalName")
        parts = parts_of(name)
        namespace, database, schema = self._default_names
        left_out_parts = [database, schema][: max(3 - len(parts), 0)] if parts else []
        if not all(left_out_parts):
            raise UsageError(
                f"{item.place}: {visible(name[:_CHARACTERS])} has no database and schema. Write physicalName as "
                "DATABASE.SCHEMA.NAME, or give the contract a server of type snowflake with database and schema"
            )
        return dataset(namespace, ".".join([*left_out_parts, name]), item.place)

    def _property(self, target: Dataset, item: _YamlMapping) -> None:
        name = item.text("physicalName") or item.text("name")
        if not name:
            raise UsageError(f"{item.place}: a property has a name or physicalName")
        self.properties.append(Property(target, match_name(name), item.texts(SOURCES), item.node))
        waiting = [*item.each("properties"), *item.below("items")]
        while waiting:
            inner = waiting.pop()
            self.nested += bool(inner.texts(SOURCES))
            waiting += [*inner.each("properties"), *inner.below("items")]


def read(data: bytes, path: str, server: str | None) -> Contract:
    """The contract in the bytes of a file. Raises UsageError, which names the line, for what is none."""
    if len(data) > LARGEST:
        raise UsageError(f"{path}: has more than {LARGEST >> 20} MiB, which no data contract has")
    root, text = compose(data, path)
    if not isinstance(root, yaml.MappingNode):
        raise UsageError(f"{path}: is no data contract: a contract has kind, apiVersion and schema")
    root_mapping = _YamlMapping(root, path)
    if root_mapping.has("dataContractSpecification"):
        raise UsageError(
            f"{path}: is of the Data Contract Specification; give a contract of the Open Data Contract Standard (ODCS)"
        )
    if root_mapping.text("kind") != "DataContract":
        raise UsageError(f"{path}: is no data contract: it has no line kind: DataContract")
    contract = Contract(path, text)
    contract.read(root, server)
    return contract


def compose(data: bytes, path: str) -> tuple[yaml.Node | None, str]:
    """The nodes of a YAML document, with their places in the text, and the text. No object is made of them."""
    try:
        text = data.decode("utf-8")
        return yaml.compose(text, yaml.SafeLoader), text
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text: byte {error.start:,}") from None
    except RecursionError:
        raise UsageError(f"{path}: is nested too deep") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{path}, line {line}: is no YAML: it has the character U+{error.character:04X}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else path
        raise UsageError(f"{where}: is no YAML: {getattr(error, 'problem', None) or error}") from None


def ident(data: bytes) -> str | None:
    """The id of the data contract in the bytes of a file; empty if it has none, None for what is no data contract."""
    try:
        root, _ = compose(data, "")
        root_mapping = _YamlMapping(root, "") if isinstance(root, yaml.MappingNode) else None
        return root_mapping.text("id") if root_mapping and root_mapping.text("kind") == "DataContract" else None
    except UsageError:
        return None


class _YamlMapping:
    """A mapping of the document, and where it is, for errors."""

    def __init__(self, node: yaml.MappingNode, path: str) -> None:
        self.node, self._path = node, path
        self.place = f"{path}, line {node.start_mark.line + 1}"
        self._values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.value == _MERGE:
                raise UsageError(f"{self.place}: merge keys (<<) are not read here; write the keys out")
            if isinstance(key, yaml.ScalarNode):
                self._values[key.value] = value

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str) -> str:
        """The text of a key; empty if it is missing or null."""
        node = self._values.get(key)
        if node is None or _is_null(node):
            return ""
        if not isinstance(node, yaml.ScalarNode):
            raise UsageError(f"{self._path}, line {node.start_mark.line + 1}: {key} is a text")
        return str(node.value).strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts in the list of a key."""
        nodes = tuple(node for node in self._list(key))
        for node in nodes:
            if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip():
                raise UsageError(f"{self._path}, line {node.start_mark.line + 1}: {key} is a list of names")
        return tuple(str(node.value).strip() for node in nodes)

    def each(self, key: str) -> Iterator[_YamlMapping]:
        """The mappings in the list of a key."""
        for node in self._list(key):
            yield self._of(key, node)

    def below(self, key: str) -> Iterator[_YamlMapping]:
        """The mapping of a key, if it has one."""
        node = self._values.get(key)
        if node is not None and not _is_null(node):
            yield self._of(key, node)

    def _of(self, key: str, node: yaml.Node) -> _YamlMapping:
        if not isinstance(node, yaml.MappingNode):
            raise UsageError(f"{self._path}, line {node.start_mark.line + 1}: in {key} are mappings of keys to values")
        return _YamlMapping(node, self._path)

    def _list(self, key: str) -> list[yaml.Node]:
        node = self._values.get(key)
        if node is None or _is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise UsageError(f"{self._path}, line {node.start_mark.line + 1}: {key} is a list")
        return list(node.value)


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _default_names(servers: list[_YamlMapping], wanted_name: str | None, path: str) -> tuple[str, str, str]:
    """The namespace, database and schema of the server in Snowflake; empty where the contract does not say them."""
    names = [server.text("server") for server in servers]
    if wanted_name is not None and wanted_name not in names:
        raise UsageError(
            f"{path}: has no server {visible(wanted_name)}; it has {', '.join(map(visible, names)) or 'none'}"
        )
    snowflake_servers = [
        server
        for server in servers
        if server.text("type") == "snowflake" and wanted_name in (None, server.text("server"))
    ]
    if wanted_name is not None and not snowflake_servers:
        raise UsageError(f"{path}: the server {visible(wanted_name)} is not of type snowflake")
    names_of_server = {
        (server.text("account"), server.text("database"), server.text("schema")): server.text("server")
        for server in snowflake_servers
    }
    if len(names_of_server) > 1:
        raise UsageError(
            f"{path}: has several servers of Snowflake; give --server NAME: "
            f"{', '.join(map(visible, names_of_server.values()))}"
        )
    account, database, schema = next(iter(names_of_server), ("", "", ""))
    return f"{SNOWFLAKE}{account}" if account else "", database, schema
