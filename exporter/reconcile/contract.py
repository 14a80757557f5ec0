"""The lineage that a data contract declares: ``transformSourceObjects`` of the properties of its schema.

A contract of the Open Data Contract Standard (ODCS, version 3) is YAML. An object of its schema is a table or view of
the contract's server, and a property is a column. What a property lists is a table or a column of one.

Source: Open Data Contract Standard v3, sections "Schema" (name, physicalName, properties, transformSourceObjects) and
"Infrastructure & servers" (server, type, account, database, schema).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeVar

import yaml

from exporter.errors import UsageError
from exporter.model.identifiers import match_name, parts_of, unquoted
from exporter.reconcile.declared import (
    SNOWFLAKE,
    Declaration,
    DeclaredDataset,
    DeclaredEdge,
    FilledDataset,
    Item,
    dataset,
)
from exporter.system.terminal import visible

FORM: Final = "ODCS data contract"
SOURCES: Final = "transformSourceObjects"
LARGEST: Final = 16 << 20
"""The most bytes of a contract."""
_MERGE: Final = "<<"
_NULL: Final = "tag:yaml.org,2002:null"
_CHARACTERS: Final = 60
_N = TypeVar("_N", bound=yaml.Node)


@dataclass(frozen=True)
class ContractColumn:
    """A column of a contract's object. ``column``: in the form in which names are compared; ``sources``: what it lists;
    ``node``: its place in the text.
    """

    of: DeclaredDataset
    column: str
    sources: tuple[str, ...]
    node: yaml.MappingNode


@dataclass
class ContractDeclaration(Declaration):
    """The declaration of a data contract, which can be filled."""

    contract: Contract = field(kw_only=True)


class Contract:
    """A contract, with its text, so that it can be filled without a change to anything else. ``objects``: its tables
    and views, with their types; ``nested``: how many properties below a column list sources, which rows cannot show;
    ``node``: the document.

    ``server``: the name of the server to use, if there are several. Raises UsageError for what is no contract.
    """

    def __init__(self, root: _YamlMapping, text: str, server: str | None) -> None:
        self.path, self.text, self.node, self.server = root.path, text, root.node, server
        self.objects, self.properties, self.nested = list[tuple[DeclaredDataset, str]](), list[ContractColumn](), 0
        self.version = root.text("apiVersion")
        if not self.version.startswith("v3."):
            raise UsageError(
                f"{self.path}: apiVersion is {visible(self.version[:_CHARACTERS]) or 'missing'}; contracts of version "
                "3 of the Open Data Contract Standard are read, such as v3.1.0"
            )
        self._namespace, *self._above = _default_names(root.each("servers"), server, self.path)
        for item in root.each("schema"):
            target = self._object(item)
            self.objects.append((target, item.text("physicalType")))
            for inner in item.each("properties"):
                self._add_property(target, inner)
        if not self.objects:
            raise UsageError(f"{self.path}: the contract has no schema, so there is nothing to compare")

    def _object(self, item: _YamlMapping) -> DeclaredDataset:
        name = item.name("an object of the schema")
        parts = parts_of(name)
        above = self._above[: max(3 - len(parts), 0)] if parts else []
        if not all(above):
            raise UsageError(
                f"{item.place}: {visible(name[:_CHARACTERS])} has no database and schema. Write physicalName as "
                "DATABASE.SCHEMA.NAME, or give the contract a server of type snowflake with database and schema"
            )
        return dataset(self._namespace, ".".join([*above, name]), item.place)

    def _add_property(self, target: DeclaredDataset, item: _YamlMapping) -> None:
        column = match_name(item.name("a property"))
        self.properties.append(ContractColumn(target, column, item.texts(SOURCES), item.node))
        waiting = item.inner()
        while waiting:
            inner = waiting.pop()
            self.nested += bool(inner.texts(SOURCES))
            waiting += inner.inner()

    def declaration(self, name: str) -> ContractDeclaration:
        """What the contract declares, as what any other file does. ``name``: of the file."""
        declaration = ContractDeclaration(name, f"{FORM} {self.version}", self._items(), contract=self)
        if self.nested:
            declaration.left_out.append(
                f"{SOURCES} of {self.nested:,} properties below a column, which rows do not show"
            )
        return declaration

    def _items(self) -> Iterator[Item]:
        for target, physical in self.objects:
            columns = tuple(property_.column for property_ in self.properties if property_.of == target)
            yield FilledDataset(target, is_view="view" in physical.lower(), properties=columns)
        for property_ in self.properties:
            for text in property_.sources:
                source, column = self._source(text)
                yield DeclaredEdge(source, property_.of, column, property_.column)

    def _source(self, text: str) -> tuple[DeclaredDataset, str | None]:
        """The object and column that a property lists: DATABASE.SCHEMA.NAME, with .COLUMN or not. What is left out at
        the beginning is that of the server.
        """
        if "://" in text:
            scheme, _, address = text.partition("://")
            host, _, path = address.partition("/")
            return dataset(f"{scheme}://{host}", path or "/", self.path), None
        parts, column = parts_of(text), None
        if len(parts) == 4:
            last = parts.pop()
            inner = unquoted(last)
            column = last if parts_of(inner) else inner
        above = [part for part in self._above if part][: 3 - len(parts)] if parts else []
        return dataset(self._namespace, ".".join([*above, *parts]) if parts else text, self.path), column


def read(data: bytes, path: str, server: str | None) -> Contract:
    """The contract in the bytes of a file. Raises UsageError, which names the line, for what is none."""
    if len(data) > LARGEST:
        raise UsageError(f"{path}: has more than {LARGEST >> 20} MiB, which no data contract has")
    node, text = compose(data, path)
    if not isinstance(node, yaml.MappingNode):
        raise UsageError(f"{path}: is not a data contract: a contract has kind, apiVersion and schema")
    root = _YamlMapping(node, path)
    if "dataContractSpecification" in root.values:
        raise UsageError(
            f"{path}: is of the Data Contract Specification; give a contract of the Open Data Contract Standard (ODCS)"
        )
    if root.text("kind") != "DataContract":
        raise UsageError(f"{path}: is not a data contract: it has no line kind: DataContract")
    return Contract(root, text, server)


def compose(data: bytes, path: str) -> tuple[yaml.Node | None, str]:
    """The nodes of a YAML document, with their places in the text, and the text. No object is made of them."""
    try:
        text = data.decode("utf-8")
        return yaml.compose(text, yaml.SafeLoader), text
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: byte {error.start:,}") from None
    except RecursionError:
        raise UsageError(f"{path}: is nested too deep") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{path}, line {line}: is no YAML: it has the character U+{error.character:04X}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else path
        raise UsageError(f"{where}: is no YAML: {getattr(error, 'problem', None) or error}") from None


def contract_id(data: bytes) -> str | None:
    """The id of the data contract in the bytes of a file; empty if it has none, None for what is no data contract."""
    try:
        node, _ = compose(data, "")
        root = _YamlMapping(node, "") if isinstance(node, yaml.MappingNode) else None
        return root.text("id") if root and root.text("kind") == "DataContract" else None
    except UsageError:
        return None


class _YamlMapping:
    """A mapping of the document, and where it is, for errors."""

    def __init__(self, node: yaml.MappingNode, path: str) -> None:
        self.node, self.path = node, path
        self.place = f"{path}, line {node.start_mark.line + 1}"
        self.values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.value == _MERGE:
                raise UsageError(f"{self.place}: merge keys (<<) are not read here; write the keys out")
            if isinstance(key, yaml.ScalarNode):
                self.values[key.value] = value

    def text(self, key: str) -> str:
        """The text of a key; empty if it is missing or null."""
        node = self._node(key, yaml.ScalarNode, "a text")
        return "" if node is None else str(node.value).strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts in the list of a key."""
        nodes = [self._checked(node, yaml.ScalarNode, f"{key} is a list of names") for node in self._list(key)]
        names = tuple(str(node.value).strip() for node in nodes)
        if "" in names:
            self._refuse(nodes[names.index("")], f"{key} is a list of names")
        return names

    def name(self, element: str) -> str:
        """The name in the database. Raises UsageError where there is none."""
        name = self.text("physicalName") or self.text("name")
        if not name:
            raise UsageError(f"{self.place}: {element} has a name or physicalName")
        return name

    def each(self, key: str) -> list[_YamlMapping]:
        """The mappings in the list of a key."""
        return [self._of(key, node) for node in self._list(key)]

    def inner(self) -> list[_YamlMapping]:
        """The properties below a property."""
        items = self._node("items", yaml.Node, "")
        return [*self.each("properties"), *([] if items is None else [self._of("items", items)])]

    def _of(self, key: str, node: yaml.Node) -> _YamlMapping:
        mapping = self._checked(node, yaml.MappingNode, f"in {key} are mappings of keys to values")
        return _YamlMapping(mapping, self.path)

    def _list(self, key: str) -> list[yaml.Node]:
        node = self._node(key, yaml.SequenceNode, "a list")
        return [] if node is None else list(node.value)

    def _node(self, key: str, kind: type[_N], expected: str) -> _N | None:
        """The node of a key; None if it is missing or null."""
        node = self.values.get(key)
        return None if node is None or node.tag == _NULL else self._checked(node, kind, f"{key} is {expected}")

    def _checked(self, node: yaml.Node, kind: type[_N], message: str) -> _N:
        return node if isinstance(node, kind) else self._refuse(node, message)

    def _refuse(self, node: yaml.Node, message: str) -> NoReturn:
        raise UsageError(f"{self.path}, line {node.start_mark.line + 1}: {message}")


def _default_names(servers: list[_YamlMapping], wanted_name: str | None, path: str) -> tuple[str, str, str]:
    """The namespace, database and schema of the server in Snowflake; empty where the contract does not say them."""
    names = [server.text("server") for server in servers]
    if wanted_name is not None and wanted_name not in names:
        raise UsageError(
            f"{path}: has no server {visible(wanted_name)}; it has {', '.join(map(visible, names)) or 'none'}"
        )
    snowflake_servers = [
        server
        for name, server in zip(names, servers, strict=True)
        if server.text("type") == "snowflake" and wanted_name in (None, name)
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
