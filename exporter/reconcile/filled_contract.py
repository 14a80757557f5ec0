"""A contract with ``transformSourceObjects`` filled: what rows show and it does not list is added to its text.

Only these lines are new. All other text stays as it is: keys, order, comments, quotes. The result is read again and
compared with the contract before it is written, so a text in which the lines cannot be added is refused, not damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from exporter.errors import UsageError
from exporter.model.identifiers import parts_of
from exporter.publish import result_file
from exporter.reconcile.contract import SOURCES, Contract, ContractColumn, ContractDeclaration, contract_id, read
from exporter.reconcile.declared import Declaration
from exporter.reconcile.edges import UNDECLARED, End
from exporter.reconcile.output import CONTRACT
from exporter.system.terminal import counted

if TYPE_CHECKING:
    from exporter.reconcile.comparison import Comparison

_BEFORE: Final = ("transformLogic", "transformDescription")
"""Keys that the standard has behind the sources."""
_is_plain: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)+").fullmatch

_Edit = tuple[int, int, str]
"""The beginning and end of a part of the text, and what stands in its place."""


def is_contract(out: Path) -> bool:
    """Whether a data contract is to be written there."""
    return out.suffix in CONTRACT


def check(declarations: list[Declaration], out: Path) -> None:
    """Raises UsageError where it is not one data contract that can be filled, or ``out`` is another file than this
    contract, filled before or not.
    """
    contracts = _contracts(declarations)
    if len(contracts) != 1:
        number = len(contracts) or "none"
        raise UsageError(f"--out {CONTRACT[0]} fills one data contract; {number} of those given is one")
    own = contract_id(contracts[0].text.encode("utf-8"))
    result_file.check(out, lambda data: contract_id(data) == own, f"this contract (id: {own or 'none'})")


def _contracts(declarations: list[Declaration]) -> list[Contract]:
    return [declaration.contract for declaration in declarations if isinstance(declaration, ContractDeclaration)]


def write(comparison: Comparison, path: Path) -> str:
    """Writes the filled contract; returns a note on the lines that were added."""
    contract = _contracts(comparison.declarations)[0]
    names: dict[tuple[str, str], list[str]] = {}
    for edge in comparison.edges:
        if edge.verdict == UNDECLARED and edge.target.column and edge.source.column:
            names.setdefault(edge.target.key, []).append(_name(edge.source))
    keys = [(comparison.roots.get(prop.of, ""), prop.column) for prop in contract.properties]
    added = {number: names[key] for number, key in enumerate(keys) if key in names}
    result_file.save(path, filled(contract, added))
    sources = counted(sum(map(len, added.values())), "source")
    return f"{path}: {sources} added to {len(added):,} of {len(contract.properties):,} properties."


def _name(source: End) -> str:
    """DATABASE.SCHEMA.NAME.COLUMN."""
    column = source.column or ""
    return f"{source.present_name}.{column if parts_of(column) == [column] else json.dumps(column, ensure_ascii=False)}"


def filled(contract: Contract, added: Mapping[int, list[str]]) -> str:
    """The text of the contract. ``added``: the number of a property in ``contract.properties`` -> what it gets."""
    nodes = [id(prop.node) for prop in contract.properties]
    edits = list[_Edit]()
    for number, names in added.items():
        prop = contract.properties[number]
        if nodes.count(id(prop.node)) > 1:
            place = f"{contract.path}, line {prop.node.start_mark.line + 1}"
            raise UsageError(f"{place}: the property is an alias (*) of another one; write it out")
        edits.append(_edit(contract.text, prop, [_written(name) for name in names]))
    text = contract.text
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    _check(contract, text, added)
    return text


def _written(name: str) -> str:
    return name if _is_plain(name) else json.dumps(name, ensure_ascii=False)


def _edit(text: str, prop: ContractColumn, names: list[str]) -> _Edit:
    """How the names get into the text of a property."""
    flow = f"[{', '.join(names)}]"
    keys = {key.value: (key, value) for key, value in prop.node.value}
    if SOURCES in keys:
        value = keys[SOURCES][1]
        if isinstance(value, yaml.SequenceNode):
            return _longer(text, value, names)
        begin, end = value.start_mark.index, value.end_mark.index
        return begin, end, flow if text[begin - 1 : begin].isspace() else f" {flow}"
    if prop.node.flow_style:
        return _before_closing(text, prop.node, f"{SOURCES}: {flow}", has_more=bool(prop.node.value))
    indent = " " * prop.node.value[0][0].start_mark.column
    line = _line_end(text)
    block = f"{SOURCES}:{line}" + f"{line}".join(f"{indent}  - {name}" for name in names)
    before = [keys[name][0] for name in _BEFORE if name in keys]
    last, value = prop.node.value[-1]
    if not before and isinstance(value, yaml.ScalarNode) and value.style not in ("|", ">"):
        position = _end_of_line(text, value.end_mark.index)
        return position, position, f"{line}{indent}{block}"
    position = min((key.start_mark.index for key in before), default=last.start_mark.index)
    return position, position, f"{block}{line}{indent}"


def _longer(text: str, value: yaml.SequenceNode, names: list[str]) -> _Edit:
    """A list with more names."""
    if value.flow_style:
        return _before_closing(text, value, ", ".join(names), has_more=bool(value.value))
    indent = " " * value.start_mark.column
    position = _end_of_line(text, value.value[-1].end_mark.index)
    return position, position, "".join(f"{_line_end(text)}{indent}- {name}" for name in names)


def _before_closing(text: str, node: yaml.CollectionNode, new: str, *, has_more: bool) -> _Edit:
    """Before the bracket that ends a list or mapping that is written in one line."""
    position = node.end_mark.index - 1
    before = text[:position].rstrip()
    comma = has_more and not before.endswith(",")
    place = len(before) if comma and "#" not in text[node.start_mark.index : position] else position
    return place, place, f"{', ' if comma else ' ' * before.endswith(',')}{new}"


def _end_of_line(text: str, index: int) -> int:
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if end > index and text[end - 1] == "\r" else end


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _check(contract: Contract, text: str, added: Mapping[int, list[str]]) -> None:
    """Raises UsageError where the new text says anything else than the contract and what was added."""
    refusal = UsageError(
        f"{contract.path}: its form does not allow to add {SOURCES} without a change to other text. Write its "
        "properties with one key a line"
    )
    try:
        old, new = (read(version.encode("utf-8"), contract.path, contract.server) for version in (contract.text, text))
    except UsageError:
        raise refusal from None
    if len(old.properties) != len(new.properties):
        raise refusal
    for number, names in added.items():
        before, after = old.properties[number], new.properties[number]
        if after.sources != (*before.sources, *names):
            raise refusal
        for node in (before.node, after.node):
            node.value = [(key, value) for key, value in node.value if key.value != SOURCES]
    other_text, other_text_now = (yaml.serialize(version.node, Dumper=yaml.SafeDumper) for version in (old, new))
    if other_text != other_text_now:
        raise refusal
